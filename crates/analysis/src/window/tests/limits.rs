use super::{MSS, Play};
use crate::window::{LimitedBy, Position};

/// Shares of six limits, in hundredths.
fn hundredths(play: &Play) -> [u32; 6] {
    let shares = play.report().limits;
    [
        shares.receive_window,
        shares.congestion_window,
        shares.constant_window,
        shares.application,
        shares.pacing,
        shares.timeout,
    ]
    .map(|share| (share * 100.0).round() as u32)
}

#[test]
fn a_sender_that_answers_acknowledgements_waits_for_its_window() {
    let mut play = Play::new();
    let (mut next, mut at) = (10, 0.0);
    play.send(at, 0, 10);
    // Slow start: 10, 20, 40, 80 segments; a round trip passes before each.
    for round in 0..3u32 {
        at += 100.0;
        let window = 10 << round;
        for segment in next - window..next {
            play.ack(at, segment + 1);
        }
        play.send(at, next, next + 2 * window);
        next += 2 * window;
    }
    // All three waits are of the congestion window.
    assert_eq!(hundredths(&play), [0, 100, 0, 0, 0, 0]);
    let report = play.report();
    assert_eq!(report.limit, Some(LimitedBy::CongestionWindow));
    assert!(report.limited_by.contains("still in slow start"), "{}", report.limited_by);
    assert_eq!(report.vantage.position, Position::Sender);
}

#[test]
fn a_receive_window_without_room_is_what_it_waits_for() {
    // A window of 5 segments, full in every round.
    let mut play = Play::new();
    play.flow.window_bytes = 5000;
    play.send(0.0, 0, 1);
    play.ack(100.0, 1);
    let mut next = 6;
    play.send(100.0, 1, 6);
    for round in 1..=9 {
        let at = 100.0 + 100.0 * f64::from(round);
        play.ack(at, next);
        play.send(at, next, next + 5);
        next += 5;
    }
    // 100 ms of the first segment by the congestion window, 900 ms by the receive window.
    assert_eq!(hundredths(&play), [90, 10, 0, 0, 0, 0]);
    assert!(play.report().limited_by.starts_with("the receive window, of 5000 bytes"));
}

#[test]
fn a_closed_window_counts_once_and_as_long_as_it_is_closed() {
    let mut play = Play::new();
    play.send(0.0, 0, 5);
    play.flow.window_bytes = 0;
    play.ack(100.0, 5);
    play.ack(150.0, 5);
    play.flow.window_bytes = 50_000;
    play.ack(400.0, 5);
    let window = play.report().receive_window;
    assert_eq!((window.zero_windows, window.zero_window_s), (1, 0.3));
    assert_eq!((window.min_bytes, window.max_bytes), (Some(0), Some(50_000)));
}

#[test]
fn an_application_that_sends_small_segments_now_and_then_is_the_limit() {
    let mut play = Play::new();
    for message in 0..10usize {
        let at = 500.0 * message as f64;
        play.send_one(at, message, 300, None);
        play.ack(at + 100.0, message + 1);
    }
    assert_eq!(hundredths(&play), [0, 0, 0, 100, 0, 0]);
    assert_eq!(
        play.report().limited_by,
        "the application, which had nothing to send (100 % of the time)"
    );
}

#[test]
fn full_segments_at_an_even_pace_are_paced() {
    // A segment every 10 ms, and acknowledgements 5 ms off them.
    let mut play = Play::new();
    for segment in 0..200usize {
        let at = 10.0 * segment as f64;
        if segment >= 10 {
            play.ack(at - 5.0, segment - 9);
        }
        play.send(at, segment, segment + 1);
    }
    let shares = hundredths(&play);
    assert!(shares[4] > 95, "{shares:?}");
}

#[test]
fn a_window_that_stays_the_same_is_told_from_one_that_grows() {
    // 20 segments in flight in each of 30 rounds, one for one.
    let mut play = Play::new();
    play.send(0.0, 0, 20);
    for segment in 0..600usize {
        let at = 100.0 + 5.0 * segment as f64;
        play.ack(at, segment + 1);
        play.send(at, segment + 20, segment + 21);
    }
    let shares = hundredths(&play);
    assert!(shares[2] > 95, "{shares:?}");
    assert!(play.report().limited_by.starts_with("a window that stays at 20 segments"));
}

#[test]
fn a_constant_window_that_fills_the_receive_window_is_the_receive_window() {
    // 40 segments in flight, two at a time, where 41.5 have room: one more would fit.
    let mut play = Play::new();
    play.flow.window_bytes = 41_500;
    play.send(0.0, 0, 40);
    for pair in 0..400usize {
        let at = 100.0 + 5.0 * pair as f64;
        play.ack(at, 2 * pair + 2);
        play.send(at, 2 * pair + 40, 2 * pair + 42);
    }
    let shares = hundredths(&play);
    // The first wait, of 100 ms in 2095, ends before a round is over.
    assert!(shares[0] >= 95, "{shares:?}");
}

#[test]
fn a_timeout_is_a_wait_for_a_timer() {
    let mut play = Play::new();
    play.send(0.0, 0, 4);
    play.send(300.0, 0, 1);
    play.ack(400.0, 4);
    play.send(400.0, 4, 6);
    // 300 ms for the timer, 100 ms for the window that is one segment.
    assert_eq!(hundredths(&play), [0, 25, 0, 0, 0, 75]);
}

#[test]
fn nothing_is_said_of_a_single_segment() {
    let mut play = Play::new();
    play.send_one(0.0, 0, MSS, None);
    let report = play.report();
    assert_eq!(report.limit, None);
    assert!(report.limited_by.starts_with("nothing to tell by"));
}
