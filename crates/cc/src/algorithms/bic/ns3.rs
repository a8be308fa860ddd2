//! BIC of ns-3.29 (`tcp-bic.cc`, `TcpBic`).

use crate::ns3::{CongestionOps, Tcb, new_reno, to_u32};
use crate::probe::{Probe, Start};
use crate::{Params, Signal, Variant, Vector};

pub(super) const KEPT: Vector = Vector::new(
    "ns-3.29, W = 37 at a loss: ⌊37 · 0.8 · 1448⌋ = ⌊42860.8⌋ bytes",
    42_860.0,
    || {
        Probe::new("bic", Variant::Ns3_29, &Start::avoidance(37, 100))
            .congestion(Signal::Loss)
            .cc
            .cwnd() as f64
    },
);

pub(super) const NEAR: Vector = Vector::new(
    "ns-3.29, W = 997, three below the maximum: one for ⌊997 · 5/4⌋ segments",
    1_246.0,
    || f64::from(below_a_maximum_of_1000().segments_per_increase(997)),
);

fn below_a_maximum_of_1000() -> Bic {
    Bic {
        beta: 0.8,
        max_increment: 16,
        low_window: 14,
        smooth_part: 5,
        part: 4,
        fast_convergence: true,
        count: 0,
        w_max: 1_000,
    }
}

pub(super) struct Bic {
    /// `Beta`.
    beta: f64,
    /// `MaxIncr`.
    max_increment: u32,
    /// `LowWnd`.
    low_window: u32,
    /// `SmoothPart`.
    smooth_part: u32,
    /// `BinarySearchCoefficient`.
    part: u32,
    /// `FastConvergence`.
    fast_convergence: bool,
    /// `m_cWndCnt`.
    count: u32,
    /// `m_lastMaxCwnd`, segments.
    w_max: u32,
}

impl Bic {
    pub(super) fn new(params: &Params) -> Self {
        Bic {
            beta: params.get("beta"),
            max_increment: params.get("max_increment") as u32,
            low_window: params.get("low_window") as u32,
            smooth_part: params.get("smooth_part") as u32,
            part: params.get("search_part") as u32,
            fast_convergence: params.is_on("fast_convergence"),
            count: 0,
            w_max: 0,
        }
    }

    /// `Update`: segments to be acknowledged for each one that the window of `cwnd` grows.
    fn segments_per_increase(&self, cwnd: u32) -> u32 {
        if cwnd < self.low_window {
            return cwnd;
        }
        let linear = cwnd / self.max_increment;
        let smooth = cwnd.wrapping_mul(self.smooth_part) / self.part;
        let mut segments = if cwnd < self.w_max {
            match (self.w_max - cwnd) / self.part {
                step if step > self.max_increment => linear,
                0 | 1 => smooth,
                step => to_u32(f64::from(cwnd) / f64::from(step)),
            }
        } else {
            match cwnd - self.w_max {
                beyond if beyond < self.part => smooth,
                beyond if beyond < self.max_increment.wrapping_mul(self.part - 1) => {
                    cwnd.wrapping_mul(self.part - 1) / beyond
                }
                _ => linear,
            }
        };
        if self.w_max == 0 {
            segments = segments.min(20);
        }
        segments.max(1)
    }
}

impl CongestionOps for Bic {
    /// Slow start subtracts a segment from the count before checking it, even from zero.
    fn increase_window(&mut self, tcb: &mut Tcb, mut segments: u32) {
        if tcb.is_below() {
            tcb.cwnd = tcb.cwnd.wrapping_add(tcb.segment_size);
            segments = segments.wrapping_sub(1);
        }
        if !tcb.is_below() && segments > 0 {
            self.count = self.count.wrapping_add(segments);
            if self.count > self.segments_per_increase(tcb.cwnd_segments()) {
                tcb.cwnd = tcb.cwnd.wrapping_add(tcb.segment_size);
                self.count = 0;
            }
        }
    }

    fn ssthresh(&mut self, tcb: &Tcb, in_flight: u32) -> u32 {
        let cwnd = tcb.cwnd_segments();
        let kept = f64::from(cwnd) * self.beta;
        let is_falling = cwnd < self.w_max && self.fast_convergence;
        self.w_max = if is_falling { to_u32(kept) } else { cwnd };
        if cwnd < self.low_window {
            new_reno::ssthresh(tcb, in_flight)
        } else {
            to_u32(kept.max(2.0) * f64::from(tcb.segment_size))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::testing::{MSS, tcb};

    #[test]
    fn the_search_goes_a_quarter_of_the_distance_in_whole_segments() {
        // 1000 − 872 = 4·32 > 16: ⌊872/16⌋. 1000 − 950 = 4·12 + 2: ⌊950/12⌋. 4·1: ⌊996·5/4⌋.
        let mut bic = below_a_maximum_of_1000();
        let counts = [872, 950, 996].map(|cwnd| bic.segments_per_increase(cwnd));
        assert_eq!(counts, [54, 79, 1_245]);
        // Beyond: ⌊1003·5/4⌋, ⌊1012·3/12⌋, and from 48 on ⌊1048/16⌋.
        let counts = [1_003, 1_012, 1_048].map(|cwnd| bic.segments_per_increase(cwnd));
        assert_eq!(counts, [1_253, 253, 65]);
        // Reno below 14, and at most 20 before the first loss: 14·3/14, ⌊1000/16⌋.
        bic.w_max = 0;
        assert_eq!([13, 14, 1_000].map(|cwnd| bic.segments_per_increase(cwnd)), [13, 3, 20]);
    }

    #[test]
    fn a_falling_maximum_becomes_the_window_after_the_loss() {
        let mut bic = below_a_maximum_of_1000();
        assert_eq!(bic.ssthresh(&tcb(900 * MSS, 0), 0), 720 * MSS);
        assert_eq!(bic.w_max, 720);
        assert_eq!(bic.ssthresh(&tcb(13 * MSS, 0), 9 * MSS), 4 * MSS + MSS / 2);
    }

    #[test]
    fn slow_start_grows_for_an_acknowledgement_of_no_segment() {
        // And the count wraps: 0 − 1.
        let mut bic = below_a_maximum_of_1000();
        bic.w_max = 0;
        let mut tcb = tcb(19 * MSS, 20 * MSS);
        bic.increase_window(&mut tcb, 0);
        assert_eq!((tcb.cwnd, bic.count), (21 * MSS, 0));
    }
}
