//! Accurate ECN (RFC 9768): what the ends agree on, how they count marks, and what the sender does.
//! Counts begin with 5, which the diagrams leave out.

use crate::script::witness::{Asks, Notes};
use crate::script::{Script, rfc};
use fairway_cc::{EcnFeedback, Needs, Signal};
use fairway_net::{Ecn, Packet};
use fairway_tcp::{DelayedAck, EcnMode, Flags, Segment, Stack};
use fairway_units::{Duration, Time};

fn accurate(window: u32) -> Stack {
    rfc(window).with(|s| s.options.ecn = EcnMode::Accurate)
}

/// A sink that acknowledges every `segments`, or after 200 ms.
fn every(segments: u32, window: u32) -> Stack {
    let timeout = Duration::from_millis(200);
    let delayed_ack = DelayedAck::Counted { timeout };
    accurate(window).with(|s| {
        s.acks.ack_every = segments;
        s.acks.delayed_ack = delayed_ack;
    })
}

fn counting(stack: &Stack) -> (Script, Notes) {
    let (mut t, notes) = Script::asking(stack, &Asks::default());
    t.counts_marks = true;
    (t, notes)
}

/// Delivered and marked bytes of each acknowledgement.
fn marks(notes: &Notes) -> Vec<(u64, u64)> {
    notes.acks().iter().map(|(ack, _)| (ack.delivered, ack.ce)).collect()
}

/// AE, CWR and ECE.
fn bits(segment: &Segment) -> u8 {
    let bit = |flag, value| if segment.flags.has(flag) { value } else { 0 };
    bit(Flags::AE, 4) | bit(Flags::CWR, 2) | bit(Flags::ECE, 1)
}

#[test]
fn what_the_ends_agree_on() {
    // RFC 9768 table 2: the flags of the SYN, of the answer to one that arrived as it was sent, of the
    // acknowledgement of that, and of data, which may be marked if they agree on anything.
    use EcnMode::{Accurate, Classic, Off};
    for (source, sink, flags, capable) in [
        (Accurate, Accurate, [0b111, 0b010, 0b010, 5], true),
        (Accurate, Classic, [0b111, 0b001, 0, 0], true),
        (Accurate, Off, [0b111, 0, 0, 0], false),
        (Classic, Accurate, [0b011, 0b001, 0, 0], true),
        (Off, Accurate, [0, 0, 0, 0], false),
    ] {
        let stack = |ecn| rfc(10).with(|s| s.options.ecn = ecn);
        let mut t = Script::between(&stack(source), &stack(sink), [1000, 5000]);
        t.source.connect();
        let syn = t.source.poll_transmit(Time::ZERO).expect("a SYN");
        t.sink.handle_segment(&syn, Time::ZERO);
        let answer = t.sink.poll_transmit(Time::ZERO).expect("its answer");
        t.source.handle_segment(&answer, Time::ZERO);
        let ack = t.source.poll_transmit(Time::ZERO).expect("an acknowledgement");
        t.source.write(1_000);
        let data = t.source.poll_transmit(Time::ZERO).expect("data");
        let seen = [&syn, &answer, &ack, &data].map(bits);
        assert_eq!((seen, data.flags.has(Flags::ECT)), (flags, capable), "{source:?} {sink:?}");
        assert!(![&syn, &answer, &ack].iter().any(|segment| segment.flags.has(Flags::ECT)));
    }
}

#[test]
fn an_answer_that_was_marked() {
    // RFC 9768 table 3: the client says 110 and counts from 6; table 4: so does the server.
    let mut t = Script::new(&accurate(10));
    t.source.connect();
    let syn = t.source.poll_transmit(Time::ZERO).expect("a SYN");
    t.sink.handle_segment(&syn, Time::ZERO);
    let mut answer = t.sink.poll_transmit(Time::ZERO).expect("its answer");
    answer.flags = answer.flags.with(Flags::CE);
    t.source.handle_segment(&answer, Time::ZERO);
    let ack = t.source.poll_transmit(Time::ZERO).expect("an acknowledgement");
    t.sink.handle_segment(&ack, Time::ZERO);
    t.source.write(1_000);
    let data = t.source.poll_transmit(Time::ZERO).expect("data");
    assert_eq!((bits(&ack), bits(&data)), (0b110, 6));
    // The answer comes again: the same, though data has left.
    t.source.handle_segment(&answer, Time::ZERO);
    let again = t.source.poll_transmit(Time::ZERO).expect("an acknowledgement");
    assert_eq!(bits(&again), 0b110);
}

#[test]
fn a_server_that_hears_nothing_is_not_marked() {
    // RFC 9768 table 4: a field of 0 at the end of the handshake. It counts all the same.
    let mut t = Script::new(&accurate(10));
    t.source.connect();
    let syn = t.source.poll_transmit(Time::ZERO).expect("a SYN");
    t.sink.handle_segment(&syn, Time::ZERO);
    let answer = t.sink.poll_transmit(Time::ZERO).expect("its answer");
    t.source.handle_segment(&answer, Time::ZERO);
    let mut ack = t.source.poll_transmit(Time::ZERO).expect("an acknowledgement");
    ack.flags = Flags::ACK;
    t.sink.handle_segment(&ack, Time::ZERO);
    t.sink.write(1_000);
    let data = t.sink.poll_transmit(Time::ZERO).expect("data");
    assert_eq!((bits(&data), data.flags.has(Flags::ECT)), (5, false));
}

#[test]
fn each_mark_counts_and_a_window_of_them_reduces_once() {
    // As with the echo of RFC 3168 (tests of windows): the fourth acknowledgement finds 12 segments in
    // flight and makes 6 of them. But nothing is echoed on, and nothing says CWR.
    let (mut t, notes) = counting(&accurate(10));
    t.mark("> 3000..4000");
    t.mark("> 5000..6000");
    t.open(100_000);
    t.look(99);
    assert_eq!(t.look(100)[0], "100 > ack 0 ace 2");
    t.look(149);
    t.expect(
        199,
        "150 < ack 1000
         150 < ack 2000
         150 < ack 3000
         150 < ack 4000 ace 6
         150 < ack 5000 ace 6
         150 < ack 6000 ace 7
         150 < ack 7000 ace 7
         150 < ack 8000 ace 7
         150 < ack 9000 ace 7
         150 < ack 10000 ace 7",
    );
    t.expect(200, "200 > 10000..16000 (6)");
    let marked: Vec<u64> = notes.acks().iter().map(|(ack, _)| ack.ce).collect();
    assert_eq!(marked, [0, 0, 0, 1000, 0, 1000, 0, 0, 0, 0]);
    assert_eq!((t.window(), notes.signals()), ((6, 6), vec![(200, Signal::Ecn)]));
    t.look(299);
    t.expect(300, "300 > 16000..22000 (6)");
    // The next window's mark is the next reduction.
    t.mark("> 25000..26000");
    t.run(700);
    assert_eq!(t.source.counters().reductions, 2);
}

#[test]
fn marks_are_told_when_they_begin_and_two_by_two() {
    // Every eighth segment is acknowledged: 2 because marks begin, 4 because it is the second since,
    // 5 with the others. Eight at once and one more in the counter are one mark, not nine.
    let (mut t, notes) = counting(&every(8, 16));
    for segment in ["> 1000..2000", "> 2000..3000", "> 3000..4000", "> 4000..5000"] {
        t.mark(segment);
    }
    t.open(16_000);
    t.look(149);
    t.expect(
        350,
        "150 < ack 2000 ace 6
         150 < ack 4000 ace 0
         150 < ack 12000 ace 1
         350 < ack 16000 ace 1",
    );
    t.run(500);
    assert_eq!(marks(&notes), [(2000, 1000), (2000, 2000), (8000, 1000), (4000, 0)]);
}

#[test]
fn what_a_lost_acknowledgement_told_the_next_one_tells() {
    let (mut t, notes) = counting(&every(2, 8));
    t.mark("> 2000..3000");
    t.mark("> 3000..4000");
    t.lose("< ack 3000 ace 6");
    t.open(8_000);
    t.run(500);
    // 3 at once, and 4 and 5 together.
    assert_eq!(marks(&notes), [(2000, 0), (3000, 2000), (2000, 0), (1000, 0)]);
}

#[test]
fn a_counter_that_may_have_gone_round_has() {
    // RFC 9768 section 3.2.2.5.2: nine of ten acknowledgements are lost, and of the ten segments that
    // the last one is for, 2 or 10 were marked.
    let (mut t, notes) = counting(&accurate(10));
    t.mark("> 3000..4000");
    t.mark("> 4000..5000");
    for (ack, count) in (1..10).zip([5, 5, 5, 6, 7, 7, 7, 7, 7]) {
        let count = if count == 5 { String::new() } else { format!(" ace {count}") };
        t.lose(&format!("< ack {ack}000{count}"));
    }
    t.open(10_000);
    t.run(500);
    assert_eq!(marks(&notes), [(10_000, 10_000)]);
}

#[test]
fn with_an_algorithm_that_asks_for_it_acknowledgements_may_be_marked() {
    // They count, too: the source's next data says so. Every third would be answered if data did not
    // do it first.
    let needs = Needs { ecn: EcnFeedback::Accurate, ..Needs::default() };
    let asks = Asks { needs, ..Asks::default() };
    let (mut t, notes) = Script::asking(&accurate(4), &asks);
    t.counts_marks = true;
    for ack in ["< ack 1000", "< ack 2000", "< ack 3000", "< ack 4000"] {
        t.mark(ack);
    }
    t.open(4_000);
    t.look(199);
    t.expect(249, "200 > ack 0 ace 0");
    t.write(1_000);
    t.expect(298, "249 > 4000..5000 ace 1");
    t.run(1_000);
    assert_eq!(t.source.counters().reductions, 0);
    assert!(marks(&notes).iter().all(|(_, marked)| *marked == 0));
}

#[test]
fn a_scalable_sender_says_so_where_marks_are_counted() {
    // RFC 9331 section 4.1: data and acknowledgements carry ECT(1); RFC 9768 section 3.1.5: no packet of
    // the handshake does. With the echo of RFC 8257 it is ECT(0), in the handshake too.
    let needs = Needs { ecn: EcnFeedback::Scalable, ..Needs::default() };
    for (ecn, handshake, ect) in
        [(EcnMode::Accurate, Ecn::NotEct, Ecn::Ect1), (EcnMode::Classic, Ecn::Ect0, Ecn::Ect0)]
    {
        let stack = rfc(10).with(|s| s.options.ecn = ecn);
        let (mut t, _) = Script::asking(&stack, &Asks { needs, ..Asks::default() });
        t.source.connect();
        let syn = t.source.poll_transmit(Time::ZERO).expect("a SYN");
        t.sink.handle_segment(&syn, Time::ZERO);
        let answer = t.sink.poll_transmit(Time::ZERO).expect("its answer");
        t.source.handle_segment(&answer, Time::ZERO);
        let ack = t.source.poll_transmit(Time::ZERO).expect("an acknowledgement");
        t.sink.handle_segment(&ack, Time::ZERO);
        t.source.write(1_000);
        let data = t.source.poll_transmit(Time::ZERO).expect("data");
        t.sink.handle_segment(&data, Time::ZERO);
        let ack = t.sink.poll_transmit(Time::ZERO).expect("its acknowledgement");
        let seen = [&syn, &answer, &data, &ack].map(Packet::ecn);
        assert_eq!(seen, [handshake, handshake, ect, ect], "{ecn:?}");
    }
}
