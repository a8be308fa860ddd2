//! Tests of the experiment file as its users meet it.

mod datagrams;
mod examples;
mod matrices;
mod messages;
mod programs;
mod robustness;
mod schema;
mod set;
mod suggestions;
mod sweep;
mod switches;
mod values;
mod wlan;

use crate::{Experiment, Plan, from_document, plan};

/// A valid experiment with a part of it replaced.
fn with(part: &str, replacement: &str) -> String {
    assert!(BASE.contains(part), "the base experiment has no {part:?}");
    BASE.replacen(part, replacement, 1)
}

/// A valid experiment with text at its end.
fn with_end(end: &str) -> String {
    format!("{BASE}{end}\n")
}

/// A small valid experiment. Its bandwidth-delay product: 10 Mbit/s x 2 x 25 ms / 8 = 62 500 bytes.
const BASE: &str = r#"
title = "base"
duration = "100 s"
[stack]
preset = "linux-6.1"
[topology]
kind = "dumbbell"
[topology.bottleneck]
rate = "10 Mbit/s"
delay = "25 ms"
queue = { kind = "droptail", limit = "42 packets" }
[measure]
sample = "100 ms"
[[flow]]
id = "main"
cc = "reno"
"#;

/// Kinds of traffic.
const TRAFFIC: [&str; 14] = [
    "bulk", "arrivals", "ftp", "telnet", "request", "web", "bursts", "video", "incast", "program",
    "cbr", "vbr", "poisson", "onoff",
];

fn planned(text: &str) -> Plan {
    plan(text, "test.toml").unwrap_or_else(|errors| panic!("{errors}"))
}

fn experiment(text: &str) -> Experiment {
    from_document(&planned(text).points[0].document).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The errors of a file, one line each, without its name.
fn refusal(text: &str) -> Vec<String> {
    match plan(text, "test.toml") {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(errors) => errors.errors.iter().map(ToString::to_string).collect(),
    }
}

/// That a file is refused for exactly one thing.
#[track_caller]
fn assert_refused(text: &str, message: &str) {
    assert_eq!(refusal(text), [message]);
}
