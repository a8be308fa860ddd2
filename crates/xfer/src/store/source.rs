//! A file that is sent, read block by block.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::tree::{BlockHasher, Blocks, Sum};
use crate::Error;

/// How much is read and hashed at once: what was read is still in the second-level cache when it is
/// hashed.
pub const PIECE_BYTES: usize = 256 << 10;

/// A buffer of [`PIECE_BYTES`], one a thread.
pub fn scratch() -> Vec<u8> {
    vec![0; PIECE_BYTES]
}

/// What a file was when it was opened; it is another one when this differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A regular file to send.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    file: File,
    identity: Identity,
    blocks: Blocks,
}

impl Source {
    /// Opens a file; here links are followed, for the sender's user named it.
    ///
    /// # Errors
    /// [`Error::Input`] if it is no regular file, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let refused = |why: String| Error::Input(format!("reading {}: {why}", path.display()));
        // A pipe must not block before it is seen to be one.
        let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let file = file.map_err(|error| refused(error.to_string()))?;
        let found = file.metadata().map_err(|error| refused(error.to_string()))?;
        if !found.is_file() {
            return Err(refused("it is not a regular file".into()));
        }
        let identity = identity(&found);
        let blocks = Blocks::of(identity.bytes);
        Ok(Source { path: path.to_owned(), file, identity, blocks })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// For `sendfile`.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// How it is cut.
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// Its size when it was opened.
    pub fn bytes(&self) -> u64 {
        self.identity.bytes
    }

    /// When it was last modified: seconds since 1970, nanoseconds.
    pub fn modified(&self) -> (i64, u32) {
        let (seconds, nanos) = self.identity.modified;
        (seconds, u32::try_from(nanos).unwrap_or(0))
    }

    /// Reads a block and sums it.
    ///
    /// # Errors
    /// [`Error::Failed`] if it cannot be read, or is shorter than it was.
    pub fn sum(&self, index: u64, scratch: &mut [u8]) -> Result<Sum, Error> {
        sum_block(&self.file, self.blocks, index, scratch).map_err(|error| self.failed(&error))
    }

    /// Reads a block into the front of a buffer, for a connection that encrypts, and sums it.
    ///
    /// # Errors
    /// [`Error::Failed`] if it cannot be read, or is shorter than it was.
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

    /// Whether it still is what it was when it was opened.
    ///
    /// # Errors
    /// [`Error::Failed`] in words if it is not.
    pub fn is_unchanged(&self) -> Result<(), Error> {
        let what = || format!("reading {}", self.path.display());
        let now = std::fs::metadata(&self.path)
            .map_err(|error| Error::failed(what(), format!("it is gone meanwhile: {error}")))?;
        if identity(&now) == self.identity {
            return Ok(());
        }
        Err(Error::failed(what(), "it was changed while it was sent; send it again"))
    }

    fn failed(&self, error: &io::Error) -> Error {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it became shorter while it was sent".into(),
            _ => error.to_string(),
        };
        Error::failed(format!("reading {}", self.path.display()), why)
    }
}

fn identity(of: &std::fs::Metadata) -> Identity {
    Identity {
        device: of.dev(),
        inode: of.ino(),
        bytes: of.size(),
        modified: (of.mtime(), of.mtime_nsec()),
        changed: (of.ctime(), of.ctime_nsec()),
    }
}

/// Reads a block of a file, piece by piece, and sums it.
///
/// # Errors
/// If it cannot be read, or the file is too short.
pub fn sum_block(file: &File, blocks: Blocks, index: u64, scratch: &mut [u8]) -> io::Result<Sum> {
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
        assert_eq!((source.bytes(), source.blocks().count()), ((1 << 20) + 3, Some(2)));
        source.is_unchanged().unwrap();
        let mut hasher = source.blocks().hasher(1);
        let mut three = [0; 3];
        source.read(1, 0, &mut three, &mut hasher).unwrap();
        assert_eq!((three, hasher.sum()), ([7; 3], source.sum(1, &mut scratch()).unwrap()));
        File::options().append(true).open(&path).unwrap().set_len(1 << 20).unwrap();
        assert!(source.is_unchanged().unwrap_err().to_string().contains("changed"));
        let shorter = source.sum(1, &mut scratch()).unwrap_err();
        assert!(shorter.to_string().contains("shorter"), "{shorter}");
        std::fs::remove_file(&path).unwrap();
        assert!(source.is_unchanged().is_err());
    }

    #[test]
    fn only_regular_files_are_sent() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path(), Path::new("/dev/null"), &directory.path().join("none")] {
            assert!(matches!(Source::open(path), Err(Error::Input(_))));
        }
    }
}
