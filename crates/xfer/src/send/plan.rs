//! Which block goes over which connection, and which have arrived: no clock, no socket, no file.
//!
//! A block waits in a queue, is out (taken by a connection and not acknowledged), or has arrived.
//! What a broken connection had out goes back to the queue, to its front. So each block arrives
//! once, whatever fails, and counts once, however often it is acknowledged.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::store::{FileTree, Sum};
use crate::wire::messages::Run;

/// How blocks are shared among connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Striping {
    /// Whoever is free takes the next chunk.
    #[default]
    Dynamic,
    /// Every connection has one contiguous part of its own from the start, as in chapter 3.2.2 of
    /// Alrshah's thesis (2009).
    Static,
}

/// A block of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// Index of the file.
    pub file: u32,
    /// Index of the block in it.
    pub index: u32,
}

/// What a connection is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// To carry these blocks.
    Run(Run),
    /// To wait: there may be more.
    Wait,
    /// To end: everything has arrived.
    End,
}

/// What an acknowledgement meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It was known before, or the file is none of ours.
    Old,
    /// A block more.
    New,
    /// The last block of its file.
    Whole,
}

/// The blocks of a transfer.
#[derive(Debug)]
pub struct Plan {
    striping: Striping,
    chunk_bytes: u64,
    lanes: u32,
    files: BTreeMap<u32, File>,
    common: VecDeque<Run>,
    own: BTreeMap<u32, VecDeque<Run>>,
    /// Lanes that nobody has any more.
    vacant: BTreeSet<u32>,
    out: BTreeMap<Block, u32>,
    /// What was hashed here of blocks that have not arrived.
    hashed: BTreeMap<Block, Sum>,
    complete: bool,
}

/// What is known of one file.
#[derive(Debug)]
struct File {
    block_bytes: u64,
    blocks: u32,
    /// What the receiver says it has, until that is compared.
    claims: BTreeMap<u32, Sum>,
    arrived: Bits,
    left: u32,
    /// Whether its length is known, so that no blocks follow.
    closed: bool,
    /// Of the blocks that have arrived.
    tree: FileTree,
}

#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn has(&self, index: u32) -> bool {
        self.0.get(index as usize / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Whether it was not there before.
    fn insert(&mut self, index: u32) -> bool {
        let at = index as usize / 64;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        let new = !self.has(index);
        self.0[at] |= 1 << (index % 64);
        new
    }
}

impl Plan {
    /// With nothing to send yet, for connections numbered by lanes below `lanes`.
    pub fn new(striping: Striping, chunk_bytes: u64, lanes: u32) -> Self {
        Plan {
            striping,
            chunk_bytes,
            lanes: lanes.max(1),
            files: BTreeMap::new(),
            common: VecDeque::new(),
            own: BTreeMap::new(),
            vacant: BTreeSet::new(),
            out: BTreeMap::new(),
            hashed: BTreeMap::new(),
            complete: false,
        }
    }

    /// Adds a file of so many blocks, some of which the receiver claims to have.
    pub fn add(&mut self, file: u32, blocks: u32, block_bytes: u64, claims: BTreeMap<u32, Sum>) {
        self.insert(file, blocks, block_bytes, claims);
        let whole = Run { file, first: 0, count: blocks };
        match self.striping {
            Striping::Dynamic => self.push_back(whole),
            Striping::Static => self.cut(whole),
        }
    }

    /// Adds a file whose blocks are given one by one.
    pub fn add_growing(&mut self, file: u32, block_bytes: u64, claims: BTreeMap<u32, Sum>) {
        self.insert(file, 0, block_bytes, claims).closed = false;
    }

    /// The next block of a growing file is there.
    pub fn grow(&mut self, file: u32) {
        let Some(known) = self.files.get_mut(&file) else { return };
        let first = known.blocks;
        known.blocks += 1;
        known.left += 1;
        self.push_back(Run { file, first, count: 1 });
    }

    /// A growing file has all its blocks; whether they have all arrived.
    pub fn close(&mut self, file: u32) -> bool {
        let Some(known) = self.files.get_mut(&file) else { return false };
        known.closed = true;
        known.left == 0
    }

    fn insert(
        &mut self,
        file: u32,
        blocks: u32,
        block_bytes: u64,
        claims: BTreeMap<u32, Sum>,
    ) -> &mut File {
        let known = File {
            block_bytes,
            blocks,
            claims,
            arrived: Bits::default(),
            left: blocks,
            closed: true,
            tree: FileTree::new(),
        };
        self.files.remove(&file);
        self.files.entry(file).or_insert(known)
    }

    /// No files follow.
    pub fn complete(&mut self) {
        self.complete = true;
    }

    /// Whether everything there is has arrived.
    pub fn is_done(&self) -> bool {
        self.complete && self.files.values().all(|file| file.closed && file.left == 0)
    }

    /// What `connection`, which has the place `lane` among the streams, is to carry next.
    pub fn take(&mut self, connection: u32, lane: u32) -> Take {
        let from_own = self.own.get_mut(&lane).and_then(VecDeque::pop_front);
        let Some(mut run) = from_own.or_else(|| self.common.pop_front()) else {
            return if self.is_done() { Take::End } else { Take::Wait };
        };
        let mut most = self.blocks_per_chunk(run.file);
        if from_own.is_none() {
            // Less near the end, that all connections end about together.
            most = most.min((run.count / (2 * self.lanes)).max(1));
        }
        if run.count > most {
            let rest = Run { first: run.first + most, count: run.count - most, ..run };
            match from_own {
                Some(_) => self.own.entry(lane).or_default().push_front(rest),
                None => self.common.push_front(rest),
            }
            run.count = most;
        }
        for block in blocks(run) {
            self.out.insert(block, connection);
        }
        Take::Run(run)
    }

    /// What the receiver claims a block to be, if it does.
    pub fn claim(&mut self, block: Block) -> Option<Sum> {
        self.files.get_mut(&block.file)?.claims.remove(&block.index)
    }

    /// Notes what was hashed while a block was sent or compared.
    pub fn hashed(&mut self, block: Block, sum: Sum) {
        if self.out.contains_key(&block) {
            self.hashed.insert(block, sum);
        }
    }

    /// A block has arrived.
    pub fn arrived(&mut self, block: Block) -> Arrival {
        let Some(known) = self.files.get_mut(&block.file) else { return Arrival::Old };
        // What was never hashed here was never sent.
        if known.arrived.has(block.index) || !self.hashed.contains_key(&block) {
            return Arrival::Old;
        }
        known.arrived.insert(block.index);
        known.left -= 1;
        if let Some(sum) = self.hashed.remove(&block) {
            known.tree.insert(u64::from(block.index), sum);
        }
        let whole = known.left == 0 && known.closed;
        if self.out.remove(&block).is_none() {
            // It was acknowledged after its connection had broken: it need not go again.
            self.unqueue(block);
        }
        if whole { Arrival::Whole } else { Arrival::New }
    }

    /// A block did not arrive as it was, and goes again; whether it was out at all.
    pub fn bad(&mut self, block: Block) -> bool {
        let was_out = self.out.remove(&block).is_some();
        if was_out {
            self.common.push_front(Run { file: block.file, first: block.index, count: 1 });
        }
        was_out
    }

    /// A connection does not carry the rest of what it has taken.
    pub fn give_back(&mut self, rest: Run) {
        for block in blocks(rest) {
            self.out.remove(&block);
        }
        if rest.count > 0 {
            self.common.push_front(rest);
        }
    }

    /// How many connections there are.
    pub fn set_lanes(&mut self, lanes: u32) {
        self.lanes = lanes.max(1);
    }

    /// A connection is gone: what it had out goes back to the front; how many blocks those are.
    pub fn broken(&mut self, connection: u32) -> usize {
        self.lose(|by| by == connection)
    }

    /// All connections are gone.
    pub fn all_broken(&mut self) -> usize {
        self.lose(|_| true)
    }

    fn lose(&mut self, which: impl Fn(u32) -> bool) -> usize {
        let lost: Vec<Block> =
            self.out.iter().filter(|&(_, &by)| which(by)).map(|(&block, _)| block).collect();
        for &block in lost.iter().rev() {
            self.out.remove(&block);
            self.requeue(block);
        }
        lost.len()
    }

    /// Nobody has this lane any more: what it had of its own is for whoever is free.
    pub fn vacate(&mut self, lane: u32) {
        self.vacant.insert(lane);
        self.common.extend(self.own.remove(&lane).unwrap_or_default());
    }

    /// Somebody has this lane.
    pub fn occupy(&mut self, lane: u32) {
        self.vacant.remove(&lane);
    }

    /// Whether a file is here and all of it has arrived.
    pub fn is_whole(&self, file: u32) -> bool {
        self.files.get(&file).is_some_and(|known| known.closed && known.left == 0)
    }

    /// Forgets a file; the digest of what has arrived, if that is all of it.
    pub fn remove(&mut self, file: u32) -> Option<Sum> {
        let of_file = |block: &Block| block.file == file;
        self.common.retain(|run| run.file != file);
        for queue in self.own.values_mut() {
            queue.retain(|run| run.file != file);
        }
        self.out.retain(|block, _| !of_file(block));
        self.hashed.retain(|block, _| !of_file(block));
        let known = self.files.remove(&file)?;
        known.tree.digest(u64::from(known.blocks))
    }

    /// The digest of a file, if all of it has arrived.
    pub fn digest(&self, file: u32) -> Option<Sum> {
        let known = self.files.get(&file)?;
        known.tree.digest(u64::from(known.blocks))
    }

    /// How many blocks a file has, as far as that is known.
    pub fn blocks(&self, file: u32) -> u32 {
        self.files.get(&file).map_or(0, |known| known.blocks)
    }

    /// Blocks that are out.
    pub fn out(&self) -> usize {
        self.out.len()
    }

    fn blocks_per_chunk(&self, file: u32) -> u32 {
        let block_bytes = self.files.get(&file).map_or(1, |known| known.block_bytes);
        u32::try_from(self.chunk_bytes / block_bytes).unwrap_or(u32::MAX).max(1)
    }

    fn push_back(&mut self, run: Run) {
        if run.count > 0 {
            self.common.push_back(run);
        }
    }

    /// A contiguous part for each lane, as equal as whole blocks allow.
    fn cut(&mut self, whole: Run) {
        let edge = |lane: u32| {
            (u64::from(whole.count) * u64::from(lane) / u64::from(self.lanes)) as u32 + whole.first
        };
        for lane in 0..self.lanes {
            let (first, end) = (edge(lane), edge(lane + 1));
            if end > first {
                let run = Run { file: whole.file, first, count: end - first };
                match self.vacant.contains(&lane) {
                    true => self.common.push_back(run),
                    false => self.own.entry(lane).or_default().push_back(run),
                }
            }
        }
    }

    fn requeue(&mut self, block: Block) {
        match self.common.front_mut() {
            Some(next) if next.file == block.file && next.first == block.index + 1 => {
                next.first = block.index;
                next.count += 1;
            }
            _ => self.common.push_front(Run { file: block.file, first: block.index, count: 1 }),
        }
    }

    fn unqueue(&mut self, block: Block) {
        let queues = std::iter::once(&mut self.common).chain(self.own.values_mut());
        for queue in queues {
            let Some(at) = queue.iter().position(|&run| contains(run, block)) else { continue };
            let run = queue[at];
            let before = Run { count: block.index - run.first, ..run };
            let after = Run { first: block.index + 1, count: run.count - before.count - 1, ..run };
            queue.remove(at);
            for part in [after, before] {
                if part.count > 0 {
                    queue.insert(at, part);
                }
            }
            return;
        }
    }
}

fn contains(run: Run, block: Block) -> bool {
    run.file == block.file && block.index >= run.first && block.index - run.first < run.count
}

fn blocks(run: Run) -> impl Iterator<Item = Block> {
    (run.first..run.first + run.count).map(move |index| Block { file: run.file, index })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// What may happen, to which connection or block is chosen by the numbers.
    #[derive(Clone, Debug)]
    enum Step {
        Take(u32),
        Arrive(usize),
        ArriveAgain(usize),
        Bad(usize),
        Break(u32),
        BreakAll,
        Vacate(u32),
        Grow,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            6 => (0..4u32).prop_map(Step::Take),
            6 => any::<usize>().prop_map(Step::Arrive),
            1 => any::<usize>().prop_map(Step::ArriveAgain),
            1 => any::<usize>().prop_map(Step::Bad),
            1 => (0..4u32).prop_map(Step::Break),
            1 => Just(Step::BreakAll),
            1 => (0..4u32).prop_map(Step::Vacate),
            2 => Just(Step::Grow),
        ];
        vec(step, 0..200)
    }

    fn pick<T: Copy>(from: &[T], index: usize) -> Option<T> {
        (!from.is_empty()).then(|| from[index % from.len()])
    }

    /// A transfer of files of so many blocks, on which the steps happen before the rest of it does
    /// without failures.
    struct Bench {
        plan: Plan,
        grown: u32,
        /// Blocks that were sent over a connection.
        sent: Vec<(u32, Block)>,
        arrived: BTreeMap<Block, u32>,
    }

    impl Bench {
        fn take(&mut self, connection: u32) -> Take {
            let take = self.plan.take(connection, connection);
            if let Take::Run(run) = take {
                for block in blocks(run) {
                    assert!(!self.arrived.contains_key(&block), "{block:?} goes again");
                    self.plan.hashed(block, [block.index as u8; 32]);
                    self.sent.push((connection, block));
                }
            }
            take
        }

        fn arrive(&mut self, block: Block) {
            if self.plan.arrived(block) != Arrival::Old {
                *self.arrived.entry(block).or_default() += 1;
            }
        }

        fn step(&mut self, step: Step) {
            match step {
                Step::Take(connection) => {
                    self.take(connection);
                }
                // Also of connections that broke since: the acknowledgement was on its way.
                Step::Arrive(index) => {
                    if let Some((_, block)) = pick(&self.sent, index) {
                        self.arrive(block);
                    }
                }
                Step::ArriveAgain(index) => {
                    let known: Vec<Block> = self.arrived.keys().copied().collect();
                    if let Some(block) = pick(&known, index) {
                        assert_eq!(self.plan.arrived(block), Arrival::Old);
                    }
                }
                Step::Bad(index) => {
                    if let Some((_, block)) = pick(&self.sent, index) {
                        self.plan.bad(block);
                    }
                }
                Step::Break(connection) => {
                    self.plan.broken(connection);
                }
                Step::BreakAll => drop(self.plan.all_broken()),
                Step::Vacate(lane) => self.plan.vacate(lane),
                Step::Grow => {
                    self.plan.grow(9);
                    self.grown += 1;
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_block_arrives_once_whatever_fails(
            files in vec(0..40u32, 0..4), steps in steps(), chunk in 0..5u64, fixed in any::<bool>(),
        ) {
            let striping = if fixed { Striping::Static } else { Striping::Dynamic };
            let plan = Plan::new(striping, chunk * MIB, 4);
            let mut bench =
                Bench { plan, grown: 0, sent: Vec::new(), arrived: BTreeMap::new() };
            for (file, count) in files.iter().enumerate() {
                bench.plan.add(file as u32, *count, MIB, BTreeMap::new());
            }
            bench.plan.add_growing(9, MIB, BTreeMap::new());
            for step in steps {
                bench.step(step);
                let queued: usize = std::iter::once(&bench.plan.common)
                    .chain(bench.plan.own.values())
                    .flatten()
                    .map(|run| run.count as usize)
                    .sum();
                let all = files.iter().sum::<u32>() + bench.grown;
                let known = queued + bench.plan.out() + bench.arrived.len();
                prop_assert_eq!(known, all as usize, "each block is in one place");
            }
            bench.plan.close(9);
            bench.plan.complete();
            for connection in (0..4).cycle().take(10_000) {
                bench.plan.broken((connection + 1) % 4);
                if bench.take(connection) == Take::End {
                    break;
                }
                for (_, block) in std::mem::take(&mut bench.sent) {
                    bench.arrive(block);
                }
            }
            prop_assert!(bench.plan.is_done());
            let all = files.iter().sum::<u32>() + bench.grown;
            prop_assert_eq!(bench.arrived.len(), all as usize);
            prop_assert!(bench.arrived.values().all(|times| *times == 1));
            for (file, count) in files.iter().enumerate() {
                let mut tree = FileTree::new();
                (0..*count).for_each(|index| tree.insert(u64::from(index), [index as u8; 32]));
                prop_assert_eq!(bench.plan.remove(file as u32), tree.digest(u64::from(*count)));
            }
        }
    }

    #[test]
    fn static_striping_gives_each_connection_one_contiguous_part() {
        let mut plan = Plan::new(Striping::Static, 2 * MIB, 3);
        plan.add(0, 10, MIB, BTreeMap::new());
        plan.complete();
        let mut parts = BTreeMap::<u32, Vec<u32>>::new();
        for lane in [2, 0, 1].into_iter().cycle().take(12) {
            if let Take::Run(run) = plan.take(lane, lane) {
                parts.entry(lane).or_default().extend(run.first..run.first + run.count);
            }
        }
        // Edges at 0, 10/3, 20/3 and 10, rounded down.
        let expected = [(0, vec![0, 1, 2]), (1, vec![3, 4, 5]), (2, vec![6, 7, 8, 9])];
        assert_eq!(parts, BTreeMap::from(expected));
        assert_eq!(plan.take(0, 0), Take::Wait, "nothing has arrived");
    }

    #[test]
    fn what_was_lost_goes_first_and_in_order() {
        let mut plan = Plan::new(Striping::Dynamic, 3 * MIB, 2);
        plan.add(0, 8, MIB, BTreeMap::new());
        // A quarter of what is left, rounded down, but one at least and three at most.
        assert_eq!(plan.take(7, 0), Take::Run(Run { file: 0, first: 0, count: 2 }));
        assert_eq!(plan.take(8, 1), Take::Run(Run { file: 0, first: 2, count: 1 }));
        assert_eq!(plan.broken(7), 2);
        assert_eq!(plan.take(8, 1), Take::Run(Run { file: 0, first: 0, count: 1 }));
        plan.give_back(Run { file: 0, first: 2, count: 1 });
        assert_eq!(plan.take(7, 0), Take::Run(Run { file: 0, first: 2, count: 1 }));
    }

    #[test]
    fn an_empty_file_is_whole_at_once() {
        let mut plan = Plan::new(Striping::Dynamic, MIB, 1);
        plan.add(0, 0, MIB, BTreeMap::new());
        assert!(plan.is_whole(0));
        plan.complete();
        assert_eq!(plan.take(0, 0), Take::End);
        assert!(plan.remove(0).is_some());
    }
}
