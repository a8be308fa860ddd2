//! Blocks of classic captures: draft-ietf-opsawg-pcap, the variant with nanoseconds.

use super::Record;
use super::pcapng::LINKTYPE_ETHERNET;

/// Says that the lower half of a time counts nanoseconds.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const NANOS_PER_SEC: u64 = 1_000_000_000;

/// The beginning of a file.
pub(super) fn head(block: &mut Vec<u8>, snap_bytes: u32) {
    block.extend(MAGIC_NANOSECONDS.to_le_bytes());
    block.extend([2, 0, 4, 0]); // version 2.4
    for field in [0, 0, snap_bytes, u32::from(LINKTYPE_ETHERNET)] {
        block.extend(field.to_le_bytes());
    }
}

/// A packet.
pub(super) fn packet(block: &mut Vec<u8>, record: &Record) {
    let nanos = record.at.as_nanos();
    let seconds = u32::try_from(nanos / NANOS_PER_SEC).unwrap_or(u32::MAX);
    let rest = (nanos % NANOS_PER_SEC) as u32;
    for field in [seconds, rest, record.captured.len() as u32, record.frame_bytes] {
        block.extend(field.to_le_bytes());
    }
    block.extend(record.captured);
}

#[cfg(test)]
mod tests {
    use fairway_units::Time;

    use super::*;

    /// As tcpdump writes a file with `--nano`: 24 bytes, then 16 before each packet.
    #[test]
    fn a_file_is_what_tcpdump_writes() {
        let mut file = Vec::new();
        head(&mut file, 256);
        let expected =
            [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0];
        assert_eq!(file, expected);
        let record = Record {
            at: Time::from_nanos(2_000_000_005),
            interface: 0,
            direction: None,
            frame_bytes: 1514,
            captured: b"abc",
            comment: "",
        };
        packet(&mut file, &record);
        let expected = [2, 0, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0, 0xea, 5, 0, 0, b'a', b'b', b'c'];
        assert_eq!(file[24..], expected);
    }
}
