//! Hybla: its growth over time on a long path equals Reno's on a short one.
//!
//! Source: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks",
//! International Journal of Satellite Communications and Networking 22, 2004. `ρ = max(RTT/RTT₀, 1)`
//! with a reference `RTT₀` of 25 ms. Per segment acknowledged the window grows by `2^ρ − 1` below
//! the threshold, up to it, and by `ρ²/cwnd` above it, that is `ρ²` segments per round trip.
//! Back-off is Reno's. RTT is the minimum, as queueing must not accelerate growth. The paper's
//! larger initial window, its threshold times ρ, its pacing and its bandwidth estimate are left to
//! the stack's settings.
//!
//! Linux 6.1 (`net/ipv4/tcp_hybla.c`): ρ in eighths, rounded down, computed when the smoothed RTT
//! reaches a new minimum; fractions of a segment in 1/128; growth per acknowledgement, not per
//! segment; the whole part of ρ at most 16 in the exponent; window at most 65535; plain Reno
//! outside the open state. The initial window is ⌊ρ⌋ segments by the RTT of the handshake,
//! regardless of the stack's: one segment on a path of less than 50 ms. Without an RTT of the
//! handshake, the stack's is used.
//!
//! Linux 2.6.22, included in ns-2.35: the same, but a window at which `ρ²/cwnd` is less than 1/128
//! of a segment no longer grows. At an RTT of 44 ms, 14 eighths of ρ, that is from 393 segments on:
//! ⌊2·14²/393⌋ = 0. There 6.1 adds a segment per window of acknowledgements. It holds half the
//! threshold during recovery.
//!
//! ns-3.29 (`tcp-hybla.cc`): RTT₀ = 50 ms, the minimum of the smoothed RTT in whole ms, one step
//! per acknowledgement below the threshold and per segment above it, in whole segments.

mod ns3;

use fairway_units::Duration;

use crate::ns3::Socket;
use crate::probe::{Probe, Start};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Phase, Rule, Signal,
    SlowStart, Variant, Vector, Window, Windowed, window::flight,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "hybla",
    title: "Hybla",
    summary: "Grows per second as Reno would on a path of 25 ms; half the window at a loss.",
    family: Family::Wireless,
    signal: "loss",
    year: 2004,
    source: "Caini and Firrincieli, IJSCN 22, 2004",
    variants: &[Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, Variant::Ns3_29],
    params: &[Param::new(
        "rtt0_ms",
        "reference RTT, at which it grows as Reno, ms",
        25.0,
        1.0,
        10_000.0,
    )
    .whole()
    .except(&[(Variant::Ns3_29, 50.0)])],
    vectors: &[
        Vector::new("RTT 100 ms, slow start: ρ = 4, 10 + 2⁴ − 1", 25.0, || {
            after_ack(Variant::Paper, &Start::slow_start(10, 100))
        }),
        Vector::new("RTT 60 ms: ρ = 2.4, 2^2.4 − 1 = 4.278", 4.278, || paper_step(60)).within(5e-4),
        Vector::new("RTT 100 ms, W = 16, one acknowledgement: 16 + 16/16", 17.0, || {
            after_ack(Variant::Paper, &Start::avoidance(16, 100))
        }),
        Vector::new(
            "RTT 25 ms: Reno; W = 20, 21 acknowledgements: √(20² + 2·21) = 21.02",
            21.0,
            || Probe::new("hybla", Variant::Paper, &Start::avoidance(20, 25)).acks(21, 1).window(),
        ),
        Vector::new(
            "Linux, RTT 60 ms: ⌊8·2.4⌋ = 19; (4·165 − 128)/128 = 532/128",
            532.0,
            || f64::from(linux(60).slow_start_step()),
        ),
        Vector::new(
            "Linux, RTT 60 ms, W = 10: 19²·2/10 = ⌊722/10⌋ = 72 of 128",
            72.0,
            || f64::from(linux(60).avoidance_step(10)),
        ),
        Vector::new(
            "Linux 2.6.22, RTT 44 ms: ⌊8·44/25⌋ = 14; at W = 393 ⌊14²·2/393⌋ = 0",
            393.0,
            || {
                Probe::new("hybla", Variant::Linux2_6_22, &Start::avoidance(393, 44))
                    .acks(1_000, 1)
                    .window()
            },
        ),
        Vector::new("the same in 6.1: 394 with the 393rd acknowledgement", 394.0, || {
            Probe::new("hybla", Variant::Linux6_1, &Start::avoidance(393, 44)).acks(393, 1).window()
        }),
        Vector::new("ns-3.29, RTT 100 ms, slow start: ρ = 2, 10 + 2² − 1", 13.0, || {
            after_ack(Variant::Ns3_29, &Start::slow_start(10, 100))
        }),
        Vector::new(
            "ns-3.29, RTT 90 ms: ρ = 1.8, ⌊1448 · (2^1.8 − 1)⌋ = ⌊3594.2⌋ bytes more than 14480",
            18_074.0,
            || {
                Probe::new("hybla", Variant::Ns3_29, &Start::slow_start(10, 90)).ack(1).cc.cwnd()
                    as f64
            },
        ),
        Vector::new("W = 40 at a loss: 40/2", 20.0, || {
            Probe::new("hybla", Variant::Linux6_1, &Start::avoidance(40, 100)).loss().window()
        }),
    ],
    build,
};

fn after_ack(variant: Variant, start: &Start) -> f64 {
    Probe::new("hybla", variant, start).ack(1).window()
}

fn paper_step(rtt_ms: u64) -> f64 {
    slow_start_step(rho(rtt_ms as f64 / 1e3, 0.025))
}

fn linux(rtt_ms: u64) -> Linux {
    let mut rule = Linux::new(25, false);
    rule.measure(Duration::from_millis(rtt_ms));
    rule
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let rtt0_ms = params.get("rtt0_ms");
    let slow_start = SlowStart::Standard;
    match variant {
        Variant::Linux6_1 | Variant::Linux2_6_22 => {
            let rule = Linux::new(rtt0_ms as u64, variant == Variant::Linux2_6_22);
            Box::new(Windowed::new(rule, SlowStart::of(variant), init))
        }
        Variant::Ns3_29 => Box::new(Socket::new(ns3::Hybla::new(rtt0_ms), init)),
        Variant::Paper | Variant::Ns2 => {
            let rule = Caini { rtt0_s: rtt0_ms / 1e3 };
            Box::new(Windowed::new(rule, slow_start, init))
        }
    }
}

/// Ratio of the RTT to the reference, at least 1.
pub fn rho(rtt_s: f64, reference_rtt_s: f64) -> f64 {
    (rtt_s / reference_rtt_s).max(1.0)
}

/// Growth in slow start, segments per segment.
fn slow_start_step(rho: f64) -> f64 {
    libm::exp2(rho) - 1.0
}

/// The paper, in real numbers.
struct Caini {
    rtt0_s: f64,
}

impl Caini {
    fn rho(&self, flow: &Flow) -> f64 {
        flow.min_rtt.map_or(1.0, |rtt| rho(rtt.as_secs_f64(), self.rtt0_s))
    }
}

impl Rule for Caini {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, flow: &Flow) {
        let rho = self.rho(flow);
        window.add(rho * rho * f64::from(acked) / window.exact());
    }

    fn slow_start(&mut self, window: &mut Window, acked: u32, flow: &Flow) -> Option<u32> {
        let step = slow_start_step(self.rho(flow));
        window.add((step * f64::from(acked)).min(f64::from(window.ssthresh) - window.exact()));
        Some(0)
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        flight(window, flow) / 2
    }
}

/// `hybla_init`: greatest window, segments.
const MAX_WINDOW: u32 = 65_535;
/// 2^(k/8) in 1/128 (`hybla_fraction`).
const EIGHTH_POWERS: [u32; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Greatest whole part of ρ in the exponent (`hybla_cong_avoid`).
const MAX_EXPONENT: u64 = 16;

/// The kernel's module.
struct Linux {
    rtt0_ms: u64,
    /// Whether it is the module of 2.6.22, not of 6.1.
    is_old: bool,
    min_srtt: Option<Duration>,
    /// ρ in eighths.
    rho_eighths: u64,
    /// Fraction of a segment, in 1/128 (`snd_cwnd_cents`).
    part: u32,
}

impl Linux {
    fn new(rtt0_ms: u64, is_old: bool) -> Self {
        Linux { rtt0_ms, is_old, min_srtt: None, rho_eighths: 8, part: 0 }
    }

    /// `hybla_recalc_param`, if this smoothed RTT is a new minimum.
    fn measure(&mut self, srtt: Duration) {
        if self.min_srtt.is_none_or(|min| srtt < min) {
            self.min_srtt = Some(srtt);
            self.rho_eighths = (8 * srtt.as_micros() / (1_000 * self.rtt0_ms.max(1))).max(8);
        }
    }

    /// 2^ρ − 1, in 1/128 of a segment.
    fn slow_start_step(&self) -> u32 {
        let power = EIGHTH_POWERS[(self.rho_eighths % 8) as usize];
        (power << (self.rho_eighths / 8).min(MAX_EXPONENT)) - 128
    }

    /// ρ²/W, in 1/128 of a segment.
    fn avoidance_step(&self, cwnd: u32) -> u32 {
        // ρ in eighths squared is ρ² in 1/64.
        let rho_squared = self.rho_eighths.saturating_mul(self.rho_eighths).saturating_mul(2);
        u32::try_from(rho_squared / u64::from(cwnd.max(1))).unwrap_or(u32::MAX)
    }

    /// Congestion avoidance.
    fn avoid(&mut self, window: &mut Window, acked: u32, flow: &Flow) {
        if flow.phase != Phase::Open {
            if self.is_old {
                window.count_ack(window.cwnd);
            } else {
                window.additive_increase(window.cwnd, acked);
            }
            return;
        }
        let step = self.avoidance_step(window.cwnd);
        if step < 128 {
            window.credit = window.credit.saturating_add(1);
        }
        self.add(window, step);
        // A step too small for 1/128: one segment for a window of acknowledgements.
        if step == 0 && !self.is_old && window.credit >= window.cwnd {
            window.cwnd = window.cwnd.saturating_add(1).min(MAX_WINDOW);
            window.credit = 0;
        }
    }

    /// Grow by `step`/128 segments.
    fn add(&mut self, window: &mut Window, step: u32) {
        self.part += step % 128;
        window.cwnd = window.cwnd.saturating_add(step / 128);
        if self.part >= 128 {
            self.part -= 128;
            window.cwnd = window.cwnd.saturating_add(1);
            window.credit = 0;
        }
        window.cwnd = window.cwnd.min(MAX_WINDOW);
    }
}

impl Rule for Linux {
    /// `hybla_init`.
    fn on_established(&mut self, window: &mut Window, flow: &Flow) {
        if let Some(srtt) = flow.srtt {
            self.measure(srtt);
            // At most the greatest window.
            window.cwnd = (self.rho_eighths / 8).min(u64::from(MAX_WINDOW)) as u32;
        }
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, flow: &Flow) {
        self.avoid(window, acked, flow);
    }

    fn slow_start(&mut self, window: &mut Window, acked: u32, flow: &Flow) -> Option<u32> {
        if flow.phase != Phase::Open {
            return None;
        }
        if window.cwnd >= window.ssthresh {
            // At the threshold, 2.6.22's other modules are still in slow start.
            self.avoid(window, acked, flow);
        } else {
            self.add(window, self.slow_start_step());
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
        Some(0)
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        window.cwnd / 2
    }

    fn recovery_window(&self, ssthresh: u32) -> u32 {
        if self.is_old { ssthresh / 2 } else { ssthresh }
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        if let Some(srtt) = flow.srtt.filter(|_| ack.may_raise) {
            self.measure(srtt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    #[test]
    fn linux_steps() {
        // 100 ms: ρ = 4: 16·128 − 128 = 1920; 32²·2 = 2048 over 100: 20.
        assert_eq!(linux(100).slow_start_step(), 1_920);
        assert_eq!(linux(100).avoidance_step(100), 20);
        // 25 ms and below: Reno: 2·128 − 128 = 128; 8²·2/10 = 12.
        for rtt_ms in [1, 25] {
            assert_eq!(linux(rtt_ms).slow_start_step(), 128);
            assert_eq!(linux(rtt_ms).avoidance_step(10), 12);
        }
        // 600 ms: ρ = 24, the exponent 16: 65536·128 − 128.
        assert_eq!(linux(600).slow_start_step(), 65_535 * 128);
    }

    #[test]
    fn linux_follows_only_the_minimum_smoothed_rtt() {
        let mut rule = linux(60);
        rule.on_sample(&mut Window::new(10), &ack(1, 100), &flow(0, 10, 100));
        assert_eq!(rule.rho_eighths, 19);
        rule.on_sample(&mut Window::new(10), &ack(1, 50), &flow(0, 10, 50));
        assert_eq!(rule.rho_eighths, 16);
        let held = Ack { may_raise: false, ..ack(1, 40) };
        rule.on_sample(&mut Window::new(10), &held, &flow(0, 10, 40));
        assert_eq!(rule.rho_eighths, 16);
    }

    #[test]
    fn linux_begins_with_rho_segments() {
        // 200 ms: ρ = 8. Four acknowledgements of two segments: 8 + 4·(2⁸ − 1) = 1028, where
        // 10 segments would be five: 10 + 5·255 = 1285. 60 ms: ⌊2.4⌋. 10 ms: 1.
        let established = |rtt_ms| {
            let mut rule = Linux::new(25, false);
            let mut window = Window::new(10);
            rule.on_established(&mut window, &flow(0, 0, rtt_ms));
            (rule, window)
        };
        let (mut rule, mut window) = established(200);
        assert_eq!(window.cwnd, 8);
        for _ in 0..4 {
            rule.slow_start(&mut window, 2, &flow(0, 8, 200));
        }
        assert_eq!(window.cwnd, 1_028);
        assert_eq!([60, 10].map(|rtt_ms| established(rtt_ms).1.cwnd), [2, 1]);
        let mut window = Window::new(10);
        let unmeasured = Flow { srtt: None, ..flow(0, 0, 200) };
        Linux::new(25, false).on_established(&mut window, &unmeasured);
        assert_eq!(window.cwnd, 10);
    }

    #[test]
    fn linux_carries_fractions_of_a_segment() {
        // ρ = 4, W = 100: 2048/100 = 20 of 128; the seventh makes 140.
        let mut rule = linux(100);
        let mut window = Window::new(100);
        for _ in 0..6 {
            rule.growth(&mut window, 2, &ack(2, 100), &flow(0, 100, 100));
        }
        assert_eq!((window.cwnd, rule.part, window.credit), (100, 120, 6));
        rule.growth(&mut window, 2, &ack(2, 100), &flow(0, 100, 100));
        assert_eq!((window.cwnd, rule.part, window.credit), (101, 12, 0));
    }

    #[test]
    fn linux_on_a_short_path_with_a_large_window_counts_acknowledgements() {
        // ρ = 1, W = 200: 128/200 = 0.
        let mut rule = linux(20);
        let mut window = Window::new(200);
        for _ in 0..199 {
            rule.growth(&mut window, 1, &ack(1, 20), &flow(0, 200, 20));
        }
        assert_eq!(window.cwnd, 200);
        rule.growth(&mut window, 1, &ack(1, 20), &flow(0, 200, 20));
        assert_eq!((window.cwnd, window.credit), (201, 0));
    }

    #[test]
    fn slow_start_stops_at_the_threshold() {
        let flow = flow(0, 10, 100);
        let mut window = Window { ssthresh: 12, ..Window::new(10) };
        assert_eq!(linux(100).slow_start(&mut window, 1, &flow), Some(0));
        assert_eq!(window.cwnd, 12);
        let mut window = Window { ssthresh: 12, ..Window::new(10) };
        Caini { rtt0_s: 0.025 }.slow_start(&mut window, 1, &flow);
        assert_eq!(window.cwnd, 12);
    }

    #[test]
    fn a_long_path_does_not_overflow() {
        let flow = flow(0, 10, 3_600_000);
        let mut rule = linux(3_600_000);
        let mut paper = Caini { rtt0_s: 0.001 };
        for window in [&mut Window::new(1), &mut Window::new(u32::MAX)] {
            rule.slow_start(window, 1, &flow);
            rule.growth(window, u32::MAX, &ack(1, 1), &flow);
            paper.slow_start(window, u32::MAX, &flow);
            paper.growth(window, u32::MAX, &ack(1, 1), &flow);
        }
    }
}
