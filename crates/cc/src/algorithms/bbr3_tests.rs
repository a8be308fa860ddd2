use super::*;
use crate::probe::{Probe, Start};
use crate::test_path::{TestPath, mean};
use crate::testing::MSS;

/// 50 Mbit/s and 40 ms: 172.7 segments.
fn path(limit: u64) -> TestPath {
    TestPath::new("bbr3", 50.0, 40.0, limit)
}

/// The pacing gains other than 1 that a path shows, with when they begin and end in seconds.
fn gains(path: &mut TestPath, until_ms: u64) -> Vec<(f64, f64, f64)> {
    let mut gains: Vec<(f64, f64, f64)> = Vec::new();
    // The rate of Startup passes through all of them.
    path.run(290, |_| {});
    path.run(until_ms, |path| {
        let now = path.now.as_secs_f64();
        let share = path.pacing_share() / PACING_MARGIN;
        let gain = [DOWN_PACING_GAIN, UP_PACING_GAIN, 0.5, 2.77]
            .into_iter()
            .find(|gain| (share / gain - 1.0).abs() < 0.04)
            .unwrap_or(1.0);
        match gains.last_mut() {
            Some((last, _, end)) if *last == gain => *end = now,
            _ => gains.push((gain, now, now)),
        }
    });
    gains.retain(|(gain, ..)| *gain != 1.0);
    gains
}

#[test]
fn startup_ends_on_a_plateau_and_drain_when_the_queue_is_gone() {
    let mut path = path(1_000);
    let gains = gains(&mut path, 1_500);
    // 2.77 until three rounds of at most 82 ms show no growth, then 0.5 for less than two.
    let (startup, drain) = (gains[0], gains[1]);
    assert_eq!((startup.0, drain.0), (2.77, 0.5), "{gains:?}");
    assert!((0.4..0.7).contains(&startup.2), "{startup:?}");
    assert!(drain.2 - drain.1 < 0.16, "{drain:?}");
    // The draft wants the estimate within 2 %: CRUISE paces at 0.99 of it.
    assert!((path.pacing_share() / 0.99 - 1.0).abs() < 0.02, "{}", path.pacing_share());
    // No queue is left.
    assert!(path.last_rtt < Duration::from_millis(42));
    assert_eq!(path.lost, 0);
}

#[test]
fn probes_for_bandwidth_every_two_or_three_seconds() {
    let mut path = path(1_000);
    let gains = gains(&mut path, 60_000);
    let ups: Vec<_> = gains.iter().filter(|(gain, ..)| *gain == UP_PACING_GAIN).collect();
    // UP takes three rounds until the plateau shows, and 2 to 3 s pass from its end to the
    // next REFILL; ProbeRTT may begin the wait anew, up to 3.3 s.
    assert!(ups.len() >= 10, "{}", ups.len());
    for pair in ups.windows(2) {
        let apart = pair[1].1 - pair[0].2;
        assert!((2.0..6.6).contains(&apart), "{apart}");
    }
    // ProbeRTT may cut one short.
    let whole = ups.iter().filter(|(_, start, end)| end - start > 0.1).count();
    assert!(whole + 2 >= ups.len(), "{ups:?}");
    for (_, start, end) in &ups {
        assert!((0.0..0.3).contains(&(end - start)), "{start} {end}");
        // DOWN follows.
        assert!(gains.iter().any(|(gain, at, _)| *gain == DOWN_PACING_GAIN && *at >= *end));
    }
}

#[test]
fn half_the_bdp_for_200_ms_every_five_seconds() {
    let mut path = path(1_000);
    let mut spans: Vec<(f64, f64)> = Vec::new();
    let mut since = None;
    path.run(28_000, |path| {
        let now = path.now.as_secs_f64();
        // 172.7/2 = 86.
        if (84..=87).contains(&path.cwnd()) && path.in_flight <= path.cc.cwnd() {
            since.get_or_insert(now);
        } else if let Some(start) = since.take() {
            assert!(path.cwnd() > 300 || now < 1.0, "{} at {now}", path.cwnd());
            spans.push((start, now));
        }
    });
    spans.retain(|(start, _)| *start > 1.0);
    assert!((3..=5).contains(&spans.len()), "{spans:?}");
    for (start, end) in &spans {
        assert!((0.199..0.33).contains(&(end - start)), "{start} {end}");
    }
    for pair in spans.windows(2) {
        assert!(pair[1].0 - pair[0].0 >= 5.0);
    }
}

#[test]
fn a_shallow_queue_bounds_the_volume() {
    // A BDP of 172.7 and a queue of 50: 222 segments fit; the window of 2 BDPs is 345.
    let mut shallow = path(50);
    let cwnd = mean(&mut shallow, 3_000, 20_000, |path| path.cwnd() as f64);
    assert!((150.0..260.0).contains(&cwnd), "{cwnd}");
    let lost = shallow.lost as f64 / shallow.delivered as f64;
    assert!(lost < 0.02, "{lost}");
    let megabits = shallow.delivered as f64 * 8.0 / 20.0 / 1e6;
    assert!(megabits > 43.0, "{megabits}");
}

#[test]
fn one_percent_of_random_loss_costs_less_than_a_third() {
    let mut lossy = path(333);
    lossy.loss = 0.01;
    lossy.run(20_000, |_| {});
    let megabits = lossy.delivered as f64 * 8.0 / 20.0 / 1e6;
    assert!(megabits > 34.0, "{megabits}");
}

#[test]
fn a_timeout_begins_with_one_segment() {
    let mut probe = Probe::new("bbr3", Variant::Paper, &Start::slow_start(10, 40));
    probe.delivery_rate = Some(6.25e6);
    probe.rounds(12);
    let before = probe.cwnd();
    assert!(before > 300);
    probe.rto();
    assert_eq!(probe.cwnd(), 1);
    for expected in [4, 5, 6, 7] {
        probe.ack(1);
        assert_eq!(probe.cwnd(), expected);
    }
    probe.recover();
    assert_eq!(probe.cwnd(), before);
}

#[test]
fn after_an_idle_period_it_paces_at_the_bandwidth() {
    let mut path = path(1_000);
    path.run(2_000, |_| {});
    while (path.pacing_share() / PACING_MARGIN - UP_PACING_GAIN).abs() > 0.02 {
        let next = path.now.as_millis() + 1;
        path.run(next, |_| {});
    }
    let flow = crate::testing::flow(path.now.as_millis() + 500, 0, 40);
    let cwnd = path.cwnd();
    path.cc.on_transmit_start(Duration::from_secs(1), true, &flow);
    assert!((path.pacing_share() - PACING_MARGIN).abs() < 0.02, "{}", path.pacing_share());
    assert_eq!(path.cwnd(), cwnd);
}

#[test]
fn six_ranges_and_two_percent_lost_end_startup() {
    // A loss rate of a tenth from the start, on a path of 3453 segments, which Startup never fills.
    let mut lossy = TestPath::new("bbr3", 1_000.0, 40.0, 10_000);
    lossy.loss = 0.1;
    lossy.run(3_000, |_| {});
    assert!(lossy.cwnd() < 3_000, "{}", lossy.cwnd());
    // Without loss Startup fills it.
    let mut clean = TestPath::new("bbr3", 1_000.0, 40.0, 10_000);
    clean.run(3_000, |_| {});
    assert!(clean.cwnd() > 6_800, "{}", clean.cwnd());
}

#[test]
fn bounds_and_state_return_after_a_spurious_loss() {
    let mut probe = Probe::new("bbr3", Variant::Paper, &Start::slow_start(10, 40));
    probe.delivery_rate = Some(6.25e6);
    probe.rounds(30);
    let before = probe.cwnd();
    probe.congestion(Signal::Loss);
    probe.rounds(3);
    let flow = probe.flow();
    probe.cc.on_spurious(&flow);
    assert!(probe.cwnd() >= before);
    assert_eq!(probe.cc.ssthresh(), u64::MAX);
    assert_eq!(u64::from(MSS) * probe.cwnd(), probe.cc.cwnd());
}
