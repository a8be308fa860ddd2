use super::*;
use crate::probe::{Probe, Start};
use crate::test_path::{TestPath, mean};
use crate::testing::{MSS, ack, flow};

/// 95.64 Mbit/s of segments, 40.12 ms, a queue of 333: the path of a recorded kernel.
fn recorded_path() -> TestPath {
    TestPath::new("bbr", 95.64, 40.12, 333)
}

#[test]
fn startup_ends_three_flat_rounds_after_the_pipe_is_full() {
    let mut path = recorded_path();
    let mut drain = None;
    path.run(2_000, |path| {
        if drain.is_none() && path.pacing_share() < 0.5 && path.cwnd() > 500 {
            drain = Some((path.now.as_millis(), path.lost / u64::from(MSS), path.cc.ssthresh()));
        }
    });
    let (at, lost, ssthresh) = drain.expect("Drain");
    // The kernel left Startup between 0.6 and 0.7 s, with 726 segments lost.
    assert!((580..=680).contains(&at), "{at}");
    assert!((690..=760).contains(&lost), "{lost}");
    // 8256.2 segments/s · 0.04012 s = 331.2, up to 332; at 2.887·0.99·11.955 MB/s =
    // 34.17 MB/s, /1024/1448 = 23 segments at once: 332 + 69, up to even: 402, as in the kernel.
    assert_eq!(ssthresh, 402 * u64::from(MSS));
}

#[test]
fn settles_where_the_kernel_does() {
    // Means of the kernel from 10 s on: window 670.6, srtt 43.1 ms, 93.27 Mbit/s. Its samples are
    // evenly spaced in time, these are one per acknowledgement, so that ProbeRTT has almost no
    // weight: 2.5 % more.
    let cwnd = mean(&mut recorded_path(), 10_000, 60_000, |path| path.cwnd() as f64);
    assert!((cwnd - 687.0).abs() < 5.0, "{cwnd}");
    let srtt = mean(&mut recorded_path(), 10_000, 60_000, |path| path.srtt.as_secs_f64());
    assert!((srtt - 0.0431).abs() < 0.0005, "{srtt}");
    let mut path = recorded_path();
    path.run(10_000, |_| {});
    let before = path.delivered;
    path.run(60_000, |_| {});
    let megabits = (path.delivered - before) as f64 * 8.0 / 50.0 / 1e6;
    // Minus the cost of ProbeRTT, up to 250 ms in ten seconds, which the kernel paid in full.
    assert!((93.2..=95.64).contains(&megabits), "{megabits}");
    assert!((path.lost / u64::from(MSS)) < 760);
}

#[test]
fn eight_phases_of_a_round_trip_each() {
    let mut path = TestPath::new("bbr", 50.0, 40.0, 1_000);
    path.run(2_000, |_| {});
    // Gains, without the pacing margin, as they change.
    let mut phases: Vec<(f64, f64)> = Vec::new();
    path.run(9_000, |path| {
        let gain = path.pacing_share() / 0.99;
        let nearest = [1.25, 0.75, 1.0]
            .into_iter()
            .find(|phase| (gain - phase).abs() < 0.06)
            .expect("a gain of the cycle");
        if phases.last().is_none_or(|(last, _)| *last != nearest) {
            phases.push((nearest, path.now.as_secs_f64()));
        }
    });
    let phases: Vec<_> = phases.into_iter().skip_while(|(gain, _)| *gain != 1.25).collect();
    assert!(phases.len() > 30);
    for cycle in phases.chunks_exact(3) {
        let gains: Vec<_> = cycle.iter().map(|(gain, _)| *gain).collect();
        assert_eq!(gains, [1.25, 0.75, 1.0]);
        // The first phase lasts an RTT and until 1.25 BDPs are in flight, the second an RTT or
        // until the queue is empty.
        let up = cycle[1].1 - cycle[0].1;
        let down = cycle[2].1 - cycle[1].1;
        assert!((0.040..0.085).contains(&up), "{up}");
        assert!((0.015..0.045).contains(&down), "{down}");
    }
    for pair in phases.windows(2) {
        if pair[0].0 == 1.0 {
            // Six phases, each a little more than 40 ms.
            let cruise = pair[1].1 - pair[0].1;
            assert!((0.24..0.26).contains(&cruise), "{cruise}");
        }
    }
}

#[test]
fn min_rtt_is_measured_every_ten_seconds() {
    let mut path = TestPath::new("bbr", 50.0, 40.0, 1_000);
    // From when at most 4 segments are in flight until the window is restored.
    let mut spans: Vec<(f64, f64)> = Vec::new();
    let mut since = None;
    path.run(45_000, |path| {
        let now = path.now.as_secs_f64();
        if path.cwnd() == 4 && path.in_flight <= 4 * u64::from(MSS) {
            since.get_or_insert(now);
        } else if let Some(start) = since.take() {
            assert!(path.cwnd() > 300, "{}", path.cwnd());
            spans.push((start, now));
        }
    });
    assert!((3..=4).contains(&spans.len()), "{spans:?}");
    for (start, end) in &spans {
        assert!((0.199..0.3).contains(&(end - start)), "{start} {end}");
    }
    for pair in spans.windows(2) {
        let apart = pair[1].0 - pair[0].0;
        assert!((10.0..11.0).contains(&apart), "{apart}");
    }
    // ProbeRTT did not lower the estimate: 50 Mbit/s · 40 ms = 172.7 segments, twice that and a
    // little.
    assert!((345..=380).contains(&path.cwnd()), "{}", path.cwnd());
}

#[test]
fn an_equal_rtt_does_not_renew_min_rtt() {
    let mut model = Model::new(MSS, 10, 10_000);
    model.begin(&flow(0, 10, 40));
    for at_ms in [5_000, 10_000] {
        assert!(!model.take_rtt(&ack(1, 40), &flow(at_ms, 10, 40)), "{at_ms}");
    }
    assert!(model.take_rtt(&ack(1, 40), &flow(10_001, 10, 40)));
    // That one is new.
    assert!(!model.take_rtt(&ack(1, 40), &flow(20_001, 10, 40)));
    assert!(model.take_rtt(&ack(1, 40), &flow(20_002, 10, 40)));
}

#[test]
fn begins_in_any_phase_except_the_draining_one() {
    // Gains with which ProbeBW begins, of forty connections.
    let mut first = [0; 3];
    for seed in 0..40 {
        let mut path = TestPath::seeded("bbr", seed, 50.0, 40.0, 1_000);
        let mut was_draining = false;
        let mut gain = None;
        path.run(2_000, |path| {
            let share = path.pacing_share();
            if was_draining && share > 0.6 && gain.is_none() {
                gain = Some(share / 0.99);
            }
            was_draining |= share < 0.4 && path.cwnd() > 100;
        });
        let gain = gain.expect("ProbeBW");
        first[[1.25, 0.75, 1.0].iter().position(|g| (gain - g).abs() < 0.06).expect("a gain")] += 1;
    }
    // A seventh of them with 1.25: 5.7 ± 2·√(40·6/49).
    assert_eq!(first[1], 0);
    assert!((1..=10).contains(&first[0]), "{first:?}");
}

#[test]
fn the_first_round_of_recovery_conserves_packets() {
    let start = Start::slow_start(10, 40);
    let mut probe = Probe::new("bbr", Variant::Linux6_1, &start);
    probe.delivery_rate = Some(12.5e6);
    probe.rounds(12);
    let before = probe.cwnd();
    probe.congestion(Signal::Loss);
    // The probe's whole window is in flight: it may not grow, and is restored afterwards.
    assert!(probe.cwnd() <= before);
    probe.ack(1);
    assert!(probe.cwnd() <= before + 2);
    probe.recover();
    assert!(probe.cwnd() >= before);
}

#[test]
fn a_recovery_that_begins_on_the_acknowledgement_that_ends_another_continues_it() {
    for follows in [false, true] {
        let start = Start::slow_start(10, 40);
        let mut probe = Probe::new("bbr", Variant::Linux6_1, &start);
        probe.delivery_rate = Some(12.5e6);
        probe.rounds(12);
        // 20 in flight and the one that the last acknowledgement delivered.
        let few = Flow { in_flight: 20 * u64::from(MSS), ..probe.flow() };
        probe.cc.on_congestion(Signal::Loss, &few);
        assert_eq!(probe.cwnd(), 21);
        // The last acknowledgement of the episode finds 5 in flight, and perhaps further losses: these
        // conserve 21 as before, and do not begin with 5 and the one delivered.
        let fewer = Flow { in_flight: 5 * u64::from(MSS), phase: Phase::Recovery, ..probe.flow() };
        probe.cc.on_last_ack(&ack(1, 40), 0, Phase::Open, &fewer);
        if follows {
            probe.cc.on_congestion(Signal::Loss, &fewer);
            assert_eq!(probe.cwnd(), 21);
        } else {
            // Back to twice 12.5 MB/s · 40 ms / 1448 = 345.3, and some bursts more.
            assert!((691..760).contains(&probe.cwnd()), "{}", probe.cwnd());
        }
    }
}

#[test]
fn a_timeout_begins_with_one_segment_and_climbs_to_the_target() {
    let mut probe = Probe::new("bbr", Variant::Linux6_1, &Start::slow_start(10, 40));
    probe.delivery_rate = Some(12.5e6);
    probe.rounds(12);
    let before = probe.cwnd();
    probe.rto();
    assert_eq!(probe.cwnd(), 1);
    // 1 + 1 is below the minimum window of 4; from there one segment per segment delivered.
    for expected in [4, 5, 6, 7] {
        probe.ack(1);
        assert_eq!(probe.cwnd(), expected);
    }
    probe.recover();
    assert_eq!(probe.cwnd(), before);
}

#[test]
fn data_in_flight_is_evaluated_at_the_next_departure() {
    // 12.5 MB/s and 40 ms: 345.3 segments, up to 346. Drain paces at 88/256·12 374 919 = 4 253 878 B/s, so
    // that 4154/1448 = 2 leave at once: 346 + 6 = 352. At 8.63 segments a millisecond, 360 in flight
    // will be 352 after 1 ms, and 353 after 0.9.
    for (delay_us, leaves) in [(0, false), (900, false), (1_000, true)] {
        let mut probe = Probe::new("bbr", Variant::Linux6_1, &Start::slow_start(10, 40));
        probe.delivery_rate = Some(12.5e6);
        probe.rounds(12);
        let share = |probe: &Probe| {
            probe.cc.pacing_rate().map_or(0.0, |rate| rate.as_bps() as f64 / 8.0 / 12.5e6)
        };
        assert!(share(&probe) < 0.35, "Drain: {}", share(&probe));
        let in_flight = 360 * u64::from(MSS);
        let pacing_delay = Duration::from_micros(delay_us);
        let flow = Flow { pipe: in_flight, in_flight, pacing_delay, ..probe.flow() };
        probe.cc.on_ack(&ack(1, 40), &flow);
        assert_eq!(share(&probe) > 0.7, leaves, "{delay_us}");
    }
}

#[test]
fn after_an_idle_period_it_paces_at_the_bandwidth() {
    let mut path = TestPath::new("bbr", 50.0, 40.0, 1_000);
    path.run(3_000, |_| {});
    while (path.pacing_share() - 1.25 * 0.99).abs() > 0.01 {
        let next = path.now.as_millis() + 1;
        path.run(next, |_| {});
    }
    let flow = Flow { in_flight: 0, ..crate::testing::flow(path.now.as_millis() + 500, 0, 40) };
    let second = Duration::from_secs(1);
    let cwnd = path.cwnd();
    path.cc.on_transmit_start(second, true, &flow);
    assert!((path.pacing_share() - 0.99).abs() < 0.01, "{}", path.pacing_share());
    assert_eq!(path.cwnd(), cwnd);
}

#[test]
fn a_twentieth_of_random_loss_hardly_matters() {
    let megabits = |seed| {
        let mut path = TestPath::seeded("bbr", seed, 20.0, 40.0, 200);
        path.loss = 0.05;
        path.run(20_000, |_| {});
        path.delivered as f64 * 8.0 / 20.0 / 1e6
    };
    // 5 % of the data is lost, and the phase of gain 1.25 compensates for it.
    let mean = (0..8).map(megabits).sum::<f64>() / 8.0;
    assert!(mean > 17.0, "{mean}");
}
