//! The receiving half with all of Linux's behaviour. Expected values: Linux 6.1 observed in virtual
//! time, or arithmetic.

use fairway_units::{Duration, Time};

use super::*;
use crate::{DelayedAck, PRESETS};

const MSS: u64 = 1448;

struct Sink {
    receiver: Receiver,
    now: Time,
    /// Acknowledgements sent: time in microseconds, segment acknowledged, and window field.
    sent: Vec<(u64, u64, u16)>,
    blocks: Vec<(u64, u64)>,
}

impl Sink {
    /// A receiver after the handshake, with this round-trip time.
    fn new(rtt_ms: u64) -> Self {
        let preset = PRESETS.iter().find(|preset| preset.name == "linux-6.1").unwrap();
        let stack = (preset.stack)().with(|s| {
            s.buffers.receive_buffer = 256 << 20;
            s.acks.delayed_ack = DelayedAck::Linux;
            s.options.dsack = true;
            s.acks.ack_compression = Duration::from_millis(1);
            s.buffers.receive_window_tuning = true;
        });
        let mut receiver = Receiver::new(&stack);
        receiver.window().offer_in_syn(1448);
        receiver.negotiate(true, true, 12, 1448, Time::ZERO);
        let rtt = Duration::from_millis(rtt_ms);
        receiver.observe_path(Some(rtt), rtt + Duration::from_millis(200));
        Sink { receiver, now: Time::ZERO, sent: Vec::new(), blocks: Vec::new() }
    }

    fn run(&mut self, micros: u64) {
        let until = Time::from_nanos(micros * 1000);
        while self.receiver.ack_deadline() <= until {
            self.now = self.receiver.ack_deadline();
            self.receiver.handle_timeout(self.now);
            self.poll();
        }
        self.now = until;
    }

    fn poll(&mut self) {
        if self.receiver.ack_is_due() {
            let ack = self.receiver.rcv_nxt() / MSS;
            self.blocks =
                self.receiver.sack_ranges().map(|r| (r.start / MSS, r.end / MSS)).collect();
            let window = self.receiver.acknowledge();
            self.sent.push((self.now.as_nanos() / 1000, ack, window));
        }
    }

    /// Segment `n` arrives, with an echo of this end's timestamp 50 ms before.
    fn segment(&mut self, n: u64, push: bool, micros: u64) {
        self.run(micros);
        self.another(n, push);
    }

    /// Likewise, now.
    fn another(&mut self, n: u64, push: bool) {
        let range = Range { start: n * MSS, end: (n + 1) * MSS };
        let micros = self.now.as_nanos() / 1000;
        let echo = Some((u32::try_from(micros / 50_000).unwrap(), 50));
        self.receiver.receive(&Arrival { range, fin: false, push, echo }, self.now);
        self.poll();
    }

    /// `count` segments from `first`, `gap` apart, PSH on every second one.
    fn pairs(&mut self, first: u64, count: u64, micros: u64, gap: u64) {
        for n in 0..count {
            self.segment(first + n, n % 2 == 1, micros + n * gap);
        }
    }

    /// `count` segments from `first` at one instant.
    fn instant(&mut self, first: u64, count: u64, micros: u64) {
        self.run(micros);
        for n in 0..count {
            self.receiver.expect_more(n + 1 < count);
            self.another(first + n, n % 2 == 1);
        }
    }

    fn acks(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.sent).iter().map(|(_, ack, _)| *ack).collect()
    }
}

#[test]
fn four_rounds_of_slow_start() {
    // Rounds of 10, 20, 40 segments in bursts of two, at 100 Mbit/s and 50 ms: one acknowledgement
    // per segment until the 16 quick ones are used up, then one per burst, until the buffer grows
    // with the first segment of the third round.
    let mut sink = Sink::new(50);
    sink.pairs(0, 10, 0, 121);
    assert_eq!(sink.acks(), (1..=10).collect::<Vec<_>>());
    assert!(sink.sent.is_empty());
    sink.pairs(10, 20, 50_140, 121);
    // In units of 8192: 65 536, and with the second segment (134 280 − 2304) / 2 = 65 988.
    let windows: Vec<u16> = sink.sent.iter().map(|(_, _, field)| *field).collect();
    assert_eq!(windows[..3], [8, 9, 9]);
    assert_eq!(sink.acks(), [11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30]);
    sink.pairs(30, 40, 100_390, 121);
    let windows: Vec<(u64, u16)> = sink.sent.iter().map(|(_, ack, field)| (*ack, *field)).collect();
    assert_eq!(sink.acks(), (32..=70).collect::<Vec<_>>());
    // 65 988 + 39 · 2896 = 178 932, in units of 8192: 21.8.
    assert_eq!(windows.last(), Some(&(70, 22)));
}

#[test]
fn segments_of_one_instant_are_acknowledged_behind_the_last() {
    // Observed where a packet-delivery trace brings 10 and 20 segments at once: the 16 quick ones,
    // and one for the other 14 when the application has read.
    let mut sink = Sink::new(80);
    sink.instant(0, 10, 125_000);
    assert_eq!(sink.acks(), (1..=10).collect::<Vec<_>>());
    sink.instant(10, 20, 205_000);
    assert_eq!(sink.acks(), [11, 12, 13, 14, 15, 16, 30]);
}

#[test]
fn what_was_expected_and_does_not_come_delays_no_reading() {
    let mut sink = Sink::new(80);
    sink.instant(0, 16, 125_000);
    sink.acks();
    sink.run(205_000);
    sink.receiver.expect_more(true);
    sink.another(16, true);
    assert!(sink.acks().is_empty());
    assert_eq!(sink.receiver.ack_deadline(), Time::from_nanos(205_000_000));
    sink.run(205_000);
    // It ends with PSH: acknowledged when it has been read.
    assert_eq!(sink.acks(), [17]);
}

#[test]
fn a_lone_segment_without_push_waits() {
    // Seventeen together, 0.56 ms after a tick.
    let mut sink = Sink::new(50);
    for n in 0..17 {
        sink.segment(n, n % 2 == 1, 25_560);
    }
    assert_eq!(sink.acks(), (1..=16).collect::<Vec<_>>());
    sink.run(200_000);
    assert_eq!(
        sink.sent.iter().map(|(at, ack, _)| (*at, *ack)).collect::<Vec<_>>(),
        [(66_000, 17)]
    );
}

#[test]
fn bursts_of_nine_are_acknowledged_by_twos_and_one() {
    let mut sink = Sink::new(50);
    sink.pairs(0, 30, 0, 0);
    sink.acks();
    for n in 30..39 {
        sink.segment(n, n == 38, 1_000 + 121 * (n - 30));
    }
    assert_eq!(sink.acks(), [32, 34, 36, 38, 39]);
}

#[test]
fn from_the_fourth_on_duplicate_acknowledgements_wait_a_millisecond() {
    // The first segment is lost: without data in order there are no quick acknowledgements.
    // Packets are 1.211 ms apart.
    let mut sink = Sink::new(50);
    (1..20).for_each(|n| sink.segment(n, n % 2 == 1, 1_211 * n));
    sink.run(30_000);
    let late: Vec<u64> = (1..).zip(&sink.sent).map(|(n, (at, ..))| at - 1_211 * n).collect();
    assert_eq!(late.len(), 19);
    assert_eq!((late[2], late[3], late[18]), (0, 1_100, 1_100));
    assert_eq!(sink.blocks, [(1, 20)]);
    // The hole is filled: acknowledged at once.
    sink.sent.clear();
    sink.segment(0, true, 60_000);
    assert_eq!(
        sink.sent.iter().map(|(at, ack, _)| (*at, *ack)).collect::<Vec<_>>(),
        [(60_000, 20)]
    );
}

#[test]
fn at_a_high_rate_one_is_sent_for_nine() {
    // 0.121 ms apart: 1.1 / 0.121 = 9.1
    let mut sink = Sink::new(50);
    (1..100).for_each(|n| sink.segment(n, false, 121 * n));
    let times: Vec<u64> = sink.sent.iter().map(|(at, ..)| *at).collect();
    assert_eq!(times[..5], [121, 242, 363, 484 + 1_100, 1_694 + 1_100]);
}

#[test]
fn a_third_range_releases_the_held_acknowledgement() {
    let mut sink = Sink::new(50);
    (0..3).for_each(|n| sink.segment(10 + n, false, 10));
    assert_eq!(sink.acks().len(), 3);
    // Second range: held. Third: the held acknowledgement is sent, without the third.
    sink.segment(15, false, 20);
    assert_eq!(sink.acks().len(), 0);
    sink.segment(20, false, 30);
    assert_eq!((sink.acks().len(), sink.blocks.clone()), (1, vec![(15, 16), (10, 13)]));
    // The next one reports the third too.
    sink.run(5_000);
    assert_eq!(sink.acks().len(), 0);
    sink.segment(21, false, 5_000);
    sink.run(7_000);
    assert_eq!((sink.acks().len(), sink.blocks.clone()), (1, vec![(20, 22), (15, 16), (10, 13)]));
}

#[test]
fn duplicates_are_reported_first_and_once() {
    // RFC 2883 sections 4.1 and 4.2.
    let mut sink = Sink::new(50);
    sink.pairs(0, 30, 0, 0);
    sink.segment(3, false, 1_000);
    assert_eq!(sink.blocks, [(3, 4)]);
    sink.segment(35, false, 2_000);
    assert_eq!(sink.blocks, [(35, 36)]);
    sink.segment(40, false, 2_000);
    sink.segment(35, false, 2_000);
    assert_eq!(sink.blocks, [(35, 36), (35, 36), (40, 41)]);
    // A D-SACK below the cumulative ACK, beside two out-of-order blocks.
    sink.segment(45, false, 2_000);
    sink.segment(7, false, 2_000);
    assert_eq!(sink.blocks, [(7, 8), (45, 46), (35, 36)]);
    sink.segment(46, false, 2_000);
    assert_eq!(sink.blocks, [(45, 47), (35, 36), (40, 41)]);
}

#[test]
fn a_duplicate_makes_the_next_sixteen_quick() {
    let mut sink = Sink::new(50);
    sink.pairs(0, 18, 0, 0);
    sink.acks();
    sink.segment(3, false, 1_000);
    sink.acks();
    // The duplicate was older than the last acknowledgement and used none of the sixteen.
    (18..38).for_each(|n| sink.segment(n, false, 2_000));
    assert_eq!(sink.acks(), (19..=34).chain([36, 38]).collect::<Vec<_>>());
}

#[test]
fn a_block_grows_before_the_compressed_acknowledgement_is_sent_for_it() {
    let mut sink = Sink::new(50);
    // Three duplicates are answered at once, and the acknowledgement of segment 11 is held. Segment
    // 6 belongs to the third block, for which a D-SACK would leave no room.
    for (at, n) in [2, 5, 8, 11, 6].into_iter().enumerate() {
        sink.segment(n, false, 2000 + 100 * at as u64);
    }
    assert_eq!(sink.acks().len(), 4);
    assert_eq!(sink.blocks, [(11, 12), (8, 9), (5, 7)]);
    // The next lists it first.
    sink.segment(7, false, 2500);
    sink.run(5000);
    assert_eq!(sink.blocks, [(5, 9), (11, 12), (2, 3)]);
}
