//! One captured packet: addresses, ports and the header of TCP or UDP.

mod checksum;
pub(crate) mod decode;
mod link;
mod options;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use fairway_units::Time;

pub(crate) use link::Link;

/// Selective acknowledgements that fit in a header (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// One packet of a capture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Packet {
    /// Its number in the capture, from 1, as other programs count.
    pub number: u64,
    /// When it was captured: since 1970, or since whatever the writer of the capture counts from.
    pub at: Time,
    /// The interface of the capture that saw it, from 0.
    pub interface: u32,
    /// Where it comes from; the port of a packet without ports is 0.
    pub source: SocketAddr,
    /// Where it goes.
    pub destination: SocketAddr,
    /// Bytes of the frame on the wire, whatever was captured of it.
    pub frame_bytes: u32,
    /// Bytes of the IP packet, headers and all.
    pub ip_bytes: u32,
    /// IPv4's identification; 0 for IPv6.
    pub ip_id: u16,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The DS field and, in the lower two bits, ECN (RFC 2474, RFC 3168).
    pub traffic_class: u8,
    /// Its payload.
    pub transport: Transport,
    /// Its fate, if the capture says so.
    pub fate: Fate,
}

impl Packet {
    /// A packet of which nothing is known yet.
    pub(crate) const BLANK: Packet = Packet {
        number: 0,
        at: Time::ZERO,
        interface: 0,
        source: SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)),
        destination: SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)),
        frame_bytes: 0,
        ip_bytes: 0,
        ip_id: 0,
        ttl: 0,
        traffic_class: 0,
        transport: Transport::Other(0),
        fate: Fate::Unknown,
    };

    /// What the headers of one frame say, of which `captured` are the bytes that there are. Nothing
    /// if it is no IP, a fragment, or of a link type that is not read.
    pub fn of_frame(link_type: u16, captured: &[u8], wire_bytes: u32) -> Option<Packet> {
        let link = Link::by_number(link_type)?;
        let frame = decode::Frame { link, bytes: captured, wire_bytes, verifies: true };
        let mut packet = Packet::BLANK;
        (decode::decode(&frame, &mut packet) == decode::Decoded::Whole).then_some(packet)
    }
}

/// The payload of an IP packet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Transport {
    /// A TCP segment.
    Tcp(Tcp),
    /// A UDP datagram.
    Udp(Udp),
    /// Anything else, by its protocol number.
    Other(u8),
}

/// The fate of a packet, as annotated by the writer of the capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fate {
    /// The capture does not say.
    #[default]
    Unknown,
    /// A queue dropped it.
    Dropped,
    /// A link lost it.
    Lost,
    /// A link damaged it, so that its receiver throws it away.
    Corrupted,
}

/// The header of a TCP segment (RFC 9293 section 3.1).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Tcp {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Control bits, the nine lowest: FIN is bit 0, AE (RFC 9768) bit 8.
    pub flags: u16,
    /// The window field as on the wire, unscaled.
    pub window: u16,
    /// Bytes of payload on the wire, whatever was captured of them.
    pub payload_bytes: u32,
    /// Options that were captured.
    pub options: Options,
    /// Whether its checksum was wrong; false where too little was captured to tell, or the
    /// sending host's card was to write it.
    pub is_checksum_wrong: bool,
}

/// Control bits of [`Tcp::flags`] (RFC 9293 section 3.1, RFC 3168, RFC 9768).
pub mod flags {
    /// No more data from sender.
    pub const FIN: u16 = 1;
    /// Synchronise sequence numbers.
    pub const SYN: u16 = 1 << 1;
    /// Reset the connection.
    pub const RST: u16 = 1 << 2;
    /// Push function.
    pub const PSH: u16 = 1 << 3;
    /// The acknowledgement number counts.
    pub const ACK: u16 = 1 << 4;
    /// The urgent pointer counts.
    pub const URG: u16 = 1 << 5;
    /// ECN echo.
    pub const ECE: u16 = 1 << 6;
    /// Congestion window reduced.
    pub const CWR: u16 = 1 << 7;
    /// Accurate ECN; once the nonce sum.
    pub const AE: u16 = 1 << 8;
}

impl Tcp {
    /// Whether all these control bits are set.
    pub fn has(&self, flags: u16) -> bool {
        self.flags & flags == flags
    }
}

/// Options of a TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Maximum segment size (RFC 9293 section 3.7.1).
    pub mss: Option<u16>,
    /// Window scale (RFC 7323 section 2).
    pub window_scale: Option<u8>,
    /// Whether selective acknowledgements are permitted (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// Timestamp value and echo reply (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
    /// Selective acknowledgements: left and right edges. See [`Options::sack_blocks`].
    pub sack: [(u32, u32); MAX_SACK_BLOCKS],
    /// How many of them are used.
    pub sack_count: u8,
    /// Bytes of all options.
    pub bytes: u8,
    /// To be written side by side and padded together, as ns-3 does.
    pub is_packed: bool,
}

impl Options {
    /// The selective acknowledgements, in the order of the header: the first may be a duplicate's
    /// (RFC 2883).
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_count).min(MAX_SACK_BLOCKS)]
    }
}

/// The header of a UDP datagram (RFC 768).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Udp {
    /// Bytes of payload on the wire, whatever was captured of them.
    pub payload_bytes: u32,
}
