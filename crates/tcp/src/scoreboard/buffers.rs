//! Buffers of outstanding segments (`struct sk_buff`), counted because each takes memory. A burst
//! is one buffer, split when only a part of it is SACKed or retransmitted (Linux 6.1
//! `net/ipv4/tcp_input.c`, `tcp_sacktag_walk`; `tcp_output.c`, `__tcp_retransmit_skb`).

use fairway_units::Time;

use super::{BEGINS, LOST, PUSHES, RETRANSMITTED, SACKED, Scoreboard, Sent};

/// No segment.
pub(super) const NONE: u64 = u64::MAX;

/// Position of a retransmitted segment in its buffer.
#[derive(Clone, Copy, Debug)]
pub struct BufferPosition {
    /// Whether it continues the retransmission of the segment before.
    pub continues: bool,
    /// Whether the segment after it is in the same buffer.
    pub has_more: bool,
}

impl Scoreboard {
    /// Buffers that hold the outstanding segments.
    pub fn buffers(&self) -> u64 {
        self.buffers
    }

    /// Put the segment sent last into the buffer of the one before.
    pub fn join_last(&mut self) {
        self.join(self.sent.len() - 1);
    }

    /// Let the segment sent last carry PSH, also when retransmitted: it ends a write.
    pub fn push_last(&mut self) {
        if let Some(last) = self.sent.back_mut() {
            last.state |= PUSHES;
        }
    }

    /// Whether a segment carries PSH when retransmitted.
    pub fn pushes(&self, index: u64) -> bool {
        self.sent[(index - self.first) as usize].is(PUSHES)
    }

    /// Whether the last segment carries PSH when retransmitted.
    pub fn last_pushes(&self) -> bool {
        self.sent.back().is_some_and(|last| last.is(PUSHES))
    }

    /// Split the retransmitted segment off its buffer, unless the rest is retransmitted with it.
    pub(super) fn split_off(&mut self, at: usize, now: Time) -> BufferPosition {
        let index = self.first + at as u64;
        let continues = self.cut_at == index && at > 0 && self.sent[at - 1].sent_at == now;
        if continues {
            self.join(at);
        } else {
            self.split(at);
        }
        let has_more = self.split(at + 1);
        self.cut_at = if has_more { index + 1 } else { NONE };
        BufferPosition { continues, has_more }
    }

    /// Merge newly SACKed segments into the buffer before, if all of that is SACKed, and then the
    /// buffer after them (`tcp_shift_skb_data`).
    pub(super) fn merge_sacked(&mut self, from: usize, to: usize) {
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

    /// Begin a new buffer at this segment. Returns whether one was split.
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

/// Whether both segments are SACKed and neither was retransmitted without being lost.
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
        // 3 joins 2; 4 and 5 are split off 6 and 7, and join, too.
        sack(&mut board, 3, 6);
        assert_eq!(starts(&board), [0, 2, 6]);
        // 7 stays separate while 6 is missing. When 6 joins the buffer before, so does 7.
        sack(&mut board, 7, 8);
        assert_eq!(starts(&board), [0, 2, 6, 7]);
        sack(&mut board, 6, 7);
        assert_eq!(starts(&board), [0, 2]);
        // The rest of a partly acknowledged buffer is a buffer.
        board.acknowledge(1000, &mut AckSummary::default());
        assert_eq!(starts(&board), [0, 1]);
        board.acknowledge(8000, &mut AckSummary::default());
        assert_eq!(board.buffers(), 0);
    }

    #[test]
    fn a_retransmission_leaves_its_buffer_unless_all_leave_together() {
        let mut board = two_bursts();
        sack(&mut board, 3, 4);
        assert_eq!(starts(&board), [0, 3, 4]);
        board.rack().begin(AT, None, None);
        board.detect_losses_by_time(fairway_units::Duration::ZERO, AT, &mut AckSummary::default());
        let mut resend = |ms: u64| {
            let lost = board.next_lost().unwrap();
            let at = Time::from_nanos(ms * 1_000_000);
            let position = board.retransmitted(lost, 8000, at);
            (position.continues, position.has_more, starts(&board))
        };
        // The first two are sent together, the third later.
        assert_eq!(resend(1), (false, true, vec![0, 1, 3, 4]));
        assert_eq!(resend(1), (true, true, vec![0, 2, 3, 4]));
        assert_eq!(resend(2), (false, false, vec![0, 2, 3, 4]));
    }
}
