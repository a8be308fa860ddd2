//! A file being sent, read block by block.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::layout::Layout;
use super::tree::{BlockHasher, Blocks, Sum};
use crate::Error;

/// How much is read and hashed at once: what was read is still in the second-level cache when it is
/// hashed.
pub const PIECE_BYTES: usize = 256 << 10;

/// A buffer of [`PIECE_BYTES`], one a thread.
pub fn scratch() -> Vec<u8> {
    vec![0; PIECE_BYTES]
}

/// What a file was when it was looked at; it is another one when this differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stat {
    pub fn of(metadata: &Metadata) -> Self {
        Stat {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether what is at a path still is the same. A link to it may be what the user named.
    pub fn is_at(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|now| Stat::of(&now) == *self)
    }
}

/// A regular file to send.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    file: File,
    stat: Stat,
    blocks: Blocks,
}

impl Source {
    /// Opens a file; here links are followed, for the sender's user named it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let refused = |why: String| Error::Input(format!("reading {}: {why}", path.display()));
        // A pipe must not block before it is seen to be one.
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(|error| refused(error.to_string()))?;
        let found = file.metadata().map_err(|error| refused(error.to_string()))?;
        if !found.is_file() {
            return Err(refused("it is not a regular file".into()));
        }
        let stat = Stat::of(&found);
        let blocks = Blocks::of(stat.bytes);
        Ok(Source { path: path.to_owned(), file, stat, blocks })
    }

    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// The holes of a block.
    pub fn layout(&self, index: u64) -> Result<Layout, Error> {
        let (from, bytes) = (self.blocks.offset(index), self.blocks.bytes(index));
        Layout::of(&self.file, from, bytes).map_err(|error| self.failed(&error))
    }

    /// For `sendfile`.
    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn sum(&self, index: u64, scratch: &mut [u8]) -> Result<Sum, Error> {
        sum_block(&self.file, self.blocks, index, scratch).map_err(|error| self.failed(&error))
    }

    /// Reads a block into the front of a buffer, for a connection that encrypts, and sums it.
    pub fn read(
        &self,
        index: u64,
        at: u64,
        into: &mut [u8],
        hasher: &mut BlockHasher,
    ) -> Result<(), Error> {
        let at = self.blocks.offset(index) + at;
        self.file.read_exact_at(into, at).map_err(|error| self.failed(&error))?;
        hasher.update(into);
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Error {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it became shorter while it was sent".into(),
            _ => error.to_string(),
        };
        Error::failed(format!("reading {}", self.path.display()), why)
    }
}

/// Reads a block of a file, piece by piece, and sums it.
pub fn sum_block(
    file: &impl FileExt,
    blocks: Blocks,
    index: u64,
    scratch: &mut [u8],
) -> io::Result<Sum> {
    let mut hasher = blocks.hasher(index);
    let (mut at, end) = (blocks.offset(index), blocks.offset(index) + blocks.bytes(index));
    while at < end {
        let piece = scratch.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
        file.read_exact_at(&mut scratch[..piece], at)?;
        hasher.update(&scratch[..piece]);
        at += piece as u64;
    }
    Ok(hasher.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_source_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, vec![7; (1 << 20) + 3]).unwrap();
        let source = Source::open(&path).unwrap();
        let stat = *source.stat();
        assert!(stat.bytes() == (1 << 20) + 3 && stat.is_at(&path));
        let mut hasher = Blocks::of(stat.bytes()).hasher(1);
        let mut three = [0; 3];
        source.read(1, 0, &mut three, &mut hasher).unwrap();
        assert_eq!((three, hasher.sum()), ([7; 3], source.sum(1, &mut scratch()).unwrap()));
        File::options().append(true).open(&path).unwrap().set_len(1 << 20).unwrap();
        assert!(!stat.is_at(&path));
        let shorter = source.sum(1, &mut scratch()).unwrap_err();
        assert!(shorter.to_string().contains("shorter"), "{shorter}");
        std::fs::remove_file(&path).unwrap();
        assert!(!stat.is_at(&path));
    }

    #[test]
    fn only_regular_files_are_sent() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path(), Path::new("/dev/null"), &directory.path().join("none")] {
            assert!(matches!(Source::open(path), Err(Error::Input(_))));
        }
    }
}
