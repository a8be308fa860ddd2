//! Files that are complete and wait for their final name, and directories that were made.
//!
//! A file must be on disk before it has its name. For many small files that is done for a batch at
//! once, because a file system commits its journal each time that it is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Permissions};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, futimens};
use nix::sys::time::TimeSpec;
use nix::unistd::syncfs;

use super::name::Name;
use super::partial::{Id, Partial};
use super::place::{Place, in_words};
use super::{Claim, Modified};
use crate::Error;

/// Small files that are synced together, as a commit takes milliseconds. Each has a descriptor, of which
/// a process has 1024 unless it asks for more.
const MOST_WAITING: usize = 256;
/// Fewer are synced one by one, because to sync a file system may write what others have in memory.
const FEW: usize = 8;

/// A file that is complete, under its partial name.
#[derive(Debug)]
pub struct Complete {
    /// Its partial name.
    pub id: Id,
    /// Its content, locked until it has its name.
    pub partial: Arc<Partial>,
    /// Its final one, that nobody else may take.
    pub claim: Claim,
}

/// What one transfer has to settle.
#[derive(Debug)]
pub struct Settling {
    sync: bool,
    overwrite: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Complete>,
    /// Directories in which names are new.
    touched: BTreeSet<Vec<u8>>,
    /// Directories that were made, with what they are to be in the end.
    made: BTreeMap<Name, (u32, Modified)>,
}

impl Settling {
    /// Of nothing yet.
    pub fn new(sync: bool, overwrite: bool) -> Self {
        Settling { sync, overwrite, state: Mutex::default() }
    }

    /// Whether files are to be on disk before they have their names.
    pub fn syncs(&self) -> bool {
        self.sync
    }

    /// A directory was made: its mode and time are set at the end, when nothing is put into it any
    /// more.
    pub fn made(&self, name: Name, mode: u32, modified: Modified) {
        let mut state = self.state();
        state.touched.insert(name.split().0.to_vec());
        state.made.insert(name, (mode, modified));
    }

    /// Names a complete file, or has it wait for others if it is not on disk yet.
    ///
    /// # Errors
    /// If a file of those that waited cannot be synced or named.
    pub fn complete(&self, place: &Place, file: Complete, on_disk: bool) -> Result<(), Error> {
        if on_disk || !self.sync {
            return self.name(place, vec![file]);
        }
        let mut state = self.state();
        state.waiting.push(file);
        if state.waiting.len() < MOST_WAITING {
            return Ok(());
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.sync_and_name(place, waiting)
    }

    /// Puts everything on disk, under its final name.
    ///
    /// # Errors
    /// If a file cannot be synced or named.
    pub fn settle(&self, place: &Place) -> Result<(), Error> {
        let waiting = std::mem::take(&mut self.state().waiting);
        self.sync_and_name(place, waiting)?;
        let State { touched, made, .. } = std::mem::take(&mut *self.state());
        let in_directory = |name: &Name, error: Errno| {
            Error::failed(format!("settling the directory {}", place.shown(name)), in_words(error))
        };
        // The innermost first: what is set in a directory changes the time of the outer one.
        for (name, (mode, modified)) in made.iter().rev() {
            let set = || {
                let (parent, last) = name.split();
                let directory = place.directory(parent, false)?;
                let flags =
                    OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
                let opened = openat(directory.as_fd(), last, flags, Mode::empty())?;
                dress(&File::from(opened), *mode, Some(*modified))
            };
            set().map_err(|error| in_directory(name, error))?;
        }
        if self.sync && !(touched.is_empty() && made.is_empty()) {
            self.sync_directories(place, &touched)?;
        }
        Ok(())
    }

    fn sync_directories(&self, place: &Place, touched: &BTreeSet<Vec<u8>>) -> Result<(), Error> {
        let synced = || {
            if touched.len() > FEW {
                return sync_file_system(place, b"");
            }
            for name in touched {
                // Each up to the outermost: those between may be new, too.
                let mut name = &name[..];
                loop {
                    let directory = place.directory(name, false)?;
                    readable(directory.as_fd())?.sync_all().map_err(errno)?;
                    let Some(slash) = name.iter().rposition(|byte| *byte == b'/') else { break };
                    name = &name[..slash];
                }
            }
            let outermost = place.directory(b"", false)?;
            readable(outermost.as_fd())?.sync_all().map_err(errno)
        };
        synced().map_err(|error| {
            Error::failed(
                format!("syncing directories in {}", place.path().display()),
                error.desc(),
            )
        })
    }

    fn sync_and_name(&self, place: &Place, waiting: Vec<Complete>) -> Result<(), Error> {
        if waiting.is_empty() {
            return Ok(());
        }
        let partial = place.partial_directory()?;
        let synced = || {
            if waiting.len() > FEW {
                return syncfs(readable(partial.as_fd())?);
            }
            for file in &waiting {
                file.partial.data().sync_all().map_err(errno)?;
            }
            Ok(())
        };
        synced().map_err(|error| {
            Error::failed(format!("syncing files in {}", place.path().display()), error.desc())
        })?;
        self.name(place, waiting)
    }

    fn name(&self, place: &Place, files: Vec<Complete>) -> Result<(), Error> {
        let partial = place.partial_directory()?;
        let mut all = Ok(());
        for file in files {
            let name = file.claim.name();
            match place.rename(partial.as_fd(), &file.id.data(), name, self.overwrite) {
                Ok(()) => drop(self.state().touched.insert(name.split().0.to_vec())),
                // One that cannot be named does not keep the others from it.
                Err(error) => all = all.and(Err(error)),
            }
        }
        all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sets what a file or directory is to be in the end: permissions without set-user-ID and the like,
/// and when it was modified.
pub fn dress(file: &File, mode: u32, modified: Option<Modified>) -> Result<(), Errno> {
    file.set_permissions(Permissions::from_mode(mode & 0o777)).map_err(errno)?;
    let Some(modified) = modified else { return Ok(()) };
    let time = TimeSpec::new(modified.seconds, i64::from(modified.nanos.min(999_999_999)));
    futimens(file, &TimeSpec::UTIME_OMIT, &time)
}

/// The number of the kernel's refusal.
pub fn errno(error: std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}

/// A directory that was opened to pass through, opened to be read or synced.
fn readable(directory: BorrowedFd) -> Result<File, Errno> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    openat(directory, ".", flags, Mode::empty()).map(File::from)
}

fn sync_file_system(place: &Place, directory: &[u8]) -> Result<(), Errno> {
    syncfs(readable(place.directory(directory, false)?.as_fd())?)
}
