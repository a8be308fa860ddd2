//! Files while they are incomplete, in a directory of their own.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, FallocateFlags, Flock, FlockArg, OFlag, fallocate, openat};
use nix::sys::stat::{Mode, fstatat};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::journal::Journal;
use super::name::Name;
use super::no_room;
use super::place::{Place, in_words};
use super::settling::errno;
use crate::Error;

/// How the content of an incomplete file is named.
const DATA: &str = ".data";
/// How its journal is.
const BLOCKS: &str = ".blocks";
/// Bytes of the BLAKE3 that an incomplete file is named by.
const ID_BYTES: usize = 16;

/// What an incomplete file is called: the same for the same name and size, so that a later transfer
/// finds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(String);

impl Id {
    /// Of a file by its final name and its size.
    pub fn of(name: &Name, bytes: Option<u64>) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("fairway 2026 name of a partial file");
        // No file is as large, so a stream never has the name of a file.
        hasher.update(&bytes.unwrap_or(u64::MAX).to_le_bytes()).update(name.as_bytes());
        let mut id = [0; ID_BYTES];
        hasher.finalize_xof().fill(&mut id);
        Id(data_encoding::HEXLOWER.encode(&id))
    }

    /// Where its content is.
    pub fn data(&self) -> String {
        format!("{}{DATA}", self.0)
    }

    /// Where its journal is.
    pub fn blocks(&self) -> String {
        format!("{}{BLOCKS}", self.0)
    }
}

/// An incomplete file, locked against other processes.
#[derive(Debug)]
pub struct Partial {
    data: Flock<File>,
    /// Files of one block have none.
    journal: Option<Journal>,
}

impl Partial {
    /// Opens an incomplete file, making it if there is none and `make` is set; none if there is none.
    ///
    /// # Errors
    /// [`Error::Refused`] if another process writes it.
    pub fn open(
        place: &Place,
        id: &Id,
        name: &Name,
        journalled: bool,
        make: bool,
    ) -> Result<Option<Self>, Error> {
        let what = || format!("opening the partial file of {}", place.shown(name));
        let failed = |error: Errno| match error {
            Errno::ENOSPC => Error::failed(what(), no_room(place.path(), 1)),
            other => Error::failed(what(), in_words(other)),
        };
        let unusable = |error: io::Error| failed(errno(error));
        loop {
            let directory = place.partial_directory()?;
            let data = match file(directory.as_fd(), &id.data(), make) {
                Err(Errno::ENOENT) if !make => return Ok(None),
                // A transfer that has ended meanwhile has tidied the directory away.
                Err(Errno::ENOENT) => continue,
                opened => opened.map_err(failed)?,
            };
            if !data.metadata().map_err(unusable)?.is_file() {
                return Err(Error::failed(what(), "it is not a regular file; remove it"));
            }
            let data = match Flock::lock(data, FlockArg::LockExclusiveNonblock) {
                Ok(data) => data,
                Err((_, Errno::EWOULDBLOCK)) => {
                    let shown = place.shown(name);
                    let said = format!("{shown} is being received by another process already");
                    return Err(Error::Refused(said));
                }
                Err((_, error)) => return Err(failed(error)),
            };
            // Whoever had the lock before may have finished the file and taken its name away.
            if !is_at(&data, directory.as_fd(), &id.data()) {
                continue;
            }
            let journal = if journalled {
                let journal = file(directory.as_fd(), &id.blocks(), true).map_err(failed)?;
                if data.metadata().is_ok_and(|found| found.len() == 0) {
                    // Of a file that was finished when the process was killed.
                    journal.set_len(0).map_err(unusable)?;
                }
                Some(Journal::open(journal).map_err(unusable)?)
            } else {
                None
            };
            return Ok(Some(Partial { data, journal }));
        }
    }

    /// Its content.
    pub fn data(&self) -> &File {
        &self.data
    }

    /// Its journal.
    pub fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Has the file system set the space aside, where it can and that gains something: in memory it
    /// only means that every page is looked for twice. Whether it has.
    pub fn allocate(&self, bytes: u64) -> Result<bool, Errno> {
        let length = i64::try_from(bytes).map_err(|_| Errno::EFBIG)?;
        let is_memory = fstatfs(&*self.data)?.filesystem_type() == TMPFS_MAGIC;
        let allocated = match is_memory {
            true => Err(Errno::EOPNOTSUPP),
            false => fallocate(&*self.data, FallocateFlags::empty(), 0, length),
        };
        match allocated {
            Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => {
                nix::unistd::ftruncate(&*self.data, length).map(|()| false)
            }
            done => done.map(|()| true),
        }
    }
}

/// Removes an incomplete file, as far as it is there.
pub fn remove(directory: BorrowedFd, id: &Id) {
    let _ = unlinkat(directory, id.data().as_str(), UnlinkatFlags::NoRemoveDir);
    remove_journal(directory, id);
}

/// Removes the journal of a file that is complete.
pub fn remove_journal(directory: BorrowedFd, id: &Id) {
    let _ = unlinkat(directory, id.blocks().as_str(), UnlinkatFlags::NoRemoveDir);
}

/// Removes incomplete files that nobody has written for so long, and nothing else; how many.
///
/// # Errors
/// If the directory of incomplete files cannot be read.
pub fn sweep(place: &Place, older_than: Duration) -> Result<usize, Error> {
    let directory = place.partial_directory()?;
    let failed = |error: Errno| {
        Error::failed(format!("looking for old partial files in {}", place.path().display()), error)
    };
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let mut listing = Dir::openat(&directory, ".", flags, Mode::empty()).map_err(failed)?;
    let mut ours = BTreeSet::new();
    for entry in listing.iter() {
        let entry = entry.map_err(failed)?;
        ours.extend(entry.file_name().to_str().ok().and_then(id));
    }
    let mut removed = 0;
    for id in ours {
        // The content tells whether somebody is at it; a journal is alone if a process was killed
        // between the two.
        let (data, blocks) = (id.data(), id.blocks());
        let there = fstatat(&directory, data.as_str(), AtFlags::AT_SYMLINK_NOFOLLOW).is_ok();
        let telling = if there { &data } else { &blocks };
        if is_old(directory.as_fd(), telling, older_than) {
            removed += 1;
            remove(directory.as_fd(), &id);
        }
    }
    Ok(removed)
}

/// The incomplete file that a name is of, if it is one that [`Id`] makes.
fn id(name: &str) -> Option<Id> {
    let id = name.strip_suffix(DATA).or_else(|| name.strip_suffix(BLOCKS))?;
    let hex = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (id.len() == 2 * ID_BYTES && id.bytes().all(hex)).then(|| Id(id.into()))
}

/// Whether a file was not written for so long, and nobody has it locked.
fn is_old(directory: BorrowedFd, name: &str, older_than: Duration) -> bool {
    let Ok(file) = file(directory, name, false) else { return false };
    let Ok(found) = file.metadata() else { return false };
    // When it was modified may already be what the sender says.
    let changed = Duration::from_secs(u64::try_from(found.ctime()).unwrap_or(0));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    if !found.is_file() || now.saturating_sub(changed) < older_than {
        return false;
    }
    match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(locked) => is_at(&locked, directory, name),
        Err(_) => false,
    }
}

fn file(directory: BorrowedFd, name: &str, make: bool) -> Result<File, Errno> {
    // What someone put there may be a pipe, which must not block.
    let mut flags = OFlag::O_RDWR | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
    flags.set(OFlag::O_CREAT, make);
    let opened: OwnedFd = openat(directory, name, flags, Mode::from_bits_truncate(0o600))?;
    Ok(File::from(opened))
}

/// Whether a name still is the one of an open file.
fn is_at(file: &File, directory: BorrowedFd, name: &str) -> bool {
    let same = |at: nix::sys::stat::FileStat| -> io::Result<bool> {
        let open = file.metadata()?;
        Ok(open.ino() == at.st_ino && open.dev() == at.st_dev)
    };
    fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok_and(|at| same(at).unwrap_or(false))
}
