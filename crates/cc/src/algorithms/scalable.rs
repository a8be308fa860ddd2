//! Scalable TCP: growth by a fixed fraction of a segment per acknowledgement and back-off by an
//! eighth, so that the time to recover from a loss does not depend on the window.
//!
//! Source: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks",
//! ACM CCR 33(2), 2003: +a per acknowledgement, −b·cwnd at a loss, and Reno at or below a low
//! window. Here, as in Linux 6.1, a counts for each segment acknowledged, so that delayed
//! acknowledgements do not slow it.
//!
//! Linux (`net/ipv4/tcp_scalable.c`) has no low window; it adds a segment per min(cwnd, 1/a)
//! counted, which is Reno below 1/a. Linux 6.1 counts delivered segments with 1/a = 100; Linux
//! 2.6.22 counts acknowledgements and, to compensate for delayed ones, 1/a = 50, growing when the
//! counter exceeds that. It also holds half the threshold during recovery (`tcp_reno_min_cwnd`).
//!
//! ns-3.29 (`tcp-scalable.cc`) has 1/a = 50 and counts segments, but drops those beyond the last
//! whole multiple. Back-off applies to the bytes in flight.
//!
//! ns-2's own agents had it as a patch: the paper's rules once per acknowledgement, on a window in
//! real numbers, which the first loss halves.

mod ns2;
pub(super) mod ns3;

use crate::ns2::{Agent, max_ssthresh};
use crate::ns3::Socket;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
    window::whole_segments,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "scalable",
    title: "Scalable TCP",
    summary: "A hundredth of a segment more per acknowledgement; an eighth off at a loss.",
    family: Family::Classic,
    signal: "loss",
    year: 2003,
    source: "Kelly, ACM CCR 33(2), 2003",
    variants: &Variant::ALL,
    params: &[
        Param::new(
            "a",
            "growth in segments per segment (2.6.22: per acknowledgement)",
            0.01,
            0.0001,
            1.0,
        )
        .except(&[(Variant::Linux2_6_22, 0.02), (Variant::Ns3_29, 0.02)]),
        Param::new("b", "fraction by which a loss reduces the window", 0.125, 0.001, 0.9),
        Param::new("low_window", "window in segments at or below which it is Reno", 16.0, 0.0, 1e6)
            .whole()
            .only(&[Variant::Paper, Variant::Ns2]),
        max_ssthresh(),
    ],
    vectors: &[
        Vector::new("W = 200, a round of 6.1: 200 + 200/100", 202.0, || {
            after_round(Variant::Linux6_1, 200)
        }),
        Vector::new("W = 200, 201 segments by the paper: ⌊200 + 201 · 0.01⌋", 202.0, || {
            after_segments(Variant::Paper, 200, 201)
        }),
        Vector::new("W = 50, a round of 6.1: 50 + 50/50, as Reno", 51.0, || {
            after_round(Variant::Linux6_1, 50)
        }),
        Vector::new(
            "W = 200, a round of 2.6.22, which adds at every 51st: ⌊200/51⌋ = 3",
            203.0,
            || after_round(Variant::Linux2_6_22, 200),
        ),
        Vector::new("ns-2, W = 200 at its second loss: 200/2 · 0.875", 87.0, || {
            Probe::new("scalable", Variant::Ns2, &Start::avoidance(200, 100)).loss().loss().window()
        }),
        Vector::new(
            "ns-2, W = 200 before a loss, limited slow start: 200 + 200/⌊200/50⌋",
            250.0,
            || after_segments(Variant::Ns2, 200, 200),
        ),
        Vector::new(
            "ns-3.29, W = 200, 34 acknowledgements of 3: every 17th makes 51, a segment, and 1 is forgotten",
            202.0,
            || {
                Probe::new("scalable", Variant::Ns3_29, &Start::avoidance(200, 100))
                    .acks(34, 3)
                    .window()
            },
        ),
        Vector::new(
            "ns-3.29, 207 in flight at a loss: ⌊207 · 0.875⌋ = ⌊181.125⌋",
            181.0,
            || Probe::new("scalable", Variant::Ns3_29, &Start::avoidance(207, 100)).loss().window(),
        ),
        Vector::new("W = 200 at a loss: 200 − ⌊200/8⌋", 175.0, || after_loss(200)),
        Vector::new("W = 207 at a loss: 207 − ⌊25.875⌋", 182.0, || after_loss(207)),
    ],
    build,
};

fn after_round(variant: Variant, cwnd: u32) -> f64 {
    after_segments(variant, cwnd, cwnd)
}

fn after_segments(variant: Variant, cwnd: u32, acknowledged: u32) -> f64 {
    Probe::new("scalable", variant, &Start::avoidance(cwnd, 100)).acks(acknowledged, 1).window()
}

fn after_loss(cwnd: u32) -> f64 {
    Probe::new("scalable", Variant::Linux6_1, &Start::avoidance(cwnd, 100)).loss().window()
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = SlowStart::of(variant);
    let b = params.get("b");
    // 0.01 is not a binary fraction, but its inverse rounds to the whole number meant.
    let inverse_a = (1.0 / params.get("a")).round() as u32;
    match variant {
        Variant::Paper => {
            let rule = Kelly { a: params.get("a"), b, low_window: params.get("low_window") as u32 };
            Box::new(Windowed::new(rule, slow_start, init))
        }
        Variant::Ns2 => {
            let low_window = params.get("low_window");
            Box::new(Agent::limited(ns2::Ns2 { a: params.get("a"), b, low_window }, params, init))
        }
        Variant::Linux6_1 => {
            let rule = Linux6_1 { inverse_a, b };
            Box::new(Windowed::new(rule, slow_start, init))
        }
        Variant::Ns3_29 => Box::new(Socket::new(ns3::Scalable::new(inverse_a, b), init)),
        Variant::Linux2_6_22 => {
            let rule = Linux2_6_22 { inverse_a, b };
            Box::new(Windowed::new(rule, slow_start, init))
        }
    }
}

/// The window minus `b` of it, rounded down: for an eighth that is Linux's shift.
fn less(window: &Window, b: f64) -> u32 {
    window.cwnd - whole_segments(f64::from(window.cwnd) * b)
}

struct Kelly {
    a: f64,
    b: f64,
    low_window: u32,
}

impl Rule for Kelly {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        let a = if window.cwnd > self.low_window { self.a } else { 1.0 / window.exact() };
        window.add(a * f64::from(acked));
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        less(window, if window.cwnd > self.low_window { self.b } else { 0.5 })
    }
}

struct Linux6_1 {
    inverse_a: u32,
    b: f64,
}

impl Rule for Linux6_1 {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.additive_increase(window.cwnd.min(self.inverse_a), acked);
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        less(window, self.b)
    }
}

struct Linux2_6_22 {
    inverse_a: u32,
    b: f64,
}

impl Rule for Linux2_6_22 {
    fn growth(&mut self, window: &mut Window, _acked: u32, _ack: &Ack, _flow: &Flow) {
        // `count_ack` grows on the acknowledgement that finds the counter full, which is also the
        // one by which it would exceed the limit.
        window.count_ack(window.cwnd.min(self.inverse_a));
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        less(window, self.b)
    }

    fn recovery_window(&self, ssthresh: u32) -> u32 {
        ssthresh / 2
    }

    fn undo_window(&self, window: &Window, _prior: u32) -> u32 {
        window.ssthresh.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    fn grow(rule: &mut impl Rule, window: &mut Window, acknowledgements: u32) {
        for _ in 0..acknowledgements {
            rule.growth(window, 1, &ack(1, 40), &flow(1000, window.cwnd, 40));
        }
    }

    #[test]
    fn a_round_at_200_segments() {
        // 200 · 0.01 = 2.
        let mut window = Window::new(200);
        grow(&mut Kelly { a: 0.01, b: 0.125, low_window: 16 }, &mut window, 200);
        assert!((window.exact() - 202.0).abs() < 1e-9);
        // 200/100 = 2.
        let mut window = Window::new(200);
        grow(&mut Linux6_1 { inverse_a: 100, b: 0.125 }, &mut window, 200);
        assert_eq!(window.cwnd, 202);
        // The counter exceeds 50 at the 51st: ⌊200/51⌋ = 3.
        let mut window = Window::new(200);
        grow(&mut Linux2_6_22 { inverse_a: 50, b: 0.125 }, &mut window, 200);
        assert_eq!(window.cwnd, 203);
    }

    #[test]
    fn a_round_at_small_windows() {
        // 6.1 at 50: min(50, 100) counted: +1. The paper at 50: 50 · 0.01 = 0.5.
        let mut window = Window::new(50);
        grow(&mut Linux6_1 { inverse_a: 100, b: 0.125 }, &mut window, 50);
        assert_eq!(window.cwnd, 51);
        let mut rule = Kelly { a: 0.01, b: 0.125, low_window: 16 };
        let mut window = Window::new(50);
        grow(&mut rule, &mut window, 50);
        assert!((window.exact() - 50.5).abs() < 1e-9);
        // At the low window it is Reno: 1/16 per segment, a little less each time.
        let mut window = Window::new(16);
        grow(&mut rule, &mut window, 1);
        assert!((window.exact() - 16.0625).abs() < 1e-12);
        // 2.6.22 at 10 needs eleven.
        let mut window = Window::new(10);
        let mut rule = Linux2_6_22 { inverse_a: 50, b: 0.125 };
        grow(&mut rule, &mut window, 10);
        assert_eq!(window.cwnd, 10);
        grow(&mut rule, &mut window, 1);
        assert_eq!(window.cwnd, 11);
    }

    #[test]
    fn a_loss_reduces_by_an_eighth() {
        // 200 − 25 = 175; 207 − ⌊25.875⌋ = 182; at the low window half: 16 − 8 = 8.
        let flow = flow(0, 200, 40);
        let mut kelly = Kelly { a: 0.01, b: 0.125, low_window: 16 };
        assert_eq!(kelly.backoff(&Window::new(200), Signal::Loss, &flow), 175);
        assert_eq!(kelly.backoff(&Window::new(16), Signal::Loss, &flow), 8);
        let mut linux = Linux6_1 { inverse_a: 100, b: 0.125 };
        assert_eq!(linux.backoff(&Window::new(207), Signal::Loss, &flow), 182);
        // Rounded down as by the kernel's shift: 7 − ⌊7/8⌋ = 7.
        assert_eq!(linux.backoff(&Window::new(7), Signal::Loss, &flow), 7);
    }

    #[test]
    fn rounds_to_recover_do_not_depend_on_the_window() {
        // ln(8/7)/ln 1.01 = 0.13353/0.0099503 = 13.42 rounds: thirteen are not enough,
        // fourteen are.
        for before in [1_000_u32, 100_000] {
            let mut rule = Kelly { a: 0.01, b: 0.125, low_window: 16 };
            let mut window = Window::new(before - before / 8);
            for _ in 0..13 {
                let round = window.cwnd;
                grow(&mut rule, &mut window, round);
            }
            assert!(window.cwnd < before);
            let round = window.cwnd;
            grow(&mut rule, &mut window, round);
            assert!(window.cwnd >= before);
        }
    }
}
