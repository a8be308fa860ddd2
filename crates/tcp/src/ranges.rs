//! A set of disjoint byte ranges, such as out-of-order data or SACKed data.

use std::collections::VecDeque;

/// Half-open range of stream offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// First offset inside.
    pub start: u64,
    /// First offset after it.
    pub end: u64,
}

impl Range {
    /// Bytes inside.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }
}

/// Disjoint, non-touching ranges in ascending order.
#[derive(Clone, Debug, Default)]
pub struct RangeSet {
    ranges: VecDeque<Range>,
}

impl RangeSet {
    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The highest range.
    pub fn last(&self) -> Option<Range> {
        self.ranges.back().copied()
    }

    /// The lowest range.
    pub fn first(&self) -> Option<Range> {
        self.ranges.front().copied()
    }

    /// All ranges, highest first.
    pub fn descending(&self) -> impl Iterator<Item = Range> {
        self.ranges.iter().rev().copied()
    }

    /// Whether the set covers all of `range`.
    pub fn covers(&self, range: Range) -> bool {
        let at = self.ranges.partition_point(|r| r.end < range.end);
        self.ranges.get(at).is_some_and(|r| r.start <= range.start && range.end <= r.end)
    }

    /// Add `range`, calling `gap` for each new part in ascending order. Returns the range that now
    /// contains it. Costs a search and time in proportion to the new parts.
    pub fn insert(&mut self, range: Range, mut gap: impl FnMut(Range)) -> Range {
        // First range that touches the start or is above it.
        let from = self.ranges.partition_point(|r| r.end < range.start);
        let mut merged = range;
        let mut uncovered = range.start;
        let mut to = from;
        while let Some(r) = self.ranges.get(to).copied() {
            if r.start > range.end {
                break;
            }
            if r.start > uncovered {
                gap(Range { start: uncovered, end: r.start });
            }
            uncovered = uncovered.max(r.end);
            merged.start = merged.start.min(r.start);
            merged.end = merged.end.max(r.end);
            to += 1;
        }
        if uncovered < range.end {
            gap(Range { start: uncovered, end: range.end });
        }
        match to - from {
            0 => self.ranges.insert(from, merged),
            1 => self.ranges[from] = merged,
            _ => {
                self.ranges[from] = merged;
                self.ranges.drain(from + 1..to);
            }
        }
        merged
    }

    /// Remove everything below `offset`.
    pub fn remove_below(&mut self, offset: u64) {
        while let Some(first) = self.ranges.front_mut() {
            if first.end > offset {
                first.start = first.start.max(offset);
                break;
            }
            self.ranges.pop_front();
        }
    }

    /// Remove everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn r(start: u64, end: u64) -> Range {
        Range { start, end }
    }

    fn insert(set: &mut RangeSet, range: Range) -> (Range, Vec<Range>) {
        let mut gaps = Vec::new();
        let merged = set.insert(range, |gap| gaps.push(gap));
        (merged, gaps)
    }

    #[test]
    fn inserting_merges_and_reports_new_parts() {
        let mut set = RangeSet::default();
        assert_eq!(insert(&mut set, r(10, 20)), (r(10, 20), vec![r(10, 20)]));
        assert_eq!(insert(&mut set, r(30, 40)), (r(30, 40), vec![r(30, 40)]));
        assert_eq!(insert(&mut set, r(10, 20)), (r(10, 20), vec![]));
        assert_eq!(insert(&mut set, r(20, 25)), (r(10, 25), vec![r(20, 25)]));
        assert_eq!(insert(&mut set, r(5, 35)), (r(5, 40), vec![r(5, 10), r(25, 30)]));
        assert!(set.covers(r(5, 40)) && !set.covers(r(4, 6)) && !set.covers(r(39, 41)));
        set.remove_below(12);
        assert_eq!(set.first(), Some(r(12, 40)));
        set.remove_below(40);
        assert!(set.is_empty());
    }

    proptest! {
        #[test]
        fn behaves_like_a_set_of_bytes(
            inserts in prop::collection::vec((0u64..60, 1u64..15), 1..40),
            cut in 0u64..60,
        ) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, len) in inserts {
                let range = r(start, start + len);
                let (merged, gaps) = insert(&mut set, range);
                let new: Vec<u64> = gaps.iter().flat_map(|g| g.start..g.end).collect();
                let expected: Vec<u64> =
                    (range.start..range.end).filter(|b| !model.contains(b)).collect();
                prop_assert_eq!(new, expected);
                model.extend(range.start..range.end);
                prop_assert!((merged.start..merged.end).all(|b| model.contains(&b)));
            }
            set.remove_below(cut);
            model.retain(|b| *b >= cut);
            let mut bytes: Vec<u64> = set.descending().flat_map(|g| g.start..g.end).collect();
            bytes.sort_unstable();
            prop_assert_eq!(bytes, model.into_iter().collect::<Vec<_>>());
            let ranges: Vec<Range> = set.descending().collect();
            prop_assert!(ranges.windows(2).all(|w| w[1].end < w[0].start));
        }
    }
}
