//! One application's data over several connections.

use fairway_schema::ApplicationSummary;
use fairway_sim::{Control, Run, run};
use fairway_spec::from_document;
use serde_json::{Value, json};

fn parallel(flow: Value, loss: f64, duration: &str) -> Run {
    with_seed(1, flow, loss, duration)
}

fn with_seed(seed: u64, flow: Value, loss: f64, duration: &str) -> Run {
    let document = json!({
        "duration": duration,
        "seed": seed,
        "stack": { "preset": "rfc5681", "mss": "1000 bytes" },
        "topology": {
            "kind": "dumbbell",
            "bottleneck": {
                "rate": "10 Mbit/s", "delay": "25 ms", "loss": { "probability": loss },
            },
        },
        "flow": [flow],
    });
    run(&from_document(&document).unwrap(), &Control::default()).unwrap()
}

fn figure(application: &ApplicationSummary, name: &str) -> f64 {
    let found = application.figures.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no {name}")).1.unwrap_or(f64::NAN)
}

#[test]
fn one_connection_has_everything_in_order() {
    let flow = json!({ "id": "p", "cc": "reno", "bytes": "1 MB", "connections": 1 });
    let run = parallel(flow, 0.01, "60 s");
    let [application] = &run.summary.applications[..] else { panic!("one") };
    assert_eq!((application.id.as_str(), application.connections), ("p", 1));
    assert_eq!(run.flow_ids, ["p/0"]);
    // TCP gives its data in order: nothing waits behind it. 1 MB in 60 s.
    assert_eq!(figure(application, "peak_reassembly_bytes"), 0.0);
    assert_eq!(figure(application, "late_chunks_ratio"), 0.0);
    assert!((application.goodput_bps - 8e6 / 60.0).abs() < 1e-6);
    assert_eq!(application.fct_s, run.summary.flows[0].fct_s);
}

#[test]
fn every_byte_arrives_once_in_either_way_of_dealing() {
    for (striping, cc) in [("static", "cubic"), ("dynamic", "cubic"), ("dynamic", "lia")] {
        let flow = json!({
            "id": "p", "cc": cc, "bytes": "3000001 bytes", "connections": 7,
            "chunk": "10 kB", "striping": striping,
        });
        let run = parallel(flow, 0.01, "100 s");
        let [application] = &run.summary.applications[..] else { panic!("one") };
        let bytes = |bps: f64| (bps * 100.0 / 8.0).round();
        assert_eq!(bytes(application.goodput_bps), 3_000_001.0, "{striping}");
        let sum: f64 = run.summary.flows.iter().map(|flow| bytes(flow.goodput_bps)).sum();
        assert_eq!(sum, 3_000_001.0);
        // The application is ready when the last of its connections is.
        let last = run.summary.flows.iter().map(|flow| flow.fct_s.unwrap()).fold(0.0, f64::max);
        assert!((application.fct_s.unwrap() - last).abs() < 1e-9, "{striping}");
        let peak = figure(application, "peak_reassembly_bytes");
        assert!((10_000.0..3e6).contains(&peak), "{peak}");
        assert!(figure(application, "mean_reassembly_bytes") < peak);
        if striping == "static" {
            // 300 chunks of 10 kB and one byte: 42 rounds of seven, six more, and the last byte.
            let first = bytes(run.summary.flows[0].goodput_bps);
            let last = bytes(run.summary.flows[6].goodput_bps);
            assert_eq!((first, last), (430_000.0, 420_001.0));
        }
    }
}

/// With one contiguous share a connection, which is how the thesis divides a transfer, all that the
/// others bring waits for the first.
#[test]
fn shares_in_one_piece_wait_for_the_first() {
    let flow = json!({
        "id": "p", "cc": "reno", "bytes": "4 MB", "connections": 4, "chunk": "1 MB",
    });
    let run = parallel(flow, 0.0, "60 s");
    let application = &run.summary.applications[0];
    let peak = figure(application, "peak_reassembly_bytes");
    assert!((2e6..=3e6).contains(&peak), "{peak}");
}

#[test]
fn dynamic_chunks_suit_uneven_connections() {
    // Losses strike connections unevenly: dealt beforehand, the transfer waits for the slowest.
    let mean_fct = |striping: &str| {
        let flow = json!({
            "cc": "reno", "bytes": "4 MB", "connections": 4, "chunk": "20 kB", "striping": striping,
        });
        let fct = |seed| {
            with_seed(seed, flow.clone(), 0.02, "100 s").summary.applications[0].fct_s.unwrap()
        };
        (0..20).map(fct).sum::<f64>() / 20.0
    };
    let (fixed, dynamic) = (mean_fct("static"), mean_fct("dynamic"));
    assert!(dynamic < 0.95 * fixed, "{dynamic} {fixed}");
}

/// A single connection that stands for ten, and ten that are coupled, beside ten: in the same line.
#[test]
fn alternatives_to_parallel_connections() {
    let goodput = |flow: Value| {
        let run = parallel(flow, 0.002, "60 s");
        run.summary.flows.iter().map(|flow| flow.goodput_bps).sum::<f64>()
    };
    let one = goodput(json!({ "cc": "reno" }));
    let ten = goodput(json!({ "cc": "reno", "connections": 10 }));
    let multcp = goodput(json!({ "cc": "multcp", "cc_params": { "n": 10 } }));
    let coupled = goodput(json!({ "cc": "lia", "connections": 10 }));
    let hacker = goodput(json!({ "cc": "hacker", "connections": 10 }));
    assert!(ten > 1.5 * one, "{one} {ten}");
    assert!(multcp > 1.3 * one, "{one} {multcp}");
    // LIA's connections take together about what one would (RFC 6356 section 2, goal 2).
    assert!(coupled < 0.8 * ten, "{coupled} {ten}");
    // Where the path is not full, fractional ones are as good as whole (Hacker 2004).
    assert!(hacker > 1.5 * one, "{hacker} {one}");
}
