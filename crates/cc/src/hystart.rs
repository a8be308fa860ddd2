//! HyStart: ends slow start when acknowledgements show that the path is full.
//!
//! Source: S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9),
//! 2011, as in Linux 6.1 (6.1.192 `net/ipv4/tcp_cubic.c`: `cubictcp_acked`, `hystart_update`).
//! Either of two tests ends slow start by setting the threshold to the window:
//!
//! - ACK train: acknowledgements at most 2 ms apart span more than half the minimum RTT since the
//!   start of the round.
//! - Delay increase: from the ninth sample of a round on, the minimum RTT of the round exceeds the
//!   minimum of the connection by an eighth, bounded to 4 to 16 ms.
//!
//! Linux halves the span of the train unless the socket is paced; this one is for a stack without
//! pacing. CUBIC in Linux also ignores samples for one second after an epoch of congestion
//! avoidance begins; here all samples count, which matters only in a slow start after an idle
//! period. And it looks for the end of slow start in a recovery, too, where the reduced window may be
//! below the threshold; here an algorithm's window is then at its threshold.

use crate::{Ack, Flow, Window};

/// `hystart_low_window`: no tests below this window, in segments.
const LOW_WINDOW: u32 = 16;
/// `hystart_ack_delta_us`: acknowledgements further apart end a train, µs.
const TRAIN_GAP_US: u64 = 2_000;
/// `HYSTART_MIN_SAMPLES`: samples of a round before its minimum is used.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`: bounds of the tolerated delay increase, µs.
const RISE_MIN_US: u64 = 4_000;
const RISE_MAX_US: u64 = 16_000;
/// `hystart_ack_delay`: the time of four maximum offloaded bursts at the pacing rate is added to
/// the minimum RTT, up to this limit, µs.
const BURST_MAX_US: u64 = 1_000;
/// Four times `GSO_LEGACY_MAX_SIZE`, bytes.
const BURST_BYTES: u64 = 4 * 65_536;

/// State of HyStart.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HyStart {
    /// Whether slow start has ended; reset by a retransmission timeout.
    found: bool,
    /// Minimum RTT since the start or the last timeout, µs; 0 before the first sample.
    min_rtt_us: u64,
    round_start_us: u64,
    /// The round ends when this byte is acknowledged.
    round_end: u64,
    last_ack_us: u64,
    /// Minimum RTT of this round, µs.
    round_min_us: u64,
    samples: u32,
}

impl HyStart {
    /// Initial state.
    pub fn new() -> Self {
        HyStart { round_min_us: u64::MAX, ..HyStart::default() }
    }

    /// Process an acknowledgement: set the threshold to the window if the path is full.
    pub fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        let Some(rtt) = ack.rtt else { return };
        let rtt_us = rtt.as_micros().max(1);
        if self.min_rtt_us == 0 || rtt_us < self.min_rtt_us {
            self.min_rtt_us = rtt_us;
        }
        if self.found || window.cwnd >= window.ssthresh {
            return;
        }
        if flow.snd_una > self.round_end {
            self.start_round(flow);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        if self.train_is_long(window.cwnd, flow) | self.delay_has_risen(rtt_us) {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    /// Reset after a retransmission timeout.
    pub fn on_rto(&mut self, flow: &Flow) {
        self.found = false;
        self.min_rtt_us = 0;
        self.start_round(flow);
    }

    fn start_round(&mut self, flow: &Flow) {
        self.round_start_us = micros(flow);
        self.last_ack_us = self.round_start_us;
        self.round_end = flow.snd_nxt;
        self.round_min_us = u64::MAX;
        self.samples = 0;
    }

    fn train_is_long(&mut self, cwnd: u32, flow: &Flow) -> bool {
        let now = micros(flow);
        if now - self.last_ack_us > TRAIN_GAP_US {
            return false;
        }
        self.last_ack_us = now;
        let threshold = (self.min_rtt_us + burst_us(cwnd, flow)) / 2;
        now - self.round_start_us > threshold
    }

    fn delay_has_risen(&mut self, rtt_us: u64) -> bool {
        self.round_min_us = self.round_min_us.min(rtt_us);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let tolerated = (self.min_rtt_us / 8).clamp(RISE_MIN_US, RISE_MAX_US);
        self.round_min_us > self.min_rtt_us + tolerated
    }
}

fn micros(flow: &Flow) -> u64 {
    flow.now.as_nanos() / 1_000
}

/// Time of a burst at the pacing rate of slow start, two windows per smoothed RTT (Linux 6.1
/// `tcp_update_pacing_rate`).
fn burst_us(cwnd: u32, flow: &Flow) -> u64 {
    let Some(srtt) = flow.srtt else { return 0 };
    let two_windows = 2 * u64::from(cwnd) * u64::from(flow.mss.max(1));
    BURST_MAX_US.min(BURST_BYTES * srtt.as_micros() / two_windows)
}

#[cfg(test)]
mod tests {
    use fairway_units::{Duration, Time};

    use super::*;
    use crate::testing::flow_at;

    /// The least RTT, in whole ms, at which the delay test ends slow start. Samples are 5 ms apart,
    /// so that there is no train.
    fn exit_rtt_ms(min_rtt_ms: u64) -> u64 {
        let mut hystart = HyStart::new();
        let mut window = Window::new(20);
        let mut now = Time::from_nanos(1_000_000_000);
        let mut sample = |rtt_ms: u64, snd_una: u64| {
            now = now + Duration::from_millis(5);
            let mut flow = flow_at(now);
            flow.snd_una = snd_una;
            flow.snd_nxt = snd_una + 100;
            let ack = Ack { rtt: Some(Duration::from_millis(rtt_ms)), ..Ack::default() };
            hystart.on_sample(&mut window, &ack, &flow);
            window.ssthresh != u32::MAX
        };
        assert!(!sample(min_rtt_ms, 1));
        for rise in 0.. {
            // One round for each candidate: eight samples, and the ninth decides.
            for _ in 0..8 {
                assert!(!sample(min_rtt_ms + rise, 1000 * (rise + 1)));
            }
            if sample(min_rtt_ms + rise, 1000 * (rise + 1)) {
                return min_rtt_ms + rise;
            }
        }
        unreachable!("some rise is too large")
    }

    #[test]
    fn the_delay_test_tolerates_an_eighth_between_4_and_16_ms() {
        // 20/8 = 2.5, raised to 4: more than 24 ends it. 40/8 = 5: more than 45.
        // 200/8 = 25, lowered to 16: more than 216.
        assert_eq!(exit_rtt_ms(20), 25);
        assert_eq!(exit_rtt_ms(40), 46);
        assert_eq!(exit_rtt_ms(200), 217);
    }

    /// Time since the start of the round at which the train ends slow start, µs: acknowledgements
    /// `gap_us` apart, all with an RTT of 40 ms.
    fn train_exit_us(cwnd: u32, gap_us: u64, limit_us: u64) -> Option<u64> {
        let mut hystart = HyStart::new();
        let mut window = Window::new(cwnd);
        let ack = Ack { rtt: Some(Duration::from_millis(40)), ..Ack::default() };
        let mut since_start = 0;
        while since_start <= limit_us {
            let mut flow = flow_at(Time::from_nanos(1_000_000_000 + since_start * 1_000));
            flow.srtt = Some(Duration::from_millis(40));
            flow.snd_una = 1;
            flow.snd_nxt = 1_000_000;
            hystart.on_sample(&mut window, &ack, &flow);
            if window.ssthresh == cwnd {
                return Some(since_start);
            }
            since_start += gap_us;
        }
        None
    }

    #[test]
    fn a_train_longer_than_half_the_round_trip_ends_slow_start() {
        // Threshold (40 ms + 1 ms)/2 = 20.5 ms: passed at 21 ms in steps of 1 ms, at 22 in 2.
        assert_eq!(train_exit_us(20, 1_000, 40_000), Some(21_000));
        assert_eq!(train_exit_us(20, 2_000, 40_000), Some(22_000));
    }

    #[test]
    fn the_allowance_for_bursts_shrinks_with_the_pacing_rate() {
        // A window of 10000 segments of 1448 bytes: 262144·40000/(2·10000·1448) = 362 µs;
        // threshold (40000 + 362)/2 = 20181 µs, passed at 20200 in steps of 100 µs.
        assert_eq!(train_exit_us(10_000, 100, 40_000), Some(20_200));
        // At 20 segments it is the full 1 ms: 20500, passed at 20600.
        assert_eq!(train_exit_us(20, 100, 40_000), Some(20_600));
    }

    #[test]
    fn a_gap_ends_the_train_and_a_small_window_is_not_tested() {
        assert_eq!(train_exit_us(20, 2_001, 400_000), None);
        assert_eq!(train_exit_us(15, 1_000, 400_000), None);
    }

    #[test]
    fn a_timeout_resets_it() {
        let mut hystart = HyStart { found: true, min_rtt_us: 40_000, ..HyStart::new() };
        hystart.on_rto(&flow_at(Time::from_nanos(5_000_000)));
        assert!(!hystart.found);
        assert_eq!(hystart.min_rtt_us, 0);
        assert_eq!(hystart.round_start_us, 5_000);
    }
}
