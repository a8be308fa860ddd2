//! Records made by hand, and what they come to.

use std::fs;
use std::path::{Path, PathBuf};

use fairway_guest::plan::{Datagrams, Flow, Pattern, Plan, Queue};
use fairway_guest::record::{
    DatagramTotals, FlowMark, FlowSample, FlowTotals, GivenUp, QueueMark, QueueSample, QueueTotals,
    Totals,
};
use fairway_linux::{Broken, Collected, collect};
use fairway_schema::Values;
use fairway_schema::tcp_info::FIELDS;
use fairway_spec::{Experiment, from_document, plan};

/// A length of `struct tcp_info`: that of Linux 6.1.
const RECORD_BYTES: usize = 232;

const EXPERIMENT: &str = r#"
title    = "By hand"
duration = "4 s"
seed     = 9

[topology]
kind = "dumbbell"

[topology.bottleneck]
rate  = "10 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", limit = "20 packets" }

[[flow]]
cc    = "cubic"

[[flow]]
cc    = "reno"
start = "0.5 s"
bytes = "1 MB"

[measure]
window = ["1 s", "3 s"]
sample = "1 s"
"#;

fn experiment() -> Experiment {
    let points = plan(EXPERIMENT, "by hand").unwrap().points;
    from_document(&points[0].document).unwrap()
}

fn queue(id: &str) -> Queue {
    Queue {
        id: id.into(),
        namespace: 0,
        device: "veth0".into(),
        rate_bps: Some(10_000_000),
        overhead_bytes: 0,
        counted_overhead_bytes: 14,
        holds_transmission: true,
        keeps_order: true,
        wires: Vec::new(),
    }
}

fn flow(id: &str) -> Flow {
    Flow {
        id: id.into(),
        place: 0,
        is_driven: false,
        both_ways: false,
        is_sampled: true,
        source_address: [10, 0, 0, 1].into(),
        source: 0,
        sink: 0,
        address: [10, 64, 0, 1].into(),
        port: 10_000,
        cc: "reno".into(),
        start_ns: 0,
        stop_ns: None,
        bytes: None,
        rate_bps: None,
        mss: 1448,
        options: Vec::new(),
        subflow: None,
    }
}

fn datagrams(id: &str, behind: usize) -> Datagrams {
    Datagrams {
        id: id.into(),
        behind,
        source: 0,
        sink: 0,
        address: [10, 64, 0, 1].into(),
        port: 10_002,
        pattern: Pattern::Constant,
        rate_bps: 1_000_000,
        payload_bytes: 1470,
        bytes: None,
        start_ns: 0,
        stop_ns: None,
        random: (9, String::new()),
        send_buffer: None,
    }
}

fn the_plan() -> Plan {
    Plan {
        duration_ns: 4_000_000_000,
        sample_ns: 1_000_000_000,
        window_ns: [1_000_000_000, 3_000_000_000],
        modules: Vec::new(),
        namespaces: Vec::new(),
        sysctls: Vec::new(),
        links: Vec::new(),
        devices: Vec::new(),
        flows: ["cubic#0", "reno#1"].map(flow).into(),
        experiment: serde_json::Value::Null,
        datagrams: Vec::new(),
        transfers: Vec::new(),
        hosts: Vec::new(),
        programs: Vec::new(),
        keep: Vec::new(),
        date_s: None,
        queues: vec![queue("bottleneck"), queue("bottleneck/reverse")],
        capture: None,
        is_emulated: false,
    }
}

fn totals() -> Totals {
    let first = FlowTotals {
        window: [
            FlowMark { delivered_bytes: 1_000_000, segments: 700, ..FlowMark::default() },
            FlowMark {
                delivered_bytes: 3_000_000,
                segments: 2_100,
                retransmissions: 7,
                reductions: 3,
                timeouts: 1,
                arrivals: 1_400,
                wire_bytes: 2_100_000,
                delay_ns: 28_000_000_000,
                missing: 8,
                ..FlowMark::default()
            },
        ],
        arrivals: 2_800,
        established_ns: Some(20_000_000),
        ..FlowTotals::default()
    };
    let second = FlowTotals {
        arrivals: 691,
        completed_ns: Some(2_500_000_000),
        established_ns: Some(520_000_000),
        ..FlowTotals::default()
    };
    let forward = QueueTotals {
        window: [
            QueueMark { packets: 100, bytes: 151_400, drops: 1, losses: 0 },
            QueueMark { packets: 1_100, bytes: 1_665_400, drops: 9, losses: 2 },
        ],
        waiting_ns: 15_000_000_000,
        p99_sojourn_ns: Some(24_000_000),
    };
    Totals {
        kernel: "6.1.192".into(),
        watched: true,
        states_told: true,
        lost_states: 0,
        flows: vec![first, second],
        datagrams: Vec::new(),
        queues: vec![forward, QueueTotals::default()],
        applications: Vec::new(),
        transfers: Vec::new(),
        programs: Vec::new(),
        ended_ns: None,
        unseen_packets: 0,
    }
}

/// A record with what a time series needs.
fn tcp_info(
    cwnd: u32,
    ssthresh: u32,
    rtt_us: u32,
    [unacked, sacked, lost, retrans]: [u32; 4],
) -> Vec<u8> {
    let mut record = vec![0; RECORD_BYTES];
    let mut put = |at: usize, value: u32| record[at..at + 4].copy_from_slice(&value.to_le_bytes());
    put(24, unacked);
    put(28, sacked);
    put(32, lost);
    put(36, retrans);
    put(68, rtt_us);
    put(76, ssthresh);
    put(80, cwnd);
    put(192, 10 * cwnd); // delivered
    record
}

fn flow_samples() -> Vec<FlowSample> {
    let infinite = 0x7fff_ffff;
    let sample = |s: u64, flow, delivered_bytes, tcp_info| FlowSample {
        t_ns: s * 1_000_000_000,
        flow,
        delivered_bytes,
        tcp_info,
    };
    vec![
        sample(1, 0, 1_000_000, tcp_info(10, infinite, 0, [10, 0, 0, 0])),
        sample(1, 1, 0, Vec::new()),
        sample(2, 0, 1_500_000, tcp_info(20, 15, 30_000, [20, 5, 3, 1])),
        sample(2, 1, 500_000, tcp_info(4, infinite, 20_000, [1, 2, 0, 0])),
        sample(3, 0, 3_000_000, tcp_info(30, 15, 50_000, [30, 0, 0, 0])),
        sample(3, 1, 1_000_000, tcp_info(8, infinite, 20_000, [0, 0, 0, 0])),
    ]
}

fn queue_samples() -> Vec<QueueSample> {
    let sample = |s: u64, queue, backlog_packets, packets| QueueSample {
        t_ns: s * 1_000_000_000,
        queue,
        backlog_packets,
        backlog_bytes: 1_514 * u64::from(backlog_packets),
        packets,
        bytes: 1_514 * packets,
        drops: s,
        losses: 2 * s,
    };
    vec![sample(1, 0, 0, 100), sample(1, 1, 1, 0), sample(2, 0, 5, 600), sample(2, 1, 0, 0)]
}

/// A directory of one test, gone when the test is over.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fairway-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    fn with_records(name: &str, totals: &Totals) -> Self {
        let directory = Directory::new(name);
        let (mut flows, mut queues) = (Vec::new(), Vec::new());
        flow_samples().iter().for_each(|sample| sample.write(&mut flows).unwrap());
        queue_samples().iter().for_each(|sample| sample.write(&mut queues).unwrap());
        directory.write("plan.json", &serde_json::to_vec(&the_plan()).unwrap());
        directory.write("totals.json", &serde_json::to_vec(totals).unwrap());
        directory.write("flows.bin", &flows);
        directory.write("queues.bin", &queues);
        directory
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.join(name), bytes).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap()
    }

    fn collect(&self) -> Result<Collected, String> {
        let path: &Path = &self.0;
        collect(&experiment(), path).map_err(|error| error.to_string())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn flows_are_summed_up_over_the_window() {
    let run = Directory::with_records("flows", &totals()).collect().unwrap();
    let flow = &run.summary.flows[0];
    assert_eq!((run.summary.backend, run.summary.seed), ("linux", 9));
    assert_eq!(run.summary.packets, 2_800 + 691);
    // 2 MB and 2.1 MB in 2 s.
    assert_eq!((flow.goodput_bps, flow.throughput_bps), (8e6, 8.4e6));
    assert_eq!((flow.sent_segments, flow.retransmitted_segments), (1_400, Some(7)));
    assert_eq!((flow.lost_segments, flow.window_reductions, flow.timeouts), (8, Some(3), Some(1)));
    // 28 s over 1400 packets.
    assert_eq!(flow.mean_one_way_delay_s, Some(0.02));
    // (10 + 20 + 30)/3 segments; the first sample has no round-trip time.
    assert_eq!((flow.mean_cwnd_segments, flow.mean_srtt_s), (Some(20.0), Some(0.04)));
    assert_eq!((flow.fct_s, run.summary.flows[1].fct_s), (None, Some(2.0)));
    assert_eq!(run.summary.flows[1].mean_cwnd_segments, Some(6.0));
    assert_eq!(run.summary.metrics.loss_ratio, Some(8.0 / 1_400.0));
}

#[test]
fn changes_of_state_that_the_kernel_lost_are_told() {
    let run = Directory::with_records("told", &totals()).collect().unwrap();
    assert_eq!(run.remarks, [""; 0]);
    let totals = Totals { lost_states: 12, ..totals() };
    let run = Directory::with_records("lost", &totals).collect().unwrap();
    assert_eq!(
        run.remarks,
        ["12 changes of congestion state were lost in the kernel's trace buffer: \
          window_reductions and timeouts are too low by at most as many"]
    );
}

#[test]
fn links_are_summed_up_over_the_window() {
    let run = Directory::with_records("links", &totals()).collect().unwrap();
    let link = &run.summary.links[0];
    assert_eq!(run.link_ids, ["bottleneck", "bottleneck/reverse"]);
    // 1000 packets of 1514 bytes by the queue's count, 1500 on this link: 12 Mbit of 20 Mbit.
    assert_eq!(link.utilisation, 0.6);
    assert_eq!(run.summary.metrics.utilisation, Some(0.6));
    assert_eq!((link.drops, link.losses), (8, 2));
    // 15 s waited in 2 s.
    assert_eq!((link.mean_backlog_packets, link.p99_sojourn_s), (7.5, Some(0.024)));
}

#[test]
fn series_have_the_words_of_the_simulator() {
    let run = Directory::with_records("series", &totals()).collect().unwrap();
    let series = &run.series;
    assert_eq!(series.t_s, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    assert!(series.cwnd_segments[1].is_nan(), "no socket");
    assert!(series.ssthresh_segments[0].is_nan() && series.srtt_s[0].is_nan(), "none yet");
    assert_eq!((series.ssthresh_segments[2], series.srtt_s[2]), (15.0, 0.03));
    // 20 sent, 5 and 3 of them gone, 1 again; never below nothing.
    assert_eq!(series.pipe_segments, [10.0, 0.0, 13.0, 0.0, 30.0, 0.0]);
    assert_eq!(series.goodput_bps, [8e6, 0.0, 4e6, 4e6, 12e6, 4e6]);
    // Of five packets one is in transmission; 1500 bytes each on the link.
    assert_eq!(run.queues.backlog_packets, [0.0, 0.0, 4.0, 0.0]);
    assert_eq!(run.queues.backlog_bytes, [0.0, 0.0, 6_000.0, 0.0]);
    assert_eq!(run.queues.throughput_bps, [1.2e6, 0.0, 6e6, 0.0]);
    assert_eq!((run.queues.drops[2], run.queues.losses[2]), (2, 4));
}

#[test]
fn tcp_info_has_rows_for_sockets_only() {
    let run = Directory::with_records("info", &totals()).collect().unwrap();
    assert_eq!(run.tcp_info.t_s, [1.0, 2.0, 2.0, 3.0, 3.0]);
    assert_eq!(run.tcp_info.flow, [0, 0, 1, 0, 1]);
    let at = FIELDS.iter().position(|field| field.name == "snd_cwnd_segments").unwrap();
    assert_eq!(run.tcp_info.columns[at], Values::Count(vec![10, 20, 4, 30, 8]));
}

#[test]
fn datagrams_stand_where_the_experiment_has_them() {
    let text = EXPERIMENT.replacen(
        "[[flow]]\ncc    = \"reno\"",
        "[[flow]]\nid = \"udp\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n[[flow]]\ncc    = \"reno\"",
        1,
    );
    let points = plan(&text, "by hand").unwrap().points;
    let experiment = from_document(&points[0].document).unwrap();
    let udp = DatagramTotals {
        window: [
            FlowMark { segments: 100, ..FlowMark::default() },
            FlowMark {
                delivered_bytes: 132_300,
                segments: 200,
                arrivals: 90,
                wire_bytes: 134_820,
                delay_ns: 1_800_000_000,
                missing: 10,
                reordered: 2,
                duplicated: 3,
                ..FlowMark::default()
            },
        ],
        arrivals: 95,
        jitter_ns: Some(1_000_000),
        delays_ns: [Some(20_000_000), Some(30_000_000), None],
        ..DatagramTotals::default()
    };
    let totals = Totals { datagrams: vec![udp], ..totals() };
    let directory = Directory::with_records("datagrams", &totals);
    let with_datagrams = Plan { datagrams: vec![datagrams("udp", 1)], ..the_plan() };
    directory.write("plan.json", &serde_json::to_vec(&with_datagrams).unwrap());
    let samples = flow_samples().into_iter().flat_map(|sample| {
        let udp = FlowSample { flow: 1, tcp_info: Vec::new(), ..sample.clone() };
        match sample.flow {
            0 => vec![sample, udp],
            _ => vec![FlowSample { flow: 2, ..sample }],
        }
    });
    let mut flows = Vec::new();
    samples.for_each(|sample| sample.write(&mut flows).unwrap());
    directory.write("flows.bin", &flows);
    let run = collect(&experiment, &directory.0).unwrap();
    assert_eq!(
        run.flow_ids,
        ["cubic#0", "udp", "reno#2"].map(str::to_owned).map(|id| id.replace("#2", "#1"))
    );
    let udp = &run.summary.flows[1];
    assert_eq!((udp.id.as_str(), &udp.cc, udp.window_reductions), ("udp", &None, None));
    // 132300 and 134820 bytes in 2 s; 10 of 100 packets.
    assert_eq!((udp.goodput_bps, udp.throughput_bps), (529_200.0, 539_280.0));
    assert_eq!((udp.sent_segments, udp.lost_segments), (100, 10));
    assert_eq!(udp.mean_one_way_delay_s, Some(0.02));
    let received = udp.datagrams.as_ref().unwrap();
    assert_eq!(
        (received.kind, received.received_packets, received.loss_ratio),
        ("cbr", 90, Some(0.1))
    );
    assert_eq!((received.reordered_packets, received.duplicated_packets), (2, 3));
    assert_eq!((received.jitter_s, received.p50_one_way_delay_s), (Some(0.001), Some(0.02)));
    assert_eq!((received.p95_one_way_delay_s, received.p99_one_way_delay_s), (Some(0.03), None));
    // The windows are of connections, and metrics compare these.
    assert_eq!(run.summary.flows[2].mean_cwnd_segments, Some(6.0));
    assert_eq!(run.summary.metrics.loss_ratio, Some(8.0 / 1_400.0));
    assert_eq!(run.summary.packets, 2_800 + 691 + 95);
    // Fewer than the plan has.
    let none = Totals { datagrams: Vec::new(), ..totals };
    directory.write("totals.json", &serde_json::to_vec(&none).unwrap());
    assert!(collect(&experiment, &directory.0).unwrap_err().to_string().contains("another number"));
}

#[test]
fn without_a_watch_figures_are_estimates() {
    let mut totals = Totals { watched: false, ..totals() };
    let mark = &mut totals.flows[0].window[1];
    (mark.arrivals, mark.wire_bytes, mark.missing, mark.delay_ns) = (0, 0, 0, 0);
    let run = Directory::with_records("estimates", &totals).collect().unwrap();
    let flow = &run.summary.flows[0];
    // 2 MB are 1382 segments of 1448 bytes, with 52 bytes of headers each.
    assert_eq!(flow.throughput_bps, (2_000_000 + 1_382 * 52) as f64 * 4.0);
    assert_eq!((flow.lost_segments, flow.mean_one_way_delay_s), (7, None));
    // Samples at 1 s and 2 s: none and four.
    assert_eq!(run.summary.links[0].mean_backlog_packets, 2.0);
    // The last samples: 300 and 80 delivered.
    assert_eq!(run.summary.packets, 380);
}

#[test]
fn a_connection_that_the_guest_fails_to_work_is_an_error() {
    let mut totals = totals();
    totals.flows[1].error = Some("source: Cannot allocate memory".into());
    let error = Directory::with_records("failed", &totals).collect().unwrap_err();
    assert!(error.starts_with("flow reno#"), "{error}");
    assert!(error.ends_with("source: Cannot allocate memory"), "{error}");
}

#[test]
fn a_connection_that_the_kernel_gives_up_is_a_result() {
    let collect = |totals: &Totals| Directory::with_records("broken", totals).collect().unwrap();
    assert_eq!(collect(&totals()).broken, []);
    let given_up =
        GivenUp { at_ns: 2_750_000_000, end: "source".into(), errno: "ETIMEDOUT".into() };
    let mut late = totals();
    late.flows[0].given_up = Some(given_up.clone());
    let run = collect(&late);
    let expected = Broken {
        flow: "cubic#0".into(),
        established_s: Some(0.02),
        given_up_s: Some(2.75),
        end: Some("source".into()),
        errno: Some("ETIMEDOUT".into()),
    };
    assert_eq!(run.broken.as_slice(), std::slice::from_ref(&expected));
    assert_eq!(run.summary.flows[0].goodput_bps, 8e6, "what it had done before counts");
    let mut never = totals();
    never.flows[0].established_ns = None;
    let still_trying =
        Broken { established_s: None, given_up_s: None, end: None, errno: None, ..expected };
    assert_eq!(collect(&never).broken, [still_trying]);
}

#[test]
fn a_handshake_that_a_command_cut_short_is_no_failure() {
    let broken = |ended_ns| {
        let mut totals = totals();
        totals.flows[1].established_ns = None;
        totals.ended_ns = ended_ns;
        Directory::with_records("cut-short", &totals).collect().unwrap().broken.len()
    };
    // The flow starts at 0.5 s; its SYN is due again a second later.
    assert_eq!(broken(Some(1_500_000_000)), 0);
    assert_eq!(broken(Some(1_500_000_001)), 1);
    assert_eq!(broken(None), 1);
}

#[test]
fn damage_is_told_and_never_a_panic() {
    let directory = Directory::with_records("damage", &totals());
    let flows = directory.read("flows.bin");
    let damaged = |bytes: &[u8]| {
        directory.write("flows.bin", bytes);
        directory.collect().unwrap_err()
    };
    assert!(damaged(&flows[..flows.len() - 1]).contains("ends within a record"));
    let first = 24 + RECORD_BYTES;
    assert!(damaged(&flows[..first]).contains("ends after index 0"));
    assert!(damaged(&flows[first..]).contains("record 1 has index 1 where 0 was due"));
    assert!(damaged(&[flows.as_slice(), &flows].concat()).contains("earlier than the one before"));
    for at in (0..flows.len()).step_by(5) {
        let mut changed = flows.clone();
        changed[at] ^= 0xff;
        directory.write("flows.bin", &changed);
        let _ = directory.collect();
    }
    directory.write("flows.bin", &flows);
    directory.write("totals.json", b"{}");
    assert!(directory.collect().unwrap_err().contains("damaged record"));
    fs::remove_file(directory.0.join("totals.json")).unwrap();
    assert!(directory.collect().unwrap_err().contains("cannot read"));
}

#[test]
fn totals_that_cannot_be_are_refused() {
    let mut fallen = totals();
    fallen.flows[0].window[1].segments = 3;
    let error = Directory::with_records("fallen", &fallen).collect().unwrap_err();
    assert!(error.contains("a counter falls"), "{error}");
    let mut overtaken = totals();
    overtaken.flows[0].window[0].missing = 10;
    let run = Directory::with_records("overtaken", &overtaken).collect().unwrap();
    assert_eq!(run.summary.flows[0].lost_segments, 0, "of ten that were missing, two have arrived");
    let mut early = totals();
    early.flows[1].completed_ns = Some(1);
    let error = Directory::with_records("early", &early).collect().unwrap_err();
    assert!(error.contains("before its beginning"), "{error}");
    let mut few = totals();
    few.queues.pop();
    let error = Directory::with_records("few", &few).collect().unwrap_err();
    assert!(error.contains("another number"), "{error}");
}
