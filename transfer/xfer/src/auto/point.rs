//! Measures one number of streams over intervals; the result is a point.

use super::Interval;

/// How long streams are left alone after a change, and measured then: in round trips, and in seconds at
/// least, as other things that happen on a host take some tenths of one.
#[derive(Clone, Copy, Debug)]
struct Pace {
    settling_round_trips: f64,
    settling_s: f64,
    measured_round_trips: f64,
    measured_s: f64,
}

/// Where windows hold streams back: they carry the same from the end of slow start on.
const QUICK: Pace = Pace {
    settling_round_trips: 8.0,
    settling_s: 0.5,
    measured_round_trips: 20.0,
    measured_s: 1.0,
};
/// Elsewhere: slow start leaves windows far from where losses will hold them, for some losses long, and what
/// fewer of them carry in a second is chance.
const CALM: Pace = Pace {
    settling_round_trips: 20.0,
    settling_s: 2.0,
    measured_round_trips: 40.0,
    measured_s: 5.0,
};

impl Pace {
    fn settling_s(&self, rtt_s: f64) -> f64 {
        f64::max(self.settling_round_trips * rtt_s, self.settling_s)
    }

    fn measured_s(&self, rtt_s: f64) -> f64 {
        f64::max(self.measured_round_trips * rtt_s, self.measured_s)
    }
}

/// A measurement is made this much longer at most while it cannot tell, or while goodput still rises.
const MOST_EXTENSION: f64 = 4.0;
/// How much more the second half of a measurement carries if streams are still opening their windows.
const RISING: f64 = 1.15;
/// Batches that a measurement is cut into to see how much goodput differs, at most, and round trips of each at
/// least: within fewer, data comes in bursts.
const BATCHES: f64 = 10.0;
const BATCH_ROUND_TRIPS: f64 = 2.5;
/// What neighbouring batches have in common makes their spread look smaller than the noise is.
const SPREAD_TO_NOISE: f64 = 1.5;
/// Standing delay above the least round-trip time from which a path counts as full: a share of it, and
/// in seconds, below which hosts themselves may be the cause.
const STANDING_SHARE: f64 = 0.05;
const STANDING_S: f64 = 0.001;
/// Share of their time from which streams count as held back by their windows, and of an interval from
/// which it tells nothing because the application was waited for.
const MOSTLY: f64 = 0.5;

/// What one number of streams was found to carry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) streams: u32,
    pub(super) goodput_bps: f64,
    pub(super) noise_bps: f64,
    pub(super) segments: u64,
    pub(super) retransmitted: u64,
    pub(super) srtt_s: f64,
    pub(super) min_rtt_s: f64,
    pub(super) longest_rtt_s: f64,
    pub(super) mss_bytes: f64,
    pub(super) window_limited: bool,
    /// The largest sum of delivery rates, or goodput.
    pub(super) peak_bps: f64,
}

impl Point {
    pub(super) fn loss(&self) -> f64 {
        if self.segments == 0 { 0.0 } else { self.retransmitted as f64 / self.segments as f64 }
    }

    pub(super) fn stream_bps(&self) -> f64 {
        self.goodput_bps / f64::from(self.streams.max(1))
    }

    pub(super) fn queues(&self) -> bool {
        self.srtt_s - self.min_rtt_s > f64::max(STANDING_SHARE * self.min_rtt_s, STANDING_S)
    }
}

/// What a measurement has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Measured {
    NotYet,
    /// The application gave too little for anything to be found out.
    NothingToSend,
    Done(Point),
}

/// A measurement in progress.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    streams: u32,
    /// When streams and wish became the same number.
    since_s: Option<f64>,
    intervals: Vec<Interval>,
    idle_s: f64,
    /// How many times as long as usual it may take.
    extension: f64,
}

impl Measurement {
    pub(super) fn new(streams: u32) -> Self {
        Measurement { streams, since_s: None, intervals: Vec::new(), idle_s: 0.0, extension: 1.0 }
    }

    pub(super) fn streams(&self) -> u32 {
        self.streams
    }

    pub(super) fn take(&mut self, interval: &Interval) -> Measured {
        if interval.streams != self.streams {
            self.since_s = None;
            self.intervals.clear();
            return Measured::NotYet;
        }
        let begin_s = interval.end_s - interval.length_s;
        let since_s = *self.since_s.get_or_insert(begin_s);
        let rtt_s = interval.srtt_s.max(interval.min_rtt_s);
        if interval.application_limited > MOSTLY {
            self.idle_s += interval.length_s;
            let is_idle = self.idle_s >= CALM.measured_s(rtt_s);
            return if is_idle { Measured::NothingToSend } else { Measured::NotYet };
        }
        self.intervals.push(*interval);
        if let Some(point) = self.quickly(since_s, interval.end_s, rtt_s) {
            return Measured::Done(point);
        }
        let from_s = since_s + CALM.settling_s(rtt_s);
        if interval.end_s + 1e-9 < from_s + CALM.measured_s(rtt_s) * self.extension {
            return Measured::NotYet;
        }
        let measured = after(&self.intervals, from_s);
        if is_rising(measured) && self.extension < MOST_EXTENSION {
            // Only what comes after the rise counts.
            let half = self.intervals.len() - measured.len() / 2;
            self.intervals.drain(..half);
            self.extend();
            return Measured::NotYet;
        }
        Measured::Done(self.point(measured, rtt_s))
    }

    /// Goes on for as long again, if it has not been made longer too often; whether it does.
    pub(super) fn extend(&mut self) -> bool {
        let goes_on = self.extension < MOST_EXTENSION;
        if goes_on {
            self.extension += 1.0;
        }
        goes_on
    }

    /// The point, if windows hold the streams back and so little tells it.
    fn quickly(&self, since_s: f64, now_s: f64, rtt_s: f64) -> Option<Point> {
        let from_s = since_s + QUICK.settling_s(rtt_s);
        if self.extension > 1.0 || now_s + 1e-9 < from_s + QUICK.measured_s(rtt_s) {
            return None;
        }
        let measured = after(&self.intervals, from_s);
        let point = self.point(measured, rtt_s);
        (point.window_limited && !point.queues() && !is_rising(measured)).then_some(point)
    }

    fn point(&self, intervals: &[Interval], rtt_s: f64) -> Point {
        let largest = |of: fn(&Interval) -> f64| intervals.iter().map(of).fold(0.0, f64::max);
        let held_back = mean(intervals, |interval| interval.rwnd_limited + interval.sndbuf_limited);
        Point {
            streams: self.streams,
            goodput_bps: mean(intervals, |interval| interval.goodput_bps),
            noise_bps: noise_bps(intervals, rtt_s),
            segments: intervals.iter().map(|interval| interval.segments).sum(),
            retransmitted: intervals.iter().map(|interval| interval.retransmitted_segments).sum(),
            srtt_s: mean(intervals, |interval| interval.srtt_s),
            min_rtt_s: intervals.iter().map(|interval| interval.min_rtt_s).fold(f64::MAX, f64::min),
            longest_rtt_s: largest(|interval| interval.srtt_s),
            mss_bytes: largest(|interval| f64::from(interval.mss_bytes)),
            window_limited: held_back > MOSTLY,
            peak_bps: largest(|interval| interval.delivery_bps.max(interval.goodput_bps)),
        }
    }
}

/// Those that begin at a time or later; at least the last.
fn after(intervals: &[Interval], from_s: f64) -> &[Interval] {
    let begins = |interval: &Interval| interval.end_s - interval.length_s + 1e-9 >= from_s;
    let first = intervals.iter().position(begins);
    &intervals[first.unwrap_or(intervals.len().saturating_sub(1))..]
}

fn is_rising(intervals: &[Interval]) -> bool {
    let (first, second) = intervals.split_at(intervals.len() / 2);
    let goodput = |half| mean(half, |interval: &Interval| interval.goodput_bps);
    goodput(second) > RISING * goodput(first)
}

/// The standard error of the mean goodput, by batches.
fn noise_bps(intervals: &[Interval], rtt_s: f64) -> f64 {
    let length_s: f64 = intervals.iter().map(|interval| interval.length_s).sum();
    let batch_s = f64::max(length_s / BATCHES, BATCH_ROUND_TRIPS * rtt_s);
    let mut goodputs = Vec::new();
    let (mut batch, mut so_far_s) = (0, 0.0);
    for end in 1..=intervals.len() {
        so_far_s += intervals[end - 1].length_s;
        if so_far_s + 1e-9 >= batch_s {
            goodputs.push(mean(&intervals[batch..end], |interval| interval.goodput_bps));
            (batch, so_far_s) = (end, 0.0);
        }
    }
    let count = goodputs.len() as f64;
    let average = goodputs.iter().sum::<f64>() / count.max(1.0);
    if goodputs.len() < 2 {
        // Nothing is known: as if it could be anything.
        return average.max(mean(intervals, |interval| interval.goodput_bps));
    }
    let squares: f64 =
        goodputs.iter().map(|goodput| (goodput - average) * (goodput - average)).sum();
    SPREAD_TO_NOISE * libm::sqrt(squares / (count - 1.0) / count)
}

fn mean(intervals: &[Interval], of: impl Fn(&Interval) -> f64) -> f64 {
    let length_s: f64 = intervals.iter().map(|interval| interval.length_s).sum();
    let sum: f64 = intervals.iter().map(|interval| interval.length_s * of(interval)).sum();
    if length_s > 0.0 { sum / length_s } else { 0.0 }
}
