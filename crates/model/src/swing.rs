//! What lies between two back-offs: how long the sum of windows is where, and so what queue it keeps.

use crate::error::{Error, not_negative, positive};

/// The sum of all windows between two back-offs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swing {
    /// Behind a back-off, in packets.
    pub low_packets: f64,
    /// Where the next one comes, in packets.
    pub high_packets: f64,
    /// How it grows from one to the other.
    pub growth: Growth,
}

/// How the sum of windows grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// By as many packets in each round trip, as Reno's does.
    Steady,
    /// Fast at first and slower near the end: as CUBIC's, `high - (high - low)·(1 - t)³` of the time `t`
    /// from 0 to 1 between two back-offs (RFC 9438, section 4.2, its concave region).
    Cubic,
}

/// Means over time of a swing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwingMeans {
    /// Sum of the windows, in packets.
    pub window_packets: f64,
    /// Queue, in packets.
    pub queue_packets: f64,
    /// Share of the capacity that is used.
    pub utilisation: f64,
}

impl Swing {
    /// Its means on a path of `pipe` packets. Derived: the queue is what of the sum the path does not
    /// hold, and a round trip takes `max(pipe, sum)/C`.
    ///
    /// # Errors
    /// [`Error`] for an empty path, or a swing that does not go up.
    pub fn means(self, pipe: f64) -> Result<SwingMeans, Error> {
        let p = positive("bandwidth-delay product in packets", pipe)?;
        let high = positive("sum of windows in packets", self.high_packets)?;
        let low = not_negative("sum of windows behind a back-off in packets", self.low_packets)?;
        if low >= high {
            return Err(Error {
                quantity: "sum of windows behind a back-off in packets",
                expected: "less than before it",
                found: low,
            });
        }
        Ok(match self.growth {
            Growth::Steady => steady(low, high, p),
            Growth::Cubic => cubic(low, high, p),
        })
    }
}

/// The sum is at `s` for a time in proportion to `max(p, s)`; all means are integrals over it.
fn steady(low: f64, high: f64, p: f64) -> SwingMeans {
    // Up to `empty` nothing waits; from `queued` on something does.
    let (empty, queued) = (high.min(p).max(low), low.max(p).min(high));
    let squares = (high * high - queued * queued) / 2.0;
    let cubes = (high * high * high - queued * queued * queued) / 3.0;
    let time = (empty - low) * p + squares;
    let below = p * (empty * empty - low * low) / 2.0;
    SwingMeans {
        window_packets: (below + cubes) / time,
        queue_packets: ((cubes - p * squares) / time).max(0.0),
        utilisation: ((high * high - low * low) / 2.0 / time).min(1.0),
    }
}

/// With `y = 1 - t` the sum is `high - d·y³`; something waits while that is above `p`.
fn cubic(low: f64, high: f64, p: f64) -> SwingMeans {
    let d = high - low;
    let until = libm::cbrt(((high - p) / d).clamp(0.0, 1.0));
    let fourth = until * until * until * until;
    let queue = (high - p) * until - d * fourth / 4.0;
    let empty = high * (1.0 - until) - d * (1.0 - fourth) / 4.0;
    SwingMeans {
        window_packets: high - d / 4.0,
        queue_packets: queue.max(0.0),
        utilisation: (until + empty / p).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utilisation;

    fn means(low: f64, high: f64, growth: Growth, pipe: f64) -> SwingMeans {
        Swing { low_packets: low, high_packets: high, growth }.means(pipe).unwrap()
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9 * expected.max(1.0), "{found} is not {expected}");
    }

    #[test]
    fn a_path_that_is_never_empty() {
        // From 100 to 200 on 100: the sum is (8e6 - 1e6)/3 / ((4e4 - 1e4)/2) = 2333333.3/15000 = 155.56.
        let found = means(100.0, 200.0, Growth::Steady, 100.0);
        near(found.window_packets, 7e6 / 3.0 / 15_000.0);
        near(found.queue_packets, 7e6 / 3.0 / 15_000.0 - 100.0);
        near(found.utilisation, 1.0);
        // A cubic's mean is a quarter of its depth below its top.
        let found = means(100.0, 200.0, Growth::Cubic, 100.0);
        near(found.window_packets, 175.0);
        near(found.queue_packets, 75.0);
        near(found.utilisation, 1.0);
    }

    #[test]
    fn a_path_that_is_empty_for_a_while() {
        // From 140 to 280 on 250, as in the sawtooth's worked example: 29400/35450 of it are used. Something
        // waits for (78400 - 62500)/2 = 7950 of 35450; the sum there adds up to
        // (21952000 - 15625000)/3 = 2109000, less 250 times 7950: 121500 packets.
        let found = means(140.0, 280.0, Growth::Steady, 250.0);
        near(found.utilisation, utilisation(1.0, 250.0, 30.0, 0.5).unwrap());
        near(found.queue_packets, 121_500.0 / 35_450.0);
        // A cubic from 100 to 200 on 187.5: above it while y³ < 1/8, half of the time. The queue is
        // 12.5/2 - 100/64 = 4.6875; before that the mean is (100 - 100·(1 - 1/16)/4)/187.5 = 0.408333 of it,
        // so that 0.908333 are used.
        let found = means(100.0, 200.0, Growth::Cubic, 187.5);
        near(found.queue_packets, 4.6875);
        near(found.utilisation, 0.5 + (100.0 - 23.4375) / 187.5);
    }

    #[test]
    fn a_path_that_is_never_full() {
        // 100 to 200 on 400: a mean of 150 is 150/400 of it, whichever time it takes.
        let found = means(100.0, 200.0, Growth::Steady, 400.0);
        near(found.window_packets, 150.0);
        near(found.utilisation, 0.375);
        near(found.queue_packets, 0.0);
        near(means(100.0, 200.0, Growth::Cubic, 400.0).utilisation, 175.0 / 400.0);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let swing = Swing { low_packets: 2.0, high_packets: 1.0, growth: Growth::Steady };
        assert!(swing.means(1.0).is_err());
        assert!(Swing { low_packets: 0.0, ..swing }.means(0.0).is_err());
        assert!(Swing { low_packets: f64::NAN, ..swing }.means(1.0).is_err());
        assert!(Swing { low_packets: 0.0, ..swing }.means(f64::INFINITY).is_err());
    }
}
