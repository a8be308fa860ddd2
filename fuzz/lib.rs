//! What has to hold of captures and of experiment files, whatever their bytes are.

use std::io::{self, Cursor, Read};

use fairway_capture::read::Capture;
use fairway_capture::{Packet, Transport};

/// No packet of a capture is shorter than this in it: a line of text with two addresses.
const LEAST_PACKET_BYTES: u64 = 12;

/// Gives a few bytes at a time, so that every end of the buffer is met.
pub struct Dripping<R>(pub R);

impl<R: Read> Read for Dripping<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let few = buffer.len().min(7);
        self.0.read(&mut buffer[..few])
    }
}

/// Reads bytes to their end, and returns the packets and the words about what could not be read.
pub fn read(source: Box<dyn Read + Send>) -> Option<(Vec<Packet>, Vec<String>)> {
    let mut capture = Capture::from_read(source, "fuzz").ok()?;
    let mut packets = Vec::new();
    let mut number = 0;
    while let Some(packet) = capture.next() {
        assert!(packet.number > number, "packet {} comes behind {number}", packet.number);
        number = packet.number;
        check(packet);
        packets.push(*packet);
    }
    assert!(capture.next().is_none(), "packets behind the end");
    let counts = capture.counts();
    assert!(counts.frames >= packets.len() as u64);
    assert!(counts.damages >= capture.damaged().len() as u64);
    let damaged = capture.damaged().iter().map(|damage| damage.what.clone()).collect();
    Some((packets, damaged))
}

/// Reads plain bytes at once and in drips, which has to make no difference.
pub fn read_twice(bytes: &[u8]) {
    let at_once = read(Box::new(Cursor::new(bytes.to_vec())));
    let in_drips = read(Box::new(Dripping(Cursor::new(bytes.to_vec()))));
    // Of packed bytes that are damaged, the decoder keeps back what it was asked for last.
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return;
    }
    assert_eq!(at_once, in_drips);
    if let Some((packets, _)) = at_once {
        assert!(packets.len() as u64 * LEAST_PACKET_BYTES <= bytes.len() as u64);
    }
}

/// What has to hold of a packet.
pub fn check(packet: &Packet) {
    match packet.transport {
        Transport::Tcp(tcp) => {
            assert!(tcp.payload_bytes < packet.ip_bytes);
            assert!(tcp.options.bytes <= 40);
            assert!(usize::from(tcp.options.sack_count) <= tcp.options.sack.len());
            assert!(tcp.flags < 1 << 9);
        }
        Transport::Udp(udp) => assert!(udp.payload_bytes < packet.ip_bytes),
        Transport::Other(_) => {}
    }
    assert_eq!(packet.source.is_ipv4(), packet.destination.is_ipv4());
}

/// Points of a sweep that are validated: more take their time, and that is no fault.
const MOST_POINTS: i64 = 200;

/// Plans an experiment file.
pub fn plan(text: &str) {
    if text.parse().is_ok_and(|table: toml::Table| points(&table) > MOST_POINTS) {
        return;
    }
    match fairway_spec::plan(text, "fuzz.toml") {
        Ok(plan) => assert!(!plan.points.is_empty()),
        Err(errors) => {
            assert!(!errors.errors.is_empty());
            for error in &errors.errors {
                assert!(!error.path.is_empty() && !error.message.is_empty());
                assert!(!error.to_string().contains(char::is_control), "{error:?}");
            }
        }
    }
}

/// How many points a sweep asks for, at the most.
fn points(table: &toml::Table) -> i64 {
    let count = |value: &toml::Value| match value {
        toml::Value::Array(list) => list.len() as i64,
        toml::Value::Integer(number) => *number,
        toml::Value::Table(inner) => {
            inner.values().filter_map(toml::Value::as_integer).max().unwrap_or(1)
        }
        _ => 1,
    };
    let sweep = table.get("sweep").and_then(toml::Value::as_table);
    sweep
        .into_iter()
        .flat_map(toml::Table::values)
        .fold(1, |product: i64, value| product.saturating_mul(count(value).max(1)))
}
