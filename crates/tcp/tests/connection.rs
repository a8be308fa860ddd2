//! How a connection begins and ends: the handshake with its options (RFC 9293, 7323, 2018, 6298),
//! the orderly close, and sequence numbers that wrap.

use crate::script::{Script, preset, rfc};
use fairway_tcp::{Config, EcnMode, Endpoint, Flags, Role, Segment, Stack, State};
use fairway_units::Time;

fn with_options() -> Stack {
    rfc(10).with(|s| {
        s.options.timestamps = true;
        s.options.ecn = EcnMode::Classic;
    })
}

/// The SYN of a stack, and what a stack answers to it.
fn syn_and_answer(source: &Stack, sink: &Stack) -> (Segment, Segment) {
    let mut t = Script::between(source, sink, [1000, 5000]);
    t.source.connect();
    let syn = t.source.poll_transmit(Time::ZERO).expect("a SYN");
    t.sink.handle_segment(&syn, Time::ZERO);
    (syn, t.sink.poll_transmit(Time::ZERO).expect("its answer"))
}

#[test]
fn three_way_handshake() {
    let mut t = Script::new(&rfc(3));
    t.open(0);
    t.expect(
        150,
        "  0 > SYN
          50 < SYN ACK
         100 > ack 0",
    );
    assert_eq!((t.source.state(), t.sink.state()), (State::Established, State::Established));
    // The source timed the SYN, the sink its answer (RFC 6298 section 2; RFC 9293 counts both).
    for end in [&t.source, &t.sink] {
        assert_eq!(end.sender().srtt().map(|srtt| srtt.as_millis()), Some(100));
    }
}

#[test]
fn data_takes_the_acknowledgement_of_the_answer_along() {
    let mut t = Script::new(&rfc(3));
    t.open(1_000);
    t.expect(
        150,
        "  0 > SYN
          50 < SYN ACK
         100 > 0..1000
         150 < ack 1000",
    );
}

#[test]
fn what_a_syn_offers() {
    let (syn, answer) = syn_and_answer(&with_options(), &with_options());
    let offers = Flags::SACK_PERMITTED.with(Flags::TIMESTAMP).with(Flags::WINDOW_SCALE);
    assert!(syn.flags.has(offers) && answer.flags.has(offers));
    assert_eq!((syn.seq.0, answer.seq.0, answer.ack.0), (1000, 5000, 1001));
    // RFC 6691: the option leaves in what the timestamps will take, 12 bytes.
    assert_eq!((syn.mss, syn.payload_bytes), (1012, 0));
    // 256 MiB = 2²⁸: shifted by 12 it is 65536, one too many for 16 bits, so 13. The window of a
    // SYN is never scaled (RFC 7323 section 2.2), so it says what fits.
    assert_eq!((syn.window_scale, syn.window), (13, 65535));
    // RFC 3168 section 6.1.1: ECE and CWR ask, ECE alone agrees; neither is ECN-capable itself.
    assert!(syn.flags.has(Flags::ECE.with(Flags::CWR)) && !syn.flags.has(Flags::ECT));
    assert!(answer.flags.has(Flags::ECE) && !answer.flags.has(Flags::CWR));
    // RFC 7323 section 3.2: the answer echoes the SYN's timestamp.
    assert_eq!(answer.ts_echo, syn.ts_value);
}

#[test]
fn segments_are_no_larger_than_the_peer_takes() {
    // 2500 bytes to a sink that takes 600: four full segments; Nagle holds the rest.
    let mut t = Script::between(&rfc(10), &rfc(10).with(|s| s.options.mss = 600), [1000, 5000]);
    t.open(2_500);
    t.look(99);
    t.expect(100, "100 > 0..2400 (4)");
}

#[test]
fn an_option_that_was_not_offered_is_not_answered() {
    let none = with_options().with(|s| {
        s.options.sack = false;
        s.options.timestamps = false;
        s.options.window_scaling = false;
        s.options.ecn = EcnMode::Off;
    });
    let all = Flags::SACK_PERMITTED.with(Flags::TIMESTAMP);
    for (source, sink) in [(&none, &with_options()), (&with_options(), &none)] {
        let (syn, answer) = syn_and_answer(source, sink);
        for option in [all, Flags::WINDOW_SCALE, Flags::ECE] {
            assert!(!(syn.flags.has(option) && answer.flags.has(option)), "{option:?}");
        }
        if !syn.flags.has(Flags::WINDOW_SCALE) {
            assert!(!answer.flags.has(Flags::WINDOW_SCALE) && !answer.flags.has(Flags::TIMESTAMP));
        }
    }
}

/// An option either end may refuse, and what a transfer looks like then.
fn refused(change: impl Fn(&mut Stack), check: impl Fn(&Stack, &Stack)) {
    let all = with_options();
    let mut less = all.clone();
    change(&mut less);
    check(&all, &less);
    check(&less, &all);
}

#[test]
fn sack_refused_by_either_end() {
    refused(
        |stack| stack.options.sack = false,
        |source, sink| {
            let mut t = Script::between(source, sink, [1000, 5000]);
            t.lose("> 1000..2000");
            t.open(3_000);
            t.look(149);
            t.expect(
                150,
                "150 < ack 1000
                 150 < ack 1000",
            );
        },
    );
}

#[test]
fn timestamps_refused_by_either_end() {
    refused(
        |stack| stack.options.timestamps = false,
        |source, sink| {
            let mut t = Script::between(source, sink, [1000, 5000]);
            t.open(0);
            t.run(150);
            t.source.write(1_000);
            let data = t.source.poll_transmit(Time::from_nanos(150_000_000)).expect("data");
            assert!(!data.flags.has(Flags::TIMESTAMP));
            assert_eq!((data.ts_value, data.ts_echo), (0, 0));
        },
    );
}

#[test]
fn window_scale_refused_by_either_end() {
    // 65 of 100 segments of 1000 bytes fit a window of 65535 bytes.
    refused(
        |stack| stack.options.window_scaling = false,
        |source, sink| {
            let source = source.clone().with(|s| s.window.initial_window = 100);
            let mut t = Script::between(&source, sink, [1000, 5000]);
            t.open(100_000);
            t.look(99);
            t.expect(100, "100 > 0..65000 (65)");
        },
    );
}

#[test]
fn ecn_refused_by_either_end() {
    refused(
        |stack| stack.options.ecn = EcnMode::Off,
        |source, sink| {
            let mut t = Script::between(source, sink, [1000, 5000]);
            t.open(0);
            t.run(150);
            t.source.write(1_000);
            let data = t.source.poll_transmit(Time::from_nanos(150_000_000)).expect("data");
            assert!(!data.flags.has(Flags::ECT));
        },
    );
}

#[test]
fn a_lost_syn_is_repeated_after_one_two_and_four_seconds() {
    // RFC 6298 section 2.1 and rule 5.5. A repeated SYN is not timed (Karn).
    let mut t = Script::new(&rfc(3));
    t.lose_times(3, "> SYN");
    t.open(1_000);
    t.lose("> 0..1000");
    t.expect(
        10_250,
        "    0 > SYN lost
          1000 > SYN lost
          3000 > SYN lost
          7000 > SYN
          7050 < SYN ACK
          7100 > 0..1000 lost
          8050 < SYN ACK
          8100 > ack 0
         10100 > 0..1000 again
         10150 < ack 1000",
    );
    // RFC 6298 rule 5.7: the data above waited 3 s, not 1 s. (The sink, which heard nothing, sent
    // its answer again.)
    assert_eq!(t.source.sender().srtt(), None);
}

#[test]
fn a_lost_answer_is_repeated_by_either_timer() {
    // The source's SYN comes again at 1050 ms, when the sink's own timer expires too.
    let mut t = Script::new(&rfc(3));
    t.lose("< SYN ACK");
    t.open(1_000);
    t.expect(
        1_150,
        "   0 > SYN
           50 < SYN ACK lost
         1000 > SYN
         1050 < SYN ACK
         1100 > 0..1000
         1150 < ack 1000",
    );
}

#[test]
fn a_lost_last_step_of_the_handshake_is_made_up_by_data_or_by_the_answer_again() {
    let mut t = Script::new(&rfc(3));
    t.lose("> ack 0");
    t.open(0);
    t.expect(
        1_150,
        "   0 > SYN
           50 < SYN ACK
          100 > ack 0 lost
         1050 < SYN ACK
         1100 > ack 0",
    );
    assert_eq!(t.sink.state(), State::Established);

    let mut t = Script::new(&rfc(3));
    t.lose("> ack 0");
    t.open(0);
    t.run(200);
    t.write(1_000);
    t.look(200);
    t.expect(300, "250 < ack 1000");
    assert_eq!((t.sink.state(), t.received()), (State::Established, 1_000));
}

#[test]
fn a_connection_without_an_answer_is_given_up() {
    // Seven SYNs: 1 + 2 + … + 32 s apart, and 60 s (the maximum) after the last: 123 s.
    let mut t = Script::new(&rfc(3));
    t.lose_times(100, "> SYN");
    t.open(1_000);
    let syns = t.look(122_999).len();
    assert_eq!((syns, t.source.state()), (7, State::SynSent));
    t.run(123_000);
    assert_eq!(t.source.state(), State::Failed);
    t.expect(1_000_000, "");
}

#[test]
fn a_sink_that_fell_silent_answers_the_data_that_comes_at_last() {
    let mut t = Script::new(&rfc(3));
    t.lose_times(20, "> ack 0");
    t.open(0);
    t.run(500_000);
    assert_eq!(t.sink.state(), State::SynReceived);
    t.write(1_000);
    t.run(501_000);
    assert_eq!((t.sink.state(), t.received()), (State::Established, 1_000));
}

#[test]
fn an_answer_to_another_syn_is_ignored() {
    let mut t = Script::new(&rfc(3));
    t.source.connect();
    let syn = t.source.poll_transmit(Time::ZERO).expect("a SYN");
    t.sink.handle_segment(&syn, Time::ZERO);
    let answer = t.sink.poll_transmit(Time::ZERO).expect("its answer");
    let other = Segment { ack: fairway_tcp::SeqNr(answer.ack.0 + 1), ..answer };
    t.source.handle_segment(&other, Time::ZERO);
    assert_eq!(t.source.state(), State::SynSent);
    t.source.handle_segment(&answer, Time::ZERO);
    assert_eq!(t.source.state(), State::Established);
}

#[test]
fn the_source_closes_first() {
    // RFC 9293 section 3.6: each direction ends with a FIN, which takes one sequence number.
    let mut t = Script::new(&rfc(3));
    t.open(1_000);
    t.close();
    t.look(99);
    t.expect(
        200,
        "100 > 0..1000
         100 > fin 1000
         150 < ack 1000
         150 < ack 1001",
    );
    assert!(t.sink.receiver().is_finished() && !t.sink.is_closed() && !t.source.is_closed());
    t.close_sink();
    t.expect(
        300,
        "200 < fin 0
         250 > ack 1",
    );
    assert!(t.source.is_closed() && t.sink.is_closed());
    assert_eq!(
        (t.received(), t.source.poll_timeout(), t.sink.poll_timeout()),
        (1_000, Time::NEVER, Time::NEVER,)
    );
}

#[test]
fn the_sink_closes_first_and_data_still_flows() {
    let mut t = Script::new(&rfc(3));
    t.open(1_000);
    t.run(150);
    t.close_sink();
    t.run(250);
    t.write(2_000);
    t.close();
    t.run(400);
    assert_eq!(t.received(), 3_000);
    assert!(t.source.is_closed() && t.sink.is_closed());
}

#[test]
fn both_close_at_once() {
    let mut t = Script::new(&rfc(3));
    t.open(1_000);
    t.run(200);
    t.close();
    t.close_sink();
    t.look(200);
    t.expect(
        300,
        "250 < ack 1001
         250 > ack 1",
    );
    assert!(t.source.is_closed() && t.sink.is_closed());
}

#[test]
fn a_lost_fin_is_repeated() {
    // The timer was restarted by the acknowledgement of the data at 200 ms, at the minimum of 1 s.
    let mut t = Script::new(&rfc(3));
    t.lose("> fin 1000");
    t.open(1_000);
    t.close();
    t.look(150);
    t.expect(
        1_300,
        "1200 > fin 1000
         1250 < ack 1001",
    );
}

#[test]
fn a_fin_whose_acknowledgement_is_lost_is_acknowledged_again() {
    let mut t = Script::new(&rfc(3));
    t.open(1_000);
    t.close();
    t.run(200);
    t.lose("> ack 1");
    t.close_sink();
    t.look(200);
    // The sink knows 100 ms from the handshake alone: 100 + 4 · 50 ms, and 1 s at least.
    t.expect(
        1_400,
        " 250 > ack 1 lost
         1200 < fin 0
         1250 > ack 1",
    );
    assert!(t.sink.is_closed());
}

#[test]
fn stopping_withdraws_what_was_not_sent() {
    let mut t = Script::new(&rfc(3));
    t.open(1 << 62);
    t.run(150);
    t.source.stop();
    t.run(400);
    // Three segments had left; the FIN follows them.
    assert_eq!(t.received(), 3_000);
    assert!(t.sink.receiver().is_finished());
}

#[test]
fn sequence_numbers_wrap_anywhere() {
    // The same diagram whatever the initial sequence number: just below 2³², so that the wrap is
    // at the SYN, at the first segment's start and end, inside one, at a hole, at the FIN.
    let diagram = |stack: &Stack, isn: u32| {
        let mut t = Script::between(stack, stack, [isn, isn ^ 0x8000_0000]);
        t.lose("> 2000..3000");
        t.lose("> 5000..6000");
        t.open(20_000);
        t.close();
        t.run(2_000);
        t.close_sink();
        t.run(4_000);
        assert!(t.source.is_closed() && t.sink.is_closed(), "initial sequence number {isn}");
        assert_eq!(t.received(), 20_000);
        t.look(4_000)
    };
    for stack in [rfc(10), rfc(10).with(|s| s.options.sack = false), preset("ns2-tcp-linux")] {
        let plain = diagram(&stack, 0);
        for before in [0, 1, 2, 999, 1_000, 1_500, 2_000, 2_001, 2_999, 3_000, 20_000, 20_001] {
            assert_eq!(diagram(&stack, u32::MAX - before), plain, "wrap after {before} bytes");
        }
        for around_half in [(1 << 31) - 3_000, 1 << 31, (1 << 31) + 1] {
            assert_eq!(diagram(&stack, around_half), plain, "{around_half}");
        }
    }
}

#[test]
fn more_than_four_gibibytes_go_through_one_connection() {
    // 2³² + 10⁶ bytes in segments of 65 000: the numbers go round once and meet old ones.
    let stack = rfc(4_000).with(|s| s.options.mss = 65_000);
    let bytes = (1 << 32) + 1_000_000;
    let mut t = Script::between(&stack, &stack, [7, 9]);
    t.lose("> 4294940000..4295005000");
    t.open(bytes);
    t.close();
    t.run(10_000);
    assert_eq!(t.received(), bytes);
    assert_eq!((t.source.counters().retransmissions, t.source.counters().timeouts), (1, 0));
}

#[test]
fn garbage_does_no_harm() {
    // Acknowledgements of what was never sent, blocks upside down, data outside the window.
    let mut t = Script::new(&rfc(10));
    t.open(5_000);
    t.run(120);
    let now = Time::from_nanos(120_000_000);
    let good = Segment {
        flags: Flags::ACK,
        seq: fairway_tcp::SeqNr(5001),
        ack: fairway_tcp::SeqNr(1001),
        window: 65535,
        ..Segment::default()
    };
    let before = t.source.sender().pipe();
    let block = |left, right| fairway_tcp::SackBlock {
        left: fairway_tcp::SeqNr(left),
        right: fairway_tcp::SeqNr(right),
    };
    for bad in [
        Segment { ack: fairway_tcp::SeqNr(1001 + 5_001), ..good },
        Segment { ack: fairway_tcp::SeqNr(999), ..good },
        Segment { ack: fairway_tcp::SeqNr(1001 + (1 << 31)), ..good },
        Segment { sack_count: 1, sack: [block(3001, 2001); 4], ..good },
        Segment { sack_count: 2, sack: [block(7001, 9001); 4], ..good },
        Segment { sack_count: 1, sack: [block(0, 1000); 4], ..good },
        Segment { sack_count: 4, sack: [block(2_000_000_000, 10); 4], ..good },
        Segment { seq: fairway_tcp::SeqNr(1 << 31), payload_bytes: 1000, ..good },
    ] {
        t.source.handle_segment(&bad, now);
    }
    assert_eq!((t.source.sender().pipe(), t.source.sender().una()), (before, 0));
    assert_eq!(t.source.receiver().delivered_bytes(), 0);
    t.run(400);
    assert_eq!(t.received(), 5_000);
}

#[test]
fn an_endpoint_that_has_not_begun_sends_nothing() {
    let cc = fairway_cc::Selection { name: "cubic".to_owned(), variant: None, params: Vec::new() };
    let stack = preset("linux-6.1");
    let mut idle = Endpoint::new(Config {
        connection: 0,
        role: Role::Passive,
        cc: fairway_cc::create(&cc, stack.window.cc_variant, &stack.init("cubic")).expect("CUBIC"),
        stack: stack.into(),
        isn: 1,
        timestamp_offset: 0,
    });
    idle.handle_segment(&Segment { flags: Flags::ACK, ..Segment::default() }, Time::ZERO);
    assert!(idle.poll_transmit(Time::ZERO).is_none());
    assert_eq!((idle.state(), idle.poll_timeout()), (State::Listen, Time::NEVER));
}
