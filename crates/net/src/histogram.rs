//! A histogram of durations with a bounded relative error, for percentiles of millions of packets.

use fairway_units::Duration;

/// Bits of each power of two that are kept: 32 bins an octave, relative error at most 1/64.
const SUB_BITS: u32 = 5;

/// Counts of durations in bins that grow with the duration.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    /// Empty until the first value.
    counts: Vec<u64>,
}

impl Histogram {
    /// Count one duration.
    #[inline(always)]
    pub fn record(&mut self, value: Duration) {
        let bin = bin(value.as_nanos());
        match self.counts.get_mut(bin) {
            Some(count) => *count += 1,
            None => self.grow(bin),
        }
    }

    /// Count a value beyond the last bin.
    #[inline(never)]
    fn grow(&mut self, bin: usize) {
        // A power of two: it grows a few times at most, and is no longer than its values are.
        self.counts.resize((bin + 1).next_power_of_two(), 0);
        self.counts[bin] += 1;
    }

    fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The mean of all values, each taken as the middle of its bin; none without values.
    pub fn mean(&self) -> Option<Duration> {
        let weighed = self.counts.iter().enumerate();
        let sum: u128 =
            weighed.map(|(bin, count)| u128::from(middle(bin)) * u128::from(*count)).sum();
        let mean = sum.checked_div(u128::from(self.total()))?;
        Some(Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// The value below which the fraction `quantile` (0 to 1) of all values lies, as the middle
    /// of its bin; none without values.
    pub fn quantile(&self, quantile: f64) -> Option<Duration> {
        let rank = (quantile * self.total() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let index = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank && seen > 0
        })?;
        Some(Duration::from_nanos(middle(index)))
    }
}

/// Values below 2^SUB_BITS have a bin each; above, the top SUB_BITS + 1 bits choose the bin.
fn bin(nanos: u64) -> usize {
    let octave = (64 - nanos.leading_zeros()).saturating_sub(SUB_BITS + 1);
    ((octave as usize) << SUB_BITS) + (nanos >> octave) as usize
}

fn middle(index: usize) -> u64 {
    if index < 1 << (SUB_BITS + 1) {
        return index as u64;
    }
    let octave = (index >> SUB_BITS) - 1;
    let low = (index - (octave << SUB_BITS)) as u64;
    (low << octave) + (1 << octave) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_exact_and_large_ones_within_a_sixty_fourth() {
        for nanos in (0..64).chain([100, 1_000, 48_000_000, 123_456_789_012]) {
            let mut h = Histogram::default();
            h.record(Duration::from_nanos(nanos));
            let found = h.quantile(0.5).unwrap().as_nanos();
            assert!(found.abs_diff(nanos) <= nanos / 64, "{nanos} became {found}");
        }
    }

    #[test]
    fn quantiles_of_a_ramp() {
        let mut h = Histogram::default();
        (1..=1000u64).for_each(|ms| h.record(Duration::from_millis(ms)));
        let p99 = h.quantile(0.99).unwrap().as_secs_f64();
        assert!((p99 - 0.990).abs() < 0.990 / 64.0);
        assert_eq!(Histogram::default().quantile(0.5), None);
        let mean = h.mean().unwrap().as_secs_f64();
        assert!((mean - 0.5005).abs() < 0.5005 / 64.0);
        assert_eq!(Histogram::default().mean(), None);
    }

    #[test]
    fn the_largest_duration_has_a_bin() {
        let mut h = Histogram::default();
        h.record(Duration::MAX);
        assert!(h.quantile(1.0).unwrap().as_nanos() > u64::MAX / 64 * 63);
    }
}
