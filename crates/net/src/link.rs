//! One direction of a link: queue → rate → loss → propagation.
//!
//! Its disciplines decide on arrival, and the queue is first in, first out. An admitted packet's
//! arrival is therefore known at once: the link returns the time, and the caller keeps the packet.

use std::collections::VecDeque;

use fairway_units::random::Stream;
use fairway_units::{Duration, Rate, Time};

use crate::queue::{Admission, Backlog, Queue, QueueConfig};
use crate::{Histogram, Limit, Packet, Serialiser, Timing};

/// A link's properties.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// Serialisation rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// Bytes of framing added to every packet, on the wire and in the queue's byte count.
    pub frame_overhead: u32,
    /// Queue discipline.
    pub queue: QueueConfig,
    /// Probability that a packet is lost after it was serialised.
    pub loss_probability: f64,
    /// Whether figures over the measuring window are wanted.
    pub watched: bool,
    /// How transmissions are timed.
    pub timing: Timing,
}

/// The measuring window of a link's statistics.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Start, included.
    pub from: Time,
    /// End, excluded.
    pub to: Time,
}

impl Window {
    /// How much of `from`..`to` lies in the window, in nanoseconds.
    pub(crate) fn overlap(&self, from: Time, to: Time) -> u64 {
        to.min(self.to).since(from.max(self.from)).as_nanos()
    }

    /// Whether a moment lies in the window.
    pub fn contains(&self, at: Time) -> bool {
        self.from <= at && at < self.to
    }
}

/// Counters of one direction of a link: every packet offered is dropped, lost or delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkTotals {
    /// Packets offered by the node before it.
    pub offered: u64,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Packets lost on the wire, counted when they enter the link.
    pub lost: u64,
    /// Packets marked by the queue.
    pub marked: u64,
    /// Copies made by the wire.
    pub copies: u64,
    /// Bytes whose transmission has begun, framing included; counted on watched links.
    pub transmitted_bytes: u64,
}

/// Figures of one direction of a watched link over the measuring window.
#[derive(Clone, Debug, Default)]
pub struct LinkFigures {
    /// Packets dropped.
    pub dropped: u64,
    /// Packets lost.
    pub lost: u64,
    /// Packets marked.
    pub marked: u64,
    /// Time spent transmitting.
    pub busy_nanos: u64,
    /// Sum over packets of their time in the queue: divided by the window, the mean backlog
    /// (service excluded).
    pub waiting_nanos: u128,
    /// Time in the queue of packets that arrived in the window, before their own transmission.
    pub sojourn: Histogram,
}

/// Fate of a packet offered to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Arrives at the far end at this time, no earlier than the packet before it.
    Arrives(Time),
    /// Arrives at this time, and the queue marks it.
    Marked(Time),
    /// Dropped by the queue.
    Dropped,
    /// Admitted, but lost on the wire.
    Lost,
}

/// A packet that waits for its transmission.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    starts: Time,
    bytes: u32,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Link {
    serialiser: Serialiser,
    /// When the last transmission ends.
    free_at: Time,
    delay: Duration,
    frame_overhead: u32,
    offered: u64,
    /// None where nothing is dropped, marked, lost or watched. Boxed, because most links of a large
    /// network need only the fields above.
    entrance: Option<Box<Entrance>>,
}

/// Queue, loss and statistics of a link.
#[derive(Clone, Debug)]
struct Entrance {
    queue: Queue,
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
    /// Size of the last packet that began transmission.
    transmitting_bytes: u32,
    timing: Timing,
    loss_probability: f64,
    loss_stream: Stream,
    dropped: u64,
    lost: u64,
    marked: u64,
    transmitted_bytes: u64,
    window: Window,
    /// If the link is watched.
    figures: Option<LinkFigures>,
}

impl Link {
    /// An idle link. `seed` and `name` fix its random streams.
    pub fn new(config: &LinkConfig, window: Window, seed: u64, name: &str) -> Self {
        let plain = !config.watched
            && config.loss_probability == 0.0
            && config.queue == QueueConfig::DropTail { limit: Limit::Unlimited };
        let entrance = || {
            Box::new(Entrance {
                queue: Queue::new(&config.queue, Stream::new(seed, &format!("{name}/queue"))),
                waiting: VecDeque::new(),
                waiting_bytes: 0,
                transmitting_bytes: 0,
                loss_probability: config.loss_probability,
                timing: config.timing,
                loss_stream: Stream::new(seed, &format!("{name}/loss")),
                dropped: 0,
                lost: 0,
                marked: 0,
                transmitted_bytes: 0,
                window,
                figures: config.watched.then(LinkFigures::default),
            })
        };
        Link {
            serialiser: Serialiser::timed(config.rate, config.timing),
            free_at: Time::ZERO,
            delay: config.delay,
            frame_overhead: config.frame_overhead,
            offered: 0,
            entrance: (!plain).then(entrance),
        }
    }

    /// A link that takes no time and drops nothing.
    pub fn plain() -> Self {
        Link {
            serialiser: Serialiser::new(Rate::UNLIMITED),
            free_at: Time::ZERO,
            delay: Duration::ZERO,
            frame_overhead: 0,
            offered: 0,
            entrance: None,
        }
    }

    /// Offer `packet` at time `at`, no earlier than the last offer.
    #[inline(always)]
    pub fn offer(&mut self, packet: &impl Packet, at: Time) -> Offer {
        let Some(entrance) = &mut self.entrance else {
            return Offer::Arrives(self.pass(packet, at));
        };
        self.offered += 1;
        let bytes = packet.wire_bytes() + self.frame_overhead;
        let starts = self.free_at.max(at);
        let admission = entrance.admit(packet.is_ecn_capable(), bytes, self.free_at, at);
        if admission == Admission::Drop {
            return Offer::Dropped;
        }
        self.free_at = starts + self.serialiser.transmit(bytes);
        if entrance.pass(bytes, at, starts, self.free_at) {
            return Offer::Lost;
        }
        let arrives = self.free_at + self.delay;
        if admission == Admission::Mark { Offer::Marked(arrives) } else { Offer::Arrives(arrives) }
    }

    /// Whether it takes every packet as it is: nothing is dropped, marked, lost or watched.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.entrance.is_none()
    }

    /// [`Self::offer`] to a plain link. Returns when the packet arrives.
    #[inline(always)]
    pub fn pass(&mut self, packet: &impl Packet, at: Time) -> Time {
        self.offered += 1;
        let bytes = packet.wire_bytes() + self.frame_overhead;
        self.free_at = self.free_at.max(at) + self.serialiser.transmit(bytes);
        self.free_at + self.delay
    }

    /// Packets and bytes waiting at `now`, without the one in transmission; zero on links without a
    /// queue.
    pub fn backlog(&mut self, now: Time) -> (u64, u64) {
        self.entrance.as_mut().map_or((0, 0), |entrance| {
            entrance.advance(now);
            (entrance.waiting.len() as u64, entrance.waiting_bytes)
        })
    }

    /// Counters.
    pub fn totals(&self) -> LinkTotals {
        let totals = LinkTotals { offered: self.offered, ..LinkTotals::default() };
        match &self.entrance {
            None => totals,
            Some(entrance) => LinkTotals {
                dropped: entrance.dropped,
                lost: entrance.lost,
                marked: entrance.marked,
                transmitted_bytes: entrance.transmitted_bytes,
                ..totals
            },
        }
    }

    /// Figures over the measuring window, if the link is watched.
    pub fn figures(&self) -> Option<&LinkFigures> {
        self.entrance.as_ref()?.figures.as_ref()
    }
}

impl LinkFigures {
    /// Count an admitted packet, offered `at` and transmitted from `starts` to `ends`, as far as it lies
    /// in the window.
    #[inline(never)]
    fn pass(&mut self, window: Window, lost: bool, at: Time, starts: Time, ends: Time) {
        if ends < window.from {
            return;
        }
        let in_window = window.contains(at);
        self.lost += u64::from(lost && in_window);
        self.busy_nanos += window.overlap(starts, ends);
        self.waiting_nanos += u128::from(window.overlap(at, starts));
        if in_window {
            self.sojourn.record(starts.since(at));
        }
    }
}

impl Entrance {
    /// Whether a packet of `bytes` that arrives `at` may join the queue; the link's last
    /// transmission ends at `free_at`.
    #[inline(always)]
    fn admit(&mut self, may_mark: bool, bytes: u32, free_at: Time, at: Time) -> Admission {
        let counted = match self.timing {
            Timing::Exact => at,
            Timing::Ns3 => Time::from_nanos(at.as_nanos().saturating_sub(1)),
        };
        self.advance(counted);
        let idle = free_at <= counted;
        let backlog = Backlog {
            packets: self.waiting.len() as u64,
            bytes: self.waiting_bytes,
            transmitting_bytes: if idle { 0 } else { u64::from(self.transmitting_bytes) },
            arriving_bytes: u64::from(bytes),
            idle_since: idle.then_some(free_at),
        };
        let admission = self.queue.admit(may_mark, backlog, at);
        if admission != Admission::Enqueue {
            self.count(admission, at);
        }
        admission
    }

    /// Count a drop or a mark.
    #[inline(never)]
    fn count(&mut self, admission: Admission, at: Time) {
        let (dropped, marked) = match admission {
            Admission::Enqueue => (0, 0),
            Admission::Mark => (0, 1),
            Admission::Drop => (1, 0),
        };
        self.dropped += dropped;
        self.marked += marked;
        let in_window = self.window.contains(at);
        if let Some(figures) = self.figures.as_mut().filter(|_| in_window) {
            figures.dropped += dropped;
            figures.marked += marked;
        }
    }

    /// An admitted packet, offered `at`, is transmitted from `starts` to `ends`. Returns whether it is
    /// lost.
    #[inline(always)]
    fn pass(&mut self, bytes: u32, at: Time, starts: Time, ends: Time) -> bool {
        let lost = self.loss_probability > 0.0 && self.is_lost();
        if let Some(figures) = &mut self.figures {
            if !lost && self.window.from <= at && ends < self.window.to {
                figures.busy_nanos += ends.since(starts).as_nanos();
                let sojourn = starts.since(at);
                figures.waiting_nanos += u128::from(sojourn.as_nanos());
                figures.sojourn.record(sojourn);
            } else {
                figures.pass(self.window, lost, at, starts, ends);
            }
        }
        if starts == at {
            self.begin(bytes);
        } else {
            self.waiting.push_back(Waiting { starts, bytes });
            self.waiting_bytes += u64::from(bytes);
        }
        lost
    }

    /// Draw whether an admitted packet is lost.
    #[inline(never)]
    fn is_lost(&mut self) -> bool {
        let lost = self.loss_stream.unit() < self.loss_probability;
        self.lost += u64::from(lost);
        lost
    }

    /// Remove packets from the queue whose transmission began by `now`.
    #[inline(always)]
    fn advance(&mut self, now: Time) {
        while let Some(next) = self.waiting.front().copied() {
            if next.starts > now {
                break;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(next.bytes);
            self.begin(next.bytes);
        }
    }

    /// A transmission begins.
    fn begin(&mut self, bytes: u32) {
        self.transmitting_bytes = bytes;
        self.transmitted_bytes += u64::from(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Sized(u32);
    impl Packet for Sized {
        fn wire_bytes(&self) -> u32 {
            self.0
        }
        fn ecn(&self) -> crate::Ecn {
            crate::Ecn::NotEct
        }
        fn mark_congestion(&mut self) {}
    }

    const ALWAYS: Window = Window { from: Time::ZERO, to: Time::NEVER };

    fn config(limit: Limit) -> LinkConfig {
        LinkConfig {
            // 1000 bytes take 1 ms.
            rate: Rate::from_bps(8_000_000),
            delay: Duration::from_millis(10),
            frame_overhead: 0,
            queue: QueueConfig::DropTail { limit },
            loss_probability: 0.0,
            watched: true,
            timing: Timing::Exact,
        }
    }

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_packet_takes_transmission_plus_propagation() {
        let mut link = Link::new(&config(Limit::Packets(1)), ALWAYS, 1, "l");
        assert_eq!(link.offer(&Sized(1000), ms(5)), Offer::Arrives(ms(16)));
    }

    #[test]
    fn the_limit_counts_the_packet_in_transmission() {
        let mut link = Link::new(&config(Limit::Packets(3)), ALWAYS, 1, "l");
        assert_eq!(link.offer(&Sized(1000), ms(0)), Offer::Arrives(ms(11)));
        assert_eq!(link.offer(&Sized(1000), ms(0)), Offer::Arrives(ms(12)));
        assert_eq!(link.offer(&Sized(1000), ms(0)), Offer::Arrives(ms(13)));
        assert_eq!(link.offer(&Sized(1000), ms(0)), Offer::Dropped);
        assert_eq!(link.backlog(ms(0)), (2, 2000));
        // At 1 ms the second enters service: one waits, so one more fits.
        assert_eq!(link.backlog(ms(1)), (1, 1000));
        assert_eq!(link.offer(&Sized(1000), ms(1)), Offer::Arrives(ms(14)));
        assert_eq!(link.offer(&Sized(1000), ms(1)), Offer::Dropped);
        assert_eq!((link.totals().offered, link.totals().dropped), (6, 2));
    }

    #[test]
    fn a_limit_in_bytes() {
        let mut link = Link::new(&config(Limit::Bytes(2500)), ALWAYS, 1, "l");
        link.offer(&Sized(1000), ms(0));
        assert_eq!(link.offer(&Sized(1000), ms(0)), Offer::Arrives(ms(12)));
        assert_eq!(link.offer(&Sized(1000), ms(0)), Offer::Dropped);
        assert_eq!(link.offer(&Sized(500), ms(0)), Offer::Arrives(Time::from_nanos(12_500_000)));
    }

    #[test]
    fn order_and_times_of_a_burst() {
        let mut link = Link::new(&config(Limit::Unlimited), ALWAYS, 1, "l");
        // Ends of transmission 1, 1.5, 3.5 ms, each 10 ms later at the far end.
        for (bytes, arrives) in [(1000, 11_000_000), (500, 11_500_000), (2000, 13_500_000)] {
            let arrives = Offer::Arrives(Time::from_nanos(arrives));
            assert_eq!(link.offer(&Sized(bytes), ms(0)), arrives);
        }
        assert_eq!(link.backlog(ms(40)), (0, 0));
    }

    #[test]
    fn waiting_time_and_busy_time_are_clipped_to_the_window() {
        let window = Window { from: ms(1), to: ms(3) };
        let mut link = Link::new(&config(Limit::Unlimited), window, 1, "l");
        for _ in 0..4 {
            link.offer(&Sized(1000), ms(0));
        }
        // Busy 0..4 ms: 2 ms of it in the window. Waits 0, 1, 2, 3 ms from 0: in the window
        // 0, 0, 1 and 2 ms: mean backlog 3 ms / 2 ms = 1.5 packets.
        assert_eq!(link.figures().unwrap().busy_nanos, 2_000_000);
        assert_eq!(link.figures().unwrap().waiting_nanos, 3_000_000);
    }

    #[test]
    fn lost_packets_use_the_link_and_are_counted_apart() {
        let lossy = LinkConfig { loss_probability: 0.3, ..config(Limit::Unlimited) };
        let mut link = Link::new(&lossy, ALWAYS, 1, "l");
        let n = 20_000;
        // Lost or not, a packet keeps the link busy for 1 ms.
        let mut arrived = 0;
        for i in 1..=n {
            match link.offer(&Sized(1000), ms(0)) {
                Offer::Arrives(at) => {
                    assert_eq!(at, ms(i + 10));
                    arrived += 1;
                }
                offer => assert_eq!(offer, Offer::Lost),
            }
        }
        let stats = link.totals();
        assert_eq!(arrived + stats.lost, n);
        // 0.3 ± 4·√(0.3·0.7/20000) = 0.3 ± 0.013.
        assert!((stats.lost as f64 / n as f64 - 0.3).abs() < 0.013);
    }

    #[test]
    fn poisson_arrivals_wait_as_long_as_the_pollaczek_khinchine_formula_says() {
        // M/D/1 with load ρ: mean wait ρ/(2(1−ρ)) service times. At ρ = 0.8: 2.
        let mut link = Link::new(&config(Limit::Unlimited), ALWAYS, 1, "l");
        let mut gaps = Stream::new(3, "poisson");
        let (mut now, n) = (0.0, 2_000_000);
        for _ in 0..n {
            now += gaps.exponential() / 0.8 * 1e6;
            let at = Time::from_nanos(now as u64);
            link.offer(&Sized(1000), at);
        }
        let mean_wait = link.figures().unwrap().waiting_nanos as f64 / f64::from(n) / 1e6;
        // The sample mean's standard error at this length is about 0.01 service times.
        assert!((mean_wait - 2.0).abs() < 0.04, "{mean_wait}");
    }
}
