//! Data both ways: acknowledgements ride on them. Segments of 1000 bytes, 50 ms each way.

use crate::script::{Script, preset, rfc};
use fairway_tcp::DelayedAck;
use fairway_units::Duration;

#[test]
fn data_carry_the_acknowledgement_that_was_delayed() {
    // The segment that arrives at 150 ms may be acknowledged until 350. The sink writes at 160, and
    // nothing more is due.
    let delayed_ack = DelayedAck::Counted { timeout: Duration::from_millis(200) };
    let mut t = Script::new(&rfc(2).with(|s| s.acks.delayed_ack = delayed_ack));
    t.open(1_000);
    t.look(160);
    t.sink.write(1_000);
    t.expect_pumped("160 < 0..1000");
    t.run(215);
    assert_eq!(t.source.sender().una(), 1_000);
    t.expect(1_000, "410 > ack 1000");
}

#[test]
fn in_order_data_that_fill_the_window_leave_acknowledgements_to_themselves() {
    // ns-2's FullTcp acknowledges every segment. The sink has two segments for its window of two:
    // the first acknowledgement rides on one, and the second finds nothing that may leave.
    let mut t = Script::new(&preset("full-tcp"));
    t.sink.write(2_000);
    t.open(2_000);
    t.look(149);
    t.expect(
        210,
        "150 < 0..2000 (2)
         150 < ack 2000
         200 > ack 1000
         200 > ack 2000",
    );
}

#[test]
fn linux_leaves_acknowledgements_to_the_answer() {
    // Requests and answers of 100 bytes, each 10 ms after the other has come. The first answer is
    // acknowledged at once, as all first data (tcp_event_data_recv). What is sent within 40 ms of data
    // that came makes an end wait (tcp_event_data_sent): from then on nothing is acknowledged alone.
    let mut t = Script::new(&preset("linux-6.1"));
    t.open(100);
    t.look(160);
    t.sink.write(100);
    t.expect_pumped("160 < 0..100");
    t.expect(220, "210 > ack 100");
    for n in 1..4u64 {
        let (from, to) = (n * 100, (n + 1) * 100);
        let at = 120 * n + 100;
        t.expect(at, "");
        t.write(100);
        t.expect(at + 60, &format!("{at} > {from}..{to}"));
        t.sink.write(100);
        t.expect_pumped(&format!("{} < {from}..{to}", at + 60));
    }
    // Nothing follows the last answer: its acknowledgement is delayed by 40 ms, to the next tick.
    t.expect(460 + 60 + 50 + 39, "");
    t.expect(460 + 60 + 50 + 42, "611 > ack 400");
}
