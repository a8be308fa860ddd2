//! YeAH of ns-3.29 (`tcp-yeah.cc`, `TcpYeah`).

use super::super::scalable::ns3::Scalable;
use crate::ns3::{CongestionOps, TIME_MAX, Tcb, new_reno, seconds, to_u32};
use crate::{Params, Phase, Vector};

pub(super) const KEPT: Vector = Vector::new(
    "ns-3.29, 1000 in flight at a loss, Q = 90: 1448 · (1000 − max(90, 125))",
    1_267_000.0,
    || left_by_loss(90, 1_000),
);

pub(super) const WRAPPED: Vector = Vector::new(
    "ns-3.29, one segment in flight at a loss, Q = 2: 1448 − 2 · 1448 + 2³²",
    4_294_965_848.0,
    || left_by_loss(2, 1),
);

fn left_by_loss(queue: u32, segments: u32) -> f64 {
    let mut rule = Yeah { last_queue: queue, ..defaults() };
    f64::from(rule.left(1_448, 1_448 * segments))
}

pub(super) struct Yeah {
    /// `Alpha`.
    q_max: u32,
    /// `Gamma`.
    gamma: u32,
    /// `Delta`.
    delta: u32,
    /// `Epsilon`.
    epsilon: u32,
    /// `Phy`.
    phi: u32,
    /// `Rho`.
    rho: u32,
    /// `Zeta`.
    zeta: u32,
    /// `m_stcp`.
    scalable: Scalable,
    base_rtt: i64,
    /// `m_minRtt`: of the round.
    round_rtt: i64,
    /// `m_cntRtt`.
    samples: u32,
    /// `m_begSndNxt`.
    round_end: u64,
    /// `m_lastQ`, segments.
    last_queue: u32,
    /// `m_doingRenoNow`: slow rounds in a row.
    slow_rounds: u32,
    /// `m_renoCount`, segments.
    reno_count: u32,
    /// `m_fastCount`.
    fast_rounds: u32,
}

/// Values of the constructor.
fn defaults() -> Yeah {
    Yeah {
        q_max: 80,
        gamma: 1,
        delta: 3,
        epsilon: 1,
        phi: 8,
        rho: 16,
        zeta: 50,
        // Set before attributes are read, so `StcpAiFactor` has no effect.
        scalable: Scalable::new(100, 0.125),
        base_rtt: TIME_MAX,
        round_rtt: TIME_MAX,
        samples: 0,
        round_end: 0,
        last_queue: 0,
        slow_rounds: 0,
        reno_count: 2,
        fast_rounds: 0,
    }
}

impl Yeah {
    pub(super) fn new(params: &Params) -> Self {
        let whole = |name| params.get(name) as u32;
        Yeah {
            q_max: whole("q_max"),
            gamma: whole("gamma"),
            delta: whole("delta"),
            epsilon: whole("epsilon"),
            phi: whole("phi"),
            rho: whole("rho"),
            zeta: whole("zeta"),
            ..defaults()
        }
    }

    fn begin_round(&mut self, tcb: &Tcb) {
        self.round_end = tcb.next_tx;
        (self.samples, self.round_rtt) = (0, TIME_MAX);
    }

    /// The part of `IncreaseWindow` for a round with enough samples.
    fn end_round(&mut self, tcb: &mut Tcb) {
        let mut cwnd = tcb.cwnd_segments();
        let queueing = seconds(self.round_rtt - self.base_rtt);
        let rate = f64::from(cwnd) / seconds(self.round_rtt);
        let queue = to_u32(rate * queueing);
        let level = queueing / seconds(self.base_rtt);
        // An integer division: 0 unless `Phy` is 1.
        if queue > self.q_max || level > f64::from(1 / self.phi) {
            if queue > self.q_max && cwnd > self.reno_count {
                let reduction = (queue / self.gamma).min(cwnd >> self.epsilon);
                cwnd = (cwnd - reduction).max(self.reno_count);
                tcb.set_cwnd_segments(cwnd);
                tcb.ssthresh = tcb.cwnd;
            }
            self.reno_count =
                if self.reno_count <= 2 { (cwnd >> 1).max(2) } else { self.reno_count + 1 };
            self.slow_rounds += 1;
        } else {
            self.fast_rounds += 1;
            if self.fast_rounds > self.zeta {
                (self.reno_count, self.fast_rounds) = (2, 0);
            }
            self.slow_rounds = 0;
        }
        self.last_queue = queue;
    }

    /// `GetSsThresh`.
    fn left(&mut self, mss: u32, in_flight: u32) -> u32 {
        let segments = in_flight / mss;
        let half = (segments >> 1).max(2);
        let reduction = if self.slow_rounds < self.rho {
            self.last_queue.max(segments >> self.delta).min(half)
        } else {
            half
        };
        self.fast_rounds = 0;
        self.reno_count = (self.reno_count >> 1).max(2);
        // The difference wraps around with less than two segments in flight.
        let left = in_flight.wrapping_sub(reduction.wrapping_mul(mss));
        left.max(mss.wrapping_mul(2))
    }
}

impl CongestionOps for Yeah {
    fn pkts_acked(&mut self, _tcb: &mut Tcb, _segments: u32, rtt: i64) {
        if rtt != 0 {
            self.round_rtt = self.round_rtt.min(rtt);
            self.base_rtt = self.base_rtt.min(rtt);
            self.samples = self.samples.wrapping_add(1);
        }
    }

    fn increase_window(&mut self, tcb: &mut Tcb, segments: u32) {
        if tcb.is_below() {
            new_reno::slow_start(tcb, segments);
        } else if self.slow_rounds == 0 {
            self.scalable.increase_window(tcb, segments);
        } else {
            new_reno::congestion_avoidance(tcb, segments);
        }
        if tcb.last_acked >= self.round_end {
            if self.samples > 2 {
                self.end_round(tcb);
            }
            self.begin_round(tcb);
        }
    }

    fn ssthresh(&mut self, tcb: &Tcb, in_flight: u32) -> u32 {
        self.left(tcb.segment_size, in_flight)
    }

    fn congestion_state_set(&mut self, tcb: &Tcb, phase: Phase) {
        if phase == Phase::Open {
            self.begin_round(tcb);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns3::testing::{MSS, tcb};

    /// End a round with RTTs of `rtts` ms, at a window of `cwnd` segments.
    fn after(rule: &mut Yeah, cwnd: u32, rtts: &[i64]) -> Tcb {
        let mut tcb = tcb(cwnd * MSS, 2 * MSS);
        for rtt in rtts {
            rule.pkts_acked(&mut tcb, 1, rtt * 1_000_000);
        }
        rule.increase_window(&mut tcb, 0);
        tcb
    }

    #[test]
    fn any_queue_is_slow_mode_and_a_long_one_is_drained() {
        // 1/8 is 0: 1 ms of 100 is slow. ⌊100·1/101⌋ = 0 segments wait.
        let mut rule = Yeah { base_rtt: 100_000_000, ..defaults() };
        assert_eq!(after(&mut rule, 100, &[101, 102, 103]).cwnd, 100 * MSS);
        assert_eq!((rule.slow_rounds, rule.reno_count, rule.last_queue), (1, 50, 0));
        // 1000/0.11·0.01 = 90 > 80: 910 is left, as the threshold too.
        let tcb = after(&mut rule, 1_000, &[110, 110, 110]);
        assert_eq!((tcb.cwnd, tcb.ssthresh), (910 * MSS, 910 * MSS));
        assert_eq!((rule.slow_rounds, rule.reno_count, rule.last_queue), (2, 51, 90));
    }

    #[test]
    fn two_samples_are_ignored() {
        let mut rule = Yeah { base_rtt: 100_000_000, ..defaults() };
        assert_eq!(after(&mut rule, 1_000, &[110, 110]).cwnd, 1_000 * MSS);
        assert_eq!((rule.slow_rounds, rule.samples), (0, 0));
    }
}
