//! From the bytes of a frame to a [`Packet`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::checksum::{self, PseudoHeader};
use super::link::{Inside, Link};
use super::{Options, Packet, Tcp, Transport, Udp};

const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
const TCP_HEADER_BYTES: usize = 20;
const UDP_HEADER_BYTES: usize = 8;
/// A TCP header up to and with the window: what has to be captured of it.
const TCP_LEAST_BYTES: usize = 16;
/// Where the checksum stands in a TCP header.
const TCP_CHECKSUM_AT: usize = 16;

const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;

/// Extension headers of IPv6 (RFC 8200 section 4, and what IANA's registry has besides).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;
/// Extension headers of one packet that are followed; more than three are hardly ever seen.
const MAX_EXTENSIONS: usize = 16;

/// A captured frame.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// Its link layer.
    pub link: Link,
    /// Its captured length.
    pub bytes: &'a [u8],
    /// Its length on the wire.
    pub wire_bytes: u32,
    /// Whether to add up TCP's checksum where all of a segment was captured.
    pub verifies: bool,
}

/// A decoded frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decoded {
    /// A packet.
    Whole,
    /// A part of a packet. The first part has the transport's header.
    Part(Part),
    /// No IP.
    NotIp,
    /// Too little was captured of its headers.
    Cut,
    /// Its headers contradict themselves.
    Malformed,
}

/// A fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Identification: 16 bits of IPv4, 32 bits of IPv6.
    pub id: u32,
    /// Protocol number of what is cut up.
    pub protocol: u8,
    /// Where it belongs.
    pub offset_bytes: u32,
    /// Its bytes, without IP headers.
    pub bytes: u32,
    /// Whether there are more behind it.
    pub has_more: bool,
}

/// Fills in what the headers of a frame say. Number, time, interface and fate are not touched.
#[inline]
pub fn decode(frame: &Frame, packet: &mut Packet) -> Decoded {
    let at = match frame.link.inside(frame.bytes) {
        Inside::Ip(at) => at,
        Inside::Other => return Decoded::NotIp,
        Inside::Cut => return Decoded::Cut,
    };
    let bytes = frame.bytes.get(at..).unwrap_or_default();
    let Some(&first) = bytes.first() else { return Decoded::Cut };
    // More was captured than there is: a frame whose length on the wire is wrong.
    let wire_bytes = frame.wire_bytes.max(frame.bytes.len() as u32);
    packet.frame_bytes = wire_bytes;
    let below = Below { wire_bytes: wire_bytes - at as u32, verifies: frame.verifies };
    match first >> 4 {
        4 => ipv4(bytes, &below, packet),
        6 => ipv6(bytes, &below, packet),
        _ => Decoded::NotIp,
    }
}

/// The layers below IP.
struct Below {
    /// Bytes on the wire from the IP header on, padding and all.
    wire_bytes: u32,
    verifies: bool,
}

/// The payload of IP.
struct Body<'a> {
    protocol: u8,
    /// Captured bytes of it.
    bytes: &'a [u8],
    /// Bytes of it on the wire.
    wire_bytes: u32,
    /// Addresses as in the header, for the checksum.
    addresses: &'a [u8],
    verifies: bool,
}

#[inline]
fn ipv4(bytes: &[u8], below: &Below, packet: &mut Packet) -> Decoded {
    let Some(header) = bytes.first_chunk::<IPV4_HEADER_BYTES>() else { return Decoded::Cut };
    let header_bytes = usize::from(header[0] & 15) * 4;
    let total_bytes = match be16(header, 2) {
        // A segment that the card is to cut up can be longer than the field can say: it is 0.
        0 => below.wire_bytes,
        bytes => u32::from(bytes).min(below.wire_bytes),
    };
    if header_bytes < IPV4_HEADER_BYTES || header_bytes as u32 > total_bytes {
        return Decoded::Malformed;
    }
    if bytes.len() < header_bytes {
        return Decoded::Cut;
    }
    packet.ip_bytes = total_bytes;
    packet.traffic_class = header[1];
    packet.ip_id = be16(header, 4);
    packet.ttl = header[8];
    packet.source = address_v4(header, 12);
    packet.destination = address_v4(header, 16);
    let body = Body {
        protocol: header[9],
        bytes: &bytes[header_bytes..bytes.len().min(total_bytes as usize)],
        wire_bytes: total_bytes - header_bytes as u32,
        addresses: &header[12..20],
        verifies: below.verifies,
    };
    let fragment = be16(header, 6);
    let (offset, has_more) = (fragment & 0x1fff, fragment & 0x2000 != 0);
    if offset == 0 && !has_more {
        return transport(&body, packet);
    }
    let id = u32::from(packet.ip_id);
    part(&body, id, u32::from(offset) * 8, has_more, packet)
}

fn ipv6(bytes: &[u8], below: &Below, packet: &mut Packet) -> Decoded {
    let Some(header) = bytes.first_chunk::<IPV6_HEADER_BYTES>() else { return Decoded::Cut };
    let total_bytes = match be16(header, 4) {
        // A jumbogram (RFC 2675), or a segment that the card is to cut up.
        0 if header[6] != NO_NEXT_HEADER => below.wire_bytes,
        bytes => (u32::from(bytes) + IPV6_HEADER_BYTES as u32).min(below.wire_bytes),
    };
    if total_bytes < IPV6_HEADER_BYTES as u32 {
        return Decoded::Malformed;
    }
    packet.ip_bytes = total_bytes;
    packet.traffic_class = (header[0] << 4) | (header[1] >> 4);
    packet.ip_id = 0;
    packet.ttl = header[7];
    packet.source = address_v6(header, 8);
    packet.destination = address_v6(header, 24);
    let captured = &bytes[..bytes.len().min(total_bytes as usize)];
    let mut body = Body {
        protocol: header[6],
        bytes: &captured[IPV6_HEADER_BYTES..],
        wire_bytes: total_bytes - IPV6_HEADER_BYTES as u32,
        addresses: &header[8..40],
        verifies: below.verifies,
    };
    let mut fragment = None;
    for _ in 0..MAX_EXTENSIONS {
        let Some(length_unit) = extension_unit(body.protocol) else { break };
        // Behind the first fragment's headers there may be only the middle of something.
        if matches!(fragment, Some((_, offset, _)) if offset > 0) {
            break;
        }
        let Some(extension) = body.bytes.first_chunk::<4>() else { return Decoded::Cut };
        if body.protocol == FRAGMENT {
            let Some(header) = body.bytes.first_chunk::<8>() else { return Decoded::Cut };
            let offset = be16(header, 2);
            fragment = Some((be32(header, 4), u32::from(offset & 0xfff8), offset & 1 == 1));
        }
        // The checksum counts the last address of a route, which stands in the header until it
        // is the destination (RFC 8200 section 8.1).
        if body.protocol == ROUTING && extension[3] > 0 {
            body.verifies = false;
        }
        let bytes = length_unit.bytes(extension[1]);
        if bytes as u32 > body.wire_bytes {
            return Decoded::Malformed;
        }
        let Some(rest) = body.bytes.get(bytes..) else { return Decoded::Cut };
        body.protocol = extension[0];
        body.bytes = rest;
        body.wire_bytes -= bytes as u32;
    }
    match fragment {
        // A fragment that is the whole (RFC 6946) is none.
        None | Some((_, 0, false)) => transport(&body, packet),
        Some((id, offset_bytes, has_more)) => part(&body, id, offset_bytes, has_more, packet),
    }
}

const NO_NEXT_HEADER: u8 = 59;

/// How an extension header tells its length.
enum LengthUnit {
    /// In units of eight bytes, the first not counted.
    Eight,
    /// In units of four bytes, the first two not counted (RFC 4302).
    Four,
    /// Always eight bytes.
    Fixed,
}

impl LengthUnit {
    fn bytes(&self, length: u8) -> usize {
        match self {
            LengthUnit::Eight => (usize::from(length) + 1) * 8,
            LengthUnit::Four => (usize::from(length) + 2) * 4,
            LengthUnit::Fixed => 8,
        }
    }
}

fn extension_unit(protocol: u8) -> Option<LengthUnit> {
    match protocol {
        HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HIP | SHIM6 => Some(LengthUnit::Eight),
        AUTHENTICATION => Some(LengthUnit::Four),
        FRAGMENT => Some(LengthUnit::Fixed),
        _ => None,
    }
}

fn part(body: &Body, id: u32, offset_bytes: u32, has_more: bool, packet: &mut Packet) -> Decoded {
    packet.transport = Transport::Other(body.protocol);
    if offset_bytes == 0 {
        // What is behind the header counts for this part; the others are added to it.
        let first = Body { verifies: false, ..*body };
        match transport(&first, packet) {
            Decoded::Whole => {}
            unreadable => return unreadable,
        }
    }
    Decoded::Part(Part {
        id,
        protocol: body.protocol,
        offset_bytes,
        bytes: body.wire_bytes,
        has_more,
    })
}

#[inline]
fn transport(body: &Body, packet: &mut Packet) -> Decoded {
    match body.protocol {
        PROTOCOL_TCP => tcp(body, packet),
        PROTOCOL_UDP => udp(body, packet),
        other => {
            packet.transport = Transport::Other(other);
            Decoded::Whole
        }
    }
}

#[inline]
fn tcp(body: &Body, packet: &mut Packet) -> Decoded {
    let Some(header) = body.bytes.first_chunk::<TCP_LEAST_BYTES>() else { return Decoded::Cut };
    let control = be16(header, 12);
    let header_bytes = usize::from(control >> 12) * 4;
    if header_bytes < TCP_HEADER_BYTES || header_bytes as u32 > body.wire_bytes {
        return Decoded::Malformed;
    }
    packet.source.set_port(be16(header, 0));
    packet.destination.set_port(be16(header, 2));
    let options =
        body.bytes.get(TCP_HEADER_BYTES..body.bytes.len().min(header_bytes)).unwrap_or_default();
    let is_whole = body.bytes.len() == body.wire_bytes as usize;
    packet.transport = Transport::Tcp(Tcp {
        seq: be32(header, 4),
        ack: be32(header, 8),
        flags: control & 0x1ff,
        window: be16(header, 14),
        payload_bytes: body.wire_bytes - header_bytes as u32,
        options: Options::read(options, (header_bytes - TCP_HEADER_BYTES) as u8),
        is_checksum_wrong: body.verifies && is_whole && has_wrong_checksum(body),
    });
    Decoded::Whole
}

fn has_wrong_checksum(body: &Body) -> bool {
    let pseudo =
        PseudoHeader { addresses: body.addresses, protocol: PROTOCOL_TCP, bytes: body.wire_bytes };
    checksum::is_wrong(body.bytes, TCP_CHECKSUM_AT, &pseudo)
}

fn udp(body: &Body, packet: &mut Packet) -> Decoded {
    let Some(header) = body.bytes.first_chunk::<UDP_HEADER_BYTES>() else { return Decoded::Cut };
    packet.source.set_port(be16(header, 0));
    packet.destination.set_port(be16(header, 2));
    let there_bytes = body.wire_bytes - UDP_HEADER_BYTES as u32;
    let payload_bytes = match u32::from(be16(header, 4)) {
        // A jumbogram, or datagrams that the card is to cut up.
        0 => there_bytes,
        bytes => bytes.saturating_sub(UDP_HEADER_BYTES as u32).min(there_bytes),
    };
    packet.transport = Transport::Udp(Udp { payload_bytes });
    Decoded::Whole
}

#[inline]
fn address_v4(header: &[u8], at: usize) -> SocketAddr {
    let octets = [header[at], header[at + 1], header[at + 2], header[at + 3]];
    SocketAddr::new(IpAddr::V4(Ipv4Addr::from(octets)), 0)
}

fn address_v6(header: &[u8; IPV6_HEADER_BYTES], at: usize) -> SocketAddr {
    let mut octets = [0; 16];
    octets.copy_from_slice(&header[at..at + 16]);
    SocketAddr::new(IpAddr::V6(Ipv6Addr::from(octets)), 0)
}

#[inline]
fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
