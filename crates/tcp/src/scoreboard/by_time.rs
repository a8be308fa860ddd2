//! Losses found by time (RACK), and what else the scoreboard does for stacks that have it.

use fairway_units::{Duration, Time};

use super::{AckSummary, EVER_RETRANSMITTED, LOST, RETRANSMITTED, SACKED, Scoreboard, Sent};
use crate::LossDetection;
use crate::rack::Rack;
use crate::ranges::Range;

impl Scoreboard {
    /// What is known of the order of arrival.
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

    /// Whether a segment is outstanding that was marked lost, even if it was sent again since.
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

    /// Data below what has arrived, and never sent again, arrived only now, from `low` on: reordering.
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

    /// End of the highest SACKed segment, or of what is acknowledged.
    pub fn highest_sacked(&self) -> u64 {
        self.sacked.last().map_or(self.una, |range| range.end)
    }

    /// Mark lost whatever was sent before the latest arrival and has had its time, with `window` for
    /// reordering. Returns the longest time that the others still have.
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

    /// Those sent once, in the order of their sequence numbers and so of their times.
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
                    // So have all later ones; the last that was overtaken has it longest.
                    let last = self.last_overtaken()?;
                    return self.rack.remaining(last.sent_at, window, now);
                }
                // Which takes it for examined.
                summary.lost += self.mark_lost(self.examined);
            } else {
                self.examined += 1;
            }
        }
        None
    }

    /// The last segment, from `examined` on, that was overtaken and has not arrived.
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

    /// Those sent again, in the order in which they were.
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
                // One that a timeout has found lost waits to be sent again.
                let waits = entry.is(LOST) && !entry.is(RETRANSMITTED);
                let is_out = entry.retransmission == sending.number && !entry.is(SACKED);
                (is_out && !waits).then_some(entry)
            };
            let Some(entry) = entry else {
                self.retransmissions.remove(at);
                continue;
            };
            if !self.rack.is_overtaken(entry.sent_at, entry.end) {
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

    fn lose_again(&mut self, index: u64, entry: Sent, summary: &mut AckSummary) {
        if entry.is(RETRANSMITTED) {
            let len = self.range(index).bytes();
            self.entry(index).state &= !RETRANSMITTED;
            self.retransmitted_segments -= 1;
            self.pipe -= len;
            summary.lost += len;
            summary.lost_again = true;
        }
        // A probe of the tail was not lost before, nor what an undo has unmarked.
        summary.lost += self.mark_lost(index);
        // The lowest goes first, whether it was sent again before or not.
        self.next_lost = self.next_lost.min(index);
    }

    /// The retransmission timer expired: the first outstanding segment is lost, and every other that
    /// has had its time. Returns what [`Scoreboard::mark_all_lost`] does.
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

    /// Nothing was lost after all: what is marked so counts as in the network again.
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

    /// The last outstanding segment, to probe the tail with.
    pub fn last_segment(&self) -> Option<Range> {
        let last = (self.first + self.sent.len() as u64).checked_sub(1)?;
        (!self.sent.is_empty()).then(|| self.range(last))
    }

    /// The last segment was sent again as a probe: it counts once in the network, as before.
    pub fn probed(&mut self, snd_nxt: u64, now: Time) {
        let index = self.first + self.sent.len() as u64 - 1;
        self.split(self.sent.len() - 1);
        self.retransmission_count += 1;
        let number = self.retransmission_count;
        let entry = self.entry(index);
        entry.state |= EVER_RETRANSMITTED;
        entry.sent_at = now;
        entry.retransmission = number;
        self.retransmissions.push_back(super::Retransmission { index, snd_nxt, number });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUARTER: Duration = Duration::from_millis(10);

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Ten segments of 1000 bytes left, one a millisecond; a round trip is 40 ms.
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
    fn what_was_overtaken_is_lost_when_its_time_is_over() {
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
        // Without a window both others are; what left later is not looked at.
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
        // What left before it does not say so; what left after it does.
        let mut summary = sack(&mut board, 49, 4, 10);
        board.detect_losses_by_time(Duration::ZERO, at(49), &mut summary);
        assert!(!summary.lost_again);
        let mut summary = sack(&mut board, 85, 10, 11);
        board.detect_losses_by_time(Duration::ZERO, at(85), &mut summary);
        assert_eq!((summary.lost_again, summary.lost, board.pipe()), (true, 1000, 0));
        assert_eq!(resend(&mut board, 85), [0]);
    }

    #[test]
    fn a_timeout_spares_what_was_sent_of_late_but_the_first() {
        let mut board = ten();
        sack(&mut board, 43, 3, 4);
        // Round trips take 40 ms: those sent at 6 ms and later are not overdue at 46.
        assert_eq!(board.mark_lost_by_timeout(at(46)), 6000);
        assert_eq!((board.pipe(), board.outstanding_segments()), (3000, 10));
        assert_eq!(resend(&mut board, 46), [0, 1, 2, 4, 5, 6]);
    }

    #[test]
    fn what_a_timeout_found_lost_again_is_not_waited_for() {
        let mut board = ten();
        let mut summary = sack(&mut board, 44, 1, 4);
        board.detect_losses_by_time(Duration::ZERO, at(44), &mut summary);
        resend(&mut board, 44);
        board.sent(11_000, at(45));
        board.mark_lost_by_timeout(at(300));
        let mut summary = sack(&mut board, 301, 10, 11);
        // The eleventh took 256 ms, and the retransmission before it would have 256 + 10 − 257 = 9 ms
        // more if it were out.
        let left = board.detect_losses_by_time(QUARTER, at(301), &mut summary);
        assert_eq!((left, summary.lost, board.retransmitted_segments()), (None, 0, 0));
        assert_eq!(board.pipe(), 0);
    }

    #[test]
    fn losses_that_are_taken_back_are_in_the_network_again() {
        let mut board = ten();
        let mut summary = sack(&mut board, 44, 1, 4);
        board.detect_losses_by_time(Duration::ZERO, at(44), &mut summary);
        resend(&mut board, 44);
        assert_eq!(board.pipe(), 7000);
        board.forget_losses();
        // The first counts as often as it was sent.
        assert_eq!((board.pipe(), board.has_losses()), (8000, false));
        board.acknowledge(10_000, &mut AckSummary::default());
        assert_eq!((board.pipe(), board.is_empty()), (0, true));
    }
}
