//! Where the bytes come from: a file or a pipe, packed or not, and how far they are.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;

use super::ReadError;

/// How much of a capture has been read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Bytes read of the file, packed as it is.
    pub bytes: u64,
    /// Bytes that it has; none if it is a pipe.
    pub of_bytes: Option<u64>,
}

/// Compressed bytes that are read at once.
const PACKED_BUFFER_BYTES: usize = 64 << 10;
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Other formats that captures are packed in: their first bytes, their names and their commands.
const NOT_UNPACKED: [(&[u8], &str, &str); 4] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstdcat"),
    (b"BZh", "bzip2", "bzcat"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz", "xzcat"),
    (&[0x04, 0x22, 0x4d, 0x18], "LZ4", "lz4cat"),
];

/// Counts what is read of a stream.
struct Counting {
    inner: Box<dyn Read + Send>,
    count: Arc<AtomicU64>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(buffer)?;
        self.count.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// Unpacked bytes that are asked for at once. Where the packed ones are damaged, the decoder keeps
/// back what it had unpacked for the same question, so that questions are small.
const PIECE_BYTES: usize = 512;

/// Unpacks in small pieces.
struct Unpacking<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Unpacking<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = buffer.len().min(PIECE_BYTES);
        self.0.read(&mut buffer[..piece])
    }
}

/// A stream unpacked, and a count of what has been read of it as it was packed.
pub struct Source {
    pub stream: Box<dyn Read + Send>,
    pub read_bytes: Arc<AtomicU64>,
}

/// Unpacks a stream if it is packed.
pub fn unpack(inner: Box<dyn Read + Send>, name: &str) -> Result<Source, ReadError> {
    let read_bytes = Arc::new(AtomicU64::new(0));
    let mut counting = Counting { inner, count: Arc::clone(&read_bytes) };
    let mut head = Vec::new();
    let result = counting.by_ref().take(8).read_to_end(&mut head);
    result.map_err(|source| ReadError::Read { name: name.to_owned(), source })?;
    if head.is_empty() {
        return Err(ReadError::Empty { name: name.to_owned() });
    }
    if let Some((_, with, command)) =
        NOT_UNPACKED.iter().find(|(magic, ..)| head.starts_with(magic))
    {
        let command = format!("{command} {name}");
        return Err(ReadError::Compressed { name: name.to_owned(), with, command });
    }
    let is_packed = head.starts_with(GZIP);
    let whole = Cursor::new(head).chain(counting);
    let stream: Box<dyn Read + Send> = if is_packed {
        let packed = BufReader::with_capacity(PACKED_BUFFER_BYTES, whole);
        Box::new(Unpacking(MultiGzDecoder::new(packed)))
    } else {
        Box::new(whole)
    };
    Ok(Source { stream, read_bytes })
}
