use super::*;
use crate::Ecn;
use crate::qdisc::test_packet::{TestPacket, queued};

const MS: u64 = 1_000_000;

fn parameters() -> PieParameters {
    PieParameters::new(&PieConfig::default())
}

fn ticks(ms: u64) -> u64 {
    (ms * MS) >> TICK_SHIFT
}

/// A probability as a number.
fn share(probability: u64) -> f64 {
    probability as f64 / ONE as f64
}

fn probability(share: f64) -> u64 {
    (share * ONE as f64) as u64
}

fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-5, "{found} instead of {expected}");
}

/// The controller after one update from this probability, with these delays in milliseconds.
fn updated(from: f64, delay: u64, before: u64) -> Controller {
    let mut controller = Controller::new(&parameters());
    controller.probability = probability(from);
    controller.delay = ticks(delay);
    controller.delay_before = ticks(before);
    controller.update(&parameters(), 100_000);
    controller
}

#[test]
fn one_update_is_what_the_rfc_computes() {
    // Section 4.2: 0.125·(30 − 15) ms + 1.25·(30 − 20) ms = 0.001875 + 0.0125 = 0.014375, halved
    // below 10 %: 0.05 + 0.0071875.
    assert_near(share(updated(0.05, 30, 20).probability), 0.057_187_5);
    // An eighth below 1 %, 1/32 below 0.1 %, and so on.
    assert_near(share(updated(0.005, 30, 20).probability), 0.005 + 0.014_375 / 8.0);
    assert_near(share(updated(0.000_5, 30, 20).probability), 0.000_5 + 0.014_375 / 32.0);
    assert_near(share(updated(5e-5, 30, 20).probability), 5e-5 + 0.014_375 / 128.0);
    assert_near(share(updated(5e-6, 30, 20).probability), 5e-6 + 0.014_375 / 512.0);
    assert_near(share(updated(5e-7, 30, 20).probability), 5e-7 + 0.014_375 / 2048.0);
    // In full from 10 % on, but no more than two percent at once: 0.125·(100 − 15) ms + 1.25·100
    // ms = 0.135625; and downwards without that bound: 0.125·(−15) ms − 1.25·100 ms = −0.126875.
    assert_near(share(updated(0.2, 30, 20).probability), 0.214_375);
    assert_near(share(updated(0.2, 100, 0).probability), 0.22);
    assert_near(share(updated(0.2, 0, 100).probability), 0.2 - 0.126_875);
    // Over 250 ms two percent more: 0.02 + 0.02.
    assert_near(share(updated(0.2, 300, 100).probability), 0.24);
}

#[test]
fn a_steady_delay_is_integrated() {
    // 35 ms for ever, 20 ms above the target: each update adds 0.125·0.02 = 0.0025 over the
    // divisor of its range; the first, from no delay, 1.25·0.035 = 0.04375 besides.
    let config = PieConfig { bounded: true, ..PieConfig::default() };
    let parameters = PieParameters::new(&config);
    let mut controller = Controller::new(&parameters);
    controller.delay = ticks(35);
    let mut expected = 0.0;
    for n in 0..2000u64 {
        let divisor = match expected {
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        let growth = if n == 0 { 0.043_75 } else { 0.0 };
        expected = f64::min(1.0, expected + (0.002_5 + growth) / divisor);
        controller.catch_up(&parameters, 100_000, Time::from_nanos((n + 1) * 15 * MS));
        assert!((share(controller.probability) / expected - 1.0).abs() < 0.001, "{n}");
    }
    assert_eq!(controller.probability, ONE);
}

#[test]
fn probability_decays_when_there_is_no_delay() {
    // Without backlog: −0.125·0.015 = −0.001875 from 0.2, times 63/64.
    let mut controller = Controller::new(&parameters());
    controller.probability = probability(0.2);
    controller.update(&parameters(), 0);
    assert_near(share(controller.probability), (0.2 - 0.001_875) * 63.0 / 64.0);
    // With a backlog too small to tell, without that factor.
    controller.probability = probability(0.2);
    controller.update(&parameters(), 1000);
    assert_near(share(controller.probability), 0.2 - 0.001_875);
}

#[test]
fn catching_up_late_is_catching_up_in_time() {
    let mut late = Controller::new(&parameters());
    late.probability = probability(0.7);
    late.delay = ticks(90);
    late.burst_left = 0;
    let mut in_time = late;
    let hour = 3600 * 1000 * MS;
    for n in 1..=240_000 {
        in_time.catch_up(&parameters(), 0, Time::from_nanos(n * 15 * MS));
        if n == 20 {
            // The last packet has left.
            in_time.delay = 0;
            late.catch_up(&parameters(), 0, Time::from_nanos(20 * 15 * MS));
            late.delay = 0;
        }
    }
    late.catch_up(&parameters(), 0, Time::from_nanos(hour));
    assert_eq!(late, in_time);
    assert_eq!((late.probability, late.updates), (0, 240_000));
    assert_eq!(late.burst_left, ticks(150));
}

#[test]
fn a_stopped_line_is_caught_up_too() {
    // Nothing leaves for an hour while the delay was last seen at 90 ms.
    for bounded in [false, true] {
        let parameters = PieParameters::new(&PieConfig { bounded, ..PieConfig::default() });
        let mut late = Controller::new(&parameters);
        late.delay = ticks(90);
        let mut in_time = late;
        for n in 1..=240_000 {
            in_time.updates = n - 1;
            in_time.update(&parameters, 100_000);
        }
        in_time.updates = 240_000;
        late.catch_up(&parameters, 100_000, Time::from_nanos(3600 * 1000 * MS));
        assert_eq!(late, in_time);
        assert!(late.probability >= ONE);
    }
}

#[test]
fn nothing_is_dropped_while_the_burst_allowance_lasts() {
    // Certain drops otherwise: probability one, and a queue. The allowance is used up 150 ms after
    // the first departure.
    let mut pie: Pie<TestPacket> = Pie::new(&PieConfig::default(), Stream::new(1, "pie"));
    let mut drops = Drops::default();
    for _ in 0..900 {
        let packet = queued(1, 1500, Ecn::NotEct, 0);
        pie.enqueue(packet, &Line::default(), Time::ZERO, &mut drops);
    }
    let mut first = None;
    for ms in 1..300 {
        let now = Time::from_nanos(ms * MS);
        pie.controller.probability = ONE;
        pie.enqueue(queued(1, 1500, Ecn::NotEct, ms * MS), &Line::default(), now, &mut drops);
        if first.is_none() && !drops.packets.is_empty() {
            first = Some(ms);
        }
        pie.dequeue(now, &mut drops);
    }
    // The first departure at 1 ms only sets the clock; that at 151 ms uses up the rest (a tick is
    // lost here and there), and the packet of 152 ms is the first to be judged.
    assert!(matches!(first, Some(152..=153)), "{first:?}");
}

fn eager(config: &PieConfig, share: f64) -> (PieParameters, Controller) {
    let parameters = PieParameters::new(config);
    let mut controller = Controller::new(&parameters);
    controller.burst_left = 0;
    controller.delay = ticks(30);
    controller.probability = probability(share);
    (parameters, controller)
}

#[test]
fn drops_are_spread() {
    // RFC 8033 section 5.4: none before probabilities have added up to 0.85, that is with the
    // ninth packet at 10 %; then one in ten: on average the 8 before, and 10 more.
    let (parameters, mut controller) = eager(&PieConfig::default(), 0.1);
    let mut stream = Stream::new(1, "pie");
    let (mut gaps, mut gap) = (Vec::new(), 0u32);
    for _ in 0..200_000 {
        gap += 1;
        let packet = queued(1, 1500, Ecn::NotEct, 0);
        if controller.admit(&parameters, 100_000, packet, &mut stream).is_err() {
            gaps.push(gap);
            gap = 0;
        }
    }
    assert_eq!(gaps.iter().min(), Some(&9));
    // Certain when they have added up to 8.5: with the 85th.
    assert!(gaps.iter().all(|gap| *gap <= 86));
    let mean = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
    // The standard deviation of a geometric gap of mean 10 is 9.5; over 11,000 of them 0.09.
    assert!((mean - 18.0).abs() < 0.4, "{mean}");
}

#[test]
fn small_packets_are_dropped_less_in_byte_mode() {
    let config = PieConfig { byte_mode: true, ..PieConfig::default() };
    let (parameters, controller) = eager(&config, 0.1);
    let accumulated = |bytes| {
        let mut controller = controller;
        controller.signals(&parameters, 100_000, bytes, &mut Stream::new(1, "pie"));
        share(controller.accumulated)
    };
    assert_near(accumulated(1514), 0.1);
    assert_near(accumulated(757), 0.05);
    assert_near(accumulated(9000), 0.1);
}

#[test]
fn marks_replace_drops_up_to_a_tenth() {
    let config = PieConfig { ecn: true, ..PieConfig::default() };
    let outcome = |share, ecn| {
        let (parameters, mut controller) = eager(&config, share);
        controller.accumulated = ONE / 2 * 17;
        let packet = queued(1, 1500, ecn, 0);
        let admitted = controller.admit(&parameters, 100_000, packet, &mut Stream::new(1, "pie"));
        admitted.map(|packet| packet.packet.ecn).ok()
    };
    assert_eq!(outcome(0.09, Ecn::Ect0), Some(Ecn::Ce));
    assert_eq!(outcome(0.09, Ecn::NotEct), None);
    assert_eq!(outcome(0.11, Ecn::Ect0), None);
}

#[test]
fn short_queues_are_left_alone() {
    let (parameters, controller) = eager(&PieConfig::default(), 0.5);
    let signals = |controller: Controller, backlog| {
        let mut controller = Controller { accumulated: ONE * 9, ..controller };
        controller.signals(&parameters, backlog, 1500, &mut Stream::new(1, "pie"))
    };
    assert!(signals(controller, 2 * 1514));
    assert!(!signals(controller, 2 * 1514 - 1));
    // Half the target, unless the probability is a fifth.
    let short = Controller { delay: ticks(7), ..controller };
    assert!(signals(short, 100_000));
    assert!(!signals(Controller { probability: probability(0.19), ..short }, 100_000));
}

#[test]
fn the_rate_of_departure_gives_the_delay() {
    // 1500 bytes each millisecond; 60,000 bytes wait: 40 ms.
    let config = PieConfig { delay_from: DelayFrom::DepartureRate, ..PieConfig::default() };
    let parameters = PieParameters::new(&config);
    let mut controller = Controller::new(&parameters);
    for ms in 1..100 {
        let now = Time::from_nanos(ms * MS);
        controller.departs(&parameters, 60_000, 1500, Time::ZERO, now);
    }
    controller.update(&parameters, 60_000);
    let delay_ms = (controller.delay << TICK_SHIFT) as f64 / MS as f64;
    // A measurement begins with the bytes of its first packet, but not with the time before it:
    // eleven packets in ten to eleven milliseconds; the rate is rounded to 1/256.
    assert!((36.0..=41.5).contains(&delay_ms), "{delay_ms}");
}

#[test]
fn probabilities_beyond_one_are_bounded_if_wanted() {
    // From 0.99 two percent up: 1.01 in Linux, one in the RFC.
    let updated = |bounded| {
        let parameters = PieParameters::new(&PieConfig { bounded, ..PieConfig::default() });
        let mut controller = Controller::new(&parameters);
        controller.probability = probability(0.99);
        controller.delay = ticks(100);
        controller.update(&parameters, 100_000);
        share(controller.probability)
    };
    assert_near(updated(false), 1.01);
    assert_eq!(updated(true), 1.0);
}

#[test]
fn a_mark_overdue_calls_for_more_unless_bounded() {
    // The 85th packet at 10 % is marked in any case. In Linux so are all from there on.
    let marks = |bounded| {
        let config = PieConfig { ecn: true, bounded, ..PieConfig::default() };
        let (parameters, mut controller) = eager(&config, 0.05);
        controller.accumulated = ONE / 2 * 17;
        let mut stream = Stream::new(1, "pie");
        let mut marked = |_: &i32| {
            let packet = queued(1, 1500, Ecn::Ect0, 0);
            let admitted = controller.admit(&parameters, 100_000, packet, &mut stream);
            admitted.is_ok_and(|packet| packet.packet.ecn == Ecn::Ce)
        };
        (0..10).filter(|n| marked(n)).count()
    };
    assert_eq!((marks(false), marks(true)), (10, 1));
}
