//! Delay measurements of Illinois.

use fairway_units::Duration;

/// RTTs in µs: extremes of the connection and sum of a round.
pub(super) struct Delays {
    longest_believed: u64,
    base: u64,
    max: u64,
    sum: u64,
    count: u64,
}

impl Delays {
    pub(super) fn new(longest_believed: u64) -> Self {
        Delays { longest_believed, base: u64::MAX, max: 0, sum: 0, count: 0 }
    }

    pub(super) fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.as_micros().min(self.longest_believed);
        self.base = self.base.min(rtt);
        self.max = self.max.max(rtt);
        self.sum = self.sum.saturating_add(rtt);
        self.count += 1;
    }

    /// Average queueing delay since the last call, and the maximum.
    pub(super) fn take(&mut self) -> Option<(u64, u64)> {
        let average = self.sum.checked_div(self.count)?;
        self.clear();
        Some((average.saturating_sub(self.base), self.max - self.base))
    }

    pub(super) fn clear(&mut self) {
        (self.sum, self.count) = (0, 0);
    }
}
