//! Closed windows, probes and keep-alives.

use super::wire::{SERVER, Segment, Wire, ack, data};

fn closed(acked: u32) -> Segment {
    Segment { window: 0, ..ack(acked) }
}

#[test]
fn a_closed_window_is_probed() {
    let mut wire = Wire::new();
    wire.client(data(1, 1000)).server(closed(1001));
    // A byte beyond the window, twice; then the window opens and it is sent in earnest.
    for ms in [200, 600] {
        wire.at_ms(ms).client(data(1001, 1)).server(closed(1001));
    }
    wire.at_ms(700).server(ack(1001)).client(data(1001, 500)).server(ack(1501));
    let connection = wire.connection();
    let sent = &connection.directions[0];
    assert_eq!((sent.data.window_probes, sent.data.window_probe_bytes), (2, 2));
    assert_eq!((sent.data.data_bytes, sent.data.unique_bytes), (1502, 1500));
    assert_eq!((sent.data.retransmitted_segments, sent.data.retransmitted_bytes), (0, 0));
    assert_eq!(connection.directions[1].zero_windows, 3);
    // The smallest window that is open.
    let window = connection.directions[1].advertised_window_bytes.expect("it announces windows");
    assert_eq!((window.min, window.max), (1000.0, 1000.0));
}

#[test]
fn a_retransmission_into_a_closed_window_is_no_probe() {
    let mut wire = Wire::new();
    wire.client(data(1, 1000)).server(closed(1001)).client(data(1, 1000));
    let sent = wire.sent();
    assert_eq!((sent.data.window_probes, sent.data.retransmitted_segments), (0, 1));
}

#[test]
fn probes_without_data() {
    let mut wire = Wire::new();
    wire.client(data(1, 1000)).server(closed(1001));
    wire.client(data(1000, 0)).server(closed(1001));
    let sent = wire.sent();
    assert_eq!(
        (sent.data.window_probes, sent.data.keep_alives, sent.data.data_segments),
        (0, 0, 1)
    );
}

#[test]
fn keep_alives_with_and_without_a_byte() {
    let mut wire = Wire::new();
    wire.client(data(1, 1000)).server(ack(1001));
    wire.at_ms(60_000).client(data(1000, 0)).server(ack(1001));
    wire.at_ms(120_000).client(data(1000, 1)).server(ack(1001));
    let sent = wire.sent();
    assert_eq!((sent.data.keep_alives, sent.data.data_segments), (2, 2));
    // The byte of the second was seen before.
    assert_eq!((sent.data.unique_bytes, sent.data.retransmitted_bytes), (1000, 1));
    assert_eq!(sent.duplicate_acks, 0, "nothing was in flight");
    assert_eq!(sent.longest_idle_s, 60.0);
}

#[test]
fn the_first_window_of_data() {
    let mut wire = Wire::new();
    for index in 0..10 {
        wire.client(data(1 + index * 100, 100));
    }
    wire.client(data(1, 100)).server(ack(101)).client(data(1001, 100));
    let sent = wire.sent();
    assert_eq!((sent.initial_window_segments, sent.initial_window_bytes), (10, 1000));
}

#[test]
fn a_window_update_is_no_duplicate() {
    let mut wire = Wire::new();
    wire.client(data(1, 100)).client(data(101, 100)).server(ack(101));
    wire.server(Segment { window: 2000, ..ack(101) }).server(Segment { window: 2000, ..ack(101) });
    // With data it is none either.
    let with_data = Segment { bytes: 10, window: 2000, ..ack(101) };
    wire.server(Segment { seq: SERVER, ..with_data });
    assert_eq!(wire.sent().duplicate_acks, 1);
}
