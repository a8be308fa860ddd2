//! Common part of ns-3.29's congestion controls, which count bytes in 32 bits:
//! `src/internet/model/tcp-socket-state.h` (`TcpSocketState`) and `tcp-congestion-ops.cc`
//! (`TcpCongestionOps`, `TcpNewReno`). [`Socket`] calls them as `TcpSocketBase` does.
//!
//! Sums of `uint32_t` wrap around and quotients are truncated; [`to_u32`] and [`seconds`] convert
//! as ns-3 built with GCC for x86-64. No class of ns-3.29 overrides `CwndEvent`, so it has no hook.

mod convert;
mod socket;

pub(crate) use self::convert::{TIME_MAX, TIME_MIN, seconds, to_i32, to_u32};
pub(crate) use self::socket::Socket;

use crate::Phase;

/// State of the socket that a congestion control sees (`TcpSocketState`). Times are in nanoseconds,
/// as in ns-3's `Time`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tcb {
    /// `Simulator::Now`.
    pub(crate) now: i64,
    /// `m_segmentSize`.
    pub(crate) segment_size: u32,
    /// `m_cWnd`.
    pub(crate) cwnd: u32,
    /// `m_ssThresh`.
    pub(crate) ssthresh: u32,
    /// `m_lastAckedSeq`, as a stream offset: the sequence number minus 1. So are the next two.
    pub(crate) last_acked: u64,
    /// `m_nextTxSequence`, which a retransmission moves back.
    pub(crate) next_tx: u64,
    /// `m_highTxMark`.
    pub(crate) high_tx: u64,
    /// `m_minRtt`: minimum of the smoothed RTT; [`TIME_MAX`] before the first sample.
    pub(crate) min_rtt: i64,
    /// `m_rcvTimestampValue`, ms.
    pub(crate) rcv_timestamp_value: u32,
    /// `m_rcvTimestampEchoReply`, ms.
    pub(crate) rcv_timestamp_echo: u32,
    /// `m_congState`.
    pub(crate) phase: Phase,
}

impl Tcb {
    /// A socket at the start of a connection.
    pub(crate) fn new(segment_size: u32, cwnd: u32, ssthresh: u32) -> Self {
        Tcb {
            now: 0,
            segment_size,
            cwnd,
            ssthresh,
            last_acked: 0,
            next_tx: 0,
            high_tx: 0,
            min_rtt: TIME_MAX,
            rcv_timestamp_value: 0,
            rcv_timestamp_echo: 0,
            phase: Phase::Open,
        }
    }

    /// `GetCwndInSegments`.
    pub(crate) fn cwnd_segments(&self) -> u32 {
        self.cwnd / self.segment_size
    }

    /// Grow by a segment for each whole window in `count` segments, leaving the rest in it.
    pub(crate) fn grow_by_count(&mut self, count: &mut u32) {
        let before = self.cwnd_segments();
        let mut cwnd = before;
        while *count >= cwnd {
            *count -= cwnd;
            cwnd += 1;
        }
        if cwnd != before {
            self.set_cwnd_segments(cwnd);
        }
    }

    /// Set the window in segments.
    pub(crate) fn set_cwnd_segments(&mut self, segments: u32) {
        self.cwnd = segments.wrapping_mul(self.segment_size);
    }

    /// Whether the window is below the threshold.
    pub(crate) fn is_below(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    fn grow(&mut self, bytes: u32) {
        self.cwnd = self.cwnd.wrapping_add(bytes);
    }
}

/// A congestion-control class. Defaults are those of `TcpNewReno`.
pub(crate) trait CongestionOps: Send {
    /// `PktsAcked`: an acknowledgement of `segments`; `rtt` is the smoothed RTT.
    fn pkts_acked(&mut self, _tcb: &mut Tcb, _segments: u32, _rtt: i64) {}

    /// `SlowStart`; returns the segments left.
    fn slow_start(&mut self, tcb: &mut Tcb, segments: u32) -> u32 {
        new_reno::slow_start(tcb, segments)
    }

    /// `CongestionAvoidance`.
    fn congestion_avoidance(&mut self, tcb: &mut Tcb, segments: u32) {
        new_reno::congestion_avoidance(tcb, segments);
    }

    /// `IncreaseWindow`.
    fn increase_window(&mut self, tcb: &mut Tcb, mut segments: u32) {
        if tcb.is_below() {
            segments = self.slow_start(tcb, segments);
        }
        if !tcb.is_below() {
            self.congestion_avoidance(tcb, segments);
        }
    }

    /// `GetSsThresh`, bytes.
    fn ssthresh(&mut self, tcb: &Tcb, in_flight: u32) -> u32 {
        new_reno::ssthresh(tcb, in_flight)
    }

    /// `CongestionStateSet`, called before the state changes.
    fn congestion_state_set(&mut self, _tcb: &Tcb, _phase: Phase) {}

    /// Run the class's events scheduled up to and including `until`.
    fn run_events(&mut self, _tcb: &Tcb, _until: i64) {}
}

/// `TcpNewReno`.
pub(crate) mod new_reno {
    use super::{CongestionOps, Tcb, to_u32};

    /// The class itself.
    pub(crate) struct NewReno;

    impl CongestionOps for NewReno {}

    /// One segment per acknowledgement, however much it acknowledges.
    pub(crate) fn slow_start(tcb: &mut Tcb, segments: u32) -> u32 {
        if segments == 0 {
            return 0;
        }
        tcb.grow(tcb.segment_size);
        segments - 1
    }

    /// `max(1, mss²/cwnd)` bytes per acknowledgement, truncated.
    pub(crate) fn congestion_avoidance(tcb: &mut Tcb, segments: u32) {
        if segments > 0 {
            let square = f64::from(tcb.segment_size.wrapping_mul(tcb.segment_size));
            tcb.grow(to_u32((square / f64::from(tcb.cwnd)).max(1.0)));
        }
    }

    /// `IncreaseWindow`, as called by classes that override it.
    pub(crate) fn increase_window(tcb: &mut Tcb, segments: u32) {
        NewReno.increase_window(tcb, segments);
    }

    /// `max(2·mss, in flight/2)`.
    pub(crate) fn ssthresh(tcb: &Tcb, in_flight: u32) -> u32 {
        two_segments(tcb).max(in_flight / 2)
    }

    /// Twice the segment size.
    pub(crate) fn two_segments(tcb: &Tcb) -> u32 {
        tcb.segment_size.wrapping_mul(2)
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::Tcb;

    /// Segment size in the runs of the thesis, bytes.
    pub(crate) const MSS: u32 = 1440;

    /// A socket with a window of `cwnd` and a threshold of `ssthresh` bytes.
    pub(crate) fn tcb(cwnd: u32, ssthresh: u32) -> Tcb {
        Tcb::new(MSS, cwnd, ssthresh)
    }
}

#[cfg(test)]
mod tests {
    use super::new_reno::NewReno;
    use super::testing::{MSS, tcb};
    use super::*;

    #[test]
    fn the_rest_of_slow_start_counts_at_the_threshold() {
        // 2·1440 of 3·1440: 4320, and four segments left, counted in one call: + ⌊1440²/4320⌋ =
        // 480.
        let mut tcb = tcb(2 * MSS, 3 * MSS);
        NewReno.increase_window(&mut tcb, 5);
        assert_eq!(tcb.cwnd, 3 * MSS + 480);
    }

    #[test]
    fn an_acknowledgement_of_less_than_a_segment_adds_nothing() {
        for cwnd in [2 * MSS, 20 * MSS] {
            let mut tcb = tcb(cwnd, 10 * MSS);
            NewReno.increase_window(&mut tcb, 0);
            assert_eq!(tcb.cwnd, cwnd);
        }
    }

    #[test]
    fn the_increment_is_truncated_and_at_least_one_byte() {
        // 1440²/14401 = 143.99; 1440²/2073601 < 1.
        for (cwnd, increment) in [(14_400, 144), (14_401, 143), (2_073_601, 1)] {
            let mut tcb = tcb(cwnd, 2 * MSS);
            NewReno.increase_window(&mut tcb, 1);
            assert_eq!(tcb.cwnd, cwnd + increment);
        }
    }

    #[test]
    fn half_of_the_bytes_in_flight_is_truncated() {
        let tcb = tcb(10 * MSS, u32::MAX);
        for (in_flight, ssthresh) in [(14_401, 7_200), (5_760, 2_880), (5_759, 2_880), (0, 2_880)] {
            assert_eq!(NewReno.ssthresh(&tcb, in_flight), ssthresh);
        }
    }
}
