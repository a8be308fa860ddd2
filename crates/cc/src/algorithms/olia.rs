//! OLIA, Opportunistic Linked Increases: as LIA, but good paths with small windows grow faster, at
//! the expense of those with the largest windows.
//!
//! Source: R. Khalili and others, "MPTCP is not Pareto-Optimal", CoNEXT 2012. The window grows by
//! `(w_i/rtt_i²)/(Σ w/rtt)² + e_i/w_i` segments per segment acknowledged on path i. M are the paths
//! with the largest window; B those with the largest `ℓ/rtt²`, where ℓ is the larger of the bytes
//! acknowledged between the last two losses and since the last. If some path is in B and not in M,
//! then `e = 1/(N · |B∖M|)` on those, `−1/(N · |M|)` on M, and 0 elsewhere, with N paths; otherwise
//! e is 0. A loss halves the window. Slow start, timeouts and undo are per connection, and while a
//! connection recovers its threshold counts as its window.
//!
//! From the MPTCP kernel (`net/mptcp/mptcp_olia.c`): the ranking by `ℓ/rtt²`; windows are compared
//! in whole segments; before any loss all paths rank by their acknowledged bytes; a loss with
//! nothing acknowledged since the last one does not count. Its integer arithmetic is not
//! reproduced. Alone, or while no other connection of its group has an RTT, it is Reno.

use crate::coupled::{Coupled, Link, largest, linked_increase};
use crate::{
    Algorithm, CongestionControl, Family, Init, Params, SlowStart, Subflow, Variant, Vector,
    Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "olia",
    title: "OLIA",
    summary: "Linked increases that move the window towards the best paths.",
    family: Family::Aggregate,
    signal: "loss",
    year: 2012,
    source: "Khalili et al., CoNEXT 2012; MPTCP kernel",
    variants: &[Variant::Paper],
    params: &[],
    vectors: &[
        Vector::new(
            "w = 10, 20, rtt = 0.1, 0.2 s: (10/0.01)/(100 + 100)² = 0.025 on the first path",
            0.025,
            || linked_increase(&TWO_PATHS[0], &TWO_PATHS),
        ),
        Vector::new("there, on the second path: (20/0.04)/200² = 0.0125", 0.0125, || {
            linked_increase(&TWO_PATHS[1], &TWO_PATHS)
        }),
        Vector::new(
            "ℓ equal: B = {1}, M = {2}; first path 0.025 + 1/(2 · 1)/10 = 0.075",
            0.075,
            || Olia::increase(&TWO_PATHS[0], &TWO_PATHS),
        ),
        Vector::new("second path 0.0125 − 1/(2 · 1)/20 = −0.0125", -0.0125, || {
            Olia::increase(&TWO_PATHS[1], &TWO_PATHS)
        }),
        Vector::new(
            "ℓ of the second path 5 times as large: 5/0.04 > 1/0.01, B = M = {2}, e = 0: 0.0125",
            0.0125,
            || Olia::increase(&BEST_IS_LARGEST[1], &BEST_IS_LARGEST),
        ),
    ],
    build,
};

const fn path(cwnd: f64, srtt_s: f64, loss_interval: u64) -> Subflow {
    Subflow { own: false, cwnd, srtt_s, loss_interval }
}

const TWO_PATHS: [Subflow; 2] = [path(10.0, 0.1, 1_000), path(20.0, 0.2, 1_000)];
const BEST_IS_LARGEST: [Subflow; 2] = [path(10.0, 0.1, 1_000), path(20.0, 0.2, 5_000)];

fn build(variant: Variant, _params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    Box::new(Windowed::new(Coupled::<Olia>::new(init), SlowStart::of(variant), init))
}

struct Olia;

/// The square of Reno's rate with a loss every ℓ bytes, up to a constant factor.
fn quality(subflow: &Subflow) -> f64 {
    subflow.loss_interval as f64 / (subflow.srtt_s * subflow.srtt_s)
}

fn whole_window(subflow: &Subflow) -> f64 {
    subflow.cwnd.floor()
}

/// The second term times the window, which shifts growth from the largest windows to the best
/// paths.
fn shift(own: &Subflow, all: &[Subflow]) -> f64 {
    let largest_window = largest(all, whole_window);
    let best_quality = largest(all, quality);
    let in_m = |path: &Subflow| whole_window(path) >= largest_window;
    let in_b_not_m = |path: &Subflow| !in_m(path) && quality(path) >= best_quality;
    let count = |is_in: &dyn Fn(&Subflow) -> bool| all.iter().filter(|path| is_in(path)).count();
    let paths = all.len() as f64;
    match count(&in_b_not_m) {
        0 => 0.0,
        best if in_b_not_m(own) => 1.0 / (paths * best as f64),
        _ if in_m(own) => -1.0 / (paths * count(&in_m) as f64),
        _ => 0.0,
    }
}

impl Link for Olia {
    fn increase(own: &Subflow, all: &[Subflow]) -> f64 {
        linked_increase(own, all) + shift(own, all) / own.cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coupled::tests::subflows;
    use crate::probe::{Probe, Start};
    use crate::{Coupling, Signal};

    #[test]
    fn the_best_gain_at_the_expense_of_the_largest() {
        // Four paths: two with the largest window, one best of the rest (shortest round trip), one
        // that is neither.
        let all = subflows(&[(30.0, 0.2), (30.0, 0.2), (10.0, 0.1), (10.0, 0.2)]);
        let shifts: Vec<f64> = all.iter().map(|own| shift(own, &all)).collect();
        // −1/(4·2) twice, 1/(4·1), 0.
        assert_eq!(shifts, [-0.125, -0.125, 0.25, 0.0]);
        assert_eq!(shifts.iter().sum::<f64>(), 0.0);
    }

    #[test]
    fn a_fraction_of_a_segment_does_not_make_a_window_larger() {
        let all = subflows(&[(20.4, 0.1), (20.0, 0.1)]);
        assert_eq!(shift(&all[0], &all), 0.0);
        assert_eq!(shift(&all[1], &all), 0.0);
    }

    #[test]
    fn the_path_that_loses_less_wins() {
        // Both paths are equal, but the second has five times as many losses: in the end the first
        // has more than half.
        let mut probes: Vec<Probe> = Coupling::members(2)
            .into_iter()
            .map(|member| {
                let start = Start { coupling: Some(member), ..Start::avoidance(20, 100) };
                Probe::new("olia", Variant::Paper, &start)
            })
            .collect();
        for round in 0..200 {
            for (index, probe) in probes.iter_mut().enumerate() {
                probe.round();
                if round % (if index == 0 { 25 } else { 5 }) == 4 {
                    probe.congestion(Signal::Loss);
                    probe.recover();
                }
            }
        }
        assert!(probes[0].cwnd() > 2 * probes[1].cwnd());
    }
}
