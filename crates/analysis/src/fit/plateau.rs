//! Rates by how much was delivered at each, and the highest that much was delivered at.

use std::collections::BTreeMap;

use fairway_units::Duration;

/// Bins that a power of two of rates is divided into: each is between 0.4 and 0.8 % wide.
const PARTS_BITS: u32 = 7;

/// Bins on either side of one that belong to the same rate: 1 to 2 % each way, the unsteadiness of
/// a window of some dozens of packets.
const NEIGHBOURS: u32 = 2;

/// A rate is a plateau if this part of what was delivered at the commonest rate was delivered at
/// it: less are acknowledgements that came in clumps.
const PLATEAU: f64 = 0.25;

/// Data delivered at similar rates.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    bytes: u64,
    nanos: u64,
    windows: u64,
}

/// What was delivered, by rate. Memory is bounded by the number of bins: 8 KiB for each factor of
/// two between the slowest and the fastest.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    bins: BTreeMap<u32, Bin>,
    bytes: u64,
    windows: u64,
}

/// The rate that a queue was emptied at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plateau {
    /// Payload bytes in a second.
    pub(super) bytes_per_s: f64,
    /// Windows that were at that rate.
    pub(super) windows: u64,
    /// Part of all bytes that were delivered at it.
    pub(super) share: f64,
}

impl Rates {
    /// So many bytes arrived in that time.
    pub(super) fn add(&mut self, bytes: u64, span: Duration) {
        let nanos = span.as_nanos();
        if nanos == 0 || bytes == 0 {
            return;
        }
        let per_second = u128::from(bytes) * 1_000_000_000 / u128::from(nanos);
        let bin = self.bins.entry(place(u64::try_from(per_second).unwrap_or(u64::MAX)));
        let bin = bin.or_default();
        bin.bytes = bin.bytes.saturating_add(bytes);
        bin.nanos = bin.nanos.saturating_add(nanos);
        bin.windows += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.windows += 1;
    }

    /// How many windows there are.
    pub(super) fn windows(&self) -> u64 {
        self.windows
    }

    /// The highest rate of those that much was delivered at.
    pub(super) fn plateau(&self) -> Option<Plateau> {
        let around = |&at: &u32| {
            let near = at.saturating_sub(NEIGHBOURS)..=at.saturating_add(NEIGHBOURS);
            self.bins.range(near).fold(Bin::default(), |sum, (_, bin)| Bin {
                bytes: sum.bytes.saturating_add(bin.bytes),
                nanos: sum.nanos.saturating_add(bin.nanos),
                windows: sum.windows + bin.windows,
            })
        };
        let most = self.bins.keys().map(|at| around(at).bytes).max()?;
        let is_plateau = |at: &&u32| around(at).bytes as f64 >= PLATEAU * most as f64;
        // Of the bins that one plateau fills, the one with most around it.
        let highest = *self.bins.keys().rev().find(is_plateau)?;
        let top = highest.saturating_sub(2 * NEIGHBOURS)..=highest;
        let found = self.bins.range(top).map(|(at, _)| around(at)).max_by_key(|bin| bin.bytes)?;
        Some(Plateau {
            bytes_per_s: found.bytes as f64 * 1e9 / found.nanos as f64,
            windows: found.windows,
            share: found.bytes as f64 / self.bytes as f64,
        })
    }
}

/// The bin of a rate: its power of two, and the bits that follow the first.
fn place(rate: u64) -> u32 {
    let bits = u64::BITS - rate.leading_zeros();
    let block = bits.saturating_sub(PARTS_BITS);
    match block {
        0 => rate as u32,
        _ => (block << PARTS_BITS) + (rate >> (block - 1)) as u32 - (1 << PARTS_BITS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(windows: &[(u64, u64, u64)]) -> Rates {
        let mut rates = Rates::default();
        for &(times, bytes, micros) in windows {
            for _ in 0..times {
                rates.add(bytes, Duration::from_micros(micros));
            }
        }
        rates
    }

    #[test]
    fn the_bottleneck_is_above_what_was_slower_and_below_what_came_in_clumps() {
        // 40 windows at 2.5 MB/s, 60 at many slower rates, one at twice the rate.
        let mut all = rates(&[(40, 50_000, 20_000), (1, 50_000, 10_000)]);
        for slower in 0..60 {
            all.add(50_000, Duration::from_micros(30_000 + 500 * slower));
        }
        let found = all.plateau().unwrap();
        assert!((found.bytes_per_s - 2.5e6).abs() < 1.0, "{found:?}");
        assert_eq!(found.windows, 40);
        assert!((found.share - 40.0 / 101.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn windows_that_differ_by_a_little_are_one_rate() {
        // 1 MB/s in windows that are a packet's time too short and too long by turns.
        let found = rates(&[(50, 100_000, 100_400), (50, 100_000, 99_600)]).plateau().unwrap();
        assert!((found.bytes_per_s - 1e6).abs() < 100.0, "{found:?}");
        assert_eq!(found.share, 1.0);
    }

    #[test]
    fn bins_follow_each_other_and_memory_is_bounded() {
        let mut last = 0;
        for rate in (0..4096).chain((12..64).map(|power| (1 << power) + 7)) {
            let at = place(rate);
            assert!(at >= last && (rate >= 4096 || at - last <= 1), "{rate}: {at} after {last}");
            last = at;
        }
        assert!(place(u64::MAX) < 64 * 128);
        assert!(Rates::default().plateau().is_none());
    }
}
