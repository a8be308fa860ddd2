//! Published results on parallel TCP.

use crate::error::{Error, inside, positive, streams};

/// Hacker, Athey, Noble 2002 ("The End-to-End Performance Effects of Parallel TCP Sockets on a Lossy
/// Wide-Area Network"), equation 4: the packets a second of streams that lose `losses[i]` of their
/// packets, `c·Σ 1/sqrt(p_i) / T` with `c = sqrt(3/(2b))`. It holds while more streams do not make
/// more loss: on an uncongested path.
///
/// # Errors
/// [`Error`] for a probability outside of (0, 1), or a time or count that is not above zero.
pub fn hacker_pps(losses: &[f64], rtt_s: f64, packets_per_ack: f64) -> Result<f64, Error> {
    positive("round-trip time in seconds", rtt_s)?;
    positive("packets for each acknowledgement", packets_per_ack)?;
    let mut sum = 0.0;
    for loss in losses {
        sum += 1.0 / libm::sqrt(inside("loss", *loss)?);
    }
    Ok(libm::sqrt(1.5 / packets_per_ack) * sum / rtt_s)
}

/// Altman, Barman, Tuffin, Vojnović 2006 ("Parallel TCP Sockets: Simple Model, Throughput and
/// Validation"), theorem 1: the share of the capacity that `n` streams use where there is no buffer and
/// one stream backs off whenever their sum reaches the capacity: `1 - 1/(1 + N(1+r)/(1-r))`, whichever
/// stream it is.
///
/// # Errors
/// [`Error`] for no streams, or a retention outside of (0, 1).
pub fn altman_utilisation(n: u32, retention: f64) -> Result<f64, Error> {
    let (n, r) = (streams(n)?, inside("retention", retention)?);
    Ok(1.0 - 1.0 / (1.0 + n * (1.0 + r) / (1.0 - r)))
}

/// Crowcroft, Oechslin 1998 ("Differentiated End-to-End Internet Services using a Weighted Proportional
/// Fair Sharing TCP"): the mean window of one stream that behaves as `n`, adding `N` packets a round trip
/// and keeping `1 - 1/(2N)` at a loss. By AIMD's response function that is `N·sqrt((2 - 1/(2N))/p)`.
///
/// # Errors
/// [`Error`] for no streams, or a probability outside of (0, 1).
pub fn multcp_window(n: u32, loss: f64) -> Result<f64, Error> {
    let (n, p) = (streams(n)?, inside("loss", loss)?);
    Ok(n * libm::sqrt((2.0 - 1.0 / (2.0 * n)) / p))
}

/// Alrshah 2009, equations 2.1 and 2.2: how much the sum of `n` equal windows falls, as a share of it,
/// when `losers` of them back off: `k(1-r)/N`.
///
/// # Errors
/// [`Error`] for no streams, more losers than streams, or a retention outside of (0, 1).
pub fn reduction(n: u32, losers: u32, retention: f64) -> Result<f64, Error> {
    let (all, r) = (streams(n)?, inside("retention", retention)?);
    if losers > n {
        return Err(Error {
            quantity: "streams that back off",
            expected: "no more than there are streams",
            found: f64::from(losers),
        });
    }
    Ok(f64::from(losers) * (1.0 - r) / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64, digits: f64) {
        assert!((found - expected).abs() <= digits, "{found} is not {expected}");
    }

    #[test]
    fn hacker() {
        // 1460 bytes, 100 ms, 1 in 1000: sqrt(1.5 / 1e-3) / 0.1 * 11680 bit = 4.5236 Mbit/s a stream.
        for (n, mbps) in [(1, 4.5236), (5, 22.618), (10, 45.236)] {
            let found = hacker_pps(&vec![1e-3; n], 0.1, 1.0).unwrap() * 11680.0 / 1e6;
            near(found, mbps, 1e-3);
        }
        assert!(hacker_pps(&[1e-3, 0.0], 0.1, 1.0).is_err());
        assert!(hacker_pps(&[1e-3], 0.0, 1.0).is_err());
    }

    #[test]
    fn altman() {
        for (r, cases) in [
            (0.5, vec![(1, 0.75), (3, 0.9), (6, 0.947), (10, 0.968)]),
            (0.7, vec![(1, 0.85), (3, 0.944), (6, 0.971)]),
        ] {
            for (n, expected) in cases {
                near(altman_utilisation(n, r).unwrap(), expected, 6e-4);
            }
        }
        assert!(altman_utilisation(0, 0.5).is_err() && altman_utilisation(1, 1.0).is_err());
    }

    #[test]
    fn multcp_is_a_little_more_than_as_many_renos() {
        for (n, ratio) in [(1, 1.0), (2, 1.080), (10, 1.140), (100_000, 1.1547)] {
            let renos = f64::from(n) * libm::sqrt(1.5 / 0.01);
            near(multcp_window(n, 0.01).unwrap() / renos, ratio, 5e-4);
        }
        assert!(multcp_window(0, 0.01).is_err() && multcp_window(1, 0.0).is_err());
    }

    #[test]
    fn reductions() {
        near(reduction(3, 1, 0.5).unwrap(), 1.0 / 6.0, 1e-12);
        near(reduction(1, 1, 0.5).unwrap(), 0.5, 1e-12);
        near(reduction(10, 10, 0.7).unwrap(), 0.3, 1e-12);
        assert!(reduction(3, 4, 0.5).is_err() && reduction(0, 0, 0.5).is_err());
    }
}
