//! How far pieces arrive out of order (RFC 4737).

use std::collections::VecDeque;

/// Counts of pieces and of those that were late.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reordering {
    /// Arrivals so far.
    arrivals: u64,
    /// Arrivals that had a larger number than all before: which arrival and which number.
    highest: VecDeque<(u64, u64)>,
    counts: Counts,
}

/// What was counted since the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) pieces: u64,
    /// Pieces that came after one with a larger number (RFC 4737 section 3.3).
    pub(crate) late: u64,
    /// Their extents added up, and the largest: how many arrivals before a late piece the first one
    /// with a larger number came (RFC 4737 section 4.2.2).
    pub(crate) extents: u64,
    pub(crate) largest_extent: u64,
}

impl Reordering {
    /// A piece arrives.
    pub(crate) fn arrive(&mut self, number: u64) {
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.counts.pieces += 1;
        if self.highest.back().is_none_or(|(_, highest)| number > *highest) {
            self.highest.push_back((arrival, number));
            return;
        }
        let first = self.highest.partition_point(|(_, highest)| *highest < number);
        let extent = self.highest.get(first).map_or(0, |(earlier, _)| arrival - earlier);
        self.counts.late += 1;
        self.counts.extents += extent;
        self.counts.largest_extent = self.counts.largest_extent.max(extent);
    }

    /// Pieces before this one have all arrived: what was beyond none that is still to come goes.
    pub(crate) fn all_before(&mut self, number: u64) {
        while self.highest.len() > 1 && self.highest.front().is_some_and(|(_, n)| *n < number) {
            self.highest.pop_front();
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn reset(&mut self) {
        self.counts = Counts::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_by_hand() {
        // Arrivals 0 3 1 4 2 5: 1 is late by one arrival (3 came just before), 2 by three.
        let mut reordering = Reordering::default();
        for number in [0, 3, 1, 4, 2, 5] {
            reordering.arrive(number);
        }
        let expected = Counts { pieces: 6, late: 2, extents: 4, largest_extent: 3 };
        assert_eq!(reordering.counts(), expected);
        reordering.all_before(6);
        assert_eq!(reordering.highest.len(), 1);
        reordering.arrive(6);
        assert_eq!(reordering.counts().late, 2);
    }
}
