//! Files of hosts that are kept: copied into the run directory at the end of a run.
//!
//! Of a directory that lies in an overlay, what was written is kept: its part of the upper layer. Nothing
//! is opened but regular files and directories, and no link leads out of a host's root.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use fairway_guest::plan::{Keep, Plan};
use fairway_guest::record::{SAVED, SAVED_LIST, SavedFiles};
use nix::dir::Dir;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat, openat2};
use nix::sys::stat::Mode;
use nix::sys::statfs::{OVERLAYFS_SUPER_MAGIC, fstatfs};

use crate::Error;
use crate::hosts;
use crate::setup::RUN_DIRECTORY;

/// What is kept of a run at the most.
const MOST: Budget = Budget { bytes: 1 << 30, files: 10_000 };
/// Directories within each other.
const DEEPEST: usize = 64;
/// Bytes that are copied at once.
const PIECE_BYTES: usize = 1 << 20;

/// Keeps the files that a plan names, and writes down what became of each name.
pub fn keep(plan: &Plan) -> Result<(), Error> {
    if plan.keep.is_empty() {
        return Ok(());
    }
    let failed = |error| Error::new("writing down which files are kept", error);
    let directory = Path::new(RUN_DIRECTORY);
    fs::create_dir(directory.join(SAVED)).map_err(failed)?;
    let mut budget = MOST;
    let mut list = Vec::with_capacity(plan.keep.len());
    for (index, wanted) in plan.keep.iter().enumerate() {
        let target = directory.join(SAVED).join(index.to_string());
        list.push(keep_one(wanted, &target, &mut budget));
    }
    let text = serde_json::to_vec(&list).map_err(|error| failed(error.into()))?;
    fs::write(directory.join(SAVED_LIST), text).map_err(failed)
}

/// What may still be kept.
#[derive(Clone, Copy)]
struct Budget {
    bytes: u64,
    files: u64,
}

/// What has a name: a file, or a directory and where its files are.
enum Found {
    File(File),
    Directory(OwnedFd),
}

fn keep_one(wanted: &Keep, target: &Path, budget: &mut Budget) -> SavedFiles {
    let mut copying = Copying { budget, saved: SavedFiles::default() };
    let copied = find(wanted).and_then(|found| match found {
        Found::File(file) => copying.file(file, target),
        Found::Directory(directory) => copying.directory(directory, target, 0),
    });
    let mut saved = copying.saved;
    saved.failure = match copied {
        Err(error) => Some(error.to_string()),
        Ok(()) if saved.files == 0 => Some("no file was written in this directory".into()),
        Ok(()) => None,
    };
    saved
}

fn find(wanted: &Keep) -> io::Result<Found> {
    let root = hosts::root(wanted.host);
    let named = open_below(&root, Path::new(&wanted.path))?;
    let metadata = File::from(named.try_clone()?).metadata()?;
    if metadata.is_file() {
        return Ok(Found::File(opened(&named)?));
    }
    if !metadata.is_dir() {
        return Err(io::Error::other("it is neither a file nor a directory"));
    }
    if fstatfs(named.as_fd())?.filesystem_type() != OVERLAYFS_SUPER_MAGIC {
        return Ok(Found::Directory(named));
    }
    let place = fs::read_link(own_name(&named))?;
    let place = place.strip_prefix(&root).map_err(io::Error::other)?;
    match open_below(&hosts::upper(wanted.host), place) {
        Ok(written) => Ok(Found::Directory(written)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(io::Error::other("no file was written in this directory"))
        }
        Err(error) => Err(error),
    }
}

/// Finds a path as a program has it whose root is `root`, without opening what is there.
fn open_below(root: &Path, path: &Path) -> io::Result<OwnedFd> {
    let root = File::open(root)?;
    let path = path.strip_prefix("/").unwrap_or(path);
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    Ok(openat2(root, path, how)?)
}

fn own_name(file: &OwnedFd) -> PathBuf {
    Path::new("/proc/self/fd").join(file.as_raw_fd().to_string())
}

/// Opens a file or directory that was found.
fn opened(found: &OwnedFd) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NONBLOCK).open(own_name(found))
}

struct Copying<'a> {
    budget: &'a mut Budget,
    saved: SavedFiles,
}

impl Copying<'_> {
    /// Copies the files in a directory; directories without a file are left out.
    fn directory(&mut self, directory: OwnedFd, target: &Path, depth: usize) -> io::Result<()> {
        if depth > DEEPEST {
            return Err(io::Error::other(format!("directories are more than {DEEPEST} deep")));
        }
        let mut entries = Dir::from_fd(opened(&directory)?.into())?;
        for entry in entries.iter() {
            let entry = entry?;
            let name = match entry.file_name().to_str() {
                Ok("." | "..") => continue,
                Ok(name) => name,
                Err(_) => {
                    self.saved.left_out += 1;
                    continue;
                }
            };
            let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            let found = openat(&directory, name, flags, Mode::empty())?;
            let metadata = File::from(found.try_clone()?).metadata()?;
            if metadata.is_dir() {
                self.directory(found, &target.join(name), depth + 1)?;
            } else if metadata.is_file() {
                fs::create_dir_all(target)?;
                self.file(opened(&found)?, &target.join(name))?;
            } else {
                self.saved.left_out += 1;
            }
        }
        Ok(())
    }

    fn file(&mut self, mut source: File, target: &Path) -> io::Result<()> {
        let metadata = source.metadata()?;
        if self.budget.files == 0 || metadata.size() > self.budget.bytes {
            return Err(too_much());
        }
        self.budget.files -= 1;
        // Readable here, and executable if it was. The wall around the kernel lets it change no mode later.
        let mode = 0o644 | (metadata.mode() & 0o111);
        let mut copy = File::options().write(true).create_new(true).mode(mode).open(target)?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let length = match source.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.budget.bytes =
                self.budget.bytes.checked_sub(length as u64).ok_or_else(too_much)?;
            copy.write_all(&piece[..length])?;
            self.saved.bytes += length as u64;
        }
        self.saved.files += 1;
        Ok(())
    }
}

fn too_much() -> io::Error {
    io::Error::other(format!(
        "more than {} GiB or {} files are to be kept",
        MOST.bytes >> 30,
        MOST.files
    ))
}
