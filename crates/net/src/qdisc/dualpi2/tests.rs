use super::*;
use crate::qdisc::test_packet::{TestPacket, queued};

const MS: u64 = 1_000_000;

fn dualpi2(config: &DualPi2Config) -> DualPi2<TestPacket> {
    DualPi2::new(config, Stream::new(1, "dualpi2"))
}

fn arrive(queue: &mut DualPi2<TestPacket>, ecn: Ecn, nanos: u64) -> Drops<TestPacket> {
    let mut drops = Drops::default();
    let packet = queued(ecn as u32, 1500, ecn, nanos);
    queue.enqueue(packet, &Line::default(), Time::from_nanos(nanos), &mut drops);
    drops
}

fn serve(queue: &mut DualPi2<TestPacket>, nanos: u64) -> Option<TestPacket> {
    match queue.dequeue(Time::from_nanos(nanos), &mut Drops::default()) {
        Next::Packet(packet) => Some(packet.packet),
        _ => None,
    }
}

/// Of this many packets that pass a standing queue of `ecn` at a base probability: the shares that
/// are marked and dropped.
fn shares(config: &DualPi2Config, base: f64, ecn: Ecn) -> (f64, f64) {
    let n = 100_000;
    let mut queue = dualpi2(config);
    let mut drops = Drops::default();
    let mut marks = 0;
    for _ in 0..n {
        // Enough for any row of drops.
        while queue.backlog().packets < 50 {
            arrive(&mut queue, ecn, 0);
        }
        queue.controller.probability = base;
        if let Next::Packet(packet) = queue.dequeue(Time::ZERO, &mut drops) {
            marks += u32::from(packet.packet.ecn == Ecn::Ce);
        }
    }
    let dropped = drops.packets.len() as f64;
    let judged = f64::from(n) + dropped;
    (f64::from(marks) / judged, dropped / judged)
}

fn assert_near(found: f64, expected: f64) {
    // Four standard deviations of a share of 100,000 packets are at most 0.0064.
    assert!((found - expected).abs() < 0.006_4, "{found} instead of {expected}");
}

#[test]
fn the_controller_is_proportional_and_integral() {
    // RFC 9332 section A.1 with α = 0.16, β = 3.2: p′ = 0.1, a delay of 25 ms that was 20 ms:
    // 0.1 + 0.16·0.010 + 3.2·0.005 = 0.1176; Linux's 41/256 and 819/256: 0.117598.
    let config = DualPi2Config { alpha_hz: 0.16, beta_hz: 3.2, ..DualPi2Config::default() };
    let start = Controller { probability: 0.1, delay_before: 0.020, updates: 0 };
    let updated = |config: &DualPi2Config, delay| {
        let mut controller = start;
        controller.update(config, delay);
        controller.probability
    };
    assert!((updated(&config, 0.025) - 0.1176).abs() < 1e-12);
    assert!((updated(&DualPi2Config::default(), 0.025) - 0.117_597_7).abs() < 1e-6);
    assert_eq!(updated(&config, 9.0), 1.0);
    assert_eq!(updated(&config, 0.0), 0.1 - 0.16 * 0.015 - 3.2 * 0.020);
    let no_drops = DualPi2Config { drop_on_overload: false, ..config };
    assert_eq!(updated(&no_drops, 9.0), 0.5, "no more than 1/k");
}

#[test]
fn probabilities_are_coupled() {
    // p′ = 0.1176: p_CL = 2·p′ = 0.2352, p_C = p′² = 0.01383.
    let config = DualPi2Config::default();
    let (marked, dropped) = shares(&config, 0.1176, Ecn::Ect1);
    assert_near(marked, 0.2352);
    assert_eq!(dropped, 0.0);
    assert_near(shares(&config, 0.1176, Ecn::Ect0).0, 0.013_83);
    assert_eq!(shares(&config, 0.1176, Ecn::Ect0).1, 0.0);
    assert_near(shares(&config, 0.4, Ecn::NotEct).1, 0.16);
    assert_eq!(shares(&config, 0.4, Ecn::NotEct).0, 0.0);
}

#[test]
fn overload_drops() {
    // k·p′ = 1.2 > 1: p_C = 0.36 of all are dropped, whatever their codepoint, and the rest of
    // those of low latency marked.
    let config = DualPi2Config::default();
    let (marked, dropped) = shares(&config, 0.6, Ecn::Ect1);
    assert_near(dropped, 0.36);
    assert_near(marked, 0.64);
    let (marked, dropped) = shares(&config, 0.6, Ecn::Ect0);
    assert_near(dropped, 0.36);
    assert_eq!(marked, 0.0);
    let no_drops = DualPi2Config { drop_on_overload: false, ..config };
    assert_eq!(shares(&no_drops, 0.5, Ecn::Ect1), (1.0, 0.0));
}

#[test]
fn early_drops_decide_on_arrival() {
    let config = DualPi2Config { drop_early: true, ..DualPi2Config::default() };
    let mut queue = dualpi2(&config);
    for _ in 0..3 {
        arrive(&mut queue, Ecn::NotEct, 0);
    }
    queue.controller.probability = 1.0;
    assert_eq!(arrive(&mut queue, Ecn::NotEct, 0).packets.len(), 1);
    for _ in 0..3 {
        assert!(serve(&mut queue, 0).is_some());
    }
}

#[test]
fn two_packets_are_left_alone() {
    let mut queue = dualpi2(&DualPi2Config::default());
    queue.controller.probability = 1.0;
    for _ in 0..3 {
        arrive(&mut queue, Ecn::NotEct, 0);
    }
    // 3000 bytes behind the first are less than two of 1514.
    for _ in 0..3 {
        assert!(serve(&mut queue, 0).is_some());
    }
}

#[test]
fn the_step_marks_what_waited_for_more_than_a_millisecond() {
    let marked = |ecn, waited| {
        let mut queue = dualpi2(&DualPi2Config::default());
        arrive(&mut queue, ecn, 0);
        serve(&mut queue, waited).is_some_and(|packet| packet.ecn == Ecn::Ce)
    };
    assert!(!marked(Ecn::Ect1, MS));
    assert!(marked(Ecn::Ect1, MS + 1));
    assert!(!marked(Ecn::Ect0, 5 * MS) && !marked(Ecn::NotEct, 5 * MS));
}

#[test]
fn the_step_may_be_in_packets_and_need_some_before_it() {
    let config = |min_packets_for_marks| DualPi2Config {
        low_latency_marks: LowLatencyMarks::StepPackets(2),
        min_packets_for_marks,
        ..DualPi2Config::default()
    };
    let marks = |min_packets| {
        let mut queue = dualpi2(&config(min_packets));
        for _ in 0..6 {
            arrive(&mut queue, Ecn::Ect1, 0);
        }
        let mut served = std::iter::from_fn(|| serve(&mut queue, 0));
        served.by_ref().map(|packet| packet.ecn == Ecn::Ce).collect::<Vec<bool>>()
    };
    // Five, four and three wait behind the first three.
    assert_eq!(marks(0), [true, true, true, false, false, false]);
    assert_eq!(marks(2), [false, false, true, false, false, false]);
}

#[test]
fn classification_is_by_codepoint() {
    let low_latency = |any_ect, ecn| {
        let mut queue = dualpi2(&DualPi2Config { any_ect, ..DualPi2Config::default() });
        arrive(&mut queue, ecn, 0);
        queue.low_latency.waiting().packets == 1
    };
    let all = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    assert_eq!(all.map(|ecn| low_latency(false, ecn)), [false, false, true, true]);
    assert_eq!(all.map(|ecn| low_latency(true, ecn)), [false, true, true, true]);
}

#[test]
fn the_classic_queue_has_its_tenth() {
    let mut queue = dualpi2(&DualPi2Config::default());
    for _ in 0..2000 {
        arrive(&mut queue, Ecn::NotEct, 0);
        arrive(&mut queue, Ecn::Ect1, 0);
    }
    let served: Vec<_> = (0..1000).filter_map(|_| serve(&mut queue, 0)).collect();
    let classic = served.iter().filter(|packet| packet.ecn == Ecn::NotEct).count();
    // Its credit begins at −80·1514, nine packets of low latency ahead of a tenth.
    assert!((98..=101).contains(&classic), "{classic}");
    let first = served.iter().position(|packet| packet.ecn == Ecn::NotEct);
    // Each packet of low latency adds 10·1500; it is above zero after the ninth: 135,000 − 121,120.
    assert_eq!(first, Some(9));
}

#[test]
fn a_shifted_clock_may_decide_instead() {
    let config = DualPi2Config {
        scheduler: DualScheduler::TimeShifted { shift: Duration::from_millis(30) },
        ..DualPi2Config::default()
    };
    let mut queue = dualpi2(&config);
    arrive(&mut queue, Ecn::NotEct, 0);
    arrive(&mut queue, Ecn::NotEct, MS);
    arrive(&mut queue, Ecn::Ect1, 30 * MS + 1);
    arrive(&mut queue, Ecn::Ect1, 30 * MS + 1);
    let order: Vec<_> = std::iter::from_fn(|| serve(&mut queue, 31 * MS))
        .map(|packet| packet.ecn == Ecn::NotEct)
        .collect();
    assert_eq!(order, [true, false, false, true]);
}

#[test]
fn catching_up_late_is_catching_up_in_time() {
    let config = DualPi2Config::default();
    let (mut late, mut in_time) = (dualpi2(&config), dualpi2(&config));
    for queue in [&mut late, &mut in_time] {
        arrive(queue, Ecn::NotEct, 0);
    }
    let stop = 2000 * MS;
    for nanos in (0..=stop).step_by(16_000_000) {
        in_time.catch_up(Time::from_nanos(nanos));
    }
    late.catch_up(Time::from_nanos(stop));
    assert_eq!(late.controller, in_time.controller);
    // By hand: at 16 n ms the delay is 16 n ms: the sum over n of α·(0.016 n − 0.015) + β·0.016,
    // after n = 10: 0.16016·(0.016·55 − 0.15) + 3.19922·0.16 = 0.11692 + 0.51188.
    let mut fresh = dualpi2(&config);
    arrive(&mut fresh, Ecn::NotEct, 0);
    fresh.catch_up(Time::from_nanos(160 * MS));
    assert!((fresh.controller.probability - 0.628_79).abs() < 1e-4);
    // Idle for a day, it comes to rest.
    assert!(serve(&mut late, stop).is_some());
    late.catch_up(Time::from_nanos(86_400_000 * MS));
    let rest = Controller { probability: 0.0, delay_before: 0.0, updates: 5_400_000 };
    assert_eq!(late.controller, rest);
}
