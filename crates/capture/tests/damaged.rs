//! Captures that were cut off or overwritten: what is readable is read, and what was not is told.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use fairway_capture::Packet;
use fairway_capture::read::{Capture, Damage};

const RECORD_HEADER_BYTES: usize = 16;

fn bytes(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/captures").join(name)).unwrap()
}

fn read(bytes: &[u8]) -> (Vec<Packet>, Vec<Damage>) {
    let mut capture = Capture::from_read(Box::new(Cursor::new(bytes.to_vec())), "test").unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = capture.next() {
        packets.push(*packet);
    }
    (packets, capture.damaged().to_vec())
}

/// Where the packets of a little-endian classic capture begin, and the end.
fn records(bytes: &[u8]) -> Vec<usize> {
    let mut all = vec![24];
    while let Some(field) = bytes.get(all[all.len() - 1] + 8..).and_then(|rest| rest.first_chunk())
    {
        let at = all[all.len() - 1] + RECORD_HEADER_BYTES + u32::from_le_bytes(*field) as usize;
        all.push(at);
    }
    assert_eq!(all.last(), Some(&bytes.len()));
    all
}

/// Where the blocks of a little-endian pcapng capture begin, and the end.
fn blocks(bytes: &[u8]) -> Vec<usize> {
    let mut all = vec![0];
    while let Some(field) = bytes.get(all[all.len() - 1] + 4..).and_then(|rest| rest.first_chunk())
    {
        all.push(all[all.len() - 1] + u32::from_le_bytes(*field) as usize);
    }
    assert_eq!(all.last(), Some(&bytes.len()));
    all
}

/// When packets were captured, which tells them apart where their numbers differ, as they do
/// behind a damage.
fn times(packets: &[Packet]) -> Vec<u64> {
    packets.iter().map(|packet| packet.at.as_nanos()).collect()
}

#[test]
fn a_classic_capture_is_read_up_to_where_it_was_cut_off() {
    let whole = bytes("ethernet.pcap");
    let (packets, damaged) = read(&whole);
    assert_eq!(damaged, []);
    let records = records(&whole);
    for end in 24..whole.len() {
        let (read, damaged) = read(&whole[..end]);
        let complete = records.iter().filter(|&&at| at <= end).count() - 1;
        let expected: Vec<_> =
            packets.iter().filter(|packet| packet.number <= complete as u64).copied().collect();
        assert_eq!(read, expected, "cut off at {end}");
        if records.contains(&end) {
            assert_eq!(damaged, []);
        } else {
            assert_eq!(damaged.len(), 1, "cut off at {end}: {damaged:?}");
            assert_eq!(damaged[0].offset_bytes, records[complete] as u64);
            assert_eq!(damaged[0].packet, complete as u64 + 1);
        }
    }
}

#[test]
fn a_pcapng_capture_is_read_up_to_where_it_was_cut_off() {
    let whole = bytes("ng-us-little.pcapng");
    let (packets, _) = read(&whole);
    let blocks = blocks(&whole);
    for end in blocks[2]..whole.len() {
        let (read, damaged) = read(&whole[..end]);
        // A section header and an interface come first.
        let complete = blocks.iter().filter(|&&at| at <= end).count() - 3;
        assert_eq!(read, packets[..complete], "cut off at {end}");
        assert_eq!(damaged.len(), usize::from(!blocks.contains(&end)), "{damaged:?}");
        if let [damage] = damaged.as_slice() {
            assert_eq!(damage.offset_bytes, blocks[complete + 2] as u64);
            assert_eq!(damage.packet, complete as u64 + 1);
        }
    }
}

/// A header in the middle is overwritten: its packet is lost, and no other.
#[test]
fn a_classic_capture_is_read_on_behind_a_header_that_makes_no_sense() {
    let whole = bytes("ethernet.pcap");
    let (packets, _) = read(&whole);
    let records = records(&whole);
    for (what, header) in [
        ("all ones", [0xff; RECORD_HEADER_BYTES]),
        ("all zeros", [0; RECORD_HEADER_BYTES]),
        ("noise", *b"overwritten here"),
    ] {
        let mut damaged = whole.clone();
        damaged[records[9]..records[9] + RECORD_HEADER_BYTES].copy_from_slice(&header);
        let (read, damaged) = read(&damaged);
        let mut expected = packets.clone();
        expected.remove(9);
        assert_eq!(times(&read), times(&expected), "{what}");
        assert_eq!(damaged.len(), 1, "{what}: {damaged:?}");
        assert_eq!((damaged[0].offset_bytes, damaged[0].packet), (records[9] as u64, 10));
    }
}

/// A length that is wrong but not impossible does not swallow the packets behind it.
#[test]
fn a_length_that_leads_into_the_middle_of_another_packet_is_found_out() {
    let whole = bytes("ethernet.pcap");
    let (packets, _) = read(&whole);
    let records = records(&whole);
    for wrong in [1_u32, 65, 67, 100, 127, 1000, 5000, 100_000, 262_144, 262_145] {
        let mut damaged = whole.clone();
        damaged[records[9] + 8..records[9] + 12].copy_from_slice(&wrong.to_le_bytes());
        let (read, damaged) = read(&damaged);
        let mut expected = packets.clone();
        expected.remove(9);
        assert_eq!(times(&read), times(&expected), "{wrong}");
        assert_eq!(damaged.len(), 1, "{wrong}: {damaged:?}");
    }
}

/// Pages of a disk that were never written.
#[test]
fn a_hole_of_zeros_costs_what_it_covers() {
    let whole = bytes("ethernet.pcap");
    let (packets, _) = read(&whole);
    let records = records(&whole);
    let mut damaged = whole.clone();
    damaged[2048..4096].fill(0);
    let (read, damaged) = read(&damaged);
    // Those before it, the one that it begins in (whose headers are before it), and those behind.
    let first = records.iter().filter(|&&at| at < 2048).count() - 1;
    let next = records.iter().position(|&at| at >= 4096).unwrap();
    assert_eq!(read[..first], packets[..first]);
    assert_eq!(times(&read[read.len() - (packets.len() - next)..]), times(&packets[next..]),);
    assert!(read.len() <= first + 1 + packets.len() - next);
    assert_eq!(damaged.len(), 1, "{damaged:?}");
}

#[test]
fn a_pcapng_capture_is_read_on_behind_a_block_that_makes_no_sense() {
    let whole = bytes("ng-us-little.pcapng");
    let (packets, _) = read(&whole);
    let blocks = blocks(&whole);
    let begin = blocks[7];
    let end = blocks[8];
    for (what, at, value) in [
        ("a length of nothing", begin + 4, 0),
        ("a length that is too large", begin + 4, 0x7fff_ffff),
        ("a length beyond the end", begin + 4, 500_000),
        ("a length that is another block's", begin + 4, (blocks[9] - begin) as u32 - 4),
        ("another length behind", end - 4, 12),
    ] {
        let mut damaged = whole.clone();
        damaged[at..at + 4].copy_from_slice(&u32::to_le_bytes(value));
        let (read, damaged) = read(&damaged);
        let mut expected = packets.clone();
        expected.remove(5);
        assert_eq!(times(&read), times(&expected), "{what}");
        assert_eq!(damaged.len(), 1, "{what}: {damaged:?}");
        assert_eq!((damaged[0].offset_bytes, damaged[0].packet), (begin as u64, 6), "{what}");
    }
}

/// Bytes that are no block stand between two.
#[test]
fn bytes_that_somebody_put_between_two_blocks_are_passed() {
    let whole = bytes("ng-sections.pcapng");
    let (packets, _) = read(&whole);
    let mut longer = whole.clone();
    let at = blocks(&whole[..blocks_of_first_section(&whole)])[5];
    longer.splice(at..at, *b"\nConnection closed by foreign host.\n");
    let (read, damaged) = read(&longer);
    assert_eq!(read, packets);
    assert_eq!(damaged.len(), 1, "{damaged:?}");
    assert_eq!(damaged[0].offset_bytes, at as u64);
}

/// The first section is little-endian, the second is not.
fn blocks_of_first_section(bytes: &[u8]) -> usize {
    let mark = [0x0a, 0x0d, 0x0d, 0x0a];
    4 + bytes[4..].windows(4).position(|window| window == mark).unwrap()
}

#[test]
fn a_packed_capture_is_read_up_to_where_it_was_cut_off() {
    let whole = bytes("packed.pcap.gz");
    let (packets, _) = read(&bytes("ethernet.pcap"));
    let mut most = 0;
    for end in (40..whole.len()).step_by(7) {
        let Ok(mut capture) =
            Capture::from_read(Box::new(Cursor::new(whole[..end].to_vec())), "test")
        else {
            continue;
        };
        let mut count = 0;
        while let Some(packet) = capture.next() {
            assert_eq!(*packet, packets[count]);
            count += 1;
        }
        assert!(!capture.damaged().is_empty() || count == packets.len() / 2, "cut off at {end}");
        assert!(count >= most, "more was read of less");
        most = count;
    }
    assert!(most > packets.len() / 2);
}

#[test]
fn what_is_no_capture_is_told_with_what_it_is() {
    let error = |bytes: &[u8]| {
        Capture::from_read(Box::new(Cursor::new(bytes.to_vec())), "a.pcap")
            .err()
            .unwrap()
            .to_string()
    };
    assert_eq!(error(b""), "a.pcap: is empty; a capture has a header even if it has no packets");
    assert!(error(b"\x28\xb5\x2f\xfd\0\0\0\0").contains("zstdcat a.pcap | fairway analyze -"));
    assert!(error(b"hello, world, this is no capture").contains("68 65 6c 6c 6f"));
    let missing = Capture::open(Path::new("/does/not/exist.pcap")).err().unwrap().to_string();
    assert!(missing.starts_with("/does/not/exist.pcap: cannot be opened: "), "{missing}");
}
