//! The receiving half against a kernel's: what the sink of a Linux 6.1.192 got and sent, packet by
//! packet, in virtual time.
//!
//! Traces are of the packets at the sink's device. What it got is given to an endpoint, which has to send the
//! same at the same time, with the same blocks, echoes and windows.

use crate::kernel::{ISN, Line, blocks, parse, segment};
use fairway_cc::{Selection, create};
use fairway_tcp::{Config, EcnMode, Endpoint, Flags, PRESETS, Role, SackBlock, SeqNr, Stack};
use fairway_units::Time;

/// It takes the kernel's application some microseconds to read.
const PROCESSES_NANOS: u64 = 12_000;
/// A packet that the kernel's sender sent alone took 4352 bytes of the receiver's memory, and not the
/// 2304 of those that leave in bursts: windows are smaller by that.
const ALONE: f64 = 0.06;

/// What was sent.
#[derive(Debug)]
struct Sent {
    at: u64,
    window: u16,
    /// Acknowledged offset, echoed timestamp, echo of congestion, SACK blocks.
    text: String,
}

fn sent(line: &Line) -> Sent {
    let ece = line.flags.contains('E') && !line.flags.contains('S');
    let text = text(line.ack, line.ts_echo, ece, &blocks(line).join(" "));
    Sent { at: line.at, window: line.window, text }
}

fn text(ack: u64, ts_echo: u32, ece: bool, blocks: &str) -> String {
    format!("ack {ack} echo {ts_echo}{} sack {blocks}", if ece { " ece" } else { "" })
}

struct Sink {
    endpoint: Endpoint,
    sent: Vec<Sent>,
}

impl Sink {
    fn run(&mut self, until: u64) {
        while self.endpoint.poll_timeout().as_nanos() < until {
            let at = self.endpoint.poll_timeout();
            self.endpoint.handle_timeout(at);
            self.poll(at.as_nanos());
        }
    }

    fn poll(&mut self, at: u64) {
        while let Some(s) = self.endpoint.poll_transmit(Time::from_nanos(at)) {
            let offset = |number: SeqNr| u64::from(number.0.wrapping_sub(ISN[0] + 1));
            let block = |b: &SackBlock| format!("{}-{}", offset(b.left), offset(b.right));
            let blocks: Vec<String> = s.sack_blocks().iter().map(block).collect();
            let ece = s.flags.has(Flags::ECE) && !s.flags.has(Flags::SYN);
            let text = text(offset(s.ack), s.ts_echo, ece, &blocks.join(" "));
            self.sent.push(Sent { at, window: s.window, text });
        }
    }
}

/// Gives an endpoint what the kernel got, and compares what they sent. Windows may differ by this
/// part of the kernel's.
fn replay(trace: &str, window_tolerance: f64, change: impl Fn(&mut Stack)) {
    let lines: Vec<Line> = trace.lines().map(parse).collect();
    let answer = lines.iter().find(|line| !line.got).unwrap();
    let mut stack = (PRESETS.iter().find(|preset| preset.name == "linux-6.1").unwrap().stack)();
    change(&mut stack);
    let reno = Selection { name: "reno".to_owned(), variant: None, params: Vec::new() };
    let cc = create(&reno, stack.window.cc_variant, &stack.init("reno")).unwrap();
    let endpoint = Endpoint::new(Config {
        connection: 0,
        role: Role::Passive,
        stack: stack.into(),
        cc,
        isn: ISN[1],
        timestamp_offset: answer.ts_value.wrapping_sub((answer.at / 1_000_000) as u32),
    });
    let mut sink = Sink { endpoint, sent: Vec::new() };
    for line in lines.iter().filter(|line| line.got) {
        sink.run(line.at);
        sink.endpoint.handle_segment(&segment(line, true), Time::from_nanos(line.at));
        sink.poll(line.at);
    }
    sink.run(lines.last().unwrap().at + 1);
    let wanted: Vec<Sent> = lines.iter().filter(|line| !line.got).map(sent).collect();
    for (n, (wanted, found)) in wanted.iter().zip(&sink.sent).enumerate() {
        // The kernel's application does not read between two packets that come together.
        let together = lines.iter().filter(|line| line.got && line.at == wanted.at).count() > 1;
        let window = if together { 0 } else { wanted.window.abs_diff(found.window) };
        let same = wanted.at.abs_diff(found.at) <= PROCESSES_NANOS
            && wanted.text == found.text
            && f64::from(window) <= window_tolerance * f64::from(wanted.window);
        assert!(same, "packet {n}: the kernel sent\n{wanted:?}, the endpoint\n{found:?}");
    }
    assert_eq!(wanted.len(), sink.sent.len(), "packets sent");
}

/// Two rounds of slow start on 100 Mbit/s and 50 ms, and most of two more: every acknowledgement at
/// once, every second, and at once again when the buffer has grown.
#[test]
fn slow_start() {
    replay(include_str!("kernel/slow-start.txt"), 0.0, |stack| {
        stack.buffers.receive_buffer = 256 << 20
    });
}

/// 10 Mbit/s, 50 ms, a queue of 20 packets, a receive buffer that cannot grow: SACKs 1.1 ms late,
/// windows that the application's reading opens again.
#[test]
fn a_small_buffer() {
    replay(include_str!("kernel/small-buffer.txt"), ALONE, |stack| {
        stack.buffers.receive_buffer = 131_072
    });
}

/// 100 Mbit/s, 4 ms, a queue of 30 packets: SACKs after 5 % of the round-trip time.
#[test]
fn a_short_path() {
    replay(include_str!("kernel/short-path.txt"), 0.0, |stack| {
        stack.buffers.receive_buffer = 131_072
    });
}

/// Seventeen segments at once: the last is acknowledged 40.5 ms late.
#[test]
fn a_delayed_acknowledgement() {
    replay(include_str!("kernel/initial-window.txt"), 0.0, |_| {});
}

/// 2 % of the packets are lost and 3 % overtake the others by 25 ms: holes, duplicates, segments
/// with outdated timestamps.
#[test]
fn reordering() {
    replay(include_str!("kernel/reordering.txt"), ALONE, |stack| {
        stack.buffers.receive_buffer = 131_072
    });
}

/// Writes of 1 to 14 480 bytes, 0 to 300 ms apart.
#[test]
fn small_writes() {
    replay(include_str!("kernel/small-writes.txt"), 0.0, |_| {});
}

/// 1 % of the packets are marked (RFC 3168).
#[test]
fn marks() {
    replay(include_str!("kernel/marks.txt"), ALONE, |stack| stack.options.ecn = EcnMode::Classic);
}
