//! Reports of duplicate data (D-SACK, RFC 2883).

use crate::ranges::Range;

/// The D-SACK of the next acknowledgement.
#[derive(Clone, Debug)]
pub(crate) struct DuplicateReport {
    enabled: bool,
    range: Option<Range>,
}

impl DuplicateReport {
    /// No duplicates yet; reports only if `enabled`.
    pub(crate) fn new(enabled: bool) -> Self {
        DuplicateReport { enabled, range: None }
    }

    /// `range` arrived again.
    pub(crate) fn note(&mut self, range: Range) {
        if self.enabled {
            self.range = Some(range);
        }
    }

    /// `range` arrived again and may extend the report, which is one contiguous range (RFC 2883
    /// section 4).
    pub(crate) fn extend(&mut self, range: Range) {
        match &mut self.range {
            Some(known) if range.start <= known.end && known.start <= range.end => {
                known.start = known.start.min(range.start);
                known.end = known.end.max(range.end);
            }
            Some(_) => {}
            None => self.note(range),
        }
    }

    /// First block of the next acknowledgement.
    pub(crate) fn pending(&self) -> Option<Range> {
        self.range
    }

    /// An acknowledgement was sent, or another segment arrived before.
    pub(crate) fn forget(&mut self) {
        self.range = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn r(start: u64, end: u64) -> Range {
        Range { start, end }
    }

    #[test]
    fn one_contiguous_range_is_reported_once() {
        let mut report = DuplicateReport::new(true);
        report.extend(r(500, 1000));
        report.extend(r(1000, 1500));
        report.extend(r(3000, 3500));
        assert_eq!(report.pending(), Some(r(500, 1500)));
        report.forget();
        assert_eq!(report.pending(), None);
        let mut off = DuplicateReport::new(false);
        off.note(r(0, 1000));
        off.extend(r(0, 1000));
        assert_eq!(off.pending(), None);
    }
}
