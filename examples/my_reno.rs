//! My Reno: one segment more per round trip, half of what is unacknowledged kept at a loss.
//!
//! Growth: `W ← W + 1` for each window of segments delivered. Back-off: `W ← max(β F, 2)`, where
//! `F` is what is unacknowledged, at most the window, and `β = 1/2`.
//!
//! Source: RFC 5681 section 3.1, equations 3 and 4. The window is counted in whole segments, as
//! Linux counts it; the RFC counts bytes.

use fairway_units::Duration;

use crate::probe::{MSS, Probe};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "my_reno",
    title: "My Reno",
    summary: "One segment more per round trip; half of the flight kept at a loss.",
    family: Family::Classic,
    signal: "loss",
    year: 2009,
    source: "RFC 5681",
    variants: &[Variant::Paper],
    // RFC 5681 equation 4: FlightSize / 2.
    params: &[Param::new("beta", "share of the flight kept at a loss", 0.5, 0.1, 0.9)],
    vectors: &[
        Vector::new("W = 10, one window acknowledged: 10 + 1", 11.0, || {
            let mut probe = avoiding(10, 0.5);
            probe.round();
            probe.cwnd() as f64
        }),
        Vector::new("W = 21, all of it in flight, at a loss: ⌊21/2⌋", 10.0, || {
            after_loss(21, 0.5)
        }),
        Vector::new("W = 3 at a loss: ⌊3/2⌋ = 1, at least 2", 2.0, || after_loss(3, 0.5)),
        Vector::new("W = 20 at a loss, β = 0.7: 14", 14.0, || after_loss(20, 0.7)),
    ],
    build,
};

fn build(_variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    new(params.get("beta"), init)
}

fn new(beta: f64, init: &Init) -> Box<dyn CongestionControl> {
    Box::new(Windowed::new(MyReno { beta }, SlowStart::Standard, init))
}

struct MyReno {
    beta: f64,
}

impl Rule for MyReno {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.additive_increase(window.cwnd, acked);
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        let in_segments = flow.flight_size().div_ceil(u64::from(flow.mss.max(1)));
        let flight = in_segments.min(u64::from(window.cwnd));
        (self.beta * flight as f64) as u32
    }
}

/// A sender in congestion avoidance with a window of `cwnd` segments.
fn avoiding(cwnd: u32, beta: f64) -> Probe {
    let init = Init {
        mss: MSS,
        initial_window: u64::from(cwnd) * u64::from(MSS),
        initial_ssthresh: Some(2 * u64::from(MSS)),
        slow_start: None,
        seed: 1,
        coupling: None,
        abe: false,
    };
    Probe::of(new(beta, &init), Duration::from_millis(100))
}

/// The window with which it leaves an episode of congestion that began at `cwnd` segments.
fn after_loss(cwnd: u32, beta: f64) -> f64 {
    let mut probe = avoiding(cwnd, beta);
    probe.loss();
    probe.cwnd() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_trip_is_a_segment_whoever_counts_acknowledgements() {
        // Ten segments, acknowledged by ones, twos or fives: 11 all the same.
        for segments in [1, 2, 5] {
            let mut probe = avoiding(10, 0.5);
            for _ in 0..10 / segments {
                probe.ack(segments);
            }
            assert_eq!(probe.cwnd(), 11, "{segments} segments per acknowledgement");
        }
    }
}
