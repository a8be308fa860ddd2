//! How large a buffer has to be.

use crate::error::{Error, inside, positive};

/// One bandwidth-delay product: what Villamizar and Song 1994 ("High Performance TCP in ANSNET") ask for.
///
/// # Errors
/// [`Error`] for a capacity or a time that is not above zero.
pub fn bdp_packets(capacity_pps: f64, rtt_s: f64) -> Result<f64, Error> {
    let capacity = positive("capacity in packets a second", capacity_pps)?;
    Ok(capacity * positive("round-trip time in seconds", rtt_s)?)
}

/// `P/sqrt(n)` for `n` long flows that do not back off together (Appenzeller, Keslassy, McKeown 2004, "Sizing
/// Router Buffers"; it holds for some hundreds of flows and more).
///
/// # Errors
/// [`Error`] for a path of no packets, or less than one flow.
pub fn appenzeller_packets(pipe: f64, flows: f64) -> Result<f64, Error> {
    let (pipe, flows) =
        (positive("bandwidth-delay product in packets", pipe)?, positive("flows", flows)?);
    if flows < 1.0 {
        return Err(Error { quantity: "flows", expected: "one or more", found: flows });
    }
    Ok(pipe / libm::sqrt(flows))
}

/// What one stream needs that keeps a share `retention` of its window, so that what it keeps still fills the
/// path: `P(1-r)/r` (derived: `r(P+B) = P`). Reno needs all of `P`.
///
/// # Errors
/// [`Error`] for a path of no packets, or a retention outside of (0, 1).
pub fn single_stream_packets(pipe: f64, retention: f64) -> Result<f64, Error> {
    let pipe = positive("bandwidth-delay product in packets", pipe)?;
    let kept = inside("retention", retention)?;
    Ok(pipe * (1.0 - kept) / kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gigabit_and_a_tenth_of_a_second() {
        // 1e9 / 12000 · 0.1 = 8333.3 packets; a tenth of it for 100 flows; 3/7 of it for CUBIC, all for Reno.
        let pipe = bdp_packets(1e9 / 12_000.0, 0.1).unwrap();
        assert!((pipe - 8333.333).abs() < 1e-3);
        assert!((appenzeller_packets(pipe, 100.0).unwrap() - 833.333).abs() < 1e-3);
        assert!((single_stream_packets(pipe, 0.7).unwrap() - 3571.429).abs() < 1e-3);
        assert!((single_stream_packets(pipe, 0.5).unwrap() - pipe).abs() < 1e-9);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(bdp_packets(0.0, 0.1).is_err() && bdp_packets(1.0, f64::NAN).is_err());
        assert!(appenzeller_packets(1.0, 0.5).is_err() && appenzeller_packets(0.0, 1.0).is_err());
        assert!(single_stream_packets(1.0, 1.0).is_err());
    }
}
