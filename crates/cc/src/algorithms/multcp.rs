//! MulTCP: one connection that behaves like `n` Reno connections.
//!
//! Source: J. Crowcroft, P. Oechslin, "Differentiated end-to-end Internet services using a weighted
//! proportional fair sharing TCP", ACM CCR 28(3), 1998. The window grows by `n/cwnd` segments per
//! segment acknowledged, n per round trip; a loss reduces it by `cwnd/(2n)`, as one of n
//! connections halves. Slow start adds two segments per segment acknowledged until the window has
//! caught up with n connections that began with one segment each, at `3^k = n · 2^k`,
//! `k = ln n/(ln 3 − ln 2)`; then one, as usual. `n` = 1 is Reno.
//!
//! Several losses in one window cause one reduction, where n connections would have several: so its
//! throughput exceeds that of n connections if losses are bursty, and a timeout, which stops only
//! one of n connections, stops all of it. The paper was not available; an ns-3 model of it agrees
//! in everything, and halves at a loss in slow start, when all n connections would overshoot
//! together: `halve_in_slow_start` does that. As in Reno, a loss reduces FlightSize (RFC 5681
//! equation 4). If the connection names a slow start, that is used.

use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
    window::{flight, whole_segments},
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "multcp",
    title: "MulTCP",
    summary: "One connection that grows and backs off like several of Reno.",
    family: Family::Aggregate,
    signal: "loss",
    year: 1998,
    source: "Crowcroft and Oechslin, ACM CCR 28(3), 1998",
    variants: &[Variant::Paper],
    params: &[
        Param::new("n", "number of Reno connections emulated; need not be whole", 4.0, 1.0, 1000.0),
        Param::switch(
            "halve_in_slow_start",
            "whether a loss in slow start halves the window",
            false,
        ),
    ],
    vectors: &[
        Vector::new("n = 4, W = 100, a segment: 100 + 4/100 = 100.04", 100.04, || grown(4.0, 100)),
        Vector::new("n = 4, W = 100, a loss: 100 · (1 − 1/8) = 87.5, whole: 87", 87.0, || {
            after_loss(4.0, 100)
        }),
        Vector::new("n = 10, W = 100, a loss: 100 · (1 − 1/20) = 95", 95.0, || {
            after_loss(10.0, 100)
        }),
        Vector::new("n = 1, W = 100, a loss: 50", 50.0, || after_loss(1.0, 100)),
        Vector::new("n = 4: k = ln 4/ln 1.5 = 3.419, 3^k = 42.78", 42.78, || caught_up(4.0))
            .within(0.01),
        Vector::new(
            "n = 4, W = 20, slow start, 12 segments: 12 · 2 = 24 more, 44 > 42.78",
            44.0,
            || in_slow_start(12),
        ),
        Vector::new("and one more segment: 45", 45.0, || in_slow_start(13)),
    ],
    build,
};

fn grown(n: f64, cwnd: u32) -> f64 {
    let mut window = Window::new(cwnd);
    window.add(increase(n, &window));
    window.exact()
}

fn after_loss(n: f64, cwnd: u32) -> f64 {
    Probe::new("multcp", Variant::Paper, &Start::avoidance(cwnd, 40).with("n", n)).loss().window()
}

fn in_slow_start(segments: u32) -> f64 {
    Probe::new("multcp", Variant::Paper, &Start::slow_start(20, 40)).acks(segments, 1).window()
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let n = params.get("n");
    let halve_in_slow_start = params.is_on("halve_in_slow_start");
    let rule = MulTcp { n, caught_up: caught_up(n), halve_in_slow_start };
    Box::new(Windowed::new(rule, SlowStart::of(variant), init))
}

struct MulTcp {
    n: f64,
    /// Window at which slow start has caught up with n connections, segments.
    caught_up: f64,
    halve_in_slow_start: bool,
}

/// The window at which tripling from one segment per round trip reaches n windows that double: 3^k
/// for 3^k = n · 2^k.
fn caught_up(n: f64) -> f64 {
    let k = libm::log(n) / (libm::log(3.0) - libm::log(2.0));
    libm::pow(3.0, k)
}

/// Beta, by which one of `n` windows halves.
pub fn retention(n: f64) -> f64 {
    1.0 - 0.5 / n
}

/// Growth in segments per segment acknowledged.
fn increase(n: f64, window: &Window) -> f64 {
    n / window.exact()
}

impl MulTcp {
    /// Number of `acked` segments that count twice in slow start.
    fn counted_twice(&self, window: &Window, acked: u32) -> u32 {
        let missing = self.caught_up - f64::from(window.cwnd);
        // Every one adds two segments; a negative number becomes 0.
        acked.min((missing / 2.0).ceil() as u32)
    }
}

impl Rule for MulTcp {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.add(increase(self.n, window) * f64::from(acked));
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        let in_slow_start = window.cwnd < window.ssthresh;
        let halve = self.halve_in_slow_start && in_slow_start;
        let kept = if halve { 0.5 } else { retention(self.n) };
        whole_segments(f64::from(flight(window, flow)) * kept)
    }

    fn slow_start(&mut self, window: &mut Window, acked: u32, _flow: &Flow) -> Option<u32> {
        let twice = self.counted_twice(window, acked);
        let room = window.ssthresh.saturating_sub(window.cwnd);
        let grown = acked.saturating_add(twice).min(room);
        window.cwnd += grown;
        // The segments counted twice come first.
        let used = if grown >= 2 * twice { grown - twice } else { grown.div_ceil(2) };
        Some(acked - used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(start: Start) -> Probe {
        Probe::new("multcp", Variant::Paper, &start)
    }

    #[test]
    fn growth_per_round_is_the_number_of_connections() {
        // 4/100 + 4/100.04 + … over 100 segments: a little less than 4. Ten rounds: 40 less what
        // the window grew meanwhile, 100 · √(1 + 2·4·10/100 …); the sum is at least 36.
        let mut probe = probe(Start::avoidance(100, 40));
        probe.round();
        assert_eq!(probe.cwnd(), 103);
        probe.rounds(9);
        assert!((136..=140).contains(&probe.cwnd()), "{}", probe.cwnd());
    }

    #[test]
    fn slow_start_stops_at_the_threshold() {
        // 20 → 30 takes five segments counted twice; the sixth adds 4/30 in avoidance.
        let mut probe = probe(Start { ssthresh: Some(30), ..Start::slow_start(20, 40) });
        probe.ack(6);
        assert_eq!(probe.cwnd(), 30);
        probe.acks(6, 1);
        // 1 + 6 segments at 4/30, a little less each: 0.93 of a segment; one more makes it whole.
        assert_eq!(probe.cwnd(), 30);
        probe.ack(1);
        assert_eq!(probe.cwnd(), 31);
    }

    #[test]
    fn an_odd_step_to_the_threshold_uses_the_whole_segment() {
        let mut probe = probe(Start { ssthresh: Some(21), ..Start::slow_start(20, 40) });
        probe.ack(1);
        assert_eq!(probe.cwnd(), 21);
    }

    #[test]
    fn one_connection_doubles_in_slow_start() {
        let mut probe = probe(Start::slow_start(1, 40).with("n", 1.0));
        probe.rounds(4);
        assert_eq!(probe.cwnd(), 16);
    }

    #[test]
    fn slow_start_triples_until_it_has_caught_up() {
        // 10 connections: k = 5.68; five rounds of tripling from one segment: 243 < 3^5.68 = 513.
        let mut probe = probe(Start::slow_start(1, 40).with("n", 10.0));
        probe.rounds(5);
        assert_eq!(probe.cwnd(), 243);
    }

    #[test]
    fn a_loss_in_slow_start_may_halve_the_window() {
        let mut probe = probe(Start::slow_start(100, 40).with("halve_in_slow_start", 1.0));
        probe.loss();
        assert_eq!(probe.cwnd(), 50);
        // In congestion avoidance 50 · (1 − 1/8) = 43.75.
        probe.loss();
        assert_eq!(probe.cwnd(), 43);
    }
}
