use super::{MSS, Play};
use crate::window::{Cause, EpisodeKind, Evidence};

/// Ten segments, of which segment 0 is lost; 1, 2, 3 are selectively acknowledged.
fn three_duplicates(play: &mut Play) {
    play.send(0.0, 0, 10);
    play.sack(100.0, 0, &[1]);
    play.sack(101.0, 0, &[2]);
    play.sack(102.0, 0, &[3]);
}

#[test]
fn the_third_duplicate_is_a_fast_retransmit_and_what_follows_is_by_sack() {
    let mut play = Play::new();
    three_duplicates(&mut play);
    play.send(102.0, 0, 1);
    play.sack(103.0, 0, &[3, 5]);
    play.send(103.0, 4, 5);
    play.sack(202.0, 4, &[5, 6, 7, 8, 9]);
    play.ack(203.0, 10);
    let losses = play.report().losses;
    assert_eq!((losses.causes.segments, losses.causes.fast, losses.causes.sack), (2, 1, 1));
    assert_eq!(losses.spurious.segments, 0);
    let [episode] = losses.episodes[..] else { panic!("{:?}", losses.episodes) };
    assert_eq!(episode.kind, EpisodeKind::Recovery);
    assert_eq!((episode.begin_s, episode.end_s), (0.102, Some(0.203)));
    assert_eq!((episode.flight_before_bytes, episode.lost_segments), (10_000, 2));
}

#[test]
fn without_sack_partial_acknowledgements_send_the_next_hole() {
    let mut play = Play::without_sack();
    play.send(0.0, 0, 10);
    for duplicate in 0..3 {
        play.ack(100.0 + f64::from(duplicate), 0);
    }
    play.send(102.0, 0, 1);
    play.ack(202.0, 5);
    play.send(202.0, 5, 6);
    play.ack(302.0, 10);
    let losses = play.report().losses;
    assert_eq!((losses.causes.fast, losses.causes.partial_ack), (1, 1));
    assert_eq!(losses.causes.segments, 2);
}

#[test]
fn fewer_than_three_selective_acknowledgements_are_of_rack() {
    // RFC 8985 section 6.2: a segment sent long after it was delivered.
    let mut play = Play::new();
    play.send(0.0, 0, 1);
    play.send(50.0, 1, 2);
    play.sack(150.0, 0, &[1]);
    play.send(150.0, 0, 1);
    play.ack(250.0, 2);
    assert_eq!(play.report().losses.causes.sack, 1);
}

#[test]
fn the_timer_of_rack_ends_a_short_silence() {
    // A quarter of the round trip after the acknowledgement, and nothing has come.
    let mut play = Play::new();
    play.send(0.0, 0, 3);
    play.sack(100.0, 0, &[1]);
    play.send(125.0, 0, 1);
    assert_eq!(play.report().losses.causes.sack, 1);
}

#[test]
fn timeouts_double_and_slow_start_follows() {
    let mut play = Play::new();
    play.send(0.0, 0, 4);
    // Nothing comes back; the timer of 300 ms expires three times: at 300, 900 and 2100 ms.
    play.send(300.0, 0, 1);
    play.send(900.0, 0, 1);
    play.send(2100.0, 0, 1);
    play.ack(2200.0, 1);
    play.send(2200.0, 1, 3);
    play.ack(2300.0, 3);
    play.send(2300.0, 3, 4);
    play.ack(2400.0, 4);
    let losses = play.report().losses;
    assert_eq!((losses.causes.timeout, losses.causes.after_timeout), (3, 3));
    let timers: Vec<_> = losses
        .list
        .iter()
        .filter_map(|one| one.timer_s.map(|timer_s| (timer_s, one.backoffs)))
        .collect();
    assert_eq!(timers, [(0.3, 0), (0.6, 1), (1.2, 2)]);
    assert_eq!((losses.longest_timeout_s, losses.most_backoffs), (Some(1.2), 2));
    let [episode] = losses.episodes[..] else { panic!("{:?}", losses.episodes) };
    assert_eq!((episode.kind, episode.timeouts), (EpisodeKind::Timeout, 3));
    assert_eq!((episode.retransmitted_segments, episode.end_s), (6, Some(2.4)));
    assert_eq!(episode.backoff_ratio, None);
}

#[test]
fn a_probe_of_the_tail_sends_the_newest_segment() {
    // RFC 8985 section 7.2: two round trips after the last segment.
    let mut play = Play::new();
    play.send(0.0, 0, 5);
    play.ack(100.0, 3);
    play.send(300.0, 4, 5);
    play.sack(400.0, 3, &[4]);
    play.send(400.0, 3, 4);
    play.ack(500.0, 5);
    let losses = play.report().losses;
    assert_eq!((losses.causes.tail_loss_probe, losses.causes.sack), (1, 1));
    assert_eq!((losses.list[0].timer_s, losses.list[0].backoffs), (Some(0.2), 0));
}

#[test]
fn a_timeout_after_a_probe_is_not_doubled() {
    let mut play = Play::new();
    play.send(0.0, 0, 2);
    play.send(200.0, 1, 2);
    play.send(500.0, 0, 1);
    play.send(1100.0, 0, 1);
    let losses = play.report().losses;
    assert_eq!((losses.causes.tail_loss_probe, losses.causes.timeout), (1, 2));
    let backoffs: Vec<u32> = losses.list.iter().map(|one| one.backoffs).collect();
    assert_eq!(backoffs, [0, 0, 1]);
}

#[test]
fn the_only_segment_that_is_outstanding_is_probed_or_timed_out_as_what_follows_shows() {
    // A probe after 300 ms, and then a timeout of 300 ms: not doubled, and so it was a probe.
    let mut play = Play::new();
    play.send(0.0, 0, 1);
    play.send(300.0, 0, 1);
    play.send(600.0, 0, 1);
    let causes = play.report().losses.causes;
    assert_eq!((causes.tail_loss_probe, causes.timeout), (1, 1));
    // After 300 ms, and 600 ms after that: doubled, and so both are timeouts.
    let mut play = Play::new();
    play.send(0.0, 0, 1);
    play.send(300.0, 0, 1);
    play.send(900.0, 0, 1);
    let losses = play.report().losses;
    assert_eq!((losses.causes.tail_loss_probe, losses.causes.timeout), (0, 2));
    assert_eq!(losses.list[0].cause, Cause::Timeout);
    assert_eq!((losses.episodes[0].begin_s, losses.episodes[0].timeouts), (0.3, 2));
    // Without SACK there are no probes.
    let mut play = Play::without_sack();
    play.send(0.0, 0, 1);
    play.send(300.0, 0, 1);
    assert_eq!(play.report().losses.causes.timeout, 1);
}

#[test]
fn a_duplicate_that_the_receiver_reports_was_for_nothing() {
    let mut play = Play::new();
    three_duplicates(&mut play);
    play.send(102.0, 0, 1);
    // The original was late: acknowledged at 200 ms, more than 3/4 of a round trip later.
    play.ack(200.0, 10);
    assert_eq!(play.report().losses.spurious.segments, 0);
    play.answer(202.0, 10, &[], Some(0), None);
    let losses = play.report().losses;
    assert_eq!((losses.spurious.segments, losses.spurious.by_dsack), (1, 1));
    assert_eq!(losses.list[0].spurious, Some(Evidence::Dsack));
    assert!(losses.episodes[0].is_spurious);
    assert_eq!(losses.episodes[0].lost_segments, 0);
}

#[test]
fn a_duplicate_without_a_retransmission_is_of_the_network() {
    let mut play = Play::new();
    play.send(0.0, 0, 2);
    play.ack(100.0, 2);
    play.answer(101.0, 2, &[], Some(1), None);
    let losses = play.report().losses;
    assert_eq!((losses.unexplained_duplicates, losses.spurious.segments), (1, 0));
}

#[test]
fn an_echo_of_the_original_shows_that_it_had_arrived() {
    // Values 1 and 2 in milliseconds of the sender's clock; RFC 3522 section 3.2 step 4.
    let mut play = Play::new();
    for segment in 0..4 {
        play.send_one(0.0, segment, MSS, Some((1000, 5)));
    }
    play.send_one(300.0, 0, MSS, Some((1300, 5)));
    play.answer(380.0, 4, &[], None, Some((500, 1000)));
    let losses = play.report().losses;
    assert_eq!((losses.causes.timeout, losses.spurious.by_timestamps), (1, 1));
    // The echo of what was sent again shows nothing.
    let mut play = Play::new();
    for segment in 0..4 {
        play.send_one(0.0, segment, MSS, Some((1000, 5)));
    }
    play.send_one(300.0, 0, MSS, Some((1300, 5)));
    play.answer(400.0, 4, &[], None, Some((500, 1300)));
    assert_eq!(play.report().losses.spurious.segments, 0);
}

#[test]
fn new_acknowledgements_after_a_timeout_show_that_it_was_for_nothing() {
    // RFC 5682 section 2.1: the second acknowledgement is for what was not sent again.
    let mut play = Play::without_sack();
    play.send(0.0, 0, 6);
    play.send(300.0, 0, 1);
    play.ack(380.0, 1);
    play.send(380.0, 6, 8);
    play.ack(381.0, 2);
    let losses = play.report().losses;
    assert_eq!((losses.spurious.by_frto, losses.spurious.segments), (1, 1));
    // A duplicate instead: the segments behind are lost too.
    let mut play = Play::without_sack();
    play.send(0.0, 0, 6);
    play.send(300.0, 0, 1);
    play.ack(400.0, 1);
    play.send(400.0, 6, 8);
    play.ack(500.0, 1);
    assert_eq!(play.report().losses.spurious.by_frto, 0);
}

#[test]
fn what_is_acknowledged_too_soon_was_for_nothing() {
    // 10 ms after it was sent again, where the least round trip is 100 ms.
    let mut play = Play::new();
    three_duplicates(&mut play);
    play.send(102.0, 0, 1);
    play.ack(112.0, 10);
    assert_eq!(play.report().losses.spurious.by_early_ack, 1);
    // And what was acknowledged before it was sent.
    let mut play = Play::new();
    play.send(0.0, 0, 4);
    play.ack(100.0, 4);
    play.send(101.0, 3, 4);
    let losses = play.report().losses;
    assert_eq!((losses.spurious.already_acked, losses.spurious.segments), (1, 1));
}
