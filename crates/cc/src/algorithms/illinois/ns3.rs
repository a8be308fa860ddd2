//! Illinois of ns-3.29 (`tcp-illinois.cc`, `TcpIllinois`).

use crate::ns3::{CongestionOps, TIME_MAX, TIME_MIN, Tcb, new_reno, to_u32};
use crate::probe::{Probe, Start};
use crate::{Params, Phase, Variant, Vector};

pub(super) const COUNTED: Vector = Vector::new(
    "ns-3.29, W = 10 at α = 10: one acknowledgement counts 10, a segment more",
    11.0,
    || Probe::new("illinois", Variant::Ns3_29, &Start::avoidance(10, 100)).ack(1).window(),
);

pub(super) const ALPHA: Vector = Vector::new(
    "ns-3.29, round trips of 100 and 120 ms: da = 10, dm = 20: α = 19.8·10/(19.8 + 9.8·9.7/0.3)",
    0.588_12,
    || {
        let mut rule = defaults();
        for rtt in [100_000_000, 120_000_000] {
            rule.sample(rtt);
        }
        rule.recalculate(144_800);
        rule.alpha
    },
)
.within(1e-5);

pub(super) struct Illinois {
    /// `AlphaMin` to `Theta`.
    alpha_min: f64,
    alpha_max: f64,
    alpha_base: f64,
    beta_min: f64,
    beta_max: f64,
    beta_base: f64,
    win_thresh: u32,
    theta: u32,
    alpha: f64,
    beta: f64,
    /// `m_sumRtt` and `m_cntRtt`: of a round.
    sum_rtt: i64,
    samples: u32,
    base_rtt: i64,
    max_rtt: i64,
    /// `m_endSeq`.
    round_end: u64,
    /// `m_rttAbove`.
    has_been_above: bool,
    /// `m_rttLow`.
    rounds_below: u8,
    /// `m_ackCnt`.
    count: u32,
}

/// Values of the constructor. `m_alpha` and `m_beta` start with these regardless of attributes.
fn defaults() -> Illinois {
    Illinois {
        alpha_min: 0.3,
        alpha_max: 10.0,
        alpha_base: 1.0,
        beta_min: 0.125,
        beta_max: 0.5,
        beta_base: 0.5,
        win_thresh: 15,
        theta: 5,
        alpha: 10.0,
        beta: 0.5,
        sum_rtt: 0,
        samples: 0,
        base_rtt: TIME_MAX,
        max_rtt: TIME_MIN,
        round_end: 0,
        has_been_above: false,
        rounds_below: 0,
        count: 0,
    }
}

impl Illinois {
    pub(super) fn new(params: &Params) -> Self {
        Illinois {
            alpha_min: params.get("alpha_min"),
            alpha_max: params.get("alpha_max"),
            alpha_base: params.get("alpha_base"),
            beta_min: params.get("beta_min"),
            beta_max: params.get("beta_max"),
            beta_base: params.get("beta_base"),
            win_thresh: params.get("win_thresh") as u32,
            theta: params.get("theta") as u32,
            ..defaults()
        }
    }

    fn sample(&mut self, rtt: i64) {
        self.base_rtt = self.base_rtt.min(rtt);
        self.max_rtt = self.max_rtt.max(rtt);
        self.samples = self.samples.wrapping_add(1);
        self.sum_rtt = self.sum_rtt.wrapping_add(rtt);
    }

    /// `Reset`.
    fn begin_round(&mut self, tcb: &Tcb) {
        self.round_end = tcb.next_tx;
        (self.samples, self.sum_rtt) = (0, 0);
    }

    /// `RecalcParam`, whose window is in bytes and whose threshold is meant in segments.
    fn recalculate(&mut self, cwnd: u32) {
        if cwnd < self.win_thresh {
            (self.alpha, self.beta) = (self.alpha_base, self.beta_base);
        } else if self.samples > 0 {
            // Whole milliseconds.
            let average = self.sum_rtt / i64::from(self.samples) - self.base_rtt;
            let da = (average / 1_000_000) as f64;
            let dm = ((self.max_rtt - self.base_rtt) / 1_000_000) as f64;
            self.calculate_alpha(da, dm);
            self.calculate_beta(da, dm);
        }
    }

    fn calculate_alpha(&mut self, da: f64, dm: f64) {
        let d1 = dm / 100.0;
        if da > d1 {
            self.has_been_above = true;
            let (dm, da) = (dm - d1, da - d1);
            let span = da * (self.alpha_max - self.alpha_min);
            self.alpha = (dm * self.alpha_max) / (dm + span / self.alpha_min);
            return;
        }
        if !self.has_been_above {
            self.alpha = self.alpha_max;
        }
        self.rounds_below = self.rounds_below.wrapping_add(1);
        if u32::from(self.rounds_below) >= self.theta {
            (self.rounds_below, self.has_been_above) = (0, false);
            self.alpha = self.alpha_max;
        }
    }

    fn calculate_beta(&mut self, da: f64, dm: f64) {
        let (d2, d3) = (dm / 10.0, 8.0 * dm / 10.0);
        self.beta = if da <= d2 {
            self.beta_min
        } else if da < d3 {
            let rise = (self.beta_max - self.beta_min) * da;
            (self.beta_min * d3 - self.beta_max * d2 + rise) / (d3 - d2)
        } else {
            self.beta_max
        };
    }
}

impl CongestionOps for Illinois {
    fn pkts_acked(&mut self, _tcb: &mut Tcb, _segments: u32, rtt: i64) {
        if rtt != 0 {
            self.sample(rtt);
        }
    }

    fn increase_window(&mut self, tcb: &mut Tcb, segments: u32) {
        if tcb.last_acked >= self.round_end {
            self.recalculate(tcb.cwnd);
            self.begin_round(tcb);
        }
        if tcb.is_below() {
            new_reno::slow_start(tcb, segments);
            return;
        }
        if segments > 0 {
            self.count = to_u32(f64::from(self.count) + f64::from(segments) * self.alpha);
        }
        tcb.grow_by_count(&mut self.count);
    }

    fn ssthresh(&mut self, tcb: &Tcb, in_flight: u32) -> u32 {
        let segments = f64::from(in_flight / tcb.segment_size);
        to_u32(((1.0 - self.beta) * segments).max(2.0)).wrapping_mul(tcb.segment_size)
    }

    fn congestion_state_set(&mut self, tcb: &Tcb, phase: Phase) {
        if phase == Phase::Loss {
            (self.alpha, self.beta) = (self.alpha_base, self.beta_base);
            (self.rounds_below, self.has_been_above) = (0, false);
            self.begin_round(tcb);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::testing::{MSS, tcb};

    #[test]
    fn fractions_of_a_count_are_lost() {
        // α = 0.59: one segment counts ⌊0.59⌋, three ⌊1.77⌋.
        let mut rule = Illinois { alpha: 0.59, round_end: 1, ..defaults() };
        let mut tcb = tcb(10 * MSS, 2 * MSS);
        for (segments, count) in [(1, 0), (3, 1), (1, 1)] {
            rule.increase_window(&mut tcb, segments);
            assert_eq!(rule.count, count);
        }
    }

    #[test]
    fn delays_are_whole_milliseconds() {
        // An average of 0.999 ms is 0, which is no more than a hundredth of 9.
        let mut rule = defaults();
        for rtt in [90_000_000, 90_000_000, 90_000_000, 99_999_999, 90_000_000] {
            rule.sample(rtt);
        }
        (rule.sum_rtt, rule.samples) = (90_999_999, 1);
        rule.recalculate(10 * MSS);
        assert_eq!((rule.alpha, rule.beta), (10.0, 0.125));
        (rule.sum_rtt, rule.samples) = (91_000_000, 1);
        rule.recalculate(10 * MSS);
        // 1 ms is more, and β = 1/8 up to 0.9 ms: (0.125·7.2 − 0.5·0.9 + 0.375)/6.3.
        assert!(rule.alpha < 10.0 && (rule.beta - 0.130_952_38).abs() < 1e-8);
    }

    #[test]
    fn a_loss_leaves_whole_segments_of_those_in_flight() {
        // β = 1/2: ⌊21/2⌋ of 21 and a bit.
        let tcb = tcb(40 * MSS, 2 * MSS);
        assert_eq!(defaults().ssthresh(&tcb, 21 * MSS + 100), 10 * MSS);
    }
}
