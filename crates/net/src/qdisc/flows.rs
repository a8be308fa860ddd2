//! Queues for flows: which queue a flow has, and whose turn it is.
//!
//! Sources: RFC 8290; Linux 6.12 `net/sched/sch_fq_codel.c` and `sch_fq_pie.c`, which share this.

use std::collections::VecDeque;

use fairway_units::random::{Stream, splitmix64};

/// Spreads flows over queues. Two flows may share one.
#[derive(Clone, Debug)]
pub(crate) struct FlowHash {
    key: u64,
    queues: u32,
}

/// Most queues that Linux allows (`fq_codel_change`, `fq_pie_change`).
const MAX_QUEUES: u32 = 65_536;

impl FlowHash {
    /// Over this many queues, between 1 and 65,536; which flows share one depends on `stream`.
    pub(crate) fn new(queues: u32, stream: &mut Stream) -> Self {
        FlowHash { key: stream.bits64(), queues: queues.clamp(1, MAX_QUEUES) }
    }

    pub(crate) fn queues(&self) -> usize {
        self.queues as usize
    }

    /// The queue of a flow (`reciprocal_scale` of a keyed hash, `fq_codel_hash`).
    pub(crate) fn queue_of(&self, flow: u32) -> usize {
        let hash = splitmix64(u64::from(flow) ^ self.key) >> 32;
        ((hash * u64::from(self.queues)) >> 32) as usize
    }
}

/// Deficit round robin in which queues that were empty go before those that were not (RFC 8290
/// section 4.2).
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    quantum: i64,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    turns: Vec<Turn>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// Bytes that the queue may still send.
    deficit: i64,
    /// Whether it is on a list.
    listed: bool,
}

/// Linux uses no smaller quantum (`fq_codel_change`, `fq_pie_change`).
const MIN_QUANTUM_BYTES: u32 = 256;

impl Rounds {
    pub(crate) fn new(queues: usize, quantum_bytes: u32) -> Self {
        Rounds {
            quantum: i64::from(quantum_bytes.max(MIN_QUANTUM_BYTES)),
            new: VecDeque::new(),
            old: VecDeque::new(),
            turns: vec![Turn::default(); queues],
        }
    }

    /// A packet joins a queue.
    pub(crate) fn joined(&mut self, queue: usize) {
        let turn = &mut self.turns[queue];
        if !turn.listed {
            *turn = Turn { deficit: self.quantum, listed: true };
            self.new.push_back(queue as u32);
        }
    }

    /// Whose turn it is, if any queue is listed.
    pub(crate) fn next(&mut self) -> Option<usize> {
        loop {
            let queue = *self.new.front().or_else(|| self.old.front())?;
            let turn = &mut self.turns[queue as usize];
            if turn.deficit > 0 {
                return Some(queue as usize);
            }
            turn.deficit += self.quantum;
            self.take_first();
            self.old.push_back(queue);
        }
    }

    /// The queue whose turn it was has sent.
    pub(crate) fn sent(&mut self, queue: usize, bytes: u32) {
        self.turns[queue].deficit -= i64::from(bytes);
    }

    /// The queue whose turn it was turned out to be empty. A new one passes through the old ones
    /// once, lest it be new again at once (RFC 8290 section 4.2).
    pub(crate) fn was_empty(&mut self, queue: usize) {
        let was_new = !self.new.is_empty();
        self.take_first();
        if was_new && !self.old.is_empty() {
            self.old.push_back(queue as u32);
        } else {
            self.turns[queue].listed = false;
        }
    }

    fn take_first(&mut self) {
        if self.new.pop_front().is_none() {
            self.old.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_spread_evenly_and_differently_for_each_stream() {
        let hash = |name| FlowHash::new(1024, &mut Stream::new(1, name));
        let (one, other) = (hash("one"), hash("other"));
        // 102,400 flows, 100 in each queue: a Poisson count is within 100 ± 6·10 but once in 10⁸.
        let mut counts = [0; 1024];
        for flow in 0..102_400 {
            counts[one.queue_of(flow)] += 1;
        }
        assert!(counts.iter().all(|count| (40..=160).contains(count)));
        // Of 1000 flows about one keeps its queue by chance.
        let same = (0..1000).filter(|flow| one.queue_of(*flow) == other.queue_of(*flow)).count();
        assert!(same < 10);
    }

    #[test]
    fn a_new_queue_goes_first_but_once() {
        let mut rounds = Rounds::new(3, 1000);
        // Queue 0 becomes old by sending its quantum.
        rounds.joined(0);
        assert_eq!(rounds.next(), Some(0));
        rounds.sent(0, 1500);
        assert_eq!(rounds.next(), Some(0), "the only one");
        // Queue 1 is new.
        rounds.joined(1);
        assert_eq!(rounds.next(), Some(1));
        rounds.sent(1, 100);
        assert_eq!(rounds.next(), Some(1), "900 bytes left");
        rounds.was_empty(1);
        assert_eq!(rounds.next(), Some(0));
        // While it passes through the old ones it is not new again.
        rounds.joined(1);
        assert_eq!(rounds.next(), Some(0));
        rounds.sent(0, 1500);
        assert_eq!(rounds.next(), Some(1));
        rounds.was_empty(1);
        rounds.joined(1);
        assert_eq!(rounds.next(), Some(1), "new again");
    }

    #[test]
    fn nobody_has_a_turn_when_all_are_empty() {
        let mut rounds = Rounds::new(2, 1000);
        rounds.joined(1);
        assert_eq!(rounds.next(), Some(1));
        rounds.was_empty(1);
        assert_eq!(rounds.next(), None);
    }
}
