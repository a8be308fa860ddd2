//! One direction of a connection's data: what the verifier follows of it, and what is counted.

pub(crate) use fairway_application::Direction;
use fairway_schema::{Allowance, FlowCounts, StreamCheck, Violation};
use fairway_tcp::{Endpoint, Flags, Segment, SeqNr};
use fairway_units::Time;

/// What one direction has carried.
pub(crate) struct DirectionCounts {
    stream: StreamCheck,
    /// Initial sequence number of the sender.
    isn: u32,
    /// Window scale of the receiver.
    window_shift: u8,
    /// Bytes of the transfer, if it has an end.
    pub(crate) transfer: Option<u64>,
    wire_bytes: u64,
    delay_nanos: u128,
    /// Data packets that have arrived.
    pub(crate) arrivals: u64,
    /// Data packets that were dropped or lost.
    pub(crate) missing: u64,
    /// Of them, those that a queue dropped.
    pub(crate) dropped: u64,
    /// Bytes that have arrived once more, and segments with such bytes.
    duplicate_bytes: u64,
    duplicates: u64,
}

impl DirectionCounts {
    pub(crate) fn new(isn: u32, transfer: Option<u64>) -> Self {
        DirectionCounts {
            stream: StreamCheck::default(),
            isn,
            window_shift: 0,
            transfer,
            wire_bytes: 0,
            delay_nanos: 0,
            arrivals: 0,
            missing: 0,
            dropped: 0,
            duplicate_bytes: 0,
            duplicates: 0,
        }
    }

    /// A segment has left the sender.
    #[inline(always)]
    pub(crate) fn check_departure(
        &mut self,
        segment: &Segment,
        from: &Endpoint,
        mss: u32,
        now: Time,
    ) -> Result<(), Violation> {
        if segment.payload_bytes == 0 {
            return Ok(());
        }
        let start = segment.payload_offset;
        let end = start + u64::from(segment.payload_bytes);
        let allowance = Allowance {
            flight: from.sender().flight_allowance(),
            episodes: from.counters().reductions,
            mss: u64::from(mss),
        };
        self.stream.send(start, end, from.sender().pipe(), allowance, now)
    }

    /// A segment has left the sender, in another region.
    pub(crate) fn left_elsewhere(&mut self, segment: &Segment) {
        if segment.payload_bytes > 0 {
            let end = segment.payload_offset + u64::from(segment.payload_bytes);
            self.stream.sent_elsewhere(end);
        }
    }

    /// Adds what was counted of the same direction elsewhere.
    pub(crate) fn absorb(&mut self, other: &DirectionCounts) {
        self.wire_bytes += other.wire_bytes;
        self.delay_nanos += other.delay_nanos;
        self.arrivals += other.arrivals;
        self.missing += other.missing;
        self.dropped += other.dropped;
        self.duplicate_bytes += other.duplicate_bytes;
        self.duplicates += other.duplicates;
    }

    /// A segment reaches the receiver, which may refuse it as old.
    #[inline(always)]
    pub(crate) fn arrive(
        &mut self,
        segment: &Segment,
        to: &Endpoint,
        wire_bytes: u32,
        now: Time,
    ) -> Result<(), Violation> {
        if segment.payload_bytes == 0 {
            return Ok(());
        }
        let start = segment.payload_offset;
        let end = start + u64::from(segment.payload_bytes);
        if SeqNr::of(self.isn, start) != segment.seq {
            let what = format!("sequence number {:?} stands for offset {start}", segment.seq);
            return Err(Violation::new(now, what));
        }
        if !to.refuses_as_old(segment) {
            self.stream.arrive(start, end, now)?;
        }
        self.arrivals += 1;
        self.wire_bytes += u64::from(wire_bytes);
        self.delay_nanos += u128::from(now.since(segment.sent_at).as_nanos());
        Ok(())
    }

    /// The receiver has handled a segment.
    #[inline(always)]
    pub(crate) fn check_delivery(&mut self, at: &Endpoint, now: Time) -> Result<(), Violation> {
        let receiver = at.receiver();
        if receiver.duplicate_bytes() != self.duplicate_bytes {
            self.duplicate_bytes = receiver.duplicate_bytes();
            self.duplicates += 1;
        }
        // What waits for the application has arrived in order, too.
        self.stream.delivered(receiver.delivered_bytes() + receiver.unread(), now)
    }

    /// The window that the receiver offers, as its segments say it to the sender.
    #[inline(always)]
    pub(crate) fn observe_window(&mut self, segment: &Segment, to: &Endpoint) {
        let shift = if segment.flags.has(Flags::SYN) {
            self.window_shift =
                if segment.flags.has(Flags::WINDOW_SCALE) { segment.window_scale } else { 0 };
            0
        } else {
            self.window_shift
        };
        if let Some(ack) = segment.ack.offset(self.isn, to.sender().una()) {
            self.stream.allow(ack + (u64::from(segment.window) << shift));
        }
    }

    /// Whether the last byte of the transfer has been delivered.
    pub(crate) fn is_complete(&self, at: &Endpoint) -> bool {
        self.transfer.is_some_and(|bytes| at.receiver().delivered_bytes() >= bytes)
    }

    /// Whether the sender knows that the last byte of the transfer has arrived.
    pub(crate) fn is_acknowledged(&self, from: &Endpoint) -> bool {
        self.transfer.is_some_and(|bytes| from.sender().una() >= bytes)
    }

    /// Counters now, from the start of the run.
    pub(crate) fn counts(&self, from: &Endpoint, to: &Endpoint) -> FlowCounts {
        let sent = from.counters();
        FlowCounts {
            delivered_bytes: to.receiver().delivered_bytes(),
            wire_bytes: self.wire_bytes,
            segments: sent.segments,
            retransmissions: sent.retransmissions,
            missing: self.missing,
            dropped: self.dropped,
            duplicates: self.duplicates,
            reductions: sent.reductions,
            timeouts: sent.timeouts,
            arrivals: self.arrivals,
            delay_nanos: self.delay_nanos,
            ..FlowCounts::default()
        }
    }
}
