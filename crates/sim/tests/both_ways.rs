//! Data both ways on one connection.

use fairway_sim::{Control, Run, run};
use fairway_spec::from_document;
use serde_json::{Value, json};

fn both_ways(stack: Value, flow: Value, duration: &str) -> Run {
    let document = json!({
        "duration": duration,
        "stack": stack,
        "topology": {
            "kind": "dumbbell",
            "bottleneck": { "rate": "10 Mbit/s", "delay": "25 ms" },
        },
        "flow": [flow, { "cc": "reno", "start": "1 s", "bytes": "10 kB" }],
    });
    let experiment = from_document(&document).unwrap();
    run(&experiment, &Control::default()).unwrap()
}

#[test]
fn each_direction_is_a_flow_of_the_results() {
    let flow = json!({ "cc": "reno", "bytes": "1 MB", "both_ways": true });
    let run = both_ways(json!({ "preset": "rfc5681" }), flow, "20 s");
    let ids: Vec<_> = run.summary.flows.iter().map(|flow| flow.id.as_str()).collect();
    assert_eq!(ids, ["reno#0", "reno#1", "reno#0/reverse"]);
    assert_eq!(run.flow_ids, ids);
    // 1 MB each way in a window of 20 s: 400 kbit/s.
    let [there, _, back] = &run.summary.flows[..] else { panic!("three") };
    assert_eq!((there.goodput_bps, back.goodput_bps), (400_000.0, 400_000.0));
    // The transfer is over when both have arrived.
    assert!(there.fct_s.is_some() && there.fct_s == back.fct_s);
    assert!(back.mean_cwnd_segments.unwrap() > 1.0 && back.mean_srtt_s.unwrap() > 0.05);
    // Two flows have an asymmetry; that of 1 MB and 10 kB is 990/1010.
    let asymmetry = run.summary.metrics.asymmetry.unwrap();
    assert!((asymmetry - 990.0 / 1010.0).abs() < 1e-9, "{asymmetry}");
}

#[test]
fn both_directions_fill_their_links() {
    // Bits on the link back over bits on the link there. Both directions are full of data.
    let flow = |both: bool| json!({ "cc": "reno", "id": "x", "both_ways": both });
    let back_over_there = |stack: &str, both: bool| {
        let run = both_ways(json!({ "preset": stack }), flow(both), "30 s");
        let arrived =
            |link: usize| run.queues.throughput_bps[link..].iter().step_by(2).sum::<f64>();
        (arrived(1) / arrived(0), run)
    };
    let (one_way, _) = back_over_there("rfc5681", false);
    // 40 bytes for two packets of 1500: 0.013.
    assert!((0.012..0.02).contains(&one_way), "{one_way}");
    for stack in ["rfc5681", "full-tcp", "linux-6.1"] {
        let (ratio, run) = back_over_there(stack, true);
        assert!((0.8..1.25).contains(&ratio), "{stack}: {ratio}");
        let goodput = |i: usize| run.summary.flows[i].goodput_bps / 1e6;
        assert!(goodput(0) > 7.0 && goodput(2) > 7.0, "{stack}: {} {}", goodput(0), goodput(2));
    }
}

#[test]
fn a_stop_ends_both_directions() {
    let flow = json!({ "cc": "cubic", "stop": "5 s", "both_ways": true, "app_rate": "1 Mbit/s" });
    let run = both_ways(json!({ "preset": "linux-6.1" }), flow, "20 s");
    let [there, _, back] = &run.summary.flows[..] else { panic!("three") };
    // 5 s of 1 Mbit/s in 20 s: 250 kbit/s, less what was not sent yet.
    for flow in [there, back] {
        assert!((240_000.0..=251_000.0).contains(&flow.goodput_bps), "{}", flow.goodput_bps);
        assert!((5.0..5.5).contains(&flow.fct_s.unwrap()));
    }
}
