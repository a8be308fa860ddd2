//! Queueing delay as LEDBAT and LEDBAT++ measure it: the current delay minus the minimum of the
//! last minutes (RFC 6817 section 2.4.2).
//!
//! One-way delays are differences of unsynchronised clocks: they may be negative, and only
//! differences between them are meaningful.

use fairway_units::{Duration, NANOS_PER_SEC, Time};

/// RFC 6817 `update_base_delay`: the history has one minimum for each minute of the clock.
const MINUTE_NS: u64 = 60 * NANOS_PER_SEC;

/// The last delays and the minima of the last minutes, in nanoseconds.
#[derive(Clone, Debug)]
pub(crate) struct DelayHistory {
    minima: Ring,
    current: Ring,
    minute: u64,
}

impl DelayHistory {
    /// A history of `minutes` minima and of the last `samples`.
    pub(crate) fn new(minutes: usize, samples: usize) -> Self {
        DelayHistory { minima: Ring::new(minutes), current: Ring::new(samples), minute: 0 }
    }

    /// Add a delay measured now.
    pub(crate) fn sample(&mut self, now: Time, delay_ns: i64) {
        self.current.push(delay_ns);
        let minute = now.as_nanos() / MINUTE_NS;
        if self.minima.is_empty() || minute != self.minute {
            self.minute = minute;
            self.minima.push(delay_ns);
        } else {
            self.minima.lower_last(delay_ns);
        }
    }

    /// Clear the history.
    pub(crate) fn clear(&mut self) {
        self.minima.clear();
        self.current.clear();
    }

    /// Base delay: the minimum of the history.
    pub(crate) fn base_ns(&self) -> Option<i64> {
        self.minima.min()
    }

    /// Queueing delay: the minimum of the last delays minus the base delay.
    pub(crate) fn queueing(&self) -> Option<Duration> {
        let (current, base) = (self.current.min()?, self.minima.min()?);
        Some(Duration::from_nanos(u64::try_from(current.saturating_sub(base)).unwrap_or(0)))
    }
}

/// A ring of the last few values.
#[derive(Clone, Debug)]
struct Ring {
    values: Vec<i64>,
    capacity: usize,
    /// Index of the next value when the ring is full.
    oldest: usize,
    last: usize,
}

impl Ring {
    fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Ring { values: Vec::with_capacity(capacity), capacity, oldest: 0, last: 0 }
    }

    fn push(&mut self, value: i64) {
        if self.values.len() < self.capacity {
            self.last = self.values.len();
            self.values.push(value);
        } else {
            self.last = self.oldest;
            self.values[self.last] = value;
            self.oldest = (self.oldest + 1) % self.capacity;
        }
    }

    fn lower_last(&mut self, value: i64) {
        if let Some(last) = self.values.get_mut(self.last) {
            *last = value.min(*last);
        }
    }

    fn clear(&mut self) {
        self.values.clear();
        self.oldest = 0;
    }

    fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    fn min(&self) -> Option<i64> {
        self.values.iter().copied().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * NANOS_PER_SEC)
    }

    #[test]
    fn the_current_delay_is_the_minimum_of_the_last_few() {
        let mut history = DelayHistory::new(10, 2);
        assert_eq!(history.queueing(), None);
        for (delay, queueing) in [(-500, 0), (-300, 0), (-200, 200), (-400, 100), (-100, 100)] {
            history.sample(at(1), delay);
            assert_eq!(history.queueing(), Some(Duration::from_nanos(queueing)), "{delay}");
        }
    }

    #[test]
    fn the_base_delay_expires_after_so_many_minutes() {
        // Three minutes: 10 of minute 0 expires when minute 3 begins, 40 of minute 1 at minute 4.
        let mut history = DelayHistory::new(3, 1);
        let given = [(0, 20, 10), (59, 10, 10), (60, 40, 10), (120, 50, 10), (180, 60, 40)];
        for (seconds, delay, base) in [given.as_slice(), &[(240, 60, 50), (241, 5, 5)]].concat() {
            history.sample(at(seconds), delay);
            if seconds != 0 {
                assert_eq!(history.base_ns(), Some(base), "at {seconds} s");
            }
        }
        history.clear();
        assert_eq!(history.base_ns(), None);
    }
}
