use super::*;
use crate::probe::{Probe, Start};
use crate::test_path::{TestPath, mean};
use crate::testing::MSS;

/// 50 Mbit/s and 40 ms: 172.7 segments.
fn path(limit: u64) -> TestPath {
    TestPath::new("vivace", 50.0, 40.0, limit)
}

/// Successive current rates, Mbit/s.
fn rates(path: &mut TestPath, until_ms: u64) -> Vec<f64> {
    let mut rates: Vec<f64> = Vec::new();
    path.run(until_ms, |path| {
        let rate = path.pacing_share() * 50.0;
        if rates.last().is_none_or(|last| (last / rate - 1.0).abs() > 1e-6) {
            rates.push(rate);
        }
    });
    rates
}

#[test]
fn the_rate_doubles_until_the_utility_falls() {
    // 10 segments in 40 ms are 2.896 Mbit/s; doubled until 92.7 Mbit/s, which 50 cannot carry;
    // back to 46.3, and within 5 % of that.
    let rates = rates(&mut path(1_000), 750);
    for (n, rate) in rates.iter().take(6).enumerate() {
        let doubled = 2.896 * f64::from(1 << n);
        assert!((rate / doubled - 1.0).abs() < 0.01, "{n}: {rate}");
    }
    assert!((rates[6] / 46.336 - 1.0).abs() < 0.06, "{rates:?}");
}

#[test]
fn probes_five_percent_above_and_below_in_pairs() {
    let rates = rates(&mut path(1_000), 900);
    let probes: Vec<_> = rates[6..].iter().map(|rate| (rate / 46.336 - 1.0) * 100.0).collect();
    // Two pairs may meet with the same sign, which looks like one trial.
    assert!(probes[..2].iter().all(|share| (share.abs() - 5.0).abs() < 1.0), "{probes:?}");
    assert!(probes[0] * probes[1] < 0.0, "{probes:?}");
}

#[test]
fn fills_the_path_and_keeps_the_queue_short() {
    let mut path = path(1_000);
    let rtt = mean(&mut path, 5_000, 30_000, |path| path.last_rtt.as_secs_f64());
    assert!(rtt < 0.048, "{rtt}");
    let megabits = path.delivered as f64 * 8.0 / 30.0 / 1e6;
    assert!(megabits > 45.0, "{megabits}");
}

#[test]
fn the_loss_variant_fills_the_queue() {
    let params = [("latency", 0.0)];
    let mut path = TestPath::with("vivace", &params, 1, (50.0, 40.0, 172));
    let rtt = mean(&mut path, 5_000, 30_000, |path| path.last_rtt.as_secs_f64());
    // Up to 40 ms of queue.
    assert!(rtt > 0.060, "{rtt}");
    let lost = path.lost as f64 / path.delivered as f64;
    // Loss costs more than the rate that causes it gains, but there is none while the queue fills,
    // and the steps have grown to a seventh of the rate by the time it occurs.
    assert!((0.01..0.15).contains(&lost), "{lost}");
}

#[test]
fn random_loss_below_the_tolerance_of_the_utility_does_not_matter() {
    // A higher rate has a higher utility while 0.9·x^−0.1 > 11.35·L: at 50 Mbit/s below 5.4 %.
    let mut path = path(333);
    path.loss = 0.01;
    path.run(30_000, |_| {});
    let before = path.delivered;
    path.run(60_000, |_| {});
    let megabits = (path.delivered - before) as f64 * 8.0 / 30.0 / 1e6;
    assert!(megabits > 40.0, "{megabits}");
}

#[test]
fn finds_new_bandwidth() {
    let mut path = path(1_000);
    path.run(5_000, |_| {});
    path.rate *= 2.0;
    path.run(25_000, |_| {});
    assert!(path.pacing_share() > 0.8, "{}", path.pacing_share());
}

#[test]
fn a_timeout_halves_the_rate() {
    let mut path = path(1_000);
    path.run(5_000, |_| {});
    let before = path.pacing_share();
    path.cc.on_rto(true, &crate::testing::flow(5_001, 10, 40));
    assert_eq!(path.cwnd(), 1);
    // Relative to the current rate, from which a probe may differ by 5 %; a probe follows.
    let share = path.pacing_share() / before;
    assert!((0.42..0.6).contains(&share), "{share}");
}

#[test]
fn an_idle_application_does_not_change_the_rate() {
    let mut path = path(1_000);
    path.run(5_000, |_| {});
    path.app_limited = true;
    path.run(5_200, |_| {});
    let before = path.pacing_share();
    path.run(9_000, |_| {});
    let share = path.pacing_share() / before;
    assert!((0.85..1.15).contains(&share), "{share}");
}

#[test]
fn the_window_is_two_and_a_half_round_trips() {
    let mut probe = Probe::new("vivace", Variant::Paper, &Start::slow_start(10, 40));
    probe.ack(1);
    assert_eq!(probe.cwnd(), 25);
    assert_eq!(probe.cc.pacing_rate(), Some(Rate::from_bps(2_896_000)));
    assert_eq!(probe.cc.cwnd() % u64::from(MSS), 0);
}
