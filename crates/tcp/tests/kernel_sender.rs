//! The sending half against a kernel's: what the source of a Linux 6.1.192 got and sent, packet by packet,
//! in virtual time. What it got is given to an endpoint, which has to send the same data at the same time,
//! with the same ends of bursts (PSH).

use crate::kernel::{ISN, Line, parse, segment};
use fairway_cc::{Selection, create};
use fairway_tcp::{Config, Endpoint, Flags, PRESETS, Role, SeqNr};
use fairway_units::Time;

/// Times of a kernel that runs as a program are multiples of 256 ns (`arch/um/kernel/time.c`,
/// TIMER_MULTIPLIER), and of its clock two readings are taken.
const CLOCK_NANOS: u64 = 2_000;

/// Time, offset, bytes, whether PSH is on it.
type Sent = (u64, u64, u32, bool);

struct Source {
    endpoint: Endpoint,
    sent: Vec<Sent>,
}

impl Source {
    fn run(&mut self, until: u64) {
        while self.endpoint.poll_timeout().as_nanos() < until {
            let at = self.endpoint.poll_timeout();
            self.endpoint.handle_timeout(at);
            self.poll(at.as_nanos());
        }
    }

    fn poll(&mut self, at: u64) {
        while let Some(s) = self.endpoint.poll_transmit(Time::from_nanos(at)) {
            let syn = s.flags.has(Flags::SYN);
            let offset =
                if syn { 0 } else { u64::from(s.seq.0.wrapping_sub(SeqNr::of(ISN[0], 0).0)) };
            self.sent.push((at, offset, s.payload_bytes, s.flags.has(Flags::PSH)));
        }
    }
}

/// Gives an endpoint with much to send what the kernel got, and compares what they sent.
fn replay(trace: &str, algorithm: &str) {
    let lines: Vec<Line> = trace.lines().map(parse).collect();
    let mut stack = (PRESETS.iter().find(|preset| preset.name == "linux-6.1").unwrap().stack)();
    stack.buffers.header_room = 192;
    let selection = Selection { name: algorithm.to_owned(), variant: None, params: Vec::new() };
    let cc = create(&selection, stack.window.cc_variant, &stack.init(algorithm)).unwrap();
    let endpoint = Endpoint::new(Config {
        connection: 0,
        role: Role::Active,
        stack: stack.into(),
        cc,
        isn: ISN[0],
        timestamp_offset: lines[0].ts_value.wrapping_sub((lines[0].at / 1_000_000) as u32),
    });
    let mut source = Source { endpoint, sent: Vec::new() };
    source.endpoint.connect();
    source.poll(lines[0].at);
    for line in lines.iter().filter(|line| !line.got) {
        source.run(line.at);
        source.endpoint.handle_segment(&segment(line, false), Time::from_nanos(line.at));
        source.poll(line.at);
        if line.flags.contains('S') {
            source.endpoint.write(u64::MAX);
            source.poll(line.at);
        }
    }
    let last = lines.last().unwrap().at;
    source.run(last + 1);
    let wanted = lines.iter().filter(|line| line.got);
    let wanted: Vec<Sent> =
        wanted.map(|l| (l.at, l.offset, l.bytes, l.flags.contains('P'))).collect();
    for (n, (wanted, found)) in wanted.iter().zip(&source.sent).enumerate() {
        let same = wanted.0.abs_diff(found.0) <= CLOCK_NANOS
            && (wanted.1, wanted.2, wanted.3) == (found.1, found.2, found.3);
        assert!(same, "packet {n}: the kernel sent\n{wanted:?}, the endpoint\n{found:?}");
    }
    assert_eq!(wanted.len(), source.sent.len(), "packets sent");
}

/// 100 Mbit/s, a round trip of 0.4 ms, 10 % of the data lost: small windows, probes of the tail, timeouts,
/// an application that waits for memory.
#[test]
fn heavy_losses() {
    replay(include_str!("kernel/heavy-losses.txt"), "cubic");
}

/// The same over 0.8 ms, the SYN lost too: its timer is of the wheel.
#[test]
fn a_lost_syn() {
    replay(include_str!("kernel/lost-syn.txt"), "cubic");
}

/// The same losses, with larger windows at first: bursts of which parts are SACKed and sent again.
#[test]
fn bursts_in_parts() {
    replay(include_str!("kernel/sacked-bursts.txt"), "reno");
}
