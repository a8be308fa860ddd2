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
    queue: BlockQueue,
    grown: u32,
    /// Blocks that were sent over a connection.
    sent: Vec<(u32, Block)>,
    arrived: BTreeMap<Block, u32>,
}

impl Bench {
    fn take(&mut self, connection: u32) -> Take {
        let take = self.queue.take(connection, connection);
        if let Take::Run(run) = take {
            for block in blocks(run) {
                assert!(!self.arrived.contains_key(&block), "{block:?} goes again");
                self.queue.hashed(block, [block.index as u8; 32]);
                self.sent.push((connection, block));
            }
        }
        take
    }

    fn arrive(&mut self, block: Block) {
        if self.queue.arrived(block) != Arrival::Old {
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
                    assert_eq!(self.queue.arrived(block), Arrival::Old);
                }
            }
            Step::Bad(index) => {
                if let Some((_, block)) = pick(&self.sent, index) {
                    self.queue.bad(block);
                }
            }
            Step::Break(connection) => {
                self.queue.broken(connection);
            }
            Step::BreakAll => drop(self.queue.all_broken()),
            Step::Vacate(lane) => self.queue.vacate(lane),
            Step::Grow => {
                self.queue.grow(9);
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
        let queue = BlockQueue::new(striping, chunk * MIB, 4);
        let mut bench =
            Bench { queue, grown: 0, sent: Vec::new(), arrived: BTreeMap::new() };
        for (file, count) in files.iter().enumerate() {
            bench.queue.add(file as u32, *count, MIB, BTreeMap::new());
        }
        bench.queue.add_growing(9, MIB, BTreeMap::new());
        for step in steps {
            bench.step(step);
            let queued: usize = std::iter::once(&bench.queue.common)
                .chain(bench.queue.own.values())
                .flatten()
                .map(|run| run.count as usize)
                .sum();
            let all = files.iter().sum::<u32>() + bench.grown;
            let known = queued + bench.queue.out.len() + bench.arrived.len();
            prop_assert_eq!(known, all as usize, "each block is in one place");
        }
        bench.queue.close(9);
        bench.queue.complete();
        for connection in (0..4).cycle().take(10_000) {
            bench.queue.broken((connection + 1) % 4);
            if bench.take(connection) == Take::End {
                break;
            }
            for (_, block) in std::mem::take(&mut bench.sent) {
                bench.arrive(block);
            }
        }
        prop_assert!(bench.queue.is_done());
        let all = files.iter().sum::<u32>() + bench.grown;
        prop_assert_eq!(bench.arrived.len(), all as usize);
        prop_assert!(bench.arrived.values().all(|times| *times == 1));
        for (file, count) in files.iter().enumerate() {
            let mut tree = FileTree::new();
            (0..*count).for_each(|index| tree.insert(u64::from(index), [index as u8; 32]));
            prop_assert_eq!(bench.queue.remove(file as u32), tree.digest(u64::from(*count)));
        }
    }
}

#[test]
fn static_striping_gives_each_connection_one_contiguous_part() {
    let mut queue = BlockQueue::new(Striping::Static, 2 * MIB, 3);
    queue.add(0, 10, MIB, BTreeMap::new());
    queue.complete();
    let mut parts = BTreeMap::<u32, Vec<u32>>::new();
    for lane in [2, 0, 1].into_iter().cycle().take(12) {
        if let Take::Run(run) = queue.take(lane, lane) {
            parts.entry(lane).or_default().extend(run.first..run.first + run.count);
        }
    }
    // Edges at 0, 10/3, 20/3 and 10, rounded down.
    let expected = [(0, vec![0, 1, 2]), (1, vec![3, 4, 5]), (2, vec![6, 7, 8, 9])];
    assert_eq!(parts, BTreeMap::from(expected));
    assert_eq!(queue.take(0, 0), Take::Wait, "nothing has arrived");
}

#[test]
fn what_was_lost_goes_first_and_in_order() {
    let mut queue = BlockQueue::new(Striping::Dynamic, 3 * MIB, 2);
    queue.add(0, 8, MIB, BTreeMap::new());
    // A quarter of what is left, rounded down, but one at least and three at most.
    assert_eq!(queue.take(7, 0), Take::Run(Run { file: 0, first: 0, count: 2 }));
    assert_eq!(queue.take(8, 1), Take::Run(Run { file: 0, first: 2, count: 1 }));
    assert_eq!(queue.broken(7), 2);
    assert_eq!(queue.take(8, 1), Take::Run(Run { file: 0, first: 0, count: 1 }));
    queue.give_back(Run { file: 0, first: 2, count: 1 });
    assert_eq!(queue.take(7, 0), Take::Run(Run { file: 0, first: 2, count: 1 }));
}

#[test]
fn an_empty_file_is_whole_at_once() {
    let mut queue = BlockQueue::new(Striping::Dynamic, MIB, 1);
    queue.add(0, 0, MIB, BTreeMap::new());
    assert!(queue.is_whole(0));
    queue.complete();
    assert_eq!(queue.take(0, 0), Take::End);
    assert!(queue.remove(0).is_some());
}
