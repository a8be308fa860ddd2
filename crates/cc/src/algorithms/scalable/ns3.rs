//! Scalable TCP of ns-3.29 (`tcp-scalable.cc`, `TcpScalable`).

use crate::ns3::{CongestionOps, Tcb, to_u32};

pub(in super::super) struct Scalable {
    /// `AIFactor`.
    ai_factor: u32,
    /// `MDFactor`.
    md_factor: f64,
    /// `m_ackCnt`.
    count: u32,
}

impl Scalable {
    pub(in super::super) fn new(ai_factor: u32, md_factor: f64) -> Self {
        Scalable { ai_factor, md_factor, count: 0 }
    }
}

impl CongestionOps for Scalable {
    /// Segments beyond the last whole multiple are dropped.
    fn congestion_avoidance(&mut self, tcb: &mut Tcb, segments: u32) {
        let before = tcb.cwnd_segments();
        let mut cwnd = before;
        let w = cwnd.min(self.ai_factor).max(1);
        if self.count >= w {
            self.count = 0;
            cwnd += 1;
        }
        self.count = self.count.wrapping_add(segments);
        if self.count >= w {
            cwnd = cwnd.wrapping_add(self.count / w);
            self.count = 0;
        }
        if cwnd != before {
            tcb.set_cwnd_segments(cwnd);
        }
    }

    fn ssthresh(&mut self, tcb: &Tcb, in_flight: u32) -> u32 {
        let segments = f64::from(in_flight / tcb.segment_size);
        to_u32((segments * (1.0 - self.md_factor)).max(2.0)).wrapping_mul(tcb.segment_size)
    }
}
