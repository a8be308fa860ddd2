//! Illinois: losses decide when the window is reduced, delay decides the size of growth and
//! back-off. As queues fill, growth slows and back-off deepens.
//!
//! Source: S. Liu, T. Başar, R. Srikant, "TCP-Illinois: A Loss and Delay-Based Congestion Control
//! Algorithm for High-Speed Networks", Performance Evaluation 65, 2008. With `da` the average
//! queueing delay of the last round trip and `dm` the maximum, once per round trip:
//! `α = 10` if `da ≤ d1 = dm/100`, otherwise
//! `α = (dm − d1)·10 / ((dm − d1) + (da − d1)·(10 − 0.3)/0.3)`, down to 0.3; `β = 1/8` if
//! `da ≤ dm/10`, `β = 1/2` if `da ≥ 0.8·dm`, and linear between. Growth is α segments per round
//! trip; a loss leaves `W·(1 − β)`. Once `da` has been above `d1`, α returns to 10 only after five
//! rounds below it. Windows below 15 segments use `α = 1, β = 1/2`, as do timeouts. The minimum and
//! maximum RTT never expire.
//!
//! Linux (`net/ipv4/tcp_illinois.c`): α in 1/128 and β in 1/64, rounded down; RTTs of at most 3.3
//! s; the five rounds need not be consecutive. A timeout sets the threshold by the current β. The
//! 15 segments are the value of its `win_thresh`.
//!
//! Linux 2.6.22 has a bug that ns-2.35 inherits: a loss leaves `W·β` (an eighth of the window at
//! the least delay!) instead of `W·(1 − β)`. It also holds half the threshold during recovery.
//!
//! ns-3.29 (`tcp-illinois.cc`): real numbers, from delays in whole milliseconds of smoothed RTTs.
//! It compares the window in bytes with the 15 segments, so that only timeouts use α = 1, β = 1/2.

mod curves;
mod delays;
mod ns3;

use self::curves::{Curves, DEFAULTS, FIXED, FixedCurves};
use self::delays::Delays;
use crate::linux::packets_acked;
use crate::ns3::Socket;
use crate::round::Round;
use crate::window::whole_segments;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Needs, Param, Params, Phase, Rule,
    Signal, SlowStart, Variant, Vector, Window, Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "illinois",
    title: "Illinois",
    summary: "Grows by 10 to 0.3 segments per round trip and backs off by 1/8 to 1/2, by delay.",
    family: Family::Delay,
    signal: "loss + delay",
    year: 2008,
    source: "Liu, Başar and Srikant, Performance Evaluation 65, 2008",
    variants: &[Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, Variant::Ns3_29],
    params: &[
        // `tcp_illinois.c`, ALPHA_MIN to BETA_MAX and the module parameters.
        Param::new(
            "alpha_min",
            "growth at the largest delay, segments per round trip",
            0.3,
            0.01,
            1.0,
        ),
        Param::new("alpha_max", "growth without delay, segments per round trip", 10.0, 1.0, 1000.0),
        Param::new(
            "alpha_base",
            "growth after a timeout, segments per round trip",
            1.0,
            0.01,
            1000.0,
        )
        .only(&[Variant::Ns3_29]),
        Param::new(
            "beta_min",
            "fraction by which a loss reduces the window without delay",
            0.125,
            0.01,
            0.5,
        ),
        Param::new(
            "beta_max",
            "fraction by which a loss reduces the window at the largest delay",
            0.5,
            0.5,
            0.9,
        ),
        Param::new(
            "beta_base",
            "fraction by which a loss reduces the window after a timeout",
            0.5,
            0.01,
            0.9,
        )
        .only(&[Variant::Ns3_29]),
        Param::new(
            "win_thresh",
            "window below which it is Reno, segments (ns-3: bytes)",
            15.0,
            0.0,
            1e6,
        )
        .whole(),
        Param::new(
            "theta",
            "rounds of low delay before growth returns to its maximum",
            5.0,
            1.0,
            1e3,
        )
        .whole(),
    ],
    vectors: &[
        Vector::new("da 5, dm 100: α = 99·10/(99 + 4·9.7/0.3)", 4.335_77, || {
            DEFAULTS.alpha(5.0, 100.0)
        })
        .within(1e-5),
        Vector::new("da 50, dm 100: α = 99·10/(99 + 49·9.7/0.3)", 0.588_12, || {
            DEFAULTS.alpha(50.0, 100.0)
        })
        .within(1e-5),
        Vector::new("da 50, dm 100: β = (80/8 − 10/2 + 50·3/8)/70", 0.339_286, || {
            DEFAULTS.beta(50.0, 100.0)
        })
        .within(1e-6),
        Vector::new(
            "da 5 ms in 128ths: ⌊99000·1280/(99000 + ⌊4000·1242/38⌋)⌋",
            551.0,
            || FIXED.alpha(5_000, 100_000) as f64,
        ),
        Vector::new("da 50 ms in 128ths: ⌊126720000/(99000 + 1601526)⌋", 74.0, || {
            FIXED.alpha(50_000, 100_000) as f64
        }),
        Vector::new("da 50 ms in 64ths: ⌊(8·80 − 32·10 + 24·50)/70⌋", 21.0, || {
            FIXED.beta(50_000, 100_000) as f64
        }),
        Vector::new("W = 100, β = 21/64: 100 − ⌊2100/64⌋", 68.0, || {
            f64::from(left_by_loss(100, 21, false))
        }),
        Vector::new("the same in 2.6.22: ⌊2100/64⌋", 32.0, || {
            f64::from(left_by_loss(100, 21, true))
        }),
        ns3::ALPHA,
        ns3::COUNTED,
    ],
    build,
};

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = SlowStart::of(variant);
    let win_thresh = params.get("win_thresh") as u32;
    let theta = params.get("theta") as u32;
    match variant {
        Variant::Paper => {
            let curves = Curves {
                alpha: (params.get("alpha_min"), params.get("alpha_max")),
                beta: (params.get("beta_min"), params.get("beta_max")),
            };
            let rule = LiuBasarSrikant {
                curves,
                win_thresh,
                theta,
                alpha: curves.alpha.1,
                beta: 0.5,
                has_been_above: false,
                rounds_below: 0,
                round: Round::default(),
                delays: Delays::new(u64::MAX),
            };
            Box::new(Windowed::new(rule, slow_start, init))
        }
        Variant::Ns3_29 => Box::new(Socket::new(ns3::Illinois::new(params), init)),
        Variant::Linux6_1 | Variant::Linux2_6_22 | Variant::Ns2 => {
            let curves = FixedCurves {
                alpha: (params.scaled("alpha_min", 128), params.scaled("alpha_max", 128)),
                beta: (params.scaled("beta_min", 64), params.scaled("beta_max", 64)),
            };
            let rule = Linux {
                curves,
                win_thresh,
                theta,
                keeps_beta: variant == Variant::Linux2_6_22,
                alpha: curves.alpha.1,
                beta: REDUCED_BY_HALF,
                has_been_above: false,
                rounds_below: 0,
                packets: 0,
                round: Round::default(),
                // RTT_MAX.
                delays: Delays::new(u64::from(u32::MAX) / curves.alpha.1),
            };
            Box::new(Windowed::new(rule, slow_start, init))
        }
    }
}

/// Whether Linux raises the window, and thus evaluates rounds, where the sample was taken.
fn looks_at_rounds(ack: &Ack, flow: &Flow) -> bool {
    ack.may_raise && matches!(flow.phase, Phase::Open | Phase::Disorder | Phase::Loss)
}

/// The paper, in real numbers.
struct LiuBasarSrikant {
    curves: Curves,
    win_thresh: u32,
    theta: u32,
    alpha: f64,
    beta: f64,
    has_been_above: bool,
    rounds_below: u32,
    round: Round,
    delays: Delays,
}

impl LiuBasarSrikant {
    fn update(&mut self, window: &Window) {
        let delay = self.delays.take();
        if window.cwnd < self.win_thresh {
            (self.alpha, self.beta) = (1.0, 0.5);
        } else if let Some((da, dm)) = delay {
            let (da, dm) = (da as f64, dm as f64);
            let is_above = da > dm / 100.0;
            self.rounds_below = if is_above { 0 } else { self.rounds_below.saturating_add(1) };
            if is_above || !self.has_been_above || self.rounds_below >= self.theta {
                self.alpha = self.curves.alpha(da, dm);
                self.has_been_above = is_above;
            }
            self.beta = self.curves.beta(da, dm);
        }
    }
}

impl Rule for LiuBasarSrikant {
    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        if let Some(rtt) = ack.rtt {
            self.delays.sample(rtt);
        }
        if looks_at_rounds(ack, flow) && self.round.ends(flow) {
            self.update(window);
        }
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.add(self.alpha * f64::from(acked) / window.exact());
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        whole_segments(window.exact() * (1.0 - self.beta))
    }

    fn rto_backoff(&mut self, window: &Window, _flow: &Flow) -> u32 {
        window.cwnd / 2
    }

    fn on_rto(&mut self, flow: &Flow) {
        (self.alpha, self.beta) = (1.0, 0.5);
        self.has_been_above = false;
        self.rounds_below = 0;
        self.round.restart(flow);
        self.delays.clear();
    }
}

const ONE_A_ROUND: u64 = 128;
const REDUCED_BY_HALF: u64 = 32;

/// `tcp_illinois_ssthresh`; `keeps_beta` is the bug of 2.6.22.
fn left_by_loss(cwnd: u32, beta: u64, keeps_beta: bool) -> u32 {
    let share = ((u64::from(cwnd) * beta) >> 6) as u32;
    if keeps_beta { share } else { cwnd - share }
}

struct Linux {
    curves: FixedCurves,
    win_thresh: u32,
    theta: u32,
    keeps_beta: bool,
    alpha: u64,
    beta: u64,
    has_been_above: bool,
    rounds_below: u32,
    /// Segments of the last acknowledgement.
    packets: u64,
    round: Round,
    delays: Delays,
}

impl Linux {
    /// `update_params`.
    fn update(&mut self, window: &Window) {
        let delay = self.delays.take();
        if window.cwnd < self.win_thresh {
            (self.alpha, self.beta) = (ONE_A_ROUND, REDUCED_BY_HALF);
        } else if let Some((da, dm)) = delay {
            self.alpha = self.new_alpha(da, dm);
            self.beta = self.curves.beta(da, dm);
        }
    }

    /// Also called when the window grows: the acknowledgement that ends a recovery is a sample of
    /// the recovery, and grows the window after it.
    fn look_at_round(&mut self, window: &Window, flow: &Flow) {
        if self.round.ends(flow) {
            self.update(window);
        }
    }

    fn new_alpha(&mut self, da: u64, dm: u64) -> u64 {
        if da > dm / 100 {
            self.has_been_above = true;
            return self.curves.alpha(da, dm);
        }
        if self.has_been_above {
            self.rounds_below += 1;
            if self.rounds_below < self.theta {
                return self.alpha;
            }
            self.rounds_below = 0;
            self.has_been_above = false;
        }
        self.curves.alpha.1
    }
}

impl Rule for Linux {
    const TAKES_REST_OF_SLOW_START: bool = false;

    fn needs(&self) -> Needs {
        Needs::SEND_TIMES
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        self.packets = packets_acked(ack, flow);
        if let Some(rtt) = ack.rtt {
            self.delays.sample(rtt);
        }
        if looks_at_rounds(ack, flow) {
            self.look_at_round(window, flow);
        }
    }

    fn slow_start(&mut self, window: &mut Window, _acked: u32, flow: &Flow) -> Option<u32> {
        self.look_at_round(window, flow);
        None
    }

    fn growth(&mut self, window: &mut Window, _acked: u32, _ack: &Ack, flow: &Flow) {
        self.look_at_round(window, flow);
        window.credit = window.credit.saturating_add(self.packets as u32);
        let delta = (u64::from(window.credit) * self.alpha) >> 7;
        let cwnd = u64::from(window.cwnd);
        if delta >= cwnd {
            window.cwnd = window.cwnd.saturating_add((delta / cwnd) as u32);
            window.credit = 0;
        }
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        left_by_loss(window.cwnd, self.beta, self.keeps_beta)
    }

    fn recovery_window(&self, ssthresh: u32) -> u32 {
        if self.keeps_beta { ssthresh / 2 } else { ssthresh }
    }

    fn on_rto(&mut self, flow: &Flow) {
        (self.alpha, self.beta) = (ONE_A_ROUND, REDUCED_BY_HALF);
        self.has_been_above = false;
        self.rounds_below = 0;
        self.round.restart(flow);
        self.delays.clear();
    }
}

#[cfg(test)]
mod tests {
    use fairway_units::Duration;

    use super::*;
    use crate::probe::{Probe, Start};
    use crate::testing::{ack, flow};

    /// Rounds at each round-trip time in turn, the first at 100 ms.
    fn after(variant: Variant, cwnd: u32, rtts_ms: &[u64]) -> Probe {
        let mut probe = Probe::new("illinois", variant, &Start::avoidance(cwnd, 100));
        probe.ack(1);
        for rtt in rtts_ms {
            probe.rtt = Duration::from_millis(*rtt);
            for _ in 0..=probe.cwnd() {
                probe.ack(1);
            }
        }
        probe
    }

    #[test]
    fn without_delay_it_adds_ten_and_backs_off_by_an_eighth() {
        for variant in [Variant::Paper, Variant::Linux6_1] {
            let mut probe = after(variant, 100, &[100]);
            assert!((109..=110).contains(&probe.cwnd()), "{variant:?}: {}", probe.cwnd());
            let before = probe.cwnd() as f64;
            probe.loss();
            // 110 · 7/8 = 96.25, 109 · 7/8 = 95.4 or 109 − ⌊13.6⌋ = 96.
            assert!((before * 0.875 - probe.cwnd() as f64).abs() < 1.0, "{variant:?}");
        }
    }

    #[test]
    fn the_bug_of_2_6_22_leaves_an_eighth() {
        let mut probe = after(Variant::Linux2_6_22, 100, &[100]);
        let before = probe.cwnd();
        probe.loss();
        assert_eq!(probe.ssthresh(), Some(before / 8));
    }

    #[test]
    fn at_the_largest_delay_it_adds_a_third_and_halves() {
        for variant in [Variant::Paper, Variant::Linux6_1] {
            // da = dm from the second round on: α = 0.3, or 38/128.
            let mut probe = after(variant, 100, &[200, 200]);
            let before = probe.cwnd();
            for _ in 0..4 {
                probe.round();
            }
            let grown = probe.cwnd() - before;
            assert!((1..=2).contains(&grown), "{variant:?}: {grown}");
            let before = probe.cwnd();
            probe.loss();
            assert_eq!(
                probe.cwnd(),
                before / 2 + before % 2 * u64::from(variant != Variant::Paper)
            );
        }
    }

    #[test]
    fn linux_ends_a_round_on_the_acknowledgement_that_ends_a_recovery() {
        // A hundred acknowledgements at 100 ms, and at 200 ms the one that ends a recovery: da =
        // 100/101 ms is less than a tenth of dm = 100 ms: β = 8/64. In recovery it was not
        // evaluated.
        let mut rule = Linux {
            curves: FixedCurves { alpha: (38, 1280), beta: (8, 32) },
            win_thresh: 15,
            theta: 5,
            keeps_beta: false,
            alpha: 1280,
            beta: REDUCED_BY_HALF,
            has_been_above: false,
            rounds_below: 0,
            packets: 0,
            round: Round::default(),
            delays: Delays::new(u64::MAX),
        };
        let mut window = Window::new(100);
        let begin = flow(0, 100, 100);
        for _ in 0..100 {
            rule.on_sample(&mut window, &ack(1, 100), &begin);
        }
        let end = Flow { snd_una: begin.snd_nxt, phase: Phase::Recovery, ..begin };
        rule.on_sample(&mut window, &ack(1, 200), &end);
        assert_eq!(rule.beta, REDUCED_BY_HALF);
        rule.growth(&mut window, 1, &ack(1, 200), &Flow { phase: Phase::Open, ..end });
        assert_eq!(rule.beta, 8);
    }

    #[test]
    fn small_windows_are_reno() {
        for variant in [Variant::Paper, Variant::Linux6_1] {
            let mut probe = after(variant, 10, &[100]);
            // Eleven acknowledgements of a window of 10 at α = 1.
            assert_eq!(probe.cwnd(), 11, "{variant:?}");
            probe.loss();
            assert!((5..=6).contains(&probe.cwnd()), "{variant:?}");
        }
    }

    #[test]
    fn five_rounds_below_restore_the_growth() {
        let mut rule = LiuBasarSrikant {
            curves: DEFAULTS,
            win_thresh: 15,
            theta: 5,
            alpha: 10.0,
            beta: 0.5,
            has_been_above: false,
            rounds_below: 0,
            round: Round::default(),
            delays: Delays::new(u64::MAX),
        };
        let window = Window::new(100);
        let round = |rule: &mut LiuBasarSrikant, rtt_ms| {
            rule.delays.sample(Duration::from_millis(rtt_ms));
            rule.update(&window);
            rule.alpha
        };
        assert!((round(&mut rule, 100) - 10.0).abs() < 1e-12);
        let at_most = round(&mut rule, 200);
        assert!((at_most - 0.3).abs() < 1e-12);
        for _ in 0..4 {
            assert!((round(&mut rule, 100) - 0.3).abs() < 1e-12);
        }
        assert!((round(&mut rule, 100) - 10.0).abs() < 1e-12);
    }

    #[test]
    fn a_timeout_halves_and_resets() {
        for variant in [Variant::Paper, Variant::Linux6_1] {
            let mut probe = after(variant, 100, &[200, 200]);
            let before = probe.cwnd();
            probe.rto();
            let ssthresh = probe.ssthresh().unwrap();
            assert!(ssthresh.abs_diff(before / 2) <= 1, "{variant:?}: {ssthresh} of {before}");
        }
    }
}
