//! DCTCP: the receiver echoes every congestion mark, and the window is reduced in proportion to the
//! fraction of marks instead of by half.
//!
//! Source: RFC 8257. With `F` the fraction of marked bytes in a window of data, after each window
//! `α ← (1 − g)·α + g·F`, `g = 1/16`, `α = 1` at the start (sections 3.3 and 4.2). In a window of
//! data with a mark `cwnd ← cwnd·(1 − α/2)`, once; a loss halves the window, and growth is Reno's
//! (sections 3.3 to 3.5).
//!
//! Linux 6.1 (`net/ipv4/tcp_dctcp.c`) keeps α in 1/1024 and `g` as a power of two:
//! `α ← α − ⌊α/16⌋ + ⌊64·marked/delivered⌋`, at most 1024, and an α below 16 falls to 0 at once.
//! The threshold is `cwnd − ⌊cwnd·α/2048⌋`, at least 2. Its window of data ends when all data
//! outstanding at its start is acknowledged; the RFC's ends one acknowledgement later. A loss in a
//! window already reduced by a mark halves it again.
//!
//! The RFC counts bytes acknowledged cumulatively; here, as in Linux, bytes count when they are
//! delivered, as the marks do. Marks and their exact echo are always on: a peer without support for
//! them, with which Linux falls back to Reno, is not modelled.

use crate::marks::ObservationWindow;
use crate::{
    Ack, Algorithm, CongestionControl, EcnFeedback, Family, Flow, Init, Needs, Param, Params,
    Phase, Rule, Signal, SlowStart, Variant, Vector, Window, Windowed, window::whole_segments,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "dctcp",
    title: "DCTCP",
    summary: "Backs off in proportion to the share of congestion marks.",
    family: Family::Ecn,
    signal: "ECN + loss",
    year: 2010,
    source: "RFC 8257",
    variants: &[Variant::Paper, Variant::Linux6_1],
    params: &[
        Param::new(
            "g",
            "weight of the newest fraction of marks (Linux: the nearest power of two)",
            0.0625,
            0.0009765625,
            1.0,
        ),
        Param::new("alpha_on_init", "alpha before the first window of data", 1.0, 0.0, 1.0),
        Param::new(
            "ect1",
            "1 for packets with ECT(1), which queues of low latency go by, where marks are counted \
             (ecn = \"accurate\")",
            0.0,
            0.0,
            1.0,
        )
        .whole(),
    ],
    vectors: &[
        Vector::new("alpha 1, a tenth marked: 15/16 + 0.1/16 = 0.94375", 0.94375, || {
            rfc_alpha(&[0.1])
        }),
        Vector::new(
            "marked 0.1, 0.1, 0, 1: 0.94375, 0.891016, 0.835327, 0.845619",
            0.845_619_3,
            || rfc_alpha(&[0.1, 0.1, 0.0, 1.0]),
        )
        .within(1e-6),
        Vector::new("6.1, a tenth marked: 1024 - 64 + 6 = 966", 966.0, || {
            f64::from(linux_alpha(&[0.1]))
        }),
        Vector::new(
            "6.1, marked 0.1, 0.1, 0, 1: 966, 912, 855, 855 - 53 + 64 = 866",
            866.0,
            || f64::from(linux_alpha(&[0.1, 0.1, 0.0, 1.0])),
        ),
        Vector::new("6.1, W = 100, alpha 966/1024: 100 - floor(96600/2048) = 53", 53.0, || {
            f64::from(linux_threshold(100, 966))
        }),
        Vector::new("6.1, W = 100, alpha 855/1024: 100 - floor(85500/2048) = 59", 59.0, || {
            f64::from(linux_threshold(100, 855))
        }),
    ],
    build,
};

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = SlowStart::of(variant);
    let (g, alpha) = (params.get("g"), params.get("alpha_on_init"));
    let ect1 = params.get("ect1") > 0.0;
    if variant == Variant::Linux6_1 {
        let rule = Linux {
            ect1,
            // The range of g allows 0 to 10, as the module does.
            shift_g: (-libm::log2(g)).round().clamp(0.0, 10.0) as u32,
            alpha: params.scaled("alpha_on_init", MAX_ALPHA) as u32,
            observed: ObservationWindow::default(),
            phase: Phase::Open,
        };
        Box::new(Windowed::new(rule, slow_start, init))
    } else {
        let rule = Rfc { ect1, g, alpha, observed: ObservationWindow::default(), rest: 0.0 };
        Box::new(Windowed::new(rule, slow_start, init))
    }
}

/// Needs of the algorithm, with or without ECT(1).
fn needs(ect1: bool) -> Needs {
    let ecn = if ect1 { EcnFeedback::Scalable } else { EcnFeedback::Accurate };
    Needs { ecn, ..Needs::default() }
}

/// RFC 8257, in real numbers.
struct Rfc {
    ect1: bool,
    g: f64,
    alpha: f64,
    observed: ObservationWindow,
    /// Fraction of a segment left by the last reduction. The RFC counts bytes: without it,
    /// reductions by less than a segment would be rounded to a whole one.
    rest: f64,
}

impl Rfc {
    /// Section 3.3 steps 5 to 7.
    fn observe(&mut self, marked_share: f64) {
        self.alpha = (1.0 - self.g) * self.alpha + self.g * marked_share;
    }
}

impl Rule for Rfc {
    fn needs(&self) -> Needs {
        needs(self.ect1)
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        self.observed.count(ack);
        if self.observed.is_passed(flow) {
            self.observe(self.observed.fraction());
            self.observed.restart(flow);
        }
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.add(f64::from(acked) / window.exact());
    }

    fn backoff(&mut self, window: &Window, signal: Signal, _flow: &Flow) -> u32 {
        let kept = if signal == Signal::Ecn { 1.0 - self.alpha / 2.0 } else { 0.5 };
        let window = window.exact() * kept;
        let segments = whole_segments(window);
        self.rest = (window - f64::from(segments)).max(0.0);
        segments
    }

    fn on_recovered(&mut self, window: &mut Window, _flow: &Flow) {
        window.add(std::mem::take(&mut self.rest));
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.rest = 0.0;
    }
}

/// `DCTCP_MAX_ALPHA`.
const MAX_ALPHA: u32 = 1024;

/// The kernel's module; α in 1/1024.
struct Linux {
    ect1: bool,
    /// g is 1/2^shift_g.
    shift_g: u32,
    alpha: u32,
    observed: ObservationWindow,
    /// At the last acknowledgement.
    phase: Phase,
}

impl Linux {
    /// `dctcp_update_alpha`; `marked` is the fraction in 1/2^(10 − shift_g).
    fn observe(&mut self, marked: u32) {
        let faded = self.alpha >> self.shift_g;
        // `min_not_zero`: an α too small to be reduced by the shift becomes zero.
        self.alpha -= if faded == 0 { self.alpha } else { faded };
        self.alpha = (self.alpha + marked).min(MAX_ALPHA);
    }

    /// `dctcp_ssthresh`.
    fn after_mark(&self, cwnd: u32) -> u32 {
        let cut = (u64::from(cwnd) * u64::from(self.alpha)) >> 11;
        // α is at most 1024, so the reduction is at most half.
        (cwnd - cut as u32).max(2)
    }

    /// `dctcp_react_to_loss`.
    fn after_loss(cwnd: u32) -> u32 {
        (cwnd / 2).max(2)
    }
}

impl Rule for Linux {
    fn needs(&self) -> Needs {
        needs(self.ect1)
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        self.observed.count(ack);
        if self.observed.is_acknowledged(flow) {
            self.observe(self.observed.share(1 << (10 - self.shift_g)) as u32);
            self.observed.restart(flow);
        }
        // In a window reduced by a mark the stack counts a loss as the same episode; the module
        // halves the threshold whenever recovery begins (`dctcp_state`).
        if (self.phase, flow.phase) == (Phase::Cwr, Phase::Recovery) {
            window.ssthresh = Linux::after_loss(window.cwnd);
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
        self.phase = flow.phase;
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.additive_increase(window.cwnd, acked);
    }

    fn backoff(&mut self, window: &Window, signal: Signal, _flow: &Flow) -> u32 {
        match signal {
            Signal::Ecn => self.after_mark(window.cwnd),
            Signal::Loss | Signal::Delay => Linux::after_loss(window.cwnd),
        }
    }
}

fn linux(alpha: u32) -> Linux {
    Linux {
        ect1: false,
        shift_g: 4,
        alpha,
        observed: ObservationWindow::default(),
        phase: Phase::Open,
    }
}

/// α of the RFC after windows with these fractions of marks.
fn rfc_alpha(shares: &[f64]) -> f64 {
    let mut rule = Rfc {
        ect1: false,
        g: 0.0625,
        alpha: 1.0,
        observed: ObservationWindow::default(),
        rest: 0.0,
    };
    shares.iter().for_each(|share| rule.observe(*share));
    rule.alpha
}

/// α of Linux after windows with these fractions of marks, in 1/1024.
fn linux_alpha(shares: &[f64]) -> u32 {
    let mut rule = linux(MAX_ALPHA);
    shares.iter().for_each(|share| rule.observe((share * 64.0) as u32));
    rule.alpha
}

fn linux_threshold(cwnd: u32, alpha: u32) -> u32 {
    linux(alpha).after_mark(cwnd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::{Probe, Start};
    use crate::testing::{ack, flow};

    #[test]
    fn alpha_and_thresholds_of_linux() {
        // 1024 − 64 + ⌊64·0.1⌋ = 966; 966 − 60 + 6 = 912; 912 − 57 = 855; 855 − 53 + 64 = 866.
        let mut rule = linux(MAX_ALPHA);
        for (marked, alpha, threshold) in [(6, 966, 53), (6, 912, 56), (0, 855, 59), (64, 866, 58)]
        {
            rule.observe(marked);
            assert_eq!((rule.alpha, rule.after_mark(100)), (alpha, threshold));
        }
        // 16 loses 16/16 = 1; 15 would lose ⌊15/16⌋ = 0 and becomes 0.
        let mut rule = linux(16);
        rule.observe(0);
        assert_eq!(rule.alpha, 15);
        rule.observe(0);
        assert_eq!(rule.alpha, 0);
        assert_eq!(rule.after_mark(100), 100);
        // α = 1 halves, down to two segments.
        assert_eq!(linux(1024).after_mark(100), 50);
        assert_eq!(linux(1024).after_mark(2), 2);
        assert_eq!(linux(1024).after_mark(u32::MAX), u32::MAX / 2 + 1);
    }

    #[test]
    fn a_window_of_data_is_a_round_trip() {
        for variant in [Variant::Paper, Variant::Linux6_1] {
            // Nothing is marked for 40 rounds: α = (15/16)^40 = 0.0757; W = 100 grows by about a
            // segment a round. A mark then takes α/2 = 3.8 % of about 140.
            let mut probe = Probe::new("dctcp", variant, &Start::avoidance(100, 10));
            probe.rounds(40);
            let before = probe.cwnd();
            assert!((138..=141).contains(&before), "{before}");
            probe.congestion(Signal::Ecn);
            assert!((134..=136).contains(&probe.cwnd()), "{}", probe.cwnd());
            probe.recover();
            // Half the bytes marked for 100 rounds: α = 0.5, so a quarter goes.
            probe.marked = 0.5;
            probe.rounds(100);
            let before = probe.cwnd();
            probe.congestion(Signal::Ecn);
            let kept = probe.cwnd() as f64 / before as f64;
            assert!((kept - 0.75).abs() < 0.01, "{kept}");
            probe.recover();
            let before = probe.cwnd();
            probe.congestion(Signal::Loss);
            assert_eq!(probe.cwnd(), before / 2);
        }
    }

    #[test]
    fn a_loss_after_a_mark_halves_the_reduced_window() {
        let mut rule = linux(0);
        let mut window = Window { ssthresh: 80, ..Window::new(80) };
        for phase in [Phase::Cwr, Phase::Recovery, Phase::Recovery] {
            rule.on_sample(&mut window, &ack(1, 10), &Flow { phase, ..flow(0, 80, 10) });
        }
        assert_eq!((window.cwnd, window.ssthresh), (40, 40));
    }

    #[test]
    fn reductions_by_less_than_a_segment_add_up() {
        // α about 0.002 after a hundred rounds without a mark, (15/16)^100: 0.001·100 = 0.1 or so
        // a cut, so that ten take one segment or two, not ten.
        let mut probe = Probe::new("dctcp", Variant::Paper, &Start::avoidance(10, 10));
        probe.rounds(100);
        let before = probe.cwnd();
        probe.may_grow = false;
        for _ in 0..10 {
            probe.congestion(Signal::Ecn);
            probe.recover();
        }
        assert!((1..=2).contains(&(before - probe.cwnd())), "{before} {}", probe.cwnd());
    }

    #[test]
    fn it_asks_for_exact_marks() {
        let probe = Probe::new("dctcp", Variant::Paper, &Start::avoidance(10, 10));
        assert_eq!(probe.cc.needs().ecn, EcnFeedback::Accurate);
    }
}
