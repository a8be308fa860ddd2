use fairway_units::Duration;

use super::*;
use crate::RateSample;

/// A probe whose path delivers `path_segments` in each round trip of `rtt_ms`.
fn probe(start: Start, path_segments: u32) -> Probe {
    let mut probe = Probe::new("nv", Variant::Linux6_1, &start);
    let rtt_s = start.rtt.as_secs_f64();
    probe.delivery_rate = Some(f64::from(path_segments) * 1448.0 / rtt_s);
    probe
}

#[test]
fn without_a_queue_it_grows_as_reno() {
    // Every round of 50 or more samples and W ≤ target + 8 allows growth, one segment a round.
    let mut p = probe(Start::avoidance(50, 10), 50);
    p.rounds(20);
    assert!((69..=71).contains(&p.cwnd()), "{}", p.cwnd());
}

#[test]
fn a_queue_of_more_than_the_pad_is_reduced_by_three_tenths_of_the_excess() {
    // The path holds 100 segments in 10 ms. With 160 in flight the RTT is 16 ms, its average
    // at first 13: the maximum rate is 160/13 per ms, the target ⌊160 · 10/13⌋ = 123, the limit
    // 133, and 160 − ⌊27 · 38/128⌋ = 152. Then the rate is 100 in 10 ms, the limit 110, and
    // 152 − ⌊42 · 38/128⌋ = 140.
    let mut p = Probe::new("nv", Variant::Linux6_1, &Start::avoidance(160, 10));
    p.may_grow = false;
    p.snd_una = 1_000_000;
    sample(&mut p, 10, 100, 1);
    let mut seen = vec![p.cwnd()];
    while seen.len() < 3 {
        sample(&mut p, 16, 160, 1);
        if seen.last() != Some(&p.cwnd()) {
            seen.push(p.cwnd());
        }
    }
    assert_eq!(seen, [160, 152, 140]);
    assert_eq!(p.ssthresh(), Some(110));
}

/// An acknowledgement of `segments`, `flight` segments after the last of them was sent.
fn sample(p: &mut Probe, rtt_ms: u64, flight: u64, segments: u64) {
    p.rtt = Duration::from_millis(rtt_ms);
    let acked = segments * 1448;
    p.now = p.now + Duration::from_micros(rtt_ms * 1_000 * segments / flight.max(1));
    p.snd_una += acked;
    let mut flow = p.flow();
    flow.snd_nxt = flow.snd_una + flight * 1448;
    let rate = RateSample {
        prior_delivered: p.snd_una.saturating_sub(flight * 1448),
        ..RateSample::default()
    };
    let ack = Ack {
        acked,
        delivered: acked,
        rtt: Some(p.rtt),
        rate: Some(rate),
        may_grow: p.may_grow,
        ..Ack::default()
    };
    p.cc.on_ack(&ack, &flow);
}

#[test]
fn the_first_slow_start_ends_with_thirty_samples() {
    // As above but with an infinite threshold.
    let mut p = Probe::new("nv", Variant::Linux6_1, &Start::slow_start(160, 10));
    p.may_grow = false;
    p.snd_una = 1_000_000;
    sample(&mut p, 10, 100, 1);
    // 5 segments each: 32 acknowledgements a round. The first round ends with the first sample;
    // the second has 29 or more, the decision needs 30 and two rounds.
    let mut acknowledgements = 0;
    while p.ssthresh().is_none() {
        sample(&mut p, 16, 160, 5);
        acknowledgements += 1;
        assert!(acknowledgements < 200);
    }
    assert!((30..=66).contains(&acknowledgements), "{acknowledgements}");
}

#[test]
fn congestion_stops_growth_until_twenty_samples_allow_it() {
    let mut p = probe(Start::avoidance(100, 10), 100);
    p.rounds(2);
    p.loss();
    let after_loss = p.cwnd();
    p.round();
    assert_eq!(p.cwnd(), after_loss);
    p.rounds(3);
    assert!(p.cwnd() > after_loss);
}

#[test]
fn timeouts_slow_growth_down_and_clean_decisions_speed_it_up() {
    let mut rule = Nv::new(Stream::new(1, "nv"));
    let flow = crate::testing::flow(1_000, 10, 10);
    rule.on_rto(&flow);
    rule.on_rto(&flow);
    assert_eq!(rule.growth_factor, -2);
    for _ in 0..20 {
        rule.on_rto(&flow);
    }
    assert_eq!(rule.growth_factor, -8);
    rule.samples = 20;
    for _ in 0..8 {
        assert!(rule.allow_growth());
    }
    assert_eq!(rule.growth_factor, -8);
    rule.allow_growth();
    assert_eq!(rule.growth_factor, -7);
    // 10 << 7.
    assert_eq!(segments_per_increase(10, -7), 1_280);
    assert_eq!(segments_per_increase(3, 0), 4);
}

#[test]
fn the_minimum_rtt_is_measured_anew() {
    let mut rule = Nv::new(Stream::new(1, "nv"));
    rule.min_rtt_until = 2_000;
    rule.measure_min_rtt(100, 0);
    rule.measure_min_rtt(200, 2_000);
    // The minimum of the first period holds for the second one, and 300 for the third.
    assert_eq!(rule.min_rtt_us, 100);
    let until = rule.min_rtt_until;
    // 5 s · 384/512 = 3.75 s, and up to 639/512 = 6.24 s.
    assert!((2_000 + 3_750..=2_000 + 6_241).contains(&until), "{until}");
    rule.measure_min_rtt(300, until - 1);
    assert_eq!(rule.min_rtt_us, 100);
    rule.measure_min_rtt(400, until);
    assert_eq!(rule.min_rtt_us, 300);
}

#[test]
fn a_known_base_rtt_bounds_the_minimum() {
    let mut rule = Nv::new(Stream::new(1, "nv"));
    assert_eq!(rule.bounded(90), 90);
    // ⌊100·205/256⌋ = 80.
    rule.base_rtt_us = 100;
    assert_eq!([rule.bounded(50), rule.bounded(90), rule.bounded(200)], [80, 90, 100]);
}
