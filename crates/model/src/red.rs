//! Random early detection under streams that it keeps in balance.

use crate::algorithm::Algorithm;
use crate::error::{Error, inside, not_negative, streams};
use crate::parallelism::Path;

/// Halvings of the search: as many as a double has bits.
const HALVINGS: u32 = 60;

/// The part of RED's curve between its thresholds (Floyd, Jacobson 1993, section 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Red {
    /// Mean queue in packets below which nothing is dropped.
    pub min_packets: f64,
    /// Mean queue in packets at which `max_probability` is reached.
    pub max_packets: f64,
    /// Probability of a drop there.
    pub max_probability: f64,
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
    /// The queue that `n` streams keep in front of RED: the solution of `N·w(p) = P + q` with
    /// `p = max_probability·(q - min)/(max - min)`. None if there is none below the upper threshold,
    /// where RED drops as a full buffer does.
    ///
    /// # Errors
    /// [`Error`] if the path or RED's parameters make no sense, or for no streams.
    pub fn red(&self, red: Red, n: u32, algorithm: Algorithm) -> Result<Option<RedPoint>, Error> {
        self.loss_limited_pps(algorithm)?;
        let n = streams(n)?;
        let min = not_negative("lower threshold in packets", red.min_packets)?;
        inside("probability at the upper threshold", red.max_probability)?;
        if red.max_packets.is_nan() || red.max_packets <= min || red.max_packets.is_infinite() {
            return Err(Error {
                quantity: "upper threshold in packets",
                expected: "a finite number above the lower threshold",
                found: red.max_packets,
            });
        }
        let loss_at = |q: f64| red.max_probability * (q - min) / (red.max_packets - min);
        let surplus = |q: f64| {
            let window = algorithm.window(loss_at(q), self.rtt_s + q / self.capacity_pps)?;
            let window = window.min(self.window_packets.unwrap_or(f64::INFINITY));
            Some(n * window - (self.pipe_packets() + q))
        };
        if surplus(red.max_packets).is_none_or(|surplus| surplus > 0.0) {
            return Ok(None);
        }
        let (mut low, mut high) = (min, red.max_packets);
        for _ in 0..HALVINGS {
            let middle = (low + high) / 2.0;
            if surplus(middle).is_some_and(|surplus| surplus > 0.0) {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(Some(RedPoint { queue_packets: high, loss: loss_at(high) }))
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
    const RED: Red = Red { min_packets: 10.0, max_packets: 30.0, max_probability: 0.1 };

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
    fn what_makes_no_sense_is_refused() {
        assert!(PATH.red(RED, 0, Algorithm::Reno).is_err());
        assert!(PATH.red(Red { max_packets: 10.0, ..RED }, 1, Algorithm::Reno).is_err());
        assert!(PATH.red(Red { max_probability: 0.0, ..RED }, 1, Algorithm::Reno).is_err());
        assert!(PATH.red(Red { min_packets: -1.0, ..RED }, 1, Algorithm::Reno).is_err());
    }
}
