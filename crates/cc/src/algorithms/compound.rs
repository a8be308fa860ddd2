//! Compound TCP: Reno's window plus a delay window, which opens quickly while queues are short and
//! closes as they fill.
//!
//! Source: K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-Speed and Long
//! Distance Networks", INFOCOM 2006; draft-sridharan-tcpm-ctcp-02. The window is
//! `W = cwnd + dwnd`. `cwnd` grows by `1/W` for each segment. Once per round trip, with `rtt` the
//! minimum of the round and `diff = W·(rtt − base)/rtt`, `dwnd` grows by `max(W^¾/8 − 1, 0)` if
//! `diff < γ`, otherwise shrinks by `ζ·diff`, down to 0. A loss halves `cwnd` and `W`, with `dwnd`
//! the difference; a timeout sets `dwnd = 0`. γ is 30 segments. In the draft it follows the queue
//! of Reno's part alone, `γ ← (1 − λ)·γ + λ·¾·diff_reno` at each loss, bounded to 5 to 30, and is
//! reset to 30 at a timeout.
//!
//! `λ = 1/4` and the 38 segments below which `dwnd` does not grow are those of Caltech's module for
//! Linux (release 1.3, 2008), which also sets `dwnd = 0` there; λ = 0 is the paper's fixed γ.
//! `dwnd` is 0 in slow start. Rounds with two samples or fewer are ignored, as in the modules.
//!
//! Linux 2.6.22 is the module in ns-2.35 (`tcp/linux/src/tcp_compound.c`), never part of a kernel:
//! whole numbers, `diff` in half segments of the data acknowledged in the round, γ fixed at 30, no
//! lower window. `dwnd` opens in slow start too, which lasts until `cwnd`, not `W`, passes the
//! threshold. After a loss both must fit into the stack's window: if either alone is larger,
//! `dwnd = 0`. It holds half the threshold during recovery.

use fairway_units::Duration;

use crate::round::{Delay, DelayRound};
use crate::window::whole_segments;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Needs, Param, Params, Rule, Signal,
    SlowStart, Variant, Vector, Window, Windowed,
};

const PAPER: &[Variant] = &[Variant::Paper];

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "compound",
    title: "Compound",
    summary: "Reno's window and a delay window that opens quickly while queues are short.",
    family: Family::Delay,
    signal: "loss + delay",
    year: 2006,
    source: "Tan, Song, Zhang and Sridharan, INFOCOM 2006; draft-sridharan-tcpm-ctcp-02",
    variants: &[Variant::Paper, Variant::Linux2_6_22],
    params: &[
        Param::new("alpha", "factor of the delay window's growth", 0.125, 0.0, 1.0).only(PAPER),
        Param::new("k", "power of the window in the delay window's growth", 0.75, 0.0, 1.0)
            .only(PAPER),
        Param::new("beta", "fraction by which a loss reduces the window", 0.5, 0.01, 0.9)
            .only(PAPER),
        Param::new("zeta", "fraction of the queue drained when it is too long", 1.0, 0.0, 10.0)
            .only(PAPER),
        Param::new(
            "gamma",
            "segments in queues from which the delay window shrinks; the maximum if tuned",
            30.0,
            0.0,
            1e5,
        ),
        Param::new("gamma_low", "minimum of gamma if tuned, segments", 5.0, 0.0, 1e5).only(PAPER),
        Param::new(
            "lambda",
            "weight of the newest queue in gamma; 0 for a fixed gamma",
            0.25,
            0.0,
            1.0,
        )
        .only(PAPER),
        Param::new(
            "low_window",
            "window in segments below which the delay window does not grow",
            38.0,
            0.0,
            1e6,
        )
        .whole()
        .only(PAPER),
    ],
    vectors: &[
        Vector::new(
            "W = 100 and no queue: dwnd grows by 100^¾/8 − 1 = 31.623/8 − 1",
            2.9528,
            || dwnd_after_round(100, 0.0, 100),
        )
        .within(1e-4),
        Vector::new("W = 1000 and no queue: 177.828/8 − 1", 21.2285, || {
            dwnd_after_round(1_000, 0.0, 100)
        })
        .within(1e-4),
        Vector::new("W = 1000, dwnd = 200, base 100, rtt 110: 200 − 90.909", 109.0909, || {
            dwnd_after_round(1_000, 200.0, 110)
        })
        .within(1e-4),
        Vector::new("W = 1000 in whole numbers: ⌊177/8⌋ − 1", 21.0, || opening(1_000) as f64),
        Vector::new("W = 100 in whole numbers: ⌊31/8⌋ − 1", 2.0, || opening(100) as f64),
        Vector::new("W = 40 in whole numbers: ⌊15/8⌋ − 1", 0.0, || opening(40) as f64),
        Vector::new("dwnd = 20, diff_reno = 10, γ = 30 at a loss: 30·¾ + 7.5/4", 24.375, || {
            let mut rule = Tan { diff_reno: Some(10.0), ..Tan::new() };
            rule.tune_gamma();
            rule.gamma
        }),
    ],
    build,
};

/// The delay window after a round at a base of 100 ms.
fn dwnd_after_round(cwnd: u32, dwnd: f64, rtt_ms: u64) -> f64 {
    let mut rule = Tan { dwnd, ..Tan::new() };
    let (base, rtt) = (Duration::from_millis(100), Duration::from_millis(rtt_ms));
    rule.end_round(&mut Window::new(cwnd), Delay { base, rtt }, true);
    rule.dwnd
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = SlowStart::of(variant);
    let gamma = params.get("gamma");
    if variant != Variant::Paper {
        let rule = Linux2_6_22 { gamma, cwnd: 0, dwnd: 0, rounds: DelayRound::new() };
        return Box::new(Windowed::new(rule, slow_start, init));
    }
    let rule = Tan {
        alpha: params.get("alpha"),
        k: params.get("k"),
        beta: params.get("beta"),
        zeta: params.get("zeta"),
        gamma,
        gamma_high: gamma,
        gamma_low: params.get("gamma_low").min(gamma),
        lambda: params.get("lambda"),
        low_window: params.get("low_window") as u32,
        ..Tan::new()
    };
    Box::new(Windowed::new(rule, slow_start, init))
}

/// The paper and the draft, in real numbers.
struct Tan {
    alpha: f64,
    k: f64,
    beta: f64,
    zeta: f64,
    gamma: f64,
    gamma_low: f64,
    gamma_high: f64,
    lambda: f64,
    low_window: u32,
    /// The part of the window that follows the delay, segments.
    dwnd: f64,
    dwnd_before_loss: f64,
    /// Segments in queues by Reno's part alone, if measured since the last loss.
    diff_reno: Option<f64>,
    rounds: DelayRound,
}

impl Tan {
    fn new() -> Self {
        Tan {
            alpha: 0.125,
            k: 0.75,
            beta: 0.5,
            zeta: 1.0,
            gamma: 30.0,
            gamma_low: 5.0,
            gamma_high: 30.0,
            lambda: 0.25,
            low_window: 38,
            dwnd: 0.0,
            dwnd_before_loss: 0.0,
            diff_reno: None,
            rounds: DelayRound::new(),
        }
    }

    fn end_round(&mut self, window: &mut Window, delay: Delay, may_grow: bool) {
        let total = window.exact();
        let dwnd = self.dwnd.min(total);
        let diff = delay.backlog(total);
        self.diff_reno = Some(delay.backlog(total - dwnd));
        let step = if diff >= self.gamma {
            -(self.zeta * diff).min(dwnd)
        } else if may_grow && window.cwnd >= self.low_window {
            (self.alpha * libm::pow(total, self.k) - 1.0).max(0.0)
        } else {
            0.0
        };
        self.dwnd = dwnd + step;
        window.add(step);
        // Below the threshold slow start would begin again.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    fn tune_gamma(&mut self) {
        if let Some(diff_reno) = self.diff_reno.take() {
            let tuned = (1.0 - self.lambda) * self.gamma + self.lambda * 0.75 * diff_reno;
            self.gamma = tuned.clamp(self.gamma_low, self.gamma_high);
        }
    }
}

impl Rule for Tan {
    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        self.rounds.on_ack(ack, flow);
        if ack.acked > 0
            && self.rounds.is_open()
            && self.rounds.ends(flow)
            && let Some(delay) = self.rounds.take(DelayRound::ENOUGH)
            && window.cwnd >= window.ssthresh
        {
            self.end_round(window, delay, ack.may_grow);
        }
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.add(f64::from(acked) / window.exact());
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        self.tune_gamma();
        self.dwnd_before_loss = self.dwnd;
        let total = window.exact();
        let cwnd = (total - self.dwnd).max(0.0) / 2.0;
        self.dwnd = (total * (1.0 - self.beta) - cwnd).max(0.0);
        whole_segments(cwnd + self.dwnd)
    }

    fn rto_backoff(&mut self, window: &Window, _flow: &Flow) -> u32 {
        self.dwnd_before_loss = self.dwnd;
        window.cwnd / 2
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.dwnd = 0.0;
        self.gamma = self.gamma_high;
        self.diff_reno = None;
    }

    fn on_recovered(&mut self, _window: &mut Window, flow: &Flow) {
        self.rounds.on_recovered(flow);
        self.diff_reno = None;
    }

    fn on_spurious(&mut self, _window: &mut Window, _flow: &Flow) {
        self.dwnd = self.dwnd_before_loss;
    }

    fn on_idle(&mut self, _idle: Duration, flow: &Flow) {
        // The base survives an idle period, as in Caltech's module.
        self.rounds.restart(flow);
        self.dwnd = 0.0;
    }
}

/// Growth of the delay window for `window` segments: ⌊window^¾⌋/8 − 1. The kernel's Newton steps
/// end within one of that power (`qroot`).
fn opening(window: u64) -> u64 {
    let cube = u128::from(window.min(u64::from(u32::MAX))).pow(3);
    ((cube.isqrt().isqrt() >> 3) as u64).saturating_sub(1)
}

struct Linux2_6_22 {
    gamma: f64,
    /// Reno's part of the window, segments.
    cwnd: u32,
    /// The delay's part.
    dwnd: u32,
    rounds: DelayRound,
}

impl Linux2_6_22 {
    /// Fit both parts into the window set by the stack.
    fn fit_into(&mut self, window: u32) {
        if self.cwnd.max(self.dwnd) > window {
            self.dwnd = 0;
        }
        self.cwnd = window - self.dwnd;
    }

    fn end_round(&mut self, delay: Delay, flow: &Flow) {
        let (base, rtt) = delay.micros();
        let acknowledged = self.rounds.acknowledged() / u64::from(flow.mss.max(1));
        let expected_halves = acknowledged.saturating_mul(base).saturating_mul(2) / rtt;
        let diff_halves = acknowledged.saturating_mul(2).saturating_sub(expected_halves);
        if (diff_halves as f64) < 2.0 * self.gamma {
            self.dwnd = self.dwnd.saturating_add(opening(acknowledged) as u32);
        } else {
            let left = (2 * u64::from(self.dwnd)).saturating_sub(diff_halves);
            self.dwnd = (left / 2) as u32;
        }
    }

    /// `tcp_compound_cong_avoid`, below and above the threshold.
    fn on_growth(&mut self, window: &mut Window, flow: &Flow) {
        self.fit_into(window.cwnd);
        let in_slow_start = self.cwnd <= window.ssthresh;
        if !in_slow_start && window.credit < window.cwnd {
            window.credit += 1;
        }
        let is_full = window.credit >= window.cwnd;
        if is_full {
            window.credit = 0;
        }
        self.cwnd = self.cwnd.saturating_add(u32::from(in_slow_start || is_full));
        if self.rounds.ends(flow)
            && let Some(delay) = self.rounds.take(DelayRound::ENOUGH)
        {
            self.end_round(delay, flow);
        }
        window.cwnd = self.cwnd.saturating_add(self.dwnd).max(1);
    }
}

impl Rule for Linux2_6_22 {
    fn needs(&self) -> Needs {
        Needs::SEND_TIMES
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        self.rounds.on_ack(ack, flow);
    }

    fn slow_start(&mut self, window: &mut Window, _acked: u32, flow: &Flow) -> Option<u32> {
        self.on_growth(window, flow);
        Some(0)
    }

    fn growth(&mut self, window: &mut Window, _acked: u32, _ack: &Ack, flow: &Flow) {
        self.on_growth(window, flow);
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        window.cwnd / 2
    }

    fn recovery_window(&self, ssthresh: u32) -> u32 {
        ssthresh / 2
    }

    fn on_recovered(&mut self, _window: &mut Window, flow: &Flow) {
        self.rounds.on_recovered(flow);
    }

    fn on_idle(&mut self, _idle: Duration, flow: &Flow) {
        self.rounds.on_idle(flow);
        self.dwnd = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{Probe, Start};

    const VARIANTS: [Variant; 2] = [Variant::Paper, Variant::Linux2_6_22];

    /// One acknowledgement at 100 ms, then `rounds` at `rtt_ms`.
    fn after(variant: Variant, start: &Start, rounds: u32, rtt_ms: u64) -> Probe {
        let mut probe = Probe::new("compound", variant, start);
        probe.ack(1).rtt = Duration::from_millis(rtt_ms);
        for _ in 0..rounds {
            probe.acks(probe.cwnd() as u32 + 1, 1);
        }
        probe
    }

    #[test]
    fn a_round_without_queueing_adds_a_segment_and_the_delay_window() {
        // 100 + 1 and 3 (2.95, or of the 101 acknowledged ⌊31.9/8⌋ − 1 = 2).
        let paper = after(Variant::Paper, &Start::avoidance(100, 100), 1, 100);
        assert_eq!(paper.cwnd(), 103);
        let linux = after(Variant::Linux2_6_22, &Start::avoidance(100, 100), 1, 100);
        assert_eq!(linux.cwnd(), 103);
    }

    #[test]
    fn a_small_window_is_reno() {
        for variant in VARIANTS {
            let probe = after(variant, &Start::avoidance(20, 100), 1, 100);
            assert_eq!(probe.cwnd(), 21, "{variant:?}");
        }
    }

    #[test]
    fn queues_close_the_delay_window_and_leave_reno() {
        for variant in VARIANTS {
            let mut probe = after(variant, &Start::avoidance(300, 100), 10, 100);
            let opened = probe.cwnd();
            assert!(opened > 370, "{variant:?}: {opened}");
            // 60 segments are queued: only the delay window is reduced.
            probe.rtt = Duration::from_millis(120);
            for _ in 0..10 {
                for _ in 0..=probe.cwnd() {
                    probe.ack(1);
                }
            }
            let closed = probe.cwnd();
            assert!((310..=325).contains(&closed), "{variant:?}: {closed}");
        }
    }

    #[test]
    fn a_loss_halves_both_windows() {
        let mut rule = Tan { dwnd: 40.0, ..Tan::new() };
        let flow = crate::testing::flow(0, 100, 100);
        // 60 of Reno's and 40: 30 and 20.
        assert_eq!(rule.backoff(&Window::new(100), Signal::Loss, &flow), 50);
        assert!((rule.dwnd - 20.0).abs() < 1e-12);
        rule.on_spurious(&mut Window::new(100), &flow);
        assert!((rule.dwnd - 40.0).abs() < 1e-12);
        rule.on_rto(&flow);
        assert!(rule.dwnd.abs() < 1e-12);
    }

    #[test]
    fn gamma_stays_in_its_bounds() {
        let mut rule = Tan { lambda: 1.0, ..Tan::new() };
        for (diff_reno, gamma) in [(0.0, 5.0), (20.0, 15.0), (100.0, 30.0)] {
            rule.diff_reno = Some(diff_reno);
            rule.tune_gamma();
            assert!((rule.gamma - gamma).abs() < 1e-12);
        }
        // Without a measurement nothing changes.
        rule.tune_gamma();
        assert!((rule.gamma - 30.0).abs() < 1e-12);
    }

    #[test]
    fn both_parts_fit_into_the_stacks_window() {
        let parts = |cwnd, dwnd, window| {
            let mut rule = Linux2_6_22 { gamma: 30.0, cwnd, dwnd, rounds: DelayRound::new() };
            rule.fit_into(window);
            (rule.cwnd, rule.dwnd)
        };
        assert_eq!(parts(60, 40, 50), (50, 0));
        assert_eq!(parts(40, 60, 50), (50, 0));
        assert_eq!(parts(40, 20, 50), (30, 20));
        assert_eq!(parts(40, 10, 50), (40, 10));
    }

    #[test]
    fn slow_start_of_2_6_22_lasts_while_renos_part_is_below_the_threshold() {
        let mut rule = Linux2_6_22 { gamma: 30.0, cwnd: 30, dwnd: 20, rounds: DelayRound::new() };
        let mut window = Window { ssthresh: 40, ..Window::new(50) };
        for _ in 0..11 {
            rule.on_growth(&mut window, &crate::testing::flow(0, 50, 100));
        }
        // 30 to 41, one for each; from there on one for a window.
        assert_eq!((rule.cwnd, window.cwnd), (41, 61));
        rule.on_growth(&mut window, &crate::testing::flow(0, 50, 100));
        assert_eq!((rule.cwnd, window.credit), (41, 1));
    }
}
