//! What tcpdump prints: one packet a line, or on several where it was asked for more or a page was
//! too narrow.
//!
//! The text says less than a capture: a segment without data has no sequence number (it gets the
//! next one of its direction), and numbers are relative to the first of a connection unless
//! tcpdump was told otherwise (`-S`).

mod address;
mod connections;
mod lines;
mod segment;
mod time;

use super::Interface;
use super::damage::Log;
use super::window::Window;
use crate::packet::{Packet, Transport, Udp};
pub use address::Names;
use address::{End, end};
use connections::Connections;
use lines::Lines;
use time::{Clock, Stamp};

/// Raw IP: the text has no frames.
const LINK_TYPE: u16 = 101;
/// So much of the beginning has to show that it is text of tcpdump's, and how its times count.
const HEAD_BYTES: usize = 8 << 10;
const IPV4_HEADER_BYTES: u32 = 20;
const IPV6_HEADER_BYTES: u32 = 40;
const UDP_HEADER_BYTES: u32 = 8;
const ICMP: u8 = 1;
const TCP: u8 = 6;
/// Reserved by IANA: the text does not say which protocol it is.
const UNKNOWN_PROTOCOL: u8 = 255;

/// State of a capture in text.
pub struct Text {
    clock: Clock,
    lines: Lines,
    names: Names,
    connections: Connections,
}

/// A parsed line.
#[derive(PartialEq, Eq, Debug)]
pub enum Line {
    /// An IP packet.
    Packet,
    /// A frame without IP.
    NotIp,
}

/// Why a line that looks like a packet is none.
#[derive(Debug, thiserror::Error)]
enum BadLine {
    #[error(transparent)]
    Segment(#[from] segment::BadSegment),
    #[error("one of its addresses is IPv4 and one is IPv6")]
    TwoVersions,
}

impl Text {
    /// By the first bytes of a stream, if one of their lines is a packet as tcpdump prints it.
    pub fn recognise(window: &mut Window) -> Option<(Text, Interface)> {
        window.has(HEAD_BYTES);
        let head = &window.bytes()[..window.bytes().len().min(HEAD_BYTES)];
        let stamps = head.split(|&byte| byte == b'\n').filter_map(|line| {
            let line = std::str::from_utf8(line).ok()?;
            let (stamp, rest) = time::split(line)?;
            let is_packet = ip_part(rest).is_some() || is_verbose(rest);
            is_packet.then_some(stamp)
        });
        let clock = Clock::by_first(stamps)?;
        let text = Text {
            clock,
            lines: Lines::default(),
            names: Names::default(),
            connections: Connections::default(),
        };
        Some((text, Interface::new(LINK_TYPE, 0)))
    }

    /// Names of hosts that have been read so far.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Reads the next packet.
    pub fn next(
        &mut self,
        window: &mut Window,
        number: u64,
        packet: &mut Packet,
        log: &mut Log,
    ) -> Option<Line> {
        loop {
            let offset_bytes = window.offset_bytes();
            let (lines, clock) = (&mut self.lines, &mut self.clock);
            let line = lines.next(window)?;
            let Some((stamp, rest)) = time::split(line) else {
                if !is_chat(line) {
                    log.note(offset_bytes, number, || {
                        format!("a line is left out that is no packet: {:?}", shortened(line))
                    });
                }
                continue;
            };
            *packet = Packet { number, ..Packet::BLANK };
            packet.at = clock.time(stamp);
            let Some((source, destination, what)) = ip_part(rest) else {
                if matches!(stamp, Stamp::None) {
                    continue;
                }
                return Some(Line::NotIp);
            };
            let is_v6 = source.contains(':') || destination.contains(':');
            let ends = (end(source, is_v6), end(destination, is_v6));
            match fill(packet, ends, what, &mut self.names, &mut self.connections) {
                Ok(()) => return Some(Line::Packet),
                Err(why) => {
                    log.note(offset_bytes, number, || {
                        format!("a packet is left out: {why}: {:?}", shortened(what))
                    });
                    return Some(Line::NotIp);
                }
            }
        }
    }
}

fn fill(
    packet: &mut Packet,
    (source, destination): (End, End),
    what: &str,
    names: &mut Names,
    connections: &mut Connections,
) -> Result<(), BadLine> {
    let segment = segment::read(what)?;
    let has_ports = segment.is_some() || source.has_port_behind() && destination.has_port_behind();
    packet.source = names.address(&source, has_ports);
    packet.destination = names.address(&destination, has_ports);
    if packet.source.is_ipv4() != packet.destination.is_ipv4() {
        return Err(BadLine::TwoVersions);
    }
    let ip_header_bytes =
        if packet.source.is_ipv4() { IPV4_HEADER_BYTES } else { IPV6_HEADER_BYTES };
    packet.transport = match segment {
        Some(segment) => {
            let tcp = connections.absolute(packet.source, packet.destination, &segment);
            packet.ip_bytes = segment.header_bytes() + tcp.payload_bytes;
            Transport::Tcp(tcp)
        }
        None => other(what, has_ports, packet),
    };
    packet.ip_bytes = packet.ip_bytes.saturating_add(ip_header_bytes);
    packet.frame_bytes = packet.ip_bytes;
    Ok(())
}

fn other(what: &str, has_ports: bool, packet: &mut Packet) -> Transport {
    let udp = what.strip_prefix("UDP, length ").or_else(|| what.strip_prefix("udp "));
    let bytes = match udp {
        Some(rest) => segment::leading_number(rest),
        // What is inside, such as a question to a name server, and the length at the end.
        None if has_ports => what
            .rsplit_once('(')
            .and_then(|(_, end)| end.strip_suffix(')'))
            .and_then(|number| number.parse().ok()),
        None => None,
    };
    if let Some(payload_bytes) = bytes.filter(|&bytes| bytes <= super::MAX_FRAME_BYTES) {
        packet.ip_bytes = UDP_HEADER_BYTES + payload_bytes;
        return Transport::Udp(Udp { payload_bytes });
    }
    Transport::Other(match what.split([' ', ',', ':']).next() {
        Some("ICMP" | "icmp") => ICMP,
        Some("tcp") => TCP,
        _ => UNKNOWN_PROTOCOL,
    })
}

/// Source, destination and the rest of a line, behind its time.
fn ip_part(rest: &str) -> Option<(&str, &str, &str)> {
    let mut rest = rest.trim_start();
    // `-i any` begins with the interface and the direction.
    if let Some((before, after)) = rest.split_once(" IP") {
        let mut words = before.split_ascii_whitespace();
        let is_any = words.next().is_some()
            && matches!(words.next(), Some("In" | "Out" | "B" | "M" | "P"))
            && words.next().is_none();
        if is_any {
            rest = &rest[rest.len() - after.len() - 2..];
        }
    }
    // `-e` begins with the frame's header, which ends with its length.
    if let Some((_, after)) = rest.split_once("ethertype IPv") {
        let (_, after) = after.split_once(", length ")?;
        (_, rest) = after.split_once(": ")?;
    }
    // Versions before 3.8 do not say IP.
    for word in ["IP6 ", "IP "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    // `-v` puts the fields of the IP header in parentheses, which may have some inside.
    if rest.starts_with('(') {
        let (_, after) = rest.split_once("length")?;
        (_, rest) = after.split_once(") ")?;
        rest = rest.trim_start();
    }
    if let Some(after) = rest.strip_prefix("truncated-ip") {
        (_, rest) = after.split_once("! ")?;
    }
    let (source, after) = rest.split_once(" > ")?;
    let (destination, what) = after.split_once(": ")?;
    let is_word = |word: &str| !word.is_empty() && !word.contains(char::is_whitespace);
    (is_word(source) && is_word(destination) && source.contains(['.', ':']))
        .then(|| (source, destination, what.trim()))
}

/// Whether a line is the first of several, as `-v` makes them.
fn is_verbose(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.starts_with("IP (") || rest.starts_with("IP6 (") || rest.contains(", ethertype IPv")
}

/// Messages of tcpdump besides packets.
fn is_chat(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line.starts_with("tcpdump:")
        || line.starts_with("reading from ")
        || line.starts_with("listening on ")
        || line.starts_with("dropped privs to ")
        || line.contains(" packet")
            && ["captured", "received by filter", "dropped by kernel", "dropped by interface"]
                .iter()
                .any(|end| line.ends_with(end))
}

fn shortened(line: &str) -> String {
    line.chars().take(80).collect()
}
