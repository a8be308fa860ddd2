//! H-TCP of ns-3.29 (`tcp-htcp.cc`, `TcpHtcp`).

use crate::Phase;
use crate::ns3::{CongestionOps, TIME_MAX, TIME_MIN, Tcb, new_reno, seconds, to_u32};

pub(super) struct Htcp {
    /// `DefaultBackoff`.
    default_backoff: f64,
    /// `ThroughputRatio`.
    throughput_ratio: f64,
    /// `DeltaL`, ns.
    delta_l: i64,
    /// Bytes per acknowledgement in addition to NewReno's, meant as segments.
    alpha: f64,
    beta: f64,
    /// `m_lastCon`: time of the last congestion, initially 0.
    last_congestion: i64,
    /// Since then.
    min_rtt: i64,
    max_rtt: i64,
    /// Bytes per second.
    throughput: u32,
    last_throughput: u32,
    data_sent: u32,
}

impl Htcp {
    pub(super) fn new(default_backoff: f64, throughput_ratio: f64, delta_l_s: f64) -> Self {
        Htcp {
            default_backoff,
            throughput_ratio,
            delta_l: (delta_l_s * 1e9).round() as i64,
            alpha: 0.0,
            beta: 0.0,
            last_congestion: 0,
            min_rtt: TIME_MAX,
            max_rtt: TIME_MIN,
            throughput: 0,
            last_throughput: 0,
            data_sent: 0,
        }
    }

    /// `UpdateAlpha`.
    fn update_alpha(&mut self, now: i64) {
        let delta = now - self.last_congestion;
        self.alpha = if delta <= self.delta_l {
            1.0
        } else {
            let late = seconds(delta - self.delta_l);
            1.0 + 10.0 * late + 0.25 * (late * late)
        };
        self.alpha = (2.0 * (1.0 - self.beta) * self.alpha).max(1.0);
    }

    /// `UpdateBeta`, with an integer division of throughputs.
    fn update_beta(&mut self) {
        self.beta = self.default_backoff;
        if self.throughput > self.last_throughput && self.last_throughput > 0 {
            let rise = (self.throughput - self.last_throughput) / self.last_throughput;
            if f64::from(rise) <= self.throughput_ratio {
                self.beta = self.min_rtt as f64 / self.max_rtt as f64;
            }
        }
    }
}

impl CongestionOps for Htcp {
    fn pkts_acked(&mut self, tcb: &mut Tcb, segments: u32, rtt: i64) {
        if tcb.phase == Phase::Open {
            let bytes = segments.wrapping_mul(tcb.segment_size);
            self.data_sent = self.data_sent.wrapping_add(bytes);
        }
        let elapsed = seconds(tcb.now) - seconds(self.last_congestion);
        self.throughput = to_u32(f64::from(self.data_sent) / elapsed);
        self.update_alpha(tcb.now);
        self.min_rtt = self.min_rtt.min(rtt);
        self.max_rtt = self.max_rtt.max(rtt);
    }

    fn congestion_avoidance(&mut self, tcb: &mut Tcb, segments: u32) {
        if segments > 0 {
            let square = f64::from(tcb.segment_size.wrapping_mul(tcb.segment_size));
            let cwnd = f64::from(tcb.cwnd);
            let bytes = ((square + cwnd * self.alpha) / cwnd).max(1.0);
            tcb.cwnd = tcb.cwnd.wrapping_add(to_u32(bytes));
        }
    }

    fn ssthresh(&mut self, tcb: &Tcb, in_flight: u32) -> u32 {
        self.last_congestion = tcb.now;
        self.update_beta();
        self.update_alpha(tcb.now);
        (self.min_rtt, self.max_rtt) = (TIME_MAX, TIME_MIN);
        self.last_throughput = std::mem::take(&mut self.throughput);
        self.data_sent = 0;
        new_reno::two_segments(tcb).max(to_u32(f64::from(in_flight) * self.beta))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::testing::{MSS, tcb};

    fn htcp() -> Htcp {
        Htcp::new(0.5, 0.2, 1.0)
    }

    #[test]
    fn the_delay_determines_beta_while_the_throughput_less_than_doubles() {
        // 100 segments in 1 s are 144000 bytes/s. The first loss has nothing to compare with.
        let mut rule = htcp();
        let mut tcb = tcb(100 * MSS, 2 * MSS);
        tcb.now = 1_000_000_000;
        rule.pkts_acked(&mut tcb, 100, 90_000_000);
        assert_eq!((rule.throughput, rule.ssthresh(&tcb, 100_001)), (144_000, 50_000));
        // 199 segments in the next: (286560 − 144000)/144000 is 0 in whole numbers. 90/120 of 100001.
        for (now, segments, rtt) in
            [(1_500_000_000, 99, 120_000_000), (2_000_000_000, 100, 90_000_000)]
        {
            tcb.now = now;
            rule.pkts_acked(&mut tcb, segments, rtt);
        }
        assert_eq!((rule.throughput, rule.ssthresh(&tcb, 100_001)), (286_560, 75_000));
        // Twice the throughput resets beta to a half.
        tcb.now = 3_000_000_000;
        rule.pkts_acked(&mut tcb, 398, 90_000_000);
        assert_eq!((rule.throughput, rule.ssthresh(&tcb, 100_001)), (573_120, 50_000));
    }

    #[test]
    fn only_the_open_state_counts_acknowledged_data() {
        let mut rule = htcp();
        let mut tcb = tcb(10 * MSS, 2 * MSS);
        (tcb.now, tcb.phase) = (1_000_000_000, Phase::Disorder);
        rule.pkts_acked(&mut tcb, 100, 90_000_000);
        assert_eq!(rule.data_sent, 0);
    }
}
