//! Reads the fuzzer's corpus and mutations of it: no panic, no endless loop, bounded memory.
//!
//! `make fuzz` does the same for longer.

use std::fs;
use std::io::{Cursor, Read};
use std::path::Path;

use fairway_capture::read::{Capture, Counts};
use fairway_capture::{Packet, Transport};

#[path = "../../../fuzz/corpus.rs"]
mod fuzzed;

/// Of each file.
const MUTATIONS: u64 = 12;
/// The most that a reader's buffer is to take.
const MAX_BUFFER_BYTES: usize = 2 << 20;
/// No packet is shorter than this in a capture: a line of text with two addresses.
const LEAST_PACKET_BYTES: usize = 12;
const MOST_DAMAGES_KEPT: usize = 100;

/// Files of a folder in the order of their names.
fn files(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    assert!(!paths.is_empty(), "{name} is empty");
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// Numbers that look random and are the same each time (xorshift64, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }

    /// Changes bytes, cuts, doubles a stretch, or puts in a number that lengths have trouble with.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            let to = (at + self.below(64)).min(bytes.len());
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.splice(at..at, bytes[at..to].to_vec()).for_each(drop),
                2 => bytes.drain(at..to).for_each(drop),
                3 => {
                    let numbers = [0_u32, 1, 0x7fff_ffff, 0xffff_ffff, 0x0004_0000, 0x0010_0000];
                    let number = numbers[self.below(numbers.len())].to_le_bytes();
                    let end = (at + 4).min(bytes.len());
                    bytes.splice(at..end, number).for_each(drop);
                }
                _ => {
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte ^= 1 << self.below(8);
                    }
                }
            }
        }
    }
}

/// Reads a stream to its end under the bounds; nothing if it is no capture.
fn read(source: Box<dyn Read + Send>) -> Option<Counts> {
    let mut capture = Capture::from_read(source, "corpus").ok()?;
    while let Some(packet) = capture.next() {
        check(packet);
    }
    assert!(capture.next().is_none());
    assert!(capture.buffer_bytes() <= MAX_BUFFER_BYTES);
    assert!(capture.damaged().len() <= MOST_DAMAGES_KEPT);
    Some(capture.counts())
}

fn read_plain(bytes: Vec<u8>) {
    let length = bytes.len();
    let is_packed = bytes.starts_with(&[0x1f, 0x8b]);
    if let Some(counts) = read(Box::new(Cursor::new(bytes)))
        && !is_packed
    {
        assert!(counts.frames as usize * LEAST_PACKET_BYTES <= length);
        assert!(counts.damages as usize <= length);
    }
}

fn check(packet: &Packet) {
    match packet.transport {
        Transport::Tcp(tcp) => assert!(tcp.payload_bytes < packet.ip_bytes),
        Transport::Udp(udp) => assert!(udp.payload_bytes < packet.ip_bytes),
        Transport::Other(_) => {}
    }
}

/// Each file as it is, and changed.
fn each(files: Vec<Vec<u8>>, mut run: impl FnMut(Vec<u8>)) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for file in files {
        for _ in 0..MUTATIONS {
            let mut mutated = file.clone();
            random.mutate(&mut mutated);
            run(mutated);
        }
        run(file);
    }
}

#[test]
fn any_bytes() {
    each(fuzzed::files("capture"), read_plain);
}

#[test]
fn captures_of_every_format() {
    each(files("tests/captures"), read_plain);
}

#[test]
fn text() {
    let head = b"00:00:00.000000 IP 10.0.0.1.1 > 10.0.0.2.2: Flags [S], seq 9, length 0\n";
    each(fuzzed::files("text"), |bytes| read_plain([&head[..], &bytes].concat()));
}

#[test]
fn packed_bytes() {
    each(fuzzed::files("gzip"), |bytes| read_plain([&[0x1f, 0x8b][..], &bytes].concat()));
}

/// As the fuzzer's target takes them: a byte for the link type, and two for the length on the wire.
#[test]
fn frames() {
    let link_types = [1, 0, 108, 101, 228, 229, 9, 204, 104, 51, 113, 276];
    each(fuzzed::files("packet"), |bytes| {
        let [link, more_high, more_low, frame @ ..] = bytes.as_slice() else { return };
        let link_type = link_types[usize::from(*link) % link_types.len()];
        let more_bytes = u32::from(u16::from_be_bytes([*more_high, *more_low]));
        let wire_bytes = frame.len() as u32 + more_bytes;
        if let Some(packet) = Packet::of_frame(link_type, frame, wire_bytes) {
            check(&packet);
        }
    });
}
