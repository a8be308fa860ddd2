//! The presets `ns3-3.29` and `full-tcp` beside the simulators themselves: segment for segment, to the
//! millisecond, on a path of 50 ms each way without a rate to speak of (100 Gbit/s).
//!
//! `ns/full-tcp-*.txt` were recorded with ns-2.35 (two `Agent/TCP/FullTcp`, segsize_ 1000, window_
//! 100, an `ErrorModel/List`), `ns/ns3-*.txt` with ns-3.37, the oldest that could be had
//! (`TcpNewReno`, `TcpClassicRecovery`, SegmentSize 1000, buffers of 2 MiB, a
//! `ReceiveListErrorModel`). What ns-3 changed between 3.29 and 3.37 is set as the later version has
//! it; the losses are such that two other changes do not show: 3.37 does not grow its window on an
//! acknowledgement that has both new data and SACKs, and half a segment of the threshold is kept there,
//! which the congestion control here drops.

mod script;

use fairway_tcp::Stack;
use script::{Script, preset};

/// ns-3.37, in so far as it differs from ns-3.29.
fn ns3(window: u32) -> Stack {
    Stack {
        initial_window: window,
        // Since 3.30 a partial acknowledgement sends nothing again by itself, and the
        // acknowledgement that ends recovery grows the window.
        resend_on_partial_ack: false,
        grow_on_exit: true,
        ..preset("ns3-3.29")
    }
}

fn full_tcp() -> Stack {
    Stack { initial_ssthresh: Some(100), ..preset("full-tcp") }
}

/// What is sent up to `until` is what was recorded, but for the handshake.
#[track_caller]
fn assert_same(stack: &Stack, recording: &str, until: u64) {
    let mut t = Script::new(stack);
    for line in recording.lines().filter_map(|line| line.strip_suffix(" lost")) {
        let (_, segment) = line.split_once(' ').expect("a time");
        t.lose(segment);
    }
    t.open(120_000);
    let handshake = |line: &String| line.contains("SYN");
    let seen: Vec<String> = t.look(until).into_iter().filter(|line| !handshake(line)).collect();
    let recorded: Vec<&str> = recording.lines().collect();
    for (at, (seen, recorded)) in seen.iter().zip(&recorded).enumerate() {
        assert_eq!(seen, recorded, "line {}", at + 1);
    }
    assert_eq!(seen.len(), recorded.len());
}

#[test]
fn ns3_one_loss() {
    assert_same(&ns3(16), include_str!("ns/ns3-one-loss.txt"), 640);
}

#[test]
fn ns3_three_losses() {
    assert_same(&ns3(20), include_str!("ns/ns3-three-losses.txt"), 640);
}

#[test]
fn ns3_losses_at_the_start() {
    assert_same(&ns3(8), include_str!("ns/ns3-early-losses.txt"), 640);
}

#[test]
fn ns3_sends_everything_again_at_the_end() {
    assert_same(&ns3(16), include_str!("ns/ns3-end.txt"), 549);
}

#[test]
fn ns3_timeout() {
    assert_same(&ns3(16), include_str!("ns/ns3-timeout.txt"), 1849);
}

#[test]
fn full_tcp_one_loss() {
    assert_same(&full_tcp(), include_str!("ns/full-tcp-one-loss.txt"), 940);
}

#[test]
fn full_tcp_fast_retransmit_leaves_alone() {
    assert_same(&full_tcp(), include_str!("ns/full-tcp-small-window.txt"), 640);
}

#[test]
fn full_tcp_three_losses_and_two_timeouts() {
    assert_same(&full_tcp(), include_str!("ns/full-tcp-timeouts.txt"), 1_440);
}
