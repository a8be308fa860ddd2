//! The preset `ns2-sack1` against ns-2 itself: the same packets at the same instants.
//!
//! The files in `ns2/` are what ns-2.35 (Debian 2.35+dfsg) sent with some packets lost, recorded with
//! `benches/ns2/sack1-drops.tcl`, whose arguments are their first line. Reno, `max_ssthresh_` 100, no
//! `overhead_`.

use crate::script::{Script, preset};
use fairway_tcp::Stack;

/// A packet that was sent: when in ms, its number in the stream from 1, and whether it was lost.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Packet {
    ms: u64,
    number: u64,
    is_lost: bool,
}

struct Recording {
    packets: u64,
    stack: Stack,
    end_ms: u64,
    sent: Vec<Packet>,
}

fn recording(text: &str) -> Recording {
    let mut lines = text.lines();
    let command = lines.next().expect("the command");
    let mut arguments =
        command.split_whitespace().skip(3).map(|word| word.parse().expect("a number"));
    let mut argument = || -> u64 { arguments.next().expect("an argument") };
    let (packets, window, ssthresh, max_burst, end_s) =
        (argument(), argument(), argument(), argument(), argument());
    let segments = |n: u64| u32::try_from(n).expect("a small number");
    let stack = preset("ns2-sack1").with(|s| {
        s.window.initial_window = segments(window);
        s.window.initial_ssthresh = Some(segments(ssthresh));
        s.sending.max_burst = (max_burst > 0).then(|| segments(max_burst));
    });
    let sent = lines.map(|line| {
        let mut words = line.split_whitespace();
        let ms = words.next().and_then(|w| w.parse().ok()).expect("a time");
        let number = words.next().and_then(|w| w.parse().ok()).expect("a number");
        Packet { ms, number, is_lost: words.next().is_some() }
    });
    // Number 0 is the SYN.
    Recording { packets, stack, end_ms: end_s * 1_000, sent: sent.skip(1).collect() }
}

/// What the source sends: one packet for each line of the diagram, or several.
fn sent(lines: &[String]) -> Vec<Packet> {
    let mut packets = Vec::new();
    for line in lines {
        let words: Vec<_> = line.split_whitespace().collect();
        let [ms, ">", range, rest @ ..] = &words[..] else { continue };
        let Some((start, end)) = range.split_once("..") else { continue };
        let offset = |text: &str| -> u64 { text.parse().expect("an offset") };
        for number in offset(start) / 1_000..offset(end) / 1_000 {
            packets.push(Packet {
                ms: offset(ms),
                number: number + 1,
                is_lost: rest.contains(&"lost"),
            });
        }
    }
    packets
}

#[track_caller]
fn sends_as_ns2(text: &str) {
    let recording = recording(text);
    let mut script = Script::new(&recording.stack);
    for (at, packet) in recording.sent.iter().enumerate() {
        if packet.is_lost {
            script.lose_number(at + 1);
        }
    }
    script.open(recording.packets * 1_000);
    let seen = sent(&script.look(recording.end_ms));
    for (at, (ours, ns2)) in seen.iter().zip(&recording.sent).enumerate() {
        assert_eq!(ours, ns2, "packet {} of {}", at + 1, recording.sent.len());
    }
    assert_eq!(seen.len(), recording.sent.len());
}

macro_rules! recordings {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            sends_as_ns2(include_str!(concat!("ns2/", stringify!($name), ".txt")));
        })*
    };
}

recordings! {
    one_loss
    scattered_losses
    slow_start_overshoot
    retransmission_lost
    tail_lost
    all_lost
    bursts_of_two
    two_episodes
    two_timeouts
    every_tenth
    limited_slow_start
}
