//! Assigns blocks to connections and tracks their arrival; no clock, socket or file.
//!
//! A block waits in a queue, is out (taken by a connection and not acknowledged), or has arrived.
//! What a broken connection had out goes back to the queue, to its front. So each block arrives
//! once, whatever fails, and counts once, however often it is acknowledged.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::store::{Done, FileTree, Sum};
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
    pub file: u32,
    pub index: u32,
}

/// What a connection is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
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
    New,
    Whole,
}

/// The blocks of a transfer.
#[derive(Debug)]
pub struct BlockQueue {
    striping: Striping,
    chunk_bytes: u64,
    lanes: u32,
    files: BTreeMap<u32, File>,
    common: VecDeque<Run>,
    own: BTreeMap<u32, VecDeque<Run>>,
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
    arrived: Done,
    /// Whether its length is known, so that no blocks follow.
    closed: bool,
    tree: FileTree,
}

impl File {
    fn is_whole(&self) -> bool {
        self.closed && self.arrived.count() == u64::from(self.blocks)
    }
}

impl BlockQueue {
    /// With nothing to send yet, for connections numbered by lanes below `lanes`.
    pub fn new(striping: Striping, chunk_bytes: u64, lanes: u32) -> Self {
        BlockQueue {
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

    pub fn add_growing(&mut self, file: u32, block_bytes: u64, claims: BTreeMap<u32, Sum>) {
        self.insert(file, 0, block_bytes, claims).closed = false;
    }

    pub fn grow(&mut self, file: u32) {
        let Some(known) = self.files.get_mut(&file) else { return };
        let first = known.blocks;
        known.blocks += 1;
        self.push_back(Run { file, first, count: 1 });
    }

    /// A growing file has all its blocks; whether they have all arrived.
    pub fn close(&mut self, file: u32) -> bool {
        let Some(known) = self.files.get_mut(&file) else { return false };
        known.closed = true;
        known.is_whole()
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
            arrived: Done::default(),
            closed: true,
            tree: FileTree::new(),
        };
        self.files.remove(&file);
        self.files.entry(file).or_insert(known)
    }

    pub fn complete(&mut self) {
        self.complete = true;
    }

    pub fn is_done(&self) -> bool {
        self.complete && self.files.values().all(File::is_whole)
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

    /// Blocks of a run that were hashed here and have not arrived, whatever its length claims.
    pub fn hashed_in(&self, run: Run) -> Vec<Block> {
        let at = |index| Block { file: run.file, index };
        let all = self.hashed.range(at(run.first)..at(run.first.saturating_add(run.count)));
        all.map(|(block, _)| *block).collect()
    }

    /// The largest block of the files that are open.
    pub fn block_bytes(&self) -> u64 {
        self.files.values().map(|file| file.block_bytes).max().unwrap_or(0)
    }

    pub fn arrived(&mut self, block: Block) -> Arrival {
        let Some(known) = self.files.get_mut(&block.file) else { return Arrival::Old };
        // What was never hashed here was never sent.
        if known.arrived.has(block.index.into()) || !self.hashed.contains_key(&block) {
            return Arrival::Old;
        }
        known.arrived.set(block.index.into(), true);
        if let Some(sum) = self.hashed.remove(&block) {
            known.tree.insert(u64::from(block.index), sum);
        }
        let whole = known.is_whole();
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

    pub fn set_lanes(&mut self, lanes: u32) {
        self.lanes = lanes.max(1);
    }

    /// A connection is gone: what it had out goes back to the front; how many blocks those are.
    pub fn broken(&mut self, connection: u32) -> usize {
        self.lose(|by| by == connection)
    }

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

    pub fn occupy(&mut self, lane: u32) {
        self.vacant.remove(&lane);
    }

    /// Whether a file is here and all of it has arrived.
    pub fn is_whole(&self, file: u32) -> bool {
        self.files.get(&file).is_some_and(File::is_whole)
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
mod tests;
