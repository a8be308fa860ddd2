//! FAST: moves the window towards the one that keeps α segments in queues, at a rate proportional
//! to the distance.
//!
//! Source: D. X. Wei, C. Jin, S. H. Low, S. Hegde, "FAST TCP: Motivation, Architecture, Algorithms,
//! Performance", IEEE/ACM ToN 14(6), 2006: `W ← min(2W, (1 − γ)·W + γ·(W·base/RTT + α))`. In
//! equilibrium `W·(RTT − base)/RTT = α`. `base` is the minimum RTT, `RTT` a moving average with
//! weight `min(3/W, 1/4)` for the newest sample. A loss halves the window.
//!
//! The window is updated in one round trip and frozen in the next, as in the paper: an increase is
//! spread over the acknowledgements of its round, a decrease is immediate. As the window was
//! frozen, it is also the one under which the data acknowledged at the update was sent.
//!
//! α, γ and the end of slow start are the defaults of the FAST agent for ns-2 by T. Cui and L.
//! Andrew (University of Melbourne, version 1.1.3, 2007, `tcp-fast.cc`), which is not part of
//! ns-2.35. The agent stores for each packet the data in flight when it was sent, and uses that in
//! place of the frozen window. It has no slow start, but adds a segment per acknowledgement
//! whenever the average queueing delay is below 0.75 ms; here that only ends slow start. The weight
//! of its newest RTT is `1/max(256, W/3)`; it updates at most every 10 ms; if base is below 4 ms
//! increases are immediate. Linux has no FAST. Assumed: a minimum of two segments, and no updates
//! outside the open phase.

use fairway_units::Duration;

use crate::probe::{Probe, Start};
use crate::round::Round;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Phase, Rule, Signal,
    SlowStart, Variant, Vector, Window, Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "fast",
    title: "FAST",
    summary: "Moves towards the window that keeps a set number of segments in queues.",
    family: Family::Delay,
    signal: "delay + loss",
    year: 2006,
    source: "Wei, Jin, Low and Hegde, IEEE/ACM ToN 14(6), 2006",
    variants: &[Variant::Paper],
    params: &[
        // Defaults of the agent: alpha_, gamma_ and mi_threshold_.
        Param::new("alpha", "segments to keep in queues", 100.0, 1.0, 1e5),
        Param::new("gamma", "weight of the target window in an update", 0.5, 0.01, 1.0),
        Param::new(
            "slow_start_delay_ms",
            "average delay in queues that ends slow start, milliseconds",
            0.75,
            0.0,
            1e3,
        ),
    ],
    vectors: &[
        Vector::new("W = 500, base 100, RTT 110: 250 + (454.55 + 100)/2", 527.2727, || {
            DEFAULTS.target(500.0, 100.0, 110.0)
        })
        .within(1e-4),
        Vector::new("at rest, W = 100·110/10 = 1100: 550 + (1000 + 100)/2", 1_100.0, || {
            DEFAULTS.target(1_100.0, 100.0, 110.0)
        }),
        Vector::new("W = 50 and no queue: min(100, 25 + (50 + 100)/2)", 100.0, || {
            DEFAULTS.target(50.0, 100.0, 100.0)
        }),
        Vector::new("W = 10 and no queue: min(20, 5 + (10 + 100)/2)", 20.0, || {
            DEFAULTS.target(10.0, 100.0, 100.0)
        }),
        Vector::new("W = 1000, base 100, RTT 200: 500 + (500 + 100)/2", 800.0, || {
            DEFAULTS.target(1_000.0, 100.0, 200.0)
        }),
        Vector::new("W = 101 at a loss: ⌊101/2⌋", 50.0, || {
            Probe::new("fast", Variant::Paper, &Start::avoidance(101, 100)).loss().window()
        }),
    ],
    build,
};

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let equation = Equation { alpha: params.get("alpha"), gamma: params.get("gamma") };
    let rule = Fast {
        equation,
        slow_start_delay_s: params.get("slow_start_delay_ms") / 1e3,
        base_s: f64::INFINITY,
        average_s: None,
        round: Round::default(),
        updates: false,
        rise: Rise::default(),
    };
    Box::new(Windowed::new(rule, SlowStart::of(variant), init))
}

/// Smallest window of an update, segments (`tcp-fast.cc`, `fast_calc_cwnd`).
const MIN_WINDOW: f64 = 2.0;

#[derive(Clone, Copy)]
struct Equation {
    alpha: f64,
    gamma: f64,
}

const DEFAULTS: Equation = Equation { alpha: 100.0, gamma: 0.5 };

impl Equation {
    /// The window after an update; `base` and `rtt` in the same unit.
    fn target(&self, window: f64, base: f64, rtt: f64) -> f64 {
        let share = if rtt > 0.0 { base / rtt } else { 1.0 };
        let moved = (1.0 - self.gamma) * window + self.gamma * (window * share + self.alpha);
        moved.min(2.0 * window).max(MIN_WINDOW)
    }
}

/// An increase spread over a round.
#[derive(Clone, Copy, Default)]
struct Rise {
    per_segment: f64,
    left: f64,
}

impl Rise {
    fn of(segments: f64, window: f64) -> Self {
        Rise { per_segment: segments / window.max(1.0), left: segments }
    }

    fn take(&mut self, acked: u32) -> f64 {
        let taken = (self.per_segment * f64::from(acked)).min(self.left);
        self.left -= taken;
        taken
    }
}

struct Fast {
    equation: Equation,
    slow_start_delay_s: f64,
    base_s: f64,
    average_s: Option<f64>,
    round: Round,
    /// Whether the window is updated in this round, not frozen.
    updates: bool,
    rise: Rise,
}

impl Fast {
    fn sample(&mut self, rtt: Duration, window: &Window) {
        let rtt_s = rtt.as_secs_f64();
        self.base_s = self.base_s.min(rtt_s);
        let weight = (3.0 / window.exact()).min(0.25);
        let average_s = self.average_s.unwrap_or(rtt_s);
        self.average_s = Some(average_s + weight * (rtt_s - average_s));
    }

    fn begin_round(&mut self, window: &mut Window) {
        self.updates = !self.updates;
        self.rise = Rise::default();
        let Some(average_s) = self.average_s.filter(|_| self.updates) else { return };
        let before = window.exact();
        let change = self.equation.target(before, self.base_s, average_s) - before;
        if change > 0.0 {
            self.rise = Rise::of(change, before);
        } else {
            window.add(change);
            // Below the threshold slow start would begin again.
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
    }
}

impl Rule for Fast {
    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        if let Some(rtt) = ack.rtt {
            self.sample(rtt, window);
        }
        if flow.phase != Phase::Open || ack.acked == 0 {
            return;
        }
        let in_slow_start = window.cwnd < window.ssthresh;
        let ends = self.round.ends(flow);
        if !in_slow_start && ends {
            self.begin_round(window);
        }
        let is_queued = |average_s| average_s - self.base_s >= self.slow_start_delay_s;
        // With a threshold of zero there is no slow start.
        if in_slow_start && self.average_s.is_some_and(is_queued) {
            window.ssthresh = window.cwnd;
        }
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.add(self.rise.take(acked));
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        window.cwnd / 2
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.rise = Rise::default();
    }

    fn on_recovered(&mut self, _window: &mut Window, flow: &Flow) {
        self.rise = Rise::default();
        // The next round updates the window.
        self.updates = false;
        self.round.restart(flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(start: &Start) -> Probe {
        Probe::new("fast", Variant::Paper, start)
    }

    #[test]
    fn an_increase_takes_a_round_and_the_next_is_frozen() {
        // No queue: 50 + (100 + 100)/2 = 150. The first acknowledgement ends the round of the
        // handshake and begins one of update, of half a segment for each of the window.
        let mut probe = probe(&Start::avoidance(100, 100));
        probe.acks(50, 1);
        assert_eq!(probe.cwnd(), 125);
        probe.acks(50, 1);
        assert_eq!(probe.cwnd(), 150);
        probe.ack(100);
        assert_eq!(probe.cwnd(), 150);
    }

    #[test]
    fn a_timeout_ends_an_increase() {
        // An increase to 150 has begun. From 1 the window returns to 50 and stays there until the
        // losses are recovered.
        let mut probe = probe(&Start::avoidance(100, 100));
        probe.ack(1);
        probe.rto();
        probe.acks(120, 1);
        assert_eq!((probe.cwnd(), probe.ssthresh()), (50, Some(50)));
    }

    #[test]
    fn its_equilibrium_is_alpha_segments_in_queues() {
        // A path that holds 1000 segments: RTT = 100·W/1000 beyond that, 110 at 1100.
        for start in [300, 3_000] {
            let mut probe = probe(&Start::avoidance(start, 100));
            probe.ack(1);
            for _ in 0..80 {
                probe.rtt = Duration::from_micros(100 * probe.cwnd().max(1_000));
                probe.round();
            }
            assert!((1_098..=1_102).contains(&probe.cwnd()), "{}", probe.cwnd());
        }
    }

    #[test]
    fn slow_start_ends_when_a_queue_builds() {
        let mut probe = probe(&Start::slow_start(10, 100));
        probe.rounds(3);
        assert_eq!((probe.cwnd(), probe.ssthresh()), (80, None));
        // A quarter of 4 ms, then 3/W of it or more: above 0.75 ms within a few dozen.
        probe.rtt = Duration::from_millis(104);
        probe.acks(40, 1);
        assert!(probe.ssthresh().is_some_and(|ssthresh| (80..=120).contains(&ssthresh)));
    }

    #[test]
    fn a_deep_queue_leaves_two_segments() {
        let start = Start::avoidance(4, 1).with("alpha", 1.0).with("gamma", 1.0);
        let mut probe = probe(&start);
        probe.ack(1);
        probe.rtt = Duration::from_secs(1);
        probe.rounds(60);
        assert_eq!(probe.cwnd(), 2);
    }
}
