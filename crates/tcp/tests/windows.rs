//! What may leave when nothing is lost: initial window and slow start, delayed acknowledgements,
//! limits by the receiver, the buffers and the application, idle periods, and ECN.

use crate::script::{Script, preset, rfc};
use fairway_tcp::{DelayedAck, EcnMode, PRESETS, Stack};
use fairway_units::Duration;

/// Segments that leave the source in each of the first `rounds` round trips.
fn segments_by_round(stack: &Stack, rounds: u64) -> Vec<u64> {
    let mut t = Script::new(stack);
    t.open(1 << 40);
    t.run(99);
    let mut before = 0;
    (1..=rounds)
        .map(|round| {
            t.run(100 * round + 99);
            let sent = t.source.counters().segments;
            sent - std::mem::replace(&mut before, sent)
        })
        .collect()
}

#[test]
fn slow_start_of_every_preset_as_it_is() {
    // The presets as they stand, their own segment sizes included.
    let rounds = |name: &str| {
        let preset = PRESETS.iter().find(|preset| preset.name == name).expect("a preset");
        segments_by_round(&(preset.stack)(), 4)
    };
    // RFC 5681 section 3.1: three segments of 1460 bytes. The sink acknowledges the first two
    // together, which sends four; with the third pending, the next acknowledgements are for
    // segments 2 and 3, 4 and 5, and 6 is pending: eight; and so on.
    assert_eq!(rounds("rfc5681"), [3, 4, 8, 16]);
    // RFC 6928: ten, acknowledged two by two: doubled.
    assert_eq!(rounds("linux-6.1"), [10, 20, 40, 80]);
    // ns-2.35 TCP-Linux: two, each acknowledged: doubled.
    assert_eq!(rounds("ns2-tcp-linux"), [2, 4, 8, 16]);
}

#[test]
fn slow_start_doubles_and_congestion_avoidance_adds_one() {
    // RFC 5681 section 3.1, an acknowledgement for each segment.
    assert_eq!(segments_by_round(&rfc(3), 5), [3, 6, 12, 24, 48]);
    let to_eight = rfc(4).with(|s| s.window.initial_ssthresh = Some(8));
    assert_eq!(segments_by_round(&to_eight, 5), [4, 8, 9, 10, 11]);
}

#[test]
fn every_second_segment_is_acknowledged_and_the_odd_one_after_a_while() {
    // RFC 1122 section 4.2.3.2, RFC 5681 section 4.2.
    let delayed = DelayedAck::Counted { timeout: Duration::from_millis(200) };
    let mut t = Script::new(&rfc(5).with(|s| s.acks.delayed_ack = delayed));
    t.open(5_000);
    t.look(149);
    t.expect(
        350,
        "150 < ack 2000
         150 < ack 4000
         350 < ack 5000",
    );
    // Out-of-order data, and data that fills a gap, are acknowledged at once.
    t.run(500);
    t.lose("> 5000..6000");
    t.write(2_000);
    t.look(500);
    t.expect(550, "550 < ack 5000 sack 6000-7000");
}

#[test]
fn a_small_receive_window_is_held() {
    // Four segments fit; the window of ten neither counts nor grows: less than half is used.
    let sink = rfc(10).with(|s| s.buffers.receive_buffer = 4_000);
    let mut t = Script::between(&rfc(10), &sink, [1000, 5000]);
    t.open(12_000);
    t.look(99);
    t.expect(100, "100 > 0..4000 (4)");
    t.look(199);
    t.expect(200, "200 > 4000..8000 (4)");
    t.look(299);
    t.expect(300, "300 > 8000..12000 (4)");
    assert_eq!(t.window().0, 10);
}

#[test]
fn no_small_segment_is_sent_because_the_window_ends() {
    // RFC 9293 section 3.8.6.2.1: 2500 bytes of window are two segments.
    let sink = rfc(10).with(|s| s.buffers.receive_buffer = 2_500);
    let mut t = Script::between(&rfc(10), &sink, [1000, 5000]);
    t.open(10_000);
    t.look(99);
    t.expect(100, "100 > 0..2000 (2)");
    t.look(199);
    t.expect(200, "200 > 2000..4000 (2)");
}

#[test]
fn a_window_below_a_segment_is_used_as_it_is() {
    let sink = rfc(10).with(|s| {
        s.buffers.receive_buffer = 1_000;
        s.buffers.window_divisor = 4;
    });
    let mut t = Script::between(&rfc(10), &sink, [1000, 5000]);
    t.open(600);
    t.look(99);
    t.expect(
        300,
        "100 > 0..250
         150 < ack 250
         200 > 250..500
         250 < ack 500
         300 > 500..600",
    );
}

#[test]
fn the_send_buffer_limits_what_is_unacknowledged() {
    let mut t = Script::new(&rfc(10).with(|s| s.buffers.send_buffer = 5_000));
    t.open(15_000);
    t.look(99);
    t.expect(100, "100 > 0..5000 (5)");
    t.look(199);
    t.expect(200, "200 > 5000..10000 (5)");
    // Half of the window was used, no more: 5 · 2 is not above 10.
    assert_eq!(t.window().0, 10);
}

#[test]
fn a_slow_application_does_not_open_the_window() {
    // RFC 7661 section 4.1 as a rule: one segment a round trip in a window of ten.
    let mut t = Script::new(&rfc(10));
    t.open(0);
    for round in 1..=20 {
        t.run(100 * round);
        t.write(1_000);
    }
    t.run(3_000);
    assert_eq!((t.received(), t.window()), (20_000, (10, 0)));
}

#[test]
fn a_slow_writer_sends_small_segments_one_at_a_time() {
    // Nagle's algorithm (RFC 9293 section 3.7.4): no second small segment while one is out; what
    // was written meanwhile leaves with the acknowledgement.
    let mut t = Script::new(&rfc(10));
    t.open(100);
    t.run(110);
    t.write(100);
    t.run(120);
    t.write(100);
    t.look(120);
    t.expect(
        250,
        "150 < ack 100
         200 > 100..300
         250 < ack 300",
    );
    // Full segments do not wait, and the end of the data does not either.
    t.write(1_100);
    t.close();
    t.expect(
        300,
        "250 > 300..1400 (2)
         250 > fin 1400
         300 < ack 1300
         300 < ack 1400
         300 < ack 1401",
    );
}

#[test]
fn a_window_is_not_kept_through_a_long_idle_period() {
    // RFC 5681 section 4.1: after more than an RTO (1 s here) no more than the restart window, the
    // initial one. Before, 3 and then 6 segments are sent: the window is 6, and of the last six
    // acknowledgements the first finds it full (7), the second more than half of it used (5 of 7),
    // so 8; the third does not (4 of 8).
    for (slow_start_after_idle, window) in [(true, 3), (false, 8)] {
        let mut t =
            Script::new(&rfc(3).with(|s| s.window.slow_start_after_idle = slow_start_after_idle));
        t.open(9_000);
        t.look(10_000);
        assert_eq!(t.window().0, 8);
        t.write(20_000);
        t.expect(10_000, &format!("10000 > 9000..{} ({window})", 9_000 + window * 1000));
    }
}

#[test]
fn a_window_is_kept_through_a_short_idle_period() {
    let mut t = Script::new(&rfc(3));
    t.open(9_000);
    t.run(1_100);
    t.write(20_000);
    assert_eq!(t.window().0, 8);
}

#[test]
fn a_burst_limit_holds_for_each_event() {
    // Twenty in the window, at most three for each acknowledgement and each write.
    let mut t = Script::new(&rfc(20).with(|s| s.sending.max_burst = Some(3)));
    t.open(40_000);
    t.look(99);
    t.expect(100, "100 > 0..3000 (3)");
    t.look(199);
    t.expect(200, "200 > 3000..12000 (9)");
}

#[test]
fn a_congestion_mark_is_echoed_and_answered_once_a_window() {
    // RFC 3168 section 6.1. Segment 3 of ten is marked: the sink echoes until it sees CWR. At
    // 200 ms the first three acknowledgements make the window 13 and send 10 to 15; the fourth
    // says ECE with 4 to 15 in flight: ssthresh = cwnd = 12/2 = 6, and nothing leaves until less
    // than 6 are in flight. At 300 ms each of 10 to 15 sends one, the first with CWR; all the
    // echoes of this window change nothing.
    let stack = rfc(10).with(|s| s.options.ecn = EcnMode::Classic);
    let mut t = Script::new(&stack);
    t.mark("> 3000..4000");
    t.open(100_000);
    t.look(149);
    t.expect(
        199,
        "150 < ack 1000
         150 < ack 2000
         150 < ack 3000
         150 < ack 4000 ece
         150 < ack 5000 ece
         150 < ack 6000 ece
         150 < ack 7000 ece
         150 < ack 8000 ece
         150 < ack 9000 ece
         150 < ack 10000 ece",
    );
    t.expect(200, "200 > 10000..16000 (6)");
    assert_eq!(t.window(), (6, 6));
    t.look(299);
    t.expect(
        399,
        "300 > 16000..17000 cwr
         300 > 17000..22000 (5)
         350 < ack 17000
         350 < ack 18000
         350 < ack 19000
         350 < ack 20000
         350 < ack 21000
         350 < ack 22000",
    );
    assert_eq!((t.window(), t.source.counters().reductions), ((6, 6), 1));

    // A mark in the next window is the next reduction.
    t.mark("> 25000..26000");
    t.run(700);
    let counters = t.source.counters();
    assert_eq!((counters.reductions, counters.retransmissions), (2, 0));
}

#[test]
fn a_mark_and_a_loss_in_one_window_are_one_reduction() {
    let mut t = Script::new(&rfc(10).with(|s| s.options.ecn = EcnMode::Classic));
    t.mark("> 1000..2000");
    t.lose("> 5000..6000");
    t.open(20_000);
    t.run(2_000);
    let counters = t.source.counters();
    assert_eq!((t.received(), counters.reductions, counters.timeouts), (20_000, 1, 0));
}

#[test]
fn retransmissions_may_not_be_marked() {
    // RFC 3168 section 6.1.5.
    let mut t = Script::new(&rfc(10).with(|s| s.options.ecn = EcnMode::Classic));
    t.lose("> 2000..3000");
    t.mark("> 2000..3000 again");
    t.open(20_000);
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| t.run(300)));
    let message = refused.expect_err("the script refuses to mark it");
    assert!(message.downcast_ref::<String>().is_some_and(|m| m.contains("may not be marked")));
}

#[test]
fn linux_acknowledges_within_40_ms() {
    // Sixteen segments one by one, as they come; the next, which does not end what the application
    // wrote, waits for 40 ms, and for the next tick of the clock as timers are never early.
    let mut t = Script::new(&preset("linux-6.1").with(|s| s.window.initial_window = 17));
    t.open(17_500);
    t.look(149);
    assert_eq!(t.look(150).iter().filter(|line| line.contains("< ack")).count(), 16);
    t.look(190);
    t.expect(191, "191 < ack 17000");
}

#[test]
fn a_loss_and_a_mark_in_one_window_reduce_it_once() {
    // RFC 3168 section 6.1.2: CWR is sent after a reduction for a loss too, so the echo that goes
    // on through recovery does not ask for a second one.
    let mut t = Script::new(&rfc(20).with(|s| s.options.ecn = EcnMode::Classic));
    t.lose("> 1000..2000");
    t.mark("> 10000..11000");
    t.open(60_000);
    t.run(2_000);
    assert_eq!((t.received(), t.source.counters().reductions), (60_000, 1));
}

#[test]
fn the_fin_waits_for_the_window() {
    // Four segments fill the window of 4000 bytes; the first is lost. The FIN would be one byte
    // too many until the window moves, and would be dropped: it goes with no timeout.
    let mut t = Script::new(&rfc(10).with(|s| s.buffers.receive_buffer = 4_000));
    t.lose("> 0..1000");
    t.open(4_000);
    t.close();
    t.close_sink();
    t.run(1_000);
    assert!(t.source.is_closed());
    assert_eq!(t.source.counters().timeouts, 0);
}

#[test]
fn the_send_buffer_grows_with_the_window() {
    // Linux `tcp_sndbuf_expand`: 1000 + 640 bytes are rounded up to 2048, and 256 more, twice for each
    // of ten segments: 46080 bytes. Slow start with an acknowledgement for each segment is 10, 20, 40,
    // 80 segments, more than that: the buffer has grown. Up to its limit, which is below.
    let stack = rfc(10).with(|s| s.buffers.send_buffer_tuning = true);
    let mut t = Script::new(&stack);
    t.open(500_000);
    t.run(400);
    let outstanding = |t: &Script| t.source.sender().snd_nxt() - t.source.sender().una();
    assert_eq!((t.window().0, outstanding(&t)), (80, 80_000));
    let mut t = Script::new(&stack.clone().with(|s| s.buffers.send_buffer = 50_000));
    t.open(500_000);
    t.run(450);
    assert_eq!(outstanding(&t), 50_000);
}
