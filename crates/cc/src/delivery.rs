//! Bandwidth and pacing arithmetic of Linux's BBR, and samples limited by the algorithm itself.

use fairway_units::{Duration, Rate, Time};

use crate::{Flow, RateSample};

/// Gains in 1/256 (Linux 6.1 `tcp_bbr.c`, `BBR_UNIT`).
pub(crate) const UNIT: u64 = 256;
/// One segment per microsecond (`BW_UNIT`).
pub(crate) const BW_UNIT: u64 = 1 << 24;
/// Greatest bandwidth: the module has 32 bits for it.
const MAX_BW: u128 = u32::MAX as u128;

/// Bytes per second below which segments are sent singly (`bbr_min_tso_rate`).
const MIN_OFFLOAD_RATE: u64 = 1_200_000 / 8;
/// `GSO_LEGACY_MAX_SIZE − 1 − MAX_TCP_HEADER`, bytes.
const OFFLOAD_MAX: u64 = 65_536 - 1 - 320;

/// Bandwidth of `delivered` bytes in `interval`, in 2⁻²⁴ segments per microsecond.
pub(crate) fn bandwidth(delivered: u64, mss: u32, interval: Duration) -> u64 {
    let micros = u128::from(interval.as_micros().max(1));
    let bw = u128::from(delivered) * u128::from(BW_UNIT) / (u128::from(mss.max(1)) * micros);
    bw.min(MAX_BW) as u64
}

/// `bw · gain` in bytes per second, minus BBR's pacing margin of 1 % (`bbr_rate_bytes_per_sec`,
/// `bbr_pacing_margin_percent`).
pub(crate) fn bytes_per_s(bw: u64, mss: u32, gain: u64) -> u64 {
    let rate = u128::from(bw) * u128::from(mss) * u128::from(gain) / u128::from(UNIT);
    let rate = rate * (1_000_000 / 100 * 99) / u128::from(BW_UNIT);
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Segments delivered in `micros` at `bw`, times `gain`, rounded up (`bbr_bdp`).
pub(crate) fn bdp(bw: u64, micros: u64, gain: u64) -> u32 {
    let product = u128::from(bw) * u128::from(micros);
    let bdp =
        (product.saturating_mul(u128::from(gain)) / u128::from(UNIT)).div_ceil(BW_UNIT.into());
    u32::try_from(bdp).unwrap_or(u32::MAX)
}

/// Segments delivered in `span` at `bw`, rounded down.
pub(crate) fn segments_in(bw: u64, span: Duration) -> u32 {
    let delivered = u128::from(bw) * u128::from(span.as_micros()) / u128::from(BW_UNIT);
    u32::try_from(delivered).unwrap_or(u32::MAX)
}

/// Segments per burst with segmentation offload (`bbr_tso_segs_goal`).
pub(crate) fn offload_goal(bytes_per_s: u64, mss: u32) -> u32 {
    let least = if bytes_per_s < MIN_OFFLOAD_RATE { 1 } else { 2 };
    let segments = (bytes_per_s >> 10).min(OFFLOAD_MAX) / u64::from(mss.max(1));
    (segments.min(0x7f) as u32).max(least)
}

/// Allowance for segments that the hosts hold back (`bbr_quantization_budget`).
pub(crate) fn budget(cwnd: u32, goal: u32, is_probing: bool) -> u32 {
    let cwnd = cwnd.saturating_add(3 * goal).saturating_add(1) & !1;
    if is_probing { cwnd.saturating_add(2) } else { cwnd }
}

/// The pacing rate, which never falls until the pipe has been full (`bbr_set_pacing_rate`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Pacer {
    pub(crate) bytes_per_s: u64,
    initial_gain: u64,
    has_seen_rtt: bool,
}

impl Pacer {
    /// Initial rate: `cwnd` segments per RTT of 1 ms, until an RTT is measured
    /// (`bbr_init_pacing_rate_from_rtt`).
    pub(crate) fn new(cwnd: u32, mss: u32, gain: u64) -> Self {
        let bytes_per_s = over_rtt(cwnd, mss, Duration::from_millis(1), gain);
        Pacer { bytes_per_s, initial_gain: gain, has_seen_rtt: false }
    }

    /// Process the first RTT.
    pub(crate) fn begin(&mut self, cwnd: u32, mss: u32, flow: &Flow) {
        if let Some(srtt) = flow.srtt
            && !self.has_seen_rtt
        {
            self.has_seen_rtt = true;
            self.bytes_per_s = over_rtt(cwnd, mss, srtt, self.initial_gain);
        }
    }

    pub(crate) fn set(&mut self, bytes_per_s: u64, full_bw_reached: bool) {
        if full_bw_reached || bytes_per_s > self.bytes_per_s {
            self.bytes_per_s = bytes_per_s;
        }
    }

    /// The rate, at least one byte per second, so that sending never stops.
    pub(crate) fn rate(&self) -> Rate {
        Rate::from_bps(self.bytes_per_s.max(1).saturating_mul(8))
    }
}

fn over_rtt(cwnd: u32, mss: u32, rtt: Duration, gain: u64) -> u64 {
    bytes_per_s(u64::from(cwnd) * BW_UNIT / rtt.as_micros().max(1), mss, gain)
}

/// A span in which the algorithm limits its own window, so that rate samples count as
/// application-limited (Linux: `tp->app_limited` set by the algorithm; `net/ipv4/tcp_rate.c` clears
/// it).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct LimitedSpan {
    from: Option<Time>,
    until: Option<Time>,
    /// The span ends when more than this is delivered.
    mark: u64,
}

impl LimitedSpan {
    /// The window is limited now.
    pub(crate) fn extend(&mut self, flow: &Flow) {
        if self.from.is_none() || self.until.is_some() {
            *self = LimitedSpan { from: Some(flow.now), until: None, mark: 0 };
        }
        self.mark = flow.delivered.saturating_add(flow.in_flight).max(1);
    }

    /// Process an acknowledgement.
    pub(crate) fn on_ack(&mut self, flow: &Flow) {
        if self.from.is_some() && self.until.is_none() && flow.delivered > self.mark {
            self.until = Some(flow.now);
        }
    }

    /// Whether a sample is application-limited or in the span.
    pub(crate) fn limits(&self, sample: &RateSample) -> bool {
        let is_within = self.from.is_some_and(|from| sample.sent_at >= from)
            && self.until.is_none_or(|until| sample.sent_at <= until);
        sample.app_limited || is_within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, flow};

    #[test]
    fn rates_of_a_hundred_megabits() {
        // 100 Mbit/s are 12.5 MB/s: 500 000 bytes in 40 ms are 345.30 segments of 1448 bytes;
        // 345.30/40000·2²⁴ = 144 830.3.
        let bw = bandwidth(500_000, MSS, Duration::from_millis(40));
        assert_eq!(bw, 144_830);
        // 0.99 · 12.5 MB/s, and 1448 · 144830 · 990000 / 2²⁴ = 12 374 919.6.
        assert_eq!(bytes_per_s(bw, MSS, UNIT), 12_374_919);
        // 345.3 rounded up; twice that, 690.6, likewise.
        assert_eq!(bdp(bw, 40_000, UNIT), 346);
        assert_eq!(bdp(bw, 40_000, 2 * UNIT), 691);
        // 144830/2²⁴ = 8.63 per millisecond; a burst of 15 at 0.99 of the rate takes 1.755 ms:
        // 15.15.
        assert_eq!(segments_in(bw, Duration::from_millis(1)), 8);
        assert_eq!(segments_in(bw, Duration::from_micros(1_755)), 15);
        assert_eq!(segments_in(bw, Duration::ZERO), 0);
    }

    #[test]
    fn nothing_overflows() {
        let bw = bandwidth(u64::MAX, 1, Duration::ZERO);
        assert_eq!(bw, u64::from(u32::MAX));
        assert_eq!(bdp(bw, u64::MAX, u64::MAX), u32::MAX);
        assert_eq!(bytes_per_s(bw, u32::MAX, 1 << 20), u64::MAX);
        assert_eq!(segments_in(bw, Duration::from_nanos(u64::MAX)), u32::MAX);
    }

    #[test]
    fn a_span_lasts_until_the_data_in_flight_is_delivered() {
        let mut span = LimitedSpan::default();
        let sent = |ms: u64| RateSample {
            sent_at: Time::from_nanos(ms * 1_000_000),
            ..RateSample::default()
        };
        assert!(!span.limits(&sent(0)));
        let start = Flow { in_flight: 4 * u64::from(MSS), ..flow(1_000, 4, 40) };
        span.extend(&start);
        assert!(span.limits(&sent(1_000)) && span.limits(&sent(1_200)) && !span.limits(&sent(999)));
        span.on_ack(&Flow { delivered: 4 * u64::from(MSS), ..flow(1_040, 4, 40) });
        assert!(span.limits(&sent(1_041)));
        span.on_ack(&Flow { delivered: 5 * u64::from(MSS), ..flow(1_050, 4, 40) });
        assert!(span.limits(&sent(1_050)) && !span.limits(&sent(1_051)));
    }
}
