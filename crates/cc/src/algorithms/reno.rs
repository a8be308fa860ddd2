//! Reno: one segment more per round trip, half the window at a loss.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988; RFC 5681 section 3.1.
//! The window is counted in segments. Linux 6.1 (`tcp_cong.c`, `tcp_reno_cong_avoid`) counts
//! delivered segments; Linux 2.6.22 counts acknowledgements, one per call, and holds half the
//! threshold while it recovers (`tcp_reno_min_cwnd`).

use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Params, Rule, Signal, SignalKind,
    SlowStart, Variant, Window, Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "reno",
    title: "Reno",
    summary: "One segment more per round trip; half the window at a loss.",
    family: Family::Classic,
    signal: SignalKind::Loss,
    year: 1988,
    source: "Jacobson, SIGCOMM 1988; RFC 5681",
    variants: &[Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22],
    params: &[],
    build,
};

fn build(variant: Variant, _params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = init.slow_start.clone().unwrap_or(SlowStart::of(variant));
    Box::new(Windowed::new(Reno { variant }, slow_start, init.mss, init.initial_window))
}

struct Reno {
    variant: Variant,
}

impl Rule for Reno {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        match self.variant {
            Variant::Linux2_6_22 => {
                window.count_ack(window.cwnd);
            }
            Variant::Paper | Variant::Linux6_1 => window.additive_increase(window.cwnd, acked),
        }
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        window.cwnd / 2
    }

    fn recovery_window(&self, ssthresh: u32) -> u32 {
        match self.variant {
            Variant::Linux2_6_22 => ssthresh / 2,
            Variant::Paper | Variant::Linux6_1 => ssthresh,
        }
    }
}
