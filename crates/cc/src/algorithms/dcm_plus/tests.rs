use fairway_units::Duration;

use super::*;
use crate::Signal;
use crate::probe::MSS;

fn probe(start: Start) -> Probe {
    Probe::new("dcm+", Variant::Paper, &start)
}

fn smallest_timeout_ms(probe: &Probe) -> Option<u64> {
    probe.cc.min_rto().map(Duration::as_millis)
}

/// The switches that a list of parameters gives.
fn switches(mut reading: Switches, given: &[(&str, f64)]) -> Switches {
    for (name, value) in given {
        reading.decide(name, *value);
    }
    reading
}

#[test]
fn minus_one_is_the_value_of_the_reading() {
    let windows = |start: Start| {
        let mut probe = probe(start);
        let mut windows = Vec::new();
        for rtt_ms in [100, 130, 110, 160, 100] {
            probe.rtt = Duration::from_millis(rtt_ms);
            probe.rounds(2);
            windows.push((probe.cwnd(), smallest_timeout_ms(&probe)));
            probe.loss();
            probe.round();
            windows.push((probe.cwnd(), smallest_timeout_ms(&probe)));
        }
        windows
    };
    for (reading, step) in [(0.0, 2.0), (1.0, 1.0)] {
        let start = Start::slow_start(10, 100).with("reading", reading);
        let of_reading = [
            "unit",
            "threshold",
            "equality",
            "rto_kind",
            "rto_when",
            "rtt_series",
            "filter",
            "slow_start",
        ];
        let named = of_reading.iter().fold(start.clone(), |start, name| start.with(name, reading));
        let named = ["ratio", "sign", "rto_rule", "estimator", "hold"]
            .iter()
            .fold(named, |start, name| start.with(name, 0.0))
            .with("rto_step", step);
        assert_eq!(windows(start), windows(named), "reading {reading}");
    }
}

#[test]
fn every_switch_changes_something() {
    for reading in [Switches::EQUATIONS, Switches::CODE] {
        for param in PARAMS.iter().filter(|param| param.name != "reading") {
            let changed = [0.0, 1.0, 2.0]
                .iter()
                .filter(|value| **value <= param.max)
                .any(|value| switches(reading, &[(param.name, *value)]) != reading);
            assert!(changed, "{}", param.name);
        }
    }
}

#[test]
fn the_header_names_every_switch_and_its_default_in_each_reading() {
    let header = ALGORITHM.header();
    for param in PARAMS {
        assert!(header.contains(&format!("`{}`", param.name)), "{}", param.name);
    }
    for (name, in_equations, in_code) in [
        ("unit", 0, 1),
        ("threshold", 0, 1),
        ("equality", 0, 1),
        ("rto_kind", 0, 1),
        ("rto_when", 0, 1),
        ("ratio", 0, 0),
        ("rtt_series", 0, 1),
        ("sign", 0, 0),
        ("rto_rule", 0, 0),
        ("rto_start_ms", 1000, 1000),
        ("estimator", 0, 0),
        ("filter", 0, 1),
        ("slow_start", 0, 1),
        ("hold", 0, 0),
        ("rto_step", 2, 1),
    ] {
        let (equations, code) = (f64::from(in_equations), f64::from(in_code));
        assert!(header.contains(&format!("`{name}` ({in_equations}, {in_code})")), "{name}");
        assert_eq!(switches(Switches::EQUATIONS, &[(name, equations)]), Switches::EQUATIONS);
        assert_eq!(switches(Switches::CODE, &[(name, code)]), Switches::CODE);
    }
}

#[test]
fn an_acknowledgement_counts_once_however_much_it_acknowledges() {
    // 10 + 2 · 1 for the two segments of one acknowledgement.
    let mut probe = probe(Start::slow_start(10, 100));
    probe.ack(2);
    assert_eq!(probe.cwnd(), 12);
}

#[test]
fn bytes_hardly_move_the_window() {
    // Reading 1, rateCA = 1, constant so that BWE·RTTmin is the window; the estimate approaches it
    // from below by 0.9 per round, so the window does not grow.
    let mut still = probe(Start::avoidance(100, 100).with("reading", 1.0));
    still.rounds(10);
    assert_eq!(still.cwnd(), 100);
    // With ssthresh, which is above the window, in place of the estimate: 2 bytes per
    // acknowledgement; 1000 acknowledgements are 2000 bytes, 1.38 segments.
    let start = Start::avoidance(100, 100).with("reading", 1.0).with("threshold", 0.0);
    let mut probe = probe(Start { ssthresh: Some(100), ..start });
    probe.acks(724, 1);
    // cwnd = ssthresh counts as below by the code's "<="; the first byte ends that.
    assert_eq!(probe.cc.cwnd(), 100 * u64::from(MSS));
}

#[test]
fn bytes_below_the_estimate_add_up_to_a_segment() {
    // 1448/2 = 724 acknowledgements of 2 bytes are a segment, minus a rounding error.
    let mut rule = with_rate(Switches::CODE, 1.0);
    let mut window = Window::new(100);
    for _ in 0..725 {
        window.add(rule.increment(window.exact() * 1448.0, true) / 1448.0);
    }
    assert_eq!(window.cwnd, 101);
    // A window equal to the BDP counts as below it: 100 segments of 1448 in 0.1 s.
    let window = Window::new(100);
    rule.bandwidth = Box::new(Steady(1_448_000.0));
    assert!(rule.is_below(&window, 1_448.0));
    rule.switches.equal_is_below = false;
    assert!(!rule.is_below(&window, 1_448.0));
    rule.bandwidth = Box::new(Steady(1_448_020.0));
    assert!(rule.is_below(&window, 1_448.0));
}

struct Steady(f64);

impl crate::bandwidth::Bandwidth for Steady {
    fn on_ack(&mut self, _ack: &crate::Ack, _flow: &crate::Flow) {}

    fn bytes_per_s(&self) -> f64 {
        self.0
    }
}

#[test]
fn ratios_and_signs() {
    // RTTs 0.1 (minimum), 0.2 (old), 0.16 (new): 0.2/0.1 = 2; 0.2/0.16 = 1.25; new/old = 0.8.
    let rule = |given: &[(&str, f64)]| {
        let mut rule = Dcm::new(switches(Switches::EQUATIONS, given));
        for rtt_s in [0.1, 0.2, 0.16] {
            rule.rtts.sample(rtt_s);
        }
        rule
    };
    let increments = |given: &[(&str, f64)]| {
        let rule = rule(given);
        (rule.increment(10.0, true), rule.increment(10.0, false))
    };
    let near = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() + (b - d).abs() < 1e-12;
    assert!(near(increments(&[]), (4.0, 0.1)));
    assert!(near(increments(&[("ratio", 1.0)]), (2.5, 0.16)));
    assert!(near(increments(&[("sign", 1.0)]), (1.0, 0.1)));
    assert!(near(increments(&[("ratio", 1.0), ("sign", 1.0)]), (2.5, 0.25)));
    assert!((rule(&[]).rtts.rise() - 0.8).abs() < 1e-12);
}

#[test]
fn an_rtt_of_zero_is_harmless() {
    let mut rule = Dcm::new(Switches::EQUATIONS);
    rule.rtts.sample(0.0);
    rule.rtts.sample(0.0);
    assert_eq!(rule.rtts.over_min(), 1.0);
    rule.rtts.sample(0.5);
    rule.rtts.sample(0.5);
    assert_eq!(rule.rtts.over_min(), 1e6);
}

#[test]
fn slow_start_of_either_reading_and_its_last_call() {
    let start = Start { ssthresh: Some(12), ..Start::slow_start(10, 100) };
    // Reading 0 exceeds the threshold: 10, 12, and then by 2/12.
    let mut own = probe(start.clone());
    own.ack(1);
    own.ack(1);
    assert_eq!(own.cwnd(), 12);
    // Reading 1: a segment each; the acknowledgement that reaches ssthresh makes a call with no
    // segment left, which divides: 1 s → 1 ns.
    let mut code = probe(start.with("reading", 1.0));
    code.ack(1);
    assert_eq!((code.cwnd(), code.cc.min_rto()), (11, Some(Duration::from_secs(1))));
    code.ack(1);
    assert_eq!((code.cwnd(), code.cc.min_rto()), (12, Some(Duration::from_nanos(1))));
}

#[test]
fn held_at_the_threshold() {
    let start = Start { ssthresh: Some(13), ..Start::slow_start(10, 100) };
    let mut free = probe(start.clone());
    let mut held = probe(start.with("hold", 1.0));
    free.rounds(5);
    held.rounds(5);
    assert!(free.cwnd() > 20);
    assert_eq!(held.cwnd(), 13);
}

#[test]
fn a_timeout_restores_the_timeout_but_not_the_minimum() {
    for (kind, after) in [(0.0, 1_000), (1.0, 250)] {
        let mut probe = probe(Start::avoidance(20, 100).with("rto_kind", kind));
        probe.ack(1);
        probe.rtt = Duration::from_millis(200);
        // The old RTT is 100, then 200 twice: 1 s, 0.5 s, 0.25 s.
        for expected in [1_000, 500, 250] {
            probe.ack(1);
            assert_eq!(smallest_timeout_ms(&probe), Some(expected));
        }
        probe.rto();
        assert_eq!(smallest_timeout_ms(&probe), Some(after));
    }
}

#[test]
fn steps_without_effect_leave_the_stacks_bound() {
    let mut probe = probe(Start::avoidance(20, 100).with("rto_step", 0.0));
    probe.rounds(2);
    assert_eq!(probe.cc.min_rto(), None);
}

#[test]
fn there_are_no_steps_at_calls_while_the_window_may_not_grow() {
    let mut probe = probe(Start::avoidance(20, 100).with("rto_when", 1.0));
    probe.rtt = Duration::from_millis(50);
    probe.ack(1);
    probe.rtt = Duration::from_millis(100);
    probe.ack(1);
    probe.may_grow = false;
    probe.rounds(2);
    // Only the second acknowledgement's call, with the old RTT of 50: 1 s/1.
    assert_eq!(smallest_timeout_ms(&probe), Some(1_000));
    probe.may_grow = true;
    probe.ack(1);
    assert_eq!(smallest_timeout_ms(&probe), Some(500));
}

#[test]
fn the_prose_starts_at_a_millisecond() {
    let probe = probe(Start::avoidance(20, 100).with("rto_start_ms", 1.0));
    assert_eq!(smallest_timeout_ms(&probe), Some(1));
}

#[test]
fn the_window_after_a_loss_depends_on_estimator_and_filter() {
    // Steady 20 per 100 ms. Per round: 20. Per acknowledgement by gaps: 20. Per acknowledgement in
    // ns-3.29: one segment over a round trip, BWE·RTTmin = 1, so 2. Per round in ns-3.29: 20 and
    // the acknowledgement that starts a round, 21, but not above the window.
    for (estimator, filter, kept) in
        [(0.0, 0.0, 20..=20), (1.0, 0.0, 20..=20), (1.0, 1.0, 2..=2), (0.0, 1.0, 19..=20)]
    {
        let start = Start::avoidance(20, 100).with("estimator", estimator).with("filter", filter);
        let mut probe = probe(start);
        probe.may_grow = false;
        probe.rounds(100);
        probe.congestion(Signal::Loss);
        assert!(kept.contains(&probe.cwnd()), "{estimator}, {filter}: {}", probe.cwnd());
    }
}
