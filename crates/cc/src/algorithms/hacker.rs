//! Fractional parallel TCP: several connections share one transfer, each growing by a fraction of
//! Reno's growth, so that together they are no more aggressive than one on a congested path, and
//! use an uncongested one better.
//!
//! Source: T. J. Hacker, B. D. Noble, B. D. Athey, "Improving Throughput and Maintaining Fairness
//! using Parallel TCP", INFOCOM 2004: a long virtual RTT stretches congestion avoidance. The window
//! grows by `fraction/cwnd` segments per segment acknowledged, one segment per `1/fraction` round
//! trips. A loss halves the window of only that connection: of n equal ones together `1 − 1/(2n)`
//! is left. Slow start and timeouts are Reno's. n connections with `fraction` = 1/n grow together
//! as one.
//!
//! The paper combines such connections with standard ones: the first `standard` members of a group
//! of connections are Reno, the others fractional. A connection in no group counts as the first of
//! one. The authors' values could not be established, so both are parameters; a tenth and none are
//! this implementation's choice. The window grows in real numbers, not by a segment at the end of
//! each virtual RTT. As in Reno, a loss halves FlightSize (RFC 5681 equation 4).

use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Member, Param, Params, Rule, Signal,
    SlowStart, Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
    window::flight,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "hacker",
    title: "Fractional parallel TCP",
    summary: "One of several connections that grow by a fraction of a segment per round trip.",
    family: Family::Aggregate,
    signal: "loss",
    year: 2004,
    source: "Hacker, Noble and Athey, INFOCOM 2004",
    variants: &[Variant::Paper],
    params: &[
        Param::new(
            "fraction",
            "growth per round trip, segments: the reciprocal of the virtual round trip",
            0.1,
            0.001,
            1.0,
        ),
        Param::new(
            "standard",
            "connections of the group, from the first, that grow as Reno",
            0.0,
            0.0,
            1000.0,
        )
        .whole(),
    ],
    vectors: &[
        Vector::new("fraction 0.1, W = 100, a segment: 0.1/100 = 0.001", 100.001, || {
            grown(0.1, 100, 1)
        }),
        Vector::new("fraction 0.1, W = 10, ten segments at once: 0.1/10 · 10 = 0.1", 10.1, || {
            grown(0.1, 10, 10)
        }),
        Vector::new(
            "10 connections, fraction 0.1, W = 100 each, a round: 10 · 100 · 0.001 = 1",
            1.0,
            || 10.0 * (grown(0.1, 100, 100) - 100.0),
        ),
        Vector::new(
            "one standard and 9 of 0.01, W = 100 each, a round: 1 + 9 · 0.01 = 1.09",
            1.09,
            || grown(1.0, 100, 100) - 100.0 + 9.0 * (grown(0.01, 100, 100) - 100.0),
        ),
        Vector::new(
            "W = 100, a loss: 50; of ten such together 950 of 1000 are kept",
            950.0,
            || 900.0 + after_loss(100),
        ),
    ],
    build,
};

fn grown(fraction: f64, cwnd: u32, acked: u32) -> f64 {
    let mut window = Window::new(cwnd);
    Fractional { per_round: fraction }.grow(&mut window, acked);
    window.exact()
}

fn after_loss(cwnd: u32) -> f64 {
    Probe::new("hacker", Variant::Paper, &Start::avoidance(cwnd, 40)).loss().window()
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let place = init.coupling.as_ref().map_or(0, Member::index);
    let is_standard = place < params.get("standard") as usize;
    let per_round = if is_standard { 1.0 } else { params.get("fraction") };
    Box::new(Windowed::new(Fractional { per_round }, SlowStart::of(variant), init))
}

struct Fractional {
    /// Growth per round trip, segments.
    per_round: f64,
}

impl Fractional {
    fn grow(&self, window: &mut Window, acked: u32) {
        window.add(self.per_round * f64::from(acked) / window.exact());
    }
}

impl Rule for Fractional {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        self.grow(window, acked);
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        flight(window, flow) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coupling;

    #[test]
    fn a_tenth_needs_ten_rounds_for_a_segment() {
        let mut probe = Probe::new("hacker", Variant::Paper, &Start::avoidance(100, 40));
        probe.rounds(10);
        // 1000 segments of 0.1/100.x: 0.995; a few more make it whole.
        assert_eq!(probe.cwnd(), 100);
        probe.round();
        assert_eq!(probe.cwnd(), 101);
    }

    #[test]
    fn the_first_of_a_group_are_standard() {
        let windows: Vec<u64> = Coupling::members(3)
            .into_iter()
            .map(|member| {
                Probe::new(
                    "hacker",
                    Variant::Paper,
                    &Start { coupling: Some(member), ..Start::avoidance(10, 40) }
                        .with("standard", 2.0),
                )
                .rounds(5)
                .cwnd()
            })
            .collect();
        // Reno: 5 rounds, the fractions short of 5 segments; a tenth: half a segment.
        assert_eq!(windows, [14, 14, 10]);
    }
}
