//! What is outstanding, counted from the segments on the wire as `tcp_info` counts it.

use std::collections::BTreeMap;

use fairway_tcp::{Flags, Segment, SeqNr};

/// A segment that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    end: u64,
    sacked: bool,
    /// It was sent again since it was last known to be lost.
    retransmitted: bool,
}

/// What is outstanding, and totals.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    isn: u32,
    /// By the stream offset at which each begins.
    outstanding: BTreeMap<u64, Outstanding>,
    una: u64,
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
    /// Nothing sent yet.
    pub fn new(isn: u32) -> Self {
        Ledger { isn, ..Ledger::default() }
    }

    /// A segment was sent.
    pub fn sent(&mut self, segment: &Segment) {
        self.segments_sent += 1;
        if segment.flags.has(Flags::SYN) {
            return;
        }
        let payload = u64::from(segment.payload_bytes);
        self.data_segments_sent += u64::from(payload > 0);
        self.bytes_sent += payload;
        let bytes = payload + u64::from(segment.flags.has(Flags::FIN));
        let Some(start) = segment.seq.offset(self.isn, self.snd_nxt) else { return };
        let end = start + bytes;
        if bytes == 0 {
            return;
        }
        if start >= self.snd_nxt {
            let new = Outstanding { end, sacked: false, retransmitted: false };
            self.outstanding.insert(start, new);
            self.snd_nxt = end;
            return;
        }
        self.bytes_retransmitted += payload;
        for (_, sent) in self.outstanding.range_mut(start..end) {
            sent.retransmitted = true;
        }
    }

    /// A segment arrived.
    pub fn received(&mut self, segment: &Segment) {
        self.segments_received += 1;
        self.data_segments_received += u64::from(segment.payload_bytes > 0);
        if !segment.flags.has(Flags::ACK) || segment.flags.has(Flags::SYN) {
            return;
        }
        let offset = |number: SeqNr| number.offset(self.isn, self.una);
        if let Some(ack) = offset(segment.ack)
            && ack <= self.snd_nxt
            && ack > self.una
        {
            self.una = ack;
            self.outstanding.retain(|_, sent| sent.end > ack);
        }
        for block in segment.sack_blocks() {
            let offset = |number: SeqNr| number.offset(self.isn, self.una);
            let (Some(left), Some(right)) = (offset(block.left), offset(block.right)) else {
                continue;
            };
            if left >= right || right > self.snd_nxt || left < self.una {
                continue;
            }
            for (_, sent) in self.outstanding.range_mut(left..right) {
                if sent.end <= right {
                    *sent = Outstanding { sacked: true, retransmitted: false, ..*sent };
                }
            }
        }
    }

    /// Segments not acknowledged cumulatively.
    pub fn unacknowledged(&self) -> u64 {
        self.outstanding.len() as u64
    }

    /// Those of them that are SACKed.
    pub fn sacked(&self) -> u64 {
        self.count(|sent| sent.sacked)
    }

    /// Those of them that were sent again and are not known to have arrived.
    pub fn retransmitted(&self) -> u64 {
        self.count(|sent| sent.retransmitted)
    }

    fn count(&self, is: impl Fn(&Outstanding) -> bool) -> u64 {
        self.outstanding.values().filter(|sent| is(sent)).count() as u64
    }
}
