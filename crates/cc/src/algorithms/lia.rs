//! LIA, Linked Increases: the connections of one application together get no more than one Reno on
//! the best of their paths, and shift traffic away from congested ones.
//!
//! Source: C. Raiciu, M. Handley, D. Wischik, RFC 6356, 2011, section 3. The window grows by
//! `min(a/Σw, 1/w_i)` segments per segment acknowledged on path i, where
//! `a = Σw · max(w_i/rtt_i²) / (Σ w_i/rtt_i)²`, w in segments and rtt smoothed. A loss halves the
//! window, as in Reno; slow start, timeouts and undo are per connection. While a connection
//! recovers, its threshold counts as its window.
//!
//! Alone, or while no other connection of its group has an RTT, it is Reno. The RFC allows `a` to
//! be computed once per round trip or per change of the window; here it is computed at every
//! acknowledgement, in real numbers. The MPTCP kernel
//! (`net/mptcp/mptcp_coupled.c`) uses integers and counts acknowledgements.

use crate::coupled::{Coupled, Link, largest, rate_per_rtt, total_rate};
use crate::{
    Algorithm, CongestionControl, Family, Init, Params, SlowStart, Subflow, Variant, Vector,
    Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "lia",
    title: "LIA",
    summary: "Connections of one application grow together as one Reno on the best path.",
    family: Family::Aggregate,
    signal: "loss",
    year: 2011,
    source: "RFC 6356",
    variants: &[Variant::Paper],
    params: &[],
    vectors: &[
        Vector::new(
            "w = 10, 20, rtt = 0.1, 0.2 s: a = 30 · max(1000, 500)/(100 + 100)² = 0.75",
            0.75,
            || aggressiveness(&TWO_PATHS),
        ),
        Vector::new("there, first path, a segment: min(0.75/30, 1/10) = 0.025", 0.025, || {
            Lia::increase(&TWO_PATHS[0], &TWO_PATHS)
        }),
        Vector::new(
            "w = 10, 10, equal rtt: a = 20 · 1000/200² = 0.5; min(0.5/20, 1/10) = 0.025",
            0.025,
            || Lia::increase(&EQUAL_PATHS[0], &EQUAL_PATHS),
        ),
        Vector::new(
            "w = 1, 100, rtt = 0.01, 1 s, second path: a = 101 · 10 000/200² = 25.25; min(25.25/101, 1/100) = 0.01",
            0.01,
            || Lia::increase(&UNLIKE_PATHS[1], &UNLIKE_PATHS),
        ),
        Vector::new("a loss on the first path: 10 · (1 − 0.5) = 5", 5.0, || {
            10.0 * (1.0 - Lia::taken(&TWO_PATHS[0], &TWO_PATHS))
        }),
    ],
    build,
};

const fn path(cwnd: f64, srtt_s: f64) -> Subflow {
    Subflow { own: false, cwnd, srtt_s, loss_interval: 0 }
}

const TWO_PATHS: [Subflow; 2] = [path(10.0, 0.1), path(20.0, 0.2)];
const EQUAL_PATHS: [Subflow; 2] = [path(10.0, 0.1), path(10.0, 0.1)];
const UNLIKE_PATHS: [Subflow; 2] = [path(1.0, 0.01), path(100.0, 1.0)];

fn build(variant: Variant, _params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    Box::new(Windowed::new(Coupled::<Lia>::new(init), SlowStart::of(variant), init))
}

struct Lia;

/// RFC 6356 equation 2.
fn aggressiveness(all: &[Subflow]) -> f64 {
    let best = largest(all, rate_per_rtt);
    let total = total_rate(all);
    total_window(all) * best / (total * total)
}

fn total_window(all: &[Subflow]) -> f64 {
    all.iter().map(|subflow| subflow.cwnd).sum()
}

impl Link for Lia {
    /// RFC 6356 equation 1.
    fn increase(own: &Subflow, all: &[Subflow]) -> f64 {
        (aggressiveness(all) / total_window(all)).min(1.0 / own.cwnd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupled::tests::subflows;

    #[test]
    fn never_faster_than_reno_on_any_path() {
        for paths in
            [[(1.0, 0.001), (1e6, 10.0)], [(1e6, 10.0), (1.0, 0.001)], [(7.0, 0.05), (7.0, 0.05)]]
        {
            let all = subflows(&paths);
            for own in &all {
                let increase = Lia::increase(own, &all);
                assert!(increase > 0.0 && increase <= 1.0 / own.cwnd, "{paths:?}: {increase}");
            }
        }
    }

    #[test]
    fn with_equal_rtts_the_sum_grows_as_one_reno() {
        // a = Σw·max w/(Σw)² = max w/Σw, so a round of all, Σw segments, gives Σw·a/Σw = max w/Σw:
        // 30/60 = 0.5 of a segment.
        let all = subflows(&[(10.0, 0.1), (20.0, 0.1), (30.0, 0.1)]);
        let round: f64 = all.iter().map(|own| own.cwnd * Lia::increase(own, &all)).sum();
        assert!((round - 0.5).abs() < 1e-12, "{round}");
    }
}
