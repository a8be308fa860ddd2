//! Which packets belong together, who has opened what, and how it ends.

use fairway_analysis::Options as Wanted;
use fairway_analysis::report::State;
use fairway_capture::Options;
use fairway_capture::packet::flags::{ACK, CWR, ECE, FIN, RST, SYN};

use super::wire::{SERVER, Segment, Wire, ack, data};

fn syn(seq: u32) -> Segment {
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: None,
        ..Options::default()
    };
    Segment { seq, flags: SYN, window: 64000, options, ..Segment::default() }
}

fn syn_ack(seq: u32, ack: u32) -> Segment {
    Segment { ack, ..syn(seq) }.with(ACK)
}

/// Offset 0 of the client is 1001, the round trip of the path 40 ms, the capture at the client.
fn open(wire: &mut Wire) {
    wire.at_ms(0).client(syn(1000)).at_ms(40).server(syn_ack(SERVER - 1, 1001));
    wire.at_ms(41).client(data(1001, 0));
}

#[test]
fn a_whole_connection() {
    let mut wire = Wire::new();
    open(&mut wire);
    wire.at_ms(50).client(data(1001, 500)).at_ms(90).server(ack(1501));
    wire.at_ms(100).client(data(1501, 0).with(FIN)).at_ms(141).server(ack(1502).with(FIN));
    wire.at_ms(142).client(Segment { ack: SERVER + 1, ..data(1502, 0) });
    let connection = wire.connection();
    assert_eq!(connection.state, State::Complete);
    assert_eq!(connection.opened_by, Some("10.0.0.1:4000".parse().expect("an address")));
    assert_eq!(connection.uses_sack, Some(true));
    assert_eq!(connection.uses_timestamps, Some(false));
    assert_eq!(connection.uses_window_scale, Some(true));
    assert!((connection.duration_s - 0.142).abs() < 1e-9);
    let [client, server] = &connection.directions[..] else { panic!("two directions") };
    assert_eq!((client.data.packets, server.data.packets), (5, 3));
    assert_eq!(
        (client.data.data_bytes, client.data.unique_bytes, client.data.acked_bytes),
        (500, 500, 500)
    );
    assert_eq!((client.data.stream_bytes, client.data.missed_bytes), (Some(500), Some(0)));
    assert_eq!(client.handshake_rtt_s, Some(0.040));
    assert_eq!(server.handshake_rtt_s, Some(0.001));
    // SYN 40 ms, data 40 ms, FIN 41 ms.
    let rtt = client.rtt_s.expect("there are three samples");
    assert_eq!((rtt.count, rtt.min, rtt.max, rtt.p50), (3, 0.040, 0.041, 0.040));
    assert!((rtt.mean - 0.121 / 3.0).abs() < 1e-9);
    // 1000 is on the wire as it is in the SYN, and shifted by seven afterwards.
    let window = server.advertised_window_bytes.expect("it announces windows");
    assert_eq!((window.count, window.min, window.max), (2, 128_000.0, 128_000.0));
}

#[test]
fn a_connection_that_is_reset() {
    let mut wire = Wire::new();
    open(&mut wire);
    wire.server(Segment { seq: SERVER, flags: RST, ..Segment::default() });
    assert_eq!(wire.connection().state, State::Reset);
}

#[test]
fn one_that_goes_on_and_one_whose_opening_was_not_seen() {
    let mut wire = Wire::new();
    open(&mut wire);
    assert_eq!(wire.connection().state, State::Open);
    wire.client(data(5, 10).with(FIN)).server(ack(16).with(FIN));
    let connection = wire.connection();
    assert_eq!(connection.state, State::Closed);
    assert_eq!(connection.opened_by, None);
    assert_eq!(connection.uses_sack, None);
}

#[test]
fn the_same_ports_again_are_another_connection() {
    let mut wire = Wire::new();
    open(&mut wire);
    wire.client(data(1001, 100).with(FIN)).server(ack(1102).with(FIN));
    wire.at_ms(5000).client(syn(777_000)).server(syn_ack(5_000_000, 777_001));
    wire.client(Segment { ack: 5_000_001, ..data(777_001, 30) });
    let report = wire.report();
    assert_eq!(report.connections.len(), 2);
    assert_eq!(report.connections[0].directions[0].data.data_bytes, 100);
    assert_eq!(report.connections[1].directions[0].data.data_bytes, 30);
    assert_eq!(report.connections[1].id, 2);
}

#[test]
fn a_syn_again_is_the_same_connection() {
    let mut wire = Wire::new();
    wire.client(syn(1000)).at_ms(1000).client(syn(1000));
    wire.at_ms(1040).server(syn_ack(SERVER - 1, 1001));
    let sent = wire.sent();
    assert_eq!((sent.headers.syns, sent.data.retransmitted_syns), (2, 1));
    // Nobody knows which of them was answered.
    assert_eq!((sent.handshake_rtt_s, sent.ambiguous_acks), (None, 1));
    assert_eq!(sent.ambiguous_rtt_s.expect("one sample").max, 0.040);
    assert_eq!((sent.data.max_retransmissions, sent.data.retransmitted_segments), (1, 0));
}

#[test]
fn both_open_at_once() {
    let mut wire = Wire::new();
    wire.at_ms(0).client(syn(1000)).at_ms(5).server(syn(SERVER - 1));
    wire.at_ms(6).client(syn_ack(1000, SERVER)).at_ms(40).server(syn_ack(SERVER - 1, 1001));
    wire.at_ms(41).client(data(1001, 10)).at_ms(81).server(ack(1011));
    let connection = wire.connection();
    assert_eq!(connection.uses_sack, Some(true));
    assert_eq!(connection.directions[0].data.unique_bytes, 10);
    assert_eq!(connection.directions[1].handshake_rtt_s, Some(0.001));
}

#[test]
fn the_order_is_that_of_first_packets() {
    let mut wire = Wire::new();
    for port in [3, 1, 2] {
        wire.tcp(&format!("10.0.0.1:{port}"), "10.0.0.2:80", data(1, 1));
    }
    for port in [1, 2, 3] {
        wire.tcp("10.0.0.2:80", &format!("10.0.0.1:{port}"), ack(2));
    }
    let ports: Vec<u16> =
        wire.report().connections.iter().map(|one| one.directions[0].from.port()).collect();
    assert_eq!(ports, [3, 1, 2]);
}

#[test]
fn what_two_interfaces_see_is_two_connections_unless_they_are_merged() {
    for (merge_interfaces, connections, retransmitted) in [(false, 2, 0), (true, 1, 1)] {
        let mut wire = Wire::wanting(Wanted { merge_interfaces, ..Wanted::default() });
        for interface in [0, 1] {
            wire.interface = interface;
            wire.client(data(1, 100));
        }
        let report = wire.report();
        assert_eq!(report.connections.len(), connections);
        let segments =
            report.connections.iter().map(|one| one.directions[0].data.retransmitted_segments);
        assert_eq!(segments.sum::<u64>(), retransmitted);
    }
}

#[test]
fn datagrams_are_flows_of_their_own() {
    let mut wire = Wire::new();
    wire.client(data(1, 100));
    wire.udp("10.0.0.1:4000", "10.0.0.2:80", 1000).at_ms(8);
    wire.udp("10.0.0.1:4000", "10.0.0.2:80", 946).udp("10.0.0.2:80", "10.0.0.1:4000", 1);
    let report = wire.report();
    assert_eq!((report.connections.len(), report.datagram_flows.len()), (1, 1));
    let [there, back] = &report.datagram_flows[0].directions[..] else { panic!("two directions") };
    assert_eq!(
        (there.datagrams.packets, there.datagrams.data_bytes, back.datagrams.data_bytes),
        (2, 1946, 1)
    );
    // 1946 bytes and twice 54 of headers in 8 ms.
    let rate = there.throughput_bps.expect("two packets");
    assert!((rate - 2054.0 * 8.0 / 0.008).abs() < 1e-6);
}

#[test]
fn ecn_is_asked_for_and_agreed_to() {
    for (asked, answered, agreed) in [
        (ECE | CWR, ECE, true),
        (ECE | CWR, 0, false),
        (0, 0, false),
        (ECE | CWR, ECE | CWR, false),
    ] {
        let mut wire = Wire::new();
        wire.client(syn(1000).with(asked)).server(syn_ack(SERVER - 1, 1001).with(answered));
        assert_eq!(wire.connection().uses_ecn, Some(agreed), "{asked:b} {answered:b}");
    }
}
