//! Fair shares on a path with other traffic.
//!
//! A fair share is what one well-tuned connection would take: with `M` other connections, `C/(M+1)`.
//! `N` streams that nothing but the full path limits take `N/(N+M)` of it, so one stream is fair there.
//! More are fair only where each is held back by something that is not the others: by its window, or by
//! losses that come from no full buffer. Then as many are fair as together reach the share of one that is
//! not held back.

use crate::error::{Error, positive, streams};

/// The share of a full path that `n` streams take beside `others` connections, if none is limited by
/// anything else: `N/(N+M)`.
///
/// # Errors
/// [`Error`] for no streams, or fewer than no others.
pub fn share(n: u32, others: f64) -> Result<f64, Error> {
    let n = streams(n)?;
    Ok(n / (n + crate::error::not_negative("other connections", others)?))
}

/// The fewest streams of `stream_bps` each that take the share of one well-tuned connection on a full path
/// of `capacity_bps` with `others` more: one, unless each is held back.
///
/// # Errors
/// [`Error`] for rates that are not above zero, or fewer than no others.
pub fn fair_streams(capacity_bps: f64, others: f64, stream_bps: f64) -> Result<u32, Error> {
    let fair_bps = positive("capacity in bit/s", capacity_bps)? * share(1, others)?;
    // Rounded down: it must not be more than the share. The cast saturates.
    let held_back =
        libm::floor(fair_bps / positive("rate of a stream in bit/s", stream_bps)? + 1e-9);
    Ok(held_back.max(1.0) as u32)
}

/// What two numbers of streams tell of the path that they fill.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Others {
    /// Connections of others, each worth one stream; infinite if each further stream brings as much as
    /// the first, as where nothing is full.
    pub others: f64,
    /// What all of them share, in the unit of the goodputs; infinite likewise.
    pub capacity: f64,
}

/// How many others there are, from the goodput `G` of two different numbers of streams: if the path is full,
/// `G = C·N/(N+M)`, so `1/G` is `1/C + (M/C)/N`, a straight line in `1/N`.
///
/// # Errors
/// [`Error`] for no streams, the same number twice, or a goodput that is not above zero.
pub fn others_from(one: (u32, f64), two: (u32, f64)) -> Result<Others, Error> {
    let (x1, x2) = (1.0 / streams(one.0)?, 1.0 / streams(two.0)?);
    let (y1, y2) = (1.0 / positive("goodput", one.1)?, 1.0 / positive("goodput", two.1)?);
    if one.0 == two.0 {
        let found = f64::from(two.0);
        return Err(Error { quantity: "streams", expected: "two different numbers", found });
    }
    let slope = ((y1 - y2) / (x1 - x2)).max(0.0);
    let inverse_capacity = y1 - slope * x1;
    // Up to rounding, goodput in proportion to the number.
    if inverse_capacity <= 1e-9 * y1 {
        return Ok(Others { others: f64::INFINITY, capacity: f64::INFINITY });
    }
    Ok(Others { others: slope / inverse_capacity, capacity: 1.0 / inverse_capacity })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        assert_eq!(share(1, 4.0), Ok(0.2));
        assert_eq!(share(4, 4.0), Ok(0.5));
        assert_eq!(share(3, 0.0), Ok(1.0));
        assert!(share(0, 4.0).is_err() && share(1, -1.0).is_err());
    }

    #[test]
    fn one_stream_is_fair_unless_it_is_held_back() {
        // 100 Mbit/s and four others: 20 Mbit/s. One that could have more is enough; of 5 Mbit/s it
        // takes four, of 6 Mbit/s three.
        assert_eq!(fair_streams(100e6, 4.0, 90e6), Ok(1));
        assert_eq!(fair_streams(100e6, 4.0, 5e6), Ok(4));
        assert_eq!(fair_streams(100e6, 4.0, 6e6), Ok(3));
        assert!(fair_streams(0.0, 4.0, 1.0).is_err() && fair_streams(1.0, 4.0, 0.0).is_err());
    }

    #[test]
    fn others_are_found_from_two_numbers() {
        // 4 others on 100 Mbit/s: 1 of 5, then 2 of 6 parts.
        let found = others_from((1, 20.0), (2, 100.0 / 3.0)).unwrap();
        assert!((found.others - 4.0).abs() < 1e-9 && (found.capacity - 100.0).abs() < 1e-9);
        // Nobody: the same goodput. Nothing full: twice as much.
        let alone = others_from((1, 95.0), (2, 95.0)).unwrap();
        assert_eq!((alone.others, alone.capacity), (0.0, 95.0));
        assert_eq!(others_from((2, 20.0), (4, 40.0)).unwrap().others, f64::INFINITY);
        // Less than before: nobody either.
        assert_eq!(others_from((1, 95.0), (2, 90.0)).unwrap().others, 0.0);
        assert!(
            others_from((2, 1.0), (2, 2.0)).is_err() && others_from((1, 0.0), (2, 1.0)).is_err()
        );
    }
}
