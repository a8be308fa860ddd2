//! The queue of a fluid: what it drops or marks at a given state.

use crate::error::{Error, positive};

/// Which equations hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Equations {
    /// As published by Misra, Gong and Towsley.
    Published,
    /// With what packets do beside: losses are spread over flows, a window is reduced once in a round trip and
    /// rests for one, RED spaces its drops evenly, and what is dropped is not queued.
    #[default]
    Refined,
}

/// The queue at the bottleneck, in packets.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Queue {
    /// Random early detection.
    Red(RedQueue),
    /// Drops what does not fit.
    DropTail {
        /// Packets that fit.
        limit_packets: f64,
    },
    /// Holds whatever comes.
    Unlimited,
}

/// Random early detection (Floyd and Jacobson, IEEE/ACM ToN 1(4), 1993).
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedQueue {
    /// Average queue below which nothing is dropped.
    pub min_packets: f64,
    /// Average queue at which the probability is at its maximum.
    pub max_packets: f64,
    /// That maximum.
    pub max_probability: f64,
    /// Weight of a packet's sample in the average.
    pub weight: f64,
    /// Whether the probability rises on from there to 1 at twice that queue, rather than at once.
    pub gentle: bool,
    /// Whether it marks instead of dropping.
    pub marks: bool,
    /// Packets that fit; none for no limit.
    pub limit_packets: Option<f64>,
}

/// What happens to an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fate {
    /// The probability that its sender is told of congestion, by a loss or a mark.
    pub(super) signalled: f64,
    /// The probability that it is dropped.
    pub(super) dropped: f64,
}

impl Queue {
    pub(super) fn check(&self) -> Result<(), Error> {
        match self {
            Queue::Unlimited => Ok(()),
            Queue::DropTail { limit_packets } => {
                positive("limit of the queue in packets", *limit_packets).map(|_| ())
            }
            Queue::Red(red) => red.check(),
        }
    }

    /// Packets that fit.
    pub(super) fn limit(&self) -> f64 {
        match self {
            Queue::Unlimited => f64::INFINITY,
            Queue::DropTail { limit_packets } => *limit_packets,
            Queue::Red(red) => red.limit_packets.unwrap_or(f64::INFINITY),
        }
    }

    /// The weight of its average; none if it keeps none.
    pub(super) fn weight(&self) -> Option<f64> {
        if let Queue::Red(red) = self { Some(red.weight) } else { None }
    }

    /// What happens early at an average queue.
    pub(super) fn early(&self, average: f64, equations: Equations) -> Fate {
        let Queue::Red(red) = self else { return Fate { signalled: 0.0, dropped: 0.0 } };
        let base = red.probability(average);
        let signalled = match equations {
            Equations::Published => base,
            // Gaps between drops are uniform from 1 to 1/p packets (section 7 of the paper), half as long
            // on average.
            Equations::Refined => (2.0 * base).min(1.0),
        };
        Fate { signalled, dropped: if red.marks { 0.0 } else { signalled } }
    }

    /// What happens at a queue and an average, of what arrives at `arriving` packets a second and leaves
    /// at `capacity`. A full queue drops what is more than leaves.
    pub(super) fn fate(
        &self,
        (queue, average): (f64, f64),
        (arriving, capacity): (f64, f64),
        equations: Equations,
    ) -> Fate {
        let early = self.early(average, equations);
        let admitted = arriving * (1.0 - early.dropped);
        // Interpolation may take off the last digit of a queue that stays full.
        if queue < self.limit() * (1.0 - 1e-9) || admitted <= capacity {
            return early;
        }
        let fits = capacity / admitted;
        Fate {
            signalled: 1.0 - (1.0 - early.signalled) * fits,
            dropped: 1.0 - (1.0 - early.dropped) * fits,
        }
    }
}

impl RedQueue {
    fn check(&self) -> Result<(), Error> {
        let number = |quantity, found: f64, fits: bool, expected| {
            if fits && found.is_finite() {
                Ok(())
            } else {
                Err(Error { quantity, expected, found })
            }
        };
        let (min, max) = (self.min_packets, self.max_packets);
        number("RED's lower threshold in packets", min, min >= 0.0, "zero or more")?;
        number(
            "RED's upper threshold in packets",
            max,
            max > min,
            "more than the lower threshold",
        )?;
        let p = self.max_probability;
        number("RED's maximal probability", p, p > 0.0 && p <= 1.0, "above 0 and up to 1")?;
        let w = self.weight;
        number("RED's weight", w, w > 0.0 && w < 1.0, "above 0 and below 1")?;
        let limit = self.limit_packets.unwrap_or(1.0);
        number("limit of the queue in packets", limit, limit > 0.0, "a finite number above zero")
    }

    fn probability(&self, average: f64) -> f64 {
        let (min, max, top) = (self.min_packets, self.max_packets, self.max_probability);
        if average < min {
            0.0
        } else if average < max {
            top * (average - min) / (max - min)
        } else if self.gentle && average < 2.0 * max {
            top + (1.0 - top) * (average - max) / max
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: RedQueue = RedQueue {
        min_packets: 5.0,
        max_packets: 15.0,
        max_probability: 0.1,
        weight: 0.002,
        gentle: true,
        marks: false,
        limit_packets: Some(100.0),
    };

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn the_curve() {
        near(RED.probability(4.9), 0.0);
        // Half of the way to 0.1; halfway from 15 to 30, halfway from 0.1 to 1.
        near(RED.probability(10.0), 0.05);
        near(RED.probability(22.5), 0.55);
        near(RED.probability(30.0), 1.0);
        near(RedQueue { gentle: false, ..RED }.probability(15.0), 1.0);
        let queue = Queue::Red(RED);
        near(queue.early(10.0, Equations::Published).dropped, 0.05);
        near(queue.early(10.0, Equations::Refined).dropped, 0.1);
        near(queue.early(22.5, Equations::Refined).dropped, 1.0);
        let marking = Queue::Red(RedQueue { marks: true, ..RED });
        let fate = marking.early(10.0, Equations::Published);
        near(fate.signalled, 0.05);
        near(fate.dropped, 0.0);
    }

    #[test]
    fn a_full_queue_drops_what_is_too_much() {
        let queue = Queue::DropTail { limit_packets: 100.0 };
        let fate =
            |held, arriving| queue.fate((held, held), (arriving, 1000.0), Equations::Refined);
        // Of 1250 packets a second 1000 fit.
        near(fate(100.0, 1250.0).dropped, 0.2);
        near(fate(99.0, 1250.0).dropped, 0.0);
        near(fate(100.0, 900.0).dropped, 0.0);
        // Beside RED's 0.1: 1125 are left of 1250, of which 1000 fit.
        let both = Queue::Red(RED).fate((100.0, 10.0), (1250.0, 1000.0), Equations::Refined);
        near(both.dropped, 0.2);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(Queue::Red(RED).check().is_ok());
        for red in [
            RedQueue { min_packets: f64::NAN, ..RED },
            RedQueue { max_packets: 5.0, ..RED },
            RedQueue { max_packets: f64::INFINITY, ..RED },
            RedQueue { max_probability: 0.0, ..RED },
            RedQueue { weight: 1.0, ..RED },
            RedQueue { limit_packets: Some(0.0), ..RED },
        ] {
            assert!(Queue::Red(red).check().is_err(), "{red:?}");
        }
        assert!(Queue::DropTail { limit_packets: 0.0 }.check().is_err());
    }
}
