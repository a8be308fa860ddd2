//! One flow's tokens, as one factor of the product form.
//!
//! A window is tokens that go round between the access point and the flow's station. With `m` of a
//! flow's `g` tokens at the access point its factor in the probability of a state is `s^m/m!`, where
//! `s` grows with the argument `t` of the integral in [`super::integral`]. Summed over `m < g` (the
//! station has some) and `m = g` (it has none) these are truncated exponential series.

/// A flow's tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tokens {
    /// How many: one or more.
    pub(super) count: u32,
    /// `s = scale·t + elsewhere`.
    pub(super) scale: f64,
    /// Mean tokens that would be neither at the access point nor at the station if the others were not
    /// there: on the wire, or waiting for the timer of delayed acknowledgements.
    pub(super) elsewhere: f64,
}

/// A flow's factor at one `t`, and what it is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Factor {
    /// Logarithm of the factor.
    pub(super) log: f64,
    /// Shares of the states in which the station has something to send.
    pub(super) active: f64,
    /// And nothing.
    pub(super) idle: f64,
    /// Derivatives with respect to `t`, over the factor: these states, weighted with the share of the
    /// access point's tokens that are this flow's.
    pub(super) active_slope: f64,
    /// Likewise.
    pub(super) idle_slope: f64,
}

impl Factor {
    /// Derivative of the logarithm.
    pub(super) fn slope(&self) -> f64 {
        self.active_slope + self.idle_slope
    }
}

impl Tokens {
    /// The factor at `t`. `log_factorial` is that of `count`.
    pub(super) fn factor(&self, t: f64, log_factorial: f64) -> Factor {
        let s = self.scale * t + self.elsewhere;
        let g = f64::from(self.count);
        let Series { log, last, rest } = series(s, g, log_factorial);
        // The series that ends a term earlier is the rest.
        let last_before = if self.count == 1 { 1.0 } else { last * g / (s.max(TINY) * rest) };
        let slope = self.scale * rest;
        Factor {
            log,
            active: rest,
            idle: last,
            active_slope: slope * (1.0 - last_before).max(0.0),
            idle_slope: slope * last_before,
        }
    }
}

/// The sum of `s^m/m!` up to `m = g`.
struct Series {
    log: f64,
    /// Share of the last term: Erlang's loss formula.
    last: f64,
    /// Share of those before it.
    rest: f64,
}

/// Instead of zero, where that would be divided by.
const TINY: f64 = 1e-300;
/// Share of a sum that a term must have to be worth adding.
const WORTH: f64 = 1e-18;

/// About `√g` terms of it, as the others are too small to matter: where `s` is above `g` those from the
/// last one down, and else those that are missing from the exponential function.
fn series(s: f64, g: f64, log_factorial: f64) -> Series {
    if s >= g {
        let (mut term, mut before, mut m) = (1.0, 0.0, g);
        while m > 0.0 && term > WORTH * before {
            term *= m / s;
            before += term;
            m -= 1.0;
        }
        let over_last = 1.0 + before;
        let log = g * libm::log(s) - log_factorial + libm::log(over_last);
        return Series { log, last: 1.0 / over_last, rest: before / over_last };
    }
    let (mut term, mut missing, mut m) = (1.0, 0.0, g + 1.0);
    while term > WORTH * (1.0 + missing) {
        term *= s / m;
        missing += term;
        m += 1.0;
    }
    // The last term and the sum over e^s.
    let top = libm::exp(g * libm::log(s.max(TINY)) - s - log_factorial);
    let sum = 1.0 - top * missing;
    let last = top / sum;
    Series { log: s + libm::log(sum), last, rest: 1.0 - last }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(count: u32, scale: f64, elsewhere: f64, t: f64) -> Factor {
        let log_factorial = libm::lgamma(f64::from(count) + 1.0);
        Tokens { count, scale, elsewhere }.factor(t, log_factorial)
    }

    fn assert_factor(found: Factor, series: f64, parts: [f64; 4]) {
        let parts_found = [found.active, found.idle, found.active_slope, found.idle_slope];
        assert!((found.log - libm::log(series)).abs() < 1e-12, "{found:?}");
        for (found, part) in parts_found.into_iter().zip(parts) {
            assert!((found - part / series).abs() < 1e-12, "{found} instead of {part}/{series}");
        }
    }

    #[test]
    fn by_hand() {
        // Three tokens at s = 2: 1 + 2 + 2 | + 4/3. Slopes: (1 + 2) | 2.
        assert_factor(factor(3, 1.0, 0.0, 2.0), 19.0 / 3.0, [5.0, 4.0 / 3.0, 3.0, 2.0]);
        // One: 1 | s = 2; 0 | 1.
        assert_factor(factor(1, 1.0, 0.0, 2.0), 3.0, [1.0, 2.0, 0.0, 1.0]);
        // Scale 2 and half a token elsewhere, at t = 3/4: s = 2, and slopes are twice as large.
        assert_factor(factor(3, 2.0, 0.5, 0.75), 19.0 / 3.0, [5.0, 4.0 / 3.0, 6.0, 4.0]);
    }

    #[test]
    fn without_overflow() {
        // s = 0: the first term alone. A hundred thousand tokens, and s far below and above.
        assert_factor(factor(3, 1.0, 0.0, 0.0), 1.0, [1.0, 0.0, 1.0, 0.0]);
        let found = factor(100_000, 1.0, 0.0, 5_000.0);
        assert!((found.log - 5_000.0).abs() < 1e-6 && found.active == 1.0, "{found:?}");
        let found = factor(2, 1.0, 0.0, 1e9);
        // 1 + s + s²/2: ln(5e17) and little more; all but 2/s of it with nothing to send.
        assert!((found.log - libm::log(5e17)).abs() < 1e-8, "{found:?}");
        assert!((found.active * 5e8 - 1.0).abs() < 1e-8, "{found:?}");
    }
}
