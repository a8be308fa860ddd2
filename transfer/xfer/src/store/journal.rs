//! The journal beside an incomplete file: which of its blocks are on disk.
//!
//! The journal is a table with a line for each block: its sum, and a check over both. A line is
//! written after its block, never moves, and may be written again; one that was torn when the process was
//! killed does not fit its check, so its block counts as missing. What a journal says is only believed
//! after the block has been read and hashed again.

use std::io;
use std::os::unix::fs::FileExt;

use super::disk::File;
use super::tree::{FileTree, Sum};

/// What the file begins with; the number grows when its form changes.
pub(crate) const HEADER: &[u8; 32] = b"fairway: sums of blocks, form 1\n";
/// Bytes of a check: chance does not make 64 bits.
const CHECK_BYTES: usize = 8;
/// Bytes of a line.
pub(crate) const LINE_BYTES: usize = size_of::<Sum>() + CHECK_BYTES;
/// Lines that are read at once.
const LINES: usize = 1024;

/// The table of sums of one incomplete file.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

impl Journal {
    /// Goes on with a journal, or begins it anew if it is empty or is none.
    pub fn open(file: File) -> io::Result<Self> {
        let mut header = [0; HEADER.len()];
        let whole = file.read_exact_at(&mut header, 0).is_ok() && &header == HEADER;
        if !whole {
            file.set_len(0)?;
            file.write_all_at(HEADER, 0)?;
        }
        Ok(Journal { file })
    }

    pub fn note(&self, index: u64, sum: &Sum) -> io::Result<()> {
        let mut line = [0; LINE_BYTES];
        line[..sum.len()].copy_from_slice(sum);
        line[sum.len()..].copy_from_slice(&check(index, sum));
        self.file.write_all_at(&line, at(index))
    }

    /// Calls `each` with every whole line of the first `count`.
    pub fn read<E: From<io::Error>>(
        &self,
        count: u64,
        mut each: impl FnMut(u64, Sum) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lines = vec![0; LINES * LINE_BYTES];
        let mut first = 0;
        while first < count {
            let got = read_up_to(&self.file, &mut lines, at(first))?;
            for (index, line) in (first..count).zip(lines[..got].chunks_exact(LINE_BYTES)) {
                let (sum, found) = line.split_at(size_of::<Sum>());
                let sum = sum.try_into().unwrap_or_default();
                if found == check(index, &sum) {
                    each(index, sum)?;
                }
            }
            if got < lines.len() {
                break;
            }
            first += LINES as u64;
        }
        Ok(())
    }

    /// The digest of a file all of whose `count` blocks are noted; none if one is not.
    pub fn digest(&self, count: u64) -> io::Result<Option<Sum>> {
        let mut tree = FileTree::new();
        self.read(count, |index, sum| {
            tree.insert(index, sum);
            io::Result::Ok(())
        })?;
        Ok(tree.digest(count))
    }
}

fn at(index: u64) -> u64 {
    HEADER.len() as u64 + index * LINE_BYTES as u64
}

fn check(index: u64, sum: &Sum) -> [u8; CHECK_BYTES] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(HEADER).update(&index.to_le_bytes()).update(sum);
    let mut check = [0; CHECK_BYTES];
    hasher.finalize_xof().fill(&mut check);
    check
}

/// Reads until the buffer is full or the file ends.
fn read_up_to(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read_at(&mut buffer[got..], at + got as u64) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

/// A bit for each block: whether it is there.
#[derive(Clone, Debug, Default)]
pub struct Done {
    words: Vec<u64>,
    count: u64,
}

impl Done {
    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn has(&self, index: u64) -> bool {
        self.words.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    pub fn set(&mut self, index: u64, there: bool) {
        if self.has(index) == there {
            return;
        }
        let word = index as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] ^= 1 << (index % 64);
        self.count = if there { self.count + 1 } else { self.count - 1 };
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;

    fn lines(journal: &Journal, count: u64) -> BTreeMap<u64, Sum> {
        let mut all = BTreeMap::new();
        journal
            .read(count, |index, sum| {
                all.insert(index, sum);
                io::Result::Ok(())
            })
            .unwrap();
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn a_journal_that_was_torn_anywhere_keeps_what_was_whole(
            noted in btree_map(0..3000u64, any::<[u8; 32]>(), 1..20),
            cut in any::<prop::sample::Index>(),
        ) {
            let file = tempfile::tempfile().unwrap();
            let journal = Journal::open(file.try_clone().unwrap().into()).unwrap();
            for (index, sum) in &noted {
                journal.note(*index, sum).unwrap();
            }
            prop_assert_eq!(&lines(&journal, 3000), &noted);
            let cut = cut.index(file.metadata().unwrap().len() as usize + 1) as u64;
            file.set_len(cut).unwrap();
            let again = Journal::open(file.into()).unwrap();
            let whole = |index: u64| cut >= HEADER.len() as u64 && at(index + 1) <= cut;
            let expected: BTreeMap<_, _> = noted.into_iter().filter(|(index, _)| whole(*index)).collect();
            prop_assert_eq!(lines(&again, 3000), expected);
        }

        #[test]
        fn anything_may_be_in_a_journal(bytes in vec(any::<u8>(), 0..500), keep in any::<bool>()) {
            let file = tempfile::tempfile().unwrap();
            if keep {
                file.write_all_at(HEADER, 0).unwrap();
            }
            file.write_all_at(&bytes, if keep { HEADER.len() as u64 } else { 0 }).unwrap();
            let journal = Journal::open(file.into()).unwrap();
            prop_assert!(lines(&journal, u64::MAX / 64).is_empty());
        }

        #[test]
        fn bits_are_a_set(steps in vec((0..500u64, any::<bool>()), 0..100)) {
            let (mut done, mut set) = (Done::default(), std::collections::BTreeSet::new());
            for (index, there) in steps {
                done.set(index, there);
                if there { set.insert(index); } else { set.remove(&index); }
                prop_assert_eq!(done.count(), set.len() as u64);
            }
            prop_assert!((0..600).all(|index| done.has(index) == set.contains(&index)));
        }
    }

    #[test]
    fn a_line_of_another_block_does_not_fit() {
        let file = tempfile::tempfile().unwrap();
        let journal = Journal::open(file.try_clone().unwrap().into()).unwrap();
        journal.note(1, &[7; 32]).unwrap();
        let mut line = [0; LINE_BYTES];
        file.read_exact_at(&mut line, at(1)).unwrap();
        file.write_all_at(&line, at(0)).unwrap();
        assert_eq!(lines(&journal, 2), BTreeMap::from([(1, [7; 32])]));
        assert_eq!(journal.digest(2).unwrap(), None);
    }
}
