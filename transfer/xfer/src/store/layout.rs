//! The holes of a block: parts that take no room on the sender's disk, and none on the receiver's.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use nix::errno::Errno;
use nix::unistd::{Whence, lseek};
use serde::{Deserialize, Serialize};

/// Most holes of a block that are kept: a block of 1 MiB in which every other page is one has 128.
pub const MOST_HOLES: usize = 256;

/// A hole, from the beginning of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hole {
    pub at: u32,
    pub bytes: u32,
}

/// A part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub at: u64,
    pub bytes: u64,
    pub is_hole: bool,
}

/// How a block is made of data and holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    bytes: u64,
    holes: Vec<Hole>,
}

impl Layout {
    /// A block without holes.
    pub fn dense(bytes: u64) -> Self {
        Layout { bytes, holes: Vec::new() }
    }

    /// A block with these holes; none if they are not in order, overlap or lie outside of it.
    pub fn new(bytes: u64, holes: Vec<Hole>) -> Option<Self> {
        let mut free_from = 0;
        for hole in &holes {
            let (at, length) = (u64::from(hole.at), u64::from(hole.bytes));
            if at < free_from || length == 0 || at + length > bytes {
                return None;
            }
            free_from = at + length;
        }
        (holes.len() <= MOST_HOLES).then_some(Layout { bytes, holes })
    }

    /// The holes of a part of a file, as its file system tells. One that does not know of holes says
    /// that all is data, and so is what lies behind the last hole that is kept.
    pub fn of(file: &File, from: u64, bytes: u64) -> io::Result<Self> {
        let (end, mut at, mut holes) = (from + bytes, from, Vec::new());
        while at < end && holes.len() < MOST_HOLES {
            let Some(start) = seek(file, at, Whence::SeekHole)?.filter(|start| *start < end) else {
                break;
            };
            let stop = seek(file, start, Whence::SeekData)?.map_or(end, |stop| stop.min(end));
            let place = |offset: u64| u32::try_from(offset - from);
            let (Ok(from), Ok(to)) = (place(start), place(stop)) else { break };
            if from == to {
                break;
            }
            holes.push(Hole { at: from, bytes: to - from });
            at = stop;
        }
        Ok(Layout { bytes, holes })
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn holes(&self) -> &[Hole] {
        &self.holes
    }

    /// Bytes that are not in holes.
    pub fn data_bytes(&self) -> u64 {
        self.bytes - self.holes.iter().map(|hole| u64::from(hole.bytes)).sum::<u64>()
    }

    /// Data and holes in their order.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        let mut spans = Vec::with_capacity(2 * self.holes.len() + 1);
        let mut at = 0;
        for hole in &self.holes {
            let (start, bytes) = (u64::from(hole.at), u64::from(hole.bytes));
            spans.push(Span { at, bytes: start - at, is_hole: false });
            spans.push(Span { at: start, bytes, is_hole: true });
            at = start + bytes;
        }
        spans.push(Span { at, bytes: self.bytes - at, is_hole: false });
        spans.into_iter().filter(|span| span.bytes > 0)
    }
}

/// Where a hole or data begin, at `at` or behind it; none if there are no more data.
fn seek(file: &File, at: u64, what: Whence) -> io::Result<Option<u64>> {
    let at = i64::try_from(at).map_err(|_| io::ErrorKind::InvalidInput)?;
    match lseek(file.as_fd(), at, what) {
        Ok(found) => Ok(u64::try_from(found).ok()),
        Err(Errno::ENXIO) => Ok(None),
        // A file system without holes (lseek(2)): all is data, and the end is the only hole.
        Err(Errno::EINVAL) if matches!(what, Whence::SeekHole) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use proptest::prelude::*;

    use super::*;

    const KIB: u64 = 1 << 10;

    #[test]
    fn holes_of_a_file_are_found_in_each_part() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1024 * KIB).unwrap();
        file.write_all_at(&[1; 4096], 256 * KIB).unwrap();
        let holes = |from, bytes| Layout::of(&file, from, bytes).unwrap().holes().to_vec();
        let all = holes(0, 1024 * KIB);
        if all.is_empty() {
            return println!("skipped: the file system of the temporary directory tells no holes");
        }
        let hole = |at: u64, bytes: u64| Hole { at: at as u32, bytes: bytes as u32 };
        assert_eq!(all, [hole(0, 256 * KIB), hole(260 * KIB, 764 * KIB)]);
        assert_eq!(holes(256 * KIB, 4 * KIB), []);
        assert_eq!(holes(512 * KIB, 8 * KIB), [hole(0, 8 * KIB)]);
        assert_eq!(holes(252 * KIB, 12 * KIB), [hole(0, 4 * KIB), hole(8 * KIB, 4 * KIB)]);
    }

    #[test]
    fn holes_that_cannot_be_are_refused() {
        let layout = |holes: &[(u32, u32)]| {
            let holes = holes.iter().map(|&(at, bytes)| Hole { at, bytes }).collect();
            Layout::new(100, holes).is_some()
        };
        assert!(layout(&[]) && layout(&[(0, 100)]) && layout(&[(0, 1), (1, 99)]));
        for bad in [
            &[(0, 101)][..],
            &[(100, 1)],
            &[(5, 0)],
            &[(5, 10), (14, 1)],
            &[(50, 1), (5, 1)],
            &[(u32::MAX, u32::MAX)],
        ] {
            assert!(!layout(bad), "{bad:?}");
        }
        let many: Vec<(u32, u32)> = (0..=MOST_HOLES as u32).map(|at| (2 * at, 1)).collect();
        assert!(
            Layout::new(1 << 20, many.iter().map(|&(at, bytes)| Hole { at, bytes }).collect())
                .is_none()
        );
    }

    proptest! {
        #[test]
        fn spans_are_all_of_the_block(parts in prop::collection::vec((1..50_u32, 1..50_u32), 0..9)) {
            let (mut at, mut holes) = (0, Vec::new());
            for (data, hole) in parts {
                holes.push(Hole { at: at + data, bytes: hole });
                at += data + hole;
            }
            let layout = Layout::new(u64::from(at) + 3, holes).unwrap();
            let mut end = 0;
            for span in layout.spans() {
                prop_assert_eq!(span.at, end);
                end += span.bytes;
            }
            prop_assert_eq!(end, layout.bytes());
            let data: u64 = layout.spans().filter(|it| !it.is_hole).map(|it| it.bytes).sum();
            prop_assert_eq!(data, layout.data_bytes());
        }
    }
}
