//! First in, first out; what finds no room takes that of the oldest packet.
//!
//! A sender learns of the loss earlier, by the time that the queue takes. Source: Linux 6.12
//! `net/sched/sch_fifo.c`, `pfifo_tail_enqueue` (`tc qdisc ... pfifo_head_drop`).

use std::fmt::Debug;

use fairway_units::Time;

use super::drop_tail::DEFAULT_LIMIT;
use super::fifo::Fifo;
use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::{Limit, Packet};

/// Parameters of a drop-head queue.
#[derive(Clone, Debug, PartialEq)]
pub struct DropHeadConfig {
    /// The limit, which counts the packet in transmission as a drop-tail queue's does. Linux's is
    /// in packets only.
    pub limit: Limit,
}

impl Default for DropHeadConfig {
    fn default() -> Self {
        DropHeadConfig { limit: DEFAULT_LIMIT }
    }
}

/// A drop-head queue.
#[derive(Clone, Debug)]
pub struct DropHead<P> {
    limit: Limit,
    fifo: Fifo<P>,
}

impl<P> DropHead<P> {
    /// An empty queue.
    pub fn new(config: &DropHeadConfig) -> Self {
        DropHead { limit: config.limit, fifo: Fifo::default() }
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for DropHead<P> {
    fn enqueue(&mut self, packet: Queued<P>, line: &Line, _now: Time, drops: &mut Drops<P>) {
        let full = |inside| !self.limit.admits(&line.backlog(inside, packet.bytes));
        if full(Waiting::default()) {
            drops.no_room(packet);
            return;
        }
        while full(self.fifo.waiting())
            && let Some(oldest) = self.fifo.pop()
        {
            drops.no_room(oldest);
        }
        self.fifo.push(packet);
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut Drops<P>) -> Next<P> {
        self.fifo.pop().map_or(Next::Empty, Next::Packet)
    }

    fn waiting(&self) -> Waiting {
        self.fifo.waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::qdisc::test_packet::{TestPacket, queued};

    const BUSY: Line = Line { transmitting_bytes: 1000, idle_since: None };

    /// Sizes of the packets that are dropped, in that order, and of those that then wait.
    fn dropped_and_waiting(limit: Limit, sizes: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let mut queue: DropHead<TestPacket> = DropHead::new(&DropHeadConfig { limit });
        let mut drops = Drops::default();
        for bytes in sizes {
            queue.enqueue(queued(1, *bytes, Ecn::NotEct, 0), &BUSY, Time::ZERO, &mut drops);
        }
        let dropped = drops.packets.iter().map(|packet| packet.bytes).collect();
        let mut waiting = Vec::new();
        while let Next::Packet(packet) = queue.dequeue(Time::ZERO, &mut drops) {
            waiting.push(packet.bytes);
        }
        (dropped, waiting)
    }

    #[test]
    fn the_oldest_makes_room() {
        // One in transmission and two that wait are three.
        let (dropped, waiting) = dropped_and_waiting(Limit::Packets(3), &[1, 2, 3, 4]);
        assert_eq!((dropped, waiting), (vec![1, 2], vec![3, 4]));
    }

    #[test]
    fn in_bytes_several_may_have_to_go() {
        // 1000 + 400 + 400 + 700 = 2500: 900 more need the room of 400, 400 and, still 100 too
        // many, 700.
        let (dropped, waiting) = dropped_and_waiting(Limit::Bytes(2500), &[400, 400, 700, 900]);
        assert_eq!((dropped, waiting), (vec![400, 400, 700], vec![900]));
    }

    #[test]
    fn what_would_not_fit_an_empty_queue_goes_itself() {
        assert_eq!(dropped_and_waiting(Limit::Packets(1), &[7]), (vec![7], vec![]));
        // Of 501 bytes behind 1000 in transmission, whatever waits.
        let (dropped, waiting) = dropped_and_waiting(Limit::Bytes(1500), &[300, 501]);
        assert_eq!((dropped, waiting), (vec![501], vec![300]));
    }
}
