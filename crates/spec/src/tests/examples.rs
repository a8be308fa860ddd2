//! The example files: three run, the others ask for what this version does not have.

use fairway_cc::Selection;
use fairway_net::{DropTailConfig, QdiscConfig};
use fairway_tcp::{DelayedAck, PRESETS};
use fairway_units::{Bytes, Duration, Rate, Time};

use super::{experiment, planned};
use crate::{
    Access, Dealing, Limit, Link, Pattern, Shape, Source, Striping, Workload, from_document,
};

const SINGLE: &str = include_str!("../../../../examples/single.toml");
const PAIR: &str = include_str!("../../../../examples/pair.toml");
const LOSSY: &str = include_str!("../../../../examples/lossy.toml");
const PARALLEL: &str = include_str!("../../../../examples/parallel.toml");
const TCP_UDP: &str = include_str!("../../../../examples/tcp-udp.toml");
const WLAN: &str = include_str!("../../../../examples/wlan.toml");

fn link(id: &str, mbps: u64, delay: Duration, limit: Limit) -> Link {
    Link {
        id: id.to_owned(),
        rate: Rate::from_bps(mbps * 1_000_000),
        delay,
        queue: Box::new(QdiscConfig::DropTail(DropTailConfig { limit })),
        loss: None,
        reverse: None,
        extras: None,
    }
}

#[test]
fn single() {
    let single = experiment(SINGLE);
    assert_eq!(single.title, "One CUBIC flow over 10 Mbit/s, 50 ms, one BDP of buffer");
    assert_eq!((single.duration, single.seed), (Duration::from_secs(100), 1));
    assert_eq!(single.topology.frame_overhead, Bytes::new(14));
    let bottleneck = link("bottleneck", 10, Duration::from_millis(25), Limit::Packets(42));
    assert_eq!(single.topology.shape, Shape::Dumbbell { bottleneck, access: None });
    let [flow] = &single.flows[..] else { panic!("one flow") };
    assert_eq!(flow.id, "cubic#0");
    let cubic = Selection { name: "cubic".to_owned(), variant: None, params: Vec::new() };
    assert_eq!(flow.cc, cubic);
    // 1500 less 20, 20 and 12.
    assert_eq!(flow.stack.options.mss, 1448);
    // 256 x 2^20.
    assert_eq!(flow.stack.buffers.send_buffer, 268_435_456);
    assert_eq!(flow.stack.buffers.receive_buffer, 268_435_456);
    assert_eq!((flow.start, flow.stop, flow.source), (Time::ZERO, None, Source::Bulk));
    assert_eq!(single.measure.from, Time::from_nanos(10_000_000_000));
    assert_eq!(single.measure.to, Time::from_nanos(100_000_000_000));
    assert_eq!(single.measure.sample, Duration::from_millis(100));
}

#[test]
fn pair() {
    let pair = experiment(PAIR);
    let bottleneck = link("bottleneck", 622, Duration::from_millis(48), Limit::Packets(1555));
    let access = link("access", 1000, Duration::from_millis(1), Limit::Unlimited);
    let access = Some(Access { link: access, sides: [true, true] });
    assert_eq!(pair.topology.shape, Shape::Dumbbell { bottleneck, access });
    let ids: Vec<_> = pair.flows.iter().map(|flow| (flow.id.as_str(), flow.hosts[0])).collect();
    assert_eq!(ids, [("bic#0", 0), ("cubic#1", 1)]);
    let starts: Vec<_> = pair.flows.iter().map(|flow| flow.start.as_nanos()).collect();
    assert_eq!(starts, [100_000_000, 50_000_000_000]);
    let preset = PRESETS.iter().find(|preset| preset.name == "ns2-tcp-linux").unwrap();
    assert_eq!(pair.flows[0].stack, (preset.stack)());
    assert_eq!(pair.flows[0].stack.options.mss, 1000);
    assert_eq!(pair.flows[0].stack.acks.delayed_ack, DelayedAck::Off);
}

#[test]
fn a_document_is_the_file_as_json() {
    let plan = planned(PAIR);
    assert_eq!(plan.title, "BIC, then CUBIC, on one 622 Mbit/s path");
    assert!(plan.axes.is_empty());
    let [point] = &plan.points[..] else { panic!("one point") };
    let expected: serde_json::Value = serde_json::from_str(
        r#"{
            "title": "BIC, then CUBIC, on one 622 Mbit/s path",
            "duration": "500 s",
            "seed": 1,
            "stack": { "preset": "ns2-tcp-linux", "mss": "1000 bytes" },
            "topology": {
                "kind": "dumbbell",
                "bottleneck": {
                    "rate": "622 Mbit/s",
                    "delay": "48 ms",
                    "queue": { "kind": "droptail", "limit": "1555 packets" }
                },
                "access": { "rate": "1 Gbit/s", "delay": "1 ms" }
            },
            "flow": [{ "cc": "bic", "start": "0.1 s" }, { "cc": "cubic", "start": "50 s" }],
            "measure": { "window": ["250 s", "500 s"], "sample": "100 ms" }
        }"#,
    )
    .unwrap();
    assert_eq!(point.document, expected);
    assert_eq!(point.repetition, 0);
}

#[test]
fn lossy() {
    // Five algorithms, eleven probabilities, ten repetitions.
    let plan = planned(LOSSY);
    assert_eq!(plan.points.len(), 550);
    let (without_sweep, _) = LOSSY.split_once("[sweep]").unwrap();
    let lossy = experiment(without_sweep);
    let [flow] = &lossy.flows[..] else { panic!("one flow") };
    assert_eq!(flow.source, Source::File { bytes: Bytes::new(100_000_000) });
    let stack = &flow.stack;
    // 1500 less 20, 20 and 12; 2 x 2^20.
    assert_eq!(
        (stack.options.mss, stack.buffers.send_buffer, stack.buffers.receive_buffer),
        (1448, 2_097_152, 2_097_152)
    );
    assert_eq!((stack.rto.rto_min, stack.window.initial_window), (Duration::from_secs(1), 1));
}

#[test]
fn parallel_deals_its_data_to_ten_connections() {
    // Five algorithms, seven numbers of connections, four repetitions.
    assert_eq!(planned(PARALLEL).points.len(), 140);
    let (without_sweep, _) = PARALLEL.split_once("[sweep]").unwrap();
    let parallel = experiment(without_sweep);
    assert_eq!(parallel.flows.len(), 10);
    let ids: Vec<_> = parallel.flows.iter().map(|flow| (flow.id.as_str(), flow.hosts[0])).collect();
    assert_eq!((ids[0], ids[9]), (("parallel/0", 0), ("parallel/9", 0)));
    let [application] = &parallel.applications[..] else { panic!("one application") };
    assert_eq!((application.id.as_str(), application.connections.clone()), ("parallel", 0..10));
    let chunk = Bytes::new(65_536);
    let striping =
        Striping { chunk, dealing: Dealing::Static, bytes: None, program: None, mptcp: false };
    assert_eq!(application.workload, Workload::Striped(striping));
    assert_eq!(parallel.datagrams[0].id, "background");
}

#[test]
fn poisson_traffic_of_parallel() {
    let (without_sweep, _) = PARALLEL.split_once("[sweep]").unwrap();
    let one = without_sweep.replace("connections = 10", "connections = 1 ");
    let [background] = &experiment(&one).datagrams[..] else { panic!("one datagram flow") };
    assert_eq!(
        (background.id.as_str(), background.behind, background.hosts[0]),
        ("background", 1, 1)
    );
    assert_eq!((background.pattern, background.bytes), (Pattern::Poisson, None));
    assert_eq!((background.rate, background.packet_bytes), (Rate::from_bps(1_000_000), 1000));
    assert_eq!((background.start_jitter, background.precedence), (Duration::ZERO, 0));
}

#[test]
fn tcp_udp() {
    // Ten counts, three repetitions each.
    let plan = planned(TCP_UDP);
    assert_eq!(plan.points.len(), 30);
    let largest = from_document(&plan.points[29].document).unwrap();
    assert_eq!((largest.flows.len(), largest.datagrams.len()), (1, 200));
    let last = &largest.datagrams[199];
    assert_eq!((last.id.as_str(), last.behind, last.hosts[0]), ("udp/199", 1, 200));
    assert_eq!((last.pattern, last.bytes), (Pattern::Constant, Some(Bytes::new(20_000_000))));
    assert_eq!((last.start, last.stop), (Time::from_nanos(3_000_000_000), None));
    // iperf's 1470 bytes and 28 of headers: 11760 bits at 100 Mbit/s are 117.6 us.
    assert_eq!((last.packet_bytes, last.start_jitter), (1498, Duration::from_nanos(117_600)));
}

#[test]
fn wlan() {
    let wlan = experiment(WLAN);
    let Shape::Wlan(cell) = &wlan.topology.shape else { panic!("a WLAN") };
    assert_eq!(cell.cell.stations.len(), 5);
    let [download, upload] = &wlan.flows[..] else { panic!("two flows") };
    // Segments of 1448 bytes: 30 and 10.
    assert_eq!(
        (download.stack.buffers.receive_buffer, upload.stack.buffers.receive_buffer),
        (43_440, 14_480)
    );
    assert_eq!(download.stack.acks.delayed_ack, DelayedAck::Off);
    // The server is host 0, and stations follow.
    assert_eq!((download.hosts, upload.hosts), ([0, 1], [2, 0]));
}
