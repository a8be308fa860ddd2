//! One packet as it is compared: numbers count from its connection's SYN.

use fairway_capture::packet::flags;
use fairway_capture::{Packet, Tcp, Transport};
use fairway_units::Time;
use serde::Serialize;

/// A packet of a connection.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Segment {
    /// When it was captured.
    pub at_ns: u64,
    /// Whether the end that opened the connection sent it.
    pub forward: bool,
    /// Sequence number since the SYN's, modulo 2³²; of a datagram 0.
    pub seq: u32,
    /// Bytes of payload.
    pub bytes: u32,
    /// Acknowledgement number since the other SYN's, if it counts.
    pub ack: Option<u32>,
    /// Control bits.
    pub flags: Vec<&'static str>,
    /// SACK blocks, counted as the acknowledgement number.
    pub sack: Vec<(u32, u32)>,
    /// Window field, as on the wire.
    pub window: u16,
}

impl Segment {
    /// Time of capture.
    pub(super) fn at(&self) -> Time {
        Time::from_nanos(self.at_ns)
    }

    /// Whether it is the same packet as another one, PSH, window and time aside.
    pub(super) fn is_same(&self, other: &Segment) -> bool {
        let bits = |segment: &Segment| -> Vec<&'static str> {
            segment.flags.iter().copied().filter(|flag| *flag != "PSH").collect()
        };
        self.forward == other.forward
            && (self.seq, self.bytes, self.ack) == (other.seq, other.bytes, other.ack)
            && self.sack == other.sack
            && (self.flags == other.flags || bits(self) == bits(other))
    }
}

const NAMES: [(u16, &str); 9] = [
    (flags::SYN, "SYN"),
    (flags::FIN, "FIN"),
    (flags::RST, "RST"),
    (flags::PSH, "PSH"),
    (flags::ACK, "ACK"),
    (flags::URG, "URG"),
    (flags::ECE, "ECE"),
    (flags::CWR, "CWR"),
    (flags::AE, "AE"),
];

/// First sequence numbers of both directions, that of the opener's first.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Bases([Option<u32>; 2]);

impl Bases {
    /// First sequence number of the opener.
    pub(super) fn of_opener(self) -> Option<u32> {
        self.0[0]
    }

    /// A packet with its numbers counted from the SYNs', or from what was seen first.
    pub(super) fn segment(&mut self, packet: &Packet, forward: bool) -> Segment {
        let at_ns = packet.at.as_nanos();
        let tcp = match packet.transport {
            Transport::Tcp(tcp) => tcp,
            Transport::Udp(udp) => return Segment::of_datagram(at_ns, forward, udp.payload_bytes),
            Transport::Other(_) => return Segment::of_datagram(at_ns, forward, packet.ip_bytes),
        };
        let [own, other] = if forward { [0, 1] } else { [1, 0] };
        let first = if tcp.has(flags::SYN) { tcp.seq } else { tcp.seq.wrapping_sub(1) };
        let base = *self.0[own].get_or_insert(first);
        let acks = tcp.has(flags::ACK);
        let peer = match self.0[other] {
            None if acks => *self.0[other].insert(tcp.ack.wrapping_sub(1)),
            known => known.unwrap_or(0),
        };
        Segment {
            at_ns,
            forward,
            seq: tcp.seq.wrapping_sub(base),
            bytes: tcp.payload_bytes,
            ack: acks.then(|| tcp.ack.wrapping_sub(peer)),
            flags: NAMES.iter().filter(|(bit, _)| tcp.has(*bit)).map(|(_, name)| *name).collect(),
            sack: blocks(&tcp, peer),
            window: tcp.window,
        }
    }
}

impl Segment {
    fn of_datagram(at_ns: u64, forward: bool, bytes: u32) -> Segment {
        let (flags, sack) = (Vec::new(), Vec::new());
        Segment { at_ns, forward, seq: 0, bytes, ack: None, flags, sack, window: 0 }
    }
}

fn blocks(tcp: &Tcp, base: u32) -> Vec<(u32, u32)> {
    let relative =
        |&(left, right): &(u32, u32)| (left.wrapping_sub(base), right.wrapping_sub(base));
    tcp.options.sack_blocks().iter().map(relative).collect()
}

/// Whether a packet is the second of a connection, so that its receiver opened it.
pub(super) fn is_answer_to_syn(packet: &Packet) -> bool {
    matches!(packet.transport, Transport::Tcp(tcp) if tcp.has(flags::SYN | flags::ACK))
}

/// The sequence number of a packet that opens a connection.
pub(super) fn opening(packet: &Packet) -> Option<u32> {
    match packet.transport {
        Transport::Tcp(tcp) if tcp.has(flags::SYN) && !tcp.has(flags::ACK) => Some(tcp.seq),
        _ => None,
    }
}
