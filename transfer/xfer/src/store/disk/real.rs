//! The disk of this host.

use std::fs::Permissions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, FallocateFlags, Flock, FlockArg, OFlag, RenameFlags};
use nix::fcntl::{PosixFadviseAdvice, fallocate, openat, posix_fadvise, renameat2};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, futimens, mkdirat};
use nix::sys::statfs::{TMPFS_MAGIC, fstatfs};
use nix::sys::statvfs::fstatvfs;
use nix::sys::time::TimeSpec;
use nix::unistd::{LinkatFlags, UnlinkatFlags, linkat, syncfs, unlinkat};

use super::{About, Access, Kind};
use crate::store::Modified;

/// How directories are opened on the way to a file.
const WAY: OFlag =
    OFlag::O_PATH.union(OFlag::O_DIRECTORY).union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);

/// A directory; all but the outermost are opened to pass through.
#[derive(Debug)]
pub struct Directory(OwnedFd);

/// A regular file, maybe locked; it is read and written by [`FileExt`].
#[derive(Debug)]
pub enum File {
    Free(std::fs::File),
    Locked(Flock<std::fs::File>),
}

impl Directory {
    /// Opens a directory by its path, through links if there are any.
    pub fn open(path: &Path) -> Result<Self, Errno> {
        let open = |flags| {
            let flags = flags | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
            nix::fcntl::open(path, flags, Mode::empty()).map(Directory)
        };
        // Of what fails from now on this handle is told. Not all that can be written can be read.
        open(OFlag::O_RDONLY).or_else(|_| open(OFlag::O_PATH))
    }

    /// A directory in this one; no link is followed.
    pub fn step(&self, name: &[u8]) -> Result<Self, Errno> {
        openat(&self.0, name, WAY, Mode::empty()).map(Directory)
    }

    pub fn make(&self, name: &[u8], mode: u32) -> Result<(), Errno> {
        mkdirat(&self.0, name, Mode::from_bits_truncate(mode))
    }

    pub fn about(&self) -> Result<About, Errno> {
        fstat(&self.0).map(|found| about(&found))
    }

    pub fn look(&self, name: &[u8]) -> Result<About, Errno> {
        fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW).map(|found| about(&found))
    }

    /// Opens a file in this one; no link is followed.
    pub fn file(&self, name: &[u8], access: Access) -> Result<File, Errno> {
        // What someone put there may be a pipe, which must not block.
        let mut flags = OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK;
        flags |= if access == Access::Read { OFlag::O_RDONLY } else { OFlag::O_RDWR };
        flags.set(OFlag::O_CREAT, access == Access::Make);
        let opened = openat(&self.0, name, flags, Mode::from_bits_truncate(0o600))?;
        Ok(File::Free(opened.into()))
    }

    /// Gives something another name, in another directory of the same disk. `EINVAL` if the file
    /// system cannot do that and promise not to replace.
    pub fn rename(&self, from: &[u8], to: &Self, name: &[u8], replace: bool) -> Result<(), Errno> {
        let flags = if replace { RenameFlags::empty() } else { RenameFlags::RENAME_NOREPLACE };
        renameat2(&self.0, from, &to.0, name, flags)
    }

    pub fn link(&self, from: &[u8], to: &Self, name: &[u8]) -> Result<(), Errno> {
        linkat(&self.0, from, &to.0, name, LinkatFlags::empty())
    }

    pub fn remove(&self, name: &[u8]) -> Result<(), Errno> {
        unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir)
    }

    pub fn remove_directory(&self, name: &[u8]) -> Result<(), Errno> {
        unlinkat(&self.0, name, UnlinkatFlags::RemoveDir)
    }

    pub fn names(&self) -> Result<Vec<Vec<u8>>, Errno> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut listing = Dir::openat(&self.0, ".", flags, Mode::empty())?;
        let names = listing.iter().map(|entry| Ok(entry?.file_name().to_bytes().to_vec()));
        names.filter(|name| !matches!(name.as_deref(), Ok(b"." | b".."))).collect()
    }

    pub fn sync(&self) -> Result<(), Errno> {
        nix::unistd::fsync(self.readable()?)
    }

    /// Has everything on disk that its file system holds.
    pub fn sync_file_system(&self) -> Result<(), Errno> {
        match syncfs(&self.0) {
            Err(Errno::EBADF) => syncfs(self.readable()?),
            synced => synced,
        }
    }

    pub fn dress(&self, mode: u32, modified: Option<Modified>) -> Result<(), Errno> {
        dress(&self.readable()?.into(), mode, modified)
    }

    pub fn free_bytes(&self) -> Result<u64, Errno> {
        let found = fstatvfs(&self.0)?;
        Ok(found.blocks_available().saturating_mul(found.fragment_size()))
    }

    /// The same, opened to be read or synced.
    fn readable(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        openat(&self.0, ".", flags, Mode::empty())
    }
}

impl File {
    fn file(&self) -> &std::fs::File {
        match self {
            File::Free(file) => file,
            File::Locked(file) => file,
        }
    }

    pub fn about(&self) -> Result<About, Errno> {
        fstat(self.file().as_fd()).map(|found| about(&found))
    }

    pub fn set_len(&self, bytes: u64) -> Result<(), Errno> {
        nix::unistd::ftruncate(self.file(), length(bytes)?)
    }

    /// Has the file system set space aside, where it can and that gains something; whether it has.
    /// The file is then of this size in either case.
    pub fn allocate(&self, bytes: u64) -> Result<bool, Errno> {
        // In memory it only means that every page is looked for twice.
        let is_memory = fstatfs(self.file())?.filesystem_type() == TMPFS_MAGIC;
        let allocated = match is_memory {
            true => Err(Errno::EOPNOTSUPP),
            false => fallocate(self.file(), FallocateFlags::empty(), 0, length(bytes)?),
        };
        match allocated {
            Err(Errno::EOPNOTSUPP | Errno::ENOSYS) => self.set_len(bytes).map(|()| false),
            done => done.map(|()| true),
        }
    }

    /// Has a part of it take no room, and read as zeros; `EOPNOTSUPP` where a file system cannot.
    pub fn punch(&self, offset: u64, bytes: u64) -> Result<(), Errno> {
        let flags = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        fallocate(self.file(), flags, length(offset)?, length(bytes)?)
    }

    pub fn sync(&self) -> Result<(), Errno> {
        nix::unistd::fsync(self.file())
    }

    pub fn dress(&self, mode: u32, modified: Option<Modified>) -> Result<(), Errno> {
        dress(self.file(), mode, modified)
    }

    /// Has what is read next come from the disk itself, but for what is still to be written there.
    pub fn forget_cached(&self) {
        let advice = PosixFadviseAdvice::POSIX_FADV_DONTNEED;
        // Where the file system does not heed it, it reads what it believes to be there.
        let _ = posix_fadvise(self.file(), 0, 0, advice);
    }

    /// Locks it for as long as it is open; `EWOULDBLOCK` if another process has.
    pub fn lock(self) -> Result<Self, Errno> {
        match self {
            File::Free(file) => Flock::lock(file, FlockArg::LockExclusiveNonblock)
                .map(File::Locked)
                .map_err(|(_, error)| error),
            locked => Ok(locked),
        }
    }
}

impl FileExt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file().read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file().write_at(bytes, offset)
    }
}

#[cfg(any(test, fuzzing))]
impl From<std::fs::File> for File {
    fn from(file: std::fs::File) -> Self {
        File::Free(file)
    }
}

fn about(found: &FileStat) -> About {
    let seconds = u64::try_from(found.st_ctime).unwrap_or(0);
    About {
        kind: match SFlag::from_bits_truncate(found.st_mode & libc::S_IFMT) {
            SFlag::S_IFREG => Kind::File,
            SFlag::S_IFDIR => Kind::Directory,
            _ => Kind::Other,
        },
        bytes: u64::try_from(found.st_size).unwrap_or(0),
        owner: found.st_uid,
        mode: found.st_mode & 0o7777,
        has_more_names: found.st_nlink > 1,
        modified: Modified {
            seconds: found.st_mtime,
            nanos: u32::try_from(found.st_mtime_nsec).unwrap_or(0),
        },
        changed: Duration::from_secs(seconds),
        identity: (found.st_dev, found.st_ino),
    }
}

fn dress(file: &std::fs::File, mode: u32, modified: Option<Modified>) -> Result<(), Errno> {
    // Nothing is asked for that is so already: a kernel's host refuses every change of a mode.
    if about(&fstat(file)?).mode != mode {
        let set = file.set_permissions(Permissions::from_mode(mode));
        set.map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))?;
    }
    let Some(modified) = modified else { return Ok(()) };
    let time = TimeSpec::new(modified.seconds, i64::from(modified.nanos.min(999_999_999)));
    futimens(file, &TimeSpec::UTIME_OMIT, &time)
}

fn length(bytes: u64) -> Result<i64, Errno> {
    i64::try_from(bytes).map_err(|_| Errno::EFBIG)
}
