use super::*;
use crate::probe::{Probe, Start};

fn avoidance(cwnd: u32, rtt_ms: u64) -> Probe {
    Probe::new("prague", Variant::Paper, &Start::avoidance(cwnd, rtt_ms))
}

#[test]
fn grows_by_a_segment_per_round_before_the_transition() {
    let mut probe = avoidance(100, 10);
    probe.rounds(20);
    // A segment per round; rounding 1/W to 2⁻²⁰ may cost one.
    assert!((119..=121).contains(&probe.cwnd()), "{}", probe.cwnd());
}

#[test]
fn grows_like_a_longer_rtt_after_the_transition() {
    // (10/25)² = 0.16 segments per round: 16 in a hundred.
    let start = Start::avoidance(100, 10).with("rtt_transition", 0.0);
    let mut probe = Probe::new("prague", Variant::Paper, &start);
    probe.round();
    let before = probe.cwnd();
    probe.rounds(100);
    let grown = probe.cwnd() - before;
    assert!((15..=17).contains(&grown), "{grown}");
}

#[test]
fn a_mark_reduces_the_window_by_steps_of_one() {
    // α is still 1: 100 − 50. One step at once, 49 acknowledgements for the others, which are
    // marked so that nothing grows.
    let mut probe = avoidance(100, 40);
    probe.marked = 1.0;
    probe.congestion(Signal::Ecn);
    assert_eq!((probe.cwnd(), probe.ssthresh()), (99, Some(99)));
    for step in 1..=60 {
        probe.ack(1);
        assert_eq!(probe.cwnd(), 99 - step.min(49), "step {step}");
    }
}

#[test]
fn grows_while_it_is_reduced() {
    let mut probe = avoidance(100, 40);
    probe.congestion(Signal::Ecn);
    probe.acks(99, 1);
    // 50 of the cut, and 99 segments at about 1/51 each: ⌈50 + 1.93⌉.
    assert_eq!(probe.cwnd(), 52);
}

#[test]
fn no_growth_until_a_loss_is_recovered() {
    let mut probe = avoidance(100, 40);
    probe.congestion(Signal::Loss);
    probe.acks(500, 1);
    assert_eq!(probe.cwnd(), 50);
    probe.recover();
    probe.rounds(2);
    assert_eq!(probe.cwnd(), 52);
}

#[test]
fn a_timeout_climbs_back_to_half() {
    let mut probe = avoidance(40, 40);
    probe.rto();
    assert_eq!((probe.cwnd(), probe.ssthresh()), (1, Some(2)));
    for climbed in 2..=20 {
        probe.ack(1);
        assert_eq!(probe.cwnd(), climbed);
    }
    probe.ack(1);
    assert_eq!(probe.cwnd(), 20);
}

#[test]
fn a_mark_ends_slow_start() {
    let mut probe = Probe::new("prague", Variant::Paper, &Start::slow_start(10, 40));
    probe.round();
    assert_eq!((probe.cwnd(), probe.ssthresh()), (20, None));
    probe.congestion(Signal::Ecn);
    assert_eq!((probe.cwnd(), probe.ssthresh()), (19, Some(19)));
    // ⌈10 + a little growth⌉.
    probe.rounds(1);
    assert_eq!(probe.cwnd(), 12);
}

#[test]
fn alpha_waits_for_the_first_mark_and_keeps_remainders() {
    let mut probe = avoidance(100, 40);
    probe.rounds(50);
    let before = probe.cwnd();
    probe.marked = 1.0;
    probe.congestion(Signal::Ecn);
    probe.rounds(1);
    // α was still 1: half.
    assert_eq!(probe.cwnd(), before / 2);
    // A fraction of 2⁻²⁰ averages to 2⁻²⁰, where α/16 in whole 2⁻²⁰ would stay at 16 of them.
    let mut alpha = Alpha::new();
    for _ in 0..1_000 {
        alpha.observe(1);
    }
    assert_eq!(alpha.get(), 1);
}

#[test]
fn marks_reduce_the_window_once_per_target_rtt() {
    let start = Start::avoidance(100, 5).with("rtt_transition", 0.0);
    let mut probe = Probe::new("prague", Variant::Paper, &start);
    probe.marked = 1.0;
    let cuts = (0..10).filter(|_| {
        let before = probe.cc.pacing_rate();
        probe.congestion(Signal::Ecn);
        let is_cut = probe.cc.pacing_rate() < before;
        probe.round();
        probe.recover();
        is_cut
    });
    // Ten rounds of 5 ms: at 0 (no pacing rate before the first acknowledgement) and at 25.
    assert_eq!(cuts.count(), 1);
}

#[test]
fn paced_at_the_window_per_rtt() {
    // 100 segments of 1500 bytes in 40 ms: 30 Mbit/s. Below half the threshold twice that.
    let mut probe = avoidance(100, 40);
    probe.may_grow = false;
    probe.ack(1);
    assert_eq!(probe.cc.pacing_rate(), Some(Rate::from_bps(30_000_000)));
    let mut probe = Probe::new("prague", Variant::Paper, &Start::slow_start(100, 40));
    probe.may_grow = false;
    probe.ack(1);
    assert_eq!(probe.cc.pacing_rate(), Some(Rate::from_bps(60_000_000)));
}
