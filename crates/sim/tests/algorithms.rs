//! What algorithms ask of their stack, in a network: marks, rate samples, pacing, random numbers.

use crate::common::run_text;
use fairway_sim::Run;

/// One flow over 100 Mbit/s and a round trip of 20 ms: 167 packets of 1500 bytes. Measured from 5 s on.
fn alone(cc: &str, queue: &str, seed: u64) -> Run {
    run_text(&format!(
        r#"
        duration = "20 s"
        seed = {seed}
        [stack]
        preset = "linux-6.1"
        [topology]
        kind = "dumbbell"
        [topology.bottleneck]
        rate = "100 Mbit/s"
        delay = "10 ms"
        queue = {queue}
        [[flow]]
        cc = "{cc}"
        [measure]
        window = ["5 s", "20 s"]
        sample = "10 ms"
        "#
    ))
}

#[test]
fn marks_alone_hold_a_queue() {
    // The stack's own switch for ECN is off. A queue that marks from 30 packets on, in proportion to
    // its length: it neither drops nor runs empty, and is far from its limit.
    let marking = r#"{ kind = "red", limit = "500 packets", ecn = true, weight = 1.0,
        min_threshold = "30 packets", max_threshold = "100 packets", max_probability = 1.0 }"#
        .replace('\n', " ");
    let run = alone("dctcp", &marking, 1);
    let (link, flow) = (&run.summary.links[0], &run.summary.flows[0]);
    assert_eq!((link.drops, flow.retransmitted_segments, flow.timeouts), (0, Some(0), Some(0)));
    assert!(flow.window_reductions > Some(20), "{flow:?}");
    assert!(link.utilisation > 0.99, "{link:?}");
    assert!((10.0..60.0).contains(&link.mean_backlog_packets), "{link:?}");
}

#[test]
fn a_paced_model_of_the_path_fills_it_and_leaves_the_queue_short() {
    // BBR holds about a bandwidth-delay product in flight; Reno fills what there is to fill.
    let deep = r#"{ limit = "1000 packets" }"#;
    let backlog = |cc| {
        let run = alone(cc, deep, 1);
        assert!(run.summary.links[0].utilisation > 0.95, "{cc}: {:?}", run.summary.links[0]);
        run.summary.links[0].mean_backlog_packets
    };
    let (bbr, reno) = (backlog("bbr"), backlog("reno"));
    assert!(bbr < 50.0 && bbr < reno / 4.0, "BBR {bbr}, Reno {reno}");
}

#[test]
fn random_numbers_of_an_algorithm_follow_the_seed() {
    // BBR draws the phase of its gain cycle; nothing else on this path is random.
    let deep = r#"{ limit = "1000 packets" }"#;
    let windows = |seed| alone("bbr", deep, seed).series.pipe_segments;
    assert_eq!(windows(1), windows(1));
    assert!((2..6).any(|seed| windows(seed) != windows(1)));
}
