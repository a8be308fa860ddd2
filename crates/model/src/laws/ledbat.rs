//! LEDBAT: RFC 6817.

use super::Law;
use super::quantity::{parameters, quantities};
use crate::answer::Answer;
use crate::constants::LEDBAT_TARGET_S;

const LOSSES: &str = "a buffer below the target: losses set the window, as Reno's";

parameters! {
    /// One stream of LEDBAT alone on a path.
    Ledbat {
        /// Capacity of the bottleneck.
        capacity_pps: Positive,
        /// Round-trip time without a queue.
        rtt_s: Positive,
        /// Target queueing delay: at most 100 ms (RFC 6817, section 3.3).
        target_s: Between(0.001, 0.1) = LEDBAT_TARGET_S,
        /// Buffer of the bottleneck.
        buffer_packets: Limit = f64::INFINITY,
    }
}

quantities! {
    /// Where it is in balance.
    LedbatBalance {
        /// Largest congestion window: in equilibrium, or when a packet is lost.
        window_packets,
        /// Mean rate: the capacity, or less where the window halves.
        rate_pps,
        /// Largest queue.
        queue_packets,
    }
}

impl Law for Ledbat {
    const NAME: &'static str = "ledbat";
    const TITLE: &'static str = "LEDBAT alone: it keeps its target queueing delay";
    const EQUATION: &'static str = "queue C·TARGET, w = C·(T + TARGET)";
    const RANGE: &'static str = "a buffer of C·TARGET packets or more, one stream";
    const SOURCE: &'static str = "RFC 6817, section 2.4.2; equilibrium derived";
    type Value = LedbatBalance;

    #[inline]
    fn answer(&self) -> Answer<LedbatBalance> {
        let (wanted, pipe) = (self.capacity_pps * self.target_s, self.capacity_pps * self.rtt_s);
        let queue_packets = wanted.min(self.buffer_packets);
        let is_short = self.buffer_packets < wanted;
        let rate_pps = if is_short {
            self.capacity_pps * halving(pipe, queue_packets)
        } else {
            self.capacity_pps
        };
        let value = LedbatBalance { window_packets: pipe + queue_packets, rate_pps, queue_packets };
        Answer::new(value, is_short.then_some(LOSSES))
    }
}

/// The share of the capacity that one stream uses which halves its window when the buffer overflows: that of
/// [`crate::utilisation`] for one stream; all of it where a path is too short to have one.
fn halving(pipe: f64, buffer: f64) -> f64 {
    let share = crate::sawtooth::utilisation(1.0, pipe, buffer, 0.5).unwrap_or(1.0);
    if share.is_nan() { 1.0 } else { share }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn by_hand() {
        // 1250·0.1 = 125 and 62.5 more; 8333.33·0.025 = 208.333 and 166.667 more.
        for (capacity_pps, rtt_s, target_s, queue, window) in
            [(1250.0, 0.05, 0.1, 125.0, 187.5), (8333.33, 0.02, 0.025, 208.333, 375.0)]
        {
            let law = Ledbat { capacity_pps, rtt_s, target_s, buffer_packets: f64::INFINITY };
            let found = law.evaluate().unwrap();
            near(found.value.queue_packets, queue);
            near(found.value.window_packets, window);
            assert!(found.in_range() && found.value.rate_pps == capacity_pps);
        }
    }

    #[test]
    fn a_short_buffer_makes_it_reno() {
        // 62.5 + 60 packets at a loss, and 61.25 after it: below what fills the path.
        let law = Ledbat { capacity_pps: 1250.0, rtt_s: 0.05, target_s: 0.1, buffer_packets: 60.0 };
        let found = law.evaluate().unwrap();
        near(found.value.window_packets, 122.5);
        assert_eq!(found.outside, Some(LOSSES));
        // (122.5² − 61.25²)/2 = 5627.34, by 62.5·1.25 + (122.5² − 62.5²)/2 = 78.125 + 5550.
        near(found.value.rate_pps, 1250.0 * 5627.34 / 5628.125);
        let bad = Ledbat { target_s: 0.2, ..law }.evaluate().unwrap_err();
        assert_eq!(bad.quantity, "target_s");
    }
}
