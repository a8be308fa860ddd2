//! Switches that older stacks need, one at a time, worked out by hand. Segments of 1000 bytes, 50 ms
//! each way.

use crate::script::{Script, preset, rfc};
use fairway_tcp::{DelayedAck, Nagle, Recovery, Stack};
use fairway_units::Duration;

fn counted(ms: u64) -> Stack {
    let timeout = Duration::from_millis(ms);
    rfc(3).with(|s| s.acks.delayed_ack = DelayedAck::Counted { timeout })
}

#[test]
fn an_acknowledgement_for_every_so_many_segments() {
    let mut t = Script::new(&counted(200).with(|s| s.acks.ack_every = 3));
    t.open(4_000);
    t.look(100);
    t.expect(
        500,
        "150 < ack 3000
         200 > 3000..4000
         450 < ack 4000",
    );
}

#[test]
fn one_for_every_segment_delays_short_ones_alone() {
    let mut t = Script::new(&counted(200).with(|s| {
        s.acks.ack_every = 1;
        s.sending.nagle = Nagle::Off;
    }));
    t.open(1_500);
    t.look(149);
    t.expect(
        400,
        "150 < ack 1000
         350 < ack 1500",
    );
}

#[test]
fn the_fast_timer_acknowledges_at_multiples_of_its_period() {
    // One segment arrives at 150 ms. A period of 120 ms ends at 240, and not at 270.
    for (heartbeat, at) in [(true, 240), (false, 270)] {
        let mut t = Script::new(&counted(120).with(|s| s.acks.ack_heartbeat = heartbeat));
        t.open(1_000);
        t.look(149);
        t.expect(300, &format!("{at} < ack 1000"));
    }
}

#[test]
fn the_first_segment_is_acknowledged_at_once() {
    let mut t = Script::new(&counted(200).with(|s| s.acks.ack_first_at_once = true));
    t.open(4_000);
    t.look(149);
    t.expect(
        260,
        "150 < ack 1000
         150 < ack 3000
         200 > 3000..4000",
    );
}

#[test]
fn a_small_segment_waits_only_with_nagle() {
    // What is outstanding is a full segment: Minshall's variant does not wait for that.
    for (nagle, at) in [(Nagle::Rfc, 200), (Nagle::Off, 160), (Nagle::Minshall, 160)] {
        let mut t = Script::new(&rfc(3).with(|s| s.sending.nagle = nagle));
        t.open(1_000);
        t.look(160);
        t.write(10);
        t.expect(
            220,
            &format!(
                "{at} > 1000..1010\n{}",
                if nagle == Nagle::Rfc { "" } else { "210 < ack 1010" }
            ),
        );
    }
}

#[test]
fn without_nagle_a_small_window_still_makes_no_small_segments() {
    // RFC 9293 section 3.8.6.2.1: of a window of 2500 bytes two full segments are used.
    let sink = rfc(10).with(|s| s.buffers.receive_buffer = 2_500);
    let source = rfc(10).with(|s| s.sending.nagle = Nagle::Off);
    let mut t = Script::between(&source, &sink, [1, 2]);
    t.open(10_000);
    t.look(99);
    t.expect(100, "100 > 0..2000 (2)");
}

#[test]
fn a_window_grows_that_is_not_used() {
    // A segment every round trip: a window of 3 that is not full does not grow (RFC 2861), unless it
    // is told to, by one each time.
    for (grow, window) in [(false, 3), (true, 7)] {
        let mut t = Script::new(&rfc(3).with(|s| s.window.grow_when_unused = grow));
        t.open(1_000);
        for n in 1..4 {
            t.run(100 + 100 * n);
            t.write(1_000);
        }
        t.run(500);
        assert_eq!(t.window().0, window, "{grow}");
    }
}

#[test]
fn every_timeout_reduces() {
    // All is lost for three timeouts. From 8 in flight the threshold is 4; the next timeouts find one
    // segment in flight, and make it 2, the least, unless the first for the same data is enough.
    for (every, ssthresh) in [(false, 4), (true, 2)] {
        let mut t = Script::new(&rfc(8).with(|s| s.losses.reduce_on_every_timeout = every));
        (0..8).for_each(|n| t.lose(&format!("> {}..{}", n * 1000, (n + 1) * 1000)));
        t.lose_times(2, "> 0..1000 again");
        t.open(8_000);
        t.run(7_500);
        assert_eq!((t.source.counters().timeouts, t.window().1), (3, ssthresh), "{every}");
    }
}

#[test]
fn any_acknowledgement_ends_the_back_off() {
    // No timestamps, and everything is lost once: what is acknowledged was sent twice and measures
    // nothing (Karn). The timeout was 1 s, was doubled, and stays so (RFC 6298 section 5).
    for (any, rto_ms) in [(false, 2_000), (true, 1_000)] {
        let mut t = Script::new(&rfc(2).with(|s| s.rto.backoff_ends_with_any_ack = any));
        t.lose("> 0..1000");
        t.lose("> 1000..2000");
        t.open(2_000);
        // The timeout at 1100 ms, the acknowledgement of 1000 at 1200.
        t.run(1_250);
        assert_eq!(t.source.sender().una(), 1_000);
        assert_eq!(t.source.sender().rto(), Duration::from_millis(rto_ms), "{any}");
    }
}

#[test]
fn round_trips_in_ticks() {
    // The SYN leaves at 0 and is answered at 100 ms: three ticks of 30 ms have passed by then, at 30,
    // 60 and 90. Of a tick of 150 ms none has: it counts as one.
    for (tick, srtt) in [(0, 100), (30, 90), (150, 150)] {
        let rtt_clock = Duration::from_millis(tick);
        let mut t = Script::new(&rfc(2).with(|s| s.rto.rtt_clock = rtt_clock));
        t.open(1_000);
        t.run(120);
        assert_eq!(t.source.sender().srtt(), Some(Duration::from_millis(srtt)));
    }
}

#[test]
fn an_impatient_sender_restarts_its_timer_once_in_recovery() {
    // Segments 0 to 11 of forty are lost, and without SACK one is found in each round trip: partial
    // acknowledgements at 300, 400, 500 ... Only the first restarts the timer of one second.
    let stack = rfc(40).with(|s| {
        s.options.sack = false;
        s.rto.rto_impatient = true;
    });
    let mut t = Script::new(&stack);
    (0..12).for_each(|n| t.lose(&format!("> {}..{}", n * 1000, (n + 1) * 1000)));
    t.open(40_000);
    t.run(1_299);
    let counters = t.source.counters();
    assert_eq!((counters.reductions, counters.timeouts), (1, 0));
    t.run(1_301);
    assert_eq!(t.source.counters().timeouts, 1);
    // RFC 6298 rule 5.3 restarts it each time, and there is no timeout.
    let mut t = Script::new(&stack.clone().with(|s| s.rto.rto_impatient = false));
    (0..12).for_each(|n| t.lose(&format!("> {}..{}", n * 1000, (n + 1) * 1000)));
    t.open(40_000);
    t.run(3_000);
    assert_eq!((t.received(), t.source.counters().timeouts), (40_000, 0));
}

#[test]
fn reno_ends_recovery_with_the_first_acknowledgement_of_anything_new() {
    // Segments 0 and 5 of sixteen. The acknowledgement of 5000 ends the first episode; three
    // duplicates later another begins, and the window is halved twice: 16, 8, 4.
    let stack = rfc(16).with(|s| {
        s.options.sack = false;
        s.losses.recovery = Recovery::Reno;
    });
    let lossy = |stack: &Stack| {
        let mut t = Script::new(stack);
        t.lose("> 0..1000");
        t.lose("> 5000..6000");
        t.open(100_000);
        t.run(1_000);
        t.source.counters()
    };
    assert_eq!(lossy(&stack).reductions, 2);
    assert_eq!(lossy(&stack.clone().with(|s| s.losses.recovery = Recovery::Rfc)).reductions, 1);
}

#[test]
fn the_presets_have_what_their_sources_say() {
    let ns3 = preset("ns3-3.29");
    assert_eq!(
        (ns3.rto.rto_min, ns3.window.initial_window, ns3.acks.ack_every),
        (Duration::from_secs(1), 1, 2)
    );
    assert_eq!((ns3.buffers.send_buffer, ns3.buffers.receive_buffer), (2_097_152, 2_097_152));
    let full = preset("full-tcp");
    assert_eq!(
        (full.acks.ack_every, full.options.sack, full.sending.nagle),
        (1, false, Nagle::Rfc)
    );
}

#[test]
fn the_first_timeouts_of_a_syn_may_leave_the_next_as_long() {
    // Linux 6.12, tcp_retransmit_timer: the first four timeouts do not double the next, the fifth
    // does.
    let mut t = Script::new(&rfc(3).with(|s| s.rto.syn_linear_timeouts = 4));
    t.lose_times(7, "> SYN");
    t.open(1_000);
    t.expect(
        7_000,
        "    0 > SYN lost
          1000 > SYN lost
          2000 > SYN lost
          3000 > SYN lost
          4000 > SYN lost
          5000 > SYN lost
          7000 > SYN lost",
    );
}
