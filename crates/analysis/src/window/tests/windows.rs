use fairway_units::Duration;

use super::{MSS, Play};
use crate::window::{Phase, Position, SlowStartEnd};

/// Plays rounds of `windows` segments each, one acknowledgement for every segment, spread over
/// half the round trip of 100 ms.
fn rounds(play: &mut Play, windows: &[usize]) {
    let (mut acked, mut next, mut at) = (0, windows[0], 0.0);
    play.send(0.0, 0, next);
    for pair in windows.windows(2) {
        let [now, then] = [pair[0], pair[1]];
        at += 100.0;
        let mut grown = 0;
        for segment in 0..now {
            acked += 1;
            let heard = at + 50.0 * segment as f64 / now as f64;
            play.ack(heard, acked);
            let grow = (then - now) * (segment + 1) / now - grown;
            grown += grow;
            play.send(heard, next, next + 1 + grow);
            next += 1 + grow;
        }
    }
    // Where the sender has stopped shows with the next acknowledgement.
    play.ack(at + 100.0, acked + 1);
}

#[test]
fn the_window_of_slow_start_doubles_and_ends_where_growth_ends() {
    let mut play = Play::new();
    rounds(&mut play, &[10, 20, 40, 80, 81, 82, 83, 84]);
    let report = play.report();
    assert_eq!(report.initial_window_bytes, Some(10_000));
    assert_eq!(report.max_cwnd_bytes, Some(84_000));
    let slow_start = report.slow_start.expect("it ended");
    assert_eq!(slow_start.by, SlowStartEnd::Growth);
    // The last doubling ends at 350 ms; half a window later it is seen that it has ended.
    assert!((0.35..=0.46).contains(&slow_start.end_s), "{slow_start:?}");
    assert!((80_000..=81_000).contains(&slow_start.cwnd_bytes), "{slow_start:?}");
    assert_eq!(report.series.phase.last(), Some(&Phase::CongestionAvoidance));
    assert_eq!(report.series.cwnd_bytes.last(), Some(&Some(84_000)));
}

#[test]
fn a_recovery_that_halves_has_a_ratio_of_a_half() {
    let mut play = Play::new();
    play.send(0.0, 0, 20);
    // Segment 0 is lost; 1 to 19 arrive. The window of 20 becomes 10.
    for segment in 1..20usize {
        let sacked: Vec<usize> = (1..=segment).collect();
        play.sack(100.0 + segment as f64, 0, &sacked);
        if segment == 3 {
            play.send(103.0, 0, 1);
        }
        // What is in the network is 20 less what is sacked, and the lost one was sent again: 10
        // are left when 10 are sacked, and each one after that is answered.
        if segment > 10 {
            play.send(100.0 + segment as f64, segment + 9, segment + 10);
        }
    }
    play.sack(203.0, 20, &[]);
    play.send(203.0, 29, 30);
    for segment in 20..60usize {
        let at = 210.0 + 10.0 * (segment - 20) as f64;
        play.ack(at, segment + 1);
        play.send(at, segment + 10, segment + 11);
    }
    let losses = play.report().losses;
    let [episode] = losses.episodes[..] else { panic!("{:?}", losses.episodes) };
    assert_eq!(episode.cwnd_before_bytes, Some(20_000));
    assert_eq!(episode.cwnd_after_bytes, Some(10_000));
    assert_eq!(episode.backoff_ratio, Some(0.5));
}

#[test]
fn in_the_middle_acknowledgements_count_when_they_reach_the_sender() {
    // 60 ms from the capture to the sender and back, 40 ms to the receiver and back. A window of
    // 10 segments, one after the other every 10 ms, always full: at the capture, only 10 less the
    // 6 that are on the sender's side look as if they were in flight.
    let mut play = Play::new();
    play.flow.sender_rtt = Some(Duration::from_millis(60));
    play.flow.receiver_rtt = Some(Duration::from_millis(40));
    play.flow.min_rtt = Some(Duration::from_millis(40));
    play.flow.srtt = Some(Duration::from_millis(40));
    for next in 0..200usize {
        let at = 10.0 * next as f64;
        if next >= 4 {
            play.ack(at, next - 3);
        }
        play.send(at, next, next + 1);
    }
    let report = play.report();
    assert_eq!(report.vantage.position, Position::Middle);
    assert_eq!(report.vantage.sender_rtt_s, Some(0.060));
    let cwnd = report.series.cwnd_bytes[report.series.cwnd_bytes.len() / 2];
    assert_eq!(cwnd, Some(10 * u64::from(MSS)));
}

#[test]
fn the_series_is_bounded_and_keeps_the_largest_flight() {
    let mut play = Play::new();
    for segment in 0..10_000usize {
        let at = 7.0 * segment as f64;
        play.send(at, segment, segment + 1);
        play.ack(at + 3.0, segment + 1);
    }
    let series = play.report().series;
    assert!(series.t_s.len() <= 2048);
    // 70 s in at most 2048 intervals of 1, 2, 4, … ms: 64 ms.
    assert_eq!(series.interval_s, 0.064);
    assert!(series.flight_bytes.iter().all(|bytes| *bytes == 1000));
}
