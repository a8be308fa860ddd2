//! The send buffer of ns-3.29 (`src/internet/model/tcp-tx-buffer.cc`): outstanding segments with
//! their marks, and the counters from which ns-3 estimates the bytes in flight.

use std::collections::VecDeque;

use crate::ranges::Range;

/// A sent segment (`TcpTxItem`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    range: Range,
    sacked: bool,
    lost: bool,
    retransmitted: bool,
}

/// The outstanding segments.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    items: VecDeque<Item>,
    una: u64,
    end: u64,
    /// Bytes of segments with each mark (`m_sackedOut`, `m_lostOut`, `m_retrans`). A retransmitted
    /// segment that is SACKed counts as both until it is acknowledged cumulatively.
    sacked: u64,
    lost: u64,
    retransmitted: u64,
    /// Lost segments not yet retransmitted.
    to_repair: u32,
    /// Start of what ns-3 takes for the highest SACKed segment (`m_highestSack`).
    highest_sacked: Option<u64>,
    dup_threshold: u32,
}

impl Buffer {
    /// An empty buffer.
    pub(super) fn new(dup_threshold: u32) -> Self {
        Buffer {
            items: VecDeque::new(),
            una: 0,
            end: 0,
            sacked: 0,
            lost: 0,
            retransmitted: 0,
            to_repair: 0,
            highest_sacked: None,
            dup_threshold,
        }
    }

    /// First unacknowledged offset (`HeadSequence`).
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// Whether everything sent was acknowledged.
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Segments outstanding, and of them those SACKed, lost and retransmitted.
    pub(super) fn counts(&self) -> [u64; 4] {
        let count = |mark: fn(&Item) -> bool| self.items.iter().filter(|item| mark(item)).count();
        [self.items.len(), count(|i| i.sacked), count(|i| i.lost), count(|i| i.retransmitted)]
            .map(|n| n as u64)
    }

    /// Bytes in flight (`BytesInFlight`).
    pub(super) fn in_flight(&self) -> u64 {
        self.end - self.una - (self.sacked + self.lost) + self.retransmitted
    }

    /// Add a new segment of `bytes` (`GetNewSegment`).
    pub(super) fn push(&mut self, bytes: u64) -> Range {
        let range = Range { start: self.end, end: self.end + bytes };
        self.items.push_back(Item { range, sacked: false, lost: false, retransmitted: false });
        self.end = range.end;
        range
    }

    /// Retransmit the segment at `start` (`GetTransmittedSegment`, which would also merge two small
    /// segments into a full one).
    pub(super) fn retransmit(&mut self, start: u64) -> Option<Range> {
        let index = self.index_of(start);
        let item = self.items.get_mut(index)?;
        if !item.retransmitted {
            item.retransmitted = true;
            self.retransmitted += item.range.bytes();
            self.to_repair -= u32::from(item.lost);
        }
        Some(item.range)
    }

    fn index_of(&self, offset: u64) -> usize {
        self.items.partition_point(|item| item.range.start < offset)
    }

    /// Remove everything below `ack` (`DiscardUpTo`). An acknowledged FIN is after the last
    /// segment.
    pub(super) fn discard_up_to(&mut self, ack: u64) {
        if ack <= self.una {
            return;
        }
        while let Some(item) = self.items.front().copied().filter(|item| item.range.end <= ack) {
            self.items.pop_front();
            self.forget(&item);
        }
        if let Some(head) = self.items.front_mut().filter(|head| head.range.start < ack) {
            let cut = Item { range: Range { end: ack, ..head.range }, ..*head };
            head.range.start = ack;
            self.forget_bytes(&cut);
        }
        self.una = ack;
        self.end = self.end.max(ack);
        if let Some(head) = self.items.front_mut().filter(|head| head.sacked) {
            // A duplicate had marked the wrong segment as delivered.
            head.sacked = false;
            self.sacked -= head.range.bytes();
            self.add_reno_sack();
            self.mark_head_lost();
        }
        if self.highest_sacked.is_some_and(|start| start <= self.una) {
            self.highest_sacked = None;
        }
    }

    fn forget(&mut self, item: &Item) {
        self.forget_bytes(item);
        self.to_repair -= u32::from(item.lost && !item.retransmitted);
    }

    /// `RemoveFromCounts`.
    fn forget_bytes(&mut self, item: &Item) {
        let bytes = item.range.bytes();
        self.sacked -= if item.sacked { bytes } else { 0 };
        self.retransmitted -= if item.retransmitted { bytes } else { 0 };
        self.lost -= if item.lost { bytes } else { 0 };
    }

    /// Mark the segments in SACK blocks. Returns whether any block covers a segment, SACKed before
    /// or not (`Update`).
    pub(super) fn sack(&mut self, blocks: &[Range]) -> bool {
        let mut covers = false;
        for block in blocks {
            for index in self.index_of(block.start)..self.items.len() {
                if self.items[index].range.end > block.end {
                    break;
                }
                covers = true;
                self.sack_item(index);
            }
        }
        if covers {
            self.find_losses();
        }
        covers
    }

    fn sack_item(&mut self, index: usize) {
        let item = &mut self.items[index];
        if item.sacked {
            return;
        }
        let bytes = item.range.bytes();
        if item.lost {
            item.lost = false;
            self.lost -= bytes;
            self.to_repair -= u32::from(!item.retransmitted);
        }
        item.sacked = true;
        self.sacked += bytes;
        // The segment just below the highest replaces it.
        if self.highest_sacked.is_none_or(|highest| highest <= item.range.end) {
            self.highest_sacked = Some(item.range.start);
        }
    }

    /// Mark segments lost that have the threshold of SACKed segments from them up to the highest
    /// (`UpdateLostCount`).
    fn find_losses(&mut self) {
        let Some(highest) = self.highest_sacked else { return };
        let mut sacked = 0;
        for index in (1..=self.index_of(highest)).rev() {
            let item = &self.items[index];
            sacked += u32::from(item.sacked);
            if sacked >= self.dup_threshold && !item.sacked {
                self.mark_lost(index);
            }
        }
        if sacked >= self.dup_threshold {
            self.mark_lost(0);
        }
    }

    fn mark_lost(&mut self, index: usize) {
        let item = &mut self.items[index];
        if !item.lost {
            item.lost = true;
            self.lost += item.range.bytes();
            self.to_repair += u32::from(!item.retransmitted);
        }
    }

    /// `IsLost`: whether the first marked segment from `offset` on is lost.
    pub(super) fn is_lost(&self, offset: u64) -> bool {
        if self.highest_sacked.is_none_or(|highest| offset >= highest) {
            return false;
        }
        let mut from_here = self.items.range(self.index_of(offset)..);
        from_here.find(|item| item.lost || item.sacked).is_some_and(|item| item.lost)
    }

    /// `MarkHeadAsLost`.
    pub(super) fn mark_head_lost(&mut self) {
        let Some(head) = self.items.front_mut() else { return };
        let bytes = head.range.bytes();
        self.sacked -= if std::mem::take(&mut head.sacked) { bytes } else { 0 };
        let was_waiting = head.lost && !head.retransmitted;
        self.retransmitted -= if std::mem::take(&mut head.retransmitted) { bytes } else { 0 };
        self.lost += if std::mem::replace(&mut head.lost, true) { 0 } else { bytes };
        self.to_repair += u32::from(!was_waiting);
    }

    /// `DeleteRetransmittedFlagFromHead`.
    pub(super) fn forget_retransmission_of_head(&mut self) {
        let Some(head) = self.items.front_mut() else { return };
        if std::mem::take(&mut head.retransmitted) {
            self.retransmitted -= head.range.bytes();
            self.to_repair += u32::from(head.lost);
        }
    }

    /// A timeout: everything not SACKed is lost, and nothing retransmitted (`SetSentListLost`). Without
    /// SACK the marks were guesses and go (`ResetRenoSack`).
    pub(super) fn mark_all_lost(&mut self, with_sack: bool) {
        if !with_sack {
            self.sacked = 0;
            self.highest_sacked = None;
        }
        self.lost = 0;
        self.retransmitted = 0;
        self.to_repair = 0;
        for item in &mut self.items {
            item.sacked &= with_sack;
            item.lost |= !item.sacked;
            item.retransmitted = false;
            self.lost += if item.lost { item.range.bytes() } else { 0 };
            self.to_repair += u32::from(item.lost);
        }
    }

    /// Without SACK a duplicate marks the first unmarked segment after the head as delivered
    /// (`AddRenoSack`).
    pub(super) fn add_reno_sack(&mut self) {
        let unmarked = self.items.iter_mut().skip(1).find(|item| !item.sacked);
        if let Some(item) = unmarked {
            item.sacked = true;
            self.sacked += item.range.bytes();
            self.highest_sacked = Some(item.range.start);
        }
    }

    /// The segment to retransmit, if one is lost (`NextSeg` rule 1).
    pub(super) fn next_lost(&self) -> Option<u64> {
        if self.to_repair == 0 {
            return None;
        }
        let waits = |item: &&Item| item.lost && !item.retransmitted && !item.sacked;
        self.items.iter().find(waits).map(|item| item.range.start)
    }

    /// The first segment that is neither SACKed nor retransmitted (`NextSeg` rule 3).
    pub(super) fn next_unmarked(&self) -> Option<u64> {
        let waits = |item: &&Item| !item.retransmitted && !item.sacked;
        self.items.iter().find(waits).map(|item| item.range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u64, end: u64) -> Range {
        Range { start: start * 10, end: end * 10 }
    }

    /// Ten segments of ten bytes.
    fn buffer() -> Buffer {
        let mut buffer = Buffer::new(3);
        (0..10).for_each(|_| _ = buffer.push(10));
        buffer
    }

    #[test]
    fn three_sacked_above_make_a_segment_lost() {
        let mut buffer = buffer();
        assert!(buffer.sack(&[block(2, 4)]));
        assert_eq!((buffer.in_flight(), buffer.next_lost()), (80, None));
        assert!(buffer.sack(&[block(2, 5)]));
        // Segments 2 to 4 have arrived; 1, below them, is lost, and so is the head.
        assert_eq!((buffer.in_flight(), buffer.next_lost()), (50, Some(0)));
        assert!(buffer.is_lost(0) && buffer.is_lost(10) && !buffer.is_lost(20));
    }

    #[test]
    fn a_repeated_block_still_counts_as_a_duplicate() {
        let mut buffer = buffer();
        assert!(buffer.sack(&[block(2, 3)]));
        assert!(buffer.sack(&[block(2, 3)]));
        assert!(!buffer.sack(&[]));
    }

    #[test]
    fn a_retransmission_that_was_sacked_stays_in_flight_until_it_is_acknowledged() {
        let mut buffer = buffer();
        buffer.sack(&[block(2, 5)]);
        assert_eq!(buffer.retransmit(10), Some(block(1, 2)));
        assert_eq!(buffer.in_flight(), 60);
        // 10 segments, 1 to 4 SACKed, 0 lost, and one counted as retransmitted.
        buffer.sack(&[block(1, 5)]);
        assert_eq!(buffer.in_flight(), 60);
        buffer.discard_up_to(50);
        assert_eq!(buffer.in_flight(), 50);
    }

    #[test]
    fn the_segment_just_below_the_highest_replaces_it() {
        let mut buffer = buffer();
        buffer.sack(&[block(4, 5)]);
        assert_eq!(buffer.highest_sacked, Some(40));
        buffer.sack(&[block(3, 5)]);
        assert_eq!(buffer.highest_sacked, Some(30));
        // Segment 4 no longer counts: two SACKed from 3 down are not enough.
        buffer.sack(&[block(2, 5)]);
        assert_eq!((buffer.highest_sacked, buffer.next_lost()), (Some(20), None));
    }

    #[test]
    fn a_timeout_loses_everything_that_was_not_sacked() {
        let mut buffer = buffer();
        buffer.sack(&[block(2, 5)]);
        buffer.retransmit(0);
        buffer.mark_all_lost(true);
        assert_eq!((buffer.in_flight(), buffer.next_lost()), (0, Some(0)));
        assert_eq!(buffer.counts(), [10, 3, 7, 0]);
        buffer.mark_all_lost(false);
        assert_eq!(buffer.counts(), [10, 0, 10, 0]);
    }

    #[test]
    fn duplicates_without_sack_mark_one_segment_each() {
        let mut buffer = buffer();
        buffer.add_reno_sack();
        buffer.add_reno_sack();
        assert_eq!((buffer.in_flight(), buffer.highest_sacked), (80, Some(20)));
        buffer.mark_head_lost();
        assert_eq!((buffer.in_flight(), buffer.next_lost()), (70, Some(0)));
        // ACK up to segment 2, which a duplicate had marked as delivered: it is lost, and another
        // one was delivered.
        buffer.discard_up_to(20);
        assert_eq!((buffer.in_flight(), buffer.next_lost()), (60, Some(20)));
    }
}
