//! Packets that arrive ahead of others, because nothing can come between, change nothing.

use crate::common::{experiment, run_text};
use fairway_sim::{Control, Run, run};
use fairway_spec::{Experiment, plan};
use proptest::prelude::*;

/// All that a run says but its losses.
fn all(run: &Run) -> String {
    format!("{:?} {:?} {:?}", run.summary, run.series, run.queues)
}

/// Where losses are listed, everything happens in the order of time.
fn is_the_same_in_order(ahead: &Run, mut experiment: Experiment) -> Result<(), TestCaseError> {
    experiment.measure.losses = true;
    let ordered = run(&experiment, &Control::default());
    let ordered = ordered.map_err(|e| TestCaseError::fail(e.to_string()))?;
    prop_assert!(ordered.losses.is_some());
    prop_assert!(all(ahead) == all(&ordered), "{:?}\n{:?}", ahead.summary, ordered.summary);
    Ok(())
}

#[test]
fn examples_are_the_same_in_strict_order() {
    let examples = [
        ("aqm", include_str!("../../../examples/aqm.toml")),
        ("asymmetric", include_str!("../../../examples/asymmetric.toml")),
        ("changes", include_str!("../../../examples/changes.toml")),
        ("datagrams", include_str!("../../../examples/datagrams.toml")),
        ("fat-tree", include_str!("../../../examples/fat-tree.toml")),
        ("impairments", include_str!("../../../examples/impairments.toml")),
        ("l4s", include_str!("../../../examples/l4s.toml")),
        ("lte", include_str!("../../../examples/lte.toml")),
        ("parking-lot", include_str!("../../../examples/parking-lot.toml")),
        ("priority", include_str!("../../../examples/priority.toml")),
        ("routes", include_str!("../../../examples/routes.toml")),
        ("single", include_str!("../../../examples/single.toml")),
        ("tcp-udp", include_str!("../../../examples/tcp-udp.toml")),
        ("wlan-anomaly", include_str!("../../../examples/wlan-anomaly.toml")),
    ];
    for (name, text) in examples {
        let document = plan(text, name).unwrap().points.swap_remove(0).document;
        let experiment = fairway_spec::from_document(&document).unwrap();
        let ahead = run(&experiment, &Control::default()).unwrap();
        is_the_same_in_order(&ahead, experiment).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// Two sets of flows over a dumbbell, the second of which may go the other way.
fn dumbbell() -> impl Strategy<Value = String> {
    let presets = ["linux-6.1", "ns2-tcp-linux", "linux-2.6.27", "rfc5681"];
    let algorithms = ["reno", "cubic", "vegas", "bbr"];
    let rates = ["2 Mbit/s", "20 Mbit/s", "100 Mbit/s", "1 Gbit/s"];
    let queues = ["droptail", "red"];
    (
        prop::sample::select(presets.to_vec()),
        [prop::sample::select(algorithms.to_vec()), prop::sample::select(algorithms.to_vec())],
        [prop::sample::select(rates.to_vec()), prop::sample::select(rates.to_vec())],
        [0u32..20, 0u32..8],
        prop::sample::select(queues.to_vec()),
        (1u32..6, 8u32..400, prop::bool::ANY, 0u64..1000),
    )
        .prop_map(|(preset, cc, [rate, access], [delay, hosts], queue, rest)| {
            let (count, limit, both_ways, seed) = rest;
            format!(
                r#"
                duration = "3 s"
                seed = {seed}
                [stack]
                preset = "{preset}"
                [topology]
                kind = "dumbbell"
                [topology.bottleneck]
                rate = "{rate}"
                delay = "{delay} ms"
                queue = {{ kind = "{queue}", limit = "{limit} packets" }}
                loss = {{ probability = 0.0005, direction = "both" }}
                [topology.access]
                rate = "{access}"
                delay = "{hosts} ms"
                queue = {{ kind = "droptail", limit = "30 packets" }}
                [[flow]]
                cc = "{}"
                count = {count}
                stagger = "10 ms"
                [[flow]]
                cc = "{}"
                both_ways = {both_ways}
                start = "200 ms"
                [[flow]]
                kind = "poisson"
                rate = "200 kbit/s"
                [measure]
                sample = "10 ms"
                "#,
                cc[0], cc[1]
            )
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn dumbbells_are_the_same_in_strict_order(text in dumbbell()) {
        is_the_same_in_order(&run_text(&text), experiment(&text))?;
    }
}
