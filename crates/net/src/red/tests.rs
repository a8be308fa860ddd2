use super::*;

fn found(packets: u64) -> Backlog {
    Backlog { packets, ..Backlog::default() }
}

fn config() -> RedConfig {
    RedConfig {
        min_threshold: 5.0,
        max_threshold: 15.0,
        max_probability: 0.1,
        weight: 1.0,
        gentle: false,
        ecn: false,
        typical_transmission: Duration::from_millis(1),
        ..RedConfig::default()
    }
}

fn drop_share(config: RedConfig, backlog: u64, n: u32) -> f64 {
    let mut red = Red::new(config, Stream::new(1, "red"));
    let drops = (0..n)
        .filter(|_| red.admit(false, true, &found(backlog), Time::ZERO) == Admission::Drop)
        .count();
    drops as f64 / f64::from(n)
}

#[test]
fn thresholds_bound_the_drops() {
    assert_eq!(drop_share(config(), 4, 1000), 0.0);
    assert_eq!(drop_share(config(), 15, 1000), 1.0);
}

#[test]
fn drops_are_spread_evenly_between_thresholds() {
    // Average 10: p_b = 0.1·(10−5)/(15−5) = 0.05. The first packet after a drop has count 1,
    // so the gap n has probability 0.05/0.95 for n = 1..19: uniform, mean 10, share 0.1.
    let share = drop_share(config(), 10, 200_000);
    assert!((share - 0.1).abs() < 0.002, "{share}");
}

#[test]
fn gentle_rises_slowly_to_one() {
    // Average 22: p_b = 0.1 + 0.9·7/15 = 0.52; the first packet after a drop meets
    // 0.52/(1 − 0.52) > 1: every packet is dropped.
    let gentle = RedConfig { gentle: true, ..config() };
    assert!(drop_share(gentle.clone(), 22, 1000) > 0.99);
    // Average 16: p_b = 0.1 + 0.9/15 = 0.16. Gap 1..5 each 0.16/0.84 = 0.1905, gap 6 the
    // rest, 0.0476: mean 0.1905·15 + 0.0476·6 = 3.143, share 0.318.
    let share = drop_share(gentle, 16, 200_000);
    assert!((0.313..0.323).contains(&share), "{share}");
}

#[test]
fn the_average_decays_while_idle() {
    // w = 0.5, average 8 after one sample of 16; idle for three typical packets: 8/8 = 1;
    // then the arrival's own sample of 0: 0.5.
    let mut red = Red::new(RedConfig { weight: 0.5, ..config() }, Stream::new(1, "red"));
    red.update_average(16.0, None, Time::ZERO);
    assert_eq!(red.average, 8.0);
    red.update_average(0.0, Some(Time::from_nanos(0)), Time::from_nanos(3_000_000));
    assert_eq!(red.average, 0.5);
}

#[test]
fn ecn_marks_early_but_still_drops_when_full() {
    let ecn = RedConfig { ecn: true, max_probability: 1.0, ..config() };
    let mut red = Red::new(ecn, Stream::new(1, "red"));
    let now = Time::ZERO;
    let mut seen = Vec::new();
    for _ in 0..20 {
        seen.push(red.admit(true, true, &found(14), now));
    }
    assert!(seen.contains(&Admission::Mark) && !seen.contains(&Admission::Drop));
    assert_eq!(red.admit(true, false, &found(14), now), Admission::Drop);
    assert_eq!(red.admit(true, true, &found(15), now), Admission::Drop);
}

#[test]
fn beyond_the_thresholds_linux_marks_and_ns2_drops() {
    for (ecn_beyond_max, expected) in [(false, Admission::Drop), (true, Admission::Mark)] {
        let ecn = RedConfig { ecn: true, ecn_beyond_max, ..config() };
        let mut red = Red::new(ecn, Stream::new(1, "red"));
        assert_eq!(red.admit(true, true, &found(15), Time::ZERO), expected);
        assert_eq!(red.admit(false, true, &found(15), Time::ZERO), Admission::Drop);
        assert_eq!(red.admit(true, false, &found(15), Time::ZERO), Admission::Drop);
    }
}

#[test]
fn in_bytes_the_queue_counts_in_mean_packets() {
    // 4500 bytes are 9 packets of 500 bytes, whatever their number.
    let bytes = RedConfig { measure: RedMeasure::Bytes, mean_packet: Bytes::new(500), ..config() };
    let mut red = Red::new(bytes, Stream::new(1, "red"));
    let backlog = Backlog { packets: 3, bytes: 4500, ..Backlog::default() };
    red.admit(false, true, &backlog, Time::ZERO);
    assert_eq!(red.average, 9.0);
}

/// Shares of dropped packets among those of 500 and of 1000 bytes, which alternate.
fn shares_by_size(config: RedConfig) -> (f64, f64) {
    let mut red = Red::new(config, Stream::new(1, "red"));
    let n = 200_000;
    let mut drops = [0, 0];
    for i in 0..2 * n {
        let arriving_bytes = if i % 2 == 0 { 500 } else { 1000 };
        let backlog = Backlog { packets: 10, arriving_bytes, ..Backlog::default() };
        let admission = red.admit(false, true, &backlog, Time::ZERO);
        drops[i % 2] += u32::from(admission == Admission::Drop);
    }
    (f64::from(drops[0]) / n as f64, f64::from(drops[1]) / n as f64)
}

#[test]
fn by_size_a_packet_of_half_the_size_is_dropped_half_as_often() {
    // Average 10: p_b = 0.05 for a mean packet of 1000 bytes. A gap of n mean packets has
    // probability 0.05/0.95 for n up to 19: one drop in 10 mean packets of 1000 bytes. Per
    // 1500 bytes that pass there are 0.15 drops, 0.1 of the large and 0.05 of the small.
    let (small, large) = shares_by_size(RedConfig { by_size: true, ..config() });
    assert!((large - 0.1).abs() < 0.005, "{large}");
    assert!((small - 0.05).abs() < 0.005, "{small}");
    let (small, large) = shares_by_size(config());
    assert!((small - large).abs() < 0.005, "{small} {large}");
}

#[test]
fn linux_draws_one_number_for_each_gap() {
    // Average 10: p_b = 0.05. Gap 1..20, each 0.05: mean 10.5, share 0.0952; and never more
    // than 20 packets from one drop to the next.
    let linux = RedConfig { variant: RedVariant::Linux, ..config() };
    let mut red = Red::new(linux, Stream::new(1, "red"));
    let n = 200_000;
    let (mut drops, mut gap) = (0, 0);
    for _ in 0..n {
        gap += 1;
        if red.admit(false, true, &found(10), Time::ZERO) == Admission::Drop {
            assert!(gap <= 21, "the first of all passes, then 20");
            (drops, gap) = (drops + 1, 0);
        }
    }
    let share = f64::from(drops) / f64::from(n);
    assert!((share - 1.0 / 10.5).abs() < 0.002, "{share}");
}

#[test]
fn in_linux_an_arrival_on_an_idle_link_is_no_sample() {
    // After a long enough time the average is divided by 2³¹, and by nothing else.
    let linux = RedConfig { weight: 0.5, variant: RedVariant::Linux, ..config() };
    let mut red = Red::new(linux, Stream::new(1, "red"));
    red.update_average(16.0, None, Time::ZERO);
    red.update_average(0.0, Some(Time::ZERO), Time::from_nanos(1_000_000_000_000));
    assert_eq!(red.average, 8.0 / f64::from(1u32 << 31));
}
