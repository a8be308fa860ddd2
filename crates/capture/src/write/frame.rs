//! The bytes of a packet: Ethernet, IP, and TCP or UDP, with right checksums over a payload of
//! zeros that need not be there.

use std::net::{IpAddr, SocketAddr};

use super::checksum::{Sum, updated};
use crate::packet::{Options, Packet, Tcp, Transport};

const ETHERNET_BYTES: usize = 14;
/// RFC 791 and RFC 8200, without options and extension headers.
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
/// Bytes of TCP's header without options (RFC 9293 section 3.1).
pub const TCP_BYTES: usize = 20;
const MAX_TCP_OPTION_BYTES: usize = 40;
/// RFC 768.
const UDP_BYTES: usize = 8;
/// Largest IP packet: its length has 16 bits.
const MAX_IP_BYTES: usize = 65_535;

/// Most bytes of headers.
pub const MAX_FRAME_HEADER: usize = ETHERNET_BYTES + IPV6_BYTES + TCP_BYTES + MAX_TCP_OPTION_BYTES;

/// Types of Ethernet frames and protocols of IP (IANA).
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERTYPE_IPV6: [u8; 2] = [0x86, 0xdd];
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
/// The protocol number of IPv4's ICMP (RFC 792).
pub const ICMP: u8 = 1;
/// Bytes of its header.
pub const ICMP_BYTES: usize = 8;
/// "Don't fragment" (RFC 791), which hosts set that look for the path's MTU (RFC 1191).
const DONT_FRAGMENT: [u8; 2] = [0x40, 0x00];
/// Where the DS field, the length and the checksum are in a frame with IPv4, and the hop limit in
/// one with IPv6.
const IPV4_DS: usize = ETHERNET_BYTES + 1;
const IPV4_TTL: usize = ETHERNET_BYTES + 8;
const IPV4_CHECKSUM: usize = ETHERNET_BYTES + 10;
const IPV6_HOP_LIMIT: usize = ETHERNET_BYTES + 7;

/// Why a packet has no frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotWritable {
    /// Its addresses are of two families.
    #[error("one address is of IPv4 and the other of IPv6")]
    TwoFamilies,
    /// It is neither TCP nor UDP.
    #[error("it is neither TCP nor UDP")]
    NoTransport,
    /// It is larger than an IP packet can be.
    #[error("an IP packet has at most {MAX_IP_BYTES} bytes")]
    TooLong,
    /// Its options do not fit into a header.
    #[error("options of TCP have at most {MAX_TCP_OPTION_BYTES} bytes")]
    TooManyOptions,
}

/// A packet as it is on an Ethernet: its headers, and how long it is with the payload behind them,
/// which is zeros.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    bytes: [u8; MAX_FRAME_HEADER],
    header_bytes: u8,
    frame_bytes: u32,
}

impl Frame {
    /// The frame of a packet. Lengths and checksums follow from addresses and transport, whatever
    /// the packet says of them.
    ///
    /// Options are laid out as Linux does (`tcp_options_write` of net/ipv4/tcp_output.c). The
    /// addresses of Ethernet are those that a station may give itself, with the end of its IP
    /// address.
    ///
    /// # Errors
    /// A frame that cannot be written.
    pub fn of(packet: &Packet) -> Result<Self, NotWritable> {
        Self::made(packet, None)
    }

    /// The frame of a packet of TCP with the bytes of its options, among which may be some that
    /// [`Options`] do not have (MPTCP's, RFC 8684).
    ///
    /// # Errors
    /// A frame that cannot be written.
    pub fn with_options(packet: &Packet, options: &[u8]) -> Result<Self, NotWritable> {
        Self::made(packet, Some(options))
    }

    fn made(packet: &Packet, options: Option<&[u8]>) -> Result<Self, NotWritable> {
        let mut frame = Frame { bytes: [0; MAX_FRAME_HEADER], header_bytes: 0, frame_bytes: 0 };
        let mut sum = Sum::default();
        let ip_header = frame.network(packet, &mut sum)?;
        let (header, payload, checksum) = match packet.transport {
            Transport::Tcp(tcp) => {
                let begin = ip_header + TCP_BYTES;
                let option_bytes = match options {
                    Some(bytes) => frame.copied_options(begin, bytes),
                    None => frame.options(begin, &tcp.options),
                }?;
                (frame.tcp(ip_header, packet, &tcp, option_bytes), tcp.payload_bytes, 16)
            }
            Transport::Udp(udp) => {
                (frame.udp(ip_header, packet, udp.payload_bytes), udp.payload_bytes, 6)
            }
            Transport::Other(_) => return Err(NotWritable::NoTransport),
        };
        let end = ip_header + header;
        let transport_bytes = header.saturating_add(payload as usize);
        frame.finish_network(packet, transport_bytes)?;
        // The pseudo-header (RFC 9293 section 3.1, RFC 8200 section 8.1); sums of its lengths are
        // alike in 16 and 32 bits.
        sum.word(transport_bytes as u16);
        sum.add(&frame.bytes[ip_header..end]);
        let found = sum.finish();
        // In UDP zero says that there is none (RFC 768).
        let found = if checksum == 6 && found == 0 { 0xffff } else { found };
        frame.put(ip_header + checksum, &found.to_be_bytes());
        frame.header_bytes = end as u8;
        frame.frame_bytes = (ip_header + transport_bytes) as u32;
        Ok(frame)
    }

    /// The frame of a message of ICMP over IPv4 with this header, of which the checksum follows from a
    /// payload of zeros.
    ///
    /// # Errors
    /// A frame that cannot be written.
    pub fn of_icmp(packet: &Packet, header: [u8; ICMP_BYTES]) -> Result<Self, NotWritable> {
        if packet.transport != Transport::Other(ICMP) || packet.source.is_ipv6() {
            return Err(NotWritable::NoTransport);
        }
        let mut frame = Frame { bytes: [0; MAX_FRAME_HEADER], header_bytes: 0, frame_bytes: 0 };
        // ICMP has no pseudo-header.
        let at = frame.network(packet, &mut Sum::default())?;
        let transport_bytes = (packet.ip_bytes as usize).saturating_sub(IPV4_BYTES);
        frame.finish_network(packet, transport_bytes)?;
        let [kind, code, _, _, rest @ ..] = header;
        frame.put(at, &[kind, code, 0, 0]);
        frame.put(at + 4, &rest);
        let mut sum = Sum::default();
        sum.add(&frame.bytes[at..at + ICMP_BYTES]);
        frame.put(at + 2, &sum.finish().to_be_bytes());
        frame.header_bytes = (at + ICMP_BYTES) as u8;
        frame.frame_bytes = (at + transport_bytes.max(ICMP_BYTES)) as u32;
        Ok(frame)
    }

    /// Its headers.
    pub fn header(&self) -> &[u8] {
        &self.bytes[..usize::from(self.header_bytes)]
    }

    /// Its bytes on the wire, without what Ethernet adds behind it.
    pub fn frame_bytes(&self) -> u32 {
        self.frame_bytes
    }

    /// What routers change on its way: the time to live, and the DS field with ECN.
    pub fn set_on_its_way(&mut self, ttl: u8, traffic_class: u8) {
        if self.bytes[12..14] == ETHERTYPE_IPV6 {
            self.bytes[IPV6_HOP_LIMIT] = ttl;
            self.put_traffic_class(traffic_class);
            return;
        }
        // Two fields, each with its neighbour in a word under the checksum.
        for (field, at, value) in [(IPV4_DS - 1, IPV4_DS, traffic_class), (IPV4_TTL, IPV4_TTL, ttl)]
        {
            let before = self.word(field);
            self.bytes[at] = value;
            let checksum = updated(self.word(IPV4_CHECKSUM), before, self.word(field));
            self.put(IPV4_CHECKSUM, &checksum.to_be_bytes());
        }
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    fn put(&mut self, at: usize, value: &[u8]) {
        self.bytes[at..at + value.len()].copy_from_slice(value);
    }

    fn put_traffic_class(&mut self, traffic_class: u8) {
        self.bytes[ETHERNET_BYTES] = 0x60 | traffic_class >> 4;
        self.bytes[ETHERNET_BYTES + 1] = traffic_class << 4;
    }

    /// Ethernet and IP but for length and checksum, of which the pseudo-header's part goes into
    /// `sum`. Returns where the transport begins.
    fn network(&mut self, packet: &Packet, sum: &mut Sum) -> Result<usize, NotWritable> {
        let protocol = match packet.transport {
            Transport::Udp(_) => PROTOCOL_UDP,
            Transport::Tcp(_) => PROTOCOL_TCP,
            Transport::Other(protocol) => protocol,
        };
        sum.word(u16::from(protocol));
        let ip = ETHERNET_BYTES;
        match (packet.source.ip(), packet.destination.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let addresses = [source.octets(), destination.octets()];
                self.ethernet(addresses, ETHERTYPE_IPV4);
                self.put(ip, &[0x45, packet.traffic_class]);
                self.put(ip + 4, &packet.ip_id.to_be_bytes());
                self.put(ip + 6, &DONT_FRAGMENT);
                self.put(ip + 8, &[packet.ttl, protocol]);
                self.put(ip + 12, addresses.as_flattened());
                sum.add(addresses.as_flattened());
                Ok(ip + IPV4_BYTES)
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let addresses = [source.octets(), destination.octets()];
                let ends = addresses.map(|[.., a, b, c, d]| [a, b, c, d]);
                self.ethernet(ends, ETHERTYPE_IPV6);
                self.put_traffic_class(packet.traffic_class);
                self.put(ip + 6, &[protocol, packet.ttl]);
                self.put(ip + 8, addresses.as_flattened());
                sum.add(addresses.as_flattened());
                Ok(ip + IPV6_BYTES)
            }
            _ => Err(NotWritable::TwoFamilies),
        }
    }

    /// Addresses that a station gives itself have the second bit of the first byte set (IEEE 802
    /// section 8.4).
    fn ethernet(&mut self, [source, destination]: [[u8; 4]; 2], ethertype: [u8; 2]) {
        self.put(0, &[2, 0]);
        self.put(2, &destination);
        self.put(6, &[2, 0]);
        self.put(8, &source);
        self.put(12, &ethertype);
    }

    /// Lengths and the checksum of IP.
    fn finish_network(
        &mut self,
        packet: &Packet,
        transport_bytes: usize,
    ) -> Result<(), NotWritable> {
        let ip = ETHERNET_BYTES;
        if packet.source.is_ipv6() {
            let length = u16::try_from(transport_bytes).map_err(|_| NotWritable::TooLong)?;
            self.put(ip + 4, &length.to_be_bytes());
            return Ok(());
        }
        let length =
            u16::try_from(IPV4_BYTES + transport_bytes).map_err(|_| NotWritable::TooLong)?;
        self.put(ip + 2, &length.to_be_bytes());
        let mut sum = Sum::default();
        sum.add(&self.bytes[ip..ip + IPV4_BYTES]);
        self.put(IPV4_CHECKSUM, &sum.finish().to_be_bytes());
        Ok(())
    }

    /// The header of TCP in front of its options, but for its checksum. Returns the length of both.
    fn tcp(&mut self, at: usize, packet: &Packet, tcp: &Tcp, option_bytes: usize) -> usize {
        let header = TCP_BYTES + option_bytes;
        self.ports(at, packet);
        self.put(at + 4, &tcp.seq.to_be_bytes());
        self.put(at + 8, &tcp.ack.to_be_bytes());
        let [upper, lower] = tcp.flags.to_be_bytes();
        self.put(at + 12, &[(header as u8 / 4) << 4 | upper & 1, lower]);
        self.put(at + 14, &tcp.window.to_be_bytes());
        header
    }

    /// Options as they are. Returns how many bytes they take, a multiple of four.
    fn copied_options(&mut self, begin: usize, options: &[u8]) -> Result<usize, NotWritable> {
        if options.len() > MAX_TCP_OPTION_BYTES {
            return Err(NotWritable::TooManyOptions);
        }
        self.put(begin, options);
        Ok(options.len().next_multiple_of(4))
    }

    /// Options as Linux lays them out, or packed. Returns how many bytes they take, a multiple of four.
    fn options(&mut self, begin: usize, options: &Options) -> Result<usize, NotWritable> {
        const NOP: u8 = 1;
        let padding: &[u8] = if options.is_packed { &[] } else { &[NOP, NOP] };
        let mut at = begin;
        let end = begin + MAX_TCP_OPTION_BYTES;
        let mut add = |bytes: &[u8]| {
            let next = at + bytes.len();
            if next > end {
                return Err(NotWritable::TooManyOptions);
            }
            self.bytes[at..next].copy_from_slice(bytes);
            at = next;
            Ok(())
        };
        if let Some(mss) = options.mss {
            let [upper, lower] = mss.to_be_bytes();
            add(&[2, 4, upper, lower])?;
        }
        // In the place of the padding in front of the timestamps, if those are there.
        let sack_permitted = [4, 2];
        if let Some((value, echo)) = options.timestamps {
            add(if options.sack_permitted { &sack_permitted } else { padding })?;
            add(&[8, 10])?;
            add(&value.to_be_bytes())?;
            add(&echo.to_be_bytes())?;
        } else if options.sack_permitted {
            add(padding)?;
            add(&sack_permitted)?;
        }
        if let Some(shift) = options.window_scale {
            add(&padding[..padding.len() / 2])?;
            add(&[3, 3, shift])?;
        }
        let blocks = options.sack_blocks();
        if !blocks.is_empty() {
            add(padding)?;
            add(&[5, 2 + 8 * blocks.len() as u8])?;
            for (left, right) in blocks {
                add(&left.to_be_bytes())?;
                add(&right.to_be_bytes())?;
            }
        }
        // The end of the options, and zeros behind it; there is room, as 40 is a multiple of four.
        let padded = (at - begin).next_multiple_of(4);
        self.bytes[at..begin + padded].fill(0);
        Ok(padded)
    }

    /// The header of UDP but for its checksum. Returns its length.
    fn udp(&mut self, at: usize, packet: &Packet, payload_bytes: u32) -> usize {
        self.ports(at, packet);
        // What is too long is refused with the packet.
        let length = (UDP_BYTES as u32).saturating_add(payload_bytes);
        self.put(at + 4, &(length as u16).to_be_bytes());
        UDP_BYTES
    }

    fn ports(&mut self, at: usize, packet: &Packet) {
        let [source, destination] =
            [packet.source, packet.destination].map(|end: SocketAddr| end.port().to_be_bytes());
        self.put(at, &source);
        self.put(at + 2, &destination);
    }
}

#[cfg(test)]
mod tests;
