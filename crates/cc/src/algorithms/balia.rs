//! BALIA, Balanced Linked Adaptation: coupled growth and back-off that balance fairness to Reno and
//! responsiveness.
//!
//! Source: Q. Peng, A. Walid, J. Hwang, S. Low, "Multipath TCP: Analysis, Design, and
//! Implementation", IEEE/ACM ToN 24(1), 2016; draft-walid-mptcp-congestion-control. With
//! `x = w/rtt` and `r = max x/x_i`, the window grows by `x_i/(rtt_i (Σx)²) · (1 + r)/2 · (4 + r)/5`
//! segments per segment acknowledged on path i; a loss reduces it by the fraction `min(r, 1.5)/2`.
//! Slow start, timeouts and undo are per connection, and while a connection recovers its threshold
//! counts as its window.
//!
//! The MPTCP kernel (`net/mptcp/mptcp_balia.c`) computes the same with integers: there r is a whole
//! number, so that a loss reduces the window by half or by three quarters. A loss reduces
//! FlightSize, as in RFC 5681, where the sources say the window. Alone, or while no other
//! connection of its group has an RTT, it is Reno.

use crate::coupled::{Coupled, Link, largest, linked_increase, subflow_rate};
use crate::{
    Algorithm, CongestionControl, Family, Init, Params, SlowStart, Subflow, Variant, Vector,
    Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "balia",
    title: "BALIA",
    summary: "Linked growth, and a back-off that is larger on the slower paths.",
    family: Family::Aggregate,
    signal: "loss",
    year: 2014,
    source: "Peng et al., IEEE/ACM ToN 24(1), 2016; MPTCP kernel",
    variants: &[Variant::Paper],
    params: &[],
    vectors: &[
        Vector::new(
            "w = 10, 20, rtt = 0.1, 0.2 s: x = 100, 100, r = 1; 100/(0.1 · 200²) = 0.025",
            0.025,
            || Balia::increase(&TWO_PATHS[0], &TWO_PATHS),
        ),
        Vector::new("there, second path: 100/(0.2 · 200²) = 0.0125", 0.0125, || {
            Balia::increase(&TWO_PATHS[1], &TWO_PATHS)
        }),
        Vector::new("there, a loss on the second path takes 20 · 1/2 = 10", 10.0, || {
            20.0 * Balia::taken(&TWO_PATHS[1], &TWO_PATHS)
        }),
        Vector::new(
            "w = 10, 30, rtt = 0.1 s: r = 3; 100/(0.1 · 400²) · 4/2 · 7/5 = 0.0175",
            0.0175,
            || Balia::increase(&ONE_LARGER[0], &ONE_LARGER),
        ),
        Vector::new("there, second path: r = 1; 300/(0.1 · 400²) = 0.01875", 0.01875, || {
            Balia::increase(&ONE_LARGER[1], &ONE_LARGER)
        }),
        Vector::new("there, a loss on the first path takes 10 · 1.5/2 = 7.5", 7.5, || {
            10.0 * Balia::taken(&ONE_LARGER[0], &ONE_LARGER)
        }),
    ],
    build,
};

const fn path(cwnd: f64, srtt_s: f64) -> Subflow {
    Subflow { own: false, cwnd, srtt_s, loss_interval: 0 }
}

const TWO_PATHS: [Subflow; 2] = [path(10.0, 0.1), path(20.0, 0.2)];
const ONE_LARGER: [Subflow; 2] = [path(10.0, 0.1), path(30.0, 0.1)];

fn build(variant: Variant, _params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    Box::new(Windowed::new(Coupled::<Balia>::new(init), SlowStart::of(variant), init))
}

/// Greatest r in a back-off (draft-walid-mptcp-congestion-control).
const MAX_RATIO_AT_LOSS: f64 = 1.5;

struct Balia;

/// Ratio of the fastest path's rate to this one's.
fn ratio(own: &Subflow, all: &[Subflow]) -> f64 {
    largest(all, subflow_rate) / subflow_rate(own)
}

impl Link for Balia {
    fn increase(own: &Subflow, all: &[Subflow]) -> f64 {
        let r = ratio(own, all);
        linked_increase(own, all) * (1.0 + r) / 2.0 * (4.0 + r) / 5.0
    }

    fn taken(own: &Subflow, all: &[Subflow]) -> f64 {
        ratio(own, all).min(MAX_RATIO_AT_LOSS) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Coupling;
    use crate::coupled::tests::subflows;
    use crate::probe::{Probe, Start};

    #[test]
    fn a_loss_reduces_by_half_to_three_quarters() {
        for paths in [[(1.0, 1.0), (1e6, 0.001)], [(10.0, 0.1), (12.0, 0.1)]] {
            let all = subflows(&paths);
            for own in &all {
                let taken = Balia::taken(own, &all);
                assert!((0.5..=0.75).contains(&taken), "{taken}");
            }
        }
    }

    #[test]
    fn the_slower_connection_backs_off_further() {
        let members = Coupling::members(2);
        members[1].tell(300.0, fairway_units::Duration::from_millis(100));
        let start = Start { coupling: Some(members[0].clone()), ..Start::avoidance(100, 100) };
        let mut probe = Probe::new("balia", Variant::Paper, &start);
        probe.loss();
        // r = 3: a quarter is left of 100.
        assert_eq!(probe.cwnd(), 25);
    }
}
