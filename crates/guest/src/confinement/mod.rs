//! The wall around a kernel's process, for the day when the kernel is broken from inside: of this machine
//! it can write its run directory and the place of its memory, and nothing else.
//!
//! `files` is Landlock, `mounts` takes its place where the host lacks it, `calls` leaves the system calls
//! that User-Mode Linux makes. The supervisor is behind a wall too, a lower one: it removes directories.

mod calls;
mod files;
mod mounts;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nix::sys::prctl;

use crate::rights;

/// What the program is asked by its first argument: by what this host keeps its files.
pub const COMMAND: &str = "confinement";
/// File of the run directory that says why the kernel could write files of this machine, if it could.
const OPEN: &str = "unconfined";

/// What the wall leaves writable.
pub struct Places {
    /// The run directory.
    pub directory: PathBuf,
    /// The directory of the kernel's memory, if another one is named (`TMPDIR`).
    pub scratch: Option<PathBuf>,
}

impl Places {
    fn all(&self) -> impl Iterator<Item = &Path> {
        [Some(&self.directory), self.scratch.as_ref()].into_iter().flatten().map(PathBuf::as_path)
    }
}

/// The wall that a kernel's process is put behind before it is executed.
pub struct Confinement {
    files: Files,
    calls: calls::Calls,
}

/// By what the host's files are kept.
enum Files {
    Landlock(Option<files::Rules>),
    Mounts(mounts::Mounts),
    Nothing,
}

impl Confinement {
    /// Puts the calling process, the supervisor, behind its own wall and makes that of the kernel.
    ///
    /// If this host has no means to keep its files, a file in the run directory says so.
    pub fn raise(places: &Places) -> io::Result<Self> {
        prctl::set_no_new_privs()?;
        let calls = calls::Calls::of_a_kernel()?;
        let files = match files::supervise(places) {
            Ok(()) => Files::Landlock(Some(files::of_a_kernel(places)?)),
            Err(no_landlock) => match mounts::probe() {
                Ok(()) => Files::Mounts(mounts::Mounts::new(places)?),
                Err(no_mounts) => {
                    let why = format!("Landlock: {no_landlock}; mount namespace: {no_mounts}");
                    // A directory that takes no file takes no results either.
                    let _ = fs::write(places.directory.join(OPEN), why);
                    Files::Nothing
                }
            },
        };
        Ok(Confinement { files, calls })
    }

    /// Puts the calling process behind the wall: between fork and exec, of a process with one thread.
    pub fn enter(&mut self) -> io::Result<()> {
        match &mut self.files {
            Files::Landlock(rules) => match rules.take() {
                Some(rules) => files::restrict(rules)?,
                None => return Err(io::Error::other("a wall is for one kernel")),
            },
            Files::Mounts(mounts) => mounts.enter()?,
            Files::Nothing => {}
        }
        rights::to_read()?;
        self.calls.enter()
    }
}

/// `confinement`: prints by what this host keeps its files from a kernel; by nothing, why, with exit code 1.
pub fn tell() -> ExitCode {
    let no_landlock = match files::version() {
        Ok(version) => {
            println!("Landlock {version}");
            return ExitCode::SUCCESS;
        }
        Err(error) => error,
    };
    match mounts::probe() {
        Ok(()) => {
            println!("mount namespace (Landlock: {no_landlock})");
            ExitCode::SUCCESS
        }
        Err(no_mounts) => {
            println!("Landlock: {no_landlock}; mount namespace: {no_mounts}");
            ExitCode::FAILURE
        }
    }
}
