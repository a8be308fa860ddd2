//! Which parts of a stream were seen, and which were selectively acknowledged.

/// Holes that a direction remembers. A flight of a gigabyte with every second segment missing has
/// more, and no real path keeps that many.
const MAX_HOLES: usize = 4096;

/// From here to there, the end excluded.
pub(crate) type Range = (i64, i64);

/// The part of a stream that was seen: from the lowest to the highest offset, less its holes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    span: Option<Range>,
    /// In order, apart from each other.
    holes: Vec<Range>,
}

impl Seen {
    /// Everything from an offset on is still to come: what is missing there later is a hole.
    pub(super) fn begin(&mut self, offset: i64) {
        if self.span.is_none() {
            self.span = Some((offset, offset));
        }
    }

    /// Highest offset that was seen, exclusive.
    pub(super) fn highest(&self) -> Option<i64> {
        self.span.map(|(_, high)| high)
    }

    /// Adds a range; says how much of it is new.
    #[inline]
    pub(crate) fn add(&mut self, (start, end): Range) -> u64 {
        match &mut self.span {
            Some((_, high)) if *high == start => {
                *high = end;
                (end - start) as u64
            }
            _ => self.add_apart((start, end)),
        }
    }

    /// Whether all of a range was seen.
    pub(crate) fn has(&self, (start, end): Range) -> bool {
        let is_inside = self.span.is_some_and(|(low, high)| low <= start && end <= high);
        let next = self.holes.partition_point(|hole| hole.1 <= start);
        is_inside && self.holes.get(next).is_none_or(|hole| hole.0 >= end)
    }

    fn add_apart(&mut self, (start, end): Range) -> u64 {
        let Some((low, high)) = self.span else {
            self.span = Some((start, end));
            return (end - start) as u64;
        };
        self.span = Some((low.min(start), high.max(end)));
        if start > high {
            self.holes.push((high, start));
        } else if end < low {
            self.holes.insert(0, (end, low));
        }
        let above = end - end.min(high.max(start));
        let below = low.max(start).min(end) - start;
        let between = if start < high && end > low { self.fill((start, end)) } else { 0 };
        if self.holes.len() > MAX_HOLES {
            self.holes.remove(0);
        }
        (above + below) as u64 + between
    }

    /// Takes a range out of the holes; says how much of it was hole.
    fn fill(&mut self, (start, end): Range) -> u64 {
        let first = self.holes.partition_point(|hole| hole.1 <= start);
        let count = self.holes[first..].iter().take_while(|hole| hole.0 < end).count();
        if count == 0 {
            return 0;
        }
        let touched = &self.holes[first..first + count];
        let filled: i64 = touched.iter().map(|hole| hole.1.min(end) - hole.0.max(start)).sum();
        let left = (touched[0].0, start);
        let right = (end, touched[count - 1].1);
        let rest = [left, right].into_iter().filter(|(from, to)| from < to);
        self.holes.splice(first..first + count, rest);
        filled as u64
    }
}

/// Ranges above what was acknowledged that were selectively acknowledged, merged.
#[derive(Clone, Debug, Default)]
pub(super) struct Sacked {
    ranges: Vec<Range>,
}

impl Sacked {
    /// Adds a range; calls `new` with each part of it that was not there.
    pub(super) fn add(&mut self, range: Range, mut new: impl FnMut(Range)) {
        let (start, end) = range;
        let first = self.ranges.partition_point(|there| there.1 < start);
        let count = self.ranges[first..].iter().take_while(|there| there.0 <= end).count();
        let mut from = start;
        let mut merged = range;
        for &(low, high) in &self.ranges[first..first + count] {
            if from < low {
                new((from, low));
            }
            from = from.max(high);
            merged = (merged.0.min(low), merged.1.max(high));
        }
        if from < end {
            new((from, end));
        }
        match count {
            1 => self.ranges[first] = merged,
            0 if self.ranges.len() >= MAX_HOLES => {}
            _ => drop(self.ranges.splice(first..first + count, [merged])),
        }
    }

    /// Forgets what lies below; says whether `offset` is inside of a range: then the receiver has
    /// thrown away what it had acknowledged (RFC 2018 section 8).
    pub(super) fn acknowledge(&mut self, offset: i64) -> bool {
        if self.ranges.first().is_none_or(|first| first.0 > offset) {
            return false;
        }
        let below = self.ranges.partition_point(|range| range.1 <= offset);
        self.ranges.drain(..below);
        self.ranges.first().is_some_and(|range| range.0 <= offset)
    }

    /// End of the highest range.
    pub(super) fn highest(&self) -> Option<i64> {
        self.ranges.last().map(|range| range.1)
    }

    /// How much lies above an offset.
    pub(super) fn above(&self, offset: i64) -> u64 {
        let from = self.ranges.iter().rev().take_while(|range| range.1 > offset);
        from.map(|range| (range.1 - range.0.max(offset)) as u64).sum()
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
    }

    /// The lowest offset above which more than `bytes` are selectively acknowledged, or three
    /// ranges: what is missing below is lost by RFC 6675 section 4 (`IsLost`).
    pub(super) fn lost_below(&self, bytes: u64) -> Option<i64> {
        let mut above = 0;
        for (count, range) in self.ranges.iter().rev().enumerate() {
            above += (range.1 - range.0) as u64;
            if above > bytes || count == 2 {
                return Some(range.0);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_everything_is_new() {
        let mut seen = Seen::default();
        assert_eq!(seen.add((0, 1000)), 1000);
        assert_eq!(seen.add((1000, 3000)), 2000);
        assert_eq!(seen.add((0, 3000)), 0);
        assert!(seen.holes.is_empty());
    }

    #[test]
    fn a_hole_is_filled_in_parts() {
        let mut seen = Seen::default();
        seen.begin(0);
        assert_eq!(seen.add((1000, 2000)), 1000);
        assert_eq!(seen.add((200, 400)), 200);
        assert_eq!(seen.holes, [(0, 200), (400, 1000)]);
        // From the first hole over what is there into the second.
        assert_eq!(seen.add((100, 500)), 200);
        assert_eq!(seen.holes, [(0, 100), (500, 1000)]);
        assert_eq!(seen.add((0, 2500)), 100 + 500 + 500);
        assert!(seen.holes.is_empty());
        assert_eq!(seen.highest(), Some(2500));
    }

    #[test]
    fn below_what_was_seen_first() {
        let mut seen = Seen::default();
        seen.add((1000, 2000));
        assert_eq!(seen.add((0, 500)), 500);
        assert_eq!(seen.add((400, 1100)), 500);
        assert!(seen.holes.is_empty());
        assert_eq!(seen.add((-100, 3000)), 1100);
    }

    #[test]
    fn new_parts_of_selective_acknowledgements() {
        let mut sacked = Sacked::default();
        let mut new = Vec::new();
        sacked.add((1000, 2000), |range| new.push(range));
        sacked.add((1000, 3000), |range| new.push(range));
        sacked.add((5000, 6000), |range| new.push(range));
        sacked.add((2500, 7000), |range| new.push(range));
        assert_eq!(new, [(1000, 2000), (2000, 3000), (5000, 6000), (3000, 5000), (6000, 7000)]);
        assert_eq!(sacked.ranges, [(1000, 7000)]);
    }

    #[test]
    fn an_acknowledgement_inside_of_a_range_is_reneging() {
        let mut sacked = Sacked::default();
        sacked.add((1000, 2000), |_| {});
        assert!(!sacked.acknowledge(500));
        assert!(sacked.acknowledge(1000));
        assert!(!sacked.acknowledge(2000));
    }

    #[test]
    fn lost_is_what_has_enough_above() {
        let mut sacked = Sacked::default();
        sacked.add((1000, 3000), |_| {});
        assert_eq!(sacked.lost_below(2000), None);
        sacked.add((3000, 3001), |_| {});
        assert_eq!(sacked.lost_below(2000), Some(1000));
        sacked.add((5000, 8000), |_| {});
        assert_eq!(sacked.lost_below(2000), Some(5000));
    }
}
