use super::*;
use crate::Ecn;
use crate::qdisc::test_packet::{TestPacket, queued};

/// Flow and size of a packet.
type Left = (u32, u32);

/// An SFQ in which none of the flows 0 to 5 share a slot.
fn sfq(config: SfqConfig) -> Sfq<TestPacket> {
    let sfq = Sfq::new(&config, Stream::new(1, "sfq"));
    let mut buckets: Vec<usize> = (0..6).map(|flow| sfq.bucket(flow)).collect();
    buckets.sort_unstable();
    buckets.dedup();
    assert_eq!(buckets.len(), 6, "choose another seed");
    sfq
}

/// Packets arrive at time zero; those that are dropped.
fn arrive(sfq: &mut Sfq<TestPacket>, packets: &[Left]) -> Vec<Left> {
    let mut drops = Drops::default();
    for (flow, bytes) in packets {
        let packet = queued(*flow, *bytes, Ecn::NotEct, 0);
        sfq.enqueue(packet, &Line::default(), Time::ZERO, &mut drops);
    }
    assert_eq!(drops.for_room, drops.packets.len() as u64);
    drops.packets.iter().map(|dropped| (dropped.packet.flow, dropped.bytes)).collect()
}

fn leave(sfq: &mut Sfq<TestPacket>) -> Option<Left> {
    match sfq.dequeue(Time::ZERO, &mut Drops::default()) {
        Next::Packet(packet) => Some((packet.packet.flow, packet.bytes)),
        _ => None,
    }
}

fn flows(left: &[Left]) -> Vec<u32> {
    left.iter().map(|(flow, _)| *flow).collect()
}

fn all(sfq: &mut Sfq<TestPacket>) -> Vec<Left> {
    std::iter::from_fn(|| leave(sfq)).collect()
}

#[test]
fn flows_take_turns() {
    // A quantum of 1514 less 1514 is nothing: one packet for each turn.
    let mut sfq = sfq(SfqConfig::default());
    arrive(&mut sfq, &[(0, 1514), (0, 1514), (0, 1514), (1, 1514), (1, 1514), (2, 1514)]);
    assert_eq!(flows(&all(&mut sfq)), [0, 1, 2, 0, 1, 0]);
    assert_eq!(sfq.waiting(), Waiting::default());
}

#[test]
fn an_overdrawn_allotment_is_missing_in_the_next_round() {
    let mut sfq = sfq(SfqConfig { quantum: Bytes::new(1000), ..SfqConfig::default() });
    arrive(&mut sfq, &[(0, 600); 6]);
    arrive(&mut sfq, &[(1, 1000); 4]);
    // Flow 0: 1000 − 600 = 400 and −200: two; then 800, 200, −400: two; then 600, 0: one and, with
    // 1000, the last. Flow 1: one each time.
    assert_eq!(flows(&all(&mut sfq)), [0, 0, 1, 0, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn bytes_are_shared_whatever_the_sizes_and_the_loads() {
    let config = SfqConfig { limit_packets: 10_000, depth_packets: 5000, ..SfqConfig::default() };
    let mut sfq = sfq(config);
    for _ in 0..300 {
        arrive(
            &mut sfq,
            &[(0, 1500), (1, 300), (1, 300), (1, 300), (1, 300), (1, 300), (2, 750), (2, 750)],
        );
        arrive(&mut sfq, &[(0, 1500); 10]);
    }
    let mut sent = [0u32; 3];
    for _ in 0..1000 {
        let (flow, bytes) = leave(&mut sfq).unwrap();
        sent[flow as usize] += bytes;
    }
    // Each has had as many turns, but for the one that is under way; and a turn is a quantum, give
    // or take a packet.
    for flow in [1, 2] {
        assert!(sent[0].abs_diff(sent[flow]) <= 1514 + 2 * 1500, "{sent:?}");
    }
}

#[test]
fn the_longest_makes_room() {
    // Three, two and one packets; then come three new flows. Flow 0, the longest, loses one. Of
    // those that now have two it is the one that got there last, so it loses another; then flow 1
    // is the longest.
    let crowd = [(0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (2, 6)];
    let late = [(3, 7), (4, 8), (5, 9)];
    for (head_drop, dropped) in
        [(false, [(0, 3), (0, 2), (1, 5)]), (true, [(0, 1), (0, 2), (1, 4)])]
    {
        let config = SfqConfig { limit_packets: 6, head_drop, ..SfqConfig::default() };
        let mut sfq = sfq(config);
        assert_eq!(arrive(&mut sfq, &crowd), []);
        assert_eq!(arrive(&mut sfq, &late), dropped);
        assert_eq!(sfq.waiting().packets, 6);
    }
}

#[test]
fn where_each_has_one_packet_the_next_in_turn_makes_room() {
    let mut sfq = sfq(SfqConfig { limit_packets: 3, ..SfqConfig::default() });
    assert_eq!(arrive(&mut sfq, &[(0, 1), (1, 2), (2, 3), (3, 4)]), [(0, 1)]);
    assert_eq!(flows(&all(&mut sfq)), [1, 2, 3]);
}

#[test]
fn a_slot_has_its_own_limit() {
    let of = |head_drop| sfq(SfqConfig { depth_packets: 2, head_drop, ..SfqConfig::default() });
    let packets = [(0, 1), (0, 2), (0, 3), (1, 4)];
    let mut tail = of(false);
    assert_eq!(arrive(&mut tail, &packets), [(0, 3)]);
    assert_eq!(tail.waiting(), Waiting { packets: 3, bytes: 7 });
    let mut head = of(true);
    assert_eq!(arrive(&mut head, &packets), [(0, 1)]);
    assert_eq!(head.waiting(), Waiting { packets: 3, bytes: 9 });
    assert_eq!(all(&mut head), [(0, 2), (0, 3), (1, 4)]);
}

#[test]
fn without_a_free_slot_a_new_flow_is_dropped() {
    let mut sfq = sfq(SfqConfig { flows: 2, ..SfqConfig::default() });
    assert_eq!(arrive(&mut sfq, &[(0, 1), (1, 2), (2, 3)]), [(2, 3)]);
    leave(&mut sfq);
    assert_eq!(arrive(&mut sfq, &[(2, 4)]), []);
}

#[test]
fn flows_that_share_a_slot_part_when_the_hash_changes() {
    let second = 1_000_000_000;
    let config =
        SfqConfig { divisor: 2, perturb: Some(Duration::from_secs(1)), ..SfqConfig::default() };
    let mut sfq: Sfq<TestPacket> = Sfq::new(&config, Stream::new(1, "sfq"));
    let mut drops = Drops::default();
    for (flow, bytes) in [(0, 1), (0, 2), (1, 3), (1, 4)] {
        let packet = queued(flow, bytes, Ecn::NotEct, 0);
        sfq.enqueue(packet, &Line::default(), Time::ZERO, &mut drops);
    }
    let together = |sfq: &Sfq<TestPacket>| sfq.bucket(0) == sfq.bucket(1);
    let mut shared = 0;
    for n in 1..=400 {
        let before = sfq.key;
        sfq.perturb(Time::from_nanos(n * second - 1), &mut drops);
        assert_eq!(sfq.key, before);
        sfq.perturb(Time::from_nanos(n * second), &mut drops);
        assert_ne!(sfq.key, before);
        shared += u32::from(together(&sfq));
        let longest = if together(&sfq) { 4 } else { 2 };
        assert_eq!(sfq.lengths.longest(), longest);
        assert_eq!(sfq.waiting(), Waiting { packets: 4, bytes: 10 });
    }
    // Half of 400, ± 4·√100.
    assert!((160..=240).contains(&shared), "{shared}");
    let left = all(&mut sfq);
    let of = |flow| left.iter().filter(|l| l.0 == flow).map(|l| l.1).collect::<Vec<_>>();
    assert_eq!((of(0), of(1)), (vec![1, 2], vec![3, 4]));
}
