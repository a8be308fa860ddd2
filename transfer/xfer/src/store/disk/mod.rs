//! The store's only way to a disk: directories and files by handle, each name a single component.
//!
//! Tests replace the real disk by a simulated one, which fails, fills up and loses power.

mod real;

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;

use super::Modified;
#[cfg(test)]
use crate::tests::simulated::disk as simulated;

/// What is known of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    pub kind: Kind,
    pub bytes: u64,
    pub owner: u32,
    pub mode: u32,
    pub has_more_names: bool,
    /// When it was last changed in any way, since 1970.
    pub changed: Duration,
    pub identity: (u64, u64),
}

/// What something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Other,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// The same, and it is made if there is none.
    Make,
}

/// A directory that is open.
#[derive(Debug)]
pub enum Directory {
    Real(real::Directory),
    #[cfg(test)]
    Simulated(simulated::Directory),
}

/// A regular file that is open; it is read and written by [`FileExt`].
#[derive(Debug)]
pub enum File {
    Real(real::File),
    #[cfg(test)]
    Simulated(simulated::File),
}

macro_rules! on {
    ($one:expr, $it:ident => $call:expr) => {
        match $one {
            Self::Real($it) => $call,
            #[cfg(test)]
            Self::Simulated($it) => $call,
        }
    };
}

impl Directory {
    /// Opens a directory by its path, through links if there are any.
    pub fn open(path: &Path) -> Result<Self, Errno> {
        real::Directory::open(path).map(Directory::Real)
    }

    /// A directory in this one; no link is followed.
    pub fn step(&self, name: &[u8]) -> Result<Self, Errno> {
        Ok(match self {
            Self::Real(it) => Self::Real(it.step(name)?),
            #[cfg(test)]
            Self::Simulated(it) => Self::Simulated(it.step(name)?),
        })
    }

    pub fn make(&self, name: &[u8], mode: u32) -> Result<(), Errno> {
        on!(self, it => it.make(name, mode))
    }

    pub fn about(&self) -> Result<About, Errno> {
        on!(self, it => it.about())
    }

    pub fn look(&self, name: &[u8]) -> Result<About, Errno> {
        on!(self, it => it.look(name))
    }

    /// Opens a file in this one; no link is followed.
    pub fn file(&self, name: &[u8], access: Access) -> Result<File, Errno> {
        Ok(match self {
            Self::Real(it) => File::Real(it.file(name, access)?),
            #[cfg(test)]
            Self::Simulated(it) => File::Simulated(it.file(name, access)?),
        })
    }

    /// Gives something another name, in another directory of the same disk. `EINVAL` if the file
    /// system cannot do that and promise not to replace.
    pub fn rename(&self, from: &[u8], to: &Self, name: &[u8], replace: bool) -> Result<(), Errno> {
        match (self, to) {
            (Self::Real(it), Self::Real(to)) => it.rename(from, to, name, replace),
            #[cfg(test)]
            (Self::Simulated(it), Self::Simulated(to)) => it.rename(from, to, name, replace),
            #[cfg(test)]
            _ => Err(Errno::EXDEV),
        }
    }

    pub fn link(&self, from: &[u8], to: &Self, name: &[u8]) -> Result<(), Errno> {
        match (self, to) {
            (Self::Real(it), Self::Real(to)) => it.link(from, to, name),
            #[cfg(test)]
            (Self::Simulated(it), Self::Simulated(to)) => it.link(from, to, name),
            #[cfg(test)]
            _ => Err(Errno::EXDEV),
        }
    }

    pub fn remove(&self, name: &[u8]) -> Result<(), Errno> {
        on!(self, it => it.remove(name))
    }

    pub fn remove_directory(&self, name: &[u8]) -> Result<(), Errno> {
        on!(self, it => it.remove_directory(name))
    }

    pub fn names(&self) -> Result<Vec<Vec<u8>>, Errno> {
        on!(self, it => it.names())
    }

    pub fn sync(&self) -> Result<(), Errno> {
        on!(self, it => it.sync())
    }

    /// Has everything on disk that its file system holds.
    pub fn sync_file_system(&self) -> Result<(), Errno> {
        on!(self, it => it.sync_file_system())
    }

    pub fn dress(&self, mode: u32, modified: Option<Modified>) -> Result<(), Errno> {
        on!(self, it => it.dress(mode, modified))
    }

    pub fn free_bytes(&self) -> Result<u64, Errno> {
        on!(self, it => it.free_bytes())
    }
}

impl File {
    pub fn about(&self) -> Result<About, Errno> {
        on!(self, it => it.about())
    }

    pub fn set_len(&self, bytes: u64) -> Result<(), Errno> {
        on!(self, it => it.set_len(bytes))
    }

    /// Has the file system set space aside, where it can and that gains something; whether it has.
    /// The file is then of this size in either case.
    pub fn allocate(&self, bytes: u64) -> Result<bool, Errno> {
        on!(self, it => it.allocate(bytes))
    }

    pub fn sync(&self) -> Result<(), Errno> {
        on!(self, it => it.sync())
    }

    /// Has what is read next come from the disk itself, but for what is still to be written there.
    pub fn forget_cached(&self) {
        on!(self, it => it.forget_cached());
    }

    pub fn dress(&self, mode: u32, modified: Option<Modified>) -> Result<(), Errno> {
        on!(self, it => it.dress(mode, modified))
    }

    /// Locks it for as long as it is open; `EWOULDBLOCK` if another process has.
    pub fn lock(self) -> Result<Self, Errno> {
        Ok(match self {
            Self::Real(it) => Self::Real(it.lock()?),
            #[cfg(test)]
            Self::Simulated(it) => Self::Simulated(it.lock()?),
        })
    }
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        on!(self, it => it.read_at(buffer, offset))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        on!(self, it => it.write_at(bytes, offset))
    }
}

#[cfg(any(test, fuzzing))]
impl From<std::fs::File> for File {
    fn from(file: std::fs::File) -> Self {
        File::Real(file.into())
    }
}
