//! The rate of the bottleneck, from how fast data is delivered while a queue stands in front of it.
//!
//! A packet that has waited left the bottleneck one transmission time behind the packet before it
//! (packet pairs: Keshav 1991; trains of packets: Dovrolis, Ramanathan, Moore 2001). So while no
//! round trip is as short as the shortest, the bottleneck was never idle, and what is acknowledged
//! between two acknowledgements is its rate times the time between them: delivery rate as BBR has
//! it (Cardwell et al. 2016), but only where something has waited. The commonest of the highest
//! such rates is taken, as the capacity mode of a distribution is (pathrate), because
//! acknowledgements that come in clumps show rates above the bottleneck's.

use fairway_units::{Duration, Time};

use super::plateau::{Plateau, Rates};
use crate::event::{Acked, Flow};

/// A window is no shorter: clocks and interrupts of hosts are late by some 50 µs, which is then
/// half a percent.
const LONG_WINDOW: Duration = Duration::from_millis(10);

/// Nor has it less segments, so that an acknowledgement for one more or less is 3 %, and 1 % over
/// some windows.
const LONG_WINDOW_SEGMENTS: u64 = 32;

/// A train of packets that is too short for such a window: two round trips of a first window of
/// ten segments have one.
const SHORT_WINDOW_SEGMENTS: u64 = 6;

/// A round trip is longer than the shortest if it is longer by this part of it, or by
/// [`LEAST_WAIT`] if that is more: what hosts take for themselves.
const WAIT_PART: u64 = 100;

/// Half a transmission time of a full packet at 100 Mbit/s.
const LEAST_WAIT: Duration = Duration::from_micros(60);

/// Windows of [`LONG_WINDOW`] that make short ones unnecessary.
const ENOUGH_WINDOWS: u64 = 5;

/// So many of two to five packets, which clocks and hosts disturb more.
const ENOUGH_PAIRS: u64 = 20;

/// Where a rate comes from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Long windows while a queue stood.
    Queue,
    /// Trains of packets that had waited for one another, or pairs of them.
    Trains,
    /// No queue was ever seen: what was delivered at most.
    Delivery,
}

/// Deliveries since an acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Window {
    since: Time,
    bytes: u64,
    until: Time,
}

/// Follows deliveries.
#[derive(Clone, Debug, Default)]
pub(super) struct Deliveries {
    /// Shortest round trip of data so far.
    least_rtt: Option<Duration>,
    busy: Option<Window>,
    any: Option<Window>,
    long: Rates,
    short: Rates,
    pairs: Rates,
    all: Rates,
}

impl Deliveries {
    /// An acknowledgement came back; `rtt` if it shows the round trip of what it acknowledges.
    pub(super) fn acked(&mut self, acked: &Acked, rtt: Option<Duration>, flow: &Flow) {
        if acked.delivered_bytes == 0 {
            return;
        }
        let segment = u64::from(flow.mss_bytes.max(1));
        self.follow_any(acked, flow, segment);
        // Something is lost, or was sent twice: nobody knows whether it has waited.
        let Some(rtt) = rtt else { return self.end_busy(segment) };
        let least = self.least_rtt.map_or(rtt, |least| least.min(rtt));
        self.least_rtt = Some(least);
        // Of several segments, the last has waited for the others: that is no queue in front of
        // the first. They took the time since the last acknowledgement, or less.
        let gap = self.busy.map_or(Duration::ZERO, |window| acked.at.since(window.until));
        let others = acked.delivered_bytes.saturating_sub(segment);
        let behind = scaled(gap, others, acked.delivered_bytes);
        if rtt > waited(least) + behind {
            self.follow_busy(acked, segment);
        } else {
            self.end_busy(segment);
            self.begin_busy(acked.at);
        }
    }

    fn begin_busy(&mut self, at: Time) {
        self.busy = Some(Window { since: at, bytes: 0, until: at });
    }

    fn follow_busy(&mut self, acked: &Acked, segment: u64) {
        let Some(window) = &mut self.busy else { return self.begin_busy(acked.at) };
        window.bytes = window.bytes.saturating_add(acked.delivered_bytes);
        window.until = acked.at;
        let span = acked.at.since(window.since);
        if span >= LONG_WINDOW && window.bytes >= LONG_WINDOW_SEGMENTS * segment {
            self.long.add(window.bytes, span);
            self.begin_busy(acked.at);
        }
    }

    fn end_busy(&mut self, segment: u64) {
        let Some(window) = self.busy.take() else { return };
        let rates = match window.bytes {
            bytes if bytes >= SHORT_WINDOW_SEGMENTS * segment => &mut self.short,
            _ => &mut self.pairs,
        };
        rates.add(window.bytes, window.until.since(window.since));
    }

    /// Data delivered in a round trip, queued or not.
    fn follow_any(&mut self, acked: &Acked, flow: &Flow, segment: u64) {
        let Some(window) = &mut self.any else {
            self.any = Some(Window { since: acked.at, bytes: 0, until: acked.at });
            return;
        };
        window.bytes = window.bytes.saturating_add(acked.delivered_bytes);
        let span = acked.at.since(window.since);
        let round = flow.srtt.unwrap_or(LONG_WINDOW).max(LONG_WINDOW);
        if span >= round && window.bytes >= LONG_WINDOW_SEGMENTS * segment {
            let bytes = window.bytes;
            self.all.add(bytes, span);
            self.any = Some(Window { since: acked.at, bytes: 0, until: acked.at });
        }
    }

    /// The rate, and where it comes from; none if there was too little of everything.
    pub(super) fn rate(&self) -> Option<(Plateau, Source)> {
        let long = self.long.plateau().map(|found| (found, Source::Queue));
        let short = self.short.plateau().map(|found| (found, Source::Trains));
        let pairs = self.pairs.plateau().map(|found| (found, Source::Trains));
        let all = self.all.plateau().map(|found| (found, Source::Delivery));
        match () {
            () if self.long.windows() >= ENOUGH_WINDOWS => long,
            () if self.short.windows() >= ENOUGH_WINDOWS => short,
            () if self.pairs.windows() >= ENOUGH_PAIRS => pairs,
            () => all.or(long).or(short),
        }
    }
}

/// A part of a time.
fn scaled(span: Duration, part: u64, of: u64) -> Duration {
    let nanos = u128::from(span.as_nanos()) * u128::from(part) / u128::from(of.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A round trip above this has waited.
fn waited(least: Duration) -> Duration {
    least + LEAST_WAIT.max(Duration::from_nanos(least.as_nanos() / WAIT_PART))
}
