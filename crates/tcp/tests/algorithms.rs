//! What the stack tells an algorithm, and what it does when one asks. The algorithm is Reno but
//! for what it asks, unless a window is given.
//!
//! As in the tests of recovery, most begin with ten segments in flight (0 to 9).

use crate::script::witness::{Asks, Notes, Told};
use crate::script::{Script, preset, rfc};
use fairway_cc::{EcnFeedback, Needs, Phase, RateSample, Signal};
use fairway_tcp::{DelayedAck, EcnMode, Stack};
use fairway_units::{Duration, Rate, Time};

fn millis(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// Twenty segments on a connection whose algorithm asks this; some are lost.
fn twenty_segments(stack: &Stack, asks: &Asks, lost: &[&str]) -> (Script, Notes) {
    let (mut t, notes) = Script::asking(stack, asks);
    for segment in lost {
        t.lose(segment);
    }
    t.open(20_000);
    (t, notes)
}

/// Bytes marked lost: when, by this acknowledgement, and so far.
fn losses(notes: &Notes) -> Vec<(u64, u64, u64)> {
    let acks = notes.acks().into_iter().filter(|(ack, _)| ack.lost > 0);
    acks.map(|(ack, flow)| (flow.now.as_millis(), ack.lost, flow.lost)).collect()
}

#[test]
fn bytes_marked_lost_and_in_flight_with_sack() {
    // 2 and 5 are lost. The acknowledgements of 0 and 1 send 10 to 13, the first two duplicates 14
    // and 15. The third (3, 4, 6 SACKed) marks 2: before it 2 to 15 less two are in flight, after it
    // less three and the loss.
    // The fifth (8) marks 5.
    let (mut t, notes) =
        twenty_segments(&rfc(10), &Asks::default(), &["> 2000..3000", "> 5000..6000"]);
    t.run(299);
    assert_eq!(losses(&notes), [(200, 1000, 1000), (200, 1000, 2000)]);
    let (_, flow) = notes.acks()[4];
    assert_eq!((flow.pipe, flow.in_flight), (12_000, 10_000));
    t.run(2_000);
    assert_eq!(notes.acks().last().map(|(_, flow)| flow.lost), Some(2000));
}

#[test]
fn bytes_marked_lost_without_sack() {
    // 2 at the third duplicate, and 5 by the partial acknowledgement at 300 ms (RFC 6582 step 3).
    let stack = rfc(10).with(|s| s.options.sack = false);
    let (mut t, notes) =
        twenty_segments(&stack, &Asks::default(), &["> 2000..3000", "> 5000..6000"]);
    t.run(2_000);
    assert_eq!(losses(&notes), [(200, 1000, 1000), (300, 1000, 2000)]);
}

#[test]
fn a_timeout_marks_everything_and_a_second_one_what_was_sent_again() {
    // Three segments, all lost: the timer (1 s) marks three. The retransmission of the first is
    // lost too: two seconds later it is the only thing in flight, and marked again.
    let (mut t, notes) = Script::asking(&rfc(3), &Asks::default());
    t.lose_times(2, "> 0..1000 again");
    for segment in ["> 0..1000", "> 1000..2000", "> 2000..3000"] {
        t.lose(segment);
    }
    t.open(3_000);
    t.run(3_100);
    let timeouts: Vec<_> = notes
        .all()
        .into_iter()
        .filter_map(|told| match told {
            Told::Rto(first, flow) => {
                let at = flow.now.as_millis();
                Some((at, first, flow.pipe, flow.in_flight, flow.lost))
            }
            _ => None,
        })
        .collect();
    assert_eq!(timeouts, [(1100, true, 3000, 0, 3000), (3100, false, 1000, 0, 4000)]);
}

#[test]
fn one_way_delay_is_the_receivers_clock_less_the_echo() {
    // The script sets the clocks to 1000 and 5000 at the start. The first two segments leave at 100
    // and are acknowledged at 150: 5150 − 100, without the offset of 1000. A third leaves at 200 and is
    // acknowledged 40 ms after it came, at 290: 5290 − 200.
    let delayed_ack = DelayedAck::Counted { timeout: Duration::from_millis(40) };
    let stack = preset("linux-6.1").with(|s| s.acks.delayed_ack = delayed_ack);
    let (mut t, notes) = Script::asking(&stack, &Asks::default());
    t.open(2_000);
    t.run(199);
    t.write(1_000);
    t.run(1_000);
    let delays: Vec<_> = notes.acks().iter().map(|(ack, _)| ack.one_way_delay_ms).collect();
    assert_eq!(delays, [Some(5050), Some(5090)]);
}

#[test]
fn an_acknowledgement_of_nothing_new_measures_no_one_way_delay() {
    // Duplicates echo an old timestamp (RFC 7323 section 4.3). Without the option there is nothing.
    let stack = rfc(10).with(|s| s.options.timestamps = true);
    let (mut t, notes) = twenty_segments(&stack, &Asks::default(), &["> 2000..3000"]);
    t.run(299);
    let acks = notes.acks();
    assert_eq!(acks.len(), 9);
    for (ack, _) in acks {
        assert_eq!(ack.one_way_delay_ms, (ack.acked > 0).then_some(5050));
    }
    let (mut t, notes) = twenty_segments(&rfc(10), &Asks::default(), &[]);
    t.run(299);
    assert!(notes.acks().iter().all(|(ack, _)| ack.one_way_delay_ms.is_none()));
}

#[test]
fn a_reduction_that_the_algorithm_wants_is_an_episode() {
    // At 200 ms the first four acknowledgements make the window 14 and send 10 to 17. With the
    // fifth 5000 bytes are delivered and 5 to 17 are out: ssthresh = cwnd = 13/2 = 6 until 18 000
    // is acknowledged. At 300 ms 10 to 12 leave 5 in flight, and each of 13 to 17 sends one. Then
    // the algorithm is asked again, with 18 to 22 out: 5/2.
    let asks = Asks { reduction_from: Some(5_000), ..Asks::default() };
    let (mut t, notes) = Script::asking(&rfc(10), &asks);
    t.open(1_000_000);
    t.run(299);
    assert_eq!((t.window(), t.source.phase()), ((6, 6), Phase::Cwr));
    assert_eq!(
        (notes.signals(), t.source.sender().snd_nxt()),
        (vec![(200, Signal::Delay)], 18_000)
    );
    t.run(399);
    assert_eq!((t.window(), t.source.counters().reductions), ((2, 2), 2));
    assert_eq!(notes.signals(), [(200, Signal::Delay), (300, Signal::Delay)]);
    assert!(matches!(notes.all()[..], [.., Told::Recovered, Told::Congestion(..)]));
}

#[test]
fn a_loss_is_answered_before_what_the_algorithm_wants() {
    let asks = Asks { reduction_from: Some(2_500), ..Asks::default() };
    let (mut t, notes) = twenty_segments(&rfc(10), &asks, &["> 0..1000"]);
    // The third duplicate delivers 3000 bytes, and says that 0 is lost.
    t.run(399);
    assert_eq!(notes.signals()[0], (200, Signal::Loss));
    assert_eq!(t.source.counters().timeouts, 0);
}

fn tahoe() -> Asks {
    Asks { restarts_after_loss: true, ..Asks::default() }
}

#[test]
fn a_loss_restarts_an_algorithm_without_fast_recovery() {
    // As in `one_loss_with_sack` of the tests of recovery until the third duplicate: ssthresh 6, but
    // the window is one segment and 2, 6 to 15 are lost. Only 2 leaves, and no SACK lets anything
    // else go: what they name is not in flight any more. At 300 ms 16 000 is acknowledged, the
    // window becomes 2 and then doubles.
    let (mut t, _) = twenty_segments(&rfc(10), &tahoe(), &["> 2000..3000"]);
    t.look(199);
    t.expect(
        249,
        "200 > 10000..16000 (6)
         200 > 2000..3000 again",
    );
    assert_eq!((t.window(), t.source.sender().deadline()), ((1, 6), millis(1_200)));
    t.look(299);
    t.expect(300, "300 > 16000..18000 (2)");
    t.look(399);
    t.expect(400, "400 > 18000..20000 (2)");
    let counters = t.source.counters();
    assert_eq!((counters.reductions, counters.retransmissions, counters.timeouts), (1, 1, 0));
}

#[test]
fn a_restart_without_sack_goes_back_and_skips_what_had_arrived() {
    // 2 and 5 are lost. The third duplicate sends 2; the four after it, and the six of 10 to 15,
    // stand for segments that the restart has taken out of the pipe. At 300 ms 5000 is acknowledged:
    // three segments delivered, window 4, and sending goes on from 5: 5 to 8. At 400 ms the
    // acknowledgement of 16 000 for 5 ends the episode with window 6 and the rest, nine, as credit
    // for growth: 7. (6 to 8 are old news to the sink.)
    let stack = rfc(10).with(|s| s.options.sack = false);
    let (mut t, _) = twenty_segments(&stack, &tahoe(), &["> 2000..3000", "> 5000..6000"]);
    t.look(199);
    t.expect(
        249,
        "200 > 10000..16000 (6)
         200 > 2000..3000 again",
    );
    t.look(299);
    t.expect(
        349,
        "300 > 5000..6000 again
         300 > 6000..7000 again
         300 > 7000..8000 again
         300 > 8000..9000 again",
    );
    assert_eq!(t.window(), (4, 6));
    t.look(399);
    t.expect(400, "400 > 16000..20000 (4)");
    assert_eq!((t.window(), t.source.counters().reductions), ((7, 6), 1));
    t.run(2_000);
    assert_eq!((t.received(), t.source.counters().timeouts), (20_000, 0));
}

#[test]
fn a_timeout_after_a_restart_is_a_first_one() {
    // The retransmission is lost: the timer restarted at 200 ms, not backed off, expires at 1200,
    // and it has not resent anything yet (RFC 5681 section 3.1): the threshold falls again, to 2.
    let lost = ["> 2000..3000", "> 2000..3000 again"];
    let (mut t, notes) = twenty_segments(&rfc(10), &tahoe(), &lost);
    t.run(1_200);
    assert_eq!((t.window(), t.source.counters().timeouts), ((1, 2), 1));
    let first = |told: &Told| matches!(told, Told::Rto(true, _));
    assert_eq!(notes.all().iter().filter(|told| first(told)).count(), 2);
    t.run(3_000);
    assert_eq!((t.received(), t.source.counters().reductions), (20_000, 1));
}

#[test]
fn a_mark_and_a_loss_in_one_window_restart_with_one_reduction() {
    let stack = rfc(10).with(|s| s.options.ecn = EcnMode::Classic);
    let (mut t, notes) = Script::asking(&stack, &tahoe());
    t.mark("> 1000..2000");
    t.lose("> 5000..6000");
    t.open(20_000);
    t.run(2_000);
    assert_eq!((t.received(), t.source.counters().reductions), (20_000, 1));
    assert_eq!(notes.signals(), [(200, Signal::Ecn)]);
    assert!(notes.all().iter().any(|told| matches!(told, Told::Rto(false, _))));
}

#[test]
fn an_algorithm_may_bound_the_timeout_itself() {
    // One sample of 100 ms: 100 + 4 · 50 = 300 ms, where the stack would not go below a second.
    for (min_rto, at) in [(Some(Duration::from_millis(20)), 400), (None, 1_100)] {
        let stack = rfc(10).with(|s| s.acks.delayed_ack = DelayedAck::Off);
        let (mut t, _) = Script::asking(&stack, &Asks { min_rto, ..Asks::default() });
        t.lose("> 0..1000");
        t.open(1_000);
        t.run(150);
        assert_eq!(t.source.sender().deadline(), millis(at));
    }
}

#[test]
fn the_bound_of_the_timeout_may_change() {
    // Sent at 100 ms; the first segment is acknowledged at 200 ms, when the timer starts again with a
    // round trip of 100 ms sampled twice: 100 + 4 · 37.5 = 250 ms. The bound of 20 ms allows that, one of
    // 700 ms does not.
    let bounds = |later_min_rto| Asks {
        min_rto: Some(Duration::from_millis(20)),
        later_min_rto,
        ..Asks::default()
    };
    for (later, at) in [(None, 450), (Some(Duration::from_millis(700)), 900)] {
        let stack = rfc(10).with(|s| s.acks.delayed_ack = DelayedAck::Off);
        let (mut t, _) = Script::asking(&stack, &bounds(later));
        t.lose("> 1000..2000");
        t.open(2_000);
        t.run(250);
        assert_eq!(t.source.sender().deadline(), millis(at));
    }
}

/// Rate samples with a window that stays at ten segments.
fn rates() -> Asks {
    let needs = Needs { rate_samples: true, ..Needs::default() };
    Asks { window: Some(10), needs, ..Asks::default() }
}

/// The rate samples of the acknowledgements in a span of milliseconds.
fn samples(notes: &Notes, from: u64, to: u64) -> Vec<RateSample> {
    let acks = notes.acks().into_iter();
    let inside = acks.filter(|(_, flow)| (from..=to).contains(&flow.now.as_millis()));
    inside.filter_map(|(ack, _)| ack.rate).collect()
}

/// Bytes, milliseconds, and bytes in flight when the segment had left.
fn figures(samples: &[RateSample]) -> Vec<(u64, u64, u64)> {
    samples.iter().map(|s| (s.delivered, s.interval.as_millis(), s.prior_in_flight)).collect()
}

#[test]
fn nobody_measures_a_rate_that_nobody_asked_for() {
    let (mut t, notes) = twenty_segments(&rfc(10), &Asks::default(), &[]);
    t.run(1_000);
    assert!(notes.acks().len() == 20 && notes.acks().iter().all(|(ack, _)| ack.rate.is_none()));
}

#[test]
fn a_window_a_round_trip_is_the_rate_of_a_path_without_limit() {
    // The first ten leave together at 100 ms with nothing delivered; the nth acknowledgement says n
    // segments in 100 ms. From then on each sees ten: what was delivered before it left, with the
    // acknowledgement of the one before, and now.
    let (mut t, notes) = Script::asking(&rfc(10), &rates());
    t.open(1_000_000);
    t.run(450);
    let first: Vec<_> = (1..=10).map(|n| (n * 1000, 100, n * 1000)).collect();
    assert_eq!(figures(&samples(&notes, 200, 200)), first);
    assert_eq!(figures(&samples(&notes, 300, 400)), [(10_000, 100, 10_000); 20]);
    // The first ten had an empty send queue before them (Linux: the first window is so marked).
    let marks: Vec<_> = samples(&notes, 200, 400).iter().map(|s| s.app_limited).collect();
    assert_eq!(marks, [[true; 10], [false; 10], [false; 10]].concat());
    let sample = samples(&notes, 300, 300)[3];
    assert_eq!((sample.prior_delivered, sample.sent_at), (4_000, millis(200)));
}

#[test]
fn a_loss_takes_its_segment_out_of_the_samples_until_it_is_delivered() {
    // 2 of 0 to 9 is lost. The acknowledgements of 0 and 1 and the SACKs of 3 and 4 send 10 to 13;
    // with the SACK of 5 five are delivered, 2 is lost, and it leaves again with 14 behind it. Those
    // of 6 to 9 send 15 to 18.
    let (mut t, notes) = Script::asking(&rfc(10), &rates());
    t.lose("> 2000..3000");
    t.open(1_000_000);
    t.run(199);
    t.look(199);
    t.expect(
        200,
        "200 > 10000..14000 (4)
         200 > 2000..3000 again
         200 > 14000..19000 (5)",
    );
    t.run(399);
    // 10 to 13 left with 1 to 4 delivered; when they are SACKed ten to thirteen less one are: nine,
    // and 1000 bytes were marked lost meanwhile. Then 2, the ninth of what was in flight when it
    // left, after the mark, with five delivered: fourteen are now. From 14 on, which left with it,
    // ten in a round trip.
    let seen = samples(&notes, 300, 300);
    assert_eq!(
        figures(&seen[..5]),
        [
            (9_000, 100, 10_000),
            (9_000, 100, 10_000),
            (9_000, 100, 10_000),
            (9_000, 100, 10_000),
            (9_000, 100, 9_000),
        ]
    );
    assert_eq!(figures(&seen[5..]), [(10_000, 100, 10_000); 5]);
    let lost: Vec<_> = seen.iter().map(|s| s.lost).collect();
    assert_eq!(lost, [1000, 1000, 1000, 1000, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_rate_without_sack_counts_a_segment_for_each_duplicate() {
    // RFC 6937 section 3. At 200 ms the acknowledgements of 0 and 1 send two segments each, and the
    // first two duplicates one each: 15 leaves with four delivered. Five more duplicates come, and six
    // at 300 ms, when the acknowledgement of 16 000 (as in the tests of recovery) delivers the one of
    // its fourteen segments for which there was none: 16 in all, 12 since 15 left, which ends highest
    // of those that left last.
    let stack = rfc(10).with(|s| s.options.sack = false);
    let needs = Needs { rate_samples: true, ..Needs::default() };
    let (mut t, notes) =
        twenty_segments(&stack, &Asks { needs, ..Asks::default() }, &["> 2000..3000"]);
    t.run(399);
    let seen = samples(&notes, 201, 300);
    assert_eq!(
        seen.iter().map(|s| (s.delivered, s.interval.as_millis())).collect::<Vec<_>>(),
        [(12_000, 100)]
    );
}

#[test]
fn a_timeout_shortens_no_sample() {
    // All three are lost; the first leaves again at 1100. It was not alone: the sample begins with
    // the first transmission, at 100.
    let (mut t, notes) = Script::asking(&rfc(3), &rates());
    for segment in ["> 0..1000", "> 1000..2000", "> 2000..3000"] {
        t.lose(segment);
    }
    t.open(3_000);
    t.run(1_200);
    let seen = samples(&notes, 0, 1_200);
    assert_eq!(figures(&seen)[0], (1_000, 1_100, 1_000));
    assert_eq!((seen[0].lost, seen[0].sent_at), (0, millis(1_100)));
}

#[test]
fn what_is_sent_right_behind_a_gap_of_the_application_is_marked() {
    // Ten segments at 100 ms, and no more. Ten of those written at 250 ms leave at once, and are
    // marked until anything of them is delivered, at 350.
    let (mut t, notes) = Script::asking(&rfc(10), &rates());
    t.open(10_000);
    t.run(250);
    t.write(30_000);
    t.run(700);
    let marks = |ms| samples(&notes, ms, ms).iter().map(|s| s.app_limited).collect::<Vec<_>>();
    assert_eq!(marks(350), [true; 10]);
    assert_eq!(marks(450), [false; 10]);
}

/// A window that stays at twenty segments, of which one leaves every `gap_ms` milliseconds.
fn paced(gap_ms: u64) -> Asks {
    let pacing = Some(Rate::from_bps(8_000_000 / gap_ms));
    Asks { window: Some(20), pacing, ..Asks::default() }
}

/// What the source sends up to and with `ms`.
fn sent(t: &mut Script, ms: u64) -> Vec<String> {
    t.look(ms).into_iter().filter(|line| line.contains(" > ")).collect()
}

#[test]
fn segments_leave_at_the_pacing_rate() {
    // Ten are free (Linux), then one every 8 ms until the window of twenty is full, at 180. The
    // next was due at 188. The first acknowledgements come at 200: 12 ms late, of which 4, half a
    // segment's, are made up.
    let (mut t, _) = Script::asking(&rfc(10), &paced(8));
    t.open(1_000_000);
    t.run(99);
    t.look(99);
    let mut expected = vec!["100 > 0..10000 (10)".to_owned()];
    let times = (108..=180).step_by(8).chain([200]).chain((204..=244).step_by(8));
    for (n, ms) in times.enumerate() {
        expected.push(format!("{ms} > {}000..{}000", 10 + n, 11 + n));
    }
    assert_eq!(sent(&mut t, 250), expected);
}

#[test]
fn an_idle_sender_saves_up_no_burst() {
    let (mut t, _) = Script::asking(&rfc(10), &paced(8));
    t.open(15_000);
    t.run(1_999);
    t.look(1_999);
    assert_eq!(t.source.poll_timeout(), Time::NEVER);
    t.run(2_000);
    t.write(4_000);
    assert_eq!(
        sent(&mut t, 2_050),
        [
            "2000 > 15000..16000",
            "2004 > 16000..17000",
            "2012 > 17000..18000",
            "2020 > 18000..19000"
        ]
    );
}

#[test]
fn retransmissions_are_paced_too() {
    // 12 leaves at 124 and is lost; 13, 14 and 15 follow every 8 ms, so it is known at 248. As in
    // the test above a segment has left at 244: it goes at 252, and 27 after it.
    let (mut t, _) = Script::asking(&rfc(10), &paced(8));
    t.lose("> 12000..13000");
    t.open(1_000_000);
    t.run(243);
    t.look(243);
    assert_eq!(
        sent(&mut t, 260),
        ["244 > 26000..27000", "252 > 12000..13000 again", "260 > 27000..28000"]
    );
    assert_eq!(t.source.counters().reductions, 1);
}

#[test]
fn the_timer_waits_for_what_pacing_holds_back() {
    // A segment a second. Ten leave at 100 ms, the tenth is lost. The acknowledgements at 200 ms set
    // the timer to a second after the next departure, which is at 1100.
    let (mut t, _) = Script::asking(&rfc(10), &paced(1_000));
    t.lose("> 9000..10000");
    t.open(20_000);
    t.run(2_099);
    t.look(2_099);
    assert_eq!((t.source.counters().timeouts, t.source.counters().segments), (0, 11));
    assert_eq!(sent(&mut t, 2_999), ["2100 > 9000..10000 again"]);
    assert_eq!(t.source.counters().timeouts, 1);
}

#[test]
fn pacing_holds_back_no_acknowledgement() {
    // The sink sends too, paced; what it owes leaves in between.
    let (mut t, _) = Script::asking(&rfc(10), &paced(1_000));
    t.open(20_000);
    t.run(99);
    t.sink.write(30_000);
    t.run(3_000);
    assert_eq!(t.received(), 12_000);
    assert!(t.source.counters().timeouts == 0 && t.source.sender().una() == 12_000);
}

fn accurate() -> Asks {
    let needs = Needs { ecn: EcnFeedback::Accurate, ..Needs::default() };
    Asks { needs, ..Asks::default() }
}

/// A sink that acknowledges every second segment, or after 200 ms, on a stack without ECN.
fn delayed(window: u32) -> Stack {
    let timeout = Duration::from_millis(200);
    rfc(window).with(|s| s.acks.delayed_ack = DelayedAck::Counted { timeout })
}

#[test]
fn each_mark_is_echoed_and_a_window_of_them_reduces_once() {
    // The same as with the echo of RFC 3168 (tests of windows), but only 3 and 5 are echoed, and the
    // stack's own switch is off.
    let (mut t, notes) = Script::asking(&rfc(10), &accurate());
    t.mark("> 3000..4000");
    t.mark("> 5000..6000");
    t.open(100_000);
    t.look(149);
    t.expect(
        199,
        "150 < ack 1000
         150 < ack 2000
         150 < ack 3000
         150 < ack 4000 ece
         150 < ack 5000
         150 < ack 6000 ece
         150 < ack 7000
         150 < ack 8000
         150 < ack 9000
         150 < ack 10000",
    );
    t.expect(200, "200 > 10000..16000 (6)");
    let marked: Vec<_> = notes.acks().iter().map(|(ack, _)| ack.ce).collect();
    assert_eq!(marked, [0, 0, 0, 1000, 0, 1000, 0, 0, 0, 0]);
    assert_eq!((t.window(), notes.signals()), ((6, 6), vec![(200, Signal::Ecn)]));
    t.look(299);
    t.expect(300, "300 > 16000..17000 cwr\n300 > 17000..22000 (5)");
    assert_eq!(t.source.counters().reductions, 1);
}

#[test]
fn a_delayed_acknowledgement_leaves_with_the_old_echo_when_it_changes() {
    // RFC 8257 section 3.2. 2 waits when 3 comes with a mark: it is acknowledged without an echo, 3
    // at once with one. 4 has a mark too, and waits; 5 has none: both at once, apart. 6 waits, as
    // the seventh and last.
    let (mut t, notes) = Script::asking(&delayed(7), &accurate());
    t.mark("> 3000..4000");
    t.mark("> 4000..5000");
    t.open(7_000);
    t.look(149);
    t.expect(
        150,
        "150 < ack 2000
         150 < ack 3000
         150 < ack 4000 ece
         150 < ack 5000 ece
         150 < ack 6000",
    );
    t.expect(350, "350 < ack 7000");
    t.run(500);
    let marked: Vec<_> = notes.acks().iter().map(|(ack, _)| (ack.delivered, ack.ce)).collect();
    assert_eq!(marked, [(2000, 0), (1000, 0), (1000, 1000), (1000, 1000), (1000, 0), (1000, 0)]);
}

#[test]
fn a_change_of_the_echo_out_of_order() {
    // 3 is lost and 4 has a mark, while the acknowledgement of 2 waits: that says nothing of 4.
    let (mut t, notes) = Script::asking(&delayed(6), &accurate());
    t.lose("> 3000..4000");
    t.mark("> 4000..5000");
    t.open(6_000);
    t.look(149);
    t.expect(
        199,
        "150 < ack 2000
         150 < ack 3000
         150 < ack 3000 sack 4000-5000 ece
         150 < ack 3000 sack 4000-6000",
    );
    t.run(2_000);
    let marked: Vec<_> = notes.acks().iter().map(|(ack, _)| (ack.delivered, ack.ce)).collect();
    assert_eq!(marked[..4], [(2000, 0), (1000, 0), (1000, 1000), (1000, 0)]);
    assert_eq!(t.received(), 6_000);
}

#[test]
fn with_an_accurate_echo_everything_may_be_marked() {
    // Linux, `tcp_ecn_send`: what a router may not mark it drops. The script refuses to mark what
    // may not be marked.
    let (mut t, notes) = twenty_segments(&rfc(10), &accurate(), &["> 2000..3000"]);
    for segment in ["> SYN", "< SYN ACK", "< ack 1000", "> 2000..3000 again"] {
        t.mark(segment);
    }
    t.run(2_000);
    let marked: u64 = notes.acks().iter().map(|(ack, _)| ack.ce).sum();
    // The retransmission alone is data, and what was SACKed behind it is delivered already.
    assert_eq!((t.received(), marked, t.source.counters().reductions), (20_000, 1000, 1));
}

#[test]
fn an_algorithm_hears_of_every_start_with_nothing_in_the_network() {
    // Linux `tcp_event_data_sent`. A segment leaves at 100 ms and another at 250, which is lost and
    // leaves again a second later (RFC 6298).
    let (mut t, notes) = Script::asking(&rfc(3), &Asks::default());
    t.lose("> 1000..2000");
    t.open(1_000);
    t.run(250);
    t.write(1_000);
    t.run(2_000);
    assert_eq!(notes.starts(), [(250, 150), (1_250, 1_000)]);
}

#[test]
fn what_arrives_twice_is_delivered_twice() {
    // Linux `tcp_dsack_seen`. The acknowledgement is lost, the segment leaves again after 1 s, and what
    // acknowledges it reports a duplicate of 1000 bytes.
    let (mut t, notes) = Script::asking(&rfc(3).with(|s| s.options.dsack = true), &Asks::default());
    t.lose("< ack 1000");
    t.open(1_000);
    t.run(2_000);
    let acks: Vec<_> =
        notes.acks().iter().map(|(ack, flow)| (ack.acked, ack.delivered, flow.now)).collect();
    assert_eq!(acks, [(1_000, 2_000, millis(1_200))]);
    assert_eq!(t.source.counters().retransmissions, 1);
}
