//! The queue of low latency, and the marks that it makes by itself.

use std::collections::VecDeque;

use fairway_units::{Duration, Time};

use super::super::fifo::Fifo;
use super::super::{Queued, Waiting};
use super::LowLatencyMarks;

#[derive(Clone, Debug)]
pub(super) struct LowLatencyQueue<P> {
    packets: Fifo<P>,
    /// For each packet, whether marks apply to it.
    apply: VecDeque<bool>,
}

impl<P> Default for LowLatencyQueue<P> {
    fn default() -> Self {
        LowLatencyQueue { packets: Fifo::default(), apply: VecDeque::new() }
    }
}

impl<P> LowLatencyQueue<P> {
    /// Marks apply to the packet if `min_packets` wait before it (`skb_apply_step`).
    pub(super) fn push(&mut self, packet: Queued<P>, min_packets: u64) {
        self.apply.push_back(self.packets.len() >= min_packets);
        self.packets.push(packet);
    }

    pub(super) fn pop(&mut self) -> Option<Queued<P>> {
        self.apply.pop_front();
        self.packets.pop()
    }

    pub(super) fn head(&self) -> Option<&Queued<P>> {
        self.packets.head()
    }

    pub(super) fn waiting(&self) -> Waiting {
        self.packets.waiting()
    }

    /// Probability that the head is marked if it leaves now (RFC 9332 appendix A.1, laqm();
    /// `do_step_aqm`).
    pub(super) fn native(&self, marks: LowLatencyMarks, now: Time) -> f64 {
        let Some(head) = self.head() else { return 0.0 };
        if self.apply.front() != Some(&true) {
            return 0.0;
        }
        let waited = now.since(head.arrived);
        let over = match marks {
            LowLatencyMarks::StepTime(threshold) => waited > threshold,
            LowLatencyMarks::StepPackets(threshold) => self.packets.len() - 1 > threshold,
            LowLatencyMarks::Ramp { from, range } => return ramp(waited, from, range),
        };
        f64::from(u8::from(over))
    }
}

fn ramp(waited: Duration, from: Duration, range: Duration) -> f64 {
    if waited >= from + range { 1.0 } else { (waited - from).as_secs_f64() / range.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ramp_rises_from_its_threshold() {
        // RFC 9332 appendix A.1: from 0 at 800 µs to 1 at 1200 µs.
        let micros = Duration::from_micros;
        let at = |waited| ramp(micros(waited), micros(800), micros(400));
        assert_eq!([at(0), at(800), at(900), at(1000), at(1200), at(5000)], {
            [0.0, 0.0, 0.25, 0.5, 1.0, 1.0]
        });
        assert_eq!(ramp(micros(1), micros(1), micros(0)), 1.0);
    }
}
