//! BIC: a binary search for the window of the last loss, then a probe beyond it.
//!
//! Source: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast
//! Long-Distance Networks", INFOCOM 2004. Each round trip goes halfway to the last maximum, by at
//! most `max_increment` (Smax), and all the way when the step would be less than `min_increment`
//! (Smin). Beyond the maximum, steps are 1, 2, 4 … up to Smax. Below the low window it is Reno. A
//! maximum lower than the one before indicates competition and is lowered to the middle of the
//! windows before and after the loss (fast convergence). Here the maximum compared with is always
//! that of the last loss; the paper's listing resets it once it is passed, which would trigger fast
//! convergence at every loss.
//!
//! Linux (`net/ipv4/tcp_bic.c`): a quarter of the distance instead of half; within four segments
//! of the maximum, on either side, one segment in `smooth_part`/4 round trips; at most 20 segments
//! counted per increase before the first loss. The count is divided by the ratio of segments to
//! acknowledgements, which settles at 31/16 with one acknowledgement per segment, so growth nearly
//! doubles. A timeout resets everything. Linux 6.1 counts delivered segments, Linux 2.6.22
//! acknowledgements, and one more of them.
//!
//! ns-3.29 (`tcp-bic.cc`): the same search over delivered segments, without the ratio for delayed
//! acknowledgements, and four times as fast near the maximum (`SmoothPart` 5). A falling maximum
//! becomes β·W, the window after the loss, so that the search ends at once.
//!
//! ns-2's own agents had it as a patch, of which only the parameters are public. The variant is
//! Linux 2.6.22's search in real numbers; the first loss halves the window.

mod ns2;
mod ns3;

use crate::linux::{DelayedAckRatio, HZ, PhaseBefore, jiffies, packets_acked};
use crate::ns2::{Agent, max_ssthresh};
use crate::ns3::Socket;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Phase, Rule, Signal,
    SlowStart, Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
    window::whole_segments,
};

/// Variants that grow slowly near the maximum.
const SMOOTH: &[Variant] =
    &[Variant::Linux6_1, Variant::Linux2_6_22, Variant::Ns3_29, Variant::Ns2];

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "bic",
    title: "BIC TCP",
    summary: "A binary search for the window of the last loss, then a probe beyond it.",
    family: Family::Classic,
    signal: "loss",
    year: 2004,
    source: "Xu, Harfoush and Rhee, INFOCOM 2004",
    variants: &Variant::ALL,
    params: &[
        Param::new("beta", "factor of the window after a loss", 0.875, 0.1, 0.99).except(&[
            (Variant::Linux6_1, 819.0 / 1024.0),
            (Variant::Linux2_6_22, 819.0 / 1024.0),
            (Variant::Ns3_29, 0.8),
            (Variant::Ns2, 0.8),
        ]),
        Param::new("max_increment", "largest step (Smax), segments per round trip", 32.0, 1.0, 1e6)
            .whole()
            .except(&[
                (Variant::Linux6_1, 16.0),
                (Variant::Linux2_6_22, 16.0),
                (Variant::Ns3_29, 16.0),
            ]),
        Param::new(
            "min_increment",
            "step (Smin), in segments, below which the search jumps to the maximum",
            0.01,
            1e-6,
            1.0,
        )
        .only(&[Variant::Paper]),
        Param::new(
            "smooth_part",
            "four times the round trips per segment within four segments of the maximum",
            20.0,
            1.0,
            1e4,
        )
        .whole()
        .except(&[(Variant::Ns3_29, 5.0)])
        .only(SMOOTH),
        Param::new("search_part", "divisor of the distance to the maximum", 4.0, 2.0, 255.0)
            .whole()
            .only(&[Variant::Ns3_29]),
        Param::new(
            "low_window",
            "window in segments below which (Linux: up to which) it is Reno",
            14.0,
            0.0,
            1e6,
        )
        .whole(),
        Param::switch("fast_convergence", "whether a falling maximum is lowered further", true),
        max_ssthresh(),
    ],
    vectors: &[
        Vector::new("the paper, W = 1000 at a loss: 1000 · 0.875", 875.0, || {
            after_loss(Variant::Paper, 1000)
        }),
        Vector::new("6.1, W = 1000 at a loss: ⌊1000 · 819/1024⌋", 799.0, || {
            after_loss(Variant::Linux6_1, 1000)
        }),
        Vector::new("ns-2, W = 872 below 1000, a round: 128/4 = 32, the most", 32.0, || {
            ns2::scripted(Some(1000.0)).step(872.0)
        }),
        Vector::new("ns-2, W = 1030 beyond 1000, a round: 30/3", 10.0, || {
            ns2::scripted(Some(1000.0)).step(1030.0)
        }),
        Vector::new("6.1, W = 14, at the low window: half", 7.0, || {
            after_loss(Variant::Linux6_1, 14)
        }),
        Vector::new(
            "the paper, W = 875 below 1000, a round: half of 125 is more than 32",
            907.0,
            || paper_round(875.0),
        ),
        Vector::new("the paper, W = 939 below 1000, a round: 939 + 61/2", 969.5, || {
            paper_round(939.0)
        })
        .within(1e-6),
        Vector::new(
            "6.1, W = 1000 with no loss yet counts 20, of 32/16 segments an acknowledgement: 10",
            10.0,
            || {
                let mut rule = Linux {
                    counts_segments: true,
                    beta: 819,
                    max_increment: 16,
                    smooth_part: 20,
                    low_window: 14,
                    fast_convergence: true,
                    state: State::new(),
                };
                rule.update(1000, 5_000);
                rule.state.count as f64
            },
        ),
        ns3::KEPT,
        ns3::NEAR,
    ],
    build,
};

fn after_loss(variant: Variant, cwnd: u32) -> f64 {
    let mut probe = Probe::new("bic", variant, &Start::avoidance(cwnd, 100));
    probe.congestion(Signal::Loss);
    probe.ssthresh().map_or(f64::NAN, |segments| segments as f64)
}

/// The window after the round that begins at `w`, a maximum of 1000 above it.
fn paper_round(w: f64) -> f64 {
    let mut rule = Paper { w_max: Some(1000.0), ..Paper::new() };
    w + rule.step(w)
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = SlowStart::of(variant);
    if variant == Variant::Paper {
        let rule = Paper {
            beta: params.get("beta"),
            max_increment: params.get("max_increment"),
            min_increment: params.get("min_increment"),
            low_window: params.get("low_window") as u32,
            fast_convergence: params.is_on("fast_convergence"),
            ..Paper::new()
        };
        return Box::new(Windowed::new(rule, slow_start, init));
    }
    if variant == Variant::Ns3_29 {
        return Box::new(Socket::new(ns3::Bic::new(params), init));
    }
    if variant == Variant::Ns2 {
        let rule = ns2::Ns2 {
            beta: params.get("beta"),
            max_increment: params.get("max_increment"),
            smooth_part: params.get("smooth_part"),
            low_window: params.get("low_window"),
            fast_convergence: params.is_on("fast_convergence"),
            ..ns2::scripted(None)
        };
        return Box::new(Agent::limited(rule, params, init));
    }
    let rule = Linux {
        counts_segments: variant == Variant::Linux6_1,
        beta: params.scaled("beta", 1024),
        max_increment: params.scaled("max_increment", 1),
        smooth_part: params.scaled("smooth_part", 1),
        low_window: params.scaled("low_window", 1),
        fast_convergence: params.is_on("fast_convergence"),
        state: State::new(),
    };
    Box::new(Windowed::new(rule, slow_start, init))
}

struct Paper {
    beta: f64,
    max_increment: f64,
    min_increment: f64,
    low_window: u32,
    fast_convergence: bool,
    /// Window of the last loss.
    w_max: Option<f64>,
    /// Window at the end of this round's step.
    target: f64,
    per_segment: f64,
    /// The next step beyond the maximum.
    probe: f64,
}

impl Paper {
    fn new() -> Self {
        Paper {
            beta: 0.875,
            max_increment: 32.0,
            min_increment: 0.01,
            low_window: 14,
            fast_convergence: true,
            w_max: None,
            target: 0.0,
            per_segment: 0.0,
            probe: 1.0,
        }
    }

    /// The step of the round that begins at window `w`.
    fn step(&mut self, w: f64) -> f64 {
        match self.w_max {
            None => self.max_increment,
            Some(w_max) if w + NEGLIGIBLE < w_max => {
                let half = (w_max - w) / 2.0;
                if half < self.min_increment { w_max - w } else { half.min(self.max_increment) }
            }
            Some(_) => {
                let step = self.probe;
                self.probe = (2.0 * step).min(self.max_increment);
                step
            }
        }
    }
}

/// A window this close to its target has reached it: sums of fractions are not exact.
const NEGLIGIBLE: f64 = 1e-6;

impl Rule for Paper {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        let w = window.exact();
        if window.cwnd < self.low_window {
            window.add(f64::from(acked) / w);
            return;
        }
        if w + NEGLIGIBLE >= self.target {
            let step = self.step(w);
            self.target = w + step;
            self.per_segment = step / w;
        }
        window.add((self.per_segment * f64::from(acked)).min(self.target - w));
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        let w = window.exact();
        self.target = 0.0;
        self.probe = 1.0;
        if window.cwnd < self.low_window {
            return window.cwnd / 2;
        }
        let falling = self.w_max.is_some_and(|w_max| w < w_max);
        let kept = w * self.beta;
        self.w_max = Some(if falling && self.fast_convergence { (w + kept) / 2.0 } else { w });
        whole_segments(kept)
    }
}

/// `BICTCP_B`: divisor of the distance in each step.
const PART: u64 = 4;
/// Most segments counted per increase before the first loss: 5 % per round trip.
const MAX_COUNT_BEFORE_LOSS: u64 = 20;

struct Linux {
    /// Delivered segments (6.1) or acknowledgements (2.6.22).
    counts_segments: bool,
    /// In 1/1024.
    beta: u64,
    max_increment: u64,
    smooth_part: u64,
    low_window: u64,
    fast_convergence: bool,
    state: State,
}

/// State cleared by a timeout.
struct State {
    /// Counted per increase.
    count: u64,
    /// Window of the last loss, 0 before the first.
    w_max: u64,
    last_cwnd: u64,
    last_time: u64,
    ratio: DelayedAckRatio,
    before: PhaseBefore,
}

impl State {
    fn new() -> Self {
        let (ratio, before) = (DelayedAckRatio::new(), PhaseBefore::new());
        State { count: 0, w_max: 0, last_cwnd: 0, last_time: 0, ratio, before }
    }
}

impl Linux {
    /// `bictcp_update`.
    fn update(&mut self, cwnd: u64, now: u64) {
        let state = &mut self.state;
        if state.last_cwnd == cwnd && now - state.last_time <= HZ / 32 {
            return;
        }
        state.last_cwnd = cwnd;
        state.last_time = now;
        if cwnd <= self.low_window {
            state.count = cwnd;
            return;
        }
        let linear = cwnd / self.max_increment;
        let smooth = cwnd * self.smooth_part / PART;
        let mut count = if cwnd < state.w_max {
            match (state.w_max - cwnd) / PART {
                step if step > self.max_increment => linear,
                0 | 1 => smooth,
                step => cwnd / step,
            }
        } else if cwnd < state.w_max + PART {
            smooth
        } else if cwnd < state.w_max + self.max_increment * (PART - 1) {
            cwnd * (PART - 1) / (cwnd - state.w_max)
        } else {
            linear
        };
        if state.w_max == 0 {
            count = count.min(MAX_COUNT_BEFORE_LOSS);
        }
        state.count = state.ratio.acknowledgements(count);
    }
}

impl Rule for Linux {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, flow: &Flow) {
        self.update(u64::from(window.cwnd), jiffies(flow));
        let count = u32::try_from(self.state.count).unwrap_or(u32::MAX);
        if self.counts_segments {
            window.additive_increase(count, acked);
        } else {
            window.count_ack(count);
        }
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        let cwnd = u64::from(window.cwnd);
        let falling = cwnd < self.state.w_max;
        self.state.w_max =
            if falling && self.fast_convergence { cwnd * (1024 + self.beta) / 2048 } else { cwnd };
        let kept = if cwnd <= self.low_window { cwnd / 2 } else { cwnd * self.beta / 1024 };
        kept as u32
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        let packets = packets_acked(ack, flow);
        let before = self.state.before.on_ack(flow);
        let is_open = if self.counts_segments { before } else { flow.phase } == Phase::Open;
        if is_open && (self.counts_segments || packets > 0) {
            self.state.ratio.sample(packets);
        }
    }

    fn on_congestion(&mut self, _flow: &Flow) {
        self.state.before.change(Phase::Cwr);
    }

    fn on_recovered(&mut self, _window: &mut Window, flow: &Flow) {
        self.state.before.change(flow.phase);
    }

    fn undo_window(&self, _window: &Window, prior: u32) -> u32 {
        if self.counts_segments {
            prior
        } else {
            u32::try_from(self.state.w_max).unwrap_or(u32::MAX)
        }
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.state = State::new();
        self.state.before.change(Phase::Loss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    fn linux(counts_segments: bool) -> Linux {
        Linux {
            counts_segments,
            beta: 819,
            max_increment: 16,
            smooth_part: 20,
            low_window: 14,
            fast_convergence: true,
            state: State::new(),
        }
    }

    /// A round trip of one acknowledgement per segment, 100 ms long.
    fn round(rule: &mut impl Rule, window: &mut Window, number: u64) {
        for i in 0..window.cwnd {
            let now = 1_000 + 100 * number + 100 * u64::from(i) / u64::from(window.cwnd);
            rule.growth(window, 1, &ack(1, 100), &flow(now, window.cwnd, 100));
        }
    }

    #[test]
    fn paper_search_from_a_loss_at_1000() {
        // 875; 1000 − 875 = 125, half 62.5 > 32: +32 twice; from 939 half of 61 = 30.5; then the
        // distance halves: 969.5, 984.75, … 999.523.
        let mut rule = Paper::new();
        let kept = rule.backoff(&Window::new(1000), Signal::Loss, &flow(0, 1000, 100));
        assert_eq!(kept, 875);
        let mut window = Window::new(kept);
        for expected in [907.0, 939.0, 969.5, 984.75, 992.375, 996.188, 998.094, 999.047, 999.523] {
            let until = rule.target;
            while window.exact() + NEGLIGIBLE < rule.target || rule.target == until {
                rule.growth(&mut window, 1, &ack(1, 100), &flow(0, 1000, 100));
            }
            assert!((window.exact() - expected).abs() < 1e-3, "{} {expected}", window.exact());
        }
    }

    #[test]
    fn paper_step_takes_a_round() {
        // +32 over the 875 segments of a round.
        let mut rule = Paper::new();
        rule.w_max = Some(1000.0);
        let mut window = Window::new(875);
        for _ in 0..875 {
            rule.growth(&mut window, 1, &ack(1, 100), &flow(0, 875, 100));
        }
        assert!((window.exact() - 907.0).abs() < 1e-6);
    }

    #[test]
    fn paper_probes_beyond_the_maximum_by_doubling() {
        let mut rule = Paper::new();
        rule.w_max = Some(1000.0);
        let steps: Vec<f64> = (0..7).map(|_| rule.step(1000.0)).collect();
        assert_eq!(steps, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0]);
        // Half a step of 0.005 is below Smin: all the way.
        assert!((rule.step(999.99) - 0.01).abs() < 1e-9);
    }

    #[test]
    fn paper_second_loss_converges() {
        // 900 < 1000: Wmax = (900 + 787.5)/2 = 843.75; kept ⌊787.5⌋. Below 14: half.
        let mut rule = Paper::new();
        let flow = flow(0, 900, 100);
        rule.w_max = Some(1000.0);
        assert_eq!(rule.backoff(&Window::new(900), Signal::Loss, &flow), 787);
        assert_eq!(rule.w_max, Some(843.75));
        assert_eq!(rule.backoff(&Window::new(13), Signal::Loss, &flow), 6);
    }

    #[test]
    fn linux_search_from_a_loss_at_1000() {
        // ⌊1000·819/1024⌋ = 799. With one segment per acknowledgement counted as one (16/16):
        // distance 201, a quarter 50 > 16: count ⌊799/16⌋ = 49, 799/49 = 16.3: +16 a round; from
        // 927 on ⌊927/⌊73/4⌋⌋ = ⌊927/18⌋ … the steps shrink: 16 at most, then 15, 12, 10.
        let mut rule = linux(true);
        rule.state.ratio = DelayedAckRatio::of_sixteenths(16);
        let kept = rule.backoff(&Window::new(1000), Signal::Loss, &flow(0, 1000, 100));
        assert_eq!(kept, 799);
        let mut window = Window::new(kept);
        for (number, expected) in
            [815, 831, 847, 863, 879, 895, 911, 927, 942, 954, 964].into_iter().enumerate()
        {
            round(&mut rule, &mut window, number as u64);
            assert_eq!(window.cwnd, expected, "round {number}");
        }
    }

    #[test]
    fn linux_counts() {
        // Ratio 16/16, maximum 1000.
        let count = |cwnd: u64, w_max: u64| {
            let mut rule = linux(false);
            rule.state.ratio = DelayedAckRatio::of_sixteenths(16);
            rule.state.w_max = w_max;
            rule.update(cwnd, 1_000);
            rule.state.count
        };
        assert_eq!(count(14, 1000), 14); // Reno
        assert_eq!(count(800, 1000), 50); // 200/4 = 50 > 16: 800/16
        assert_eq!(count(960, 1000), 96); // 40/4 = 10: 960/10
        assert_eq!(count(993, 1000), 4_965); // ⌊7/4⌋ = 1: 993·20/4
        assert_eq!(count(1_003, 1000), 5_015); // < 1004: 1003·20/4
        assert_eq!(count(1_010, 1000), 303); // < 1048: 1010·3/10
        assert_eq!(count(1_048, 1000), 65); // 1048/16 = 65.5
        assert_eq!(count(1_048, 0), 20); // before the first loss
    }

    #[test]
    fn linux_ratio_nearly_doubles_growth() {
        // ⌊50·16/31⌋ = 25 instead of 50.
        let mut rule = linux(false);
        let mut window = Window::new(800);
        for _ in 0..10 {
            rule.on_sample(&mut window, &ack(1, 100), &flow(0, 800, 100));
        }
        rule.state.w_max = 1_000;
        rule.update(800, 1_000);
        assert_eq!(rule.state.count, 25);
    }

    #[test]
    fn linux_second_loss_converges_and_a_timeout_resets() {
        // 900 < 1000: ⌊900·1843/2048⌋ = 809, kept ⌊900·819/1024⌋ = 719. At 14: 7.
        let mut rule = linux(true);
        let flow = flow(0, 900, 100);
        rule.state.w_max = 1_000;
        assert_eq!(rule.backoff(&Window::new(900), Signal::Loss, &flow), 719);
        assert_eq!(rule.state.w_max, 809);
        assert_eq!(rule.backoff(&Window::new(14), Signal::Loss, &flow), 7);
        rule.on_rto(&flow);
        assert_eq!(rule.state.w_max, 0);
    }
}
