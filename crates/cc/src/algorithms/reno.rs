//! Reno: growth by one segment per round trip, back-off by half.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988; RFC 5681 section 3.1.
//! The window is counted in segments. RFC 5681 equation 4 halves FlightSize, Linux the window.
//!
//! Linux 6.1 (`net/ipv4/tcp_cong.c`, `tcp_reno_cong_avoid`) counts delivered segments. Linux 2.6.22
//! counts acknowledgements, one per call and one more than the window, unless `net.ipv4.tcp_abc`
//! asks for bytes (RFC 3465), and holds half the threshold during recovery (`tcp_reno_min_cwnd`).
//! The kernel's default is not to count bytes; ns-2.35 sets it to 1 (`tcp/linux/ns-linux-param.c`)
//! and continues to count during recovery (`tcp-linux.cc`, `recv`), so that the window rises at
//! once when an episode ends. Both are the default here.
//!
//! ns-2's own agents (`tcp/tcp.cc`, `opencwnd`) add 1/W for each acknowledgement to a window in real
//! numbers.

mod ns2;

pub(super) use self::ns2::Ns2;
use crate::ns2::{Agent, max_ssthresh};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
    window::{flight, segments},
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "reno",
    title: "Reno",
    summary: "One segment more per round trip; half the window at a loss.",
    family: Family::Classic,
    signal: "loss",
    year: 1988,
    source: "Jacobson, SIGCOMM 1988; RFC 5681",
    variants: &[Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, Variant::Ns2],
    params: &[
        Param::switch(
            "abc",
            "whether acknowledged bytes are counted (1) or acknowledgements (0)",
            true,
        )
        .only(&[Variant::Linux2_6_22]),
        max_ssthresh(),
    ],
    vectors: &[
        Vector::new("W = 10, one window acknowledged: 10 + 1", 11.0, || {
            Probe::new("reno", Variant::Paper, &Start::avoidance(10, 100)).round().window()
        }),
        Vector::new("W = 21 at a loss: ⌊21/2⌋", 10.0, || after_loss(Variant::Linux6_1, 21)),
        Vector::new("W = 3 at a loss: ⌊3/2⌋ = 1, at least 2", 2.0, || {
            after_loss(Variant::Paper, 3)
        }),
        Vector::new("2.6.22 counts acknowledgements: W = 10 after ten is 10", 10.0, || {
            after_acks_2_6_22(10)
        }),
        Vector::new("2.6.22 counts acknowledgements: W = 10 after eleven is 11", 11.0, || {
            after_acks_2_6_22(11)
        }),
        Vector::new(
            "ns-2, W = 10, eleven acknowledgements of a tenth or less: 11.04",
            11.0,
            || Probe::new("reno", Variant::Ns2, &Start::avoidance(10, 100)).acks(11, 1).window(),
        ),
        Vector::new("ns-2, W = 21 at a loss: ⌊10.5⌋", 10.0, || after_loss(Variant::Ns2, 21)),
        Vector::new(
            "W = 20 at a timeout: S = 10, then a round of slow start from 1 gives 2",
            2.0,
            || {
                Probe::new("reno", Variant::Linux6_1, &Start::avoidance(20, 100))
                    .rto()
                    .round()
                    .window()
            },
        ),
    ],
    build,
};

fn after_loss(variant: Variant, cwnd: u32) -> f64 {
    let mut probe = Probe::new("reno", variant, &Start::avoidance(cwnd, 100));
    probe.congestion(Signal::Loss);
    probe.ssthresh().map_or(f64::NAN, |segments| segments as f64)
}

fn after_acks_2_6_22(acknowledgements: u32) -> f64 {
    Probe::new("reno", Variant::Linux2_6_22, &Start::avoidance(10, 100).with("abc", 0.0))
        .acks(acknowledgements, 1)
        .window()
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = SlowStart::of(variant);
    match variant {
        Variant::Paper => Box::new(Windowed::new(Rfc5681, slow_start, init)),
        Variant::Linux6_1 => Box::new(Windowed::new(Linux6_1, slow_start, init)),
        Variant::Ns2 => Box::new(Agent::limited(Ns2, params, init)),
        Variant::Linux2_6_22 | Variant::Ns3_29 => {
            let rule = Linux2_6_22 { count_bytes: params.is_on("abc"), bytes_acked: 0 };
            Box::new(Windowed::new(rule, slow_start, init))
        }
    }
}

/// β_ecn of standard TCP with ABE (RFC 8511 section 4.1).
const BETA_ECN: f64 = 0.8;

/// RFC 5681 sections 3.1 and 3.2.
pub(super) struct Rfc5681;

impl Rule for Rfc5681 {
    fn beta_ecn(&self) -> Option<f64> {
        Some(BETA_ECN)
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.additive_increase(window.cwnd, acked);
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        flight(window, flow) / 2
    }
}

struct Linux6_1;

impl Rule for Linux6_1 {
    fn beta_ecn(&self) -> Option<f64> {
        Some(BETA_ECN)
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.additive_increase(window.cwnd, acked);
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        window.cwnd / 2
    }
}

struct Linux2_6_22 {
    count_bytes: bool,
    /// Bytes acknowledged and not yet used for growth.
    bytes_acked: u64,
}

impl Rule for Linux2_6_22 {
    fn growth(&mut self, window: &mut Window, _acked: u32, _ack: &Ack, flow: &Flow) {
        if !self.count_bytes {
            window.count_ack(window.cwnd);
            return;
        }
        let bytes_of_window = u64::from(window.cwnd) * u64::from(flow.mss);
        if self.bytes_acked >= bytes_of_window {
            self.bytes_acked -= bytes_of_window;
            window.cwnd = window.cwnd.saturating_add(1);
        }
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        window.cwnd / 2
    }

    fn recovery_window(&self, ssthresh: u32) -> u32 {
        ssthresh / 2
    }

    fn undo_window(&self, window: &Window, _prior: u32) -> u32 {
        window.ssthresh.saturating_mul(2)
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        // Slow start uses them all.
        if ack.may_grow && ack.acked > 0 && window.cwnd <= window.ssthresh {
            self.bytes_acked = 0;
            return;
        }
        let whole_segments = u64::from(segments(ack.acked, flow.mss.max(1)));
        self.bytes_acked = self.bytes_acked.saturating_add(whole_segments * u64::from(flow.mss));
    }

    fn on_congestion(&mut self, _flow: &Flow) {
        self.bytes_acked = 0;
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.bytes_acked = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    fn grow(rule: &mut impl Rule, window: &mut Window, acknowledgements: u32, segments: u32) {
        let flow = flow(1000, window.cwnd, 40);
        let ack = ack(u64::from(segments), 40);
        for _ in 0..acknowledgements {
            rule.on_sample(window, &ack, &flow);
            rule.growth(window, segments, &ack, &flow);
        }
    }

    #[test]
    fn one_segment_per_window_of_segments() {
        // 10 segments acknowledged at a window of 10: 11. Then 11: 12.
        for segments in [1, 2, 5, 10] {
            let mut window = Window::new(10);
            grow(&mut Linux6_1, &mut window, 10 / segments, segments);
            assert_eq!(window.cwnd, 11, "{segments} segments per acknowledgement");
        }
        let mut window = Window::new(10);
        grow(&mut Rfc5681, &mut window, 21, 1);
        assert_eq!(window.cwnd, 12);
    }

    #[test]
    fn counting_acknowledgements_needs_one_more_than_the_window() {
        let mut window = Window { ssthresh: 2, ..Window::new(10) };
        let mut rule = Linux2_6_22 { count_bytes: false, bytes_acked: 0 };
        grow(&mut rule, &mut window, 10, 2);
        assert_eq!(window.cwnd, 10);
        grow(&mut rule, &mut window, 1, 2);
        assert_eq!(window.cwnd, 11);
    }

    #[test]
    fn counting_bytes_needs_the_window_and_includes_those_of_recovery() {
        let mut window = Window { ssthresh: 2, ..Window::new(10) };
        let mut rule = Linux2_6_22 { count_bytes: true, bytes_acked: 0 };
        grow(&mut rule, &mut window, 9, 1);
        assert_eq!(window.cwnd, 10);
        grow(&mut rule, &mut window, 1, 1);
        assert_eq!(window.cwnd, 11);
        // 25 segments acknowledged in recovery, then one each: 26 ≥ 11 → 12 (15 left),
        // 16 ≥ 12 → 13 (4 left), 5 < 13.
        rule.on_sample(&mut window, &ack(25, 40), &flow(1000, 11, 40));
        for expected in [12, 13, 13] {
            grow(&mut rule, &mut window, 1, 1);
            assert_eq!(window.cwnd, expected);
        }
    }

    #[test]
    fn slow_start_uses_the_bytes() {
        let mut rule = Linux2_6_22 { count_bytes: true, bytes_acked: 0 };
        let mut window = Window { ssthresh: 12, ..Window::new(12) };
        // While the window is not in use they are kept.
        rule.on_sample(&mut window, &Ack { may_grow: false, ..ack(9, 40) }, &flow(0, 12, 40));
        assert_eq!(rule.bytes_acked, 9 * 1448);
        rule.on_sample(&mut window, &ack(1, 40), &flow(0, 12, 40));
        assert_eq!(rule.bytes_acked, 0);
        window.cwnd = 13;
        rule.on_sample(&mut window, &ack(1, 40), &flow(0, 13, 40));
        assert_eq!(rule.bytes_acked, 1448);
    }

    #[test]
    fn a_loss_halves() {
        let window = Window::new(21);
        // ⌊21/2⌋ = 10; with a FlightSize of 15, RFC 5681 leaves 7.
        assert_eq!(Linux6_1.backoff(&window, Signal::Loss, &flow(0, 15, 40)), 10);
        assert_eq!(Rfc5681.backoff(&window, Signal::Loss, &flow(0, 21, 40)), 10);
        assert_eq!(Rfc5681.backoff(&window, Signal::Loss, &flow(0, 15, 40)), 7);
        let rule = Linux2_6_22 { count_bytes: true, bytes_acked: 0 };
        assert_eq!(rule.recovery_window(10), 5);
    }
}
