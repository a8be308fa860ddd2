//! Blocks of pcapng (draft-ietf-opsawg-pcapng): a section, its interfaces, its packets.

use fairway_units::Time;

use super::{Direction, Interface, Record};

/// LINKTYPE_ETHERNET.
pub(super) const LINKTYPE_ETHERNET: u16 = 1;
/// LINKTYPE_RAW: frames begin with the header of IP.
pub(super) const LINKTYPE_RAW: u16 = 101;

/// Block types, section 10.1.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
/// Which byte order a section is in.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Options, sections 3.5, 4.1, 4.2, 4.3 and 4.6.
const OPT_ENDOFOPT: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_SPEED: u16 = 8;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
/// Where dumpcap, too, says what the kernel had no room for.
const ISB_IFDROP: u16 = 5;
/// Times are multiples of 10^-9 s.
const NANOSECONDS: u8 = 9;
/// Most bytes of an option: its length has 16 bits, and it is padded to four bytes.
const MAX_OPTION_BYTES: usize = 0xfffc;

/// The beginning of a section, of which nobody knows how long it will be.
pub(super) fn section(out: &mut Vec<u8>, application: &str) {
    block(out, SECTION_HEADER, |out| {
        out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        out.extend([1, 0, 0, 0]); // version 1.0
        out.extend(u64::MAX.to_le_bytes());
        option(out, SHB_USERAPPL, application.as_bytes());
        option(out, OPT_ENDOFOPT, &[]);
    });
}

/// An interface, whose frames begin as this link type says.
pub(super) fn interface(out: &mut Vec<u8>, link_type: u16, interface: &Interface) {
    block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend(link_type.to_le_bytes());
        out.extend([0, 0]);
        out.extend(interface.snap_bytes.to_le_bytes());
        option(out, IF_NAME, interface.name.as_bytes());
        option(out, IF_DESCRIPTION, interface.description.as_bytes());
        if let Some(speed) = interface.speed {
            option(out, IF_SPEED, &speed.as_bps().to_le_bytes());
        }
        option(out, IF_TSRESOL, &[NANOSECONDS]);
        option(out, OPT_ENDOFOPT, &[]);
    });
}

/// Packets missed at an interface so far.
pub(super) fn missed(out: &mut Vec<u8>, interface: u32, at: Time, packets: u64, comment: &str) {
    let nanos = at.as_nanos();
    block(out, INTERFACE_STATISTICS, |out| {
        for field in [interface, (nanos >> 32) as u32, nanos as u32] {
            out.extend(field.to_le_bytes());
        }
        if !comment.is_empty() {
            option(out, OPT_COMMENT, comment.as_bytes());
        }
        option(out, ISB_IFDROP, &packets.to_le_bytes());
        option(out, OPT_ENDOFOPT, &[]);
    });
}

/// A packet.
pub(super) fn packet(out: &mut Vec<u8>, record: &Record) {
    let nanos = record.at.as_nanos();
    block(out, ENHANCED_PACKET, |out| {
        let captured = record.captured.len() as u32;
        let times = [(nanos >> 32) as u32, nanos as u32];
        for field in [record.interface, times[0], times[1], captured, record.frame_bytes] {
            out.extend(field.to_le_bytes());
        }
        out.extend(record.captured);
        pad(out);
        if !record.comment.is_empty() {
            option(out, OPT_COMMENT, record.comment.as_bytes());
        }
        if let Some(direction) = record.direction {
            let flags: u32 = match direction {
                Direction::Inbound => 1,
                Direction::Outbound => 2,
            };
            option(out, EPB_FLAGS, &flags.to_le_bytes());
        }
        if record.direction.is_some() || !record.comment.is_empty() {
            option(out, OPT_ENDOFOPT, &[]);
        }
    });
}

/// A block, between its two lengths. What is before it in `out` is whole blocks.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = ((out.len() - begin + 4) as u32).to_le_bytes();
    out.extend(length);
    out[begin + 4..begin + 8].copy_from_slice(&length);
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(MAX_OPTION_BYTES)];
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    pad(out);
}

/// Zeros up to a multiple of four bytes.
fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use fairway_units::Rate;

    use super::*;

    /// Words of four bytes, little-endian, as the draft draws them.
    fn words(bytes: &[u8]) -> Vec<u32> {
        assert!(bytes.len().is_multiple_of(4), "{} bytes", bytes.len());
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    const fn option_head(code: u32, length: u32) -> u32 {
        length << 16 | code
    }

    #[test]
    fn a_section_as_the_draft_draws_it() {
        let mut out = Vec::new();
        section(&mut out, "ABCDE");
        let text = [u32::from_le_bytes(*b"ABCD"), u32::from_le_bytes(*b"E\0\0\0")];
        let expected = [
            0x0a0d_0d0a,
            44,
            0x1a2b_3c4d,
            1,
            u32::MAX,
            u32::MAX,
            option_head(4, 5),
            text[0],
            text[1],
            0,
            44,
        ];
        assert_eq!(words(&out), expected);
    }

    #[test]
    fn an_interface_as_the_draft_draws_it() {
        let mut out = Vec::new();
        let described = Interface {
            name: "eth0".to_owned(),
            description: "x".to_owned(),
            speed: Some(Rate::from_bps(10_000_000)),
            snap_bytes: 128,
        };
        interface(&mut out, LINKTYPE_ETHERNET, &described);
        let expected = [
            1,
            60,
            1,
            128,
            option_head(2, 4),
            u32::from_le_bytes(*b"eth0"),
            option_head(3, 1),
            u32::from(b'x'),
            option_head(8, 8),
            10_000_000,
            0,
            option_head(9, 1),
            9,
            0,
            60,
        ];
        assert_eq!(words(&out), expected);
    }

    #[test]
    fn a_packet_as_the_draft_draws_it() {
        let mut out = Vec::new();
        let record = Record {
            at: Time::from_nanos((7 << 32) + 5),
            interface: 3,
            direction: Some(Direction::Outbound),
            frame_bytes: 1514,
            captured: b"abcde",
            comment: "lost",
        };
        packet(&mut out, &record);
        let expected = [
            6,
            60,
            3,
            7,
            5,
            5,
            1514,
            u32::from_le_bytes(*b"abcd"),
            u32::from(b'e'),
            option_head(1, 4),
            u32::from_le_bytes(*b"lost"),
            option_head(2, 4),
            2,
            0,
            60,
        ];
        assert_eq!(words(&out), expected);
        out.clear();
        packet(&mut out, &Record { direction: None, comment: "", ..record });
        let bare = [&[6, 40], &expected[2..9], &[40]].concat();
        assert_eq!(words(&out), bare);
    }

    #[test]
    fn what_was_missed_as_the_draft_draws_it() {
        let mut out = Vec::new();
        missed(&mut out, 2, Time::from_nanos((7 << 32) + 5), 9, "");
        assert_eq!(words(&out), [5, 40, 2, 7, 5, option_head(5, 8), 9, 0, 0, 40]);
        out.clear();
        missed(&mut out, 2, Time::from_nanos(5), 9, "lost");
        let lost = u32::from_le_bytes(*b"lost");
        let expected = [5, 48, 2, 0, 5, option_head(1, 4), lost, option_head(5, 8), 9, 0, 0, 48];
        assert_eq!(words(&out), expected);
    }

    #[test]
    fn what_no_option_can_hold_is_cut() {
        let mut out = Vec::new();
        option(&mut out, OPT_COMMENT, &[b'x'; 70_000]);
        assert_eq!(out.len(), 4 + MAX_OPTION_BYTES);
        assert_eq!(words(&out)[0], option_head(1, 0xfffc));
    }
}
