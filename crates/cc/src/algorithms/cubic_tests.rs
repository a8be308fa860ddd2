//! Worked examples of CUBIC.

use super::*;
use crate::testing::{ack, flow};

fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() < tolerance, "{value} is not {expected}");
}

/// W(t) of RFC 9438 after a loss at `w_max` that left `w`.
fn rfc_curve(w_max: f64, w: f64, t: f64) -> f64 {
    let mut rule = Rfc9438::new();
    rule.state.w_max = Some(w_max);
    rule.w_cubic(&rule.start_epoch(w, Time::ZERO), t)
}

#[test]
fn rfc_curve_after_a_loss_at_100() {
    // K = (30/0.4)^⅓ = 75^⅓ = 4.2172; W(1) = 0.4·(1 − 4.2172)³ + 100 = 100 − 0.4·33.299 = 86.68.
    for (t, expected) in
        [(0.0, 70.0), (1.0, 86.68), (2.0, 95.64), (4.0, 99.996), (6.0, 102.27), (8.0, 121.65)]
    {
        near(rfc_curve(100.0, 70.0, t), expected, 0.006);
    }
}

#[test]
fn rfc_curve_after_a_loss_at_1000() {
    // K = (300/0.4)^⅓ = 750^⅓ = 9.0856; W(5) = 1000 − 0.4·4.0856³ = 1000 − 27.28 = 972.72.
    for (t, expected) in [(1.0, 788.56), (5.0, 972.72), (10.0, 1000.31), (12.0, 1009.90)] {
        near(rfc_curve(1000.0, 700.0, t), expected, 0.006);
    }
}

#[test]
fn rfc_targets_the_window_one_round_trip_ahead() {
    // Loss at 1000, 700 kept. First acknowledgement: t = 0, RTT 100 ms: W(0.1) =
    // 1000 − 0.4·8.9856³ = 1000 − 290.21 = 709.79; a whole window acknowledged goes there.
    let mut rule = Rfc9438 { tcp_friendliness: false, ..Rfc9438::new() };
    let mut window = Window::new(1000);
    assert_eq!(rule.backoff(&window, Signal::Loss, &flow(0, 1000, 100)), 700);
    window.cwnd = 700;
    rule.growth(&mut window, 700, &ack(700, 100), &flow(5_000, 700, 100));
    near(window.exact(), 709.79, 0.01);
    // One segment out of 700 goes 1/700 of the way.
    let mut window = Window::new(700);
    rule.state.epoch = None;
    rule.growth(&mut window, 1, &ack(1, 100), &flow(5_000, 700, 100));
    near(window.exact(), 700.0 + 9.79 / 700.0, 1e-4);
}

#[test]
fn rfc_follows_reno_where_reno_is_faster() {
    // Small windows: after a loss at 10, W(t) is flat. α = 3·0.3/1.7 = 0.5294 per window until
    // 10 is reached: 7 + 0.5294 after the 7 segments of the first round.
    let mut rule = Rfc9438::new();
    let mut window = Window::new(10);
    assert_eq!(rule.backoff(&window, Signal::Loss, &flow(0, 10, 10)), 7);
    window.cwnd = 7;
    for _ in 0..7 {
        rule.growth(&mut window, 1, &ack(1, 10), &flow(1_000, 7, 10));
    }
    // A little less, since each segment makes the window larger; W(0 + 10 ms) = 7.047 is less.
    near(window.exact(), 7.51, 0.01);
    // From the window before the loss on α is 1.
    let w_est = |rule: &Rfc9438| rule.state.epoch.expect("an epoch").w_est;
    rule.state.epoch = Some(Epoch { w_est: 10.0, ..rule.state.epoch.expect("an epoch") });
    window = Window::new(10);
    rule.growth(&mut window, 1, &ack(1, 10), &flow(1_010, 10, 10));
    near(w_est(&rule), 10.1, 1e-12);
    near(window.exact(), 10.1, 1e-12);
}

#[test]
fn rfc_loss_converges_and_an_undo_restores() {
    let mut rule = Rfc9438::new();
    // 90 < 100: Wmax = 90·1.7/2 = 76.5, kept 63; of 80 in flight 56.
    rule.state.w_max = Some(100.0);
    let before = rule.state;
    assert_eq!(rule.backoff(&Window::new(90), Signal::Loss, &flow(0, 90, 40)), 63);
    assert_eq!(rule.state.w_max, Some(76.5));
    rule.on_spurious(&mut Window::new(90), &flow(0, 90, 40));
    assert_eq!(rule.state, before);
    assert_eq!(rule.backoff(&Window::new(90), Signal::Loss, &flow(0, 80, 40)), 56);
}

#[test]
fn rfc_timeout_starts_at_the_origin_and_idle_time_does_not_count() {
    let mut rule = Rfc9438::new();
    rule.state.w_max = Some(100.0);
    rule.on_rto(&flow(0, 1, 40));
    let epoch = rule.start_epoch(20.0, Time::ZERO);
    assert_eq!((epoch.k, epoch.origin), (0.0, 20.0));
    rule.state.epoch = Some(epoch);
    rule.on_idle(Duration::from_secs(3), &flow(10_000, 0, 40));
    assert_eq!(rule.state.epoch.expect("an epoch").start, Time::ZERO + Duration::from_secs(3));
}

fn linux6_1() -> Linux6_1 {
    Linux6_1 { core: LinuxCore::with(717, 410), min_rtt: None }
}

fn linux2_6_22() -> Linux2_6_22 {
    Linux2_6_22 {
        core: LinuxCore::with(819, 410),
        max_increment: 16,
        min_rtt_eighths: 0,
        ratio: DelayedAckRatio::new(),
    }
}

#[test]
fn linux_scale_factors() {
    // 6.1: 8·1741/3 = 4642, /307 = 15; 2.6.22: 8·1843/3 = 4914, /205 = 23. 2⁴⁰/410 = 2681735677.
    assert_eq!(linux6_1().core.reno_eighths, 15);
    assert_eq!(linux2_6_22().core.reno_eighths, 23);
    assert_eq!(linux6_1().core.inverse_c, 2_681_735_677);
}

/// Segments per increase by Linux 6.1's curve at window `cwnd`, `since` ms after an epoch began at
/// 70 segments after a loss at 100, with a minimum RTT of 100 ms.
fn linux6_1_count(since: u64, cwnd: u64) -> u64 {
    let mut core = LinuxCore::with(717, 410);
    core.w_max = 100;
    core.begin(70, 5_000, 1);
    assert_eq!((core.k, core.origin), (4_316, 100));
    let t = core.time(5_000 + since, 100);
    core.follow_curve(cwnd, t);
    core.count
}

#[test]
fn linux6_1_curve_after_a_loss_at_100() {
    // Targets 73, 88, 97, 100 at 0, 1, 2, 4 s. At 0 s: t = 100·1024/1000 = 102, offset 4214,
    // 410·4214³ >> 40 = 27: 100 − 27 = 73; from 70: ⌊70/3⌋ = 23.
    assert_eq!(linux6_1_count(0, 70), 23);
    assert_eq!(linux6_1_count(1_000, 70), 70 / 18);
    assert_eq!(linux6_1_count(2_000, 70), 70 / 27);
    assert_eq!(linux6_1_count(4_000, 70), 70 / 30);
    // At or beyond the target: hardly any growth.
    assert_eq!(linux6_1_count(4_000, 100), 10_000);
}

#[test]
fn linux_losses() {
    let mut rule = linux6_1();
    let flow = flow(0, 100, 40);
    // ⌊100·717/1024⌋ = 70; then 90 < 100: ⌊90·1741/2048⌋ = 76, kept ⌊90·717/1024⌋ = 63.
    assert_eq!(rule.backoff(&Window::new(100), Signal::Loss, &flow), 70);
    assert_eq!(rule.core.w_max, 100);
    assert_eq!(rule.backoff(&Window::new(90), Signal::Loss, &flow), 63);
    assert_eq!(rule.core.w_max, 76);
    // 2.6.22: ⌊100·819/1024⌋ = 79.
    assert_eq!(linux2_6_22().backoff(&Window::new(100), Signal::Loss, &flow), 79);
}

#[test]
fn linux6_1_count_stays_between_2_and_20_before_the_first_loss() {
    let mut rule = linux6_1();
    rule.update(1_000, 1, 5_000);
    // Target = origin = window: 100·1000, lowered to 20.
    assert_eq!(rule.core.count, 20);
    // Reno far ahead (cnt 0) is raised to 2.
    rule.core.reno_cwnd = 3_000;
    rule.update(1_001, 1, 5_001);
    assert_eq!(rule.core.count, 2);
}

#[test]
fn linux6_1_reno_region() {
    // Window 80: a Reno segment per ⌊80·15/8⌋ = 150 segments; the 151st makes it.
    let mut core = LinuxCore::with(717, 410);
    (core.reno_cwnd, core.count) = (80, 8_000);
    core.reno_count = 150;
    core.follow_reno(80);
    assert_eq!((core.reno_cwnd, core.count), (80, 8_000));
    core.reno_count = 151;
    core.follow_reno(80);
    assert_eq!((core.reno_cwnd, core.reno_count, core.count), (81, 1, 80));
}

#[test]
fn linux6_1_idle_shifts_the_epoch() {
    let mut rule = linux6_1();
    rule.core.epoch_start = 1_000;
    rule.on_transmit_start(Duration::from_millis(700), &flow(2_000, 0, 40));
    assert_eq!(rule.core.epoch_start, 1_700);
    rule.on_transmit_start(Duration::from_millis(700), &flow(2_000, 0, 40));
    assert_eq!(rule.core.epoch_start, 2_000);
}

#[test]
fn linux2_6_22_counts_50_before_the_first_loss() {
    // ⌊50·16/32⌋ = 25 with the ratio it starts with; ⌊50·16/31⌋ = 25 with the one it settles at.
    let mut rule = linux2_6_22();
    rule.update(1_000, 5_000);
    assert_eq!(rule.core.count, 25);
}

#[test]
fn linux2_6_22_growth_beyond_the_origin_is_bounded() {
    // Loss at 1000, 10 s later, RTT 100 ms: the epoch began at 799, K of 201 segments is
    // (201/0.4004)^⅓ = 7.95 s. Curve at 10.1 s: 0.4004·2.15³ = 4 more than 1000, so from 990
    // ⌊990/14⌋ = 70; bound 990·8000/(10·16·800) = 61. Not binding.
    // At 20.1 s: 0.4004·12.15³ = 718: ⌊990/728⌋ = 1, raised to 61; ⌊61·16/32⌋ = 30.
    let mut rule = linux2_6_22();
    rule.core.tcp_friendliness = false;
    rule.core.w_max = 1_000;
    rule.min_rtt_eighths = 800;
    rule.update(799, 5_000);
    rule.update(990, 25_000);
    assert_eq!(rule.core.count, 30);
}

#[test]
fn linux2_6_22_delay_is_the_truncated_clock_minus_the_rounded_echo() {
    let mut rule = linux2_6_22();
    let mut window = Window::new(10);
    // Now 2000.9 ms, sent at 1960.5: 2000 − 1961 (rounded up) = 39 ms.
    let mut now = flow(2_000, 10, 40);
    now.now = Time::from_nanos(2_000_900_000);
    let mut sample = ack(1, 40);
    sample.rtt = Some(Duration::from_micros(40_400));
    rule.on_sample(&mut window, &sample, &now);
    assert_eq!(rule.min_rtt_eighths, 39 * 8);
    // Not in recovery, not with new holes, not in the first second of an epoch.
    sample.rtt = Some(Duration::from_millis(10));
    rule.on_sample(&mut window, &sample, &Flow { phase: Phase::Loss, ..now });
    rule.on_sample(&mut window, &Ack { delivered: sample.acked * 2, ..sample }, &now);
    rule.core.epoch_start = 1_500;
    rule.on_sample(&mut window, &sample, &now);
    assert_eq!(rule.min_rtt_eighths, 39 * 8);
    rule.core.epoch_start = 1_000;
    rule.on_sample(&mut window, &sample, &now);
    // 2000 − round(1990.9) = 9 ms.
    assert_eq!(rule.min_rtt_eighths, 9 * 8);
}
