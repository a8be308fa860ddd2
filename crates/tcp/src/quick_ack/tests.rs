//! Expected values: Linux 6.1 observed in virtual time, or arithmetic.

use super::*;

const MSS: u32 = 1448;
/// A window of 45 segments.
const WINDOW: u64 = 65_160;

fn at_micros(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

fn full(state: &mut QuickAck, push: bool, micros: u64) {
    state.data(MSS, push, WINDOW, at_micros(micros));
}

/// A connection without quick acknowledgements left.
fn spent(micros: u64) -> QuickAck {
    let mut state = QuickAck::new(MSS);
    for _ in 0..16 {
        full(&mut state, false, micros);
        state.sent();
    }
    state
}

#[test]
fn sixteen_are_sent_at_once() {
    let mut state = QuickAck::new(MSS);
    for n in 0..16 {
        full(&mut state, false, 121 * n);
        assert!(state.leaves_at_once(), "segment {n}");
        state.sent();
    }
    full(&mut state, false, 121 * 16);
    assert!(!state.leaves_at_once() && !state.leaves_when_read());
}

#[test]
fn half_of_a_small_window_is_sent_at_once_and_two_of_none() {
    // 20 000 / (2 · 1448) = 6.9; 2000 / 2896 = 0.7.
    for (window, acks) in [(20_000, 6), (2_000, 2)] {
        let mut state = QuickAck::new(MSS);
        state.data(MSS, false, window, at_micros(0));
        let sent = (0..16)
            .take_while(|_| {
                state.owe();
                let leaves = state.leaves_at_once();
                state.sent();
                leaves
            })
            .count();
        assert_eq!(sent, acks, "window {window}");
    }
}

#[test]
fn a_delayed_acknowledgement_is_sent_after_40_ms_and_the_rest_of_a_tick() {
    // Observed in Linux: of 17 segments sent together the last, without PSH, is acknowledged
    // 40.5 ms after it arrived in the middle of a tick. Here it arrives 0.56 ms into a tick.
    let mut state = spent(24_560);
    full(&mut state, false, 24_560);
    assert!(state.delay(at_micros(24_560)));
    // tick 24 + 40, plus one because timers never fire early
    assert_eq!(state.deadline(), at_micros(65_000));
    assert!(!state.handle_timeout(at_micros(64_999)));
    assert!(state.handle_timeout(at_micros(65_000)));
    state.sent();
    assert_eq!(state.deadline(), Time::NEVER);
}

#[test]
fn a_timeout_doubles_the_delay_up_to_a_round_trip() {
    let mut state = spent(0);
    state.observe_path(Some(Duration::from_micros(50_060)), Duration::from_millis(251));
    full(&mut state, false, 0);
    assert!(state.delay(at_micros(0)));
    assert!(state.handle_timeout(at_micros(41_000)));
    state.sent();
    // The delay is now 80 ms, and the next segment arrives 75 ms later: 80/2 + 75 = 115. The
    // round-trip time bounds it at 51.
    full(&mut state, false, 75_000);
    assert!(state.delay(at_micros(75_000)));
    assert_eq!(state.deadline(), at_micros(127_000));
    state.sent();
    // Short gaps reduce it: 115/2 + 20 = 77 (also bounded), 38 + 20, 29 + 20, 24 + 20, 42, 41.
    for _ in 0..6 {
        full(&mut state, false, 76_000);
    }
    // 41/2 + 20 = 40
    full(&mut state, false, 76_000);
    assert!(state.delay(at_micros(76_000)));
    assert_eq!(state.deadline(), at_micros(117_000));
}

#[test]
fn an_acknowledgement_due_within_a_quarter_of_the_delay_is_not_delayed_further() {
    let mut state = spent(0);
    full(&mut state, false, 0);
    assert!(state.delay(at_micros(0)));
    // Due at 40 ms: 29 + 10 is earlier, 30 + 10 is not.
    assert!(state.delay(at_micros(29_000)));
    assert_eq!(state.deadline(), at_micros(41_000));
    assert!(!state.delay(at_micros(30_000)));
}

#[test]
fn the_end_of_a_burst_is_acknowledged_when_read() {
    let mut state = spent(0);
    full(&mut state, true, 0);
    assert!(state.leaves_when_read());
    state.sent();
    // A segment smaller than the others ends a burst too, with or without PSH.
    state.data(700, false, WINDOW, at_micros(0));
    assert!(state.leaves_when_read());
}

#[test]
fn two_small_segments_of_equal_size_set_rcv_mss() {
    let mut state = spent(0);
    state.data(1000, false, WINDOW, at_micros(0));
    state.sent();
    state.data(1000, false, WINDOW, at_micros(0));
    assert_eq!(state.rcv_mss(), 1000);
    assert!(!state.leaves_when_read());
}

#[test]
fn a_long_silence_and_reordering_restart_sixteen() {
    let mut state = spent(0);
    // The RTO is one second before any sample.
    full(&mut state, false, 1_000_000);
    assert!(!state.leaves_at_once());
    full(&mut state, false, 2_001_000);
    assert!(state.leaves_at_once());

    let mut state = spent(0);
    state.enter(MAX_QUICK, WINDOW);
    for n in 0..17 {
        assert_eq!(state.leaves_at_once(), n < 16);
        state.owe();
        state.sent();
    }
}

#[test]
fn one_is_sent_at_once_for_each_opening_of_the_window() {
    let mut state = spent(0);
    state.window_grew();
    assert!(state.leaves_at_once());
    state.owe();
    state.sent();
    assert!(!state.leaves_at_once());
}

#[test]
fn answers_piggyback_acknowledgements_until_one_is_late() {
    let mut state = QuickAck::new(MSS);
    full(&mut state, true, 0);
    state.sent();
    state.data_sent(at_micros(1_000));
    full(&mut state, true, 50_000);
    assert!(!state.leaves_at_once() && !state.leaves_when_read());
    assert!(state.delay(at_micros(50_000)));
    assert!(state.handle_timeout(at_micros(91_000)));
    state.sent();
    full(&mut state, true, 100_000);
    assert!(state.leaves_at_once());
}
