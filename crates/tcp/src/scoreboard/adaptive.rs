//! Adaptive reordering as in Linux before RACK: the tolerance follows observed reordering, which
//! also disables forward acknowledgement (2.6.27 `net/ipv4/tcp_input.c`).

use fairway_units::{Duration, Time};

use super::{AckSummary, LOST, SACKED, Scoreboard};
use crate::LossDetection;

/// Most segments of reordering that are tolerated (`include/net/tcp.h`, `TCP_MAX_REORDERING`).
const MAX_REORDERING: u64 = 127;

impl Scoreboard {
    /// Let observed reordering raise the tolerance. Call before anything is sent.
    pub fn adapt_reordering(&mut self) {
        self.adapts = true;
        self.watches_originals = true;
    }

    /// Report delivered segments that were never retransmitted, as F-RTO needs. Call before
    /// anything is sent.
    pub fn watch_originals(&mut self) {
        self.watches_originals = true;
    }

    /// Current loss detection: observed reordering turns forward acknowledgement off.
    pub fn detection(&self) -> LossDetection {
        self.detection
    }

    /// Raise the tolerance to an observed reordering of `segments` (`tcp_update_reordering`).
    pub(super) fn tolerate(&mut self, segments: u64) {
        if self.adapts && segments > u64::from(self.reordering) {
            self.reordering = u32::try_from(segments.min(MAX_REORDERING)).unwrap_or(u32::MAX);
            if self.detection == LossDetection::LinuxFack {
                self.detection = LossDetection::Rfc6675;
                self.retransmissions.clear();
            }
        }
    }

    /// The timer expired: return to the configured tolerance (`tcp_enter_loss`).
    pub fn forget_reordering(&mut self) {
        self.reordering = self.reordering.min(self.least_reordering);
    }

    /// Limit the duplicates to the outstanding segments; more of them indicate reordering. `acked`
    /// segments have just been acknowledged (`tcp_check_reno_reordering`).
    pub(super) fn limit_duplicates(&mut self, acked: u64) {
        // The first outstanding segment, if any, has not arrived.
        let outstanding = self.sent.len() as u64;
        if self.duplicates > outstanding.saturating_sub(1) {
            self.duplicates = outstanding.saturating_sub(1);
            self.tolerate(outstanding + acked);
        }
    }

    /// Absolute index of the first segment that ends above `offset`.
    pub(super) fn index_above(&self, offset: u64) -> u64 {
        if self.sent.back().is_none_or(|last| last.end <= offset) {
            return self.first + self.sent.len() as u64;
        }
        self.first + self.sent.partition_point(|sent| sent.end <= offset) as u64
    }

    /// Mark segments older than the timeout lost. The timer may not have expired for them, because
    /// each acknowledgement of data restarts it (`tcp_head_timedout`, `tcp_update_scoreboard`).
    pub fn detect_timed_out(&mut self, timeout: Duration, now: Time, summary: &mut AckSummary) {
        let is_overdue = |sent_at: Time| now.since(sent_at) > timeout;
        if !self.sent.front().is_some_and(|head| is_overdue(head.sent_at)) {
            return;
        }
        summary.lost += self.mark_lost(self.first);
        let end = self.first + self.sent.len() as u64;
        while self.examined < end {
            let entry = self.sent[(self.examined - self.first) as usize];
            if !entry.is(SACKED | LOST) {
                if !is_overdue(entry.sent_at) {
                    return;
                }
                // `mark_lost` advances `examined`.
                summary.lost += self.mark_lost(self.examined);
            } else {
                self.examined += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranges::Range;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Twenty segments of 1000 bytes, sent 1 ms apart.
    fn twenty() -> Scoreboard {
        let mut board = Scoreboard::new(LossDetection::LinuxFack, 3, 1000);
        board.adapt_reordering();
        (0..20).for_each(|n| board.sent(1000 * (n + 1), at(n)));
        board
    }

    fn sack(board: &mut Scoreboard, from: u64, to: u64) -> AckSummary {
        let mut summary = AckSummary::default();
        board.sack(Range { start: 1000 * from, end: 1000 * to }, &mut summary);
        summary
    }

    fn lost(board: &mut Scoreboard) -> Vec<u64> {
        let mut lost = Vec::new();
        while let Some(next) = board.next_lost() {
            board.retransmitted(next, 20_000, at(50));
            lost.push(next.range.start / 1000);
        }
        lost
    }

    #[test]
    fn one_sack_beyond_a_hole_of_three_makes_the_first_lost() {
        // fackets_out 3, not above 3; then 4: 4 − 3 = 1 is lost; 9: 6.
        let mut board = twenty();
        for (sacked, expected) in [(2, 0), (3, 1000), (8, 3000)] {
            let mut summary = sack(&mut board, sacked, sacked + 1);
            board.detect_losses(&mut summary);
            assert_eq!(summary.lost, expected, "{sacked} SACKed");
        }
        // 2 and 3 are SACKed, of 0 to 5.
        assert_eq!(lost(&mut board), [0, 1, 4, 5]);
    }

    #[test]
    fn reordering_ends_forward_acknowledgement_and_raises_the_tolerance() {
        let mut board = twenty();
        sack(&mut board, 5, 9);
        // Segment 2, behind 8: 9 − 2 = 7.
        let summary = sack(&mut board, 2, 3);
        assert_eq!(summary.late_from, Some(2000));
        board.note_reordering(2000, 9000);
        assert_eq!((board.reordering(), board.detection()), (7, LossDetection::Rfc6675));
        // Five SACKed segments are too few for a tolerance of 7. With 9 and 10 there are seven
        // above 0 and 1, but only six above 3 and 4.
        let mut summary = AckSummary::default();
        board.detect_losses(&mut summary);
        assert_eq!(summary.lost, 0);
        let mut summary = sack(&mut board, 9, 11);
        board.detect_losses(&mut summary);
        assert_eq!((summary.lost, lost(&mut board)), (2000, vec![0, 1]));
        // A timeout resets the tolerance, but forward acknowledgement stays off.
        board.forget_reordering();
        assert_eq!((board.reordering(), board.detection()), (3, LossDetection::Rfc6675));
    }

    #[test]
    fn at_most_127_segments_are_tolerated() {
        let mut board = twenty();
        board.note_reordering(0, 500_000);
        assert_eq!(board.reordering(), 127);
    }

    #[test]
    fn losses_are_looked_for_below_a_limit() {
        let mut board = twenty();
        let mut summary = sack(&mut board, 15, 16);
        // 16 − 3 = 13 segments are lost, but only those that end at or below 10 000 are marked.
        board.detect_losses_below(10_000, &mut summary);
        assert_eq!(summary.lost, 10_000);
        let mut summary = AckSummary::default();
        board.detect_losses(&mut summary);
        assert_eq!(summary.lost, 3_000);
    }

    #[test]
    fn segments_older_than_the_timeout_are_lost() {
        let mut board = twenty();
        let mut summary = AckSummary::default();
        board.detect_timed_out(Duration::from_millis(200), at(200), &mut summary);
        assert_eq!(summary.lost, 0);
        // Segments 0 to 4 were sent 205 to 201 ms ago.
        board.detect_timed_out(Duration::from_millis(200), at(205), &mut summary);
        assert_eq!((summary.lost, lost(&mut board)), (5_000, vec![0, 1, 2, 3, 4]));
    }

    #[test]
    fn more_duplicates_than_segments_indicate_reordering() {
        let mut board = Scoreboard::new(LossDetection::LinuxFack, 3, 1000);
        board.adapt_reordering();
        (0..5).for_each(|n| board.sent(1000 * (n + 1), at(n)));
        (0..4).for_each(|_| board.duplicate(&mut AckSummary::default()));
        assert_eq!((board.duplicates(), board.reordering()), (4, 3));
        // The hole itself cannot cause a duplicate.
        board.duplicate(&mut AckSummary::default());
        assert_eq!((board.duplicates(), board.reordering()), (4, 5));
    }
}
