//! What queue disciplines are for, in measured runs. Tolerances say where they are from.

use std::collections::BTreeSet;

use crate::common::run_text;
use fairway_sim::{Control, Run};
use fairway_spec::{from_document, plan};

/// Flows over 10 Mbit/s and 20 ms there and back for 40 s, measured from 10 s on.
fn run(queue: &str, flows: &[&str]) -> Run {
    let flows: String =
        flows.iter().map(|flow| format!("[[flow]]\n{}\n", flow.replace(", ", "\n"))).collect();
    run_text(&format!(
        r#"
        duration = "40 s"
        seed = 5
        [topology]
        kind = "dumbbell"
        [topology.bottleneck]
        rate = "10 Mbit/s"
        delay = "10 ms"
        queue = {{ {queue} }}
        {flows}
        [measure]
        window = ["10 s", "40 s"]
        "#
    ))
}

fn goodputs(run: &Run) -> Vec<f64> {
    run.summary.flows.iter().map(|flow| flow.goodput_bps).collect()
}

#[track_caller]
fn assert_between(measured: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&measured), "measured {measured}, expected {low} to {high}");
}

/// 1448 of 1500 bytes are data.
const DATA: f64 = 1448.0 / 1500.0;

#[test]
fn rounds_are_fair_to_flows_that_a_common_queue_is_not_fair_to() {
    // Vegas keeps a few packets in a queue that CUBIC fills.
    let flows = ["cc = \"cubic\"", "cc = \"vegas\""];
    let common = goodputs(&run("limit = \"100 packets\"", &flows));
    assert!(common[0] > 3.0 * common[1], "{common:?}");
    for queue in [
        "kind = \"sfq\"",
        "kind = \"sfq\", perturb = \"1 s\", head_drop = true",
        "kind = \"drr\", limit = \"50 packets\"",
    ] {
        let fair = goodputs(&run(queue, &flows));
        assert_between(fair[0] / fair[1], 0.95, 1.05);
        assert_between(fair[0] + fair[1], 0.95 * DATA * 10e6, DATA * 10e6);
    }
}

#[test]
fn a_token_bucket_gives_its_rate() {
    let queue = "kind = \"tbf\", rate = \"4 Mbit/s\", burst = \"15 kB\"";
    for more in ["", ", limit = \"50 ms\"", ", peak_rate = \"6 Mbit/s\", limit = \"60 packets\""] {
        let run = run(&format!("{queue}{more}"), &["cc = \"cubic\""]);
        // What the receiver held back when the window began, behind a hole, counts in it: up to a
        // queue of 50 packets, 0.6 Mbit in 120.
        assert_between(goodputs(&run)[0], 0.97 * DATA * 4e6, 1.005 * DATA * 4e6);
    }
}

#[test]
fn a_policer_keeps_to_its_rate_without_a_queue() {
    let queue = "kind = \"policer\", rate = \"4 Mbit/s\", burst = \"15 kB\"";
    let run = run(queue, &["cc = \"reno\""]);
    // In 30 s a burst is 4 kbit/s, 0.1 %. Losses come without a warning: a sender stays well below.
    assert_between(goodputs(&run)[0], 0.4 * DATA * 4e6, 1.005 * DATA * 4e6);
    let link = &run.summary.links[0];
    assert!(link.drops > 0 && link.mean_backlog_packets < 10.0, "{link:?}");
}

#[test]
fn adaptive_red_keeps_the_average_between_its_thresholds() {
    // At 10 Mbit/s they are 5 and 15 packets, and the aim is 9 to 11. Few flows need a probability
    // below 0.1, many one above it.
    for count in [3, 40] {
        let flow = format!("cc = \"reno\", count = {count}");
        let run = run("kind = \"red\", limit = \"200 packets\", adaptive = true", &[&flow]);
        assert_between(run.summary.links[0].mean_backlog_packets, 7.5, 12.5);
    }
}

#[test]
fn a_mikrotik_routers_red_keeps_below_its_limit() {
    let run = run("kind = \"routeros-red\"", &["cc = \"reno\", count = 10"]);
    let link = &run.summary.links[0];
    // 10 and 50 packets of 1000 bytes are 6.7 and 33 of 1500.
    assert_between(link.mean_backlog_packets, 6.7, 33.3);
    assert!(link.drops > 0);
}

#[test]
fn drop_head_fills_the_link() {
    let run = run("kind = \"drophead\", limit = \"30 packets\"", &["cc = \"reno\", count = 4"]);
    assert_between(goodputs(&run).iter().sum(), 0.97 * DATA * 10e6, DATA * 10e6);
    assert!(run.summary.links[0].drops > 0);
}

#[test]
fn a_higher_precedence_does_not_wait_for_others() {
    let call = "kind = \"cbr\", rate = \"64 kbit/s\", packet = \"188 bytes\", precedence = 5";
    let delay = |queue: &str| {
        let run = run(queue, &["cc = \"cubic\"", call]);
        run.summary.flows[1].mean_one_way_delay_s.unwrap()
    };
    // 10 ms and its own 0.15 ms; and at most the packet of 1.2 ms that is in transmission.
    assert_between(delay("kind = \"prio\""), 0.010_15, 0.011_35);
    // CUBIC keeps a hundred packets of 1.2 ms at least half full.
    assert!(delay("limit = \"100 packets\"") > 0.05);
}

#[test]
fn low_latency_beside_a_classic_flow() {
    // RFC 9332: what is marked from 1 ms on waits less than that, and the coupling gives both about the
    // same, over round trips of 10 ms and 40 ms; the classic queue is held at 15 ms.
    for delay_ms in [5, 20] {
        let run = run_text(&format!(
            r#"
            duration = "30 s"
            [topology]
            kind = "dumbbell"
            [topology.bottleneck]
            rate = "40 Mbit/s"
            delay = "{delay_ms} ms"
            queue = {{ kind = "dualpi2" }}
            [[flow]]
            cc = "prague"
            ecn = "accurate"
            [[flow]]
            cc = "cubic"
            ecn = true
            [measure]
            window = ["10 s", "30 s"]
            "#
        ));
        let [l4s, classic] = &run.summary.flows[..] else { panic!("two flows") };
        // Besides the delay, 0.3 ms of transmission.
        let path_s = f64::from(delay_ms) * 1e-3 + 0.000_3;
        let wait = |flow: &fairway_schema::FlowSummary| flow.mean_one_way_delay_s.unwrap() - path_s;
        assert_between(wait(l4s), 0.0, 0.001);
        assert_between(wait(classic), 0.010, 0.020);
        assert_between(l4s.goodput_bps / classic.goodput_bps, 0.5, 2.0);
        assert_eq!(run.summary.links[0].drops, 0);
    }
}

/// Runs every point of an example, shorter, and gives the kinds of its queues.
fn run_example(text: &str) -> BTreeSet<String> {
    let mut kinds = BTreeSet::new();
    for point in plan(text, "example.toml").unwrap().points {
        let mut document = point.document;
        document["duration"] = "5 s".into();
        document["measure"] = serde_json::json!({ "window": ["1 s", "5 s"] });
        let experiment = from_document(&document).unwrap();
        let run = fairway_sim::run(&experiment, &Control::default()).unwrap();
        let kind = document["topology"]["bottleneck"]["queue"]["kind"].as_str().unwrap();
        // At least half of the slowest rate, in the first seconds.
        assert!(goodputs(&run).iter().sum::<f64>() > 2.5e6, "{kind}");
        kinds.insert(kind.to_owned());
    }
    kinds
}

const EXAMPLES: [&str; 4] = [
    include_str!("../../../examples/queues.toml"),
    include_str!("../../../examples/aqm.toml"),
    include_str!("../../../examples/l4s.toml"),
    include_str!("../../../examples/priority.toml"),
];

/// What may be written of a queue.
fn queue_keys() -> serde_json::Value {
    let link = &fairway_spec::schema()["properties"]["topology"]["properties"]["bottleneck"];
    link["properties"]["queue"]["properties"].clone()
}

#[test]
fn the_examples_run_and_show_every_discipline() {
    let shown: BTreeSet<String> = EXAMPLES.into_iter().flat_map(run_example).collect();
    let keys = queue_keys();
    for kind in keys["kind"]["enum"].as_array().unwrap() {
        assert!(shown.contains(kind.as_str().unwrap()), "{kind} is in no example");
    }
}

#[test]
fn the_examples_show_every_key() {
    let all = EXAMPLES.concat();
    for key in queue_keys().as_object().unwrap().keys() {
        assert!(all.contains(&format!(" {key} = ")), "{key} is in no example");
    }
}

#[test]
fn hosts_that_take_their_time_do_not_idle_a_port() {
    // Each packet leaves its host up to 1 ms late, about as long as its transmission takes. What waits
    // in the port keeps it busy meanwhile.
    let run = run_text(
        "duration = \"40 s\"\n[stack]\npreset = \"ns2-tcp-linux\"\nsend_jitter = \"1 ms\"\n\
         [topology]\nkind = \"dumbbell\"\n[topology.bottleneck]\nrate = \"10 Mbit/s\"\n\
         delay = \"10 ms\"\nqueue = { kind = \"drophead\", limit = \"60 packets\" }\n\
         [[flow]]\ncc = \"reno\"\n[measure]\nwindow = [\"10 s\", \"40 s\"]\n",
    );
    let utilisation = run.summary.links[0].utilisation;
    assert!(utilisation > 0.99, "{utilisation}");
}
