//! Header prediction: what nearly all segments are takes a straight way through the endpoint (V.
//! Jacobson, "4BSD Header Prediction", ACM Computer Communication Review 20(2), 1990; Linux
//! `tcp_rcv_established`). Each function here does what the general way does, or nothing.

use fairway_units::Time;

use super::{Endpoint, State, Transmit, Urgent};
use crate::ranges::Range;
use crate::segment::{Flags, Segment};
use crate::sender::predicts;
use crate::sequence::SeqNr;

/// Control bits that decide what a segment is.
const KIND: Flags = Flags::SYN.with(Flags::FIN).with(Flags::ACK);

impl Endpoint {
    /// Take the next data at an end that only receives, while nothing is missing.
    #[inline(always)]
    pub(super) fn takes_data(&mut self, segment: &Segment, now: Time) -> bool {
        let bytes = u64::from(segment.payload_bytes);
        let start = self.receiver.rcv_nxt();
        let is_usual = predicts()
            && self.state == State::Established
            && !self.sends
            && bytes > 0
            && segment.flags.among(KIND) == Flags::ACK
            && segment.seq == SeqNr::of(self.peer_isn, start)
            && segment.ack == SeqNr::of(self.isn, 0)
            && self.ecn.ignores(segment.flags)
            && !self.refuses_as_old(segment)
            && self.receiver.expects(bytes);
        if is_usual {
            self.note_timestamp(segment, Range { start, end: start + bytes });
            let push = segment.flags.has(Flags::PSH);
            let echo = self.echo_for_receiver(segment, now);
            self.receiver.take_expected(bytes, push, echo, now);
            let right_edge = u64::from(segment.window) << self.peer_window_shift;
            self.right_edge = self.right_edge.max(right_edge);
        }
        is_usual
    }

    /// [`Self::handle_segment`] with the next data at an end that only receives, while nothing is missing,
    /// and [`Self::transmit_into`] in its place. None, without any effect, for any other segment.
    #[inline(always)]
    pub fn answer(&mut self, segment: &mut Segment, now: Time) -> Option<Transmit> {
        self.takes_data(segment, now).then(|| self.transmit_into(segment, now))
    }

    /// Take an acknowledgement without data of nothing but the next data sent, while nothing is
    /// missing.
    #[inline(always)]
    pub(super) fn takes_ack(&mut self, segment: &Segment, now: Time) -> bool {
        let next = self.receiver.rcv_nxt();
        let is_usual = predicts()
            && self.state == State::Established
            && self.sends
            && segment.payload_bytes == 0
            && segment.sack_count == 0
            && segment.flags.among(KIND) == Flags::ACK
            && segment.seq == SeqNr::of(self.peer_isn, next)
            && !self.ecn.counts();
        if !is_usual {
            return false;
        }
        let (una, sent) = (self.sender.una(), self.sender.snd_nxt());
        let Some(ack) = segment.ack.offset(self.isn, una).filter(|ack| *ack <= sent) else {
            return false;
        };
        let info = self.ack_info(segment, ack, true, now);
        let is_taken = self.sender.handle_in_order(&info, now);
        if is_taken {
            self.note_timestamp(segment, Range { start: next, end: next });
        }
        is_taken
    }

    /// Write the next segment of new data, or an acknowledgement of an end that only receives.
    /// None if something else may have to be sent.
    #[inline(always)]
    pub(super) fn transmit_usual(&mut self, segment: &mut Segment, now: Time) -> Option<Transmit> {
        if !predicts() || self.state != State::Established || self.urgent != Urgent::Nothing {
            return None;
        }
        let is_due = self.receiver.ack_is_due();
        if self.sends {
            // In ns-3 an acknowledgement that is due comes first.
            let data = if is_due { None } else { self.sender.next_in_window(now) }?;
            return Some(self.transmit_data(segment, data, now));
        }
        if !is_due {
            return Some(Transmit::Nothing);
        }
        segment.flags = self.ecn.flags();
        self.acknowledge_without_data(segment, now);
        let is_last = !self.receiver.ack_is_due();
        Some(if is_last { Transmit::LastSegment } else { Transmit::Segment })
    }
}
