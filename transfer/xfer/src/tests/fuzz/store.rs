//! Invariants of a journal, for any content of the disk.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::store::journal::{HEADER, Journal, LINE_BYTES};
use crate::store::tree::Sum;

/// Blocks of the journal that is damaged.
const BLOCKS: u8 = 40;

/// Reads bytes as a journal, and writes them over a part of one that was whole.
pub fn journal(bytes: &[u8]) {
    let file = empty();
    file.write_all_at(bytes, 0).expect("memory");
    let journal = reopened(&file);
    let lines = lines(&journal, u64::MAX / LINE_BYTES as u64 - 1);
    assert!(HEADER.len() + lines.len() * LINE_BYTES <= HEADER.len().max(bytes.len()));
    let count = lines.len() as u64;
    let is_whole = lines.keys().copied().eq(0..count);
    assert_eq!(journal.digest(count).expect("memory").is_some(), is_whole);
    let copy = Journal::open(empty().into()).expect("memory");
    lines.iter().for_each(|(index, sum)| copy.note(*index, sum).expect("memory"));
    assert_eq!(self::lines(&copy, lines.keys().last().map_or(0, |last| last + 1)), lines);

    if let Some((at, damage)) = bytes.split_first_chunk() {
        damaged(u16::from_le_bytes(*at).into(), damage);
    }
}

/// Lines outside of the damage are read as they were noted. Within it a fuzzer, which sees what is
/// compared, makes lines with the right check; a receiver hashes each block again.
fn damaged(at: usize, damage: &[u8]) {
    let file = empty();
    let journal = Journal::open(file.try_clone().expect("memory").into()).expect("memory");
    (0..BLOCKS).for_each(|index| journal.note(index.into(), &[index; 32]).expect("memory"));
    file.write_all_at(damage, at as u64).expect("memory");
    let lines = lines(&reopened(&file), BLOCKS.into());
    let is_touched = |index: &u64| {
        let start = HEADER.len() + *index as usize * LINE_BYTES;
        start < at + damage.len() && at < start + LINE_BYTES
    };
    let are_noted =
        lines.iter().all(|(index, sum)| is_touched(index) || *sum == [*index as u8; 32]);
    assert!(are_noted, "{lines:?}");
    if at >= HEADER.len() {
        assert!(
            (0..u64::from(BLOCKS)).all(|index| is_touched(&index) || lines.contains_key(&index))
        );
    }
}

fn empty() -> File {
    memfd_create(c"journal", MFdFlags::MFD_CLOEXEC).expect("memory").into()
}

fn reopened(file: &File) -> Journal {
    Journal::open(file.try_clone().expect("memory").into()).expect("memory")
}

fn lines(journal: &Journal, count: u64) -> BTreeMap<u64, Sum> {
    let mut lines = BTreeMap::new();
    let read = journal.read(count, |index, sum| {
        lines.insert(index, sum);
        io::Result::Ok(())
    });
    read.expect("memory");
    lines
}
