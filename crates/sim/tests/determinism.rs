//! The same experiment and seed give the same numbers, bit for bit, and random streams are apart.

use crate::common::{experiment, run_text};
use fairway_sim::{Control, Run, run};

/// Every source of randomness: initial sequence numbers, loss on both links and both ways, RED,
/// delayed departures, datagrams.
fn everything_random(seed: u64) -> String {
    format!(
        r#"
        duration = "20 s"
        seed = {seed}
        [stack]
        preset = "linux-6.1"
        [topology]
        kind = "chain"
        [[topology.link]]
        id = "first"
        rate = "20 Mbit/s"
        delay = "5 ms"
        loss = {{ probability = 0.001, direction = "both" }}
        [[topology.link]]
        id = "second"
        rate = "10 Mbit/s"
        delay = "20 ms"
        queue = {{ kind = "red", limit = "100 packets" }}
        loss = {{ probability = 0.0005 }}
        [[flow]]
        cc = "cubic"
        count = 3
        stagger = "1 s"
        [[flow]]
        cc = "htcp"
        cc_variant = "linux-2.6.22"
        send_jitter = "100 us"
        [[flow]]
        cc = "bic"
        bytes = "1 MB"
        sack = false
        [[flow]]
        kind = "poisson"
        rate = "200 kbit/s"
        [[flow]]
        kind = "vbr"
        rate = "200 kbit/s"
        rate_deviation = "100 kbit/s"
        [[flow]]
        kind = "onoff"
        rate = "400 kbit/s"
        periods = "pareto"
        count = 2
        [measure]
        window = ["5 s", "20 s"]
        sample = "50 ms"
        "#
    )
}

/// All that a run says, floating-point numbers by their bits (equality alone would take 0 for −0,
/// and NaN for no number at all).
fn bits(run: &Run) -> String {
    let column = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    let (s, q) = (&run.series, &run.queues);
    let series = [
        &s.t_s,
        &s.cwnd_segments,
        &s.inflated_cwnd_segments,
        &s.ssthresh_segments,
        &s.srtt_s,
        &s.pipe_segments,
        &s.goodput_bps,
        &q.t_s,
        &q.backlog_packets,
        &q.backlog_bytes,
        &q.throughput_bps,
    ];
    let floats: Vec<_> = series.iter().map(|values| column(values)).collect();
    // The shortest decimal that gives a number back is one number's alone.
    let summary = serde_json::to_string(&run.summary).unwrap();
    let rest = (&run.flow_ids, &run.link_ids, &s.flow, &q.link, &q.drops, &q.losses);
    format!("{floats:?} {summary} {rest:?}")
}

#[test]
fn a_run_repeated_is_the_same_to_the_last_bit() {
    let first = run_text(&everything_random(1));
    assert!(first.summary.links.iter().any(|link| link.losses > 0), "nothing was lost");
    assert!(first.summary.links.iter().any(|link| link.drops > 0), "nothing was dropped");
    assert_eq!(bits(&first), bits(&run_text(&everything_random(1))));
}

#[test]
fn runs_side_by_side_are_what_they_are_alone() {
    let alone = [1, 2].map(|seed| bits(&run_text(&everything_random(seed))));
    let together = std::thread::scope(|scope| {
        let threads =
            [1, 2, 1, 2].map(|seed| scope.spawn(move || bits(&run_text(&everything_random(seed)))));
        threads.map(|thread| thread.join().unwrap())
    });
    for (i, run) in together.iter().enumerate() {
        assert_eq!(*run, alone[i % 2], "thread {i}");
    }
}

#[test]
fn watching_a_run_does_not_change_it() {
    let experiment = experiment(&everything_random(1));
    let control = Control::default();
    let watched = std::thread::scope(|scope| {
        let run = scope.spawn(|| run(&experiment, &control).unwrap());
        while !run.is_finished() {
            assert!((0.0..=1.0).contains(&control.fraction()));
            std::hint::black_box(control.packets());
        }
        run.join().unwrap()
    });
    assert_eq!(bits(&watched), bits(&run_text(&everything_random(1))));
}

#[test]
fn another_seed_is_another_run_where_chance_plays_and_the_same_where_it_does_not() {
    let random = [1, 2].map(|seed| run_text(&everything_random(seed)).series);
    assert_ne!(random[0].cwnd_segments, random[1].cwnd_segments);
    let certain = |seed| {
        let mut run = run_text(&format!(
            r#"
            duration = "10 s"
            seed = {seed}
            [topology]
            kind = "dumbbell"
            [topology.bottleneck]
            rate = "10 Mbit/s"
            delay = "10 ms"
            queue = {{ limit = "20 packets" }}
            [[flow]]
            cc = "reno"
            [[flow]]
            cc = "cubic"
            "#
        ));
        assert!(run.summary.links[0].drops > 0);
        run.summary.seed = 0;
        bits(&run)
    };
    assert_eq!(certain(1), certain(2));
}

/// Losses on the first link since the start, sample by sample, of a fixed stream of packets: one
/// segment every 10 ms, and what is lost again. `second` is the rest of the second link, where a
/// segment takes 8.3 ms, so that some wait.
fn losses_on_the_first_link(second: &str) -> Vec<u64> {
    let run = run_text(&format!(
        r#"
        duration = "60 s"
        [stack]
        preset = "rfc5681"
        mss = "1000 bytes"
        [topology]
        kind = "chain"
        [[topology.link]]
        id = "first"
        rate = "10 Mbit/s"
        delay = "1 ms"
        loss = {{ probability = 0.05 }}
        [[topology.link]]
        id = "second"
        rate = "1 Mbit/s"
        delay = "1 ms"
        {second}
        [[flow]]
        cc = "reno"
        app_rate = "800 kbit/s"
        [measure]
        sample = "100 ms"
        "#
    ));
    let waiting = run.summary.links.iter().find(|link| link.id == "second").unwrap();
    assert!(waiting.mean_backlog_packets > 0.01 && waiting.drops == 0, "{waiting:?}");
    let first = run.link_ids.iter().position(|id| id == "first").unwrap() as u32;
    let rows = run.queues.link.iter().zip(&run.queues.losses);
    rows.filter(|(link, _)| **link == first).map(|(_, losses)| *losses).collect()
}

#[test]
fn a_queue_or_a_loss_elsewhere_does_not_change_a_links_losses() {
    let deep = r#"queue = { limit = "100 packets" }"#;
    let plain = losses_on_the_first_link(deep);
    // About 60 s · 100/s · 0.05 = 300.
    assert!(*plain.last().unwrap() > 200, "{:?}", plain.last());
    // RED whose average never reaches its threshold.
    let red = r#"queue = { kind = "red", limit = "100 packets", min_threshold = "50 packets" }"#;
    assert_eq!(losses_on_the_first_link(red), plain);
    // RED whose average is the queue of the moment (weight 1): it draws whenever a packet waits,
    // and at probability 0 drops nothing.
    let drawing = r#"queue = { kind = "red", limit = "100 packets", min_threshold = "0.01 packets", max_threshold = "90 packets", max_probability = 0.0, weight = 1.0 }"#;
    assert_eq!(losses_on_the_first_link(drawing), plain);
    // A second link that could lose packets, with a stream of its own.
    let lossy = format!("{deep}\nloss = {{ probability = 1e-12, direction = \"both\" }}");
    assert_eq!(losses_on_the_first_link(&lossy), plain);
}
