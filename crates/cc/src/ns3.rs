//! What the models of ns-3.29 share (`src/internet/model/tcp-congestion-ops.cc`, `TcpNewReno`, from
//! which they descend). ns-3 counts bytes; windows here show the whole segments of them, and lose
//! the rest of less than a segment when they are reduced.

use fairway_units::Duration;

use crate::{Flow, Window, window::segments};

/// One segment for each acknowledgement below the threshold, however much it acknowledges. The
/// segments left count for congestion avoidance once the threshold is reached.
pub(crate) fn slow_start(window: &mut Window, acked: u32) -> u32 {
    window.cwnd = window.cwnd.saturating_add(1);
    if window.cwnd >= window.ssthresh { acked.saturating_sub(1) } else { 0 }
}

/// `max(1, ⌊mss²/cwnd⌋)` bytes for each acknowledgement, however much it acknowledges.
pub(crate) fn congestion_avoidance(window: &mut Window, mss: u32) {
    let mss = f64::from(mss.max(1));
    let bytes = (mss / window.exact()).floor().max(1.0);
    window.add(bytes / mss);
}

/// `max(2·mss, in flight/2)`.
pub(crate) fn half_in_flight(flow: &Flow) -> u32 {
    (segments(flow.flight_size, flow.mss.max(1)) / 2).max(2)
}

/// The smallest smoothed round trip: ns-3.29 keeps no other (`TcpSocketBase::EstimateRtt`).
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(crate) struct MinRtt(Option<Duration>);

impl MinRtt {
    /// An acknowledgement arrived.
    pub(crate) fn on_ack(&mut self, flow: &Flow) {
        self.0 = match (self.0, flow.srtt) {
            (Some(min), Some(srtt)) => Some(min.min(srtt)),
            (min, srtt) => min.or(srtt),
        };
    }

    /// The value, zero before the first.
    pub(crate) fn get(self) -> Duration {
        self.0.unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::flow;

    #[test]
    fn one_segment_an_acknowledgement_below_the_threshold() {
        let mut window = Window { ssthresh: 12, ..Window::new(10) };
        assert_eq!(slow_start(&mut window, 5), 0);
        assert_eq!(slow_start(&mut window, 5), 4);
        assert_eq!(window.cwnd, 12);
    }

    #[test]
    fn a_square_over_the_window_in_bytes() {
        // 1448²/14480 = 144.8: 144 bytes. At 2000 segments 0.7 bytes: 1.
        let mut window = Window::new(10);
        congestion_avoidance(&mut window, 1_448);
        assert!((window.exact() - (10.0 + 144.0 / 1_448.0)).abs() < 1e-12);
        let mut window = Window::new(2_000);
        congestion_avoidance(&mut window, 1_448);
        assert!((window.exact() - (2_000.0 + 1.0 / 1_448.0)).abs() < 1e-9);
    }

    #[test]
    fn half_of_what_is_in_flight() {
        assert_eq!(half_in_flight(&flow(0, 21, 40)), 10);
        assert_eq!(half_in_flight(&flow(0, 3, 40)), 2);
    }

    #[test]
    fn the_smallest_smoothed_round_trip() {
        let mut min = MinRtt::default();
        assert_eq!(min.get(), Duration::ZERO);
        for rtt_ms in [50, 40, 60] {
            min.on_ack(&flow(0, 1, rtt_ms));
        }
        assert_eq!(min.get(), Duration::from_millis(40));
    }
}
