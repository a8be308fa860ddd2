//! What was lost, duplicated and reordered, and what was sent in its place.

use proptest::prelude::*;

use super::network::{MS, Network, Segment};

/// Sequence numbers of the first byte: numbers go around after five segments.
const FIRST: u32 = u32::MAX - 4999;

fn opened() -> Network {
    let mut network = Network::default();
    network.open(FIRST - 1, 10 * MS);
    network
}

fn data(id: u16, index: u32) -> Segment {
    Segment::data(id, FIRST.wrapping_add(index * 1000), 1000)
}

#[test]
fn a_loss_and_its_repair() {
    let mut network = opened();
    for index in 0..10 {
        let sent = (100 + u64::from(index)) * MS;
        match index {
            7 => network.lose(sent, data(100 + index as u16, index)),
            _ => network.carry(sent, 10 * MS, data(100 + index as u16, index)),
        }
    }
    network.carry(130 * MS, 10 * MS, data(200, 7));
    network.carry(140 * MS, 10 * MS, Segment::ack(9, FIRST.wrapping_add(10_000)));
    // Sent again though it had arrived.
    network.carry(160 * MS, 10 * MS, data(201, 3));
    let report = network.analyse();
    let there = &report.connections[0].directions[0];
    assert_eq!((there.sent_packets, there.arrived_packets, there.lost_packets), (14, 13, 1));
    let loss = there.losses[0];
    // Two packets of the handshake come from the client, one from the server; 7 before it.
    assert_eq!((loss.packet, loss.from_byte, loss.data_bytes), (11, 7000, 1000));
    assert_eq!((loss.repaired_by, loss.repaired_after_s), (Some(14), Some(0.023)));
    assert!((loss.t_s - 0.107).abs() < 1e-12);
    assert_eq!((there.needed_retransmissions, there.needless_retransmissions), (1, 1));
    // S: 12 segments of data; R: 11; 2 were sent again, and 1 had been there.
    let ratio = there.loss_ratio;
    assert_eq!((ratio.sent_bytes, ratio.received_bytes), (12_000, 11_000));
    assert_eq!((ratio.of_sent, ratio.of_received), (Some(1.0 / 12.0), Some(1.0 / 11.0)));
    assert_eq!(ratio.retransmitted_of_sent, Some(2.0 / 12.0));
    assert_eq!(ratio.duplicates_of_sent, Some(1.0 / 12.0));
    assert_eq!(report.totals[0].loss_ratio, ratio);
    assert_eq!(report.connections[0].directions[1].lost_packets, 0);
}

#[test]
fn a_repair_that_is_lost_is_repaired() {
    let mut network = opened();
    network.lose(100 * MS, data(100, 0));
    network.carry(101 * MS, 10 * MS, data(101, 1));
    network.lose(400 * MS, data(102, 0));
    network.carry(1000 * MS, 10 * MS, data(103, 0));
    network.carry(1020 * MS, 10 * MS, Segment::ack(9, FIRST.wrapping_add(2000)));
    let report = network.analyse();
    let there = &report.connections[0].directions[0];
    let repairs: Vec<_> = there.losses.iter().map(|l| (l.packet, l.repaired_by)).collect();
    assert_eq!(repairs, [(4, Some(6)), (6, Some(7))]);
    assert_eq!((there.needed_retransmissions, there.needless_retransmissions), (2, 0));
}

#[test]
fn a_packet_that_comes_twice_and_one_that_comes_late() {
    let mut network = opened();
    for index in 0..8 {
        let sent = (100 + u64::from(index)) * MS;
        // The third is overtaken by three.
        let delay = if index == 2 { 13 * MS + MS / 2 } else { 10 * MS };
        network.carry(sent, delay, data(100 + index as u16, index));
    }
    network.see(1, 116 * MS, Segment { ttl: 62, ..data(104, 4) });
    let report = network.analyse();
    let there = &report.connections[0].directions[0];
    assert_eq!((there.network_duplicates, there.lost_packets, there.unsent_packets), (1, 0, 0));
    assert_eq!((there.reordered_packets, there.most_reordering_extent), (1, 3));
    // It came at 115.5 ms; the first that was sent after it at 113 ms.
    assert!((there.most_reordering_late_s - 0.002_5).abs() < 1e-12);
    assert_eq!(there.loss_ratio.of_sent, Some(-1.0 / 8.0), "as two traces have it: one more");
}

#[test]
fn what_was_under_way_when_a_capture_ended_is_not_lost() {
    let mut network = opened();
    for index in 0..6 {
        network.carry((100 + u64::from(index)) * MS, 10 * MS, data(100 + index as u16, index));
    }
    let end = 113 * MS;
    network.seen[1].retain(|(at_ns, _)| *at_ns <= end);
    let there = &network.analyse().connections[0].directions[0];
    assert_eq!((there.arrived_packets, there.lost_packets, there.undecided_packets), (6, 0, 2));
}

#[test]
fn a_spurious_retransmission_is_nobodys_repair() {
    let mut network = opened();
    // The first takes a second, and is sent again meanwhile.
    network.carry(100 * MS, 1000 * MS, data(100, 0));
    network.carry(400 * MS, 10 * MS, data(101, 0));
    network.carry(1200 * MS, 10 * MS, data(102, 1));
    let there = &network.analyse().connections[0].directions[0];
    assert_eq!((there.lost_packets, there.needless_retransmissions), (0, 1));
    assert_eq!(there.reordered_packets, 1);
}

#[test]
fn a_handshake_in_both_is_enough_to_begin_with() {
    let mut network = opened();
    let bare = Segment { id: 0, stamps: None, ..data(0, 0) };
    network.lose(100 * MS, bare);
    network.carry(300 * MS, 10 * MS, bare);
    let there = &network.analyse().connections[0].directions[0];
    let missing = there.lost_packets + there.undecided_packets;
    assert_eq!((there.sent_packets, there.arrived_packets, missing), (4, 3, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Segments, each lost or not, and repaired until one gets through; anything about ids and
    /// timestamps: what is found lost is what was dropped, packet by packet.
    #[test]
    fn what_is_found_lost_is_what_was_dropped(
        losses in prop::collection::vec(0_usize..4, 1..80),
        has_ids in any::<bool>(),
        has_stamps in any::<bool>(),
        ahead_ms in -900_000_i64..900_000,
        drift_ppm in -100_i32..100,
    ) {
        let mut network = Network {
            ahead_ns: ahead_ms * 1_000_000,
            drift: f64::from(drift_ppm) * 1e-6,
            ..opened()
        };
        let mut dropped = 0;
        let (mut id, mut at) = (100_u16, 100 * MS);
        let dress = |segment: Segment| Segment {
            id: if has_ids { segment.id } else { 0 },
            stamps: segment.stamps.filter(|_| has_stamps),
            ..segment
        };
        let mut expected = Vec::new();
        for (index, times) in (0..).zip(&losses) {
            for time in 0..=*times {
                id += 1;
                at += 5 * MS;
                let segment = dress(data(id, index));
                if time < *times {
                    network.lose(at, segment);
                    dropped += 1;
                    expected.push((at, i64::from(index) * 1000));
                } else {
                    network.carry(at, 10 * MS, segment);
                }
                // Something arrives in between, so that order says which it was.
                network.carry(at + MS, 10 * MS, dress(Segment::data(id, FIRST - 1, 0)));
                network.carry(at + 2 * MS, 10 * MS, dress(Segment::ack(id, 9)));
            }
        }
        let report = network.analyse();
        let there = &report.connections[0].directions[0];
        prop_assert_eq!((there.lost_packets, there.undecided_packets), (dropped, 0));
        let mut found: Vec<_> = there
            .losses
            .iter()
            .map(|loss| (((loss.t_s * 1e9).round() as u64), loss.from_byte))
            .collect();
        found.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(there.needed_retransmissions, dropped);
        prop_assert_eq!(there.needless_retransmissions, 0);
        prop_assert_eq!(report.connections[0].directions[1].lost_packets, 0);
    }
}
