//! Random early detection as a queue discipline. The averaging and the dropping are those of
//! [`crate::red`].

use std::fmt::Debug;

use fairway_units::Time;
use fairway_units::random::Stream;

use super::fifo::Fifo;
use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::red::Red;
use crate::{Admission, Limit, Packet, RedConfig};

/// Parameters of a RED queue.
#[derive(Clone, Debug, PartialEq)]
pub struct RedQueueConfig {
    /// Hard limit, counted as that of a drop-tail queue.
    pub limit: Limit,
    /// When packets are dropped before that.
    pub red: RedConfig,
}

impl Default for RedQueueConfig {
    fn default() -> Self {
        // ns-2.35, tcl/lib/ns-default.tcl: "Queue set limit_ 50".
        RedQueueConfig { limit: Limit::Packets(50), red: RedConfig::default() }
    }
}

/// A RED queue.
#[derive(Clone, Debug)]
pub struct RedQueue<P> {
    limit: Limit,
    red: Red,
    fifo: Fifo<P>,
}

impl<P> RedQueue<P> {
    /// An empty queue; `stream` says which packets are dropped early.
    pub fn new(config: &RedQueueConfig, stream: Stream) -> Self {
        let red = Red::new(config.red.clone(), stream);
        RedQueue { limit: config.limit, red, fifo: Fifo::default() }
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for RedQueue<P> {
    fn enqueue(&mut self, mut packet: Queued<P>, line: &Line, now: Time, drops: &mut Drops<P>) {
        let backlog = line.backlog(self.fifo.waiting(), packet.bytes);
        let fits = self.limit.admits(&backlog);
        match self.red.admit(packet.packet.is_ecn_capable(), fits, &backlog, now) {
            Admission::Enqueue => self.fifo.push(packet),
            Admission::Mark => {
                packet.packet.mark_congestion();
                self.fifo.push(packet);
            }
            Admission::Drop if fits => drops.signal(packet),
            Admission::Drop => drops.no_room(packet),
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
    use crate::qdisc::test_packet::{TestPacket, queued};

    const BUSY: Line = Line { transmitting_bytes: 1000, idle_since: None };

    /// A queue whose average is what waits, and that drops all from 3 packets on.
    fn eager(ecn: bool) -> RedQueue<TestPacket> {
        let red = RedConfig {
            min_threshold: 2.5,
            max_threshold: 3.0,
            weight: 1.0,
            gentle: false,
            ecn,
            ecn_beyond_max: true,
            ..RedConfig::default()
        };
        RedQueue::new(&RedQueueConfig { limit: Limit::Packets(6), red }, Stream::new(1, "red"))
    }

    #[test]
    fn early_drops_are_signals_and_late_ones_for_want_of_room() {
        let mut queue = eager(false);
        let mut drops = Drops::default();
        for _ in 0..5 {
            queue.enqueue(queued(1, 1000, Ecn::Ect0, 0), &BUSY, Time::ZERO, &mut drops);
        }
        // The fourth and the fifth find 3.
        assert_eq!((drops.packets.len(), drops.for_room), (2, 0));
        assert_eq!(queue.waiting(), Waiting { packets: 3, bytes: 3000 });
    }

    #[test]
    fn marked_packets_wait_until_the_limit() {
        let mut queue = eager(true);
        let mut drops = Drops::default();
        for _ in 0..7 {
            queue.enqueue(queued(1, 1000, Ecn::Ect0, 0), &BUSY, Time::ZERO, &mut drops);
        }
        // Five wait and one is in transmission: the sixth and seventh find no room.
        assert_eq!((drops.packets.len(), drops.for_room), (2, 2));
        let mut marks = Vec::new();
        while let Next::Packet(packet) = queue.dequeue(Time::ZERO, &mut drops) {
            marks.push(packet.packet.ecn == Ecn::Ce);
        }
        assert_eq!(marks, [false, false, false, true, true]);
    }
}
