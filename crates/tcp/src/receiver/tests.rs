use super::*;
use crate::{DelayedAck, PRESETS};
use fairway_units::Duration;
use proptest::prelude::*;

const T0: Time = Time::ZERO;

fn receiver(delayed_ack: DelayedAck) -> Receiver {
    let preset = (PRESETS.iter().find(|p| p.name == "rfc5681").unwrap().stack)();
    let mut r = Receiver::new(&preset.clone().with(|s| {
        s.acks.delayed_ack = delayed_ack;
        s.options.mss = 1000;
    }));
    r.negotiate(true, true, 12, 1000, T0);
    r
}

fn segment(r: &mut Receiver, n: u64) {
    let range = Range { start: n * 1000, end: (n + 1) * 1000 };
    r.receive(&Arrival { range, fin: false, push: false, echo: None }, T0);
}

fn blocks(r: &Receiver) -> Vec<(u64, u64)> {
    r.sack_ranges().map(|b| (b.start / 1000, b.end / 1000)).collect()
}

#[test]
fn the_block_changed_last_comes_first() {
    // RFC 2018 section 4: with timestamps at most three blocks.
    let mut r = receiver(DelayedAck::Off);
    for n in [0, 2, 4, 6, 8] {
        segment(&mut r, n);
    }
    assert_eq!(blocks(&r), [(8, 9), (6, 7), (4, 5)]);
    segment(&mut r, 5);
    assert_eq!(blocks(&r), [(4, 7), (8, 9), (2, 3)]);
    segment(&mut r, 1);
    assert_eq!((r.rcv_nxt(), blocks(&r)), (3000, vec![(4, 7), (8, 9)]));
    segment(&mut r, 3);
    assert_eq!((r.rcv_nxt(), r.delivered_bytes()), (7000, 7000));
}

#[test]
fn every_second_segment_is_acknowledged_or_one_after_the_timeout() {
    let timeout = Duration::from_millis(40);
    let mut r = receiver(DelayedAck::Counted { timeout });
    segment(&mut r, 0);
    assert!(!r.ack_is_due());
    assert_eq!(r.ack_deadline(), T0 + timeout);
    segment(&mut r, 1);
    assert!(r.ack_is_due());
    r.acknowledge();
    segment(&mut r, 2);
    r.handle_timeout(T0 + timeout);
    assert!(r.ack_is_due());
}

#[test]
fn gaps_filled_gaps_and_duplicates_are_acknowledged_at_once() {
    let mut r = receiver(DelayedAck::Counted { timeout: Duration::from_millis(40) });
    for n in [1, 0, 0] {
        segment(&mut r, n);
        assert!(r.ack_is_due(), "segment {n}");
        r.acknowledge();
    }
    assert_eq!(r.duplicate_bytes(), 1000);
}

#[test]
fn a_fin_counts_in_the_sequence_but_not_as_data() {
    let mut r = receiver(DelayedAck::Off);
    let range = Range { start: 1000, end: 1001 };
    r.receive(&Arrival { range, fin: true, push: false, echo: None }, T0);
    assert!(!r.is_finished());
    segment(&mut r, 0);
    assert!(r.is_finished());
    assert_eq!((r.rcv_nxt(), r.delivered_bytes()), (1001, 1000));
}

proptest! {
    #[test]
    fn any_order_with_duplicates_delivers_every_byte_once(
        order in prop::collection::vec(0u64..20, 0..60),
    ) {
        let mut r = receiver(DelayedAck::Off);
        for n in order.into_iter().chain(0..20) {
            segment(&mut r, n);
            prop_assert!(r.sack_ranges().all(|b| b.start > r.rcv_nxt()));
            prop_assert_eq!(r.delivered_bytes(), r.rcv_nxt());
        }
        prop_assert_eq!(r.delivered_bytes(), 20_000);
    }
}
