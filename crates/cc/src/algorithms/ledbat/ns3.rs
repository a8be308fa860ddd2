//! LEDBAT of ns-3.29 (`tcp-ledbat.cc`, `TcpLedbat`).

use crate::Params;
use crate::ns3::{CongestionOps, Tcb, new_reno, seconds, to_i32, to_u32};

pub(super) struct Ledbat {
    /// `TargetDelay`, ms.
    target_ms: i64,
    /// `Gain`.
    gain: f64,
    /// `MinCwnd`, segments.
    min_window: u32,
    /// `SSParam`.
    has_slow_start: bool,
    /// `LEDBAT_CAN_SS`.
    may_start: bool,
    /// `LEDBAT_VALID_OWD`.
    has_delay: bool,
    base: Delays,
    current: Delays,
    /// `m_lastRollover`, s.
    last_rollover: u64,
}

impl Ledbat {
    pub(super) fn new(params: &Params) -> Self {
        Ledbat {
            target_ms: params.get("target_ms") as i64,
            gain: params.get("gain"),
            min_window: params.get("min_window") as u32,
            has_slow_start: params.is_on("slow_start"),
            may_start: true,
            has_delay: false,
            base: Delays::new(params.get("base_history") as usize),
            current: Delays::new(params.get("current_filter") as usize),
            last_rollover: 0,
        }
    }

    /// `UpdateBaseDelay`.
    fn update_base(&mut self, delay: u32, now: i64) {
        if self.base.values.is_empty() {
            self.base.add(delay);
            return;
        }
        let now = seconds(now) as u64;
        if now - self.last_rollover > 60 {
            self.last_rollover = now;
            self.base.add(delay);
        } else {
            self.base.lower_last(delay);
        }
    }
}

/// `OwdCircBuf`: the last delays, ms.
struct Delays {
    values: Vec<u32>,
    length: usize,
}

impl Delays {
    fn new(length: usize) -> Self {
        Delays { values: Vec::with_capacity(length), length }
    }

    /// `MinCircBuf`.
    fn min(&self) -> u32 {
        self.values.iter().copied().min().unwrap_or(u32::MAX)
    }

    /// `AddDelay`, which drops the first delay as soon as there are `length`, leaving one less.
    fn add(&mut self, delay: u32) {
        self.values.push(delay);
        if self.values.len() > 1 && self.values.len() >= self.length {
            self.values.remove(0);
        }
    }

    fn lower_last(&mut self, delay: u32) {
        if let Some(last) = self.values.last_mut() {
            *last = delay.min(*last);
        }
    }
}

impl CongestionOps for Ledbat {
    fn pkts_acked(&mut self, tcb: &mut Tcb, _segments: u32, _rtt: i64) {
        self.has_delay = tcb.rcv_timestamp_value != 0 && tcb.rcv_timestamp_echo != 0;
        let delay = tcb.rcv_timestamp_value.wrapping_sub(tcb.rcv_timestamp_echo);
        self.current.add(delay);
        self.update_base(delay, tcb.now);
    }

    /// Slow start continues at the threshold itself.
    fn increase_window(&mut self, tcb: &mut Tcb, segments: u32) {
        self.may_start |= tcb.cwnd <= tcb.segment_size;
        if self.has_slow_start && tcb.cwnd <= tcb.ssthresh && self.may_start {
            new_reno::slow_start(tcb, segments);
        } else {
            self.may_start = false;
            self.congestion_avoidance(tcb, segments);
        }
    }

    fn congestion_avoidance(&mut self, tcb: &mut Tcb, segments: u32) {
        if !self.has_delay {
            new_reno::congestion_avoidance(tcb, segments);
            return;
        }
        let queueing_ms = i64::from(self.current.min()) - i64::from(self.base.min());
        let off = (self.target_ms - queueing_ms) as f64 * self.gain;
        let mss = f64::from(tcb.segment_size);
        let count = f64::from(to_i32(off * f64::from(segments) * mss));
        let share = count / (self.target_ms.wrapping_mul(i64::from(tcb.cwnd))) as f64;
        let cwnd = to_u32(f64::from(tcb.cwnd) + share * mss);
        let outstanding = tcb.high_tx.wrapping_sub(tcb.last_acked) as u32;
        let most = outstanding.wrapping_add(segments.wrapping_mul(tcb.segment_size));
        tcb.cwnd = cwnd.min(most).max(self.min_window.wrapping_mul(tcb.segment_size));
        if tcb.cwnd <= tcb.ssthresh {
            tcb.ssthresh = tcb.cwnd - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::testing::{MSS, tcb};

    fn ledbat() -> Ledbat {
        Ledbat {
            target_ms: 100,
            gain: 1.0,
            min_window: 2,
            has_slow_start: true,
            may_start: true,
            has_delay: false,
            base: Delays::new(10),
            current: Delays::new(4),
            last_rollover: 0,
        }
    }

    /// A delay in ms, by a clock that is 1000 ms ahead.
    fn delayed(rule: &mut Ledbat, tcb: &mut Tcb, delay_ms: u32) {
        (tcb.rcv_timestamp_value, tcb.rcv_timestamp_echo) = (6_000 + delay_ms, 5_000);
        rule.pkts_acked(tcb, 1, 90_000_000);
    }

    #[test]
    fn a_full_window_does_not_grow_and_the_threshold_is_a_byte_less() {
        // 8 are unacknowledged after an acknowledgement of 2: at most 10.
        let mut rule = ledbat();
        let mut tcb = tcb(10 * MSS, 10 * MSS - 1);
        delayed(&mut rule, &mut tcb, 5);
        (tcb.last_acked, tcb.high_tx) = (u64::from(2 * MSS), u64::from(10 * MSS));
        rule.increase_window(&mut tcb, 2);
        assert_eq!((tcb.cwnd, tcb.ssthresh), (10 * MSS, 10 * MSS - 1));
        // Below the threshold after a loss, but slow start returns only at one segment.
        (tcb.cwnd, tcb.ssthresh) = (5 * MSS, 8 * MSS);
        rule.increase_window(&mut tcb, 1);
        // 5·1440 + ⌊100·1440/(100·7200)·1440⌋ = 7488.
        assert_eq!((tcb.cwnd, tcb.ssthresh), (7_488, 7_487));
        (tcb.cwnd, tcb.ssthresh) = (MSS, 5 * MSS);
        rule.increase_window(&mut tcb, 2);
        assert_eq!(tcb.cwnd, 2 * MSS);
    }

    #[test]
    fn above_the_target_it_shrinks_to_two_segments() {
        // 200 ms: −100·1440/(100·14400)·1440 = −144 bytes.
        let mut rule = ledbat();
        let mut tcb = tcb(10 * MSS, 2 * MSS);
        tcb.high_tx = u64::from(20 * MSS);
        for delay_ms in [0, 200, 200, 200] {
            delayed(&mut rule, &mut tcb, delay_ms);
        }
        rule.increase_window(&mut tcb, 1);
        assert_eq!(tcb.cwnd, 10 * MSS - 144);
        tcb.cwnd = 2 * MSS + 1;
        rule.increase_window(&mut tcb, 2);
        assert_eq!(tcb.cwnd, 2 * MSS);
    }

    #[test]
    fn without_timestamps_it_is_new_reno() {
        let mut rule = ledbat();
        let mut tcb = tcb(10 * MSS, 2 * MSS);
        rule.pkts_acked(&mut tcb, 2, 90_000_000);
        rule.increase_window(&mut tcb, 2);
        assert_eq!(tcb.cwnd, 10 * MSS + 144);
    }

    #[test]
    fn filters_hold_one_less_than_their_length_and_the_base_a_minute_each() {
        let mut rule = ledbat();
        let mut tcb = tcb(10 * MSS, 2 * MSS);
        for (now_s, delay_ms, current, base) in [
            (1, 50, 50, 50),
            (2, 70, 50, 50),
            (3, 60, 50, 50),
            // The first of four goes.
            (4, 80, 60, 50),
            // Within the minute only a lower one counts; 61 s after the start it is a new value.
            (60, 40, 40, 40),
            (61, 90, 40, 40),
        ] {
            tcb.now = now_s * 1_000_000_000;
            delayed(&mut rule, &mut tcb, delay_ms);
            assert_eq!((rule.current.min(), rule.base.min()), (1_000 + current, 1_000 + base));
        }
        assert_eq!(rule.base.values, [1_040, 1_090]);
    }
}
