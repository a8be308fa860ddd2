//! Monitor intervals: fate of the segments sent in each.

use fairway_units::{Duration, Time};

use crate::{Ack, RateSample};

/// Later segments that must be delivered before all losses of an interval are known: the duplicate
/// threshold (RFC 5681).
const REORDERING: u32 = 3;

/// Sums of a linear regression.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Regression {
    n: f64,
    t: f64,
    r: f64,
    tt: f64,
    tr: f64,
}

impl Regression {
    fn add(&mut self, t: f64, r: f64) {
        self.n += 1.0;
        self.t += t;
        self.r += r;
        self.tt += t * t;
        self.tr += t * r;
    }

    fn slope(&self) -> f64 {
        let spread = self.n * self.tt - self.t * self.t;
        let together = self.n * self.tr - self.t * self.r;
        // Times are in seconds: a smaller spread is that of a single instant.
        if spread > 1e-12 { together / spread } else { 0.0 }
    }
}

/// One rate, tried for an interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Interval {
    /// Mbit/s.
    rate: f64,
    is_trial: bool,
    start: Time,
    end: Option<Time>,
    delivered: u64,
    lost: u64,
    /// Acknowledgements of segments sent after it.
    later: u32,
    is_limited: bool,
    rtts: Regression,
}

impl Interval {
    pub(super) fn new(rate: f64, is_trial: bool, start: Time) -> Self {
        Interval {
            rate,
            is_trial,
            start,
            end: None,
            delivered: 0,
            lost: 0,
            later: 0,
            is_limited: false,
            rtts: Regression::default(),
        }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn is_trial(&self) -> bool {
        self.is_trial
    }

    pub(super) fn start(&self) -> Time {
        self.start
    }

    /// Discard the result.
    pub(super) fn give_up(&mut self) {
        self.is_trial = false;
    }

    pub(super) fn end(&mut self, now: Time) {
        self.end = Some(now);
    }

    fn has(&self, sent_at: Time) -> bool {
        sent_at >= self.start && self.end.is_none_or(|end| sent_at < end)
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, sample: &RateSample, mss: f64) {
        if self.has(sample.sent_at) {
            self.delivered = self.delivered.saturating_add(ack.delivered);
            self.is_limited |= sample.app_limited;
            if let Some(rtt) = ack.rtt {
                let t = sample.sent_at.since(self.start).as_secs_f64();
                self.rtts.add(t, rtt.as_secs_f64());
            }
        } else if self.end.is_some_and(|end| sample.sent_at >= end) {
            self.later += 1;
        }
        if ack.lost > 0 && self.has(self.when_sent(ack.lost, sample, mss)) {
            self.lost = self.lost.saturating_add(ack.lost);
        }
    }

    /// Approximate send time of the middle one of newly lost segments.
    fn when_sent(&self, lost: u64, sample: &RateSample, mss: f64) -> Time {
        let behind = f64::from(REORDERING) * mss + lost as f64 / 2.0;
        let behind_s = behind * 8e-6 / self.rate.max(1e-6);
        let behind = Duration::from_nanos((behind_s * 1e9) as u64);
        Time::from_nanos(sample.sent_at.as_nanos().saturating_sub(behind.as_nanos()))
    }

    /// Whether the fate of all its segments is known.
    pub(super) fn is_complete(&self) -> bool {
        self.later > REORDERING
    }

    /// Whether it was application-limited.
    pub(super) fn is_limited(&self) -> bool {
        self.is_limited || self.delivered.saturating_add(self.lost) == 0
    }

    /// Loss rate of its segments.
    pub(super) fn loss(&self) -> f64 {
        let sent = self.delivered.saturating_add(self.lost).max(1);
        self.lost as f64 / sent as f64
    }

    /// Slope of the RTT over time.
    pub(super) fn rtt_slope(&self) -> f64 {
        self.rtts.slope()
    }

    /// The rate tried, bounded by the rate observed, as the window or the application may not allow
    /// it. A few segments may be missing at either end.
    pub(super) fn sent_mbps(&self, mss: f64) -> f64 {
        let span_s = self.end.map_or(0.0, |end| end.since(self.start).as_secs_f64());
        let seen = self.delivered.saturating_add(self.lost) as f64 + f64::from(REORDERING) * mss;
        if span_s > 0.0 { self.rate.min(seen * 8e-6 / span_s) } else { self.rate }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack};

    fn at(millis: f64) -> Time {
        Time::from_nanos((millis * 1e6) as u64)
    }

    #[test]
    fn measures_slope_loss_and_rate() {
        // A segment a millisecond, from 0 to 40, each 0.05 ms slower than the last: slope 0.05.
        let mut interval = Interval::new(11.584, true, at(0.0));
        interval.end(at(40.0));
        for n in 0..44 {
            let sample = RateSample { sent_at: at(f64::from(n)), ..RateSample::default() };
            let rtt = Some(Duration::from_micros(40_000 + 50 * n as u64));
            // Four lost, detected with the twentieth: three after them and two for half of them.
            let lost = if n == 20 { 4 * u64::from(MSS) } else { 0 };
            assert!(!interval.is_complete());
            interval.on_ack(&Ack { rtt, lost, ..ack(1, 40) }, &sample, f64::from(MSS));
        }
        assert!(interval.is_complete() && !interval.is_limited());
        assert!((interval.rtt_slope() - 0.05).abs() < 1e-6);
        // 4 of 44.
        assert!((interval.loss() - 4.0 / 44.0).abs() < 1e-12);
        assert_eq!(interval.sent_mbps(f64::from(MSS)), 11.584);
    }

    #[test]
    fn data_not_sent_does_not_count() {
        // Ten segments in 40 ms of a rate for forty: 13·11584 bits in 40 ms = 3.765 Mbit/s.
        let mut interval = Interval::new(11.584, true, at(0.0));
        interval.end(at(40.0));
        for n in 0..10 {
            let sample = RateSample { sent_at: at(f64::from(n) * 4.0), ..RateSample::default() };
            interval.on_ack(&ack(1, 40), &sample, f64::from(MSS));
        }
        assert!((interval.sent_mbps(f64::from(MSS)) - 3.7648).abs() < 1e-9);
        assert_eq!(interval.loss(), 0.0);
    }

    #[test]
    fn losses_at_the_border_count_where_they_were_sent() {
        // At a segment a millisecond, one found lost with the one sent at 41 was sent at 37.5.
        let first = {
            let mut interval = Interval::new(11.584, true, at(0.0));
            interval.end(at(40.0));
            interval
        };
        let (mut first, mut second) = (first, Interval::new(11.584, true, at(40.0)));
        let sample = RateSample { sent_at: at(41.0), ..RateSample::default() };
        for interval in [&mut first, &mut second] {
            let found = Ack { lost: u64::from(MSS), ..ack(1, 40) };
            interval.on_ack(&found, &sample, f64::from(MSS));
        }
        assert_eq!((first.lost, second.lost), (u64::from(MSS), 0));
        assert_eq!((first.delivered, second.delivered), (0, u64::from(MSS)));
    }
}
