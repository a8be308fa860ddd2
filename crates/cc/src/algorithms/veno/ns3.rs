//! Veno of ns-3.29 (`tcp-veno.cc`, `TcpVeno`).

use crate::Phase;
use crate::ns3::{CongestionOps, TIME_MAX, Tcb, new_reno, seconds, to_u32};

pub(super) struct Veno {
    /// `Beta`.
    beta: u32,
    base_rtt: i64,
    /// `m_minRtt`: since the window could last grow.
    min_rtt: i64,
    /// `m_cntRtt`: of the same time.
    samples: u32,
    /// `m_doingVenoNow`.
    is_open: bool,
    /// `m_diff`: backlog, segments.
    diff: u32,
    /// `m_inc`: whether the next increase is not skipped.
    increases: bool,
}

impl Veno {
    pub(super) fn new(beta: u32) -> Self {
        Veno {
            beta,
            base_rtt: TIME_MAX,
            min_rtt: TIME_MAX,
            samples: 0,
            is_open: true,
            diff: 0,
            increases: true,
        }
    }
}

impl CongestionOps for Veno {
    fn pkts_acked(&mut self, _tcb: &mut Tcb, _segments: u32, rtt: i64) {
        if rtt != 0 {
            self.min_rtt = self.min_rtt.min(rtt);
            self.base_rtt = self.base_rtt.min(rtt);
            self.samples = self.samples.wrapping_add(1);
        }
    }

    fn increase_window(&mut self, tcb: &mut Tcb, segments: u32) {
        let cwnd = tcb.cwnd_segments();
        let share = seconds(self.base_rtt) / seconds(self.min_rtt);
        self.diff = cwnd.wrapping_sub(to_u32(f64::from(cwnd) * share));
        if !self.is_open {
            new_reno::increase_window(tcb, segments);
            return;
        }
        if self.samples <= 2 {
            new_reno::increase_window(tcb, segments);
        } else if tcb.is_below() {
            new_reno::slow_start(tcb, segments);
        } else if self.diff < self.beta {
            new_reno::congestion_avoidance(tcb, segments);
        } else {
            if self.increases {
                new_reno::congestion_avoidance(tcb, segments);
            }
            self.increases = !self.increases;
        }
        (self.samples, self.min_rtt) = (0, TIME_MAX);
    }

    fn ssthresh(&mut self, tcb: &Tcb, in_flight: u32) -> u32 {
        if self.diff < self.beta {
            to_u32(f64::from(in_flight) * (4.0 / 5.0)).max(new_reno::two_segments(tcb))
        } else {
            new_reno::ssthresh(tcb, in_flight)
        }
    }

    fn congestion_state_set(&mut self, _tcb: &Tcb, phase: Phase) {
        self.is_open = phase == Phase::Open;
        if self.is_open {
            self.min_rtt = TIME_MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::testing::{MSS, tcb};

    #[test]
    fn every_other_acknowledgement_counts_while_segments_are_queued() {
        // Three samples each: 50 − ⌊50·100/110⌋ = 5 ≥ 3. ⌊1440/50⌋ = 28 bytes, then none.
        let mut rule = Veno { base_rtt: 100_000_000, ..Veno::new(3) };
        let mut tcb = tcb(50 * MSS, 2 * MSS);
        for grown in [28, 28, 28 + 28] {
            (0..3).for_each(|_| rule.pkts_acked(&mut tcb, 1, 110_000_000));
            rule.increase_window(&mut tcb, 1);
            assert_eq!((tcb.cwnd, rule.diff), (50 * MSS + grown, 5));
        }
    }

    #[test]
    fn with_two_samples_it_is_new_reno() {
        let mut rule = Veno { base_rtt: 100_000_000, increases: false, ..Veno::new(3) };
        let mut tcb = tcb(50 * MSS, 2 * MSS);
        (0..2).for_each(|_| rule.pkts_acked(&mut tcb, 1, 110_000_000));
        rule.increase_window(&mut tcb, 1);
        assert_eq!((tcb.cwnd, rule.samples, rule.min_rtt), (50 * MSS + 28, 0, TIME_MAX));
        // The queue of 5 segments was measured all the same.
        assert_eq!(rule.ssthresh(&tcb, 21 * MSS), 15_120);
    }
}
