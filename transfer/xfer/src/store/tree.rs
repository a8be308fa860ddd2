//! Blocks of a file, whose sums merge to the BLAKE3 of the whole.
//!
//! BLAKE3 is a binary tree whose left subtrees are complete (section 2.1 of its specification), so
//! aligned blocks of a power of two bytes are subtrees of it. Each block is hashed once, on any
//! thread and in any order; the digest of the file is then a merge of 32 bytes a block, and equals
//! what `b3sum` prints.

use std::collections::BTreeMap;

use blake3::Hasher;
use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};

/// What stands for a block or a whole file: a chaining value of BLAKE3, or its root.
pub type Sum = [u8; 32];

/// The smallest block: what one file has on the way at once stays small, and the sum and the
/// journal cost 72 bytes each time.
const SMALLEST_BLOCK_BYTES: u64 = 1 << 20;
/// Most blocks of a file: a bit for each is 128 KiB of memory.
const MOST_BLOCKS: u64 = 1 << 20;

#[cfg(not(test))]
fn smallest_block_bytes() -> u64 {
    SMALLEST_BLOCK_BYTES
}

#[cfg(test)]
pub(crate) use small::smallest_block_bytes;

/// Smaller blocks for tests that cut thousands of files into many.
#[cfg(test)]
pub(crate) mod small {
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<u64> = const { Cell::new(super::SMALLEST_BLOCK_BYTES) };
    }

    pub(crate) fn smallest_block_bytes() -> u64 {
        BYTES.get()
    }

    pub(crate) fn set_smallest_block_bytes(bytes: u64) {
        BYTES.set(bytes);
    }
}

/// How a file is cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    file_bytes: Option<u64>,
    block_bytes: u64,
}

impl Blocks {
    pub fn of(file_bytes: u64) -> Self {
        let needed = file_bytes.div_ceil(MOST_BLOCKS).max(smallest_block_bytes());
        // Beyond 2^63 bytes no file system goes (`loff_t` is signed).
        let block_bytes = needed.checked_next_power_of_two().unwrap_or(1 << 63);
        Blocks { file_bytes: Some(file_bytes), block_bytes }
    }

    pub fn of_stream() -> Self {
        Blocks { file_bytes: None, block_bytes: smallest_block_bytes() }
    }

    /// The stream has ended after so many bytes: its blocks stay as they are.
    pub fn ended(self, file_bytes: u64) -> Self {
        Blocks { file_bytes: Some(file_bytes), ..self }
    }

    /// Bytes of the file; none while that is not known.
    pub fn file_bytes(self) -> Option<u64> {
        self.file_bytes
    }

    pub fn block_bytes(self) -> u64 {
        self.block_bytes
    }

    /// How many blocks there are; none while that is not known. An empty file has none.
    pub fn count(self) -> Option<u64> {
        self.file_bytes.map(|bytes| bytes.div_ceil(self.block_bytes))
    }

    /// Most blocks that there may be.
    pub fn most(self) -> u64 {
        self.count().unwrap_or(MOST_STREAM_BLOCKS)
    }

    pub fn offset(self, index: u64) -> u64 {
        index * self.block_bytes
    }

    /// Bytes of a block; those of a full one while the end is not known.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn bytes(self, index: u64) -> u64 {
        let Some(file_bytes) = self.file_bytes else { return self.block_bytes };
        assert!(self.has(index), "block {index} of {self:?}");
        (file_bytes - self.offset(index)).min(self.block_bytes)
    }

    pub fn has(self, index: u64) -> bool {
        index < self.most()
    }

    /// A sum of a block, to be fed with its bytes.
    pub fn hasher(self, index: u64) -> BlockHasher {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(self.offset(index));
        BlockHasher { hasher, only: self.count() == Some(1) }
    }

    #[cfg(test)]
    pub fn sum(self, index: u64, data: &[u8]) -> Sum {
        let mut hasher = self.hasher(index);
        hasher.update(data);
        hasher.sum()
    }
}

/// Most blocks of a stream, 16 TiB: its bitmap is then 2 MiB of memory.
const MOST_STREAM_BLOCKS: u64 = 1 << 24;

/// Zeros that a hole is hashed from, and written from where none can be made.
pub static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// The sum of a block while its bytes come.
#[derive(Clone, Debug)]
pub struct BlockHasher {
    hasher: Hasher,
    only: bool,
}

impl BlockHasher {
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// Bytes of a hole.
    pub fn zeros(&mut self, mut bytes: u64) {
        while bytes > 0 {
            let piece = ZEROS.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
            self.hasher.update(&ZEROS[..piece]);
            bytes -= piece as u64;
        }
    }

    /// The sum: the digest of the file if this is its only block, else a chaining value.
    ///
    /// # Panics
    /// If it had no bytes: an empty file has no block.
    pub fn sum(&self) -> Sum {
        if self.only { self.digest() } else { self.hasher.finalize_non_root() }
    }

    /// The digest of a file that has no bytes but those of this block, its first.
    pub fn digest(&self) -> Sum {
        *self.hasher.finalize().as_bytes()
    }
}

/// Merges the sums of blocks to the digest of a file, in whatever order they come.
///
/// Two neighbours are merged when both are there, so a file whose blocks come roughly in order needs
/// a few hundred bytes. What begins at the first block is merged last, because the root is merged in
/// a way of its own, and where it is depends on the number of blocks.
#[derive(Clone, Debug, Default)]
pub struct FileTree {
    /// Roots of complete subtrees by height and place.
    nodes: BTreeMap<(u32, u64), Sum>,
}

impl FileTree {
    pub fn new() -> Self {
        FileTree::default()
    }

    pub fn insert(&mut self, index: u64, sum: Sum) {
        let (mut height, mut place, mut sum) = (0, index, sum);
        while place > 1 {
            let Some(sibling) = self.nodes.remove(&(height, place ^ 1)) else { break };
            let (left, right) = if place & 1 == 0 { (&sum, &sibling) } else { (&sibling, &sum) };
            sum = merge_subtrees_non_root(left, right, Mode::Hash);
            (height, place) = (height + 1, place >> 1);
        }
        self.nodes.insert((height, place), sum);
    }

    /// The digest of a file of so many blocks; none if one is missing.
    pub fn digest(&self, count: u64) -> Option<Sum> {
        match count {
            0 => Some(*blake3::hash(b"").as_bytes()),
            1 => self.nodes.get(&(0, 0)).copied(),
            _ => {
                // The smallest tree that has them all: its left half is full, its right is not empty.
                let half = (count - 1).ilog2();
                let left = self.node(half, 0, count)?;
                let right = self.node(half, 1, count)?;
                Some(*merge_subtrees_root(&left, &right, Mode::Hash).as_bytes())
            }
        }
    }

    /// The root of the subtree at a place; its left half where there is no right one.
    fn node(&self, height: u32, place: u64, count: u64) -> Option<Sum> {
        if let Some(sum) = self.nodes.get(&(height, place)) {
            return Some(*sum);
        }
        let below = height.checked_sub(1)?;
        let left = self.node(below, place << 1, count)?;
        let right_begins = (place << 1 | 1) << below;
        if right_begins >= count {
            return Some(left);
        }
        let right = self.node(below, place << 1 | 1, count)?;
        Some(merge_subtrees_non_root(&left, &right, Mode::Hash))
    }
}

/// What is summed for the whole transfer, so that both sides can say that they have the same.
const TRANSFER_CONTEXT: &str = "fairway 2026 digest over all files of a transfer";

/// The digest over all that is transferred: names, sizes, digests, in the order of the offer.
#[derive(Clone, Debug, Default)]
pub struct TransferDigest {
    tree: FileTree,
}

impl TransferDigest {
    pub fn new() -> Self {
        TransferDigest::default()
    }

    /// Notes that entry `index` of the offer is a file of this content.
    pub fn file(&mut self, index: u64, name: &[u8], bytes: u64, digest: &Sum) {
        self.entry(index, b'f', name, bytes, digest);
    }

    /// Notes that entry `index` of the offer is a directory.
    pub fn directory(&mut self, index: u64, name: &[u8]) {
        self.entry(index, b'd', name, 0, &[0; 32]);
    }

    fn entry(&mut self, index: u64, kind: u8, name: &[u8], bytes: u64, digest: &Sum) {
        let mut hasher = Hasher::new_derive_key(TRANSFER_CONTEXT);
        hasher.update(&[kind]).update(&bytes.to_le_bytes()).update(digest).update(name);
        self.tree.insert(index, *hasher.finalize().as_bytes());
    }

    /// The digest over `count` entries; none if one was not noted.
    pub fn digest(&self, count: u64) -> Option<Sum> {
        let mut hasher = Hasher::new_derive_key(TRANSFER_CONTEXT);
        hasher.update(&count.to_le_bytes()).update(&self.tree.digest(count)?);
        Some(*hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The input of BLAKE3's published test vectors: 0, 1, ..., 250, 0, 1, ...
    fn paint(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at % 251) as u8).collect()
    }

    fn hex(sum: Sum) -> String {
        data_encoding::HEXLOWER.encode(&sum)
    }

    fn tree_of(data: &[u8], blocks: Blocks, order: impl Iterator<Item = u64>) -> FileTree {
        let mut tree = FileTree::new();
        for index in order {
            let from = blocks.offset(index) as usize;
            let block = &data[from..from + blocks.bytes(index) as usize];
            tree.insert(index, blocks.sum(index, block));
        }
        tree
    }

    /// Small blocks, so that tests have many of them.
    fn small(file_bytes: usize) -> Blocks {
        Blocks { file_bytes: Some(file_bytes as u64), block_bytes: 1024 }
    }

    #[test]
    fn published_vectors() {
        // test_vectors.json of the BLAKE3 team's repository, the first 32 bytes of "hash".
        let published = [
            (0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"),
            (1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"),
            (1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"),
            (1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"),
            (2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a"),
            (2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030"),
            (5121, "628bd2cb2004694adaab7bbd778a25df25c47b9d4155a55f8fbd79f2fe154cff"),
            (31744, "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47"),
        ];
        for (bytes, digest) in published {
            let (data, blocks) = (paint(bytes), small(bytes));
            let count = blocks.count().unwrap();
            assert_eq!(hex(tree_of(&data, blocks, 0..count).digest(count).unwrap()), digest);
        }
    }

    #[test]
    fn blocks_grow_with_the_file() {
        let (mib, tib) = (1 << 20, 1 << 40);
        let shape = |bytes| {
            let blocks = Blocks::of(bytes);
            (blocks.block_bytes(), blocks.count().unwrap())
        };
        assert_eq!(shape(0), (mib, 0));
        assert_eq!(shape(1), (mib, 1));
        assert_eq!(shape(mib), (mib, 1));
        assert_eq!(shape(mib + 1), (mib, 2));
        assert_eq!(shape(tib), (mib, 1 << 20));
        assert_eq!(shape(tib + 1), (2 * mib, (1 << 19) + 1));
        assert_eq!(shape(8 * tib), (8 * mib, 1 << 20));
        assert_eq!(shape(u64::MAX), (16 * tib, 1 << 20));
        assert_eq!(Blocks::of(mib + 5).bytes(1), 5);
        assert!(!Blocks::of(mib).has(1) && Blocks::of_stream().has(1));
    }

    #[test]
    fn files_around_the_border_of_a_block() {
        let data = paint((3 << 20) + 1);
        for bytes in [(1 << 20) - 1, 1 << 20, (1 << 20) + 1, 2 << 20, (2 << 20) + 1, 3 << 20] {
            let (data, blocks) = (&data[..bytes], Blocks::of(bytes as u64));
            let count = blocks.count().unwrap();
            let tree = tree_of(data, blocks, (0..count).rev());
            assert_eq!(tree.digest(count).unwrap(), *blake3::hash(data).as_bytes(), "{bytes}");
        }
    }

    #[test]
    fn a_stream_of_one_block_has_its_digest_from_the_hasher() {
        let mut hasher = Blocks::of_stream().hasher(0);
        hasher.update(b"abc");
        assert_ne!(hasher.sum(), hasher.digest());
        assert_eq!(hasher.digest(), *blake3::hash(b"abc").as_bytes());
    }

    #[test]
    fn a_digest_of_a_transfer_tells_names_sizes_contents_and_order() {
        let digest = |entries: &[(&str, u64, u8)]| {
            let mut all = TransferDigest::new();
            for (index, (name, bytes, content)) in entries.iter().enumerate() {
                all.file(index as u64, name.as_bytes(), *bytes, &[*content; 32]);
            }
            all.digest(entries.len() as u64).unwrap()
        };
        let one = digest(&[("a", 1, 1), ("b", 2, 2)]);
        assert_eq!(one, digest(&[("a", 1, 1), ("b", 2, 2)]));
        for other in [
            digest(&[("b", 2, 2), ("a", 1, 1)]),
            digest(&[("a", 1, 1)]),
            digest(&[("a", 1, 1), ("c", 2, 2)]),
            digest(&[("a", 1, 1), ("b", 3, 2)]),
            digest(&[("a", 1, 1), ("b", 2, 3)]),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(TransferDigest::new().digest(1), None);
    }

    proptest! {
        #[test]
        fn any_length_and_any_order(
            blocks in 0..40usize,
            beyond in prop_oneof![Just(0), Just(1), Just(1023), 0..1024usize],
            shuffle in any::<u64>(),
        ) {
            let data = paint(blocks * 1024 + beyond);
            let blocks = small(data.len());
            let count = blocks.count().unwrap();
            let mut order: Vec<u64> = (0..count).collect();
            order.sort_by_key(|index| (index ^ shuffle).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut tree = tree_of(&data, blocks, order.iter().copied());
            prop_assert_eq!(tree.digest(count).unwrap(), *blake3::hash(&data).as_bytes());
            // A block that was sent again changes nothing.
            if let Some(&again) = order.first() {
                tree.insert(again, tree_of(&data, blocks, [again].into_iter()).nodes[&(0, again)]);
                prop_assert_eq!(tree.digest(count).unwrap(), *blake3::hash(&data).as_bytes());
            }
        }

        #[test]
        fn one_that_is_missing_is_noticed(count in 2..40u64, missing in 0..40u64) {
            let mut tree = FileTree::new();
            for index in (0..count).filter(|index| *index != missing % count) {
                tree.insert(index, [index as u8; 32]);
            }
            prop_assert_eq!(tree.digest(count), None);
        }

        #[test]
        fn blocks_in_order_need_little_memory(count in 1..5000u64) {
            let mut tree = FileTree::new();
            for index in 0..count {
                tree.insert(index, [0; 32]);
                prop_assert!(tree.nodes.len() <= 2 * 14);
            }
        }
    }
}
