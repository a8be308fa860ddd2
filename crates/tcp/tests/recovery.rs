//! Loss and what follows: fast retransmit and recovery with SACK (RFC 6675) and without (RFC
//! 6582), limited transmit (RFC 3042), timeouts (RFC 6298).
//!
//! Most tests begin with ten segments in flight (0 to 9) of twenty written. In slow start each
//! acknowledgement lets two more go; so at 200 ms the acknowledgements of segments 0 and 1 send
//! 10 to 13 and make the window 12, and then the duplicates come.

use fairway_cc::Signal;
use fairway_tcp::{EcnMode, Stack};

use crate::script::witness::{Asks, Told};
use crate::script::{Script, preset, rfc};

fn twenty_segments(stack: &Stack, lost: &[&str]) -> Script {
    let mut t = Script::new(stack);
    for segment in lost {
        t.lose(segment);
    }
    t.open(20_000);
    t
}

#[test]
fn one_loss_with_sack() {
    // RFC 6675. The first two duplicates send 14 and 15 (limited transmit). At the third, three
    // segments above 2 are SACKed: it is lost. FlightSize without limited transmit is the window,
    // 12 (RFC 5681 section 3.2): ssthresh = cwnd = 6. In flight 2 to 15 less 3 SACKed less the
    // loss: 10, and the retransmission 11; the four duplicates that follow leave 7.
    // At 300 ms the SACK of 10 makes it 6, and each of 11 to 14 sends one: 16 to 19.
    // The acknowledgement of 16 000 is the recovery point: over, with cwnd = ssthresh.
    let mut t = twenty_segments(&rfc(10), &["> 2000..3000"]);
    t.expect(
        450,
        "  0 > SYN
          50 < SYN ACK
         100 > 0..2000 (2)
         100 > 2000..3000 lost
         100 > 3000..10000 (7)
         150 < ack 1000
         150 < ack 2000
         150 < ack 2000 sack 3000-4000
         150 < ack 2000 sack 3000-5000
         150 < ack 2000 sack 3000-6000
         150 < ack 2000 sack 3000-7000
         150 < ack 2000 sack 3000-8000
         150 < ack 2000 sack 3000-9000
         150 < ack 2000 sack 3000-10000
         200 > 10000..16000 (6)
         200 > 2000..3000 again
         250 < ack 2000 sack 3000-11000
         250 < ack 2000 sack 3000-12000
         250 < ack 2000 sack 3000-13000
         250 < ack 2000 sack 3000-14000
         250 < ack 2000 sack 3000-15000
         250 < ack 2000 sack 3000-16000
         250 < ack 16000
         300 > 16000..20000 (4)
         350 < ack 17000
         350 < ack 18000
         350 < ack 19000
         350 < ack 20000",
    );
    assert_eq!(t.window(), (6, 6));
    let counters = t.source.counters();
    assert_eq!((counters.reductions, counters.retransmissions, counters.timeouts), (1, 1, 0));
}

#[test]
fn without_limited_transmit_duplicates_send_nothing() {
    // At the third duplicate 2 to 13 are out: less 3 SACKed less the loss, and with the
    // retransmission, 9 in flight. The seventh leaves 5, which is below 6: 14 goes.
    let stack = rfc(10).with(|s| s.losses.limited_transmit = false);
    let mut t = twenty_segments(&stack, &["> 2000..3000"]);
    t.look(199);
    t.expect(
        200,
        "200 > 10000..14000 (4)
         200 > 2000..3000 again
         200 > 14000..15000",
    );
    assert_eq!(t.window(), (6, 6));
}

#[test]
fn one_loss_without_sack() {
    // RFC 6582. A duplicate takes a segment out of the pipe, as a SACK does above; the diagram is
    // the same but for the blocks. Recovery ends with cwnd = min(ssthresh, FlightSize + SMSS)
    // (step 3, option 1): 16 to 19 are in flight, so min(6, 5).
    let mut t = twenty_segments(&rfc(10).with(|s| s.options.sack = false), &["> 2000..3000"]);
    t.look(199);
    t.expect(
        300,
        "200 > 10000..16000 (6)
         200 > 2000..3000 again
         250 < ack 2000
         250 < ack 2000
         250 < ack 2000
         250 < ack 2000
         250 < ack 2000
         250 < ack 2000
         250 < ack 16000
         300 > 16000..20000 (4)",
    );
    assert_eq!(t.window(), (5, 6));
}

#[test]
fn two_losses_with_sack() {
    // 2 is lost at the third duplicate (3, 4, 6 SACKed), 5 at the fifth (6, 7, 8). Then 8 are in
    // flight, 7 after the sixth. At 300 ms 10 and 11 make it 5, which lets 5 go, lost before new
    // (RFC 6675 NextSeg rule 1); 12 to 15 let 16 to 19 go.
    let mut t = twenty_segments(&rfc(10), &["> 2000..3000", "> 5000..6000"]);
    t.look(199);
    t.expect(
        200,
        "200 > 10000..16000 (6)
         200 > 2000..3000 again",
    );
    t.look(299);
    t.expect(
        450,
        "300 > 5000..6000 again
         300 > 16000..20000 (4)
         350 < ack 16000
         350 < ack 17000
         350 < ack 18000
         350 < ack 19000
         350 < ack 20000",
    );
    assert_eq!((t.window(), t.source.counters().reductions), ((6, 6), 1));
}

#[test]
fn two_losses_without_sack_take_a_round_trip_each() {
    // Six duplicates at 200 ms: the third retransmits 2; 11 in flight, 8 after the sixth. At
    // 300 ms six more, and from the third on (5 in flight) each sends one: 16 to 19. The
    // acknowledgement of 5000 is partial (the recovery point is 16 000): segment 5 is the next hole
    // (RFC 6582 step 3). In flight 5 to 19 less the ten duplicates that still count less 5: 4.
    let stack = rfc(10).with(|s| s.options.sack = false);
    let mut t = twenty_segments(&stack, &["> 2000..3000", "> 5000..6000"]);
    t.look(249);
    t.expect(
        450,
        "250 < ack 2000
         250 < ack 2000
         250 < ack 2000
         250 < ack 2000
         250 < ack 2000
         250 < ack 2000
         250 < ack 5000
         300 > 16000..20000 (4)
         300 > 5000..6000 again
         350 < ack 5000
         350 < ack 5000
         350 < ack 5000
         350 < ack 5000
         350 < ack 20000",
    );
    // Nothing is in flight at the end: min(6, 1 + 1).
    assert_eq!((t.window(), t.source.counters().reductions), ((2, 6), 1));
    assert_eq!(t.received(), 20_000);
}

#[test]
fn a_lost_tail_waits_for_the_timer_which_doubles() {
    // RFC 6298. Nothing comes after segment 2, so nothing says that it is lost. The sample of the
    // handshake and those of 0 and 1 are 100 ms: the timeout is the minimum, 1 s, from the last
    // acknowledgement (200 ms). Each expiry doubles it (rule 5.5).
    let mut t = Script::new(&rfc(3));
    t.lose("> 2000..3000");
    t.lose_times(2, "> 2000..3000 again");
    t.open(3_000);
    t.look(200);
    t.expect(
        7_300,
        "1200 > 2000..3000 again lost
         3200 > 2000..3000 again lost
         7200 > 2000..3000 again
         7250 < ack 3000",
    );
    // FlightSize of 1 segment: ssthresh at its least, 2, and the loss window, 1. The
    // acknowledgement ends it; the window was full, so it grows: 2.
    assert_eq!(t.window(), (2, 2));
    assert_eq!(t.source.counters().timeouts, 3);

    // Karn: an acknowledgement of data sent twice measures nothing, so the timeout stays at 8 s
    // (RFC 6298 section 5, after rule 5.5) …
    t.lose("> 3000..4000");
    t.write(1_000);
    t.expect(
        15_400,
        " 7300 > 3000..4000 lost
         15300 > 3000..4000 again
         15350 < ack 4000",
    );
    // … and at 16 s, until data sent once is acknowledged.
    t.write(1_000);
    t.look(15_500);
    t.lose("> 5000..6000");
    t.write(1_000);
    t.expect(
        16_500,
        "15500 > 5000..6000 lost
         16500 > 5000..6000 again",
    );
}

#[test]
fn with_timestamps_a_retransmission_is_timed_and_ends_the_backoff() {
    // RFC 7323 section 4.1: the echo says which transmission was acknowledged.
    let mut t = Script::new(&rfc(3).with(|s| s.options.timestamps = true));
    t.lose("> 2000..3000");
    t.lose("> 2000..3000 again");
    t.open(3_000);
    t.run(3_300);
    t.lose("> 3000..4000");
    t.write(1_000);
    t.look(3_300);
    t.expect(4_300, "4300 > 3000..4000 again");
    assert_eq!(t.source.sender().srtt().map(|srtt| srtt.as_millis()), Some(100));
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    // As `one_loss_with_sack`, but segment 2 is lost again. RFC 6675 does not suspect
    // retransmissions. The timer was restarted with the retransmission at 200 ms (section 5, step
    // 4.3 resends; RFC 6298 rule 5.3 knows only acknowledgements of new data, of which the last
    // came then too): 1200 ms.
    let mut t = twenty_segments(&rfc(10), &["> 2000..3000", "> 2000..3000 again"]);
    t.look(300);
    t.expect(
        1_300,
        " 350 < ack 2000 sack 3000-17000
          350 < ack 2000 sack 3000-18000
          350 < ack 2000 sack 3000-19000
          350 < ack 2000 sack 3000-20000
         1200 > 2000..3000 again
         1250 < ack 20000",
    );
    // A new reduction at the timeout: FlightSize is no more than the window, 6.
    assert_eq!((t.window().1, t.source.counters().timeouts), (3, 1));
}

#[test]
fn duplicates_of_a_timeouts_own_retransmissions_start_no_recovery() {
    // RFC 6582 section 3.2, step 1. Without SACK, segment 0 is lost twice. At the timeout
    // everything up to what was sent is sent again, though 1 to 9 and more have arrived: the
    // duplicate acknowledgements say nothing about new losses.
    let stack = rfc(10).with(|s| s.options.sack = false);
    let mut t = twenty_segments(&stack, &["> 0..1000", "> 0..1000 again"]);
    t.run(5_000);
    assert_eq!(t.received(), 20_000);
    let counters = t.source.counters();
    assert_eq!((counters.timeouts, counters.reductions), (1, 1));
}

#[test]
fn a_second_timeout_keeps_the_threshold() {
    // RFC 5681 section 3.1: ssthresh is set once for what was in flight. All ten segments and the
    // first retransmission are lost.
    let mut t = Script::new(&rfc(10));
    for n in 0..10 {
        t.lose(&format!("> {}..{}", n * 1000, (n + 1) * 1000));
    }
    t.lose("> 0..1000 again");
    t.open(10_000);
    t.run(1_150);
    assert_eq!(t.window(), (1, 5));
    t.run(3_150);
    assert_eq!((t.window(), t.source.counters().timeouts), ((1, 5), 2));
    // Slow start from 1 to 5, then one segment more a round trip: sent at 3.1 s 1, 3.2 s 2,
    // 3.3 s 4, and the rest.
    t.look(3_150);
    t.expect(
        3_450,
        "3200 > 1000..2000 again
         3200 > 2000..3000 again
         3250 < ack 2000
         3250 < ack 3000
         3300 > 3000..4000 again
         3300 > 4000..5000 again
         3300 > 5000..6000 again
         3300 > 6000..7000 again
         3350 < ack 4000
         3350 < ack 5000
         3350 < ack 6000
         3350 < ack 7000
         3400 > 7000..8000 again
         3400 > 8000..9000 again
         3400 > 9000..10000 again
         3450 < ack 8000
         3450 < ack 9000
         3450 < ack 10000",
    );
}

#[test]
fn every_preset_recovers_from_any_single_loss_at_once() {
    // Twelve of forty segments, lost one at a time; the last three have too little behind them
    // for a fast retransmit if nothing else is sent, but forty are.
    for name in ["rfc5681", "linux-6.1", "ns2-tcp-linux"] {
        for lost in 0..12 {
            let mut t = Script::new(&preset(name));
            t.lose(&format!("> {}..{}", lost * 1000, (lost + 1) * 1000));
            t.open(40_000);
            t.run(3_000);
            let counters = t.source.counters();
            assert_eq!((t.received(), counters.timeouts), (40_000, 0), "{name}, segment {lost}");
            // Acknowledgements that come at one instant let new data leave before the segment that is
            // sent again, and RACK has only the instant and the sequence to tell what left first.
            let most = if name == "linux-6.1" { 2 } else { 1 };
            assert!((1..=most).contains(&counters.retransmissions), "{name}, segment {lost}");
        }
    }
}

#[test]
fn three_duplicates_at_the_end_of_a_transfer_are_enough() {
    // RFC 6675 section 5 step 1. Segment 7 is lost; behind it come 1000 and 100 bytes and the
    // FIN: three duplicates, but 1101 bytes in one range, less than the two segments' worth that
    // IsLost asks for. Without the rule the timer would have to find the loss.
    let mut t = Script::new(&rfc(10));
    t.lose("> 7000..8000");
    t.open(9_100);
    t.close();
    t.run(1_000);
    let counters = t.source.counters();
    assert_eq!((t.received(), counters.reductions, counters.timeouts), (9_100, 1, 0));
}

#[test]
fn copies_sent_after_a_timeout_are_no_sign_of_another_loss() {
    // RFC 6582 section 3.2 step 2: duplicates of what the timer sent again acknowledge no more
    // than `recover`. Segment 0 and its copy are lost; the timer sends the window again, and most
    // of it arrives twice. Sixteen segments in flight at the timeout can be sent twice in vain,
    // not more.
    let stack = rfc(16).with(|s| s.options.sack = false);
    let mut t = Script::new(&stack);
    t.lose("> 0..1000");
    t.lose("> 0..1000 again");
    t.open(2_000_000);
    t.run(60_000);
    let counters = t.source.counters();
    assert_eq!((t.received(), counters.timeouts), (2_000_000, 1));
    assert!(counters.retransmissions <= 32, "{counters:?}");
}

#[test]
fn losses_found_as_an_episode_ends_begin_the_next() {
    // Segment 2 is lost of the first flight, and 14 and its successor of what recovery sends: they
    // are behind the recovery point, so their reduction is a second one, and the timer has no part.
    let mut t = Script::new(&rfc(10));
    for segment in ["> 2000..3000", "> 16000..17000"] {
        t.lose(segment);
    }
    t.open(60_000);
    t.run(2_000);
    let counters = t.source.counters();
    assert_eq!((t.received(), counters.reductions, counters.timeouts), (60_000, 2, 0));
}

#[test]
fn what_an_episode_takes_over_as_sent_again_is_no_reason_to_undo_it() {
    // Segment 0 and its retransmission are lost, and 22, which left after it. Both leave again at 301 ms;
    // the acknowledgement of 22 000 ends the episode, whose end was 21 000, while 22 is still
    // under way: it begins the next, in which nothing has to be sent again. The acknowledgement that ends
    // that echoes 301 ms, which is not before the first retransmission (200 ms): both reductions
    // stand, 20/2 = 10 and 10/2 = 5.
    let stack = preset("linux-6.1").with(|s| s.window.initial_window = 20);
    let mut t = Script::new(&stack);
    for segment in ["> 0..1000", "> 0..1000 again", "> 22000..23000"] {
        t.lose(segment);
    }
    t.open(60_000);
    t.look(300);
    t.expect(
        402,
        "301 > 0..1000 again
         301 > 22000..23000 again
         301 > 29000..37000 (8)
         351 < ack 22000 sack 23000-29000
         351 < ack 29000
         351 < ack 30000
         351 < ack 31000
         351 < ack 32000
         351 < ack 33000
         351 < ack 34000
         351 < ack 35000
         351 < ack 36000
         351 < ack 37000
         401 > 37000..42000 (5)",
    );
    assert_eq!((t.source.counters().reductions, t.window()), (2, (5, 5)));
}

#[test]
fn an_acknowledgement_that_ends_one_recovery_and_begins_another_grows_nothing() {
    // Linux 6.1: losses are looked for before the window grows (`tcp_ack`, `tcp_fastretrans_alert` and
    // `tcp_cong_control`). Twenty segments, of which 2 is lost twice, and 20 to 32 after it. The second
    // retransmission repairs everything up to 26, beyond what had left when 2 was found lost: the
    // recovery is over. With 26 lost, too, the next begins at once, and is over with 41.
    let grown = |lost: &[&str]| {
        let stack = preset("linux-6.1").with(|s| s.window.initial_window = 20);
        let (mut t, notes) = Script::asking(&stack, &Asks::default());
        for segment in lost {
            t.lose(segment);
        }
        t.open(200_000);
        t.run(620);
        let acks = notes.acks().into_iter();
        let repaired = acks.filter(|(ack, flow)| flow.now.as_millis() > 400 && ack.acked > 0);
        repaired.map(|(ack, flow)| (flow.snd_una, ack.may_grow)).take(2).collect::<Vec<_>>()
    };
    let twice = ["> 2000..3000", "> 2000..3000 again"];
    assert_eq!(
        grown(&[&twice[..], &["> 26000..27000"]].concat()),
        [(26_000, false), (33_000, false)]
    );
    assert_eq!(grown(&twice)[0], (33_000, true));
}

#[test]
fn what_ends_a_reduction_for_a_mark_may_begin_the_next() {
    // The mark of 3 reduces the window at 200 ms, when 16 000 bytes have left: the acknowledgement of
    // 17 000 ends that. It carries ECE, as what confirms the reduction (CWR) was marked, too.
    let stack = preset("linux-6.1").with(|s| {
        s.window.initial_window = 10;
        s.options.ecn = EcnMode::Classic;
    });
    let (mut t, notes) = Script::asking(&stack, &Asks::default());
    t.mark("> 3000..4000");
    t.mark("> 16000..17000 cwr");
    t.open(100_000);
    t.run(340);
    let reduced = |told| match told {
        Told::Congestion(Signal::Ecn, flow) => Some((flow.now.as_millis(), flow.snd_una)),
        _ => None,
    };
    let reductions: Vec<_> = notes.all().into_iter().filter_map(reduced).collect();
    assert_eq!(reductions, [(200, 4_000), (300, 17_000)]);
}

#[test]
fn sacked_data_raises_the_window_of_a_path_known_to_reorder() {
    // 7 comes behind 8 and 9, three segments from the highest; 14 comes eleven from it, which raises
    // the tolerance of three. Only then may what is SACKed behind 30, which is lost, raise the window:
    // 31 to 39, whose acknowledgements come at 400 ms.
    let stack = preset("linux-6.1").with(|s| s.window.initial_window = 10);
    let (mut t, notes) = Script::asking(&stack, &Asks::default());
    t.delay("> 7000..8000", 5);
    t.delay("> 14000..15000", 5);
    t.lose("> 30000..31000");
    t.open(100_000);
    t.run(400);
    let sacked = |from: u64| {
        let acks = notes.acks().into_iter();
        let new = acks.filter(|(ack, flow)| ack.acked == 0 && flow.now.as_millis() / 100 == from);
        new.map(|(ack, _)| ack.may_raise).collect::<Vec<_>>()
    };
    assert_eq!((sacked(2), sacked(3)), (vec![false; 2], vec![false; 6]));
    assert_eq!(sacked(4), [true; 9]);
}
