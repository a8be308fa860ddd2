//! The directory that is received into: nothing below it is reached through a link.
//!
//! Every component is opened by itself and with `O_NOFOLLOW`, so neither a link that is there already
//! nor one that someone puts there meanwhile leads outside.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, RenameFlags, openat, renameat2};
use nix::sys::stat::{Mode, SFlag, fstatat, mkdirat};
use nix::sys::statvfs::fstatvfs;
use nix::unistd::{LinkatFlags, UnlinkatFlags, linkat, unlinkat};

use super::name::{Name, PARTIAL_DIRECTORY};
use crate::Error;

/// How directories are opened on the way to a file.
const WAY: OFlag =
    OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// A directory to receive into.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    directory: OwnedFd,
    /// The directory of the last file: the next one is likely to be there too.
    last: Mutex<Option<(Vec<u8>, Arc<OwnedFd>)>>,
}

/// What is at a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A regular file of so many bytes.
    File {
        /// Its size.
        bytes: u64,
    },
    /// A directory.
    Directory,
    /// A link, a device, a socket or a pipe.
    Other,
}

impl Place {
    /// Opens a directory, making it if there is none; here a link is followed, for the user named it.
    ///
    /// # Errors
    /// [`Error::Input`] if it is none, or nothing can be written there.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let shown = path.display();
        let refused = |why: String| Error::Input(format!("receiving into {shown}: {why}"));
        std::fs::create_dir_all(path).map_err(|error| {
            let is_other = error.kind() == std::io::ErrorKind::AlreadyExists;
            refused(if is_other { "it is not a directory".into() } else { error.to_string() })
        })?;
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let directory = nix::fcntl::open(path, flags, Mode::empty())
            .map_err(|error| refused(error.desc().into()))?;
        Ok(Place { path: path.to_owned(), directory, last: Mutex::new(None) })
    }

    /// Where something is, for people.
    pub fn shown(&self, name: &Name) -> String {
        format!("{}/{name}", self.path.display())
    }

    /// The directory itself, for people.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is at a name.
    ///
    /// # Errors
    /// If a directory on the way is a link, or cannot be searched.
    pub fn look(&self, name: &Name) -> Result<Found, Error> {
        let failed = |error: Errno| self.failed("looking at", name, error);
        let (parent, last) = name.split();
        let found = match self.directory(parent, false) {
            Ok(parent) => fstatat(parent.as_fd(), last, AtFlags::AT_SYMLINK_NOFOLLOW),
            Err(error) => Err(error),
        };
        match found {
            Err(Errno::ENOENT) => Ok(Found::Nothing),
            Err(error) => Err(failed(error)),
            Ok(stat) => Ok(match SFlag::from_bits_truncate(stat.st_mode & libc::S_IFMT) {
                SFlag::S_IFREG => Found::File { bytes: u64::try_from(stat.st_size).unwrap_or(0) },
                SFlag::S_IFDIR => Found::Directory,
                _ => Found::Other,
            }),
        }
    }

    /// Opens a file to read it.
    ///
    /// # Errors
    /// If it is none, or cannot be read.
    pub fn read(&self, name: &Name) -> Result<File, Error> {
        let failed = |error: Errno| self.failed("reading", name, error);
        let (parent, last) = name.split();
        let parent = self.directory(parent, false).map_err(failed)?;
        // What is put there meanwhile may be a pipe, which must not block.
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        let file = openat(parent.as_fd(), last, flags, Mode::empty()).map_err(failed)?;
        Ok(File::from(file))
    }

    /// Makes a directory and those that it is in; whether it was not there before.
    ///
    /// # Errors
    /// If something else has its name.
    pub fn make_directory(&self, name: &Name) -> Result<bool, Error> {
        let failed = |error: Errno| self.failed("making the directory", name, error);
        let (parent, last) = name.split();
        let mode = Mode::from_bits_truncate(0o777);
        let made = match self.within(parent, |parent| mkdirat(parent, last, mode)) {
            Ok(()) => true,
            Err(Errno::EEXIST) => false,
            Err(error) => return Err(failed(error)),
        };
        self.within(parent, |parent| step(parent, last)).map_err(failed)?;
        Ok(made)
    }

    /// Gives a file of `from` its name here, in one step.
    ///
    /// # Errors
    /// If something has that name and must not be replaced.
    pub fn rename(
        &self,
        from: BorrowedFd,
        partial: &str,
        name: &Name,
        overwrite: bool,
    ) -> Result<(), Error> {
        let failed = |error: Errno| self.failed("naming", name, error);
        let (parent, last) = name.split();
        let flags = if overwrite { RenameFlags::empty() } else { RenameFlags::RENAME_NOREPLACE };
        let renamed = self.within(parent, |parent| renameat2(from, partial, parent, last, flags));
        let renamed = match renamed {
            // A file system that cannot promise it (NFS): a second name is refused by all of them.
            Err(Errno::EINVAL) if !overwrite => self.within(parent, |parent| {
                linkat(from, partial, parent, last, LinkatFlags::empty())?;
                unlinkat(from, partial, UnlinkatFlags::NoRemoveDir)
            }),
            renamed => renamed,
        };
        renamed.map_err(failed)
    }

    /// Where incomplete files are.
    ///
    /// # Errors
    /// If it cannot be made, or something else has its name.
    pub fn partial_directory(&self) -> Result<OwnedFd, Error> {
        let partial = PARTIAL_DIRECTORY.as_bytes();
        let failed = |error: Errno| {
            let what = format!("opening {}/{PARTIAL_DIRECTORY}", self.path.display());
            Error::failed(what, in_words(error))
        };
        loop {
            match step(self.directory.as_fd(), partial) {
                Err(Errno::ENOENT) => {}
                opened => return opened.map_err(failed),
            }
            // Until it is there: another transfer that ends tidies it away while it is empty.
            match mkdirat(self.directory.as_fd(), partial, Mode::from_bits_truncate(0o700)) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Removes the directory of incomplete files if there are none.
    pub fn tidy(&self) {
        // Not empty is usual, and another process may have done it.
        let _ = unlinkat(self.directory.as_fd(), PARTIAL_DIRECTORY, UnlinkatFlags::RemoveDir);
    }

    /// Bytes that may still be written here.
    ///
    /// # Errors
    /// If the file system does not tell.
    pub fn free_bytes(&self) -> io::Result<u64> {
        let found = fstatvfs(&self.directory)?;
        Ok(found.blocks_available().saturating_mul(found.fragment_size()))
    }

    /// A directory by its name below this one, its components joined by `/`.
    pub fn directory(&self, name: &[u8], make: bool) -> Result<Arc<OwnedFd>, Errno> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, directory)) = last.as_ref().filter(|(at, _)| at == name) {
            return Ok(Arc::clone(directory));
        }
        let mut at = self.directory.try_clone().map_err(|_| Errno::last())?;
        for component in name.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            at = match step(at.as_fd(), component) {
                Err(Errno::ENOENT) if make => {
                    match mkdirat(at.as_fd(), component, Mode::from_bits_truncate(0o777)) {
                        Ok(()) | Err(Errno::EEXIST) => step(at.as_fd(), component)?,
                        Err(error) => return Err(error),
                    }
                }
                next => next?,
            };
        }
        let directory = Arc::new(at);
        *last = Some((name.to_vec(), Arc::clone(&directory)));
        Ok(directory)
    }

    /// Does something in a directory, which is made if it is not there.
    fn within<T>(
        &self,
        name: &[u8],
        act: impl Fn(BorrowedFd) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match act(self.directory(name, true)?.as_fd()) {
            // The one of the last file may have been removed by somebody meanwhile.
            Err(Errno::ENOENT) => {
                *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
                act(self.directory(name, true)?.as_fd())
            }
            done => done,
        }
    }

    fn failed(&self, what: &str, name: &Name, error: Errno) -> Error {
        Error::failed(format!("{what} {}", self.shown(name)), in_words(error))
    }
}

fn step(at: BorrowedFd, component: &[u8]) -> Result<OwnedFd, Errno> {
    openat(at, component, WAY, Mode::empty())
}

/// What a refusal of the kernel means here.
pub fn in_words(error: Errno) -> String {
    match error {
        Errno::ELOOP => "a link is there, and links are not followed".into(),
        Errno::ENOTDIR => "a part of the name is not a directory (links are not followed)".into(),
        Errno::EEXIST => "there is one of that name already; --overwrite replaces it".into(),
        Errno::EISDIR => "a directory is there".into(),
        Errno::ENAMETOOLONG => "the name is too long for this file system".into(),
        other => other.desc().into(),
    }
}
