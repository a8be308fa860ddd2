//! Clocks that differ, and delays that are known.

use super::network::{MS, Network, Segment};

/// A segment every 20 ms for 100 s, each acknowledged at once; the path takes 20 ms in each
/// direction, and segments wait 0 to 4.95 ms in a queue: 99 values, each as often as the others, so
/// 2.475 on average.
fn transfer() -> Network {
    let mut network = Network::default();
    network.open(7000, 20 * MS);
    for index in 0..4950_u32 {
        let sent = 100 * MS + u64::from(index) * 20 * MS;
        // 37 and 100 have no common divisor: every number from 0 to 99 before one comes again.
        let queued = u64::from(index * 37 % 100) * 50_000;
        let id = 10 + index as u16;
        network.carry(sent, 20 * MS + queued, Segment::data(id, 7001 + index * 1000, 1000));
        let answered = sent + 20 * MS + queued;
        network.carry(answered, 20 * MS, Segment::ack(id, 8001 + index * 1000));
    }
    network
}

#[test]
fn one_clock_has_no_offset_and_no_drift() {
    let report = transfer().analyse();
    assert_eq!((report.clock.offset_s, report.clock.drift_ppm), (0.0, 0.0));
    assert_eq!(report.clock.least_round_trip_s, Some(0.040));
    assert_eq!(report.clock.offset_uncertainty_s, Some(0.020));
    let [there, back] = &report.connections[0].directions[..] else { panic!("two directions") };
    let delay = there.delay_s.expect("delays");
    // 4950 segments and two packets of the handshake; waits of 0, 0.05 ... 4.95 ms.
    assert_eq!((delay.count, delay.min, delay.max), (4952, 0.020, 0.024_95));
    let mean = 0.020 + 0.002_475 * 4950.0 / 4952.0;
    // 50 waits of each 99 values would be even; 4950 is 49.5 rounds of 100.
    assert!((delay.mean - mean).abs() < 0.02e-3, "{} for {mean}", delay.mean);
    assert!((delay.p50 - 0.022_475).abs() < 0.12e-3, "{}", delay.p50);
    let queued = there.queueing_delay_s.expect("delays");
    assert!((queued.max - 0.004_95).abs() < 1e-12 && queued.min == 0.0);
    assert_eq!(back.delay_s.map(|delay| (delay.min, delay.max)), Some((0.020, 0.020)));
    assert!(!there.course.is_empty() && there.course.len() <= 1024);
}

#[test]
fn five_seconds_ahead_and_50_ppm_fast() {
    let clocks = Network { ahead_ns: 5_000_000_000, drift: 50e-6, ..transfer() };
    let report = clocks.analyse();
    assert!((report.clock.drift_ppm - 50.0).abs() < 0.01, "{}", report.clock.drift_ppm);
    // 5 s, and 50 ppm of 1000 s on top, at the first packet; half a microsecond for what the
    // drift does in the 20 ms of a delay.
    let offset = report.clock.offset_s;
    assert!((offset - 5.050).abs() < 0.01e-3, "{offset}");
    for direction in &report.connections[0].directions {
        assert_eq!(direction.lost_packets, 0);
        let delay = direction.delay_s.expect("delays");
        assert!((delay.min - 0.020).abs() < 0.005e-3, "{}", delay.min);
    }
    let there = report.connections[0].directions[0].delay_s.expect("delays");
    assert!((there.max - 0.024_95).abs() < 0.005e-3, "{}", there.max);
}

#[test]
fn behind_and_slow_and_the_other_way_round() {
    let clocks = Network { ahead_ns: -123_456_789, drift: -200e-6, ..transfer() };
    let [first, second] = clocks.seen.clone();
    let report = clocks.analyse();
    assert!((report.clock.drift_ppm + 200.0).abs() < 0.05, "{}", report.clock.drift_ppm);
    assert!((report.clock.offset_s + 0.323_456_789).abs() < 0.01e-3, "{}", report.clock.offset_s);
    // The capture at the receiver named first: senders are found all the same.
    let swapped = Network { seen: [second, first], ..Network::default() };
    let report = swapped.analyse();
    let client = report.connections[0].directions.iter().find(|one| one.from.port() == 40_000);
    let client = client.expect("the client's direction");
    assert_eq!(client.sender_capture, 1);
    assert_eq!(client.delay_s.map(|delay| delay.min), Some(0.020));
}

#[test]
fn a_queue_that_never_empties_is_no_drift() {
    let mut network = Network::default();
    network.open(7000, 20 * MS);
    for index in 0..2000_u32 {
        let sent = 100 * MS + u64::from(index) * 20 * MS;
        // It grows by 1 microsecond a packet: 50 ppm if the reverse direction did not know better.
        let delay = 20 * MS + u64::from(index) * 1000;
        let id = 10 + index as u16;
        network.carry(sent, delay, Segment::data(id, 7001 + index * 1000, 1000));
        network.carry(sent + delay, 20 * MS, Segment::ack(id, 8001 + index * 1000));
    }
    // Acknowledgements are not so even that they prove anything beyond their own jitter.
    let report = network.analyse();
    let [there, back] = report.clock.drift_by_direction_ppm;
    assert!((there.expect("a line") - 50.0).abs() < 0.1, "{there:?}");
    assert_eq!(back, Some(0.0));
}
