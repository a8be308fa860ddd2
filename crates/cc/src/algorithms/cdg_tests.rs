use super::*;
use crate::probe::{Probe, Start};
use crate::testing::{ack, flow};

fn paper() -> Cdg {
    let source = Source::Paper { scaling_us: 3_000.0, hold: 5 };
    Cdg::new(source, 8, Stream::new(1, "cdg"))
}

/// A round of two acknowledgements with these RTTs. Returns whether it asks for a reduction.
fn round(rule: &mut Cdg, window: &mut Window, rtts_ms: [u64; 2]) -> bool {
    let now = flow(0, 0, 50);
    rule.gradients.on_ack(&ack(1, rtts_ms[0]), &now);
    rule.on_sample(window, &ack(1, rtts_ms[1]), &Flow { snd_una: 1, snd_nxt: 0, ..now });
    rule.wants_reduction()
}

fn avoidance(cwnd: u32) -> Window {
    Window { ssthresh: 2, ..Window::new(cwnd) }
}

#[test]
fn linux_extrapolates_while_gradients_are_missing() {
    // Three gradients of 1 ms in both: 3 ms · 8/3 = 8 ms: 0.336.
    let mut rule = Cdg { patience: 1, ..Cdg::linux() };
    let mut window = avoidance(100);
    for rtt in 50..54 {
        round(&mut rule, &mut window, [rtt, rtt]);
    }
    let exponent = rule.exponent(MinMax::default(), false);
    assert!((exponent - 0.336).abs() < 1e-12, "{exponent}");
    // The paper divides by eight from the start: 3/8 ms of 3 ms.
    let mut rule = Cdg { patience: 1, ..paper() };
    for rtt in 50..54 {
        rule.gradients.on_ack(&ack(1, rtt), &flow(0, 0, 50));
        rule.gradients.end_round(&flow(0, 0, 50));
    }
    let exponent = rule.exponent(MinMax::default(), false);
    assert!((exponent - 0.125).abs() < 1e-12, "{exponent}");
    // In slow start the last one counts: 2 ms of 3.
    let exponent = rule.exponent(MinMax { min: 2_000, max: 0 }, true);
    assert!((exponent - 2.0 / 3.0).abs() < 1e-12, "{exponent}");
}

#[test]
fn back_offs_happen_as_often_as_they_should() {
    // A gradient of 8 ms summed, forever: 0.2854 of 20000 rounds, 5708 ± 64.
    let mut rule = Cdg { patience: 0, ..Cdg::linux() };
    let window = avoidance(100);
    let mut now = 50;
    let mut back_offs = 0;
    for _ in 0..20_000 {
        rule.backs_off = false;
        now += 1;
        rule.gradients.on_ack(&ack(1, now), &flow(0, 0, 50));
        if let Some(gradient) = rule.gradients.end_round(&flow(0, 0, 50)) {
            rule.judge(gradient, &window);
        }
        back_offs += u32::from(rule.backs_off);
    }
    assert!((5_400..6_000).contains(&back_offs), "{back_offs}");
}

#[test]
fn ineffective_back_offs_end() {
    // A gradient of a second is certain to ask for a back-off. Linux backs off five times, the
    // paper skips the next five.
    let rise = MinMax { min: 1_000_000, max: 1_000_000 };
    let window = Window::new(100);
    let answers = |mut rule: Cdg| -> Vec<bool> {
        rule.gradients.on_ack(&ack(1, 50), &flow(0, 0, 50));
        rule.gradients.end_round(&flow(0, 0, 50));
        rule.gradients.on_ack(&ack(1, 60_000), &flow(0, 0, 50));
        rule.gradients.end_round(&flow(0, 0, 50));
        let mut answers = Vec::new();
        for _ in 0..12 {
            rule.backs_off = false;
            rule.judge(rise, &window);
            answers.push(rule.backs_off);
        }
        answers
    };
    let five_of = |then: bool| [[true; 5].as_slice(), &[false; 5], &[then; 2]].concat();
    assert_eq!(answers(Cdg::linux()), five_of(false));
    assert_eq!(answers(paper()), five_of(true));
}

#[test]
fn losses_halve_the_shadow_window_only() {
    // Back-off at 100: shadow 100, window 70. It grows to 75, the shadow to 105. A loss leaves
    // max(⌊105/2⌋, ⌊75/2⌋) = 52, and the next one from 52 max(26, 26).
    let mut rule = Cdg::linux();
    let mut window = avoidance(100);
    rule.on_sample(&mut window, &ack(1, 50), &flow(0, 100, 50));
    rule.shadow.raise_to(100);
    rule.queue = Queue::BackingOff;
    assert_eq!(rule.backoff(&window, Signal::Delay, &flow(0, 100, 50)), 70);
    rule.on_congestion(&flow(0, 100, 50));
    window = avoidance(70);
    rule.on_recovered(&mut window, &flow(0, 70, 50));
    rule.on_sample(&mut window, &ack(1, 50), &flow(0, 70, 50));
    window.cwnd = 75;
    assert_eq!(rule.backoff(&window, Signal::Loss, &flow(0, 75, 50)), 52);
    assert_eq!(rule.backoff(&avoidance(52), Signal::Loss, &flow(0, 52, 50)), 26);
}

#[test]
fn the_queue_is_judged_by_minima_and_maxima() {
    let judged = |mut rule: Cdg, rtts: [[u64; 2]; 2]| {
        let mut window = avoidance(100);
        rule.patience = 1;
        rule.in_vain = 9;
        for pair in rtts {
            round(&mut rule, &mut window, pair);
        }
        (rule.queue, rule.threshold(100, Signal::Loss))
    };
    let tolerant = || {
        let source = Source::Linux { factor: 0.0, use_shadow: true, use_tolerance: true };
        Cdg { source, ..Cdg::linux() }
    };
    // Minima rise and maxima stay: full. Both rise, or both fall: not full, and nothing is lost.
    assert_eq!(judged(tolerant(), [[50, 60], [52, 60]]), (Queue::Full, 50));
    assert_eq!(judged(tolerant(), [[50, 60], [52, 61]]), (Queue::NotFull, 100));
    assert_eq!(judged(tolerant(), [[50, 60], [49, 59]]), (Queue::NotFull, 100));
    assert_eq!(judged(Cdg::linux(), [[50, 60], [49, 59]]), (Queue::Unknown, 50));
    assert_eq!(judged(paper(), [[50, 60], [49, 59]]), (Queue::NotFull, 100));
    assert_eq!(judged(paper(), [[50, 60], [50, 60]]), (Queue::Unknown, 50));
}

#[test]
fn a_rising_delay_makes_it_back_off_and_a_steady_one_does_not() {
    for (variant, left) in [(Variant::Paper, 70), (Variant::Linux6_1, 70)] {
        let mut p = Probe::new("cdg", variant, &Start::avoidance(100, 50));
        p.may_grow = false;
        for _ in 0..20 {
            p.round();
        }
        assert_eq!(p.cwnd(), 100);
        while p.cwnd() == 100 {
            p.rtt += Duration::from_millis(20);
            p.round();
            assert!(p.rtt < Duration::from_secs(2));
        }
        // 0.7 · 100 and ⌊72400/1024⌋.
        assert_eq!((p.cwnd(), p.ssthresh()), (left, Some(left)));
    }
}

#[test]
fn seeds_make_the_difference() {
    let backs_off_at = |seed: u64| {
        let mut p =
            Probe::new("cdg", Variant::Linux6_1, &Start { seed, ..Start::avoidance(100, 50) });
        p.may_grow = false;
        while p.cwnd() == 100 {
            p.rtt += Duration::from_micros(200);
            p.round();
        }
        p.rtt
    };
    assert_eq!(backs_off_at(3), backs_off_at(3));
    assert!((0..20).any(|seed| backs_off_at(seed) != backs_off_at(20)));
}
