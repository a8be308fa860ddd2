//! Windowed minimum or maximum in constant memory.
//!
//! K. Nichols' filter as in Linux 6.1 (`lib/win_minmax.c`): the best value and two successors, each
//! later and no better than the one before it, from the last three quarters and the last half of
//! the window. When the best value leaves the window, the next replaces it. The result is always a
//! value of the window, but not always its best: only the two successors are stored.
//!
//! A window is a span of simulated [`Time`] or a number of rounds (`u64`); see [`Position`]. Its
//! length is given with each value, because some algorithms measure it in RTTs.

use std::cmp::Ordering;

use fairway_units::{Duration, Time};

/// Position of a value: a time or the number of a round.
pub trait Position: Copy + PartialEq {
    /// Length of a window.
    type Span: Copy + PartialOrd;

    /// Span from `earlier` to here; zero if `earlier` is later.
    fn since(self, earlier: Self) -> Self::Span;

    /// `span` divided by `divisor`, rounded down.
    fn share(span: Self::Span, divisor: u64) -> Self::Span;
}

impl Position for Time {
    type Span = Duration;

    fn since(self, earlier: Self) -> Duration {
        Time::since(self, earlier)
    }

    fn share(span: Duration, divisor: u64) -> Duration {
        Duration::from_nanos(span.as_nanos() / divisor)
    }
}

impl Position for u64 {
    type Span = u64;

    fn since(self, earlier: Self) -> u64 {
        self.saturating_sub(earlier)
    }

    fn share(span: u64, divisor: u64) -> u64 {
        span / divisor
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Sample<V, P> {
    value: V,
    at: P,
}

/// A windowed minimum or maximum: [`MinFilter`], [`MaxFilter`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Filter<V, P, const LARGEST: bool> {
    /// Best, second best, third best; none before the first value.
    samples: Option<[Sample<V, P>; 3]>,
}

/// Windowed minimum.
pub type MinFilter<V, P> = Filter<V, P, false>;

/// Windowed maximum.
pub type MaxFilter<V, P> = Filter<V, P, true>;

impl<V, P, const LARGEST: bool> Default for Filter<V, P, LARGEST> {
    fn default() -> Self {
        Filter { samples: None }
    }
}

impl<V: Copy + PartialOrd, P: Position, const LARGEST: bool> Filter<V, P, LARGEST> {
    /// An empty filter.
    pub fn new() -> Self {
        Self::default()
    }

    /// The best value as of the last update.
    pub fn get(&self) -> Option<V> {
        self.samples.map(|[best, ..]| best.value)
    }

    /// Position of that value.
    pub fn seen_at(&self) -> Option<P> {
        self.samples.map(|[best, ..]| best.at)
    }

    /// Reset the filter to `value`.
    pub fn reset(&mut self, at: P, value: V) -> V {
        self.samples = Some([Sample { value, at }; 3]);
        value
    }

    /// Add `value` at `at` and return the best value of the `window` that ends there.
    pub fn update(&mut self, at: P, window: P::Span, value: V) -> V {
        let new = Sample { value, at };
        let Some([best, second, third]) = &mut self.samples else { return self.reset(at, value) };
        if is_at_least::<V, LARGEST>(value, best.value) || at.since(third.at) > window {
            return self.reset(at, value);
        }
        if is_at_least::<V, LARGEST>(value, second.value) {
            (*second, *third) = (new, new);
        } else if is_at_least::<V, LARGEST>(value, third.value) {
            *third = new;
        }
        let age = at.since(best.at);
        if age > window {
            (*best, *second, *third) = (*second, *third, new);
            if at.since(best.at) > window {
                (*best, *second, *third) = (*second, *third, new);
            }
        } else if second.at == best.at && age > P::share(window, 4) {
            // A quarter of the window has passed without a second best: take this value.
            (*second, *third) = (new, new);
        } else if third.at == second.at && age > P::share(window, 2) {
            *third = new;
        }
        best.value
    }
}

/// Whether `value` is as good as `other` or better; false if they cannot be compared.
fn is_at_least<V: PartialOrd, const LARGEST: bool>(value: V, other: V) -> bool {
    let better = if LARGEST { Ordering::Greater } else { Ordering::Less };
    value.partial_cmp(&other).is_some_and(|order| order == better || order == Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(s: u64) -> Time {
        Time::from_nanos(s * 1_000_000_000)
    }

    #[test]
    fn the_best_value_stays_until_it_leaves_the_window() {
        // Maximum of the last 10 rounds: 9 of round 1 is within the window until round 11.
        let mut filter = MaxFilter::<u32, u64>::new();
        assert_eq!(filter.get(), None);
        assert_eq!(filter.update(1, 10, 9), 9);
        for round in 2..=11 {
            assert_eq!(filter.update(round, 10, 5), 9, "round {round}");
        }
        assert_eq!(filter.update(12, 10, 4), 5);
        assert_eq!(filter.update(13, 10, 20), 20);
        assert_eq!(filter.seen_at(), Some(13));
    }

    #[test]
    fn a_minimum_over_time_rises_when_the_path_gets_longer() {
        // 40 ms at 0 s, 60 ms every second from then on, over 10 s: gone at 11 s.
        let window = Duration::from_secs(10);
        let mut filter = MinFilter::<Duration, Time>::new();
        let (short, long) = (Duration::from_millis(40), Duration::from_millis(60));
        assert_eq!(filter.update(seconds(0), window, short), short);
        for s in 1..=10 {
            assert_eq!(filter.update(seconds(s), window, long), short, "{s} s");
        }
        assert_eq!(filter.update(seconds(11), window, long), long);
        assert_eq!(filter.get(), Some(long));
    }

    #[test]
    fn after_a_long_gap_only_the_new_value_is_left() {
        let mut filter = MinFilter::<u32, u64>::new();
        filter.update(0, 10, 1);
        filter.update(1, 10, 2);
        assert_eq!(filter.update(100, 10, 7), 7);
        // A reset removes a better value.
        filter.update(101, 10, 3);
        assert_eq!(filter.reset(102, 8), 8);
        assert_eq!(filter.update(103, 10, 9), 8);
    }

    #[test]
    fn successors_are_kept_in_order() {
        // Maximum over 8: 10 at 0, 6 at 3 (a quarter without a second best: taken), 8 at 4
        // replaces it; at 9 the 10 has expired and 8 is best until 12. The 1 at 12 becomes second
        // best, and the 7 is lost, as in Linux.
        let mut filter = MaxFilter::<i32, u64>::new();
        let given = [(0, 10, 10), (3, 6, 10), (4, 8, 10), (9, 7, 8), (12, 1, 8), (13, 1, 1)];
        for (at, value, expected) in given {
            assert_eq!(filter.update(at, 8, value), expected, "at {at}");
        }
    }

    #[test]
    fn the_result_is_in_the_window_and_no_better_than_its_best() {
        let mut state = 1u64;
        let (mut smallest, mut largest) = (MinFilter::new(), MaxFilter::new());
        let mut seen: Vec<(u64, u64)> = Vec::new();
        let mut at = 0;
        for _ in 0..5_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            at += state >> 62;
            let value = (state >> 40) % 1_000;
            seen.push((at, value));
            let window: Vec<_> = seen.iter().filter(|(t, _)| at - t <= 30).map(|s| s.1).collect();
            let (low, high) = (smallest.update(at, 30, value), largest.update(at, 30, value));
            assert!(window.contains(&low) && low <= value);
            assert!(window.contains(&high) && high >= value);
        }
    }
}
