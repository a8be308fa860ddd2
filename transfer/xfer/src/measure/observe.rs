//! What happened on all connections since the last look.

use std::time::Instant;

use fairway_schema::tcp_info::{Field, series as field};

use super::{Counts, Meter};

/// Looks at all connections of a meter, in intervals of its owner's.
#[derive(Debug)]
pub struct Observer {
    meter: Meter,
    before: Counts,
    at: Instant,
}

/// All connections over one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    pub seconds: f64,
    pub streams: usize,
    /// What they have counted in it together, and those that closed in it.
    pub counts: Counts,
    pub goodput_bps: f64,
    /// Mean of their smoothed round-trip times; none before the first sample.
    pub srtt_s: Option<f64>,
    pub min_rtt_s: Option<f64>,
    pub cwnd_bytes: f64,
    pub mss_bytes: f64,
    /// Sum of their latest delivery rates, in bit/s.
    pub delivery_rate_bps: f64,
}

impl Observation {
    /// Share of the time with data to send in which the receive window held it back; none if there
    /// was no such time.
    pub fn rwnd_limited(&self) -> Option<f64> {
        share(self.counts.rwnd_limited_us, self.counts.busy_us)
    }

    /// Share of that time in which the send buffer held it back.
    pub fn sndbuf_limited(&self) -> Option<f64> {
        share(self.counts.sndbuf_limited_us, self.counts.busy_us)
    }
}

pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Observer {
    pub(super) fn new(meter: Meter) -> Self {
        let mut observer = Observer { meter, before: Counts::default(), at: Instant::now() };
        observer.take();
        observer
    }

    /// What has happened since the last call.
    pub fn take(&mut self) -> Observation {
        let now = Instant::now();
        let mut state = self.meter.state();
        state.sample(now, false);
        let counts = state.counts();
        let sent = || state.flows.iter().filter(|flow| flow.is_open() && flow.is_sent);
        let reals = |of: &'static Field| sent().map(move |flow| of.real(flow.latest()));
        let positive = |of| reals(of).filter(|value| *value > 0.0);
        let news = counts - self.before;
        let seconds = now.saturating_duration_since(self.at).as_secs_f64();
        let cwnd = sent().map(|flow| {
            let segments = field::CWND.raw(flow.latest()).unwrap_or(0);
            segments as f64 * field::SND_MSS.raw(flow.latest()).unwrap_or(0) as f64
        });
        let observation = Observation {
            seconds,
            streams: state.flows.iter().filter(|flow| flow.is_open()).count(),
            counts: news,
            goodput_bps: match seconds > 0.0 {
                true => news.payload_bytes as f64 * 8.0 / seconds,
                false => 0.0,
            },
            srtt_s: mean(positive(field::RTT)),
            min_rtt_s: positive(field::MIN_RTT).reduce(f64::min),
            cwnd_bytes: cwnd.sum(),
            mss_bytes: mean(positive(field::SND_MSS)).unwrap_or(0.0),
            delivery_rate_bps: positive(field::DELIVERY_RATE).sum(),
        };
        drop(state);
        (self.before, self.at) = (counts, now);
        observation
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}
