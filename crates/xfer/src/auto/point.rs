//! Intervals of one number of streams, and the point that they give.

use super::Interval;

/// Round trips that streams are given after a change, in which slow start ends, and for which they are
/// then measured: with samples of fewer, one loss decides.
const SETTLING_ROUND_TRIPS: f64 = 8.0;
const MEASURED_ROUND_TRIPS: f64 = 20.0;
/// The same in seconds at least: what other things happen on a host takes some tenths of them.
const SETTLING_S: f64 = 0.5;
const MEASURED_S: f64 = 1.0;
/// Intervals at least, for their spread to mean something.
const FEWEST_INTERVALS: usize = 4;
/// A measurement is made this much longer at most while it cannot tell, or while goodput still rises.
const MOST_EXTENSION: f64 = 4.0;
/// How much more the second half of a measurement carries if streams are still opening their windows.
const RISING: f64 = 1.15;
/// What neighbouring intervals have in common makes their spread look smaller than the noise is.
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
    /// Standard error of the goodput.
    pub(super) noise_bps: f64,
    pub(super) segments: u64,
    pub(super) retransmitted: u64,
    pub(super) srtt_s: f64,
    pub(super) min_rtt_s: f64,
    /// The longest mean round-trip time of an interval.
    pub(super) longest_rtt_s: f64,
    pub(super) mss_bytes: f64,
    pub(super) window_limited: bool,
    /// The largest sum of delivery rates, or goodput.
    pub(super) peak_bps: f64,
}

impl Point {
    /// Share of the segments that were retransmitted.
    pub(super) fn loss(&self) -> f64 {
        if self.segments == 0 { 0.0 } else { self.retransmitted as f64 / self.segments as f64 }
    }

    /// Goodput of one of its streams.
    pub(super) fn stream_bps(&self) -> f64 {
        self.goodput_bps / f64::from(self.streams.max(1))
    }

    /// Whether packets waited all the time.
    pub(super) fn queues(&self) -> bool {
        self.srtt_s - self.min_rtt_s > f64::max(STANDING_SHARE * self.min_rtt_s, STANDING_S)
    }
}

/// What a measurement has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Measured {
    /// It goes on.
    NotYet,
    /// The application gave too little for anything to be found out.
    NothingToSend,
    /// It is done.
    Done(Point),
}

/// A measurement in progress.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    streams: u32,
    /// Since streams and wish are the same number, and until when they settle.
    since_s: Option<f64>,
    intervals: Vec<Interval>,
    measured_s: f64,
    idle_s: f64,
    /// How many times as long as usual it may take.
    extension: f64,
}

impl Measurement {
    pub(super) fn new(streams: u32) -> Self {
        Measurement {
            streams,
            since_s: None,
            intervals: Vec::new(),
            measured_s: 0.0,
            idle_s: 0.0,
            extension: 1.0,
        }
    }

    pub(super) fn streams(&self) -> u32 {
        self.streams
    }

    /// Takes the next interval.
    pub(super) fn take(&mut self, interval: &Interval) -> Measured {
        if interval.streams != self.streams {
            self.since_s = None;
            self.intervals.clear();
            self.measured_s = 0.0;
            return Measured::NotYet;
        }
        let rtt_s = interval.srtt_s.max(interval.min_rtt_s);
        let since_s = *self.since_s.get_or_insert(interval.end_s - interval.length_s);
        let settling_s = f64::max(SETTLING_ROUND_TRIPS * rtt_s, SETTLING_S);
        if interval.end_s - interval.length_s < since_s + settling_s - 1e-9 {
            return Measured::NotYet;
        }
        let wanted_s = f64::max(MEASURED_ROUND_TRIPS * rtt_s, MEASURED_S) * self.extension;
        if interval.application_limited > MOSTLY {
            self.idle_s += interval.length_s;
            let idle = self.idle_s >= wanted_s;
            return if idle { Measured::NothingToSend } else { Measured::NotYet };
        }
        self.intervals.push(*interval);
        self.measured_s += interval.length_s;
        if self.measured_s < wanted_s - 1e-9 || self.intervals.len() < FEWEST_INTERVALS {
            return Measured::NotYet;
        }
        if self.is_rising() && self.extension < MOST_EXTENSION {
            // Only what comes after the rise counts.
            self.extension += 1.0;
            let half = self.intervals.len() / 2;
            self.intervals.drain(..half);
            return Measured::NotYet;
        }
        Measured::Done(self.point())
    }

    /// Goes on for as long again, if it has not been made longer too often; whether it does.
    pub(super) fn extend(&mut self) -> bool {
        let goes_on = self.extension < MOST_EXTENSION;
        if goes_on {
            self.extension += 1.0;
        }
        goes_on
    }

    fn is_rising(&self) -> bool {
        let (first, second) = self.intervals.split_at(self.intervals.len() / 2);
        mean(second, |interval| interval.goodput_bps)
            > RISING * mean(first, |interval| interval.goodput_bps)
    }

    fn point(&self) -> Point {
        let intervals = &self.intervals;
        let goodput_bps = mean(intervals, |interval| interval.goodput_bps);
        let count = intervals.len() as f64;
        let squares = mean(intervals, |interval| {
            let off = interval.goodput_bps - goodput_bps;
            off * off
        });
        let largest = |of: fn(&Interval) -> f64| intervals.iter().map(of).fold(0.0, f64::max);
        let held_back = mean(intervals, |interval| interval.rwnd_limited + interval.sndbuf_limited);
        Point {
            streams: self.streams,
            goodput_bps,
            noise_bps: SPREAD_TO_NOISE * libm::sqrt(squares / (count - 1.0).max(1.0)),
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

/// Mean over intervals, each with its length as weight.
fn mean(intervals: &[Interval], of: impl Fn(&Interval) -> f64) -> f64 {
    let length_s: f64 = intervals.iter().map(|interval| interval.length_s).sum();
    let sum: f64 = intervals.iter().map(|interval| interval.length_s * of(interval)).sum();
    if length_s > 0.0 { sum / length_s } else { 0.0 }
}
