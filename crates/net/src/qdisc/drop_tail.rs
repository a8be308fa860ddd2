//! First in, first out; what finds no room is dropped.

use std::fmt::Debug;

use fairway_units::Time;

use super::fifo::Fifo;
use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::{Limit, Packet};

/// Parameters of a drop-tail queue.
#[derive(Clone, Debug, PartialEq)]
pub struct DropTailConfig {
    /// The limit. The packet in transmission counts, as it does in ns-2.35 and in Linux's netem;
    /// Linux's `pfifo` and `bfifo` hand that packet to the device first, and count it no more.
    pub limit: Limit,
}

impl Default for DropTailConfig {
    fn default() -> Self {
        DropTailConfig { limit: DEFAULT_LIMIT }
    }
}

/// The transmit queue length of an Ethernet device, which Linux's `pfifo` takes for its limit
/// (`net/sched/sch_fifo.c`, `fifo_init`; `include/net/pkt_sched.h`, `DEFAULT_TX_QUEUE_LEN`).
pub(super) const DEFAULT_LIMIT: Limit = Limit::Packets(1000);

/// A drop-tail queue.
#[derive(Clone, Debug)]
pub struct DropTail<P> {
    limit: Limit,
    fifo: Fifo<P>,
}

impl<P> DropTail<P> {
    /// An empty queue.
    pub fn new(config: &DropTailConfig) -> Self {
        DropTail { limit: config.limit, fifo: Fifo::default() }
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for DropTail<P> {
    fn enqueue(&mut self, packet: Queued<P>, line: &Line, _now: Time, drops: &mut Drops<P>) {
        if self.limit.admits(&line.backlog(self.fifo.waiting(), packet.bytes)) {
            self.fifo.push(packet);
        } else {
            drops.no_room(packet);
        }
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
    use crate::qdisc::test_packet::queued;

    const NOW: Time = Time::ZERO;

    /// Sizes of the packets of a thousand bytes and less that a queue drops, behind `line`.
    fn dropped(limit: Limit, line: Line, sizes: &[u32]) -> Vec<u32> {
        let mut queue = DropTail::new(&DropTailConfig { limit });
        let mut drops = Drops::default();
        for bytes in sizes {
            queue.enqueue(queued(1, *bytes, Ecn::NotEct, 0), &line, NOW, &mut drops);
        }
        assert_eq!(drops.for_room, drops.packets.len() as u64);
        drops.packets.iter().map(|packet| packet.bytes).collect()
    }

    #[test]
    fn the_packet_in_transmission_counts() {
        let busy = Line { transmitting_bytes: 1000, idle_since: None };
        let idle = Line { transmitting_bytes: 0, idle_since: Some(NOW) };
        let sizes = [1, 2, 3, 4];
        assert_eq!(dropped(Limit::Packets(3), idle, &sizes), [4]);
        assert_eq!(dropped(Limit::Packets(3), busy, &sizes), [3, 4]);
        assert_eq!(dropped(Limit::Unlimited, busy, &sizes), []);
    }

    #[test]
    fn in_bytes_a_smaller_packet_still_fits() {
        // 1000 in transmission and 1000 waiting: 500 more fit in 2500, 501 do not.
        let busy = Line { transmitting_bytes: 1000, idle_since: None };
        assert_eq!(dropped(Limit::Bytes(2500), busy, &[1000, 501, 500, 1]), [501, 1]);
    }
}
