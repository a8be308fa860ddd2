//! The network alone does with the same packets what it does in a simulation.

use std::path::Path;

use fairway_net::Ecn;
use fairway_schema::QueueSeries;
use fairway_sim::{Emulated, Emulator, LinkSample, Outcome, Sent};
use fairway_spec::Experiment;
use fairway_units::Time;

use crate::common::{experiment, run_text};

/// Two flows of datagrams of 1000 bytes, 972 of them payload: one every 1.5 ms from 0.1 ms on, and one
/// every 2.5 ms from 0.2 ms on, for 4 s.
const FLOWS: &str = r#"
    duration = "5 s"
    seed = 4

    [measure]
    window = ["1 s", "4 s"]
    losses = true

    [[flow]]
    id = "a"
    kind = "cbr"
    rate = "5.184 Mbit/s"
    packet = "1000 bytes"
    start = "100 us"
    stop = "4 s"

    [[flow]]
    id = "b"
    kind = "cbr"
    rate = "3.1104 Mbit/s"
    packet = "1000 bytes"
    start = "200 us"
    stop = "4 s"
"#;

/// When each packet leaves, and by which flow, in nanoseconds.
fn departures() -> Vec<(u64, u32)> {
    let of = |flow: u32, start_us: u64, period_us: u64| {
        (0..)
            .map(move |i| start_us + i * period_us)
            .take_while(|us| *us < 4_000_000)
            .map(move |us| (us * 1000, flow))
    };
    let mut all: Vec<_> = of(0, 100, 1500).chain(of(1, 200, 2500)).collect();
    all.sort_unstable();
    all
}

fn emulate(experiment: Experiment) -> (Emulated, Vec<LinkSample>, Vec<Outcome>) {
    let end = Time::ZERO + experiment.duration;
    let mut emulator = Emulator::new(experiment, Path::new("/nowhere")).unwrap();
    let (mut samples, mut outcomes) = (Vec::new(), Vec::new());
    for (at_ns, path) in departures() {
        emulator.advance(Time::from_nanos(at_ns)).unwrap();
        let sent = Sent {
            path,
            wire_bytes: 1000,
            payload_bytes: 972,
            has_payload: true,
            ecn: Ecn::NotEct,
            precedence: 0,
            is_held: false,
        };
        emulator.send(sent, None);
        outcomes.extend(emulator.outcomes());
    }
    emulator.advance(end).unwrap();
    outcomes.extend(emulator.outcomes());
    samples.extend(emulator.samples());
    (emulator.finish().unwrap(), samples, outcomes)
}

/// Compares every figure, sample and loss.
fn assert_same(network: &str) {
    let text = format!("{FLOWS}\n{network}");
    let run = run_text(&text);
    let (emulated, samples, outcomes) = emulate(experiment(&text));
    assert_eq!(emulated.links, run.summary.links, "{network}");
    assert_eq!(emulated.wlan, run.summary.wlan, "{network}");
    let losses = emulated.losses.unwrap();
    let expected = run.losses.as_ref().unwrap();
    assert_eq!((&losses.t_s, &losses.cause), (&expected.t_s, &expected.cause), "{network}");
    assert_eq!(of_samples(&samples), of_series(&run.queues), "{network}");
    let [a, b] = [0, 1].map(|flow| {
        let [from, to] = [0, 1].map(|end: usize| emulated.window[end][flow]);
        (to.arrivals - from.arrivals, to.missing - from.missing)
    });
    let rows = run.summary.flows.iter().map(|flow| {
        // The receiver does not count copies among what it received.
        let found = flow.datagrams.as_ref().unwrap();
        (found.received_packets + found.duplicated_packets, flow.lost_segments)
    });
    assert_eq!(rows.collect::<Vec<_>>(), [a, b], "{network}");
    let arrived = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Arrived { .. }));
    let arrivals: u64 = emulated.paths.iter().map(|path| path.arrivals).sum();
    assert_eq!(arrived.count() as u64, arrivals);
}

type Row = (u32, f64, f64, u64, u64);

fn of_samples(samples: &[LinkSample]) -> Vec<Row> {
    let row = |sample: &LinkSample| {
        let backlog = (sample.backlog_packets as f64, sample.backlog_bytes as f64);
        (sample.link, backlog.0, backlog.1, sample.drops, sample.losses)
    };
    samples.iter().map(row).collect()
}

fn of_series(series: &QueueSeries) -> Vec<Row> {
    let row = |i: usize| {
        let backlog = (series.backlog_packets[i], series.backlog_bytes[i]);
        (series.link[i], backlog.0, backlog.1, series.drops[i], series.losses[i])
    };
    (0..series.t_s.len()).map(row).collect()
}

#[test]
fn a_drop_tail_queue_that_overflows() {
    assert_same(
        r#"
        [topology]
        kind = "dumbbell"
        [topology.bottleneck]
        rate = "8 Mbit/s"
        delay = "10 ms"
        queue = { limit = "20 packets" }
        "#,
    );
}

#[test]
fn queues_that_draw_random_numbers_and_links_that_lose_double_and_reorder() {
    for queue in
        ["red", "codel", "fq_codel", "cobalt", "pie", "fq_pie", "dualpi2", "sfq", "drr", "prio"]
    {
        assert_same(&format!(
            r#"
            [topology]
            kind = "dumbbell"
            [topology.bottleneck]
            rate = "8 Mbit/s"
            delay = "10 ms"
            queue = {{ kind = "{queue}" }}
            loss = {{ kind = "gilbert-elliott", p = 0.01, r = 0.3 }}
            duplication = {{ probability = 0.01 }}
            corruption = {{ probability = 0.01, unit = "packet" }}
            "#
        ));
    }
}

#[test]
fn a_cell_that_is_shared() {
    let network = r#"
        [topology]
        kind = "wlan"
        standard = "802.11b"
        stations = 2
        server = { rate = "100 Mbit/s", delay = "0.1 ms" }
        "#;
    let flows = FLOWS.replace("kind =", "to = \"server\"\nkind =");
    let flows = flows.replace("id = \"a\"", "id = \"a\"\nfrom = \"sta0\"");
    let flows = flows.replace("id = \"b\"", "id = \"b\"\nfrom = \"sta1\"");
    let text = format!("{flows}\n{network}");
    let run = run_text(&text);
    let (emulated, ..) = emulate(experiment(&text));
    assert_eq!((emulated.links, emulated.wlan), (run.summary.links, run.summary.wlan));
}
