//! Arithmetic of learning: utility of a rate, and step along a slope.

/// The paper's utility.
pub(super) const PAPER: Utility = Utility { exponent: 0.9, b: 900.0, c: 11.35, slope_filter: 0.01 };

/// Utility of an interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Utility {
    pub(super) exponent: f64,
    pub(super) b: f64,
    pub(super) c: f64,
    pub(super) slope_filter: f64,
}

impl Utility {
    /// Utility of `x` Mbit/s at an RTT slope of `slope` and a loss rate of `loss` (equation 1).
    pub(super) fn of(&self, x: f64, slope: f64, loss: f64) -> f64 {
        let slope = if slope.abs() < self.slope_filter { 0.0 } else { slope };
        libm::pow(x, self.exponent) - self.b * x * slope - self.c * x * loss
    }
}

/// A rate in Mbit/s and its utility.
pub(super) type Trial = (f64, f64);

/// γ between two trials.
pub(super) fn slope(one: Trial, other: Trial) -> f64 {
    let difference = one.0 - other.0;
    if difference == 0.0 { 0.0 } else { (one.1 - other.1) / difference }
}

/// Confidence amplifier m(τ) (section 4.3).
pub(super) fn amplified(tau: u32) -> f64 {
    if tau <= 3 { f64::from(tau) } else { 2.0 * f64::from(tau) - 3.0 }
}

/// Dynamic change boundary ω (section 4.3).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Boundary {
    omega: f64,
    delta: f64,
    pub(super) k: f64,
}

impl Boundary {
    pub(super) fn new(omega: f64, delta: f64) -> Self {
        Boundary { omega, delta, k: 0.0 }
    }

    /// `step` at `rate`, bounded.
    pub(super) fn bound(&mut self, step: f64, rate: f64) -> f64 {
        let largest = (self.omega + self.k * self.delta) * rate;
        if step.abs() > largest {
            self.k += 1.0;
            return largest.copysign(step);
        }
        // The least k that allows the step.
        let beyond = step.abs() / rate - self.omega;
        self.k = if self.delta > 0.0 { (beyond / self.delta).ceil().max(0.0) } else { 0.0 };
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_bounded_steps_widen_the_boundary() {
        // At 10: 0.5, 1.5, 2.5; then a step of 1.2 needs (0.12 − 0.05)/0.1 = 0.7, so k = 1.
        let mut boundary = Boundary::new(0.05, 0.1);
        for largest in [0.5, 1.5, 2.5] {
            assert!((boundary.bound(100.0, 10.0) - largest).abs() < 1e-12);
        }
        assert_eq!(boundary.bound(-1.2, 10.0), -1.2);
        assert_eq!(boundary.k, 1.0);
        assert!((boundary.bound(-9.0, 10.0) + 1.5).abs() < 1e-12);
    }

    #[test]
    fn confidence_doubles_its_pace_after_three() {
        assert_eq!([1, 2, 3, 4, 5, 6].map(amplified), [1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
    }

    #[test]
    fn small_slopes_of_either_sign_are_noise() {
        assert_eq!(PAPER.of(10.0, 0.009, 0.0), PAPER.of(10.0, 0.0, 0.0));
        // A falling RTT raises the utility: 7.943 + 900·10·0.01.
        assert!((PAPER.of(10.0, -0.01, 0.0) - 97.943).abs() < 5e-4);
    }
}
