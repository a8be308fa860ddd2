//! Policer: what exceeds a rate is dropped on arrival; nothing waits for tokens.
//!
//! Source: Linux 6.12 `net/sched/act_police.c`, `tcf_police_act`, with `conform-exceed drop`; the
//! meaning of the parameters: tc-police(8).

use std::fmt::Debug;

use fairway_units::random::Stream;
use fairway_units::{Bytes, Rate, Time};

use super::buckets::{Buckets, PeakRate};
use super::{Drops, Line, Next, Qdisc, QdiscConfig, Queued, Waiting};
use crate::Packet;

/// Parameters of a policer. As in Linux, rate and burst have no default.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicerConfig {
    /// The rate in the long run.
    pub rate: Rate,
    /// Bytes that may pass at once after a rest, framing included.
    pub burst: Bytes,
    /// A bound on the rate within a burst, if there is one.
    pub peak: Option<PeakRate>,
    /// The queue for what passes.
    pub queue: Box<QdiscConfig>,
}

/// A policer in front of a queue.
#[derive(Debug)]
pub struct Policer<P> {
    buckets: Buckets,
    queue: Box<dyn Qdisc<P>>,
}

impl<P: Packet + Copy + Debug + Send + 'static> Policer<P> {
    /// A policer with full buckets; `stream` feeds the random decisions of its queue.
    pub fn new(config: &PolicerConfig, stream: Stream) -> Self {
        Policer {
            buckets: Buckets::new(config.rate, config.burst, config.peak.as_ref()),
            queue: config.queue.build(stream),
        }
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for Policer<P> {
    fn enqueue(&mut self, packet: Queued<P>, line: &Line, now: Time, drops: &mut Drops<P>) {
        match self.buckets.take(packet.bytes, now) {
            Ok(()) => self.queue.enqueue(packet, line, now, drops),
            Err(_) => drops.signal(packet),
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P> {
        self.queue.dequeue(now, drops)
    }

    fn waiting(&self) -> Waiting {
        self.queue.waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::qdisc::drop_tail::DropTailConfig;
    use crate::qdisc::test_packet::{TestPacket, queued};

    /// Which of the packets of 1000 bytes pass that arrive at these milliseconds.
    fn passing(peak: Option<PeakRate>, arrivals: &[u64]) -> Vec<u64> {
        let config = PolicerConfig {
            rate: Rate::from_bps(1_000_000),
            burst: Bytes::new(2000),
            peak,
            queue: Box::new(QdiscConfig::DropTail(DropTailConfig::default())),
        };
        let mut policer: Policer<TestPacket> = Policer::new(&config, Stream::new(1, "police"));
        let mut drops = Drops::default();
        for ms in arrivals {
            let packet = queued(1, 1000, Ecn::NotEct, ms * 1_000_000);
            policer.enqueue(packet, &Line::default(), packet.arrived, &mut drops);
        }
        assert_eq!(drops.for_room, 0);
        let mut passing = Vec::new();
        while let Next::Packet(packet) = policer.dequeue(Time::NEVER, &mut drops) {
            passing.push(packet.arrived.as_millis());
        }
        passing
    }

    #[test]
    fn what_exceeds_rate_and_burst_is_dropped() {
        // Two at once; then 125 bytes come back each millisecond: 875 at 7 ms, 1000 at 8 ms; at 30
        // ms it is full again, with two.
        assert_eq!(passing(None, &[0, 0, 0, 7, 8, 9, 30, 30, 30]), [0, 0, 8, 30, 30]);
    }

    #[test]
    fn what_exceeds_the_peak_rate_is_dropped_too() {
        // 1000 bytes at 4 Mbit/s take 2 ms.
        let peak = Some(PeakRate { rate: Rate::from_bps(4_000_000), mtu: Bytes::new(1000) });
        assert_eq!(passing(peak, &[0, 0, 1, 2, 3]), [0, 2]);
    }
}
