//! Recovery of ns-2.35's TCP-Linux, whose facts were read from `tcp/tcp-linux.cc`,
//! `tcp/scoreboard1.cc` and packet traces of ns-2.35.
//!
//! Reno of Linux 2.6.22 in these tests: the threshold is half of the window, and the window during
//! recovery half of that (`tcp_reno_min_cwnd`). Threshold 1 at the start, so that the window only
//! grows by congestion avoidance; no limit on bursts, so that what limits is recovery.

use crate::script::{Script, preset, witness::Asks};
use fairway_cc::Needs;
use fairway_tcp::Stack;

fn tcp_linux(window: u32) -> Stack {
    preset("ns2-tcp-linux").with(|s| {
        s.window.initial_window = window;
        s.window.initial_ssthresh = Some(1);
        s.sending.max_burst = None;
    })
}

/// Twenty segments leave at 100 ms, and some are lost.
fn twenty_in_flight(lost: &[&str]) -> Script {
    let mut t = Script::new(&tcp_linux(20));
    for segment in lost {
        t.lose(segment);
    }
    t.open(1_000_000);
    t.look(199);
    t
}

#[test]
fn the_fourth_segment_above_makes_the_loss_and_every_acknowledgement_sends_one() {
    // Segments 1 to 3 SACKed: the flight falls and 20, 21, 22 leave (there is no Disorder). The
    // SACK of 4 makes 0 lost: 18 of 23 are in flight, ssthresh = 10, cwnd = 5. Flight may rise by
    // one, to 19, with the retransmission; each of the fifteen acknowledgements that follow
    // (5 to 19) lets it fall by one and rise again: 23 to 37.
    let mut t = twenty_in_flight(&["> 0..1000"]);
    t.expect(
        200,
        "200 > 20000..23000 (3)
         200 > 0..1000 again
         200 > 23000..38000 (15)",
    );
    assert_eq!((t.window(), t.source.sender().pipe()), ((5, 10), 19_000));
}

#[test]
fn recovery_ends_at_the_threshold_but_no_more_than_three_above_flight() {
    // At 300 ms the SACKs of 20 to 22 send 38 to 40. The retransmission brings the
    // acknowledgement of 23 000, the recovery point: 23 to 40 are in flight, so cwnd is
    // min(10, 18 + 3) = 10.
    // That is not above ssthresh, so the next acknowledgement is one of slow start (Linux 2.6.22
    // compares with ≤): 11, and what recovery had acknowledged is forgotten. Nothing leaves before
    // flight, 18, has come down to 10 at the eighth, which sends 41; the ninth to eleventh send one
    // each. Eleven more segments acknowledged make the window 12 at the twelfth, which sends two;
    // the three up to the fifteenth (38 000) send one each: 41 to 49.
    let mut t = twenty_in_flight(&["> 0..1000"]);
    t.run(250);
    t.look(299);
    t.expect(300, "300 > 38000..50000 (12)");
    assert_eq!((t.window(), t.source.sender().pipe()), ((12, 10), 12_000));
}

#[test]
fn recovery_that_leaves_little_in_flight_ends_three_above_it() {
    // Only 24 segments: after the retransmission 23 leaves, and nothing is left. The recovery point
    // is 23 000, and then 23 alone is in flight: min(10, 1 + 3). Its acknowledgement finds 1 in
    // flight, less than the window, and does not grow it.
    let mut t = Script::new(&tcp_linux(20));
    t.lose("> 0..1000");
    t.open(24_000);
    t.run(200);
    assert_eq!(t.window(), (5, 10));
    t.run(300);
    assert_eq!((t.window(), t.received()), ((4, 10), 24_000));
}

#[test]
fn what_is_lost_in_recovery_costs_no_second_reduction() {
    // Segments 0 and 10 are lost: 10 when 14 is SACKed, in recovery. Flight falls by that one
    // segment and is conserved below.
    let mut t = twenty_in_flight(&["> 0..1000", "> 10000..11000"]);
    t.run(200);
    assert_eq!((t.window(), t.source.counters().reductions), ((5, 10), 1));
    t.run(1_000);
    let counters = t.source.counters();
    assert_eq!((counters.reductions, counters.retransmissions, counters.timeouts), (1, 2, 0));
}

#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    // Segment 0 is lost, and its retransmission at 200 ms. Segment 23 left right after it: its SACK
    // at 300 ms says so, without a threshold, and without another reduction.
    let mut t = twenty_in_flight(&["> 0..1000", "> 0..1000 again"]);
    t.run(300);
    assert_eq!(t.source.counters().retransmissions, 2);
    t.run(1_000);
    let counters = t.source.counters();
    assert_eq!((counters.reductions, counters.retransmissions, counters.timeouts), (1, 2, 0));
}

#[test]
fn every_timeout_asks_for_a_new_threshold() {
    // Everything is lost, and the first retransmission too: from 20 to 10, then from 1 to 2, the
    // least. (The RFCs keep 10.) The timer had one sample of 100 ms: 100 + 4 · 50 = 300 ms, then 600.
    let mut t = Script::new(&tcp_linux(20));
    for n in 0..20 {
        t.lose(&format!("> {}..{}", n * 1000, (n + 1) * 1000));
    }
    t.lose("> 0..1000 again");
    t.open(20_000);
    t.run(400);
    assert_eq!((t.window(), t.source.counters().timeouts), ((1, 10), 1));
    t.look(400);
    t.expect(
        1_050,
        "1000 > 0..1000 again
         1050 < ack 1000",
    );
    assert_eq!((t.window(), t.source.counters().timeouts), ((1, 2), 2));
}

#[test]
fn every_acknowledgement_restarts_the_timer() {
    // RFC 6298 rule 5.3 restarts it for new data only. Segment 0 and its retransmission are lost,
    // so none is acknowledged, and the timer that began at 100 ms would have expired at 400 ms (or
    // 500, from the retransmission). The duplicates of 20 to 22 come until 300 ms.
    let mut t = Script::new(&tcp_linux(20));
    t.lose("> 0..1000");
    t.lose("> 0..1000 again");
    t.open(23_000);
    let at_300_ms = fairway_units::Time::from_nanos(300_000_000);
    t.run(300);
    let left = t.source.sender().deadline().since(at_300_ms);
    // After more samples of 100 ms the timeout is between the minimum of 200 ms and the first, 300.
    assert!((200..=300).contains(&left.as_millis()), "{left}");
    t.run(2_000);
    assert_eq!((t.received(), t.source.counters().timeouts), (23_000, 1));
}

/// When round trips were told, and how long they were, in milliseconds: of acknowledgements that
/// acknowledged this much. Segments 0 and 10 of twenty are lost.
fn round_trips(needs: Needs, acked: u64) -> Vec<(u64, Option<u64>)> {
    let asks = Asks { needs, ..Asks::default() };
    let (mut t, notes) = Script::asking(&tcp_linux(20), &asks);
    t.lose("> 0..1000");
    t.lose("> 10000..11000");
    t.open(1_000_000);
    t.run(300);
    let acks = notes.acks().into_iter().filter(|(ack, _)| ack.acked == acked);
    acks.map(|(ack, flow)| (flow.now.as_millis(), ack.rtt.map(|rtt| rtt.as_millis()))).collect()
}

#[test]
fn the_send_time_of_the_last_segment_acknowledged_counts_though_it_was_sacked_long_before() {
    // The retransmission of 0 left at 200 ms; it acknowledges up to 10, and 9 left at 100 ms. SACKs alone
    // tell no round trip.
    assert_eq!(round_trips(Needs::SEND_TIMES, 10_000), [(300, Some(200))]);
    assert!(round_trips(Needs::SEND_TIMES, 0)[1..].iter().all(|told| told.1.is_none()));
    assert_eq!(round_trips(Needs::default(), 10_000), [(300, Some(100))]);
    assert!(round_trips(Needs::default(), 0).iter().all(|told| told.1 == Some(100)));
}

#[test]
fn the_syn_is_a_round_trip_to_modules_that_ask_for_times_of_sending() {
    assert_eq!(round_trips(Needs::SEND_TIMES, 0)[0], (100, Some(100)));
    assert_eq!(round_trips(Needs::default(), 0)[0].0, 200);
}

#[test]
fn at_most_two_segments_leave_for_an_acknowledgement() {
    // Agent/TCP/Linux with maxburst_ 2: a window of twenty opens two by two.
    let mut t = Script::new(&tcp_linux(20).with(|s| s.sending.max_burst = Some(2)));
    t.open(1_000_000);
    t.look(99);
    t.expect(100, "100 > 0..2000 (2)");
    t.look(199);
    t.expect(200, "200 > 2000..6000 (4)");
    t.look(299);
    t.expect(300, "300 > 6000..14000 (8)");
}
