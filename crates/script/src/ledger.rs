//! Totals of what is on the wire, as `tcp_info` counts them.

use fairway_tcp::{Segment, SeqNr};

/// Totals of a connection.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    isn: u32,
    snd_nxt: u64,
    /// Payload sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload sent again.
    pub bytes_retransmitted: u64,
    /// Segments sent, acknowledgements alone included.
    pub segments_sent: u64,
    /// Segments sent with payload.
    pub data_segments_sent: u64,
    /// Segments that arrived.
    pub segments_received: u64,
    /// Segments that arrived with payload.
    pub data_segments_received: u64,
}

impl Ledger {
    /// Nothing sent yet; `isn` is the number of the SYN.
    pub fn new(isn: u32) -> Self {
        Ledger { isn, ..Ledger::default() }
    }

    /// A segment was sent.
    pub fn sent(&mut self, segment: &Segment) {
        self.segments_sent += 1;
        let payload = u64::from(segment.payload_bytes);
        if payload == 0 {
            return;
        }
        self.data_segments_sent += 1;
        self.bytes_sent += payload;
        let end = SeqNr(segment.seq.0.wrapping_add(segment.payload_bytes));
        match end.offset(self.isn, self.snd_nxt) {
            Some(end) if end > self.snd_nxt => self.snd_nxt = end,
            _ => self.bytes_retransmitted += payload,
        }
    }

    /// A segment arrived.
    pub fn received(&mut self, segment: &Segment) {
        self.segments_received += 1;
        self.data_segments_received += u64::from(segment.payload_bytes > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairway_tcp::Flags;

    #[test]
    fn what_was_sent_before_is_counted_apart() {
        let mut ledger = Ledger::new(u32::MAX - 500);
        let data = |offset, payload_bytes| Segment {
            flags: Flags::ACK,
            seq: SeqNr::of(u32::MAX - 500, offset),
            payload_bytes,
            ..Segment::default()
        };
        for segment in [data(0, 0), data(0, 1000), data(1000, 500), data(0, 1000), data(1500, 10)] {
            ledger.sent(&segment);
        }
        assert_eq!((ledger.segments_sent, ledger.data_segments_sent), (5, 4));
        assert_eq!((ledger.bytes_sent, ledger.bytes_retransmitted), (2510, 1000));
    }
}
