//! Loss detection by time (RACK), and other queries of the recovery policies.

use fairway_units::{Duration, Time};

use super::{
    AckSummary, EVER_RETRANSMITTED, LOST, RETRANSMITTED, Retransmission, SACKED, Scoreboard, Sent,
};
use crate::LossDetection;
use crate::rack::Rack;
use crate::ranges::Range;

impl Scoreboard {
    /// State of RACK.
    pub fn rack(&mut self) -> &mut Rack {
        &mut self.rack
    }

    /// Outstanding segments that are SACKed.
    pub fn sacked_segments(&self) -> u64 {
        self.sacked_segments
    }

    /// Outstanding retransmissions.
    pub fn retransmitted_segments(&self) -> u64 {
        self.retransmitted_segments
    }

    /// Whether any outstanding segment is marked lost, retransmitted or not.
    pub fn has_losses(&self) -> bool {
        self.lost_segments > 0
    }

    /// Outstanding segments, SACKed and lost ones included.
    pub fn outstanding_segments(&self) -> u64 {
        self.sent.len() as u64
    }

    /// When the first outstanding segment was last sent.
    pub fn head_sent_at(&self) -> Option<Time> {
        self.sent.front().map(|head| head.sent_at)
    }

    /// Record reordering: data at `low`, never retransmitted, arrived after data up to `highest`.
    pub fn note_reordering(&mut self, low: u64, highest: u64) {
        if low < highest {
            let mss = self.mss;
            if self.detection == LossDetection::Rack {
                self.rack.reordered(highest - low, mss);
            } else {
                self.tolerate((highest - low).div_ceil(mss));
            }
        }
    }

    /// End of the highest SACKed segment, or `una`.
    pub fn highest_sacked(&self) -> u64 {
        self.sacked.last().map_or(self.una, |range| range.end)
    }

    /// Mark segments lost that were sent before the latest delivered one and are overdue by the
    /// reordering `window`. Returns the longest time until another one is overdue.
    pub fn detect_losses_by_time(
        &mut self,
        window: Duration,
        now: Time,
        summary: &mut AckSummary,
    ) -> Option<Duration> {
        let originals = self.detect_lost_originals(window, now, summary);
        let again = self.detect_lost_again(window, now, summary);
        originals.max(again)
    }

    /// Originals, in sequence order and therefore in order of send time.
    fn detect_lost_originals(
        &mut self,
        window: Duration,
        now: Time,
        summary: &mut AckSummary,
    ) -> Option<Duration> {
        let end = self.first + self.sent.len() as u64;
        while self.examined < end {
            let entry = self.sent[(self.examined - self.first) as usize];
            if !entry.is(SACKED | EVER_RETRANSMITTED | LOST) {
                if !self.rack.is_overtaken(entry.sent_at, entry.end) {
                    return None;
                }
                if self.rack.remaining(entry.sent_at, window, now).is_some() {
                    // No later one is overdue either; the last one overtaken has most time left.
                    let last = self.last_overtaken()?;
                    return self.rack.remaining(last.sent_at, window, now);
                }
                // `mark_lost` advances `examined`.
                summary.lost += self.mark_lost(self.examined);
            } else {
                self.examined += 1;
            }
        }
        None
    }

    /// Last segment from `examined` on that was overtaken and is not SACKed.
    fn last_overtaken(&self) -> Option<Sent> {
        let from = (self.examined - self.first) as usize;
        let (mut low, mut high) = (from, self.sent.len());
        while low < high {
            let middle = low.midpoint(high);
            let entry = self.sent[middle];
            let before =
                !entry.is(EVER_RETRANSMITTED) && self.rack.is_overtaken(entry.sent_at, entry.end);
            if before { low = middle + 1 } else { high = middle }
        }
        let mut last = self.sent[low.checked_sub(1)?];
        if last.is(SACKED) {
            let range = self.sacked.descending().find(|range| range.start < last.end)?;
            let below = self.sent.partition_point(|sent| sent.end <= range.start);
            last = self.sent[below.checked_sub(1)?];
        }
        Some(last)
    }

    /// Retransmissions, in order of send time.
    fn detect_lost_again(
        &mut self,
        window: Duration,
        now: Time,
        summary: &mut AckSummary,
    ) -> Option<Duration> {
        let mut longest = None;
        let mut at = 0;
        while let Some(&sending) = self.retransmissions.get(at) {
            let entry = if sending.index < self.first {
                None
            } else {
                let entry = *self.entry(sending.index);
                // A timeout has marked it lost, and it waits to be retransmitted.
                let waits = entry.is(LOST) && !entry.is(RETRANSMITTED);
                let is_out = entry.retransmission == sending.number && !entry.is(SACKED);
                (is_out && !waits).then_some(entry)
            };
            let Some(entry) = entry else {
                self.retransmissions.remove(at);
                continue;
            };
            if !self.rack.is_overtaken(entry.sent_at, entry.end)
                || self.follows_a_late_original(sending, entry)
            {
                break;
            }
            if let Some(remaining) = self.rack.remaining(entry.sent_at, window, now) {
                longest = longest.max(Some(remaining));
                at += 1;
                continue;
            }
            self.retransmissions.remove(at);
            self.lose_again(sending.index, entry, summary);
        }
        longest
    }

    /// Whether an original that was not overtaken left before the retransmission `sending` at the
    /// same instant. Linux examines segments in the order sent and stops at the first that was not
    /// overtaken; sequence breaks ties (`tcp_rack_detect_loss`, `tcp_rack_sent_after`).
    fn follows_a_late_original(&self, sending: Retransmission, entry: Sent) -> bool {
        let (latest, end) = self.rack.latest();
        if entry.sent_at.in_micros() != latest {
            return false;
        }
        let after = self.sent.partition_point(|sent| sent.end <= end);
        let late = |sent: &&Sent| !sent.is(SACKED | EVER_RETRANSMITTED | LOST);
        let mut before = self.sent.range(after..).take_while(|sent| sent.end <= sending.snd_nxt);
        before.find(late).is_some_and(|sent| sent.sent_at.in_micros() == latest)
    }

    fn lose_again(&mut self, index: u64, entry: Sent, summary: &mut AckSummary) {
        if entry.is(RETRANSMITTED) {
            let len = self.range(index).bytes();
            self.entry(index).state &= !RETRANSMITTED;
            self.retransmitted_segments -= 1;
            self.pipe -= len;
            summary.lost += len;
            summary.lost_again = true;
        }
        // Not marked lost before if it is a tail loss probe or an undo has cleared the mark.
        summary.lost += self.mark_lost(index);
        // The lowest lost segment goes first, retransmitted before or not.
        self.next_lost = self.next_lost.min(index);
    }

    /// The retransmission timer expired: mark the first outstanding segment lost, and every other
    /// that is overdue. Returns the same bytes as [`Scoreboard::mark_all_lost`].
    pub fn mark_lost_by_timeout(&mut self, now: Time) -> u64 {
        let reneged = self.sent.front().is_some_and(|head| head.is(SACKED));
        let mut lost = 0;
        let mut start = self.una;
        let mut undecided = None;
        for (at, entry) in self.sent.iter_mut().enumerate() {
            let len = entry.end - start;
            start = entry.end;
            if entry.is(SACKED) {
                if reneged {
                    entry.state = (entry.state | LOST) & !(SACKED | RETRANSMITTED);
                    self.lost_segments += 1;
                    lost += len;
                }
                continue;
            }
            if entry.is(LOST) && !entry.is(RETRANSMITTED) {
                continue;
            }
            let recent =
                at > 0 && self.rack.remaining(entry.sent_at, Duration::ZERO, now).is_some();
            if recent && !reneged {
                if !entry.is(EVER_RETRANSMITTED) && undecided.is_none() {
                    undecided = Some(at as u64);
                }
                continue;
            }
            if entry.is(RETRANSMITTED) {
                self.retransmitted_segments -= 1;
                self.pipe -= len;
            }
            if !entry.is(LOST) {
                self.pipe -= len;
                self.lost_segments += 1;
            }
            lost += len;
            entry.state = (entry.state | LOST) & !RETRANSMITTED;
        }
        if reneged {
            self.sacked.clear();
            self.sacked_segments = 0;
        }
        self.duplicates = 0;
        self.next_lost = self.first;
        self.examined = self.first + undecided.unwrap_or(self.sent.len() as u64);
        lost
    }

    /// Undo: clear all lost marks, so that these segments count in the pipe again.
    pub fn forget_losses(&mut self) {
        let mut start = self.una;
        for entry in &mut self.sent {
            if entry.is(LOST) && !entry.is(SACKED) {
                self.pipe += entry.end - start;
            }
            entry.state &= !LOST;
            start = entry.end;
        }
        self.lost_segments = 0;
        self.next_lost = self.first;
        self.examined = self.first;
        self.rack.look_again();
    }

    /// The last outstanding segment, to send as a tail loss probe.
    pub fn last_segment(&self) -> Option<Range> {
        let last = (self.first + self.sent.len() as u64).checked_sub(1)?;
        (!self.sent.is_empty()).then(|| self.range(last))
    }

    /// Record the last segment sent as a tail loss probe. It still counts once in the pipe.
    pub fn probed(&mut self, snd_nxt: u64, now: Time) {
        let index = self.first + self.sent.len() as u64 - 1;
        self.split(self.sent.len() - 1);
        self.retransmission_count += 1;
        let number = self.retransmission_count;
        let entry = self.entry(index);
        entry.state |= EVER_RETRANSMITTED;
        entry.sent_at = now;
        entry.retransmission = number;
        self.retransmissions.push_back(Retransmission { index, snd_nxt, number });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARTER: Duration = Duration::from_millis(10);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Ten segments of 1000 bytes, sent 1 ms apart; the round-trip time is 40 ms.
    fn ten() -> Scoreboard {
        let mut board = Scoreboard::new(LossDetection::Rack, 3, 1000);
        (0..10).for_each(|n| board.sent(1000 * (n + 1), at(n)));
        board
    }

    fn sack(board: &mut Scoreboard, now: u64, from: u64, to: u64) -> AckSummary {
        let mut summary = AckSummary::default();
        board.rack().begin(at(now), Some(Duration::from_millis(40)), None);
        board.sack(Range { start: 1000 * from, end: 1000 * to }, &mut summary);
        summary
    }

    fn resend(board: &mut Scoreboard, now: u64) -> Vec<u64> {
        let mut sent = Vec::new();
        while let Some(lost) = board.next_lost() {
            board.retransmitted(lost, 10_000, at(now));
            sent.push(lost.range.start / 1000);
        }
        sent
    }

    #[test]
    fn an_overtaken_segment_is_lost_after_the_reordering_window() {
        let mut board = ten();
        let mut summary = sack(&mut board, 43, 3, 4);
        // Sent at 0, 1 and 2; the fourth took 40 ms. The first has 40 + 10 − 43 = 7 ms, the third 9.
        let left = board.detect_losses_by_time(QUARTER, at(43), &mut summary);
        assert_eq!((left, summary.lost), (Some(Duration::from_millis(9)), 0));
        // At 50 the first is lost, and the third has 2 ms more.
        let left = board.detect_losses_by_time(QUARTER, at(50), &mut summary);
        assert_eq!(
            (left, summary.lost, board.pipe()),
            (Some(Duration::from_millis(2)), 1000, 8000)
        );
        // Without a window both others are lost; segments sent later are not examined.
        let left = board.detect_losses_by_time(Duration::ZERO, at(50), &mut summary);
        assert_eq!((left, summary.lost, board.pipe()), (None, 3000, 6000));
        assert!(board.has_losses());
        assert_eq!(resend(&mut board, 50), [0, 1, 2]);
        assert_eq!((board.pipe(), board.retransmitted_segments()), (9000, 3));
    }

    #[test]
    fn a_retransmission_is_lost_when_something_sent_after_it_arrives() {
        let mut board = ten();
        let mut summary = sack(&mut board, 44, 1, 4);
        board.detect_losses_by_time(Duration::ZERO, at(44), &mut summary);
        assert_eq!(resend(&mut board, 44), [0]);
        board.sent(11_000, at(45));
        // Segments sent before it do not mark it lost; one sent after it does.
        let mut summary = sack(&mut board, 49, 4, 10);
        board.detect_losses_by_time(Duration::ZERO, at(49), &mut summary);
        assert!(!summary.lost_again);
        let mut summary = sack(&mut board, 85, 10, 11);
        board.detect_losses_by_time(Duration::ZERO, at(85), &mut summary);
        assert_eq!((summary.lost_again, summary.lost, board.pipe()), (true, 1000, 0));
        assert_eq!(resend(&mut board, 85), [0]);
    }

    #[test]
    fn a_late_original_of_the_same_instant_ends_the_search_for_losses() {
        let mut board = ten();
        let mut summary = sack(&mut board, 44, 1, 10);
        board.detect_losses_by_time(Duration::ZERO, at(44), &mut summary);
        // The segments 10 and 11, the retransmission of 0 and the segment 12 leave at once.
        [11_000, 12_000].into_iter().for_each(|end| board.sent(end, at(44)));
        let lost = board.next_lost().unwrap();
        board.retransmitted(lost, 12_000, at(44));
        board.sent(13_000, at(44));
        // Segment 10 is delivered. The next in order of sending, 11, has the greater end, so that
        // the retransmission behind it is not examined.
        let mut summary = sack(&mut board, 84, 10, 11);
        board.detect_losses_by_time(Duration::ZERO, at(84), &mut summary);
        assert_eq!((summary.lost_again, summary.lost), (false, 0));
        let mut summary = sack(&mut board, 84, 11, 12);
        board.detect_losses_by_time(Duration::ZERO, at(84), &mut summary);
        assert_eq!((summary.lost_again, summary.lost), (true, 1000));
    }

    #[test]
    fn a_timeout_spares_recent_segments_except_the_first() {
        let mut board = ten();
        sack(&mut board, 43, 3, 4);
        // The RTT is 40 ms: segments sent at 6 ms and later are not overdue at 46 ms.
        assert_eq!(board.mark_lost_by_timeout(at(46)), 6000);
        assert_eq!((board.pipe(), board.outstanding_segments()), (3000, 10));
        assert_eq!(resend(&mut board, 46), [0, 1, 2, 4, 5, 6]);
    }

    #[test]
    fn a_retransmission_marked_lost_by_a_timeout_is_not_timed() {
        let mut board = ten();
        let mut summary = sack(&mut board, 44, 1, 4);
        board.detect_losses_by_time(Duration::ZERO, at(44), &mut summary);
        resend(&mut board, 44);
        board.sent(11_000, at(45));
        board.mark_lost_by_timeout(at(300));
        let mut summary = sack(&mut board, 301, 10, 11);
        // The RTT is now 256 ms. The retransmission at 44 ms would have 256 + 10 − 257 = 9 ms left
        // if it still counted.
        let left = board.detect_losses_by_time(QUARTER, at(301), &mut summary);
        assert_eq!((left, summary.lost, board.retransmitted_segments()), (None, 0, 0));
        assert_eq!(board.pipe(), 0);
    }

    #[test]
    fn undone_losses_count_in_the_pipe_again() {
        let mut board = ten();
        let mut summary = sack(&mut board, 44, 1, 4);
        board.detect_losses_by_time(Duration::ZERO, at(44), &mut summary);
        resend(&mut board, 44);
        assert_eq!(board.pipe(), 7000);
        board.forget_losses();
        // The first segment counts twice: as an original and as a retransmission.
        assert_eq!((board.pipe(), board.has_losses()), (8000, false));
        board.acknowledge(10_000, &mut AckSummary::default());
        assert_eq!((board.pipe(), board.is_empty()), (0, true));
    }
}
