//! When messages are due.

use std::time::Duration;

use fairway_units::random::Stream;
use serde::{Deserialize, Serialize};

/// Time from one message to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Gaps {
    /// None: the next one is due as soon as there is room for it.
    None,
    /// Always the same: what the paper calls synchronous.
    Fixed(Duration),
    /// Between the two, each as likely: what the paper calls asynchronous.
    Uniform(Duration, Duration),
    /// Exponentially distributed with this mean: messages are a Poisson process.
    Exponential(Duration),
}

impl Gaps {
    /// The kind of traffic, as the records of datagram flows have it.
    pub fn kind(self) -> &'static str {
        match self {
            Gaps::None | Gaps::Fixed(_) => "cbr",
            Gaps::Uniform(..) => "vbr",
            Gaps::Exponential(_) => "poisson",
        }
    }

    /// The longest gap that is likely: what a receiver waits for before it thinks of a stall.
    /// 50 means are exceeded once in e⁵⁰ draws.
    pub fn longest(self) -> Duration {
        match self {
            Gaps::None => Duration::ZERO,
            Gaps::Fixed(gap) | Gaps::Uniform(_, gap) => gap,
            Gaps::Exponential(mean) => mean.saturating_mul(50),
        }
    }
}

/// The gaps of one flow in their order: the same for the same seed and name, at either end.
#[derive(Clone, Debug)]
pub struct Draws {
    gaps: Gaps,
    stream: Stream,
}

impl Draws {
    /// The gaps of the flow `id` in a session with this seed.
    pub fn new(gaps: Gaps, seed: u64, id: &str) -> Self {
        Draws { gaps, stream: Stream::new(seed, &format!("{id}/gaps")) }
    }

    pub fn draw(&mut self) -> Duration {
        match self.gaps {
            Gaps::None => Duration::ZERO,
            Gaps::Fixed(gap) => gap,
            Gaps::Uniform(min, max) => {
                let span = u64::try_from(max.saturating_sub(min).as_nanos()).unwrap_or(u64::MAX);
                min + Duration::from_nanos(self.stream.below(span.saturating_add(1)))
            }
            // At most 53 ln 2 = 36.7 means, by the resolution of the uniform number.
            Gaps::Exponential(mean) => mean.mul_f64(self.stream.exponential()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(gaps: Gaps, seed: u64, id: &str, count: usize) -> Vec<Duration> {
        let mut draws = Draws::new(gaps, seed, id);
        (0..count).map(|_| draws.draw()).collect()
    }

    #[test]
    fn the_same_seed_and_name_give_the_same_gaps() {
        let gaps = Gaps::Exponential(Duration::from_millis(10));
        let first = drawn(gaps, 1, "load/0", 100);
        assert_eq!(first, drawn(gaps, 1, "load/0", 100));
        assert_ne!(first, drawn(gaps, 2, "load/0", 100));
        assert_ne!(first, drawn(gaps, 1, "load/1", 100));
    }

    #[test]
    fn gaps_have_the_means_and_bounds_asked_for() {
        let n = 40_000;
        let mean_s =
            |gaps: &[Duration]| gaps.iter().map(Duration::as_secs_f64).sum::<f64>() / n as f64;
        let ms = Duration::from_millis;
        // Exponential: standard error mean/√n = 0.5 %; uniform in [2, 6] ms: mean 4 ms, standard
        // deviation 4/√12 ms, standard error 0.0058 ms. Four of them.
        let exponential = drawn(Gaps::Exponential(ms(10)), 3, "a", n);
        assert!((mean_s(&exponential) - 0.010).abs() < 0.0002, "{}", mean_s(&exponential));
        let uniform = drawn(Gaps::Uniform(ms(2), ms(6)), 3, "a", n);
        assert!((mean_s(&uniform) - 0.004).abs() < 0.000_023, "{}", mean_s(&uniform));
        assert!(uniform.iter().all(|gap| (ms(2)..=ms(6)).contains(gap)));
        // P(X > mean) = 1/e.
        let above = exponential.iter().filter(|gap| **gap > ms(10)).count() as f64 / n as f64;
        assert!((above - 0.367_88).abs() < 0.01, "{above}");
        assert_eq!(drawn(Gaps::Fixed(ms(5)), 3, "a", 2), [ms(5), ms(5)]);
        assert_eq!(drawn(Gaps::None, 3, "a", 1), [Duration::ZERO]);
    }
}
