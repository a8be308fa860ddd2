//! What streams that back off one after the other leave of a path's capacity.

use crate::error::{Error, inside, not_negative, positive};

/// Who backs off when the buffer overflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Losers {
    /// One stream at a time, the next one at the next overflow.
    One,
    /// All streams together.
    All,
    /// As many packets are lost as streams times `drops_per_stream`, each of a random stream.
    Random {
        /// Packets lost at an overflow, for each stream.
        drops_per_stream: f64,
    },
}

impl Losers {
    /// How many streams that back off one by one are as good as `n` of these: `N/k`, if `k` of them back
    /// off together. Of `a·N` drops at random, a share `1 - (1 - 1/N)^(aN)` of the streams has one or more.
    pub fn independent(self, n: f64) -> f64 {
        match self {
            Losers::One => n,
            Losers::All => 1.0,
            Losers::Random { drops_per_stream } => {
                let hit = 1.0 - libm::pow(1.0 - 1.0 / n, drops_per_stream * n);
                (1.0 / hit).clamp(1.0, n)
            }
        }
    }
}

/// The share of the capacity that `n` streams use, one of which backs off at each overflow.
///
/// Let `S = P + B`. The sum of the windows falls by `D = 2(1-r)S / (N(1+r) + (1-r))` on average, exactly so
/// where the largest or each in turn backs off, and grows in a straight line from `L = S - D`. If `L ≥ P`
/// the path is never empty; otherwise the share is `[(S²-L²)/2] / [P(P-L) + (S²-P²)/2]`: the packets of an
/// epoch by the packets that fit into it, as a round trip takes `max(P, sum)/C`. With `B = 0` this is
/// [`crate::published::altman_utilisation`]. It is an upper bound where the loser is random, and a lower one
/// for algorithms that spend more of their time near the peak, as CUBIC does.
///
/// # Errors
/// [`Error`] for no streams, an empty path, a negative buffer, or a retention outside of (0, 1).
pub fn utilisation(n: f64, pipe: f64, buffer: f64, retention: f64) -> Result<f64, Error> {
    let (n, p, r) =
        (positive("streams", n)?, positive("bandwidth-delay product in packets", pipe)?, retention);
    inside("retention", r)?;
    let s = p + not_negative("buffer in packets", buffer)?;
    let d = 2.0 * (1.0 - r) * s / (n * (1.0 + r) + (1.0 - r));
    let l = s - d;
    if l >= p {
        return Ok(1.0);
    }
    Ok((s * s - l * l) / 2.0 / (p * (p - l) + (s * s - p * p) / 2.0))
}

/// The number of streams, not rounded, from which the path is never empty: `(1-r)/(1+r) · (1 + 2P/B)`;
/// infinite without a buffer.
///
/// # Errors
/// As [`utilisation`].
pub fn full_streams(pipe: f64, buffer: f64, retention: f64) -> Result<f64, Error> {
    let (p, r) = (positive("bandwidth-delay product in packets", pipe)?, retention);
    inside("retention", r)?;
    let b = not_negative("buffer in packets", buffer)?;
    Ok((1.0 - r) / (1.0 + r) * (1.0 + 2.0 * p / b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::altman_utilisation;

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-5, "{found} is not {expected}");
    }

    #[test]
    fn worked_examples() {
        for (r, shares) in [
            (0.5, [0.82934, 0.93888, 0.97661, 0.99238, 0.99864]),
            (0.7, [0.93203, 0.98994, 0.99992, 1.0, 1.0]),
            (0.875, [0.99864, 1.0, 1.0, 1.0, 1.0]),
        ] {
            for (n, share) in (1..).zip(shares) {
                near(utilisation(f64::from(n), 250.0, 30.0, r).unwrap(), share);
            }
        }
        // By hand: N = 1, r = 1/2, P = 250, B = 30: S = 280, L = 140, so
        // (78400 - 19600)/2 / (250 * 110 + (78400 - 62500)/2) = 29400 / 35450.
        near(utilisation(1.0, 250.0, 30.0, 0.5).unwrap(), 29_400.0 / 35_450.0);
    }

    #[test]
    fn without_a_buffer_it_is_altmans() {
        for n in 1..20 {
            let found = utilisation(f64::from(n), 250.0, 0.0, 0.5).unwrap();
            near(found, altman_utilisation(n, 0.5).unwrap());
        }
    }

    #[test]
    fn the_path_is_full_from_that_number_on() {
        // r = 1/2, P = 250, B = 30: (1 + 500/30) / 3 = 5.89.
        let full = full_streams(250.0, 30.0, 0.5).unwrap();
        near(full, 53.0 / 9.0);
        assert_eq!(utilisation(full * 1.000001, 250.0, 30.0, 0.5), Ok(1.0));
        assert!(utilisation(full * 0.999, 250.0, 30.0, 0.5).unwrap() < 1.0);
        assert_eq!(full_streams(250.0, 0.0, 0.5), Ok(f64::INFINITY));
    }

    #[test]
    fn streams_that_back_off_together_are_fewer() {
        assert_eq!(Losers::One.independent(10.0), 10.0);
        assert_eq!(Losers::All.independent(10.0), 1.0);
        let random = Losers::Random { drops_per_stream: 1.0 };
        // 1 - (4/5)^5 = 0.672, 1 - (9/10)^10 = 0.651, 1 - (29/30)^30 = 0.638 of them.
        for (n, share) in [(5.0, 0.67232), (10.0, 0.65132), (30.0, 0.63834)] {
            near(1.0 / random.independent(n), share);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(utilisation(0.0, 1.0, 1.0, 0.5).is_err());
        assert!(utilisation(1.0, 0.0, 1.0, 0.5).is_err());
        assert!(utilisation(1.0, 1.0, -1.0, 0.5).is_err());
        assert!(utilisation(1.0, 1.0, f64::NAN, 0.5).is_err());
        assert!(utilisation(1.0, 1.0, 1.0, 1.0).is_err());
        assert!(full_streams(1.0, 1.0, 0.0).is_err());
    }
}
