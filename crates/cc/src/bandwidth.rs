//! Bandwidth estimation from acknowledgements, for Westwood and its successors.
//!
//! An estimator ([`Bandwidth`]) processes every acknowledgement and gives bytes per second. Times
//! the minimum RTT, that is the window that fills the path without queueing ([`pipe_segments`]).

use fairway_units::{Duration, Time};

use crate::{Ack, Flow, Phase};

/// A bandwidth estimator.
pub(crate) trait Bandwidth: Send {
    /// Process an acknowledgement, duplicate or not.
    fn on_ack(&mut self, ack: &Ack, flow: &Flow);

    /// The estimate; zero before the first.
    fn bytes_per_s(&self) -> f64;
}

/// Whole segments of `mss` bytes in flight at `bytes_per_s` with empty queues.
pub(crate) fn pipe_segments(bytes_per_s: f64, min_rtt: Duration, mss: u32) -> u32 {
    // The rate is a quotient, whose rounding must not cost a segment.
    (bytes_per_s * min_rtt.as_secs_f64() / f64::from(mss.max(1)) + 1e-6) as u32
}

/// Bytes counted for an acknowledgement. A duplicate counts one segment, which the cumulative one
/// that ends the gap must not count again (Mascolo et al. 2001 section 2.3; Linux 6.1
/// `tcp_westwood.c`, `westwood_acked_count`).
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct AckedBytes {
    /// Counted for duplicates and not yet acknowledged cumulatively.
    ahead: u64,
}

impl AckedBytes {
    /// Bytes to count for an acknowledgement of `acked` bytes in segments of `mss`. One that
    /// `is_plain` ends no gap: Linux considers `ahead` only on its slow path.
    pub(crate) fn count(&mut self, acked: u64, mss: u32, is_plain: bool) -> u64 {
        let mss = u64::from(mss.max(1));
        if acked == 0 {
            self.ahead = self.ahead.saturating_add(mss);
            return mss;
        }
        if acked <= mss || is_plain {
            return acked;
        }
        if self.ahead >= acked {
            self.ahead -= acked;
            mss
        } else {
            acked - std::mem::take(&mut self.ahead)
        }
    }
}

/// A first-order low-pass filter in discrete steps by the trapezoidal rule (Tustin).
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct Tustin {
    value: f64,
    last_sample: f64,
}

impl Tustin {
    /// `value ← memory·value + (1 − memory)·(sample + last sample)/2`.
    pub(crate) fn update(&mut self, sample: f64, memory: f64) {
        self.value = memory * self.value + (1.0 - memory) * (sample + self.last_sample) / 2.0;
        self.last_sample = sample;
    }

    /// The filtered value.
    pub(crate) fn value(&self) -> f64 {
        self.value
    }
}

/// Weight of the old value in a low-pass filter of time constant `tau_s` over a step of `step_s`:
/// `(2τ/Δ − 1)/(2τ/Δ + 1)`, at least zero.
pub(crate) fn memory_of_step(tau_s: f64, step_s: f64) -> f64 {
    ((2.0 * tau_s - step_s) / (2.0 * tau_s + step_s)).max(0.0)
}

/// Bytes of an acknowledgement and the time since the one before. Acknowledgements at the same time
/// count as one.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct Gaps {
    acked: AckedBytes,
    last_ack: Option<Time>,
    /// Bytes of acknowledgements at the time of the last one.
    pending: u64,
}

impl Gaps {
    /// Bytes and seconds since the last acknowledgement, if time has passed.
    pub(crate) fn on_ack(&mut self, ack: &Ack, flow: &Flow) -> Option<(u64, f64)> {
        let bytes = self.acked.count(ack.acked, flow.mss, flow.phase == Phase::Open);
        let Some(last) = self.last_ack else {
            self.last_ack = Some(flow.now);
            return None;
        };
        self.pending = self.pending.saturating_add(bytes);
        let gap_s = flow.now.since(last).as_secs_f64();
        (gap_s > 0.0).then(|| {
            self.last_ack = Some(flow.now);
            (std::mem::take(&mut self.pending), gap_s)
        })
    }
}

/// One sample per acknowledgement: its bytes over the time since the one before, through a
/// Tustin filter whose memory follows that time (Mascolo et al. 2001 section 2.2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PerAck {
    tau_s: f64,
    gaps: Gaps,
    filter: Tustin,
}

impl PerAck {
    /// A filter of time constant `tau_s` seconds.
    pub(crate) fn new(tau_s: f64) -> Self {
        let tau_s = tau_s.max(1e-6);
        PerAck { tau_s, gaps: Gaps::default(), filter: Tustin::default() }
    }

    /// A gap longer than this counts as samples of zero: τ/m, m at least 2 (Mascolo et al. 2001
    /// section 2.2).
    fn silence_s(&self) -> f64 {
        self.tau_s / 2.0
    }

    fn sample(&mut self, bytes: u64, gap_s: f64) {
        let silences = (gap_s / self.silence_s()).ceil() - 1.0;
        if silences >= 1.0 {
            let memory = memory_of_step(self.tau_s, self.silence_s());
            self.filter.update(0.0, memory);
            self.filter.value *= libm::pow(memory, silences - 1.0);
        }
        let rest_s = (gap_s - silences.max(0.0) * self.silence_s()).max(0.0);
        self.filter.update(bytes as f64 / gap_s, memory_of_step(self.tau_s, rest_s));
    }
}

impl Bandwidth for PerAck {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        if let Some((bytes, gap_s)) = self.gaps.on_ack(ack, flow) {
            self.sample(bytes, gap_s);
        }
    }

    fn bytes_per_s(&self) -> f64 {
        self.filter.value()
    }
}

/// One sample per round trip: the bytes of a round over its length, through an exponential
/// filter initialised by the first sample (Grieco and Mascolo 2004 section 2).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PerRound {
    /// Weight of the old estimate.
    alpha: f64,
    acked: AckedBytes,
    estimate: Option<f64>,
    round_start: Option<Time>,
    bytes: u64,
}

impl PerRound {
    /// A filter that gives its old value the weight `alpha`.
    pub(crate) fn new(alpha: f64) -> Self {
        PerRound {
            alpha,
            acked: AckedBytes::default(),
            estimate: None,
            round_start: None,
            bytes: 0,
        }
    }

    fn sample(&mut self, bytes_per_s: f64) {
        self.estimate = Some(match self.estimate {
            Some(old) => self.alpha * old + (1.0 - self.alpha) * bytes_per_s,
            None => bytes_per_s,
        });
    }
}

impl Bandwidth for PerRound {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        let bytes = self.acked.count(ack.acked, flow.mss, flow.phase == Phase::Open);
        let Some(start) = self.round_start else {
            self.round_start = Some(flow.now);
            return;
        };
        self.bytes = self.bytes.saturating_add(bytes);
        let elapsed = flow.now.since(start);
        if elapsed > Duration::ZERO && flow.srtt.is_some_and(|srtt| elapsed >= srtt) {
            let bytes = std::mem::take(&mut self.bytes);
            self.sample(bytes as f64 / elapsed.as_secs_f64());
            self.round_start = Some(flow.now);
        }
    }

    fn bytes_per_s(&self) -> f64 {
        self.estimate.unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack, flow};

    fn at_ms(millis: f64) -> Flow {
        Flow { now: Time::from_nanos((millis * 1e6) as u64), ..flow(0, 10, 100) }
    }

    #[test]
    fn the_fixed_filter_of_19_21sts() {
        // 2τ/Δ = 20: 19/21. Samples of 10: 10/21 = 0.4762; (19·0.4762 + 20)/21 = 1.3832; 2.2039.
        assert!((memory_of_step(0.5, 0.05) - 19.0 / 21.0).abs() < 1e-12);
        let mut filter = Tustin::default();
        for expected in [0.4762, 1.3832, 2.2039] {
            filter.update(10.0, memory_of_step(0.5, 0.05));
            assert!((filter.value() - expected).abs() < 5e-5, "{}", filter.value());
        }
    }

    #[test]
    fn an_acknowledgement_is_a_sample() {
        // Two segments after 50 ms: 2896/0.05 = 57920 B/s; the first gives 57920/21 = 2758.1.
        let mut bandwidth = PerAck::new(0.5);
        bandwidth.on_ack(&ack(1, 100), &at_ms(1_000.0));
        assert_eq!(bandwidth.bytes_per_s(), 0.0);
        // Two at the same time are one sample.
        bandwidth.on_ack(&ack(2, 100), &at_ms(1_050.0));
        assert!((bandwidth.bytes_per_s() - 57_920.0 / 21.0).abs() < 1e-6);
        bandwidth.on_ack(&ack(2, 100), &at_ms(1_050.0));
        assert!((bandwidth.bytes_per_s() - 57_920.0 / 21.0).abs() < 1e-6);
    }

    #[test]
    fn gaps_count_as_samples_of_zero() {
        // τ/2 = 0.25 s; over such a step the weight is (1 − 0.25)/(1 + 0.25) = 0.6. From 100 with a
        // last sample of 100, after 0.75 s: 60 + 0.4·100/2 = 80, then 48, and the acknowledgement's
        // own step: 0.6·48 + 0.2·s, s = 1500/0.75 = 2000: 28.8 + 400 = 428.8.
        let mut bandwidth = PerAck::new(0.5);
        bandwidth.filter = Tustin { value: 100.0, last_sample: 100.0 };
        bandwidth.sample(1_500, 0.75);
        assert!((bandwidth.bytes_per_s() - 428.8).abs() < 1e-9, "{}", bandwidth.bytes_per_s());
    }

    #[test]
    fn steady_acknowledgements_give_their_rate() {
        // A segment each 10 ms: 144800 B/s; after five time constants within a hundredth.
        let mut bandwidth = PerAck::new(0.5);
        for tick in 0..300 {
            bandwidth.on_ack(&ack(1, 100), &at_ms(f64::from(tick) * 10.0));
        }
        assert!((bandwidth.bytes_per_s() / 144_800.0 - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_round_is_a_sample_and_the_first_initialises() {
        // 8, 12, 10 with α = 0.9: 8; 0.9·8 + 0.1·12 = 8.4; 0.9·8.4 + 1 = 8.56.
        let mut bandwidth = PerRound::new(0.9);
        for (sample, expected) in [(8.0, 8.0), (12.0, 8.4), (10.0, 8.56)] {
            bandwidth.sample(sample);
            assert!((bandwidth.bytes_per_s() - expected).abs() < 1e-12);
        }
        // Ten segments in the 100 ms after the first acknowledgement: 144800 B/s.
        let mut bandwidth = PerRound::new(0.9);
        for tick in 0..=10 {
            bandwidth.on_ack(&ack(1, 100), &at_ms(1_000.0 + f64::from(tick) * 10.0));
        }
        assert!((bandwidth.bytes_per_s() - 144_800.0).abs() < 1e-6);
    }

    #[test]
    fn duplicates_count_once() {
        // Three duplicates, one segment each; then four segments acknowledged, three of them
        // counted before. Then nothing is ahead.
        let mut acked = AckedBytes::default();
        let mss = u64::from(MSS);
        for _ in 0..3 {
            assert_eq!(acked.count(0, MSS, false), mss);
        }
        assert_eq!(acked.count(4 * mss, MSS, false), mss);
        assert_eq!(acked.count(4 * mss, MSS, false), 4 * mss);
        // More ahead than acknowledged: one segment counts, the rest stays ahead.
        acked.ahead = 5 * mss;
        assert_eq!(acked.count(2 * mss, MSS, false), mss);
        assert_eq!(acked.ahead, 3 * mss);
        // The fast path does not look at it.
        assert_eq!(acked.count(2 * mss, MSS, true), 2 * mss);
        assert_eq!(acked.ahead, 3 * mss);
    }

    #[test]
    fn a_rate_times_a_round_trip_is_segments() {
        // 10 Mbit/s = 1250000 B/s · 0.1 s / 1250 B = 100 segments.
        assert_eq!(pipe_segments(1_250_000.0, Duration::from_millis(100), 1_250), 100);
        assert_eq!(pipe_segments(0.0, Duration::from_millis(100), 1_250), 0);
        assert_eq!(pipe_segments(f64::MAX, Duration::from_secs(9), 0), u32::MAX);
    }
}
