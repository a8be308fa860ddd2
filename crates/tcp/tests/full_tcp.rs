//! The preset `full-tcp` beside the simulator itself: segment for segment, to the millisecond, on a path
//! of 50 ms each way without a rate to speak of (100 Gbit/s).
//!
//! `full_tcp_recordings` were recorded with ns-2.35 (two `Agent/TCP/FullTcp`, segsize_ 1000, window_
//! 100, an `ErrorModel/List`).

use crate::script::{Script, preset};
use fairway_tcp::Stack;

fn full_tcp() -> Stack {
    preset("full-tcp").with(|s| s.window.initial_ssthresh = Some(100))
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
fn full_tcp_one_loss() {
    assert_same(&full_tcp(), include_str!("full_tcp_recordings/one-loss.txt"), 940);
}

#[test]
fn full_tcp_fast_retransmit_leaves_alone() {
    assert_same(&full_tcp(), include_str!("full_tcp_recordings/small-window.txt"), 640);
}

#[test]
fn full_tcp_three_losses_and_two_timeouts() {
    assert_same(&full_tcp(), include_str!("full_tcp_recordings/timeouts.txt"), 1_440);
}
