//! What a packet costs to read and decode, in nanoseconds: the least of several runs, from files
//! that are in memory.
//!
//!     cargo bench -p fairway-capture --bench read [FILE...]

#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fairway_capture::read::Capture;
use flate2::Compression;
use flate2::write::GzEncoder;

const RUNS: u32 = 7;
/// Connections that take turns.
const CONNECTIONS: u32 = 64;
const HEADER_BYTES: usize = 66;
const MSS: usize = 1448;

/// A capture to be made.
struct Kind {
    name: &'static str,
    packets: u32,
    /// Bytes that are captured of each packet.
    snap_bytes: usize,
    is_pcapng: bool,
    is_packed: bool,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "pcap, headers",
        packets: 1_000_000,
        snap_bytes: 96,
        is_pcapng: false,
        is_packed: false,
    },
    Kind {
        name: "pcapng, headers",
        packets: 1_000_000,
        snap_bytes: 96,
        is_pcapng: true,
        is_packed: false,
    },
    Kind {
        name: "pcap, headers, gzip",
        packets: 1_000_000,
        snap_bytes: 96,
        is_pcapng: false,
        is_packed: true,
    },
    Kind {
        name: "pcap, whole",
        packets: 300_000,
        snap_bytes: 65_535,
        is_pcapng: false,
        is_packed: false,
    },
    Kind {
        name: "pcapng, whole",
        packets: 300_000,
        snap_bytes: 65_535,
        is_pcapng: true,
        is_packed: false,
    },
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:24} {:>10} {:>10}  (ns a packet, least of {RUNS})", "capture", "checked", "not");
    let mut files: Vec<(String, PathBuf)> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .map(|argument| (argument.clone(), argument.into()))
        .collect();
    let are_given = !files.is_empty();
    if !are_given {
        for (index, kind) in KINDS.iter().enumerate() {
            let name = format!("fairway-bench-{}-{index}.pcap", std::process::id());
            let path = std::env::temp_dir().join(name);
            write(kind, &path)?;
            files.push((kind.name.to_owned(), path));
        }
    }
    for (name, path) in &files {
        let checked = least(path, true)?;
        let plain = least(path, false)?;
        println!("{name:24} {checked:10.1} {plain:10.1}");
    }
    if !are_given {
        files.iter().try_for_each(|(_, path)| fs::remove_file(path))?;
    }
    Ok(())
}

fn least(path: &Path, verifies: bool) -> Result<f64, Box<dyn Error>> {
    let mut least = f64::MAX;
    for _ in 0..RUNS {
        let started = Instant::now();
        let mut capture = Capture::open(path)?;
        capture.verify_checksums(verifies);
        let mut sum = 0_u64;
        while let Some(packet) = capture.next() {
            sum = sum.wrapping_add(u64::from(packet.ip_bytes) + u64::from(packet.source.port()));
        }
        std::hint::black_box(sum);
        let packets = capture.counts().frames.max(1);
        least = least.min(started.elapsed().as_nanos() as f64 / packets as f64);
    }
    Ok(least)
}

fn write(kind: &Kind, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut file = Vec::new();
    if kind.is_pcapng {
        block(&mut file, 0x0a0d_0d0a, &[0x1a2b_3c4d, 1, u32::MAX, u32::MAX], &[]);
        block(&mut file, 1, &[1, kind.snap_bytes as u32], &[9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    } else {
        for field in [0xa1b2_3c4d, 0x0004_0002, 0, 0, kind.snap_bytes as u32, 1_u32] {
            file.extend(field.to_le_bytes());
        }
    }
    for number in 0..kind.packets {
        let frame = frame(number);
        let captured = &frame[..frame.len().min(kind.snap_bytes)];
        let (captured_bytes, wire_bytes) = (captured.len() as u32, frame.len() as u32);
        let at_ns = 1_700_000_000_000_000_000 + u64::from(number) * 1_200;
        if kind.is_pcapng {
            let ticks = [(at_ns >> 32) as u32, at_ns as u32];
            block(&mut file, 6, &[0, ticks[0], ticks[1], captured_bytes, wire_bytes], captured);
        } else {
            let (s, ns) = ((at_ns / 1_000_000_000) as u32, (at_ns % 1_000_000_000) as u32);
            for field in [s, ns, captured_bytes, wire_bytes] {
                file.extend(field.to_le_bytes());
            }
            file.extend(captured);
        }
    }
    if kind.is_packed {
        let mut encoder = GzEncoder::new(File::create(path)?, Compression::default());
        encoder.write_all(&file)?;
        encoder.finish()?;
    } else {
        fs::write(path, file)?;
    }
    Ok(())
}

fn block(file: &mut Vec<u8>, kind: u32, fields: &[u32], rest: &[u8]) {
    let bytes = (12 + 4 * fields.len() + rest.len().next_multiple_of(4)) as u32;
    file.extend(kind.to_le_bytes());
    file.extend(bytes.to_le_bytes());
    fields.iter().for_each(|field| file.extend(field.to_le_bytes()));
    file.extend(rest);
    file.resize(file.len().next_multiple_of(4), 0);
    file.extend(bytes.to_le_bytes());
}

/// Of every three packets two are full and one is an acknowledgement, as with delayed ones.
fn frame(number: u32) -> Vec<u8> {
    let connection = (number / 3) % CONNECTIONS;
    let is_ack = number % 3 == 2;
    let payload_bytes = if is_ack { 0 } else { MSS };
    let mut frame = vec![0x55; HEADER_BYTES + payload_bytes];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    frame[14..34]
        .copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame[16..18].copy_from_slice(&((52 + payload_bytes) as u16).to_be_bytes());
    let ports = [40_000 + connection as u16, 5201];
    let (from, to) = if is_ack { (1, 0) } else { (0, 1) };
    frame[34..36].copy_from_slice(&ports[from].to_be_bytes());
    frame[36..38].copy_from_slice(&ports[to].to_be_bytes());
    if is_ack {
        frame[26..34].rotate_left(4);
    }
    frame[38..42].copy_from_slice(&(number * MSS as u32).to_be_bytes());
    frame[46..54].copy_from_slice(&[0x80, 0x10, 1, 0, 0, 0, 0, 0]);
    frame[54..66].copy_from_slice(&[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    frame
}
