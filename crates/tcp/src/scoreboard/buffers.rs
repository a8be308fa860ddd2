//! The buffers that outstanding segments lie in, which take memory each (`struct sk_buff`): a burst is
//! one, and it is split where only a part of it is SACKed or sent again (Linux 6.1
//! `net/ipv4/tcp_input.c`, `tcp_sacktag_walk`; `tcp_output.c`, `__tcp_retransmit_skb`).

use fairway_units::Time;

use super::{BEGINS, LOST, PUSHES, RETRANSMITTED, SACKED, Scoreboard, Sent};

/// No segment.
pub(super) const NONE: u64 = u64::MAX;

/// Where a segment that is sent again is in its buffer.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Whether the one before has left with it.
    pub goes_on: bool,
    /// Whether the one behind may leave with it.
    pub has_more: bool,
}

impl Scoreboard {
    /// How many buffers hold what is outstanding.
    pub fn buffers(&self) -> u64 {
        self.buffers
    }

    /// The segment sent last left in one buffer with the one before.
    pub fn join_last(&mut self) {
        self.join(self.sent.len() - 1);
    }

    /// The segment sent last carries PSH, now and when it is sent again: it ends what was written.
    pub fn push_last(&mut self) {
        if let Some(last) = self.sent.back_mut() {
            last.state |= PUSHES;
        }
    }

    /// Whether the segment of this index carries PSH when it is sent again.
    pub fn pushes(&self, index: u64) -> bool {
        self.sent[(index - self.first) as usize].is(PUSHES)
    }

    /// Whether the last segment carries PSH when it is sent again.
    pub fn last_pushes(&self) -> bool {
        self.sent.back().is_some_and(|last| last.is(PUSHES))
    }

    /// The segment at this place is sent again: it leaves its buffer, unless that leaves with it.
    pub(super) fn take_out(&mut self, at: usize, now: Time) -> Place {
        let index = self.first + at as u64;
        let goes_on = self.cut_at == index && at > 0 && self.sent[at - 1].sent_at == now;
        if goes_on {
            self.join(at);
        } else {
            self.split(at);
        }
        let has_more = self.split(at + 1);
        self.cut_at = if has_more { index + 1 } else { NONE };
        Place { goes_on, has_more }
    }

    /// The segments of these places have been SACKed: they join the buffer before, if all of that is,
    /// and then the one behind joins, too (`tcp_shift_skb_data`).
    pub(super) fn regroup(&mut self, from: usize, to: usize) {
        self.split(from);
        self.split(to);
        let mut joined = false;
        for at in from..self.sent.len().min(to + 1) {
            if self.sent[at].is(BEGINS) && (at < to || joined) {
                joined = at > 0 && is_plainly_sacked(self.sent[at - 1], self.sent[at]);
                if joined {
                    self.join(at);
                }
            }
        }
    }

    /// Let a buffer begin there. Whether none did.
    pub(super) fn split(&mut self, at: usize) -> bool {
        let Some(entry) = self.sent.get_mut(at).filter(|entry| !entry.is(BEGINS)) else {
            return false;
        };
        entry.state |= BEGINS;
        self.buffers += 1;
        true
    }

    fn join(&mut self, at: usize) {
        self.sent[at].state &= !BEGINS;
        self.buffers -= 1;
    }
}

/// Whether nothing else is said of either segment; what was sent again without being lost stays so.
fn is_plainly_sacked(one: Sent, other: Sent) -> bool {
    let plainly = |sent: Sent| sent.is(SACKED) && (sent.is(LOST) || !sent.is(RETRANSMITTED));
    plainly(one) && plainly(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossDetection;
    use crate::ranges::Range;
    use crate::scoreboard::AckSummary;

    const AT: Time = Time::ZERO;

    /// Two bursts of four segments of 1000 bytes.
    fn two_bursts() -> Scoreboard {
        let mut board = Scoreboard::new(LossDetection::Rack, 3, 1000);
        for n in 0..8 {
            board.sent(1000 * (n + 1), AT);
            if n % 4 > 0 {
                board.join_last();
            }
        }
        board
    }

    fn sack(board: &mut Scoreboard, from: u64, to: u64) {
        board.sack(Range { start: 1000 * from, end: 1000 * to }, &mut AckSummary::default());
    }

    /// First segments of the buffers.
    fn starts(board: &Scoreboard) -> Vec<usize> {
        let starts: Vec<usize> =
            (0..board.sent.len()).filter(|at| board.sent[*at].is(BEGINS)).collect();
        assert_eq!(starts.len() as u64, board.buffers());
        starts
    }

    #[test]
    fn a_burst_is_split_where_a_part_of_it_is_sacked_and_sacked_ones_join() {
        let mut board = two_bursts();
        assert_eq!(starts(&board), [0, 4]);
        sack(&mut board, 2, 3);
        assert_eq!(starts(&board), [0, 2, 3, 4]);
        // 3 joins 2; 4 and 5 are cut off 6 and 7, and join, too.
        sack(&mut board, 3, 6);
        assert_eq!(starts(&board), [0, 2, 6]);
        // 7 stays by itself: 6 is missing. With 6, which joins what is before, it joins as well.
        sack(&mut board, 7, 8);
        assert_eq!(starts(&board), [0, 2, 6, 7]);
        sack(&mut board, 6, 7);
        assert_eq!(starts(&board), [0, 2]);
        // What is left of a buffer is one.
        board.acknowledge(1000, &mut AckSummary::default());
        assert_eq!(starts(&board), [0, 1]);
        board.acknowledge(8000, &mut AckSummary::default());
        assert_eq!(board.buffers(), 0);
    }

    #[test]
    fn what_is_sent_again_leaves_its_buffer_unless_all_leave_together() {
        let mut board = two_bursts();
        sack(&mut board, 3, 4);
        assert_eq!(starts(&board), [0, 3, 4]);
        board.rack().begin(AT, None, None);
        board.detect_losses_by_time(fairway_units::Duration::ZERO, AT, &mut AckSummary::default());
        let mut resend = |ms: u64| {
            let lost = board.next_lost().unwrap();
            let at = Time::from_nanos(ms * 1_000_000);
            let place = board.retransmitted(lost, 8000, at);
            (place.goes_on, place.has_more, starts(&board))
        };
        // The first two leave together, the third later.
        assert_eq!(resend(1), (false, true, vec![0, 1, 3, 4]));
        assert_eq!(resend(1), (true, true, vec![0, 2, 3, 4]));
        assert_eq!(resend(2), (false, false, vec![0, 2, 3, 4]));
    }
}
