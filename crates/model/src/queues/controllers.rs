//! Delay controllers: CoDel, PIE, DualPI2.

use crate::error::{Error, not_negative, positive};

/// When CoDel drops while the delay stays above its target, in seconds after the first drop: the n-th follows
/// the one before by `interval/sqrt(n)` (RFC 8289, section 3.2).
///
/// # Errors
/// [`Error`] for an interval that is not above zero.
pub fn codel_drops_s(interval_s: f64, drops: usize) -> Result<Vec<f64>, Error> {
    let interval = positive("interval in seconds", interval_s)?;
    let mut at = 0.0;
    let mut found = Vec::new();
    for n in 1..=drops {
        found.push(at);
        at += interval / libm::sqrt(n as f64);
    }
    Ok(found)
}

/// RFC 8033, section 4.2 and 5.2: the gains per second, and the target of the delay.
const PIE_ALPHA: f64 = 0.125;
const PIE_BETA: f64 = 1.25;
const PIE_TARGET_S: f64 = 0.015;
/// Below these probabilities the step is divided by so much (the same).
const PIE_SCALES: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
/// The largest step from a probability of 0.1 on (the same).
const PIE_LARGEST_STEP: f64 = 0.02;
/// What an idle queue leaves of it (the same).
const PIE_DECAY: f64 = 0.98;

/// PIE's probability after an update, from the one before and the delays now and at the update before.
///
/// # Errors
/// [`Error`] for a number below zero.
pub fn pie_probability(probability: f64, delay_s: f64, before_s: f64) -> Result<f64, Error> {
    let p = not_negative("probability", probability)?;
    let (now, before) =
        (not_negative("delay in seconds", delay_s)?, not_negative("delay in seconds", before_s)?);
    let step = PIE_ALPHA * (now - PIE_TARGET_S) + PIE_BETA * (now - before);
    let scale = PIE_SCALES.iter().find(|(below, _)| p < *below).map_or(1.0, |(_, scale)| *scale);
    let step = step / scale;
    let step = if p >= 0.1 { step.min(PIE_LARGEST_STEP) } else { step };
    let decay = if now == 0.0 && before == 0.0 { PIE_DECAY } else { 1.0 };
    Ok(((p + step) * decay).clamp(0.0, 1.0))
}

/// DualPI2's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2 {
    /// Target of the classic queue's delay.
    pub target_s: f64,
    /// Time between updates.
    pub update_s: f64,
    /// Gain of the distance from the target, per second.
    pub alpha: f64,
    /// Gain of the change, per second.
    pub beta: f64,
    /// Ratio of the marks of the low-latency queue to the root of the drops of the other.
    pub coupling: f64,
}

/// Result of an update of DualPI2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualPi2Update {
    /// The base probability.
    pub base: f64,
    /// Drops of the classic queue: its square.
    pub classic: f64,
    /// Marks of the low-latency queue that follow from it.
    pub coupled: f64,
}

/// RFC 9332, appendix A.1: the gains by the longest round-trip time, and the largest drop probability.
const DUALPI2_ALPHA: f64 = 0.1;
const DUALPI2_BETA: f64 = 0.3;
const DUALPI2_COUPLING: f64 = 2.0;
const DUALPI2_MOST: f64 = 0.25;

impl DualPi2 {
    /// The RFC's defaults for a target, a longest round-trip time, and a time between updates:
    /// `alpha = 0.1·Tupdate/RTT²`, `beta = 0.3/RTT` (appendix A.1).
    ///
    /// # Errors
    /// [`Error`] for a time that is not above zero.
    pub fn of(target_s: f64, longest_rtt_s: f64, update_s: f64) -> Result<Self, Error> {
        let rtt = positive("longest round-trip time in seconds", longest_rtt_s)?;
        let update_s = positive("time between updates in seconds", update_s)?;
        Ok(Self {
            target_s: positive("target in seconds", target_s)?,
            update_s,
            alpha: DUALPI2_ALPHA * update_s / (rtt * rtt),
            beta: DUALPI2_BETA / rtt,
            coupling: DUALPI2_COUPLING,
        })
    }

    /// The probabilities after an update.
    ///
    /// # Errors
    /// [`Error`] for a number below zero.
    pub fn update(&self, base: f64, delay_s: f64, before_s: f64) -> Result<DualPi2Update, Error> {
        let p = not_negative("probability", base)?;
        let now = not_negative("delay in seconds", delay_s)?;
        let before = not_negative("delay in seconds", before_s)?;
        let step = self.alpha * (now - self.target_s) + self.beta * (now - before);
        // No more than what drops DUALPI2_MOST of the classic packets.
        let base = (p + step).clamp(0.0, libm::sqrt(DUALPI2_MOST));
        let coupled = (self.coupling * base).min(1.0);
        Ok(DualPi2Update { base, classic: base * base, coupled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn codels_schedule() {
        // 100, 100/sqrt(2), 100/sqrt(3), 50 ms.
        let found = codel_drops_s(0.1, 5).unwrap();
        for (drop, expected) in found.iter().zip([0.0, 0.1, 0.170_71, 0.228_45, 0.278_45]) {
            assert!((drop - expected).abs() < 5e-6, "{found:?}");
        }
        assert_eq!(codel_drops_s(0.1, 0), Ok(vec![]));
        assert!(codel_drops_s(0.0, 1).is_err());
    }

    #[test]
    fn pies_update() {
        // 0.125 · 15 ms + 1.25 · 10 ms = 0.014375, halved below 0.1.
        near(pie_probability(0.05, 0.03, 0.02).unwrap(), 0.057_187_5);
        // From 0.1 on all of it, but no more than 0.02: 0.125 · 85 ms + 1.25 · 100 ms = 0.135625.
        near(pie_probability(0.1, 0.03, 0.02).unwrap(), 0.114_375);
        near(pie_probability(0.2, 0.1, 0.0).unwrap(), 0.22);
        // 0.014375 / 2048.
        near(pie_probability(0.0, 0.03, 0.02).unwrap(), 7.019_042_97e-6);
        // -0.125 · 15 ms, and 0.98 of the rest; not below zero.
        near(pie_probability(0.5, 0.0, 0.0).unwrap(), (0.5 - 0.001_875) * 0.98);
        near(pie_probability(1e-7, 0.0, 0.0).unwrap(), 0.0);
        assert!(pie_probability(0.1, f64::NAN, 0.0).is_err());
    }

    #[test]
    fn dualpi2s_update() {
        // 0.1 · 16 ms / (100 ms)² = 0.16; 0.3 / 100 ms = 3; Linux rounds it to 3.2.
        let defaults = DualPi2::of(0.015, 0.1, 0.016).unwrap();
        near(defaults.alpha, 0.16);
        near(defaults.beta, 3.0);
        // 0.1 + 0.16 · 10 ms + 3.2 · 5 ms = 0.1176; twice; squared.
        let found = DualPi2 { beta: 3.2, ..defaults }.update(0.1, 0.025, 0.02).unwrap();
        near(found.base, 0.1176);
        near(found.coupled, 0.2352);
        near(found.classic, 0.013_829_76);
        near(defaults.update(0.5, 9.0, 0.0).unwrap().classic, 0.25);
        assert!(defaults.update(-0.1, 0.0, 0.0).is_err() && DualPi2::of(0.0, 0.1, 0.1).is_err());
    }
}
