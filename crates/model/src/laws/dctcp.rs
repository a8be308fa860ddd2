//! DCTCP: RFC 8257; Alizadeh et al. 2010 ("Data Center TCP (DCTCP)"), section 3.3.

use super::quantity::{parameters, quantities};
use super::{Law, Mean};
use crate::answer::Answer;

/// Steps of Newton's method: the third or fourth is exact.
const STEPS: usize = 6;

const EMPTY: &str = "a threshold that leaves the queue empty after a mark";
const SMALL: &str = "windows of less than one packet";
const MANY_MARKS: &str = "marks above 10 %: every round trip has one";

parameters! {
    /// Streams of DCTCP in step, in front of a queue that marks from a threshold on.
    Dctcp {
        /// Capacity of the bottleneck.
        capacity_pps: Positive,
        /// Round-trip time without a queue.
        rtt_s: Positive,
        /// Marking threshold, K.
        threshold_packets: Positive,
        /// Streams.
        flows: OneOrMore = 1.0,
    }
}

quantities! {
    /// The sawtooth of windows and queue.
    DctcpSawtooth {
        /// Window of each stream at which the queue reaches the threshold.
        window_packets,
        /// Share of packets marked.
        alpha,
        /// Fall of the queue, for small alpha.
        amplitude_packets,
        /// Largest queue.
        max_queue_packets,
        /// Smallest queue.
        min_queue_packets,
    }
}

impl Law for Dctcp {
    const NAME: &'static str = "dctcp";
    const TITLE: &'static str =
        "DCTCP in step before a marking threshold: the sawtooth of its queue";
    const EQUATION: &'static str = "W = (C·T+K)/N, α²(1−α/4) = (2W+1)/(W+1)², A = √(2N(C·T+K))/2";
    const RANGE: &'static str = "streams in step, windows above a packet, a queue that stays";
    const SOURCE: &'static str = "Alizadeh et al., SIGCOMM 2010, section 3.3; RFC 8257";
    type Value = DctcpSawtooth;

    #[inline]
    fn answer(&self) -> Answer<DctcpSawtooth> {
        let full = self.capacity_pps * self.rtt_s + self.threshold_packets;
        let window_packets = full / self.flows;
        let marked = (2.0 - 1.0 / (window_packets + 1.0)) / (window_packets + 1.0);
        let amplitude_packets = libm::sqrt(2.0 * self.flows * full) / 2.0;
        let max_queue_packets = self.threshold_packets + self.flows;
        let lowest = max_queue_packets - amplitude_packets;
        let value = DctcpSawtooth {
            window_packets,
            alpha: alpha(marked),
            amplitude_packets,
            max_queue_packets,
            min_queue_packets: lowest.max(0.0),
        };
        let outside =
            if window_packets < 1.0 { Some(SMALL) } else { (lowest <= 0.0).then_some(EMPTY) };
        Answer::new(value, outside)
    }
}

/// The solution of `α²(1-α/4) = marked`, not above one.
fn alpha(marked: f64) -> f64 {
    if marked >= 0.75 {
        return 1.0;
    }
    // Windows beyond what a number can square.
    if marked <= 0.0 {
        return 0.0;
    }
    let mut alpha = libm::sqrt(marked);
    for _ in 0..STEPS {
        let over = alpha * alpha * (1.0 - alpha / 4.0) - marked;
        alpha -= over / (alpha * (2.0 - 0.75 * alpha));
    }
    alpha
}

parameters! {
    /// A stream of DCTCP of which each packet is marked by itself.
    DctcpMarks {
        /// Probability that a packet is marked.
        mark_probability: Probability,
        /// Round-trip time.
        rtt_s: Positive,
    }
}

impl Law for DctcpMarks {
    const NAME: &'static str = "dctcp-marks";
    const TITLE: &'static str = "DCTCP under independent marks";
    const EQUATION: &'static str = "w = 2/p";
    const RANGE: &'static str = "marks up to 10 %, no losses";
    const SOURCE: &'static str = "derived from RFC 8257, section 3.3";
    type Value = Mean;

    #[inline]
    fn answer(&self) -> Answer<Mean> {
        // α is about p; a round trip adds a packet, and a cut of α/2 comes in nearly each: w·p/2 = 1.
        let window = 2.0 / self.mark_probability;
        let outside = (self.mark_probability > 0.1).then_some(MANY_MARKS);
        Answer::new(Mean::of(window, self.rtt_s), outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::laws::tests::near;

    #[test]
    fn sawtooth() {
        // The last: (25 + 20)/10 = 4.5; 10/30.25 = 0.330579 = 0.626032²·(1 − 0.156508);
        // sqrt(2·10·45)/2 = 15; 20 + 10 − 15 = 15.
        for (pipe, threshold_packets, flows, window, alpha, amplitude, lowest) in [
            (8.333, 20.0, 2.0, 14.1665, 0.375_125, 5.322_87, 16.6771),
            (83.333, 65.0, 2.0, 74.1665, 0.166_058, 12.1792, 54.8208),
            (25.0, 20.0, 10.0, 4.5, 0.626_032, 15.0, 15.0),
        ] {
            let law = Dctcp { capacity_pps: pipe * 1e3, rtt_s: 1e-3, threshold_packets, flows };
            let found = law.evaluate().unwrap();
            near(found.value.window_packets, window);
            near(found.value.alpha, alpha);
            near(found.value.amplitude_packets, amplitude);
            near(found.value.max_queue_packets, threshold_packets + flows);
            near(found.value.min_queue_packets, lowest);
            assert!(found.in_range());
        }
    }

    #[test]
    fn where_it_does_not_hold() {
        let law = Dctcp { capacity_pps: 1e5, rtt_s: 1e-3, threshold_packets: 2.0, flows: 1.0 };
        // sqrt(2·102)/2 = 7.14, and 2 + 1 is less.
        let found = law.evaluate().unwrap();
        assert_eq!((found.outside, found.value.min_queue_packets), (Some(EMPTY), 0.0));
        let found = Dctcp { flows: 200.0, ..law }.evaluate().unwrap();
        assert_eq!((found.outside, found.value.alpha), (Some(SMALL), 1.0));
    }

    #[test]
    fn marks_of_single_packets() {
        let found = DctcpMarks { mark_probability: 0.05, rtt_s: 0.01 }.evaluate().unwrap();
        assert_eq!(found.value, Mean { window_packets: 40.0, rate_pps: 4000.0 });
        let many = DctcpMarks { mark_probability: 0.11, rtt_s: 0.01 }.evaluate().unwrap();
        assert_eq!(many.outside, Some(MANY_MARKS));
    }
}
