//! A sender with one segment more in flight for each round trip, a queue and a link, all by hand.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const MSS: u32 = 1448;
/// IP packets of that: 20 bytes of IP header, 20 of TCP and 12 of timestamps.
const PACKET_BYTES: u64 = 1500;
const ACK_BYTES: u64 = 52;
const IP_BYTES: u32 = 20;

/// A path, and how far a sender fills it.
struct Path {
    bits_per_s: u64,
    rtt: Duration,
    /// Packets, the one in transmission included.
    limit: usize,
    most_flight: u64,
    /// One packet of so many is lost in front of the queue; 0 for none.
    lost_of: u64,
    segments: u64,
}

const PATH: Path = Path {
    bits_per_s: 20_000_000,
    rtt: Duration::from_millis(40),
    limit: 30,
    most_flight: u64::MAX,
    lost_of: 0,
    segments: 20_000,
};

impl Path {
    fn takes(&self, bytes: u64) -> Duration {
        Duration::from_nanos(bytes * 8 * 1_000_000_000 / self.bits_per_s)
    }

    /// What a capture beside the sender shows; a loss is noticed by the acknowledgement of the
    /// segment behind it, which is taken for a selective one.
    fn fit(&self, overhead_bytes: u32) -> Fit {
        let mut fit = Fit::new(overhead_bytes);
        let mut flow = Flow {
            mss_bytes: MSS,
            receiver_rtt: Some(self.rtt + self.takes(2 * 60)),
            sender_rtt: Some(Duration::ZERO),
            has_syn: true,
            has_sack: true,
            has_timestamps: true,
            window_bytes: 1 << 30,
            ..Flow::default()
        };
        let mut now = Time::from_nanos(1_000_000_000);
        let (mut next, mut in_flight, mut link_free) = (0_u64, VecDeque::new(), now);
        let (mut window, mut acked_to, mut recover) = (4.0_f64, 0_u64, 0_u64);
        while acked_to < self.segments {
            while in_flight.len() < window as usize && (in_flight.len() as u64) < self.most_flight {
                let offset = (next * u64::from(MSS)) as i64;
                fit.sent(&sent(now, offset, SentKind::New, in_flight.len()), &flow);
                flow.highest_offset = offset + i64::from(MSS);
                let service = self.takes(PACKET_BYTES);
                let waiting = link_free.since(now).as_nanos().div_ceil(service.as_nanos());
                let is_lost = self.lost_of > 0 && next % self.lost_of == self.lost_of - 1;
                let arrives = (!is_lost && waiting < self.limit as u64).then(|| {
                    link_free = link_free.max(now) + service;
                    link_free + self.rtt + self.takes(ACK_BYTES)
                });
                in_flight.push_back((next, now, arrives));
                next += 1;
            }
            // What is lost is repaired at once, and arrives with what follows it.
            let at = in_flight.iter().find_map(|&(_, _, arrives)| arrives);
            let (number, sent_at, arrives) = in_flight.pop_front().expect("something in flight");
            let offset = (number * u64::from(MSS)) as i64;
            let Some(arrives) = arrives else {
                now = at.unwrap_or(now + self.rtt).max(now);
                let sign = Acked { at: now, offset, sacked_bytes: u64::from(MSS), ..ACK };
                fit.acked(&Acked { sack_count: 1, acked_bytes: 0, ..sign }, &flow);
                fit.sent(&sent(now, offset, SentKind::Retransmission, in_flight.len()), &flow);
                if number >= recover {
                    (window, recover) = ((window / 2.0).max(2.0), next);
                }
                acked_to = number + 1;
                continue;
            };
            now = now.max(arrives);
            acked_to = number + 1;
            let end = offset + i64::from(MSS);
            let in_order = number >= recover || recover == 0;
            let rtt = in_order.then(|| now.since(sent_at));
            flow.acked_offset = end;
            flow.srtt = rtt.or(flow.srtt);
            fit.acked(&Acked { at: now, offset: end, rtt, ..ACK }, &flow);
            window += if in_order { 1.0 / window } else { 0.0 };
        }
        fit
    }

    fn fitted(&self) -> Fitted {
        self.fit(0).path(IP_BYTES).expect("a path")
    }
}

const ACK: Acked = Acked {
    number: 0,
    at: Time::ZERO,
    offset: 0,
    acked_bytes: MSS as u64,
    delivered_bytes: MSS as u64,
    delivered_again_bytes: 0,
    sacked_bytes: 0,
    highest_sacked_offset: 0,
    timestamps: None,
    is_duplicate: false,
    dsack: None,
    sack: [(0, 0); fairway_capture::packet::MAX_SACK_BLOCKS],
    sack_count: 0,
    rtt: None,
    timestamp_rtt: None,
    window_bytes: 1 << 30,
    is_pure: true,
    flight_before_bytes: 0,
    flight_bytes: 1,
    pipe_bytes: 0,
    has_ece: false,
};

fn sent(at: Time, offset: i64, kind: SentKind, before: usize) -> Sent {
    let flight_before_bytes = before as u64 * u64::from(MSS);
    Sent {
        at,
        offset,
        bytes: MSS,
        new_bytes: MSS,
        kind,
        flight_before_bytes,
        flight_bytes: flight_before_bytes + u64::from(MSS),
        ..Sent::default()
    }
}

fn within(found: f64, expected: f64, part: f64) {
    assert!((found / expected - 1.0).abs() <= part, "{found} for {expected}");
}

#[test]
fn a_queue_that_fills_and_drops_is_measured() {
    for (bits_per_s, rtt_ms, limit) in
        [(20_000_000, 40, 30), (20_000_000, 40, 80), (100_000_000, 5, 60)]
    {
        let rtt = Duration::from_millis(rtt_ms);
        let found = Path { bits_per_s, rtt, limit, segments: 60_000, ..PATH }.fitted();
        assert_eq!(found.rate_source, RateSource::StandingQueue);
        within(found.rate_bps, bits_per_s as f64, 0.005);
        within(found.base_rtt.s, rtt.as_secs_f64(), 0.005);
        assert_eq!(found.buffer.source, BufferSource::Drops);
        assert!(found.buffer.packets.abs_diff(limit as u64) <= 1, "{:?}", found.buffer);
        assert_eq!(found.random_loss.losses, 0);
    }
}

#[test]
fn a_short_last_segment_takes_no_time_of_a_full_one() {
    // 112 bytes over an empty path, after everything else: 164 bytes and 52 back.
    let mut fit = PATH.fit(0);
    let flow = fit.flow;
    let (at, offset) = (Time::from_nanos(3_600_000_000_000), flow.acked_offset);
    let rtt = PATH.rtt + PATH.takes(164 + ACK_BYTES);
    fit.sent(&Sent { bytes: 112, new_bytes: 112, ..sent(at, offset, SentKind::New, 0) }, &flow);
    let offset = offset + 112;
    let acked = Acked { acked_bytes: 112, delivered_bytes: 112, flight_bytes: 0, ..ACK };
    fit.acked(&Acked { at: at + rtt, offset, rtt: Some(rtt), ..acked }, &flow);
    within(fit.path(IP_BYTES).expect("a path").base_rtt.s, 0.040, 0.0005);
}

#[test]
fn frames_count_with_what_is_around_packets() {
    let found = PATH.fit(38).path(IP_BYTES).expect("a path");
    within(found.rate_bps, 20e6 * 1538.0 / 1500.0, 0.005);
}

#[test]
fn losses_without_a_queue_are_random() {
    // 2 % of all packets: windows of a dozen, where 70 would fill the path.
    let found = Path { lost_of: 50, ..PATH }.fitted();
    assert_eq!(found.buffer.full_episodes, 0);
    assert_eq!(found.buffer.source, BufferSource::AtLeast);
    within(found.random_loss.probability, 0.02, 0.1);
    within(found.base_rtt.s, 0.040, 0.01);
}

#[test]
fn without_a_queue_the_rate_is_what_was_delivered_at_least() {
    // 20 packets for each 41 ms, where 68 would fill the path; none waits for another.
    let found = Path { most_flight: 20, ..PATH }.fitted();
    assert_ne!(found.rate_source, RateSource::StandingQueue);
    assert!(found.rate_bps <= 20.2e6, "{}", found.rate_bps);
    assert_eq!(found.buffer.source, BufferSource::AtLeast);
    within(found.base_rtt.s, 0.040, 0.02);
}

#[test]
fn an_acknowledgement_that_was_held_back_is_no_queue() {
    let flow = Flow { mss_bytes: MSS, ..Flow::default() };
    let mut trips = Trips::default();
    let ack = |at_ms: u64, rtt_ms: u64| Acked {
        at: Time::from_nanos(at_ms * 1_000_000),
        offset: 1,
        rtt: Some(Duration::from_millis(rtt_ms)),
        ..ACK
    };
    assert!(trips.acked(&ack(100, 20), &flow).is_some());
    assert_eq!(trips.acked(&ack(160, 60), &flow), None);
    assert_eq!(trips.most, Some(Duration::from_millis(20)));
    // One that comes with the others has waited on its way.
    assert!(trips.acked(&ack(161, 61), &flow).is_some());
}

#[test]
fn a_pause_is_told() {
    let mut traffic = Traffic::default();
    let flow = Flow { mss_bytes: MSS, srtt: Some(Duration::from_millis(40)), ..Flow::default() };
    let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
    traffic.sent(&sent(at(1), 0, SentKind::New, 0), &flow);
    traffic.acked(&Acked { at: at(2), flight_bytes: 0, ..ACK });
    traffic.sent(&sent(at(5), 1448, SentKind::New, 0), &flow);
    assert_eq!((traffic.pauses, traffic.paused), (1, Duration::from_secs(3)));
}

#[test]
fn nothing_and_almost_nothing_have_no_path() {
    assert!(Fit::new(0).path(IP_BYTES).is_none());
    let mut fit = Fit::new(0);
    fit.sent(&sent(Time::ZERO, 0, SentKind::New, 0), &Flow::default());
    assert!(fit.path(IP_BYTES).is_none());
}

proptest! {
    #[test]
    fn anything_at_all_gives_numbers(
        events in prop::collection::vec(
            (any::<bool>(), 0..u64::MAX / 4, any::<i64>(), any::<u32>(), any::<u64>(), 0_u64..1 << 50),
            0..400,
        ),
        mss in any::<u32>(),
    ) {
        let mut fit = Fit::new(0);
        let flow = Flow { mss_bytes: mss, has_syn: true, ..Flow::default() };
        for (is_sent, at, offset, bytes, many, rtt) in events {
            let at = Time::from_nanos(at);
            if is_sent {
                let kind = if many % 3 == 0 { SentKind::Retransmission } else { SentKind::New };
                fit.sent(&Sent { at, offset, bytes, kind, flight_bytes: many / 2, ..Sent::default() }, &flow);
            } else {
                let rtt = (many % 5 > 0).then(|| Duration::from_nanos(rtt));
                let sacked_bytes = u64::from(many % 7 == 0);
                let of = Acked { at, offset, acked_bytes: many, delivered_bytes: many, ..ACK };
                fit.acked(&Acked { rtt, sacked_bytes, ..of }, &flow);
            }
        }
        if let Some(found) = fit.path(IP_BYTES) {
            prop_assert!(found.rate_bps.is_finite() && found.rate_bps > 0.0);
            prop_assert!(found.base_rtt.s.is_finite() && found.base_rtt.s >= 0.0);
            prop_assert!(found.random_loss.probability <= 1.0);
        }
    }
}
