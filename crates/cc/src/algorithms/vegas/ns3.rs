//! Vegas of ns-3.29 (`tcp-vegas.cc`, `TcpVegas`).

use super::Limits;
use crate::Phase;
use crate::ns3::{CongestionOps, TIME_MAX, Tcb, new_reno, seconds, to_u32};

pub(super) struct Vegas {
    limits: Limits,
    base_rtt: i64,
    /// `m_minRtt`: of the round.
    round_rtt: i64,
    /// `m_cntRtt`.
    samples: u32,
    /// `m_doingVegasNow`.
    is_open: bool,
    /// `m_begSndNxt`.
    round_end: u64,
}

impl Vegas {
    pub(super) fn new(limits: Limits) -> Self {
        Vegas {
            limits,
            base_rtt: TIME_MAX,
            round_rtt: TIME_MAX,
            samples: 0,
            is_open: true,
            round_end: 0,
        }
    }

    fn forget_round(&mut self) {
        (self.samples, self.round_rtt) = (0, TIME_MAX);
    }

    /// The part of `IncreaseWindow` for a round with enough samples.
    fn end_round(&mut self, tcb: &mut Tcb, segments: u32) {
        let cwnd = tcb.cwnd_segments();
        let share = seconds(self.base_rtt) / seconds(self.round_rtt);
        let target = to_u32(f64::from(cwnd) * share);
        let diff = f64::from(cwnd.wrapping_sub(target));
        if tcb.is_below() {
            if diff > self.limits.gamma {
                tcb.set_cwnd_segments(cwnd.min(target.wrapping_add(1)));
                tcb.ssthresh = threshold(tcb);
            } else {
                new_reno::slow_start(tcb, segments);
            }
        } else if diff > self.limits.beta {
            tcb.set_cwnd_segments(cwnd - 1);
            tcb.ssthresh = threshold(tcb);
        } else if diff < self.limits.alpha {
            tcb.set_cwnd_segments(cwnd + 1);
        }
        tcb.ssthresh = tcb.ssthresh.max(tcb.cwnd.wrapping_mul(3) / 4);
    }
}

/// `GetSsThresh`, which does not use the bytes in flight.
fn threshold(tcb: &Tcb) -> u32 {
    let one_less = tcb.cwnd.wrapping_sub(tcb.segment_size);
    tcb.ssthresh.min(one_less).max(new_reno::two_segments(tcb))
}

impl CongestionOps for Vegas {
    fn pkts_acked(&mut self, _tcb: &mut Tcb, _segments: u32, rtt: i64) {
        if rtt != 0 {
            self.round_rtt = self.round_rtt.min(rtt);
            self.base_rtt = self.base_rtt.min(rtt);
            self.samples = self.samples.wrapping_add(1);
        }
    }

    fn increase_window(&mut self, tcb: &mut Tcb, segments: u32) {
        if !self.is_open {
            new_reno::increase_window(tcb, segments);
        } else if tcb.last_acked >= self.round_end {
            self.round_end = tcb.next_tx;
            if self.samples <= 2 {
                new_reno::increase_window(tcb, segments);
            } else {
                self.end_round(tcb, segments);
            }
            self.forget_round();
        } else if tcb.is_below() {
            new_reno::slow_start(tcb, segments);
        }
    }

    fn ssthresh(&mut self, tcb: &Tcb, _in_flight: u32) -> u32 {
        threshold(tcb)
    }

    fn congestion_state_set(&mut self, tcb: &Tcb, phase: Phase) {
        self.is_open = phase == Phase::Open;
        if self.is_open {
            self.round_end = tcb.next_tx;
            self.forget_round();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::testing::{MSS, tcb};

    fn vegas() -> Vegas {
        let mut rule = Vegas::new(Limits { alpha: 2.0, beta: 4.0, gamma: 1.0 });
        rule.base_rtt = 100_000_000;
        rule
    }

    /// The socket after a round of three RTTs of `rtt_ms`.
    fn after(rule: &mut Vegas, mut tcb: Tcb, rtt_ms: i64) -> Tcb {
        for _ in 0..3 {
            rule.pkts_acked(&mut tcb, 1, rtt_ms * 1_000_000);
        }
        rule.increase_window(&mut tcb, 1);
        tcb
    }

    #[test]
    fn a_step_leaves_whole_segments_and_a_threshold_of_three_quarters() {
        // 50 − ⌊50·100/111⌋ = 5 > 4: 49. The threshold is min(20, 48), but ⌊3·49·1440/4⌋ or more.
        let down = after(&mut vegas(), tcb(50 * MSS + 700, 20 * MSS), 111);
        assert_eq!((down.cwnd, down.ssthresh), (49 * MSS, 52_920));
        // 50 − ⌊50·100/103⌋ = 2: it stays, to the byte.
        let held = after(&mut vegas(), tcb(50 * MSS + 700, 20 * MSS), 103);
        assert_eq!((held.cwnd, held.ssthresh), (50 * MSS + 700, 54_525));
    }

    #[test]
    fn slow_start_ends_at_the_window_that_fills_the_path() {
        // 40 − ⌊40·100/105⌋ = 2 > 1: 38 + 1; the threshold is one less.
        let end = after(&mut vegas(), tcb(40 * MSS, u32::MAX), 105);
        assert_eq!((end.cwnd, end.ssthresh), (39 * MSS, 38 * MSS));
    }

    #[test]
    fn it_is_new_reno_outside_of_the_open_state() {
        let mut rule = vegas();
        rule.congestion_state_set(&tcb(0, 0), Phase::Disorder);
        let mut tcb = tcb(50 * MSS, 20 * MSS);
        rule.increase_window(&mut tcb, 1);
        // ⌊1440/50⌋.
        assert_eq!(tcb.cwnd, 50 * MSS + 28);
    }
}
