//! A network of the tests' own: packets in at one end, and what both ends capture.

use std::io::Cursor;

use fairway_capture::read::Capture;

use crate::pair::{PairError, PairReport, analyse_streams};

pub(super) const MS: u64 = 1_000_000;

/// A TCP segment as it goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) from: ([u8; 4], u16),
    pub(super) to: ([u8; 4], u16),
    pub(super) id: u16,
    pub(super) ttl: u8,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) flags: u8,
    pub(super) bytes: u32,
    pub(super) stamps: Option<(u32, u32)>,
}

pub(super) const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 40_000);
pub(super) const SERVER: ([u8; 4], u16) = ([10, 9, 0, 1], 80);
pub(super) const SYN: u8 = 2;
pub(super) const ACK: u8 = 16;

impl Segment {
    pub(super) fn data(id: u16, seq: u32, bytes: u32) -> Segment {
        let (from, to, stamps) = (CLIENT, SERVER, Some((u32::from(id), 1)));
        Segment { from, to, id, ttl: 64, seq, ack: 501, flags: ACK, bytes, stamps }
    }

    pub(super) fn ack(id: u16, ack: u32) -> Segment {
        let (from, to, stamps) = (SERVER, CLIENT, Some((u32::from(id), 1)));
        Segment { from, to, id, ttl: 64, seq: 501, ack, flags: ACK, bytes: 0, stamps }
    }

    /// The headers (RFC 791, RFC 9293, RFC 7323); no capture keeps the data.
    fn wire(&self) -> Vec<u8> {
        let options = if self.stamps.is_some() { 12 } else { 0 };
        let length = (40 + options + self.bytes) as u16;
        let mut wire = vec![0x45, 0];
        wire.extend(length.to_be_bytes());
        wire.extend(self.id.to_be_bytes());
        wire.extend([0x40, 0, self.ttl, 6, 0, 0]);
        wire.extend(self.from.0);
        wire.extend(self.to.0);
        wire.extend(self.from.1.to_be_bytes());
        wire.extend(self.to.1.to_be_bytes());
        wire.extend(self.seq.to_be_bytes());
        wire.extend(self.ack.to_be_bytes());
        wire.extend([((20 + options) * 4) as u8, self.flags, 1, 0, 0, 0, 0, 0]);
        if let Some((value, echo)) = self.stamps {
            wire.extend([1, 1, 8, 10]);
            wire.extend(value.to_be_bytes());
            wire.extend(echo.to_be_bytes());
        }
        wire
    }
}

/// Both captures: what was seen, when by the true clock.
#[derive(Clone, Debug, Default)]
pub(super) struct Network {
    pub(super) seen: [Vec<(u64, Segment)>; 2],
    /// The second clock's offset and drift.
    pub(super) ahead_ns: i64,
    pub(super) drift: f64,
}

impl Network {
    pub(super) fn see(&mut self, capture: usize, at_ns: u64, segment: Segment) {
        self.seen[capture].push((at_ns, segment));
    }

    /// From one end to the other, so long.
    pub(super) fn carry(&mut self, at_ns: u64, delay_ns: u64, segment: Segment) {
        let source = usize::from(segment.from != CLIENT);
        self.see(source, at_ns, segment);
        self.see(1 - source, at_ns + delay_ns, Segment { ttl: segment.ttl - 2, ..segment });
    }

    /// Sent, and gone.
    pub(super) fn lose(&mut self, at_ns: u64, segment: Segment) {
        self.see(usize::from(segment.from != CLIENT), at_ns, segment);
    }

    /// SYN, SYN/ACK and ACK by a path of this delay, from time 0 on.
    pub(super) fn open(&mut self, seq: u32, delay_ns: u64) {
        let (syn, answer) = (Segment::data(1, seq, 0), Segment::ack(1, seq.wrapping_add(1)));
        self.carry(0, delay_ns, Segment { flags: SYN, ack: 0, ..syn });
        self.carry(delay_ns, delay_ns, Segment { flags: SYN | ACK, seq: 500, ..answer });
        self.carry(2 * delay_ns, delay_ns, Segment::data(2, seq.wrapping_add(1), 0));
    }

    /// A capture as a file of pcap with nanoseconds, of raw IP (link type 101).
    pub(super) fn file(&self, capture: usize) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 101] {
            file.extend(word.to_le_bytes());
        }
        let mut seen = self.seen[capture].clone();
        seen.sort_by_key(|(at_ns, _)| *at_ns);
        for (at_ns, segment) in seen {
            // A whole number of seconds after 1970, so that clocks may be behind.
            let at_ns = 1_000_000_000_000 + at_ns as i64;
            let gained = (at_ns as f64 * self.drift).round() as i64;
            let at_ns = if capture == 0 { at_ns } else { at_ns + self.ahead_ns + gained };
            let (wire, at_ns) = (segment.wire(), at_ns as u64);
            let (seconds, nanos) = (at_ns / 1_000_000_000, at_ns % 1_000_000_000);
            let on_wire = wire.len() as u32 + segment.bytes;
            for word in [seconds as u32, nanos as u32, wire.len() as u32, on_wire] {
                file.extend(word.to_le_bytes());
            }
            file.extend(wire);
        }
        file
    }

    pub(super) fn analyse(&self) -> PairReport {
        compare([self.file(0), self.file(1)]).expect("two captures of one transfer")
    }
}

pub(super) fn compare(files: [Vec<u8>; 2]) -> Result<PairReport, PairError> {
    let mut open = |capture: usize| {
        Capture::from_read(Box::new(Cursor::new(files[capture].clone())), "a test's")
    };
    analyse_streams(&mut open, ["first", "second"], &mut |_| true)
}
