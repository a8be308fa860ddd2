//! The equations against numbers from elsewhere.

use super::*;

const RED: RedQueue = RedQueue {
    min_packets: 50.0,
    max_packets: 350.0,
    max_probability: 0.02,
    weight: 1.33e-4,
    gentle: false,
    marks: false,
    limit_packets: None,
};

const CLASS: Class = Class {
    flows: 60.0,
    rtt_s: 0.2,
    rule: Rule::Reno,
    start_s: 0.0,
    first_window: 1.0,
    window_limit: None,
    packets_per_ack: 1.0,
};

/// 60 Renos on 3750 packets a second and 200 ms, after C. Hollot, V. Misra, D. Towsley, W.-B. Gong, "A Control
/// Theoretic Analysis of RED", INFOCOM 2001, section V.
fn published() -> Fluid {
    Fluid {
        capacity_pps: 3750.0,
        queue: Queue::Red(RED),
        classes: vec![CLASS],
        equations: Equations::Published,
    }
}

fn near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} is not {expected}");
}

/// The same by Euler's method in steps of `dt`, the delay a whole number of steps, no losses before zero:
/// window, queue and average at 1, 5 and 10 s.
fn euler(dt: f64) -> Vec<[f64; 3]> {
    let mut past: Vec<[f64; 3]> = vec![[1.0, 0.0, 0.0]];
    let rtt = |state: &[f64; 3]| 0.2 + state[1] / 3750.0;
    let loss = |state: &[f64; 3]| {
        let x = state[2];
        if x < 50.0 { 0.0 } else { 0.02 * (x - 50.0) / 300.0 }
    };
    let steps = (10.0 / dt).round() as usize;
    for step in 0..steps {
        let now = past[step];
        let [w, q, x] = now;
        let back = (rtt(&now) / dt).floor() as usize;
        let taken = step.checked_sub(back).map_or(0.0, |then| {
            let then = past[then];
            w * then[0] * loss(&then) / (2.0 * rtt(&then))
        });
        let dw = 1.0 / rtt(&now) - taken;
        let dq = 60.0 * w / rtt(&now) - 3750.0;
        let dx = 3750.0 * libm::log(1.0 - 1.33e-4) * (x - q);
        past.push([w + dt * dw, (q + dt * dq).max(0.0), x + dt * dx]);
    }
    [1.0, 5.0, 10.0].iter().map(|t| past[(t / dt).round() as usize]).collect()
}

fn states_at(curves: &Curves, times: &[f64]) -> Vec<[f64; 3]> {
    let at = |t: &f64| {
        let index = curves.time_s.iter().position(|time| (time - t).abs() < 1e-9).unwrap();
        [curves.windows[0][index], curves.queue_packets[index], curves.average_packets[index]]
    };
    times.iter().map(at).collect()
}

#[test]
fn euler_agrees_with_itself() {
    // Computed with another program at 1 ms; half the step moves the values at 5 s by less than 0.02 %.
    let (coarse, fine) = (euler(1e-3), euler(5e-4));
    near(coarse[0][0], 6.000, 1e-4);
    for (found, expected) in coarse[1].iter().zip([18.917, 410.05, 229.46]) {
        near(*found, expected, 1e-4);
    }
    for (found, expected) in coarse[2].iter().zip([16.029, 199.95, 154.32]) {
        near(*found, expected, 1e-4);
    }
    for (found, expected) in fine[1].iter().zip(coarse[1]) {
        near(*found, expected, 2e-4);
    }
}

#[test]
fn the_solver_agrees_with_euler() {
    let found = published().run(10.0, 1001).unwrap().value;
    let found = states_at(&found, &[1.0, 5.0, 10.0]);
    // What Euler's method would give with steps of nothing: its error is in proportion to the step.
    let (coarse, fine) = (euler(5e-4), euler(2.5e-4));
    for (state, (coarse, fine)) in found.iter().zip(coarse.iter().zip(&fine)) {
        for i in 0..3 {
            let limit = 2.0 * fine[i] - coarse[i];
            assert!((state[i] - limit).abs() < 5e-4 * limit.max(1.0), "{state:?} {fine:?}");
        }
    }
    near(found[1][1], 410.05, 1e-3);
    near(found[2][1], 199.95, 1e-3);
}

#[test]
fn the_published_fixed_point() {
    let found = published().fixed_point().unwrap();
    assert_eq!(found.outside, None);
    let point = found.value.unwrap();
    // W = R·C/N, W²p = 2, p = 0.02(q - 50)/300 and R = 0.2 + q/3750 together.
    near(point.queue_packets, 175.962, 1e-5);
    near(point.rtts_s[0], 0.246_923, 1e-5);
    near(point.windows[0], 15.4327, 1e-5);
    near(point.signalled, 0.008_397_4, 1e-5);
    near(point.goodputs_pps[0], 3750.0, 1e-9);
}

#[test]
fn the_run_settles_where_the_balance_is() {
    // With a weaker feedback the loop is stable.
    let queue = Queue::Red(RedQueue { weight: 1e-5, max_probability: 0.05, ..RED });
    for equations in [Equations::Published, Equations::Refined] {
        let classes = vec![Class { flows: 120.0, ..CLASS }];
        let fluid = Fluid { classes, equations, queue, ..published() };
        let end = fluid.run(900.0, 1001).unwrap().value.means_since(700.0);
        let point = fluid.fixed_point().unwrap().value.unwrap();
        near(end.queue_packets, point.queue_packets, 0.01);
        near(end.windows[0], point.windows[0], 0.005);
        near(end.signalled, point.signalled, 0.02);
        near(end.goodputs_pps[0], 3750.0, 1e-3);
    }
}

#[test]
fn every_rule_has_a_balance_and_a_run() {
    for name in Rule::names() {
        let rule = Rule::named(name).unwrap();
        let fluid = Fluid {
            classes: vec![Class { rule, ..CLASS }, Class { rtt_s: 0.05, rule, ..CLASS }],
            equations: Equations::Refined,
            ..published()
        };
        let point = fluid.fixed_point().unwrap().value.unwrap();
        near(point.goodputs_pps.iter().sum(), 3750.0, 1e-3);
        let curves = fluid.run(20.0, 101).unwrap().value;
        assert!(curves.queue_packets.iter().all(|q| q.is_finite() && *q >= 0.0), "{name}");
        assert!(curves.windows.iter().flatten().all(|w| w.is_finite() && *w > 0.0), "{name}");
        // The shorter path has no smaller share, but for Hybla's, which means them to be equal.
        let shares = &point.goodputs_pps;
        assert!(rule == Rule::Hybla || shares[1] >= shares[0] * 0.99, "{name}: {point:?}");
    }
}

#[test]
fn delay_keeps_a_queue_of_its_own() {
    // Vegas keeps from 2 to 4 packets of each of 10 flows in the queue: those that come from below stop at
    // the lower bound, give or take the half of its ramp.
    let class = Class { flows: 10.0, rtt_s: 0.1, rule: Rule::Vegas, ..CLASS };
    let fluid = Fluid {
        capacity_pps: 1000.0,
        queue: Queue::Unlimited,
        classes: vec![class],
        equations: Equations::Refined,
    };
    let curves = fluid.run(60.0, 601).unwrap().value;
    let end = curves.means_since(50.0);
    assert!((20.0..=40.0).contains(&end.queue_packets), "{end:?}");
    // FAST: 100 packets each: q = 1000, R = 1.1 s, W = 110.
    let fast = Fluid { classes: vec![Class { rule: Rule::Fast, ..class }], ..fluid.clone() };
    let point = fast.fixed_point().unwrap().value.unwrap();
    near(point.queue_packets, 1000.0, 1e-6);
    near(point.windows[0], 110.0, 1e-6);
    // LEDBAT: 100 ms, 100 packets.
    let ledbat = Fluid { classes: vec![Class { rule: Rule::Ledbat, ..class }], ..fluid };
    near(ledbat.fixed_point().unwrap().value.unwrap().queue_packets, 100.0, 1e-6);
}

#[test]
fn a_full_queue_drops_the_rest() {
    let fluid = Fluid {
        queue: Queue::DropTail { limit_packets: 300.0 },
        classes: vec![Class { flows: 100.0, ..CLASS }],
        ..published()
    };
    let point = fluid.fixed_point().unwrap().value.unwrap();
    // R = 0.2 + 300/3750 = 0.28 s, N·W/R = C in the published equations counts what arrives, so the loss that
    // makes W²p = 2 is found where N·W/R = 3750: W = 10.5, p = 0.018141.
    near(point.queue_packets, 300.0, 1e-9);
    near(point.windows[0], 10.5, 1e-6);
    near(point.signalled, 2.0 / 110.25, 1e-6);
    let curves = fluid.run(60.0, 601).unwrap().value;
    let top = curves.queue_packets.iter().copied().fold(0.0, f64::max);
    near(top, 300.0, 1e-9);
}

#[test]
fn a_limit_of_the_window_is_kept() {
    // 60 windows of 10 packets are 600, of which 750 would be on the path: no queue, 3000 packets a second.
    let class = Class { window_limit: Some(10.0), ..CLASS };
    let fluid = Fluid { queue: Queue::Unlimited, classes: vec![class], ..published() };
    let point = fluid.fixed_point().unwrap().value.unwrap();
    near(point.goodputs_pps[0], 3000.0, 1e-9);
    let end = fluid.run(30.0, 301).unwrap().value.means_since(20.0);
    near(end.windows[0], 10.0, 1e-6);
    near(end.goodputs_pps[0], 3000.0, 1e-6);
    // Without it, nothing stops them.
    let open = Fluid { queue: Queue::Unlimited, ..published() };
    assert_eq!(open.fixed_point().unwrap().value, None);
}

#[test]
fn delayed_acknowledgements_hold_half_a_packet_back() {
    // The rate that 60 windows need, 3750 packets a second, takes half a packet more of each: the loss is
    // that of a window half a packet larger, the queue a little shorter.
    let point = |packets_per_ack| {
        let class = Class { packets_per_ack, window_limit: Some(20.0), ..CLASS };
        let equations = Equations::Refined;
        let queue = Queue::Unlimited;
        let fluid = Fluid { classes: vec![class], equations, queue, ..published() };
        fluid.fixed_point().unwrap().value.unwrap()
    };
    // R = 60·20/3750 = 0.32 s: 450 packets; with half a packet less of each 0.312 s: 420.
    near(point(1.0).queue_packets, 450.0, 1e-9);
    near(point(2.0).queue_packets, 420.0, 1e-9);
}

#[test]
fn those_that_begin_later() {
    let late = Class { start_s: 30.0, ..CLASS };
    let fluid = Fluid { classes: vec![CLASS, late], ..published() };
    let curves = fluid.run(60.0, 601).unwrap().value;
    assert!(curves.windows[1][..300].iter().all(|w| *w == 0.0));
    assert!(curves.goodputs_pps[1][..300].iter().all(|rate| *rate == 0.0));
    near(curves.windows[1][600], curves.windows[0][600], 0.2);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused =
        |fluid: Fluid| assert!(fluid.run(1.0, 10).is_err() && fluid.fixed_point().is_err());
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(Fluid { capacity_pps: bad, ..published() });
        refused(Fluid { classes: vec![Class { flows: bad, ..CLASS }], ..published() });
        refused(Fluid { classes: vec![Class { rtt_s: bad, ..CLASS }], ..published() });
        refused(Fluid { classes: vec![Class { first_window: bad, ..CLASS }], ..published() });
        refused(Fluid { queue: Queue::DropTail { limit_packets: bad }, ..published() });
        assert!(published().run(bad, 10).is_err());
    }
    refused(Fluid { classes: Vec::new(), ..published() });
    refused(Fluid { classes: vec![Class { rule: Rule::Cubic, ..CLASS }], ..published() });
    assert!(published().run(1.0, 1).is_err());
    assert!(published().run(1e9, 10).is_err());
}
