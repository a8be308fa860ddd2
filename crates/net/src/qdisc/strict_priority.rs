//! Strict priority: a band is served only while those above it have nothing to send.
//!
//! Source: Linux 6.12 `net/sched/sch_prio.c`.

use std::fmt::Debug;

use fairway_units::Time;
use fairway_units::random::Stream;

use super::drop_tail::DropTailConfig;
use super::nested::Nested;
use super::{Drops, Line, Next, Qdisc, QdiscConfig, Queued, Waiting};
use crate::Packet;

/// Parameters of strict priority; the default is that of Linux: three bands of 1000 packets.
#[derive(Clone, Debug, PartialEq)]
pub struct StrictPriorityConfig {
    /// The discipline of each band, the one served first first. What is in transmission counts in
    /// none of them.
    pub bands: Vec<QdiscConfig>,
    /// The band of each precedence, 0 to 7, counted from 0; one that does not exist means the
    /// last.
    pub band_of_precedence: [u8; 8],
}

impl Default for StrictPriorityConfig {
    fn default() -> Self {
        let band = QdiscConfig::DropTail(DropTailConfig::default());
        StrictPriorityConfig {
            bands: vec![band.clone(), band.clone(), band],
            // net/sched/sch_generic.c, sch_default_prio2band, for the priorities 0 to 7, which is
            // what an application's precedence is to Linux (socket(7), SO_PRIORITY).
            band_of_precedence: [1, 2, 2, 2, 1, 2, 0, 0],
        }
    }
}

/// A queue with bands of strict priority.
#[derive(Debug)]
pub struct StrictPriority<P> {
    bands: Vec<Nested<P>>,
    band_of_precedence: [u8; 8],
}

impl<P: Packet + Copy + Debug + Send + 'static> StrictPriority<P> {
    /// Empty bands; `stream` feeds the random decisions of their disciplines.
    pub fn new(config: &StrictPriorityConfig, mut stream: Stream) -> Self {
        let mut band =
            |config: &QdiscConfig| Nested::new(config.build(Stream::new(stream.bits64(), "band")));
        StrictPriority {
            bands: config.bands.iter().map(&mut band).collect(),
            band_of_precedence: config.band_of_precedence,
        }
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for StrictPriority<P> {
    fn enqueue(&mut self, packet: Queued<P>, _line: &Line, now: Time, drops: &mut Drops<P>) {
        let precedence = packet.packet.precedence().min(7);
        let band = usize::from(self.band_of_precedence[usize::from(precedence)]);
        let last = self.bands.len().saturating_sub(1);
        match self.bands.get_mut(band.min(last)) {
            Some(band) => band.enqueue(packet, now, drops),
            None => drops.no_room(packet),
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P> {
        let mut earliest = None;
        for band in &mut self.bands {
            match band.dequeue(now, drops) {
                Next::Empty => {}
                // A band that keeps its packets back lets the next one send.
                Next::NotBefore(time) => earliest = Some(earliest.unwrap_or(time).min(time)),
                packet => return packet,
            }
        }
        earliest.map_or(Next::Empty, Next::NotBefore)
    }

    fn waiting(&self) -> Waiting {
        self.bands.iter().map(Nested::waiting).fold(Waiting::default(), |sum, band| Waiting {
            packets: sum.packets + band.packets,
            bytes: sum.bytes + band.bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use fairway_units::{Bytes, Rate};

    use super::*;
    use crate::qdisc::token_bucket::{ShaperQueue, TokenBucketConfig};
    use crate::{Ecn, Limit};

    #[derive(Clone, Copy, Debug)]
    struct Precedence(u8);
    impl Packet for Precedence {
        fn wire_bytes(&self) -> u32 {
            1000
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn mark_congestion(&mut self) {}
        fn precedence(&self) -> u8 {
            self.0
        }
    }

    fn arrive(queue: &mut StrictPriority<Precedence>, precedences: &[u8]) -> Drops<Precedence> {
        let mut drops = Drops::default();
        for precedence in precedences {
            let packet = Queued::new(Precedence(*precedence), 0, Time::ZERO);
            queue.enqueue(packet, &Line::default(), Time::ZERO, &mut drops);
        }
        drops
    }

    /// Precedences in the order in which packets leave, and when more may.
    fn leave(queue: &mut StrictPriority<Precedence>) -> (Vec<u8>, Option<Time>) {
        let mut left = Vec::new();
        loop {
            match queue.dequeue(Time::ZERO, &mut Drops::default()) {
                Next::Packet(packet) => left.push(packet.packet.0),
                Next::NotBefore(time) => return (left, Some(time)),
                Next::Empty => return (left, None),
            }
        }
    }

    #[test]
    fn bands_leave_in_their_order_and_each_in_the_order_of_arrival() {
        let config = StrictPriorityConfig::default();
        let mut queue = StrictPriority::new(&config, Stream::new(1, "prio"));
        arrive(&mut queue, &[1, 2, 0, 4, 7, 6, 3, 5]);
        assert_eq!(leave(&mut queue), (vec![7, 6, 0, 4, 1, 2, 3, 5], None));
    }

    #[test]
    fn with_a_band_for_each_precedence_the_highest_is_first() {
        // RFC 2474 section 4.2.2.2 wants a higher class served no worse than a lower one, which
        // Linux's priorities are not.
        let config = StrictPriorityConfig {
            bands: vec![QdiscConfig::DropTail(DropTailConfig::default()); 8],
            band_of_precedence: [7, 6, 5, 4, 3, 2, 1, 0],
        };
        let mut queue = StrictPriority::new(&config, Stream::new(1, "prio"));
        arrive(&mut queue, &[1, 2, 0, 4, 7, 6, 3, 5, 7]);
        assert_eq!(leave(&mut queue), (vec![7, 7, 6, 5, 4, 3, 2, 1, 0], None));
    }

    #[test]
    fn each_band_has_its_own_limit() {
        let band =
            |packets| QdiscConfig::DropTail(DropTailConfig { limit: Limit::Packets(packets) });
        let config = StrictPriorityConfig {
            bands: vec![band(1), band(2)],
            band_of_precedence: [1, 1, 1, 1, 9, 0, 0, 0],
        };
        let mut queue = StrictPriority::new(&config, Stream::new(1, "prio"));
        let drops = arrive(&mut queue, &[0, 5, 4, 0, 6]);
        assert_eq!(drops.packets.iter().map(|p| p.packet.0).collect::<Vec<_>>(), [0, 6]);
        assert_eq!(queue.waiting(), Waiting { packets: 3, bytes: 3000 });
        assert_eq!(leave(&mut queue).0, [5, 0, 4]);
    }

    #[test]
    fn a_band_that_is_kept_back_lets_the_others_pass() {
        // 1000 bytes at 1 Mbit/s: 8 ms.
        let shaped = QdiscConfig::TokenBucket(TokenBucketConfig {
            rate: Rate::from_bps(1_000_000),
            burst: Bytes::new(1000),
            peak: None,
            queue: ShaperQueue::Bytes(Bytes::new(9000)),
        });
        let config = StrictPriorityConfig {
            bands: vec![shaped, QdiscConfig::DropTail(DropTailConfig::default())],
            band_of_precedence: [1, 1, 1, 1, 0, 0, 0, 0],
        };
        let mut queue = StrictPriority::new(&config, Stream::new(1, "prio"));
        arrive(&mut queue, &[0, 7, 6, 1]);
        let free = Some(Time::from_nanos(8_000_000));
        assert_eq!(leave(&mut queue), (vec![7, 0, 1], free));
    }
}
