//! Random early detection under streams that it keeps in balance.

use crate::algorithm::Algorithm;
use crate::error::{Error, inside, not_negative, streams};
use crate::parallelism::Path;

/// Halvings of the search: as many as a double has bits.
const HALVINGS: u32 = 60;

/// The part of RED's curve between its thresholds (Floyd, Jacobson 1993, section 4).
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Mean queue in packets below which nothing is dropped.
    pub min_packets: f64,
    /// Mean queue in packets at which `max_probability` is reached.
    pub max_packets: f64,
    /// Probability of a drop there.
    pub max_probability: f64,
    /// Whether the probability rises on to 1 at twice the upper threshold, instead of at once (Floyd 2000,
    /// "Recommendations on using the gentle variant of RED").
    pub gentle: bool,
}

impl Red {
    /// Its parameters, if they make sense.
    ///
    /// # Errors
    /// [`Error`] if one does not.
    pub fn checked(self) -> Result<Self, Error> {
        not_negative("lower threshold in packets", self.min_packets)?;
        inside("probability at the upper threshold", self.max_probability)?;
        let max = self.max_packets;
        if max.is_nan() || max <= self.min_packets || max.is_infinite() {
            return Err(Error {
                quantity: "upper threshold in packets",
                expected: "a finite number above the lower threshold",
                found: max,
            });
        }
        Ok(self)
    }

    /// Probability of a drop at a mean queue of `average` packets, all packets alike: `pb` of Floyd and
    /// Jacobson 1993, section 4.
    pub fn probability(&self, average: f64) -> f64 {
        let Red { min_packets: min, max_packets: max, max_probability, gentle } = *self;
        if average < min {
            return 0.0;
        }
        if average < max {
            return max_probability * (average - min) / (max - min);
        }
        let beyond = max_probability + (1.0 - max_probability) * (average - max) / max;
        if gentle { beyond.min(1.0) } else { 1.0 }
    }

    /// The mean queue from which every packet is dropped.
    pub fn ceiling_packets(&self) -> f64 {
        if self.gentle { 2.0 * self.max_packets } else { self.max_packets }
    }
}

/// Where streams and RED are in balance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedPoint {
    /// Mean queue in packets: what takes the place of the buffer in [`crate::utilisation`].
    pub queue_packets: f64,
    /// Loss that it makes.
    pub loss: f64,
}

impl Path {
    /// The queue that `n` streams keep in front of RED: the solution of `N·w(p) = P + q` with RED's
    /// probability at `q`, and losses that are none of the queue's besides. None if there is none below
    /// where RED drops everything, as a full buffer does, or no loss sets the window.
    ///
    /// # Errors
    /// [`Error`] if the path or RED's parameters make no sense, or for no streams.
    pub fn red(&self, red: Red, n: u32, algorithm: Algorithm) -> Result<Option<RedPoint>, Error> {
        self.loss_limited_pps(algorithm)?;
        let (n, red) = (streams(n)?, red.checked()?);
        let surplus = |q: f64| {
            let loss = red.probability(q);
            let both = 1.0 - (1.0 - loss) * (1.0 - self.loss);
            let rtt_s = self.rtt_s + q / self.capacity_pps;
            let window = if both > 0.0 { algorithm.window(both, rtt_s)? } else { f64::INFINITY };
            let window = window.min(self.window_packets.unwrap_or(f64::INFINITY));
            Some(n * window - (self.pipe_packets() + q))
        };
        // Just below: at the end itself the classic curve jumps to 1.
        let (mut low, mut high) = (red.min_packets, red.ceiling_packets() * (1.0 - 1e-12));
        if surplus(high).is_none_or(|surplus| surplus > 0.0) {
            return Ok(None);
        }
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if surplus(middle).is_some_and(|surplus| surplus > 0.0) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(Some(RedPoint { queue_packets: high, loss: red.probability(high) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Path = Path {
        capacity_pps: 1250.0,
        rtt_s: 0.2,
        buffer_packets: 300.0,
        window_packets: None,
        stream_pps: None,
        loss: 0.0,
        rto_s: 0.64,
    };
    const RED: Red =
        Red { min_packets: 10.0, max_packets: 30.0, max_probability: 0.1, gentle: false };

    #[test]
    fn ten_renos() {
        // p = (q - 10)/200 and 10·sqrt(1.5/p) = 250 + q: at q = 10.4423, p = 0.0022115 and both are 260.44.
        let found = PATH.red(RED, 10, Algorithm::Reno).unwrap().unwrap();
        assert!((found.queue_packets - 10.4423).abs() < 1e-3, "{found:?}");
        assert!((found.loss - 0.002_211_5).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn too_many_for_it_find_no_balance() {
        // At q = 30 each has sqrt(1.5/0.1) = 3.87 packets: 73 streams have more than 280.
        assert!(PATH.red(RED, 72, Algorithm::Reno).unwrap().is_some());
        assert_eq!(PATH.red(RED, 73, Algorithm::Reno), Ok(None));
        assert_eq!(PATH.red(RED, 1, Algorithm::Bbr), Ok(None));
    }

    #[test]
    fn many_are_held_by_the_gentle_branch() {
        // q = 40: pb = 0.1 + 0.9 * 10/30 = 0.4, w = sqrt(1.5/0.4) = 1.9365, 290 / 1.9365 = 149.75 streams.
        let gentle = Red { gentle: true, ..RED };
        let found = PATH.red(gentle, 150, Algorithm::Reno).unwrap().unwrap();
        assert!((found.queue_packets - 40.0).abs() < 0.1 && (found.loss - 0.4).abs() < 0.003);
        // At q = 60 everything is dropped: 1.2247 packets each, 310 of them by 253.1 streams.
        assert!(PATH.red(gentle, 253, Algorithm::Reno).unwrap().is_some());
        assert_eq!(PATH.red(gentle, 254, Algorithm::Reno), Ok(None));
    }

    #[test]
    fn other_losses_leave_a_shorter_queue() {
        let lossy = Path { loss: 1e-3, ..PATH };
        // Ten Renos at 0.0022115 in all, of which 0.001 are the path's: q = 10 + 200 * 0.0012128.
        let found = lossy.red(RED, 10, Algorithm::Reno).unwrap().unwrap();
        assert!((found.queue_packets - 10.2431).abs() < 2e-3, "{found:?}");
        // Six have 232.4 packets at 0.001, which no queue is needed for.
        assert_eq!(lossy.red(RED, 6, Algorithm::Reno).unwrap().unwrap().loss, 0.0);
    }

    #[test]
    fn the_curve() {
        // Floyd and Jacobson's thresholds of 5 and 15: half way between 0 and 0.1; gentle at one and a half
        // times the upper one: 0.1 + 0.9 * 7.5/15.
        let red = Red { min_packets: 5.0, max_packets: 15.0, max_probability: 0.1, gentle: true };
        for (average, expected) in
            [(4.9, 0.0), (10.0, 0.05), (22.5, 0.55), (30.0, 1.0), (99.0, 1.0)]
        {
            assert!((red.probability(average) - expected).abs() < 1e-12);
        }
        assert_eq!(Red { gentle: false, ..red }.probability(15.0), 1.0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(PATH.red(RED, 0, Algorithm::Reno).is_err());
        assert!(PATH.red(Red { max_packets: 10.0, ..RED }, 1, Algorithm::Reno).is_err());
        assert!(PATH.red(Red { max_probability: 0.0, ..RED }, 1, Algorithm::Reno).is_err());
        assert!(PATH.red(Red { min_packets: -1.0, ..RED }, 1, Algorithm::Reno).is_err());
    }
}
