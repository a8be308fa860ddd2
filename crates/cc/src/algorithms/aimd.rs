//! AIMD: additive increase and multiplicative decrease by any two numbers.
//!
//! Growth: `W ← W + α/W` for each segment acknowledged, so that the window grows by `α` segments per
//! round trip. Back-off: `W ← β F`, where `F` is what is unacknowledged, at most the window. `α` is
//! `increase`; `β` is what back-off leaves.
//!
//! Source: D.-M. Chiu, R. Jain, "Analysis of the Increase and Decrease Algorithms for Congestion
//! Avoidance in Computer Networks", Computer Networks and ISDN Systems 17(1), 1989: of all linear
//! controls, additive increase with multiplicative decrease is the one that converges to an
//! efficient and fair share. Y. R. Yang, S. S. Lam, "General AIMD Congestion Control", ICNP 2000:
//! with losses of probability `p`, the mean window is `√(α (1 + β) / (2 (1 − β) p))`, which is that of
//! Reno, `√(3/(2p))`, if `α = 3 (1 − β)/(1 + β)`. The default, `α` = 1 and `β` = 1/2, is Reno. CUBIC's
//! Reno-friendly region has the same `α` (RFC 9438 section 4.3).

use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
    window::{flight, whole_segments},
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "aimd",
    title: "AIMD",
    summary: "Additive increase and multiplicative decrease by any two numbers.",
    family: Family::Classic,
    signal: "loss",
    year: 1989,
    source: "Chiu and Jain, Computer Networks 17(1), 1989; Yang and Lam, ICNP 2000",
    variants: &[Variant::Paper],
    params: &[
        Param::new(
            "increase",
            "segments that the window grows by per round trip",
            1.0,
            0.01,
            100.0,
        ),
        Param::new("beta", "factor that back-off leaves of the window", 0.5, 0.1, 0.99),
    ],
    vectors: &[
        Vector::new("α = 1, W = 100, a segment: 100 + 1/100 = 100.01", 100.01, || grown(1.0, 100)),
        Vector::new("α = 0.2, W = 40, a segment: 40 + 0.2/40 = 40.005", 40.005, || grown(0.2, 40)),
        Vector::new("β = 1/2, W = 21, a loss: 10.5, whole: 10", 10.0, || after_loss(0.5, 21)),
        Vector::new("β = 7/8, W = 100, a loss: 87.5, whole: 87", 87.0, || after_loss(0.875, 100)),
        Vector::new("β = 1/2, W = 3, a loss: 1.5, at least 2", 2.0, || after_loss(0.5, 3)),
        Vector::new(
            "α = 10, W = 10, ten segments: √(10² + 2 · 10 · 10) = 17.3, whole: 17",
            17.0,
            || {
                let start = Start::avoidance(10, 40).with("increase", 10.0);
                Probe::new("aimd", Variant::Paper, &start).acks(10, 1).window()
            },
        ),
    ],
    build,
};

fn grown(increase: f64, cwnd: u32) -> f64 {
    let mut window = Window::new(cwnd);
    grow(increase, &mut window, 1);
    window.exact()
}

fn after_loss(beta: f64, cwnd: u32) -> f64 {
    let start = Start::avoidance(cwnd, 40).with("beta", beta);
    Probe::new("aimd", Variant::Paper, &start).loss().window()
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let rule = Aimd { increase: params.get("increase"), beta: params.get("beta") };
    Box::new(Windowed::new(rule, SlowStart::of(variant), init))
}

struct Aimd {
    increase: f64,
    beta: f64,
}

fn grow(increase: f64, window: &mut Window, acked: u32) {
    window.add(increase * f64::from(acked) / window.exact());
}

impl Rule for Aimd {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        grow(self.increase, window, acked);
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        whole_segments(self.beta * f64::from(flight(window, flow)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(increase: f64, cwnd: u32, count: u32) -> u64 {
        let start = Start::avoidance(cwnd, 40).with("increase", increase);
        let mut probe = Probe::new("aimd", Variant::Paper, &start);
        probe.rounds(count);
        probe.cwnd()
    }

    #[test]
    fn a_round_trip_adds_the_increase_less_what_the_window_grew_meanwhile() {
        // A window that follows dW = α/W per segment has W² = W₀² + 2 α n after n segments: for
        // α = 1 and W₀ = 100 after 100 segments √10200 = 100.995.
        assert_eq!(rounds(1.0, 100, 1), 100);
        // Two rounds are 200 segments, √10400 = 101.98; with α = 4 they are 203, √11624 = 107.8.
        assert_eq!(rounds(1.0, 100, 2), 101);
        assert_eq!(rounds(4.0, 100, 2), 107);
    }

    #[test]
    fn the_friendly_increase_of_yang_and_lam() {
        // α = 3 (1 − 7/8)/(1 + 7/8) = 0.375/1.875 = 0.2. From 87 to 100 takes √(87² + 0.4 n) = 100,
        // n = 6078 segments: about 65 round trips of 93.5 segments, and Reno's 50 from 50 to 100.
        assert!((64..=67).contains(&(1..200).find(|&n| rounds(0.2, 87, n) >= 100).unwrap_or(0)));
    }
}
