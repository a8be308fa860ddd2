//! Westwood and Westwood+ of ns-3.29 (`tcp-westwood.cc`, `TcpWestwood`).

use crate::ns3::{CongestionOps, Tcb, new_reno, seconds, to_u32};

/// `ProtocolType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Protocol {
    /// `WESTWOOD`: each acknowledgement's segments over a whole RTT.
    Westwood,
    /// `WESTWOODPLUS`: an acknowledgement schedules a sample one RTT ahead, including its own
    /// segments.
    WestwoodPlus,
}

pub(in super::super) struct Westwood {
    protocol: Protocol,
    /// `FilterType`: Tustin's, or none.
    filters: bool,
    /// Whether congestion avoidance does not grow the window.
    is_frozen: bool,
    /// `m_ackedSegments`.
    acked: u32,
    /// `m_currentBW`, bytes per second.
    bandwidth: f64,
    /// `m_lastSampleBW`.
    last_sample: f64,
    /// `m_lastBW`.
    last_bandwidth: f64,
    /// `m_bwEstimateEvent`: its time and RTT.
    event: Option<(i64, i64)>,
}

impl Westwood {
    pub(in super::super) fn new(protocol: Protocol, filters: bool) -> Self {
        Westwood {
            protocol,
            filters,
            is_frozen: false,
            acked: 0,
            bandwidth: 0.0,
            last_sample: 0.0,
            last_bandwidth: 0.0,
            event: None,
        }
    }

    /// The same without growth in congestion avoidance.
    pub(in super::super) fn frozen(self) -> Self {
        Westwood { is_frozen: true, ..self }
    }

    /// `EstimateBW`.
    fn estimate(&mut self, segment_size: u32, rtt: i64) {
        let acked = std::mem::take(&mut self.acked).wrapping_mul(segment_size);
        self.bandwidth = f64::from(acked) / seconds(rtt);
        if self.filters {
            let alpha = 0.9;
            let sample = self.bandwidth;
            let average = (sample + self.last_sample) / 2.0;
            self.bandwidth = (alpha * self.last_bandwidth) + ((1.0 - alpha) * average);
            self.last_sample = sample;
            self.last_bandwidth = self.bandwidth;
        }
    }
}

/// The filtered value of samples in bytes per second.
pub(in super::super) fn filtered(samples: [u32; 3]) -> f64 {
    let mut rule = Westwood::new(Protocol::WestwoodPlus, true);
    for sample in samples {
        rule.acked = sample;
        rule.estimate(1, 1_000_000_000);
    }
    rule.bandwidth
}

impl CongestionOps for Westwood {
    fn pkts_acked(&mut self, tcb: &mut Tcb, segments: u32, rtt: i64) {
        if rtt == 0 {
            return;
        }
        self.acked = self.acked.wrapping_add(segments);
        match self.protocol {
            Protocol::Westwood => self.estimate(tcb.segment_size, rtt),
            Protocol::WestwoodPlus => {
                self.event.get_or_insert((tcb.now.saturating_add(rtt), rtt));
            }
        }
    }

    fn congestion_avoidance(&mut self, tcb: &mut Tcb, segments: u32) {
        if !self.is_frozen {
            new_reno::congestion_avoidance(tcb, segments);
        }
    }

    fn ssthresh(&mut self, tcb: &Tcb, _in_flight: u32) -> u32 {
        to_u32(self.bandwidth * seconds(tcb.min_rtt)).max(new_reno::two_segments(tcb))
    }

    fn run_events(&mut self, tcb: &Tcb, until: i64) {
        if let Some((_, rtt)) = self.event.take_if(|(due, _)| *due <= until) {
            self.estimate(tcb.segment_size, rtt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::testing::{MSS, tcb};

    const RTT: i64 = 100_000_000;

    /// Acknowledgements of two segments at 0, 50 and 99 ms.
    fn three() -> (Westwood, Tcb) {
        let mut rule = Westwood::new(Protocol::WestwoodPlus, true);
        let mut tcb = tcb(20 * MSS, 2 * MSS);
        tcb.min_rtt = RTT;
        for now in [0, 50_000_000, 99_000_000] {
            tcb.now = now;
            rule.run_events(&tcb, now);
            rule.pkts_acked(&mut tcb, 2, RTT);
        }
        (rule, tcb)
    }

    #[test]
    fn a_sample_ends_one_rtt_after_the_acknowledgement_that_began_it() {
        let (mut rule, tcb) = three();
        rule.run_events(&tcb, RTT - 1);
        assert_eq!((rule.bandwidth, rule.acked), (0.0, 6));
        // 6·1440/0.1 = 86400; the filter takes (1 − 0.9)/2 of it.
        rule.run_events(&tcb, RTT);
        assert!((rule.bandwidth - 4_320.0).abs() < 1e-9);
        assert_eq!((rule.last_sample, rule.acked, rule.event), (86_400.0, 0, None));
    }

    #[test]
    fn data_that_arrives_when_a_sample_ends_belongs_to_the_next() {
        let (mut rule, mut tcb) = three();
        tcb.now = RTT;
        rule.run_events(&tcb, tcb.now);
        rule.pkts_acked(&mut tcb, 3, 2 * RTT);
        assert_eq!((rule.acked, rule.event), (3, Some((3 * RTT, 2 * RTT))));
    }

    #[test]
    fn the_threshold_is_truncated_to_bytes_and_at_least_two_segments() {
        let (mut rule, tcb) = three();
        assert_eq!(rule.ssthresh(&tcb, 99 * MSS), 2 * MSS);
        rule.bandwidth = 54_321.98;
        assert_eq!(rule.ssthresh(&tcb, 0), 5_432);
    }

    #[test]
    fn without_a_filter_a_sample_is_the_estimate() {
        let mut rule = Westwood::new(Protocol::Westwood, false);
        let mut tcb = tcb(20 * MSS, 2 * MSS);
        rule.pkts_acked(&mut tcb, 2, RTT);
        assert_eq!(rule.bandwidth, 28_800.0);
    }

    #[test]
    fn a_frozen_window_grows_in_slow_start_only() {
        let mut rule = Westwood::new(Protocol::WestwoodPlus, true).frozen();
        let mut tcb = tcb(2 * MSS, 3 * MSS);
        for _ in 0..5 {
            rule.increase_window(&mut tcb, 2);
        }
        assert_eq!(tcb.cwnd, 3 * MSS);
    }
}
