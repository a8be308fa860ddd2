//! Transfers that arrive at random, and how long they take.

use fairway_sim::{Control, Run, run};
use fairway_spec::from_document;
use serde_json::{Value, json};

fn arrivals(flow: Value, rate: &str, duration: &str) -> Run {
    let document = json!({
        "duration": duration,
        "topology": {
            "kind": "dumbbell",
            "bottleneck": { "rate": rate, "delay": "1 ms", "queue": { "limit": "unlimited" } },
        },
        "flow": [flow],
    });
    run(&from_document(&document).unwrap(), &Control::default()).unwrap()
}

#[test]
fn one_segment_takes_what_the_path_makes_necessary() {
    // Handshake and data: three times 1 ms, and the transmission at 10 Mbit/s of a SYN and its answer of
    // 60 bytes each, of the answer's acknowledgement of 52, which Linux sends by itself, and of 1052
    // bytes of data: 1224 bytes, 0.9792 ms. The ideal knows only the last: 3.8416 ms.
    let flow = json!({
        "id": "a", "kind": "arrivals", "cc": "reno", "flow_rate": 10, "size": "1000 bytes",
        "transfers": 20, "mss": "1448 bytes",
    });
    let run = arrivals(flow, "10 Mbit/s", "100 s");
    let [all] = &run.summary.completions[..] else { panic!("{:?}", run.summary.completions) };
    assert_eq!((all.flow.as_str(), all.count, all.unfinished), ("a", 20, 0));
    assert!((all.median_s.unwrap() - 3.9792e-3).abs() < 1e-9, "{all:?}");
    let slowdowns: Vec<f64> =
        run.summary.flows.iter().map(|flow| flow.fct_s.unwrap() / 3.8416e-3).collect();
    let mean = slowdowns.iter().sum::<f64>() / 20.0;
    assert!((all.mean_slowdown.unwrap() - mean).abs() < 1e-9);
    // Flows in great numbers have no time series.
    assert!(run.series.t_s.is_empty() && run.flow_ids.is_empty());
    assert_eq!(run.summary.flows.len(), 20);
    assert_eq!(run.summary.applications[0].kind, "arrivals");
}

#[test]
fn arrivals_are_a_poisson_process() {
    // 2000 a second for 10 s: 20 000 within four deviations of 141; gaps as long as they scatter.
    let flow = json!({
        "kind": "arrivals", "cc": "reno", "flow_rate": 2000, "size": "100 bytes",
    });
    let document = json!({
        "duration": "10 s",
        "topology": { "kind": "dumbbell", "bottleneck": { "rate": "1 Gbit/s", "delay": "1 ms" } },
        "flow": [flow],
    });
    let experiment = from_document(&document).unwrap();
    let n = experiment.flows.len() as f64;
    assert!((n - 20_000.0).abs() < 4.0 * 20_000f64.sqrt(), "{n}");
    let starts: Vec<f64> =
        experiment.flows.iter().map(|flow| flow.start.as_nanos() as f64 / 1e9).collect();
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance =
        gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / gaps.len() as f64;
    // The squared coefficient of variation of an exponential is 1, its estimate within 4·√(8/n).
    assert!((variance / mean / mean - 1.0).abs() < 4.0 * (8.0 / n).sqrt(), "{variance} {mean}");
}

#[test]
fn an_offered_load_is_what_arrives() {
    let flow = json!({
        "kind": "arrivals", "cc": "cubic", "offered_load": "40 Mbit/s",
        "size": { "distribution": "exponential", "mean": "20 kB" },
    });
    let run = arrivals(flow, "100 Mbit/s", "40 s");
    // 10 000 transfers of exponential size: the sum scatters by √2/100; four times that.
    let goodput = run.summary.applications[0].goodput_bps;
    assert!((goodput / 40e6 - 1.0).abs() < 4.0 * 2f64.sqrt() / 100.0, "{goodput}");
}

/// A link that flows share evenly holds ρ/(1 − ρ) of them (M/G/1 with processor sharing; Kleinrock,
/// Queueing Systems II, section 4.4), so that a flow takes 1/(1 − ρ) of what it would take alone,
/// whatever the sizes are. TCP's windows make flows longer than that at small sizes, not at large ones.
#[test]
fn large_flows_share_as_processor_sharing_has_it() {
    let flow = json!({
        "kind": "arrivals", "cc": "cubic", "offered_load": "46 Mbit/s",
        "size": "2 MB", "transfers": 1500,
    });
    let run = arrivals(flow, "100 Mbit/s", "1000 s");
    let [all] = &run.summary.completions[..] else { panic!("one class") };
    assert_eq!((all.count, all.unfinished), (1500, 0));
    // With headers (1500/1448) the load is 0.4765: a slowdown of 1.91.
    let slowdown = all.mean_slowdown.unwrap();
    assert!((1.91 * 0.9..1.91 * 1.15).contains(&slowdown), "{slowdown}");
}
