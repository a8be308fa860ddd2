//! A run on several processors is the run on one.

use crate::common::experiment;
use fairway_sim::{Control, Run, RunError, run_on};
use fairway_spec::{Experiment, from_document, plan};
use proptest::prelude::*;

fn all(run: &Run) -> String {
    format!("{:?} {:?} {:?} {:?}", run.summary, run.series, run.queues, run.remarks)
}

fn is_the_same(experiment: &Experiment, name: &str, cores: &[usize]) -> Result<(), TestCaseError> {
    let on = |cores| {
        let found = run_on(experiment, &Control::default(), cores);
        found.map(|run| all(&run)).map_err(|error| TestCaseError::fail(error.to_string()))
    };
    let one = on(1)?;
    for cores in cores {
        let several = on(*cores)?;
        let differs = one.bytes().zip(several.bytes()).position(|(a, b)| a != b);
        if let Some(at) = differs {
            let near =
                |text: &str| text[at.saturating_sub(200)..text.len().min(at + 99)].to_owned();
            let (one, several) = (near(&one), near(&several));
            prop_assert!(false, "{name} on {cores} processors:\n{one}\n\n{several}");
        }
    }
    Ok(())
}

#[test]
fn fat_trees() {
    let examples = [
        ("permutation", include_str!("../../../examples/fat-tree-permutation.toml")),
        ("incast", include_str!("../../../examples/fat-tree-incast.toml")),
    ];
    for (name, text) in examples {
        let document = plan(text, name).unwrap().points.swap_remove(0).document;
        is_the_same(&from_document(&document).unwrap(), name, &[2, 3, 100]).unwrap();
    }
}

/// A ring of 66 nodes with chords, over which flows of many kinds go in all directions.
fn graph() -> impl Strategy<Value = String> {
    let links = vec![
        "queue = { kind = \"droptail\", limit = \"30 packets\" }",
        "queue = { kind = \"red\", limit = \"40 packets\" }",
        "queue = { kind = \"codel\", limit = \"60 packets\" }",
        "queue = { kind = \"fq_codel\", limit = \"60 packets\" }",
        "queue = { limit = \"20 packets\" }\nloss = { probability = 0.002, direction = \"both\" }",
        "queue = { limit = \"50 packets\" }\njitter = { mean = \"1 ms\", deviation = \"300 us\" }",
        "delay = \"0 ms\"",
    ];
    let flows = vec![
        "cc = \"cubic\"",
        "cc = \"reno\"\nbytes = \"300 kB\"",
        "cc = \"bbr\"\nstart = \"50 ms\"",
        "cc = \"vegas\"\nstop = \"300 ms\"",
        "cc = \"cubic\"\napp_rate = \"3 Mbit/s\"",
        "kind = \"poisson\"\nrate = \"2 Mbit/s\"",
        "kind = \"cbr\"\nrate = \"1 Mbit/s\"\nbytes = \"40 kB\"",
    ];
    let presets = vec!["linux-6.1", "ns2-tcp-linux", "linux-2.6.27", "rfc5681", "ns3-3.29"];
    (
        prop::collection::vec((prop::sample::select(links), 1u32..5, 0usize..66), 66),
        prop::collection::vec((prop::sample::select(flows), 0usize..66, 1usize..66), 12..30),
        prop::sample::select(presets),
        prop::sample::select(vec!["hash", "in-turn", "packet"]),
        (0u64..1000, prop::bool::ANY),
    )
        .prop_map(|(links, flows, preset, multipath, (seed, reports))| {
            let mut text = format!(
                "duration = \"400 ms\"\nseed = {seed}\n[stack]\npreset = \"{preset}\"\n[measure]\n\
                 sample = \"20 ms\"\nwindow = [\"{}\", \"400 ms\"]\n[topology]\nkind = \"graph\"\n\
                 multipath = \"{multipath}\"\n",
                if reports { "0 ms" } else { "100 ms" }
            );
            for (index, (link, millis, chord)) in links.iter().enumerate() {
                let delay = if link.contains("delay") { String::new() } else { format!("delay = \"{millis} ms\"\n") };
                text += &format!(
                    "[[topology.link]]\nfrom = \"n{index}\"\nto = \"n{}\"\nrate = \"50 Mbit/s\"\n{delay}{link}\n",
                    (index + 1) % 66
                );
                if *chord != index && index % 3 == 0 {
                    text += &format!(
                        "[[topology.link]]\nid = \"chord{index}\"\nfrom = \"n{index}\"\nto = \"n{chord}\"\n\
                         rate = \"20 Mbit/s\"\ndelay = \"{millis} ms\"\n"
                    );
                }
            }
            for (flow, from, hop) in flows {
                text += &format!("[[flow]]\n{flow}\nfrom = \"n{from}\"\nto = \"n{}\"\n", (from + hop) % 66);
            }
            text
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn graphs(text in graph()) {
        is_the_same(&experiment(&text), "a graph", &[2, 5])?;
    }
}

#[test]
fn a_cancelled_run_ends_on_all_processors() {
    let text = include_str!("../../../examples/fat-tree-permutation.toml");
    let document = plan(text, "permutation").unwrap().points.swap_remove(0).document;
    let control = Control::default();
    control.cancel();
    let found = run_on(&from_document(&document).unwrap(), &control, 2);
    assert!(matches!(found, Err(RunError::Cancelled)));
}
