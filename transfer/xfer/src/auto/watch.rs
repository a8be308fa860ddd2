//! Feeds a chooser from a meter's observations.

use super::{Answer, Chooser, Interval, Settings};
use crate::measure::{Meter, Observation, Observer};

/// A chooser that looks at a transfer's connections itself. Its clock starts with it.
#[derive(Debug)]
pub struct Watcher {
    chooser: Chooser,
    observer: Observer,
    now_s: f64,
}

impl Watcher {
    pub fn new(settings: &Settings, meter: &Meter) -> Self {
        Watcher { chooser: Chooser::new(settings), observer: meter.observer(), now_s: 0.0 }
    }

    pub fn chooser(&mut self) -> &mut Chooser {
        &mut self.chooser
    }

    /// Looks at what has happened since the last time, with `streams` that are meant to carry data
    /// now; what is to be done.
    pub fn look(&mut self, streams: u32) -> Answer {
        let observed = self.observer.take();
        self.now_s += observed.seconds;
        self.chooser.observe(&interval(&observed, streams, self.now_s))
    }
}

/// What the kernel says was delivered, which it knows to the segment: what was written is known only for
/// each write, and of the time between two of them it would say little.
fn delivered_bps(observed: &Observation) -> f64 {
    if observed.seconds <= 0.0 {
        return 0.0;
    }
    let segments = observed.counts.delivered_segments as f64;
    segments * observed.mss_bytes * 8.0 / observed.seconds
}

fn interval(observed: &Observation, streams: u32, end_s: f64) -> Interval {
    // Connections that are being opened or ended make it an interval of no number at all.
    let is_steady = observed.streams == streams as usize;
    let segments = observed.counts.sent_segments;
    let mss_bytes = observed.mss_bytes;
    let window = if mss_bytes > 0.0 { observed.cwnd_bytes / mss_bytes } else { 0.0 };
    let busy_s = observed.counts.busy_us as f64 / 1e6;
    let could_s = observed.seconds * f64::from(streams.max(1));
    Interval {
        end_s,
        length_s: observed.seconds,
        streams: if is_steady { streams } else { 0 },
        goodput_bps: delivered_bps(observed),
        segments,
        retransmitted_segments: observed.counts.retransmitted_segments,
        srtt_s: observed.srtt_s.unwrap_or(0.0),
        min_rtt_s: observed.min_rtt_s.unwrap_or(0.0),
        cwnd_segments: window / f64::from(streams.max(1)),
        mss_bytes: mss_bytes as u32,
        rwnd_limited: observed.rwnd_limited().unwrap_or(0.0),
        sndbuf_limited: observed.sndbuf_limited().unwrap_or(0.0),
        // The kernel counts as busy the time with data that is not acknowledged.
        application_limited: if could_s > 0.0 { (1.0 - busy_s / could_s).max(0.0) } else { 0.0 },
        delivery_bps: observed.delivery_rate_bps,
    }
}
