//! A run directory with a small network, and packets for it.

use std::fs;
use std::net::Ipv4Addr;

use fairway_spec::plan;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::message::INSTRUCTIONS;

/// When its run begins, by the kernel's clock.
pub const BEGIN_NS: u64 = 2_000_000_000;
/// The host of the sources, on device 0, and that of the sinks, on device 1.
pub const LEFT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 64, 0, 1);
/// Ports of the sinks of its connection and of its datagrams.
pub const PORT: u16 = 10_000;
pub const DATAGRAM_PORT: u16 = 10_001;

/// 1000 bytes take 1 ms to transmit and 10 ms to arrive. One packet waits while one is transmitted, and
/// the sender's buffer holds datagrams until they are transmitted.
const EXPERIMENT: &str = r#"
    duration = "1 s"

    [topology]
    kind = "dumbbell"

    [topology.bottleneck]
    rate  = "8 Mbit/s"
    delay = "10 ms"
    queue = { kind = "droptail", limit = "2 packets" }

    [[flow]]
    cc = "reno"

    [[flow]]
    kind = "cbr"
    rate = "1 Mbit/s"
    send_buffer = "64 kB"

    [measure]
    window = ["0 s", "1 s"]
    sample = "100 ms"
"#;

/// What the host tells the library.
pub fn instructions() -> Value {
    let ends = |port| json!({"source": LEFT, "sink": RIGHT, "port": port, "devices": [0, 1]});
    json!({
        "experiment": plan(EXPERIMENT, "small").unwrap().points[0].document,
        "devices": 2,
        "flows": [ends(PORT), ends(DATAGRAM_PORT)],
    })
}

/// A run directory with these instructions.
pub fn run_directory(instructions: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(INSTRUCTIONS), instructions).unwrap();
    directory
}

/// The headers of a packet of so many bytes between two hosts: TCP (6) or UDP (17).
pub fn packet(
    protocol: u8,
    [source, destination]: [Ipv4Addr; 2],
    [from, to]: [u16; 2],
    total: u16,
) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0];
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes.extend(source.octets().into_iter().chain(destination.octets()));
    bytes.extend(from.to_be_bytes().into_iter().chain(to.to_be_bytes()));
    // Without options: a data offset of five words (RFC 9293).
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
    bytes
}
