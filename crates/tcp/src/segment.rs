//! A TCP segment, with the options this stack uses, as it travels through a simulated network.

use fairway_net::{Ecn, Packet};
use fairway_units::Time;

use crate::sequence::SeqNr;

/// IPv4 header without options (RFC 791).
pub const IP_HEADER_BYTES: u32 = 20;
/// TCP header without options (RFC 9293 section 3.1).
pub const TCP_HEADER_BYTES: u32 = 20;
/// Timestamp option with its padding (RFC 7323 appendix A).
pub const TIMESTAMP_OPTION_BYTES: u32 = 12;
/// Greatest number of SACK blocks: four, or three with timestamps (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// Control bits, ECN codepoint and options of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(u16);

impl Flags {
    /// Synchronise: opens a direction.
    pub const SYN: Flags = Flags(1);
    /// Finish: closes a direction.
    pub const FIN: Flags = Flags(1 << 1);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(1 << 2);
    /// Echo of a congestion mark (RFC 3168).
    pub const ECE: Flags = Flags(1 << 3);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(1 << 4);
    /// IP: ECN-capable (RFC 3168 ECT(0)).
    pub const ECT: Flags = Flags(1 << 5);
    /// IP: marked (RFC 3168 CE).
    pub const CE: Flags = Flags(1 << 6);
    /// Has the timestamp option.
    pub const TIMESTAMP: Flags = Flags(1 << 7);
    /// SYN only: has the SACK-permitted option.
    pub const SACK_PERMITTED: Flags = Flags(1 << 8);
    /// SYN only: has the window scale option.
    pub const WINDOW_SCALE: Flags = Flags(1 << 9);
    /// Push: the sender has no more data for now (RFC 9293 section 3.9.1.2).
    pub const PSH: Flags = Flags(1 << 10);
    /// Accurate ECN (RFC 9768): with CWR and ECE, a counter of marks.
    pub const AE: Flags = Flags(1 << 11);
    /// IP: ECN-capable, with a scalable response to marks (RFC 9331 ECT(1)).
    pub const ECT1: Flags = Flags(1 << 12);
    /// Options are adjacent and padded together, and a SYN has no MSS option, as in ns-3 (ns-3.29
    /// `tcp-header.cc`, `AppendOption`).
    pub const PACKED_OPTIONS: Flags = Flags(1 << 13);

    /// Union of both sets.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// This set, and `other` if `condition` holds.
    pub const fn with_if(self, condition: bool, other: Flags) -> Flags {
        if condition { self.with(other) } else { self }
    }

    /// Those of this set that are in `other`.
    pub const fn among(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }

    /// Whether all of `other` is in this set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A selective acknowledgement block in wire numbers, half-open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub left: SeqNr,
    /// First sequence number behind it.
    pub right: SeqNr,
}

/// A segment. What every segment has fits the first cache line; selective acknowledgements, which
/// are rare, come last.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Segment {
    /// When it was handed to the network, for the one-way delay.
    pub sent_at: Time,
    /// Stream offset of the first payload byte, separate from the header so that delivery can be
    /// checked against it.
    pub payload_offset: u64,
    /// Number of the connection in the run.
    pub connection: u32,
    /// Sequence number.
    pub seq: SeqNr,
    /// Acknowledgement number.
    pub ack: SeqNr,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Timestamp value, milliseconds of the sender's clock.
    pub ts_value: u32,
    /// Timestamp echo reply.
    pub ts_echo: u32,
    /// Window field as on the wire, unscaled.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// SYN only: maximum segment size option.
    pub mss: u16,
    /// SYN only: window scale option.
    pub window_scale: u8,
    /// Number of blocks used in `sack`.
    pub sack_count: u8,
    /// Whether it travels from the connection's opener to the other end.
    pub forward: bool,
    /// Selective acknowledgements, most recent first.
    pub sack: [SackBlock; MAX_SACK_BLOCKS],
}

impl Segment {
    /// The SACK blocks in use.
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.sack_count)]
    }

    #[inline(always)]
    fn option_bytes(&self) -> u32 {
        let unusual = self.flags.among(Flags::PACKED_OPTIONS.with(Flags::SYN));
        if unusual == Flags::default() && self.sack_count == 0 {
            return if self.flags.has(Flags::TIMESTAMP) { TIMESTAMP_OPTION_BYTES } else { 0 };
        }
        self.option_bytes_one_by_one()
    }

    #[inline(never)]
    fn option_bytes_one_by_one(&self) -> u32 {
        if self.flags.has(Flags::PACKED_OPTIONS) {
            return self.packed_option_bytes();
        }
        let mut bytes = 0;
        if self.flags.has(Flags::SYN) {
            // MSS 4; window scale 3 and one pad; SACK-permitted 2, which takes the padding of the
            // timestamp option or is padded itself.
            bytes += 4;
            bytes += if self.flags.has(Flags::WINDOW_SCALE) { 4 } else { 0 };
            let alone = self.flags.has(Flags::SACK_PERMITTED) && !self.flags.has(Flags::TIMESTAMP);
            bytes += if alone { 4 } else { 0 };
        }
        if self.flags.has(Flags::TIMESTAMP) {
            bytes += TIMESTAMP_OPTION_BYTES;
        }
        if self.sack_count > 0 {
            // Kind, length and two pads, then eight bytes a block.
            bytes += 4 + 8 * u32::from(self.sack_count);
        }
        bytes
    }

    #[inline(never)]
    fn packed_option_bytes(&self) -> u32 {
        let with = |flag, bytes| if self.flags.has(flag) { bytes } else { 0 };
        let sack = if self.sack_count > 0 { 2 + 8 * u32::from(self.sack_count) } else { 0 };
        let bytes = with(Flags::TIMESTAMP, 10)
            + with(Flags::WINDOW_SCALE, 3)
            + with(Flags::SACK_PERMITTED, 2)
            + sack;
        bytes.next_multiple_of(4)
    }
}

impl Packet for Segment {
    fn wire_bytes(&self) -> u32 {
        IP_HEADER_BYTES + TCP_HEADER_BYTES + self.option_bytes() + self.payload_bytes
    }

    fn ecn(&self) -> Ecn {
        const FIELD: u16 = Flags::CE.0 | Flags::ECT1.0 | Flags::ECT.0;
        if self.flags.0 & FIELD == 0 {
            Ecn::NotEct
        } else if self.flags.has(Flags::CE) {
            Ecn::Ce
        } else if self.flags.has(Flags::ECT1) {
            Ecn::Ect1
        } else if self.flags.has(Flags::ECT) {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        }
    }

    fn mark_congestion(&mut self) {
        self.flags = self.flags.with(Flags::CE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_on_the_wire_are_those_of_linux() {
        // Linux: SYN 74 bytes with 14 of Ethernet, so 60; a full segment 1500; a pure ACK 52,
        // and 4 + 8n more with n SACK blocks.
        let syn = Segment {
            flags: Flags::SYN
                .with(Flags::TIMESTAMP)
                .with(Flags::SACK_PERMITTED)
                .with(Flags::WINDOW_SCALE),
            ..Segment::default()
        };
        assert_eq!(syn.wire_bytes(), 60);
        let ack = Segment { flags: Flags::ACK.with(Flags::TIMESTAMP), ..Segment::default() };
        assert_eq!(ack.wire_bytes(), 52);
        assert_eq!(Segment { payload_bytes: 1448, ..ack }.wire_bytes(), 1500);
        assert_eq!(Segment { sack_count: 3, ..ack }.wire_bytes(), 80);
    }

    #[test]
    fn packed_options_are_padded_together() {
        // ns-3.29: SYN 10 + 3 + 2, so 16; an acknowledgement 10, so 12, or 10 + 2 + 8n with SACK.
        let packed = Flags::TIMESTAMP.with(Flags::PACKED_OPTIONS);
        let ack = Segment { flags: Flags::ACK.with(packed), ..Segment::default() };
        assert_eq!(ack.wire_bytes(), 52);
        assert_eq!(Segment { sack_count: 3, ..ack }.wire_bytes(), 76);
        let offers = Flags::SACK_PERMITTED.with(Flags::WINDOW_SCALE);
        let syn = Segment { flags: Flags::SYN.with(packed).with(offers), ..Segment::default() };
        assert_eq!(syn.wire_bytes(), 56);
    }
}
