//! Token-bucket shaper: packets leave at a rate, or in a burst after a rest.
//!
//! Source: Linux 6.12 `net/sched/sch_tbf.c`; the meaning of the parameters: tc-tbf(8).

use std::fmt::Debug;

use fairway_units::random::Stream;
use fairway_units::{Bytes, Duration, Rate, Time};

use super::buckets::{Buckets, PeakRate};
use super::drop_tail::{DropTail, DropTailConfig};
use super::nested::Nested;
use super::{Drops, Line, Next, Qdisc, QdiscConfig, Queued, Waiting};
use crate::{Limit, Packet};

/// Parameters of a token-bucket shaper. As in Linux, rate and burst have no default.
#[derive(Clone, Debug, PartialEq)]
pub struct TokenBucketConfig {
    /// The rate in the long run.
    pub rate: Rate,
    /// Depth of the bucket: bytes that may leave at once after a rest, framing included. Larger
    /// packets are dropped on arrival.
    pub burst: Bytes,
    /// A bound on the rate within a burst, if there is one.
    pub peak: Option<PeakRate>,
    /// What waits for tokens.
    pub queue: ShaperQueue,
}

/// The queue of a shaper.
#[derive(Clone, Debug, PartialEq)]
pub enum ShaperQueue {
    /// Drop-tail; so many bytes may wait (`limit` in tc-tbf(8)).
    Bytes(Bytes),
    /// Drop-tail; no packet waits longer than this for tokens (`latency`).
    Latency(Duration),
    /// Another discipline. Where that one counts a packet in transmission, it is the one at the
    /// head that waits for tokens.
    Discipline(Box<QdiscConfig>),
}

impl TokenBucketConfig {
    /// The bytes that leave within `latency` (iproute2, `tc/q_tbf.c`, `tbf_parse_opt`).
    fn bytes_within(&self, latency: Duration) -> u64 {
        let of =
            |rate: Rate, burst: Bytes| rate.bytes_in(latency).get().saturating_add(burst.get());
        let sustained = of(self.rate, self.burst);
        self.peak.as_ref().map_or(sustained, |peak| sustained.min(of(peak.rate, peak.mtu)))
    }

    fn queue<P>(&self, stream: Stream) -> Box<dyn Qdisc<P>>
    where
        P: Packet + Copy + Debug + Send + 'static,
    {
        let bytes = match &self.queue {
            ShaperQueue::Bytes(bytes) => bytes.get(),
            ShaperQueue::Latency(latency) => self.bytes_within(*latency),
            ShaperQueue::Discipline(discipline) => return discipline.build(stream),
        };
        Box::new(DropTail::new(&DropTailConfig { limit: Limit::Bytes(bytes) }))
    }
}

/// A token-bucket shaper.
#[derive(Debug)]
pub struct TokenBucket<P> {
    buckets: Buckets,
    queue: Nested<P>,
}

impl<P: Packet + Copy + Debug + Send + 'static> TokenBucket<P> {
    /// A shaper with full buckets and nothing in its queue; `stream` feeds the random decisions of
    /// that.
    pub fn new(config: &TokenBucketConfig, stream: Stream) -> Self {
        TokenBucket {
            buckets: Buckets::new(config.rate, config.burst, config.peak.as_ref()),
            queue: Nested::new(config.queue(stream)),
        }
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for TokenBucket<P> {
    fn enqueue(&mut self, packet: Queued<P>, _line: &Line, now: Time, drops: &mut Drops<P>) {
        if self.buckets.can_ever_pass(packet.bytes) {
            self.queue.enqueue(packet, now, drops);
        } else {
            drops.no_room(packet);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P> {
        let bytes = match self.queue.peek(now, drops) {
            Ok(bytes) => bytes,
            Err(none) => return none,
        };
        match self.buckets.take(bytes, now) {
            Ok(()) => self.queue.dequeue(now, drops),
            Err(wait) => Next::NotBefore(now + wait),
        }
    }

    fn waiting(&self) -> Waiting {
        self.queue.waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::qdisc::test_packet::{TestPacket, queued};

    const LINE: Line = Line { transmitting_bytes: 0, idle_since: Some(Time::ZERO) };

    /// 1 Mbit/s and 3000 bytes.
    fn config() -> TokenBucketConfig {
        TokenBucketConfig {
            rate: Rate::from_bps(1_000_000),
            burst: Bytes::new(3000),
            peak: None,
            queue: ShaperQueue::Bytes(Bytes::new(10_000)),
        }
    }

    /// Microseconds at which packets that arrive at once leave for an infinitely fast line.
    fn departures(config: &TokenBucketConfig, sizes: &[u32]) -> Vec<u64> {
        let mut shaper = TokenBucket::new(config, Stream::new(1, "tbf"));
        let mut drops = Drops::default();
        for bytes in sizes {
            shaper.enqueue(queued(1, *bytes, Ecn::NotEct, 0), &LINE, Time::ZERO, &mut drops);
        }
        assert!(drops.packets.is_empty());
        let (mut now, mut departures) = (Time::ZERO, Vec::new());
        loop {
            match shaper.dequeue(now, &mut drops) {
                Next::Packet(_) => departures.push(now.as_nanos() / 1000),
                Next::NotBefore(time) => now = time,
                Next::Empty => return departures,
            }
        }
    }

    #[test]
    fn a_burst_leaves_at_once_and_the_rest_at_the_rate() {
        // Three packets of 1000 bytes empty the bucket; each further one waits for 8000 bits at
        // 1 Mbit/s, 8 ms, and one of 250 bytes for 2 ms.
        let sizes = [1000, 1000, 1000, 1000, 250, 1000];
        assert_eq!(departures(&config(), &sizes), [0, 0, 0, 8000, 10_000, 18_000]);
    }

    #[test]
    fn a_peak_rate_spreads_the_burst() {
        // At 4 Mbit/s, 1000 bytes at once: packets 1 to 4 leave 2 ms apart. Meanwhile the other
        // bucket gains 250 bytes in 2 ms and loses 1000: 2000 left after the first at 0, 1250 at
        // 2 ms, 500 at 4 ms, 750 at 6 ms: the fourth leaves when it has 1000, at 8 ms. From there
        // on one each 8 ms.
        let peak = Some(PeakRate { rate: Rate::from_bps(4_000_000), mtu: Bytes::new(1000) });
        let peaked = TokenBucketConfig { peak, ..config() };
        assert_eq!(departures(&peaked, &[1000; 5]), [0, 2000, 4000, 8000, 16_000]);
    }

    #[test]
    fn what_is_larger_than_a_bucket_is_dropped() {
        let peak = Some(PeakRate { rate: Rate::from_bps(4_000_000), mtu: Bytes::new(1600) });
        for (config, largest) in [(config(), 3000), (TokenBucketConfig { peak, ..config() }, 1600)]
        {
            let mut shaper = TokenBucket::new(&config, Stream::new(1, "tbf"));
            let mut drops: Drops<TestPacket> = Drops::default();
            for bytes in [largest, largest + 1] {
                shaper.enqueue(queued(1, bytes, Ecn::NotEct, 0), &LINE, Time::ZERO, &mut drops);
            }
            assert_eq!(drops.packets.len(), 1);
            assert_eq!(shaper.waiting().bytes, u64::from(largest));
        }
    }

    #[test]
    fn the_limit_in_bytes_and_by_latency() {
        // 50 ms at 1 Mbit/s are 6250 bytes, and 3000 of the burst; with a peak of 1.2 Mbit/s, 7500
        // and 1500.
        let latency = Duration::from_millis(50);
        assert_eq!(config().bytes_within(latency), 9250);
        let peak = Some(PeakRate { rate: Rate::from_bps(1_200_000), mtu: Bytes::new(1500) });
        assert_eq!(TokenBucketConfig { peak, ..config() }.bytes_within(latency), 9000);

        let config = TokenBucketConfig { queue: ShaperQueue::Latency(latency), ..config() };
        let mut shaper = TokenBucket::new(&config, Stream::new(1, "tbf"));
        let mut drops = Drops::default();
        for _ in 0..12 {
            shaper.enqueue(queued(1, 1000, Ecn::NotEct, 0), &LINE, Time::ZERO, &mut drops);
            // A packet at the head that waits for tokens is one of those that wait.
            let _ = shaper.queue.peek(Time::ZERO, &mut drops);
        }
        assert_eq!(shaper.waiting(), Waiting { packets: 9, bytes: 9000 });
        assert_eq!(drops.for_room, 3);
    }
}
