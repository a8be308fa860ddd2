//! Directories and files as the store has them in unit tests: of the real disk, or of a simulated one.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use nix::errno::Errno;

use crate::store::Modified;
use crate::store::disk::{About, Access, real};

/// A directory of the real disk, or of a simulated one.
#[derive(Debug)]
pub enum Directory {
    Real(real::Directory),
    Simulated(super::Directory),
}

/// A file of either.
#[derive(Debug)]
pub enum File {
    Real(real::File),
    Simulated(super::File),
}

macro_rules! on {
    ($one:expr, $it:ident => $call:expr) => {
        match $one {
            Self::Real($it) => $call,
            Self::Simulated($it) => $call,
        }
    };
}

impl Directory {
    pub fn open(path: &Path) -> Result<Self, Errno> {
        real::Directory::open(path).map(Directory::Real)
    }

    pub fn step(&self, name: &[u8]) -> Result<Self, Errno> {
        Ok(match self {
            Self::Real(it) => Self::Real(it.step(name)?),
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

    pub fn file(&self, name: &[u8], access: Access) -> Result<File, Errno> {
        Ok(match self {
            Self::Real(it) => File::Real(it.file(name, access)?),
            Self::Simulated(it) => File::Simulated(it.file(name, access)?),
        })
    }

    pub fn rename(&self, from: &[u8], to: &Self, name: &[u8], replace: bool) -> Result<(), Errno> {
        match (self, to) {
            (Self::Real(it), Self::Real(to)) => it.rename(from, to, name, replace),
            (Self::Simulated(it), Self::Simulated(to)) => it.rename(from, to, name, replace),
            _ => Err(Errno::EXDEV),
        }
    }

    pub fn link(&self, from: &[u8], to: &Self, name: &[u8]) -> Result<(), Errno> {
        match (self, to) {
            (Self::Real(it), Self::Real(to)) => it.link(from, to, name),
            (Self::Simulated(it), Self::Simulated(to)) => it.link(from, to, name),
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

    pub fn allocate(&self, bytes: u64) -> Result<bool, Errno> {
        on!(self, it => it.allocate(bytes))
    }

    pub fn punch(&self, offset: u64, bytes: u64) -> Result<(), Errno> {
        on!(self, it => it.punch(offset, bytes))
    }

    pub fn sync(&self) -> Result<(), Errno> {
        on!(self, it => it.sync())
    }

    pub fn forget_cached(&self) {
        on!(self, it => it.forget_cached());
    }

    pub fn dress(&self, mode: u32, modified: Option<Modified>) -> Result<(), Errno> {
        on!(self, it => it.dress(mode, modified))
    }

    pub fn lock(self) -> Result<Self, Errno> {
        Ok(match self {
            Self::Real(it) => Self::Real(it.lock()?),
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

impl From<std::fs::File> for File {
    fn from(file: std::fs::File) -> Self {
        File::Real(file.into())
    }
}
