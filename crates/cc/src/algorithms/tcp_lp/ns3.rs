//! TCP-LP of ns-3.29 (`tcp-lp.cc`, `TcpLp`), a copy of Linux's `tcp_lp.c` without its estimate of the
//! receiver's clock.

use crate::ns3::{CongestionOps, Tcb, new_reno};
use crate::probe::{Probe, Start};
use crate::{Variant, Vector};

pub(super) const HALVED: Vector = Vector::new(
    "ns-3.29, delays of 100 and 200 ms: ⌊(800 + 200 − 100)/8⌋ = 112 > 100: 57920/2 bytes",
    28_960.0,
    || after(&[100, 200]),
);

pub(super) const TWICE: Vector = Vector::new(
    "ns-3.29, then 400 ms: ⌊(900 + 400 − 112)/8⌋ = 148 > 112 + ⌊15 · 113/100⌋ = 128, within 3 round trips: 1448",
    1_448.0,
    || after(&[100, 200, 400]),
);

/// The window in bytes, from 40 segments, after these delays.
fn after(delays_ms: &[u32]) -> f64 {
    let mut probe = Probe::new("tcp-lp", Variant::Ns3_29, &Start::avoidance(40, 100));
    probe.may_grow = false;
    for delay_ms in delays_ms {
        probe.one_way_delay_ms = Some(*delay_ms);
        probe.ack(1);
    }
    probe.cc.cwnd() as f64
}

pub(super) struct Lp {
    /// `LP_WITHIN_INF`.
    infers: bool,
    /// `m_sOwd`: smoothed one-way delay in 1/8 ms.
    smoothed: u32,
    /// `m_owdMin`, `m_owdMax`, `m_owdMaxRsv`, ms.
    min: u32,
    max: u32,
    max_reserve: u32,
    /// `m_lastDrop`, 0 before the first.
    last_drop: i64,
    /// `m_inference`, ns.
    inference: i64,
}

impl Lp {
    pub(super) fn new() -> Self {
        Lp {
            infers: false,
            smoothed: 0,
            min: u32::MAX,
            max: 0,
            max_reserve: 0,
            last_drop: 0,
            inference: 0,
        }
    }

    /// `RttSample`, for a delay (`OwdCalculator`) that is not 0.
    fn sample(&mut self, delay: u32) {
        self.min = self.min.min(delay);
        if delay > self.max {
            self.max = if delay > self.max_reserve {
                let reserve = std::mem::replace(&mut self.max_reserve, delay);
                if reserve == 0 { delay } else { reserve }
            } else {
                delay
            };
        }
        self.smoothed = if self.smoothed == 0 {
            delay << 3
        } else {
            self.smoothed.wrapping_add(delay.wrapping_sub(self.smoothed >> 3))
        };
    }

    /// Whether the smoothed delay is within 15 % of the range.
    fn is_within_threshold(&self) -> bool {
        let share = self.max.wrapping_sub(self.min).wrapping_mul(15) / 100;
        self.smoothed >> 3 <= self.min.wrapping_add(share)
    }
}

impl CongestionOps for Lp {
    /// Called at every acknowledgement, in recovery too.
    fn pkts_acked(&mut self, tcb: &mut Tcb, _segments: u32, rtt: i64) {
        let delay = tcb.rcv_timestamp_value.wrapping_sub(tcb.rcv_timestamp_echo);
        if rtt != 0 && delay > 0 {
            self.sample(delay);
        }
        let echo_ms = i64::from(tcb.rcv_timestamp_echo);
        if tcb.now / 1_000_000 > echo_ms {
            self.inference = 3 * (tcb.now - echo_ms * 1_000_000);
        }
        self.infers = self.last_drop != 0 && tcb.now - self.last_drop < self.inference;
        if self.is_within_threshold() {
            return;
        }
        self.min = self.smoothed >> 3;
        self.max = self.smoothed >> 2;
        self.max_reserve = self.max;
        tcb.cwnd =
            if self.infers { tcb.segment_size } else { (tcb.cwnd >> 1).max(tcb.segment_size) };
        self.last_drop = tcb.now;
    }

    fn congestion_avoidance(&mut self, tcb: &mut Tcb, segments: u32) {
        if !self.infers {
            new_reno::congestion_avoidance(tcb, segments);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::testing::{MSS, tcb};

    #[test]
    fn the_window_is_constant_in_the_inference_phase() {
        let mut tcb = tcb(10 * MSS, 2 * MSS);
        Lp::new().congestion_avoidance(&mut tcb, 1);
        assert_eq!(tcb.cwnd, 10 * MSS + 144);
        Lp { infers: true, ..Lp::new() }.congestion_avoidance(&mut tcb, 1);
        assert_eq!(tcb.cwnd, 10 * MSS + 144);
    }

    #[test]
    fn without_timestamps_it_never_indicates_congestion() {
        let mut tcb = tcb(10 * MSS, 2 * MSS);
        let mut lp = Lp::new();
        for _ in 0..3 {
            tcb.now += 1_000_000_000;
            lp.pkts_acked(&mut tcb, 1, 90_000_000);
        }
        assert_eq!((tcb.cwnd, lp.infers, lp.last_drop), (10 * MSS, false, 0));
    }
}
