//! RED's rule for single packets, and the parameters that it chooses for itself.

use crate::error::{Error, not_negative, positive};
use crate::red::Red;

/// The probability with which RED drops the next packet, `count` packets after the last that it dropped:
/// `pa = pb / (1 - count·pb)`, which spaces drops evenly (Floyd, Jacobson 1993, section 4).
///
/// # Errors
/// [`Error`] for parameters that make no sense, or an average or count below zero.
pub fn drop_after(red: Red, average_packets: f64, count: f64) -> Result<f64, Error> {
    let red = red.checked()?;
    let base = red.probability(not_negative("average queue in packets", average_packets)?);
    let left = 1.0 - not_negative("packets since the last drop", count)? * base;
    Ok(if left <= base { 1.0 } else { base / left })
}

/// The lower threshold is no less than this (Floyd, Gummadi and Shenker 2001,
/// "Adaptive RED", section 4).
const LEAST_MIN_PACKETS: f64 = 5.0;

/// The parameters that Adaptive RED chooses for a link.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct AdaptiveRed {
    /// Weight of a sample: `1 - exp(-1/C)`.
    pub weight: f64,
    /// Lower threshold in packets: `max(5, delay·C/2)`.
    pub min_packets: f64,
    /// Upper threshold in packets: three times the lower.
    pub max_packets: f64,
}

impl AdaptiveRed {
    /// Those for a link and a target of the queueing delay.
    ///
    /// # Errors
    /// [`Error`] for a capacity or a time that is not above zero.
    pub fn of(capacity_pps: f64, target_delay_s: f64) -> Result<Self, Error> {
        let capacity = positive("capacity in packets a second", capacity_pps)?;
        let delay = positive("target of the delay in seconds", target_delay_s)?;
        let min_packets = (delay * capacity / 2.0).max(LEAST_MIN_PACKETS);
        Ok(Self {
            weight: -libm::expm1(-1.0 / capacity),
            min_packets,
            max_packets: 3.0 * min_packets,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Red =
        Red { min_packets: 5.0, max_packets: 15.0, max_probability: 0.1, gentle: true };

    #[test]
    fn drops_are_spaced() {
        // Half way: pb = 0.05; ten packets on 0.05 / (1 - 0.5); the twentieth is dropped in any case.
        for (count, expected) in [(0.0, 0.05), (10.0, 0.1), (19.0, 1.0), (1e9, 1.0)] {
            assert!((drop_after(RED, 10.0, count).unwrap() - expected).abs() < 1e-12);
        }
        assert!((drop_after(RED, 22.5, 0.0).unwrap() - 0.55).abs() < 1e-12);
        assert_eq!(drop_after(RED, 4.0, 1e9), Ok(0.0));
        assert!(drop_after(RED, f64::NAN, 0.0).is_err() && drop_after(RED, 1.0, -1.0).is_err());
    }

    #[test]
    fn adaptive() {
        // 1 - exp(-1/1250) = 7.997e-4; half of 20 ms · 1250/s is 12.5 packets.
        let chosen = AdaptiveRed::of(1250.0, 0.02).unwrap();
        assert!((chosen.weight - 7.997e-4).abs() < 1e-7);
        assert_eq!((chosen.min_packets, chosen.max_packets), (12.5, 37.5));
        assert_eq!(AdaptiveRed::of(1250.0, 0.005).unwrap().min_packets, 5.0);
        assert!(AdaptiveRed::of(0.0, 0.02).is_err());
    }
}
