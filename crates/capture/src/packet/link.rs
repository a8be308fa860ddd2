//! What stands in front of the IP header, by the link type of the capture
//! (<https://www.tcpdump.org/linktypes.html>).

/// A link layer whose frames can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// Ethernet, with or without VLAN tags.
    Ethernet,
    /// BSD loopback: an address family in the byte order of the capturing host or another.
    Loopback,
    /// No link layer: an IP header comes first.
    RawIp,
    /// PPP, with or without HDLC's address and control.
    Ppp,
    /// PPP behind one byte of direction.
    PppWithDirection,
    /// Cisco's HDLC, or PPP in HDLC framing.
    CiscoHdlc,
    /// A PPPoE session without its Ethernet header.
    PppoE,
    /// Linux cooked capture, version 1.
    LinuxCooked,
    /// Linux cooked capture, version 2.
    LinuxCooked2,
}

/// The payload of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inside {
    /// An IP header at this offset.
    Ip(usize),
    /// Something else.
    Other,
    /// Too little was captured to tell.
    Cut,
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const PPPOE_SESSION: u16 = 0x8864;
const MPLS: u16 = 0x8847;
/// 802.1Q, 802.1ad, and the three that were used before 802.1ad.
const VLAN: [u16; 5] = [0x8100, 0x88a8, 0x9100, 0x9200, 0x9300];
/// Tags of one frame that are followed; two are usual.
const MAX_TAGS: usize = 8;

impl Link {
    /// By the number in a capture.
    pub fn by_number(link_type: u16) -> Option<Link> {
        Some(match link_type {
            1 => Link::Ethernet,
            0 | 108 => Link::Loopback,
            // 12 and 14 are what systems write that take DLT_RAW for the number in files.
            12 | 14 | 101 | 228 | 229 => Link::RawIp,
            9 | 50 => Link::Ppp,
            204 => Link::PppWithDirection,
            104 => Link::CiscoHdlc,
            51 => Link::PppoE,
            113 => Link::LinuxCooked,
            276 => Link::LinuxCooked2,
            _ => return None,
        })
    }

    /// Finds the IP header of a frame.
    #[inline]
    pub fn inside(self, frame: &[u8]) -> Inside {
        let found = match self {
            Link::Ethernet => ethernet(frame),
            Link::RawIp => Some(Inside::Ip(0)),
            Link::LinuxCooked => be16(frame, 14).and_then(|kind| by_type(kind, frame, 16)),
            Link::LinuxCooked2 => be16(frame, 0).and_then(|kind| by_type(kind, frame, 20)),
            Link::Loopback => loopback(frame),
            Link::Ppp => ppp(frame, 0),
            Link::PppWithDirection => ppp(frame, 1),
            Link::CiscoHdlc => cisco_hdlc(frame),
            Link::PppoE => ppp(frame, 6),
        };
        found.unwrap_or(Inside::Cut)
    }
}

#[inline]
fn ethernet(frame: &[u8]) -> Option<Inside> {
    let kind = be16(frame, 12)?;
    if kind == IPV4 { Some(Inside::Ip(14)) } else { by_type(kind, frame, 14) }
}

/// By EtherType, whose payload begins at `at`.
fn by_type(mut kind: u16, frame: &[u8], mut at: usize) -> Option<Inside> {
    for _ in 0..MAX_TAGS {
        if !VLAN.contains(&kind) {
            break;
        }
        kind = be16(frame, at + 2)?;
        at += 4;
    }
    match kind {
        IPV4 | IPV6 => Some(Inside::Ip(at)),
        PPPOE_SESSION => ppp(frame, at + 6),
        MPLS => mpls(frame, at),
        // A length and not a type (IEEE 802.3): logical link control, which may have a SNAP
        // header with a type.
        0..=1500 => match frame.get(at..at + 6) {
            Some([0xaa, 0xaa, 3, 0, 0, 0]) => match be16(frame, at + 6)? {
                IPV4 | IPV6 => Some(Inside::Ip(at + 8)),
                _ => Some(Inside::Other),
            },
            _ => Some(Inside::Other),
        },
        _ => Some(Inside::Other),
    }
}

/// Labels of four bytes until the one with the bit that says "bottom of the stack" (RFC 3032).
fn mpls(frame: &[u8], mut at: usize) -> Option<Inside> {
    for _ in 0..MAX_TAGS {
        let is_bottom = frame.get(at + 2)? & 1 == 1;
        at += 4;
        if is_bottom {
            let version = frame.get(at)? >> 4;
            return Some(if matches!(version, 4 | 6) { Inside::Ip(at) } else { Inside::Other });
        }
    }
    Some(Inside::Other)
}

/// The address family is 2 for IPv4 everywhere; for IPv6 it is 10, 24, 28 or 30, by system.
fn loopback(frame: &[u8]) -> Option<Inside> {
    let family = [*frame.first()?, *frame.get(1)?, *frame.get(2)?, *frame.get(3)?];
    let family = u32::from_be_bytes(family).min(u32::from_le_bytes(family));
    Some(if matches!(family, 2 | 10 | 24 | 28 | 30) { Inside::Ip(4) } else { Inside::Other })
}

/// RFC 1661 and 1662: address and control may be there, and the protocol may be one byte.
fn ppp(frame: &[u8], mut at: usize) -> Option<Inside> {
    if frame.get(at..at + 2) == Some(&[0xff, 3]) {
        at += 2;
    }
    let first = *frame.get(at)?;
    let (protocol, at) =
        if first & 1 == 1 { (u16::from(first), at + 1) } else { (be16(frame, at)?, at + 2) };
    Some(if matches!(protocol, 0x21 | 0x57) { Inside::Ip(at) } else { Inside::Other })
}

fn cisco_hdlc(frame: &[u8]) -> Option<Inside> {
    if frame.first() == Some(&0xff) {
        return ppp(frame, 0);
    }
    be16(frame, 2).and_then(|kind| by_type(kind, frame, 4))
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]))
}
