//! A view of the next bytes of a stream, in one buffer that grows to a limit.

use std::io::{self, Read};

use super::MAX_FRAME_BYTES;

/// The longest stretch that can be looked at together: eight of the longest packets, so that a
/// reader which has lost its way can look for several in a row.
pub const CAPACITY_BYTES: usize = 8 * MAX_FRAME_BYTES as usize;
/// Read at once: what a second-level cache holds while it is decoded. A fuzzer's captures are
/// small, and it is to meet the ends of the buffer.
const READ_BYTES: usize = if cfg!(fuzzing) { 256 } else { 256 << 10 };

/// The next bytes of a stream.
pub struct Window {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Where in the stream `start` is.
    offset_bytes: u64,
    is_at_end: bool,
    failure: Option<io::Error>,
}

impl Window {
    /// A window at the beginning of a stream.
    pub fn new(source: Box<dyn Read + Send>) -> Self {
        Window {
            source,
            buffer: vec![0; READ_BYTES],
            start: 0,
            end: 0,
            offset_bytes: 0,
            is_at_end: false,
            failure: None,
        }
    }

    /// Bytes available without reading.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Where in the stream that begins.
    #[inline]
    pub fn offset_bytes(&self) -> u64 {
        self.offset_bytes
    }

    /// Whether `wanted` bytes can be seen, after reading if need be. Fewer are there at the end of
    /// the stream, or if more is wanted than the buffer holds.
    #[inline]
    pub fn has(&mut self, wanted: usize) -> bool {
        self.end - self.start >= wanted || self.read(wanted)
    }

    /// Bytes that the buffer has grown to.
    pub fn capacity_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Why the stream ended early, once.
    pub fn failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Leaves `bytes` behind, of those that can be seen.
    #[inline]
    pub fn pass(&mut self, bytes: usize) {
        let bytes = bytes.min(self.end - self.start);
        self.start += bytes;
        self.offset_bytes += bytes as u64;
    }

    /// Goes on to the next place behind this one that `begins` says it of, where `head_bytes` can be seen;
    /// or to the end, if there is none. Says whether there is one.
    #[cold]
    pub fn seek(
        &mut self,
        head_bytes: usize,
        mut begins: impl FnMut(&mut Window, usize) -> bool,
    ) -> bool {
        let mut at = 1;
        loop {
            // It is moved in large steps, as moving it copies.
            if at > CAPACITY_BYTES / 4 {
                self.pass(at);
                at = 0;
            }
            if !self.has(at + head_bytes) {
                self.pass(self.bytes().len());
                return false;
            }
            if begins(self, at) {
                self.pass(at);
                return true;
            }
            at += 1;
        }
    }

    #[cold]
    fn read(&mut self, wanted: usize) -> bool {
        if wanted > CAPACITY_BYTES || self.is_at_end {
            return false;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        // More than was wanted, so that a reader who asks for one byte more each time does not
        // read byte by byte.
        let until = (wanted + READ_BYTES).min(CAPACITY_BYTES);
        if until > self.buffer.len() {
            self.buffer.resize(until.next_power_of_two().min(CAPACITY_BYTES), 0);
        }
        while self.end < wanted {
            match self.source.read(&mut self.buffer[self.end..until]) {
                Ok(0) => self.is_at_end = true,
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(error);
                    self.is_at_end = true;
                }
            }
            if self.is_at_end {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte at a time, as a slow pipe may.
    struct Dripping(std::vec::IntoIter<u8>);

    impl Read for Dripping {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            Ok(self.0.next().map_or(0, |byte| {
                buffer[0] = byte;
                1
            }))
        }
    }

    #[test]
    fn bytes_stay_in_order_however_they_come() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut window = Window::new(Box::new(Dripping(bytes.into_iter())));
        assert!(window.has(10));
        window.pass(7);
        assert_eq!((window.bytes(), window.offset_bytes()), (&[7, 8, 9][..], 7));
        assert!(window.has(50));
        assert_eq!((window.bytes()[0], window.bytes()[49]), (7, 56));
        assert!(!window.has(94));
        assert_eq!(window.bytes().len(), 93);
        window.pass(1000);
        assert_eq!(window.offset_bytes(), 100);
    }

    #[test]
    fn nothing_longer_than_the_buffer_is_seen() {
        let mut window = Window::new(Box::new(io::repeat(7)));
        assert!(window.has(CAPACITY_BYTES));
        assert!(!window.has(CAPACITY_BYTES + 1));
        assert_eq!(window.buffer.len(), CAPACITY_BYTES);
    }

    #[test]
    fn a_failure_ends_the_stream_and_is_told_once() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let mut window = Window::new(Box::new(io::Cursor::new([1, 2]).chain(Failing)));
        assert!(!window.has(3));
        assert_eq!(window.bytes(), [1, 2]);
        assert_eq!(
            window.failure().map(|error| error.to_string()),
            Some("the disk is gone".into())
        );
        assert!(window.failure().is_none() && !window.has(3));
    }
}
