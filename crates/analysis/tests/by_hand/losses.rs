//! What is sent again, out of order, or twice.

use fairway_capture::packet::flags::{ACK, FIN, SYN};

use super::wire::{SERVER, Segment, Wire, ack, data, sack};

/// The first byte of data is 1, at 0 ms.
fn opened() -> Wire {
    let mut wire = Wire::new();
    let syn = Segment { seq: 0, flags: SYN, window: 1000, ..Segment::default() };
    wire.at_ms(0).client(syn);
    wire.server(Segment { seq: SERVER - 1, ack: 1, flags: SYN | ACK, ..syn });
    wire.client(data(1, 0));
    wire
}

#[test]
fn a_stream_longer_than_its_numbers() {
    let mut wire = Wire::new();
    let step: u32 = 1 << 29;
    let mut seq = u32::MAX - 100;
    for _ in 0..40 {
        wire.client(data(seq, step)).server(ack(seq.wrapping_add(step)));
        seq = seq.wrapping_add(step);
    }
    let sent = wire.sent();
    // 40 * 2^29 = 20 GiB.
    assert_eq!((sent.data.unique_bytes, sent.data.acked_bytes), (40 << 29, 40 << 29));
    assert_eq!(sent.data.retransmitted_segments, 0);
}

#[test]
fn a_retransmission_and_the_acknowledgements_around_it() {
    let mut wire = opened();
    for (index, ms) in [(0, 10), (1, 11), (2, 12), (3, 13)] {
        wire.at_ms(ms).client(data(1 + index * 100, 100));
    }
    // The first is lost; three duplicates; it is sent again; everything is acknowledged.
    for ms in [51, 52, 53] {
        wire.at_ms(ms).server(ack(1));
    }
    wire.at_ms(54).client(data(1, 100)).at_ms(94).server(ack(401));
    wire.at_ms(100).client(data(401, 100)).at_ms(140).server(ack(501));
    let sent = wire.sent();
    assert_eq!(
        (sent.data.data_bytes, sent.data.unique_bytes, sent.data.retransmitted_bytes),
        (600, 500, 100)
    );
    assert_eq!((sent.data.retransmitted_segments, sent.data.max_retransmissions), (1, 1));
    assert_eq!((sent.duplicate_acks, sent.triple_duplicate_acks), (3, 1));
    // The acknowledgement at 94 ms has waited for the first segment.
    assert_eq!((sent.post_loss_acks, sent.cumulatively_acked_segments), (1, 3));
    let retransmission = sent.retransmission_s.expect("there is one");
    assert_eq!((retransmission.count, retransmission.min), (1, 0.044));
    let rtt = sent.rtt_s.expect("the SYN and the last");
    assert_eq!((rtt.count, rtt.max), (2, 0.040));
}

#[test]
fn a_retransmission_of_other_length() {
    let mut wire = opened();
    wire.at_ms(10).client(data(1, 1000)).at_ms(20).client(data(1001, 1000));
    // The second half of the first, and the first half of the second.
    wire.at_ms(300).client(data(501, 1000));
    // Everything again, and 500 more.
    wire.at_ms(900).client(data(1, 2500));
    let sent = wire.sent();
    assert_eq!((sent.data.data_bytes, sent.data.unique_bytes), (5500, 2500));
    assert_eq!((sent.data.retransmitted_segments, sent.data.retransmitted_bytes), (2, 3000));
    // Byte 501 was sent at 10, 300 and 900 ms.
    let times = sent.retransmission_s.expect("two");
    assert_eq!((times.count, times.min, times.max), (2, 0.290, 0.890));
}

#[test]
fn a_part_of_a_segment_is_acknowledged() {
    let mut wire = opened();
    wire.at_ms(10).client(data(1, 1000)).at_ms(50).server(ack(501)).at_ms(52).server(ack(1001));
    let sent = wire.sent();
    assert_eq!(sent.data.acked_bytes, 1000);
    let rtt = sent.rtt_s.expect("SYN, half and half");
    assert_eq!((rtt.count, rtt.max), (3, 0.042));
}

#[test]
fn reordered_in_front_of_the_capture() {
    let mut wire = opened();
    wire.client(data(1, 100)).client(data(201, 100)).client(data(101, 100));
    let sent = wire.sent();
    assert_eq!((sent.data.unique_bytes, sent.data.out_of_order_segments), (300, 1));
    assert_eq!(sent.data.retransmitted_segments, 0);
}

#[test]
fn duplicated_by_a_network() {
    let mut wire = opened();
    wire.client(Segment { ip_id: 7, ..data(1, 100) }).client(Segment { ip_id: 7, ..data(1, 100) });
    wire.client(Segment { ip_id: 8, ..data(1, 100) });
    let sent = wire.sent();
    assert_eq!((sent.data.retransmitted_segments, sent.data.duplicated_packets), (2, 1));
}

#[test]
fn a_fin_again() {
    let mut wire = opened();
    wire.at_ms(10).client(data(1, 100)).client(data(101, 0).with(FIN));
    wire.at_ms(250).client(data(101, 0).with(FIN)).at_ms(290).server(ack(102));
    let sent = wire.sent();
    assert_eq!((sent.headers.fins, sent.data.retransmitted_fins), (2, 1));
    assert_eq!((sent.data.retransmitted_segments, sent.data.retransmitted_bytes), (0, 0));
    assert_eq!((sent.data.unique_bytes, sent.data.acked_bytes), (100, 100));
    assert_eq!(sent.data.stream_bytes, Some(100));
}

#[test]
fn a_fin_again_with_data() {
    let mut wire = opened();
    wire.client(data(1, 100).with(FIN)).client(data(1, 100).with(FIN)).server(ack(102));
    let sent = wire.sent();
    assert_eq!((sent.data.retransmitted_fins, sent.data.retransmitted_segments), (1, 1));
    assert_eq!((sent.data.retransmitted_bytes, sent.data.unique_bytes), (100, 100));
}

#[test]
fn begun_in_the_middle() {
    let mut wire = Wire::new();
    // What was sent before: an acknowledgement, and a retransmission below what was first seen.
    wire.server(ack(50_001)).client(data(60_001, 100)).client(data(50_001, 100));
    wire.server(ack(60_101));
    let sent = wire.sent();
    assert_eq!(sent.data.data_bytes, 200);
    // Nothing was seen twice.
    assert_eq!((sent.data.unique_bytes, sent.data.retransmitted_segments), (200, 0));
    // 50 001 to 60 101 less the 200 that were seen.
    assert_eq!(sent.data.acked_bytes, 10_100);
    assert_eq!(sent.data.stream_bytes, None);
}

#[test]
fn one_direction_alone() {
    let mut wire = Wire::new();
    for index in 0..1000 {
        wire.client(data(1 + index * 100, 100));
    }
    wire.client(data(99_901, 100)).client(data(1, 100));
    let sent = wire.sent();
    assert_eq!((sent.data.unique_bytes, sent.data.retransmitted_segments), (100_000, 2));
    assert!(sent.rtt_s.is_none());

    for index in 0..1000 {
        wire.server(ack(1 + index * 100));
    }
    let connection = wire.connection();
    assert_eq!(connection.directions[0].headers.pure_acks, 1000);
    let unseen = &connection.directions[1];
    assert_eq!((unseen.data.data_bytes, unseen.data.acked_bytes), (0, 99_900));
    assert_eq!(unseen.data.acked_unseen_bytes, 99_900);
}

#[test]
fn selective_acknowledgements_and_a_duplicate() {
    let mut wire = opened();
    for index in 0..4 {
        wire.at_ms(10).client(data(1 + index * 100, 100));
    }
    wire.at_ms(50).server(sack(1, &[(101, 201)])).server(sack(1, &[(101, 401)]));
    wire.at_ms(51).client(data(1, 100));
    wire.at_ms(91).server(ack(401)).server(sack(401, &[(1, 101)]));
    // Inside of the second block: also twice.
    wire.client(data(401, 100)).client(data(501, 100));
    wire.server(sack(401, &[(501, 551), (501, 601)]));
    let connection = wire.connection();
    let back = &connection.directions[1];
    assert_eq!(
        (back.headers.sack_packets, back.headers.dsack_packets, back.headers.max_sack_blocks),
        (4, 2, 2)
    );
    assert_eq!(connection.directions[0].sack_renegings, 0);
}

#[test]
fn a_receiver_throws_away_what_it_had() {
    let mut wire = opened();
    for index in 0..3 {
        wire.client(data(1 + index * 100, 100));
    }
    wire.server(sack(1, &[(101, 301)]));
    wire.client(data(1, 100));
    // It has the first, and says no word of the others.
    wire.server(ack(101));
    wire.client(data(101, 200)).server(ack(301));
    let sent = wire.sent();
    assert_eq!((sent.sack_renegings, sent.data.retransmitted_segments), (1, 2));
    assert_eq!(sent.data.acked_bytes, 300);
}

#[test]
fn a_lost_acknowledgement_is_no_matter() {
    let mut wire = opened();
    wire.client(data(1, 100)).client(data(101, 100)).server(ack(201)).server(ack(101));
    let sent = wire.sent();
    assert_eq!((sent.data.acked_bytes, sent.duplicate_acks), (200, 0));
}
