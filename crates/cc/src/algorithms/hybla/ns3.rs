//! Hybla of ns-3.29 (`tcp-hybla.cc`, `TcpHybla`).

use crate::ns3::{CongestionOps, Tcb, to_u32};

pub(super) struct Hybla {
    /// `RRTT`, ms.
    rtt0_ms: f64,
    /// `m_rho`.
    rho: f64,
    /// `m_cWndCnt`: fraction of a segment.
    part: f64,
}

impl Hybla {
    pub(super) fn new(rtt0_ms: f64) -> Self {
        Hybla { rtt0_ms, rho: 1.0, part: 0.0 }
    }
}

impl CongestionOps for Hybla {
    fn pkts_acked(&mut self, tcb: &mut Tcb, _segments: u32, rtt: i64) {
        if rtt == tcb.min_rtt {
            // `RecalcParam`, in whole milliseconds.
            self.rho = ((tcb.min_rtt / 1_000_000) as f64 / self.rtt0_ms).max(1.0);
        }
    }

    fn slow_start(&mut self, tcb: &mut Tcb, segments: u32) -> u32 {
        if segments == 0 {
            return 0;
        }
        let step = libm::pow(2.0, self.rho) - 1.0;
        let bytes = to_u32(step * f64::from(tcb.segment_size));
        tcb.cwnd = tcb.cwnd.wrapping_add(bytes).min(tcb.ssthresh);
        segments - 1
    }

    fn congestion_avoidance(&mut self, tcb: &mut Tcb, segments: u32) {
        let step = self.rho * self.rho / f64::from(tcb.cwnd_segments());
        // One by one: a product would be rounded differently.
        for _ in 0..segments {
            self.part += step;
        }
        if self.part >= 1.0 {
            let whole = to_u32(self.part);
            self.part -= f64::from(whole);
            tcb.cwnd = tcb.cwnd.wrapping_add(whole.wrapping_mul(tcb.segment_size));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::testing::{MSS, tcb};

    #[test]
    fn whole_segments_are_added_and_the_rest_is_carried_over() {
        // ρ = 2, W = 10: 4/10 for each segment: two acknowledgements of two make 1.6.
        let mut rule = Hybla { rho: 2.0, ..Hybla::new(50.0) };
        let mut tcb = tcb(10 * MSS + 5, 2 * MSS);
        rule.congestion_avoidance(&mut tcb, 2);
        assert_eq!(tcb.cwnd, 10 * MSS + 5);
        rule.congestion_avoidance(&mut tcb, 2);
        assert_eq!(tcb.cwnd, 11 * MSS + 5);
        assert!((rule.part - 0.6).abs() < 1e-12);
    }

    #[test]
    fn slow_start_stops_at_the_threshold_to_the_byte() {
        let mut rule = Hybla { rho: 2.0, ..Hybla::new(50.0) };
        let mut tcb = tcb(10 * MSS, 12 * MSS + 1);
        assert_eq!(rule.slow_start(&mut tcb, 2), 1);
        assert_eq!(tcb.cwnd, 12 * MSS + 1);
    }

    #[test]
    fn only_the_minimum_rtt_counts_in_whole_milliseconds() {
        let mut rule = Hybla::new(50.0);
        let mut tcb = tcb(10 * MSS, 2 * MSS);
        for (rtt, rho) in
            [(100_999_999, 2.0), (90_000_000, 1.8), (95_000_000, 1.8), (40_000_000, 1.0)]
        {
            tcb.min_rtt = tcb.min_rtt.min(rtt);
            rule.pkts_acked(&mut tcb, 1, rtt);
            assert_eq!(rule.rho, rho);
        }
    }
}
