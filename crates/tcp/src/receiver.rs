//! The receiving half: reassembly, selective acknowledgements, when to acknowledge.

use fairway_units::Time;

use crate::DelayedAck;
use crate::ranges::{Range, RangeSet};
use crate::segment::MAX_SACK_BLOCKS;

/// When an arrival has to be acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AckDue {
    Nothing,
    Now,
    At(Time),
}

/// Reassembly of one direction of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    delayed_ack: DelayedAck,
    mss: u64,
    max_sack_blocks: usize,
    rcv_nxt: u64,
    out_of_order: RangeSet,
    /// Ranges to report, most recently changed first (RFC 2018 section 4).
    recent: Vec<Range>,
    fin_at: Option<u64>,
    due: AckDue,
    unacknowledged_bytes: u64,
    delivered_bytes: u64,
    duplicate_bytes: u64,
}

impl Receiver {
    /// Nothing received yet.
    pub fn new(delayed_ack: DelayedAck, mss: u32) -> Self {
        Receiver {
            delayed_ack,
            mss: u64::from(mss),
            max_sack_blocks: 0,
            rcv_nxt: 0,
            out_of_order: RangeSet::default(),
            recent: Vec::with_capacity(MAX_SACK_BLOCKS + 1),
            fin_at: None,
            due: AckDue::Nothing,
            unacknowledged_bytes: 0,
            delivered_bytes: 0,
            duplicate_bytes: 0,
        }
    }

    /// What was negotiated: SACK or not, beside timestamps or not.
    pub fn negotiate(&mut self, sack: bool, timestamps: bool) {
        self.max_sack_blocks = match (sack, timestamps) {
            (false, _) => 0,
            (true, true) => MAX_SACK_BLOCKS - 1,
            (true, false) => MAX_SACK_BLOCKS,
        };
    }

    /// Next offset expected.
    pub fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// Bytes handed to the application, in order and once.
    pub fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// Bytes that had arrived before.
    pub fn duplicate_bytes(&self) -> u64 {
        self.duplicate_bytes
    }

    /// Whether the other side's FIN and everything before it has arrived.
    pub fn is_finished(&self) -> bool {
        self.fin_at.is_some_and(|fin| self.rcv_nxt > fin)
    }

    /// Blocks to report, most recent first.
    pub fn sack_ranges(&self) -> &[Range] {
        &self.recent[..self.recent.len().min(self.max_sack_blocks)]
    }

    /// Whether an acknowledgement has to leave now.
    pub fn ack_is_due(&self) -> bool {
        self.due == AckDue::Now
    }

    /// When a delayed acknowledgement is due.
    pub fn ack_deadline(&self) -> Time {
        match self.due {
            AckDue::At(at) => at,
            AckDue::Nothing | AckDue::Now => Time::NEVER,
        }
    }

    /// An acknowledgement left.
    pub fn acknowledged(&mut self) {
        self.due = AckDue::Nothing;
        self.unacknowledged_bytes = 0;
    }

    /// Ask for an acknowledgement at once.
    pub fn acknowledge_now(&mut self) {
        self.due = AckDue::Now;
    }

    /// The delayed-acknowledgement timer may have expired.
    pub fn handle_timeout(&mut self, now: Time) {
        if matches!(self.due, AckDue::At(at) if at <= now) {
            self.due = AckDue::Now;
        }
    }

    /// `range` arrived, with the FIN as its last offset if `fin`.
    pub fn receive(&mut self, range: Range, fin: bool, now: Time) {
        if fin {
            self.fin_at = Some(range.end - 1);
        }
        if range.end <= self.rcv_nxt {
            // RFC 9293 section 3.10.7.4: old data is answered with an acknowledgement.
            self.duplicate_bytes += range.bytes();
            self.due = AckDue::Now;
        } else if range.start <= self.rcv_nxt {
            self.receive_in_order(range, fin, now);
        } else {
            self.receive_out_of_order(range);
        }
    }

    fn receive_in_order(&mut self, range: Range, fin: bool, now: Time) {
        let before = self.rcv_nxt;
        self.duplicate_bytes += before - range.start;
        self.rcv_nxt = range.end;
        let fills_gap = !self.out_of_order.is_empty();
        if fills_gap {
            self.out_of_order.remove_below(self.rcv_nxt);
            if let Some(first) = self.out_of_order.first()
                && first.start <= self.rcv_nxt
            {
                self.rcv_nxt = first.end;
                self.out_of_order.remove_below(first.end);
            }
            self.recent.retain(|r| r.start > self.rcv_nxt);
        }
        // A FIN counts as one offset but is no data.
        self.delivered_bytes += self.rcv_nxt - before - u64::from(self.is_finished());
        self.schedule_ack(self.rcv_nxt - before, fills_gap || fin, now);
    }

    fn receive_out_of_order(&mut self, range: Range) {
        let mut new_bytes = 0;
        let merged = self.out_of_order.insert(range, |gap| new_bytes += gap.bytes());
        self.duplicate_bytes += range.bytes() - new_bytes;
        self.recent.retain(|r| r.end < merged.start || r.start > merged.end);
        self.recent.insert(0, merged);
        self.recent.truncate(MAX_SACK_BLOCKS);
        // RFC 5681 section 4.2: out-of-order data is acknowledged at once.
        self.due = AckDue::Now;
    }

    fn schedule_ack(&mut self, bytes: u64, at_once: bool, now: Time) {
        self.unacknowledged_bytes += bytes;
        match self.delayed_ack {
            DelayedAck::EverySecond { timeout }
                if !at_once && self.unacknowledged_bytes < 2 * self.mss =>
            {
                if self.due == AckDue::Nothing {
                    self.due = AckDue::At(now + timeout);
                }
            }
            DelayedAck::Off | DelayedAck::EverySecond { .. } => self.due = AckDue::Now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairway_units::Duration;
    use proptest::prelude::*;

    const T0: Time = Time::ZERO;

    fn receiver(delayed_ack: DelayedAck) -> Receiver {
        let mut r = Receiver::new(delayed_ack, 1000);
        r.negotiate(true, true);
        r
    }

    fn segment(r: &mut Receiver, n: u64) {
        r.receive(Range { start: n * 1000, end: (n + 1) * 1000 }, false, T0);
    }

    fn blocks(r: &Receiver) -> Vec<(u64, u64)> {
        r.sack_ranges().iter().map(|b| (b.start / 1000, b.end / 1000)).collect()
    }

    #[test]
    fn the_block_that_changed_last_comes_first() {
        // RFC 2018 section 4 with timestamps: three blocks at most.
        let mut r = receiver(DelayedAck::Off);
        for n in [0, 2, 4, 6, 8] {
            segment(&mut r, n);
        }
        assert_eq!(blocks(&r), [(8, 9), (6, 7), (4, 5)]);
        segment(&mut r, 5);
        assert_eq!(blocks(&r), [(4, 7), (8, 9), (2, 3)]);
        segment(&mut r, 1);
        assert_eq!((r.rcv_nxt(), blocks(&r)), (3000, vec![(4, 7), (8, 9)]));
        segment(&mut r, 3);
        assert_eq!((r.rcv_nxt(), r.delivered_bytes()), (7000, 7000));
    }

    #[test]
    fn every_second_segment_is_acknowledged_or_the_first_after_the_timeout() {
        let timeout = Duration::from_millis(40);
        let mut r = receiver(DelayedAck::EverySecond { timeout });
        segment(&mut r, 0);
        assert!(!r.ack_is_due());
        assert_eq!(r.ack_deadline(), T0 + timeout);
        segment(&mut r, 1);
        assert!(r.ack_is_due());
        r.acknowledged();
        segment(&mut r, 2);
        r.handle_timeout(T0 + timeout);
        assert!(r.ack_is_due());
    }

    #[test]
    fn gaps_filled_gaps_and_duplicates_are_acknowledged_at_once() {
        let mut r = receiver(DelayedAck::EverySecond { timeout: Duration::from_millis(40) });
        for n in [1, 0, 0] {
            segment(&mut r, n);
            assert!(r.ack_is_due(), "segment {n}");
            r.acknowledged();
        }
        assert_eq!(r.duplicate_bytes(), 1000);
    }

    #[test]
    fn a_fin_counts_in_the_sequence_but_not_as_data() {
        let mut r = receiver(DelayedAck::Off);
        r.receive(Range { start: 1000, end: 1001 }, true, T0);
        assert!(!r.is_finished());
        segment(&mut r, 0);
        assert!(r.is_finished());
        assert_eq!((r.rcv_nxt(), r.delivered_bytes()), (1001, 1000));
    }

    proptest! {
        #[test]
        fn any_order_with_duplicates_delivers_every_byte_once(
            order in prop::collection::vec(0u64..20, 0..60),
        ) {
            let mut r = receiver(DelayedAck::Off);
            for n in order.into_iter().chain(0..20) {
                segment(&mut r, n);
                prop_assert!(r.sack_ranges().iter().all(|b| b.start > r.rcv_nxt()));
                prop_assert_eq!(r.delivered_bytes(), r.rcv_nxt());
            }
            prop_assert_eq!(r.delivered_bytes(), 20_000);
        }
    }
}
