//! Tahoe: any loss resets the window to one segment, and slow start returns it to half.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988. Growth is Reno's: one
//! segment per segment acknowledged below the threshold, `1/cwnd` segments above it. At the third
//! duplicate acknowledgement, as at a timeout, `ssthresh = max(flight size/2, 2)` and `cwnd = 1`;
//! there is no fast recovery, and the sender continues from the first unacknowledged byte.
//!
//! The 1988 paper halves the window; RFC 5681 equation 4 halves FlightSize, as here and in Reno.
//! Congestion marks came later: a mark sets the window to the threshold, as in Reno, as there is
//! nothing to retransmit.

use crate::probe::{Probe, Start};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed, window::flight,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "tahoe",
    title: "Tahoe",
    summary: "Reno's growth; any loss starts again from one segment.",
    family: Family::Classic,
    signal: "loss",
    year: 1988,
    source: "Jacobson, SIGCOMM 1988",
    variants: &[Variant::Paper],
    params: &[],
    vectors: &[
        Vector::new("20 in flight at a loss: S = 20/2 = 10", 10.0, || {
            lost(20).ssthresh().map_or(f64::NAN, |segments| segments as f64)
        }),
        Vector::new("20 in flight at a loss: W = 1", 1.0, || lost(20).cwnd() as f64),
        Vector::new("3 in flight at a loss: S = max(⌊3/2⌋, 2) = 2", 2.0, || {
            lost(3).ssthresh().map_or(f64::NAN, |segments| segments as f64)
        }),
        Vector::new("from 20, rounds after a loss: 2, 4, 8, then up to S: 10", 10.0, || {
            let mut probe = lost(20);
            probe.rounds(4);
            probe.cwnd() as f64
        }),
        Vector::new("and one more round: 10 + 1", 11.0, || {
            let mut probe = lost(20);
            probe.rounds(5);
            probe.cwnd() as f64
        }),
        Vector::new("20 in flight at a congestion mark: W = S = 10", 10.0, || {
            Probe::new("tahoe", Variant::Paper, &Start::avoidance(20, 100))
                .congestion(Signal::Ecn)
                .window()
        }),
    ],
    build,
};

fn lost(cwnd: u32) -> Probe {
    let mut probe = Probe::new("tahoe", Variant::Paper, &Start::avoidance(cwnd, 100));
    probe.loss();
    probe
}

fn build(variant: Variant, _params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let rule = Tahoe { signal: Signal::Loss };
    Box::new(Windowed::new(rule, SlowStart::of(variant), init))
}

struct Tahoe {
    /// Cause of the current episode.
    signal: Signal,
}

impl Rule for Tahoe {
    fn restarts_after_loss(&self) -> bool {
        true
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.additive_increase(window.cwnd, acked);
    }

    fn backoff(&mut self, window: &Window, signal: Signal, flow: &Flow) -> u32 {
        self.signal = signal;
        flight(window, flow) / 2
    }

    fn recovery_window(&self, ssthresh: u32) -> u32 {
        if self.signal == Signal::Loss { 1 } else { ssthresh }
    }
}
