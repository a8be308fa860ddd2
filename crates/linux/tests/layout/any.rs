//! Whatever the experiment, it is laid out or refused with words, and what is laid out fits together.

use std::collections::BTreeSet;

use fairway_cc::algorithms;
use fairway_guest::plan::Plan;
use fairway_linux::layout;
use fairway_spec::SOCKET_OPTIONS;

use super::on_tc;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Longest name of a device (include/uapi/linux/if.h, IFNAMSIZ, with the zero at its end).
const DEVICE_NAME: usize = 15;
/// Refusals that are listed, and one that counts the others.
const MOST_REFUSALS: usize = 51;

/// Entries of a table, each there or not.
fn some_of(
    entries: Vec<(&'static str, BoxedStrategy<Value>)>,
) -> BoxedStrategy<Map<String, Value>> {
    let entry = |(name, value): (&'static str, BoxedStrategy<Value>)| {
        proptest::option::weighted(0.2, value.prop_map(move |value| (name.to_owned(), value)))
    };
    let entries: Vec<_> = entries.into_iter().map(entry).collect();
    entries.prop_map(|entries| entries.into_iter().flatten().collect()).boxed()
}

fn one_of(values: Vec<Value>) -> BoxedStrategy<Value> {
    select(values).boxed()
}

/// A number over many orders of magnitude, with a unit.
fn number([least, largest]: [u64; 2], unit: &'static str) -> BoxedStrategy<Value> {
    (least.max(1).ilog2()..=largest.ilog2(), any::<u64>())
        .prop_map(move |(bits, low)| {
            let number = (1 << bits | low & ((1 << bits) - 1)).clamp(least, largest);
            json!(format!("{number} {unit}"))
        })
        .boxed()
}

fn switch() -> BoxedStrategy<Value> {
    any::<bool>().prop_map(Value::from).boxed()
}

/// Switches that a kernel has.
fn possible_switches() -> BoxedStrategy<Map<String, Value>> {
    some_of(vec![
        ("mss", number([500, 9_000], "bytes")),
        ("initial_window", number([1, 100_000], "segments")),
        ("send_buffer", number([1 << 16, i32::MAX as u64], "bytes")),
        ("receive_buffer", number([1 << 16, i32::MAX as u64], "bytes")),
        ("sack", switch()),
        ("dsack", switch()),
        ("ack_compression", number([0, 10], "ms")),
        ("timestamps", switch()),
        ("window_scaling", switch()),
        ("delayed_ack", one_of(vec![json!(true), json!(false), json!("linux")])),
        ("reordering", number([1, 1000], "segments")),
        ("rto_min", number([1, 1000], "ms")),
        ("ecn", switch()),
        ("window_divisor", select(vec![1, 2, 4, 8, 16]).prop_map(Value::from).boxed()),
        ("slow_start_after_idle", switch()),
    ])
}

/// Any switches.
fn switches() -> BoxedStrategy<Map<String, Value>> {
    let others = some_of(vec![
        ("mss", number([16, 65_000], "bytes")),
        ("initial_ssthresh", one_of(vec![json!("unlimited"), json!("64 segments")])),
        ("send_buffer", number([1 << 16, 1 << 40], "bytes")),
        ("receive_buffer", number([1 << 16, 1 << 40], "bytes")),
        ("delayed_ack", number([1, 500_000_000], "ns")),
        ("recovery", one_of(vec![json!("rfc"), json!("tcp-linux"), json!("sack1")])),
        ("rto_min", number([1, 1_000_000_000], "ns")),
        ("rto_in_ticks", switch()),
        ("slow_start", one_of(vec![json!("standard"), json!("hystart"), json!("limited")])),
        ("window_divisor", (1u64..=16).prop_map(Value::from).boxed()),
        ("max_burst", one_of(vec![json!("unlimited"), json!("2 segments")])),
    ]);
    (possible_switches(), others)
        .prop_map(|(mut switches, others)| {
            switches.extend(others);
            switches
        })
        .boxed()
}

fn probability() -> BoxedStrategy<Value> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0, (0u32..60).prop_map(|k| 1.0 / (1u64 << k) as f64)]
        .prop_map(Value::from)
        .boxed()
}

/// A queue that a kernel has.
fn possible_queue() -> BoxedStrategy<Value> {
    let limit = prop_oneof![
        Just(json!("unlimited")),
        number([100, 100_000], "packets"),
        number([1 << 18, 1 << 40], "bytes"),
    ];
    let red = some_of(vec![
        ("min_threshold", number([5, 50], "packets")),
        ("max_threshold", number([51, 99], "packets")),
        ("max_probability", (0.001..=1.0).prop_map(Value::from).boxed()),
        ("weight", (4u32..9).prop_map(|k| json!(1.0 / f64::from(1u32 << k))).boxed()),
        ("ecn", switch()),
    ]);
    queue_of(limit.boxed(), red)
}

/// Any queue.
fn queue() -> BoxedStrategy<Value> {
    let limit = prop_oneof![
        number([1, u64::MAX / 2], "packets"),
        number([1 << 17, u64::MAX / 2], "bytes"),
        number([1, 10_000], "ms"),
    ];
    let red = some_of(vec![
        ("min_threshold", number([1, 1 << 40], "packets")),
        ("max_threshold", number([1, 1 << 50], "packets")),
        ("max_probability", probability()),
        ("weight", (0u32..40).prop_map(|k| json!(1.0 / (1u64 << k) as f64)).boxed()),
        ("gentle", switch()),
        ("ecn", switch()),
    ]);
    prop_oneof![possible_queue(), queue_of(limit.boxed(), red)].boxed()
}

fn queue_of(
    limit: BoxedStrategy<Value>,
    red: BoxedStrategy<Map<String, Value>>,
) -> BoxedStrategy<Value> {
    prop_oneof![
        limit.clone().prop_map(|limit| json!({ "limit": limit })),
        (limit, red).prop_map(|(limit, mut red)| {
            red.insert("kind".into(), json!("red"));
            red.insert("limit".into(), limit);
            red.entry("gentle").or_insert(json!(false));
            Value::Object(red)
        }),
    ]
    .boxed()
}

fn link(possible: bool) -> BoxedStrategy<Value> {
    let (rates, delay, queue) = match possible {
        true => ([100_000, 30_000_000_000], number([1, 10_000_000], "us"), possible_queue()),
        false => ([1, u64::MAX / 2], number([1, 1_000_000_000_000], "ns"), queue()),
    };
    let rate = prop_oneof![1 => Just(json!("unlimited")), 4 => number(rates, "bit/s")];
    let direction = select(vec!["forward", "reverse", "both"]);
    let loss = (probability(), direction).prop_map(
        |(probability, direction)| json!({ "probability": probability, "direction": direction }),
    );
    (rate, delay, queue, proptest::option::of(loss))
        .prop_map(|(rate, delay, queue, loss)| {
            let mut link = json!({ "rate": rate, "delay": delay, "queue": queue });
            if let Some(loss) = loss {
                link["loss"] = loss;
            }
            link
        })
        .boxed()
}

fn topology(possible: bool) -> BoxedStrategy<Value> {
    let link = || link(possible);
    let side = one_of(["both", "sources", "sinks"].map(Value::from).to_vec());
    let dumbbell =
        (link(), proptest::option::of(link()), side).prop_map(|(bottleneck, access, side)| {
            let mut found = json!({ "kind": "dumbbell", "bottleneck": bottleneck });
            if let Some(mut access) = access {
                access["side"] = side;
                found["access"] = access;
            }
            found
        });
    let chain = proptest::collection::vec(link(), 1..6)
        .prop_map(|links| json!({ "kind": "chain", "link": links }));
    let overheads = if possible { 0..=100u32 } else { 0..=65_535 };
    (prop_oneof![dumbbell, chain], overheads)
        .prop_map(|(mut topology, overhead)| {
            topology["frame_overhead"] = json!(format!("{overhead} bytes"));
            topology
        })
        .boxed()
}

fn flow(possible: bool) -> BoxedStrategy<Value> {
    let in_a_kernel = ["cubic", "reno", "bbr", "dctcp", "westwood+", "dcm+"].map(Value::from);
    let (names, counts, switches) = match possible {
        true => (in_a_kernel.to_vec(), vec![2, 3, 40], possible_switches()),
        false => {
            let names = algorithms().iter().map(|algorithm| json!(algorithm.name)).collect();
            (names, vec![2, 250], switches())
        }
    };
    let options: Vec<_> =
        SOCKET_OPTIONS.iter().map(|option| json!({ option.name: option.min.max(1) })).collect();
    let both_ways = if possible { one_of(vec![json!(false)]) } else { switch() };
    let own = some_of(vec![
        ("both_ways", both_ways),
        ("start", number([1, 9_000], "ms")),
        ("bytes", number([1, 1 << 40], "bytes")),
        ("app_rate", number([1_000, 1 << 40], "bit/s")),
        ("count", one_of(counts.into_iter().map(Value::from).collect())),
        ("linux_socket", one_of(options)),
    ]);
    let host = proptest::option::weighted(0.2, 0u32..4);
    (select(names), own, switches, host)
        .prop_map(|(cc, mut flow, switches, host)| {
            flow.insert("cc".into(), cc);
            match host {
                // Hosts have one stack, and DCTCP needs its own.
                Some(host) => {
                    flow.insert("cc".into(), json!("reno"));
                    flow.insert("from".into(), json!(format!("s{host}")));
                    flow.insert("to".into(), json!(format!("d{host}")));
                }
                None => flow.extend(switches),
            }
            Value::Object(flow)
        })
        .boxed()
}

fn document(possible: bool) -> BoxedStrategy<Value> {
    let linux = some_of(vec![
        ("memory", number([1 << 32, 1 << 40], "bytes")),
        ("sysctl", one_of(vec![json!({ "net.ipv4.tcp_ecn": 1, "net.ipv4.tcp_mem": "1 2 3" })])),
        ("module", one_of(vec![json!({ "tcp_cubic.hystart": 0 })])),
    ]);
    let (presets, switches) = match possible {
        true => (vec!["linux-6.1"], possible_switches()),
        false => (fairway_tcp::PRESETS.iter().map(|preset| preset.name).collect(), switches()),
    };
    let flows = proptest::collection::vec(flow(possible), 1..5);
    (select(presets), switches, topology(possible), flows, linux)
        .prop_map(|(preset, mut stack, topology, flows, linux)| {
            stack.insert("preset".into(), json!(preset));
            json!({
                "duration": "10 s", "stack": stack, "topology": topology, "flow": flows,
                "linux": linux,
            })
        })
        .boxed()
}

/// Whether a plan is whole: places that exist, devices that have been made, names that fit.
fn check_plan(plan: &Plan) {
    let namespaces: BTreeSet<_> = plan.namespaces.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(namespaces.len(), plan.namespaces.len(), "namespaces have names of their own");
    let devices: BTreeSet<_> = plan.devices.iter().map(|(n, d)| (*n, d.as_str())).collect();
    assert_eq!(devices.len(), plan.devices.len(), "devices have names of their own");
    assert_eq!(devices.len(), 2 * plan.links.len(), "a link has two ends");
    assert!(devices.iter().all(|(_, device)| device.len() <= DEVICE_NAME), "{devices:?}");
    for (index, namespace) in plan.namespaces.iter().enumerate() {
        for line in namespace.ip.iter().chain(&namespace.tc) {
            assert!(!line.contains('\n'), "{line}");
            let device = line.split(" dev ").nth(1).and_then(|rest| rest.split(' ').next());
            let device = device.expect("every line is about a device");
            assert!(device == "lo" || devices.contains(&(index, device)), "{line}");
        }
        let roots = namespace.tc.iter().filter(|line| line.contains(" root "));
        let rooted: BTreeSet<_> = roots.clone().map(|line| line.split(" root ").next()).collect();
        assert_eq!(rooted.len(), roots.count(), "a device has one root: {:?}", namespace.tc);
    }
    for flow in &plan.flows {
        assert!(flow.source < plan.namespaces.len() && flow.sink < plan.namespaces.len());
        let address = format!("address add {}/32 dev lo", flow.address);
        assert!(plan.namespaces[flow.sink].ip.contains(&address), "{address}");
        assert!(flow.port < 32_768, "ports from 32768 on are the kernel's to give");
    }
    let ports: BTreeSet<_> = plan.flows.iter().map(|flow| flow.port).collect();
    assert_eq!(ports.len(), plan.flows.len(), "a port names its flow");
    let places = plan.queues.iter().map(|queue| (queue.namespace, &queue.device));
    let wires = plan.queues.iter().flat_map(|queue| queue.wires.iter().map(|(n, d)| (*n, d)));
    for (namespace, device) in places.chain(wires) {
        assert!(devices.contains(&(namespace, device.as_str())), "{device}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn any_experiment_is_laid_out_or_refused(document in document(false)) {
        let Ok(experiment) = on_tc(&document) else { return Ok(()) };
        match layout(&experiment) {
            Ok(layout) => check_plan(&layout.plan),
            Err(errors) => {
                assert!(!errors.errors.is_empty() && errors.errors.len() <= MOST_REFUSALS);
                for error in &errors.errors {
                    assert!(!error.path.is_empty() && !error.message.is_empty());
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
            }
        }
    }

    #[test]
    fn what_a_kernel_can_do_is_laid_out(document in document(true)) {
        let experiment = on_tc(&document).unwrap_or_else(|errors| panic!("{errors}"));
        match layout(&experiment) {
            Ok(layout) => check_plan(&layout.plan),
            Err(errors) => return Err(TestCaseError::fail(errors.to_string())),
        }
    }
}
