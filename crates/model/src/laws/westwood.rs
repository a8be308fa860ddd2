//! Reno and Westwood+ by the balance of what acknowledgements add and losses take: Grieco, Mascolo 2004
//! ("Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP Congestion Control"), and
//! Khader 2020, equations 3.1 and 3.2.

use super::quantity::parameters;
use super::{Law, Mean, without_timeouts};
use crate::answer::Answer;
use crate::error::Error;

const NO_QUEUE: &str = "no queue: a loss takes nothing, so that losses do not set the rate";
const CAPACITY: &str = "the capacity, not the loss, sets the rate";

parameters! {
    /// Reno where each packet is lost by itself.
    RenoBalance {
        /// Probability that a packet is lost.
        loss: Probability,
        /// Round-trip time.
        rtt_s: Positive,
    }
}

impl Law for RenoBalance {
    const NAME: &'static str = "reno-balance";
    const TITLE: &'static str = "Reno by the balance of gains and losses of single packets";
    const EQUATION: &'static str = "√(2·(1−p)/p) / T";
    const RANGE: &'static str = "loss up to 2 %, no limit of the window";
    const SOURCE: &'static str = "Khader 2020, equation 3.2; Grieco, Mascolo, ACM CCR 34(2), 2004";
    type Value = Mean;

    #[inline]
    fn answer(&self) -> Answer<Mean> {
        let window = libm::sqrt(2.0 * (1.0 - self.loss) / self.loss);
        Answer::new(Mean::of(window, self.rtt_s), without_timeouts(self.loss))
    }
}

parameters! {
    /// Westwood+ where each packet is lost by itself, with a queue of which the delay is known.
    WestwoodPlus {
        /// Probability that a packet is lost.
        loss: Probability,
        /// Mean round-trip time.
        rtt_s: Positive,
        /// Part of it spent in the queue.
        queueing_s: NotNegative,
        /// Capacity of the bottleneck.
        capacity_pps: PositiveLimit = f64::INFINITY,
    }
}

impl Law for WestwoodPlus {
    const NAME: &'static str = "westwood+";
    const TITLE: &'static str = "Westwood+ at a queueing delay, not above the capacity";
    const EQUATION: &'static str = "√((1−p)/p) / √(T·Tq), at most C";
    const RANGE: &'static str = "loss up to 2 %, a queue, below the capacity";
    const SOURCE: &'static str = "Khader 2020, equation 3.1; Grieco, Mascolo, ACM CCR 34(2), 2004";
    type Value = Mean;

    fn consistent(&self) -> Result<(), Error> {
        if self.queueing_s < self.rtt_s {
            return Ok(());
        }
        let expected = "less than the round-trip time that it is a part of";
        Err(Error { quantity: "queueing_s", expected, found: self.queueing_s })
    }

    #[inline]
    fn answer(&self) -> Answer<Mean> {
        // A packet that is acknowledged adds 1/w; one that is lost takes w - w·Tmin/T = w·Tq/T.
        let by_loss = libm::sqrt((1.0 - self.loss) / self.loss)
            / (libm::sqrt(self.rtt_s) * libm::sqrt(self.queueing_s));
        let rate_pps = by_loss.min(self.capacity_pps);
        let outside = if self.queueing_s == 0.0 {
            Some(NO_QUEUE)
        } else if by_loss > self.capacity_pps {
            Some(CAPACITY)
        } else {
            without_timeouts(self.loss)
        };
        Answer::new(Mean { window_packets: rate_pps * self.rtt_s, rate_pps }, outside)
    }
}

parameters! {
    /// Westwood+ where each packet is lost by itself, on a path whose queue is its own.
    WestwoodPath {
        /// Probability that a packet is lost.
        loss: Probability,
        /// Round-trip time without the queue: the smallest seen by the stream.
        rtt_s: Positive,
        /// Capacity of the bottleneck.
        capacity_pps: Positive,
    }
}

impl Law for WestwoodPath {
    const NAME: &'static str = "westwood+path";
    const TITLE: &'static str = "Westwood+ alone on a path, with the queue that it builds";
    const EQUATION: &'static str = "w² − C·T·w = (1−p)/p";
    const RANGE: &'static str = "loss up to 2 %, a buffer that holds the queue";
    const SOURCE: &'static str =
        "Grieco, Mascolo, ACM CCR 34(2), 2004; solved for the queue: derived";
    type Value = Mean;

    #[inline]
    fn answer(&self) -> Answer<Mean> {
        // The balance above with w = C·T' and T' - T = (w - P)/C: w·(w - P) = (1-p)/p.
        let pipe = self.capacity_pps * self.rtt_s;
        let window_packets =
            (pipe + libm::hypot(pipe, 2.0 * libm::sqrt((1.0 - self.loss) / self.loss))) / 2.0;
        let value = Mean { window_packets, rate_pps: self.capacity_pps };
        Answer::new(value, without_timeouts(self.loss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn by_hand() {
        // sqrt(99)/sqrt(0.002) = 222.486, sqrt(198)/0.1 = 140.712; and Tq = T/2 makes both alike.
        for (rtt_s, queueing_s, loss, westwood, reno) in [
            (0.1, 0.02, 0.01, 222.486, 140.712),
            (0.045, 0.005, 0.001, 2107.13, 993.311),
            (0.2, 0.1, 0.02, 49.4975, 49.4975),
        ] {
            let law = WestwoodPlus { loss, rtt_s, queueing_s, capacity_pps: f64::INFINITY };
            let found = law.evaluate().unwrap();
            assert!(found.in_range());
            near(found.value.rate_pps, westwood);
            near(RenoBalance { loss, rtt_s }.evaluate().unwrap().value.rate_pps, reno);
        }
    }

    #[test]
    fn without_a_queue_only_the_capacity_limits_it() {
        let law = WestwoodPlus { loss: 0.01, rtt_s: 0.1, queueing_s: 0.0, capacity_pps: 500.0 };
        let found = law.evaluate().unwrap();
        assert_eq!((found.value.rate_pps, found.value.window_packets), (500.0, 50.0));
        assert_eq!(found.outside, Some(NO_QUEUE));
        let full = WestwoodPlus { queueing_s: 1e-4, ..law }.evaluate().unwrap();
        assert_eq!((full.value.rate_pps, full.outside), (500.0, Some(CAPACITY)));
        let bad = WestwoodPlus { queueing_s: 0.1, ..law }.evaluate().unwrap_err();
        assert_eq!(bad.quantity, "queueing_s");
    }

    #[test]
    fn on_a_path_of_its_own() {
        // 30 packets and p = 1/1001: w² − 30·w = 1000 at 50.
        let law = WestwoodPath { loss: 1.0 / 1001.0, rtt_s: 0.1, capacity_pps: 300.0 };
        let found = law.evaluate().unwrap().value;
        near(found.window_packets, 50.0);
        // The same balance from outside: a round-trip time of 50/300 s, of which 20/300 s are the queue's.
        let again = WestwoodPlus {
            loss: 1.0 / 1001.0,
            rtt_s: 50.0 / 300.0,
            queueing_s: 20.0 / 300.0,
            capacity_pps: f64::INFINITY,
        };
        near(again.evaluate().unwrap().value.rate_pps, 300.0);
    }
}
