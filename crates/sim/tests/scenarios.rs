//! Random experiments: whatever the network, the stack and the algorithm, the laws of the
//! simulator hold (the verifier checks them as the run goes), and every transfer ends with exactly
//! its bytes delivered.
//!
//! A failing experiment is made smaller as long as it still fails, and printed as a file that
//! `fairway run` takes. `FAIRWAY_SCENARIOS` sets how many are tried, `FAIRWAY_FIRST_SCENARIO` from which
//! on.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use fairway_cc::{Family, algorithms};
use fairway_random::Stream;
use fairway_sim::experiment::from_document;
use fairway_sim::{Control, Run, run};
use fairway_tcp::PRESETS;
use serde_json::Value;

/// Experiments tried where the environment does not say.
const SCENARIOS: u64 = 5_000;

/// Simulated time of each. The slowest, eight times ten megabytes over 100 kbit/s, or in segments of 200
/// bytes with a fifth of the round trips broken and timeouts of seconds, needs a few thousand
/// seconds; a month is for the back-off of the unluckiest: without SACK and timestamps, a queue that
/// always drops the same one of a few segments brings a megabyte of a lost window home in steps of
/// two minutes each. An idle simulation costs nothing.
const DURATION_S: u64 = 30 * 86_400;

/// The largest transfer, in bytes.
const MAX_TRANSFER: f64 = 1e7;

/// The largest without SACK of an algorithm that follows a model of its path and not losses. BBR keeps
/// four segments in flight at the least (draft-ietf-ccwg-bbr section 2.7, BBR.MinPipeCwnd); where path and
/// queue hold but three, every round trip loses one. Without SACK one loss is repaired in a round trip,
/// and those that are left to the timer by a handful a minute: nothing that was sent again tells the
/// round-trip time, so that the timeout stays backed off (RFC 6298 section 3, Karn).
const MAX_TRANSFER_WITHOUT_SACK: u64 = 200_000;

#[derive(Clone)]
struct Scenario {
    seed: u64,
    rate_bps: u64,
    delay_us: u64,
    access: bool,
    queue: String,
    /// Probability and direction.
    loss: Option<(f64, &'static str)>,
    preset: &'static str,
    flows: Vec<Flow>,
    datagrams: Vec<DatagramFlow>,
}

/// A flow of UDP that ends.
#[derive(Clone)]
struct DatagramFlow {
    kind: &'static str,
    rate_bps: u64,
    packet_bytes: u64,
    bytes: u64,
    start_ms: u64,
    /// More keys, as lines of the file.
    more: &'static str,
}

/// The most that a flow of UDP sends. It does not care for others: for as long as it is faster than
/// the link, hardly a SYN of theirs gets through.
const MAX_DATAGRAMS: f64 = 3e5;

/// Mechanisms of Linux that any stack can have or do without.
const OF_LINUX: &[&str] = &[
    "rack",
    "tail_loss_probe",
    "frto",
    "undo",
    "tso",
    "cwnd_validation",
    "timer_wheel",
    "dsack",
    "receive_window_tuning",
    "send_buffer_tuning",
    "write_queue",
    "paws",
    "adaptive_reordering",
    "tso_autosizing",
];

/// Mechanisms of older stacks, likewise.
const OF_SIMULATORS: &[&str] = &[
    "ack_heartbeat",
    "ack_first_at_once",
    "grow_when_unused",
    "resend_on_partial_ack",
    "rescue_all",
    "flight_after_losses",
    "reduce_on_every_timeout",
    "rto_impatient",
    "backoff_ends_with_any_ack",
];

#[derive(Clone)]
struct Flow {
    cc: &'static str,
    variant: &'static str,
    start_ms: u64,
    stop_ms: Option<u64>,
    bytes: Option<u64>,
    app_rate_bps: Option<u64>,
    both_ways: bool,
    read_rate_bps: Option<u64>,
    /// Connections, and how data is dealt to them.
    connections: Option<(u64, &'static str)>,
    precedence: u64,
    /// A workload in place of a transfer: lines of the file, and how many connections go forward.
    workload: Option<(String, usize)>,
    /// Switches that differ from the preset, as lines of the file.
    switches: Vec<String>,
}

#[test]
fn laws_hold_and_every_transfer_completes() {
    let count = number_from("FAIRWAY_SCENARIOS").unwrap_or(SCENARIOS);
    let first = number_from("FAIRWAY_FIRST_SCENARIO").unwrap_or(0);
    let count = first + count;
    let next = AtomicU64::new(first);
    let connections = AtomicU64::new(0);
    let given_up = AtomicU64::new(0);
    let failure = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return None;
                        }
                        let scenario = draw(number);
                        match check(&scenario) {
                            Ok(failed_handshakes) => {
                                let count =
                                    |flow: &Flow| flow.workload.as_ref().map_or(1, |w| w.1 as u64);
                                let count = scenario.flows.iter().map(count).sum::<u64>();
                                connections.fetch_add(count, Ordering::Relaxed);
                                given_up.fetch_add(failed_handshakes, Ordering::Relaxed);
                            }
                            Err(why) => {
                                next.store(count, Ordering::Relaxed);
                                return Some((number, scenario, why));
                            }
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().find_map(|worker| worker.join().unwrap())
    });
    if let Some((number, scenario, why)) = failure {
        let (smaller, still) = shrink(scenario, why);
        panic!("scenario {number}: {still}\n\n{}", smaller.to_toml());
    }
    // Seven SYNs in a row are lost to 10 % of loss each way with probability 0.19⁷ = 9·10⁻⁶; most
    // of those that give up found a full queue of two or three packets seven times: 1 in 1000 of all.
    let (connections, given_up) = (connections.into_inner(), given_up.into_inner());
    assert!(given_up <= connections / 300, "{given_up} of {connections} handshakes failed");
}

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}: expected a number, such as 1000")))
}

/// Runs a scenario. Gives the connections that gave up because no SYN was answered; the error says
/// what went wrong.
fn check(scenario: &Scenario) -> Result<u64, String> {
    let text = scenario.to_toml();
    let document: Value = toml::from_str(&text).map_err(|e| e.to_string())?;
    let experiment = from_document(&document).map_err(|e| e.to_string())?;
    let result = catch_unwind(AssertUnwindSafe(|| run(&experiment, &Control::default())));
    let run = match result {
        Ok(result) => result.map_err(|e| e.to_string())?,
        Err(panic) => {
            let formatted = panic.downcast_ref::<String>().map(String::as_str);
            let text = formatted.or_else(|| panic.downcast_ref::<&str>().copied());
            return Err(format!("panicked: {}", text.unwrap_or("without a message")));
        }
    };
    check_order(scenario, document, &run)?;
    check_datagrams(scenario, &run)?;
    let mut given_up = 0;
    for (i, flow) in scenario.flows.iter().enumerate() {
        let name = format!("{}#{i}", flow.cc);
        if flow.workload.is_some() {
            given_up += check_workload(&name, &run)?;
            continue;
        }
        // Its connections, and those that carry data back.
        let rows: Vec<_> = run
            .summary
            .flows
            .iter()
            .filter(|row| row.id == name || row.id.starts_with(&format!("{name}/")))
            .collect();
        let (back, forward): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| row.id.ends_with("/reverse"));
        let is_dynamic = flow.connections.is_some_and(|(_, striping)| striping == "dynamic");
        // Where chunks are taken, others may have taken all of them.
        let silent = forward.iter().filter(|row| row.sent_segments == 0).count() as u64;
        given_up += if is_dynamic { 0 } else { silent };
        let mut delivered = [0, 0];
        for (way, rows) in [forward, back].into_iter().enumerate() {
            for row in rows.into_iter().filter(|row| row.sent_segments > 0) {
                if row.fct_s.is_none() {
                    return Err(format!("{} did not complete: {row:?}", row.id));
                }
                // The measuring window is the whole run.
                delivered[way] += (row.goodput_bps * DURATION_S as f64 / 8.0).round() as u64;
            }
        }
        let ways = if flow.both_ways { 2 } else { 1 };
        for delivered in &delivered[..ways] {
            match flow.bytes {
                Some(bytes) if flow.stop_ms.is_none() && silent == 0 && *delivered != bytes => {
                    return Err(format!("{name} delivered {delivered} of {bytes} bytes"));
                }
                Some(bytes) if *delivered > bytes => {
                    return Err(format!("{name} delivered {delivered} bytes, more than {bytes}"));
                }
                _ => {}
            }
        }
        let application = run.summary.applications.iter().find(|row| row.id == name);
        if let Some(application) = application
            && flow.stop_ms.is_none()
            && silent == 0
            && application.fct_s.is_none()
        {
            return Err(format!("{name} did not complete: {application:?}"));
        }
    }
    Ok(given_up)
}

/// A workload has come to its end, unless one of its handshakes failed: gives how many did.
/// One scenario in this many is run in strict order, too.
const IN_ORDER: u64 = 2;

/// Packets that arrive ahead of others, because they cannot meet, change nothing: where losses are
/// listed everything is in the order of time.
fn check_order(scenario: &Scenario, mut document: Value, run: &Run) -> Result<(), String> {
    if !scenario.seed.is_multiple_of(IN_ORDER) {
        return Ok(());
    }
    document["measure"]["losses"] = true.into();
    let experiment = from_document(&document).map_err(|e| e.to_string())?;
    let ordered = fairway_sim::run(&experiment, &Control::default()).map_err(|e| e.to_string())?;
    let all = |run: &Run| format!("{:?} {:?} {:?}", run.summary, run.series, run.queues);
    if all(&ordered) == all(run) {
        return Ok(());
    }
    let flows = |run: &Run| format!("{:?}", run.summary.flows);
    Err(format!("not the same in strict order: {} {}", flows(run), flows(&ordered)))
}

fn check_workload(name: &str, run: &Run) -> Result<u64, String> {
    let found = run.summary.applications.iter().find(|row| row.id == name);
    let application = found.ok_or_else(|| format!("{name} is not in the results"))?;
    if application.fct_s.is_some() {
        return Ok(0);
    }
    // It waits for ever for one whose SYN was never answered.
    let is_own = |id: &str| id == name || id.starts_with(&format!("{name}/"));
    let rows = run.summary.flows.iter().filter(|row| is_own(&row.id));
    let silent = rows.filter(|row| row.sent_segments == 0).count() as u64;
    if silent > 0 { Ok(1) } else { Err(format!("{name} did not complete: {application:?}")) }
}

/// Every datagram has arrived or was lost, and what has arrived is a file if none was.
fn check_datagrams(scenario: &Scenario, run: &Run) -> Result<(), String> {
    let copies = |flow: &DatagramFlow| if flow.more.starts_with("count") { 3 } else { 1 };
    let flows = scenario.datagrams.iter().flat_map(|flow| vec![flow; copies(flow)]);
    let found = run.summary.flows.iter().filter_map(|flow| Some((flow, flow.datagrams.as_ref()?)));
    let mut count = 0;
    for (flow, (summary, datagrams)) in flows.zip(found) {
        count += 1;
        let sent = flow.bytes.div_ceil(flow.packet_bytes - 28);
        let arrived = datagrams.received_packets + summary.lost_segments;
        let complete = summary.lost_segments == 0;
        if (summary.sent_segments, arrived) != (sent, sent) || complete != summary.fct_s.is_some() {
            return Err(format!("{} of {sent} datagrams: {summary:?}", summary.id));
        }
        let delivered = (summary.goodput_bps * DURATION_S as f64 / 8.0).round() as u64;
        if delivered > flow.bytes || complete != (delivered == flow.bytes) {
            return Err(format!("{} delivered {delivered} of {} bytes", summary.id, flow.bytes));
        }
        let other = (datagrams.reordered_packets, datagrams.duplicated_packets);
        if other != (0, 0) {
            return Err(format!(
                "{}: a network that keeps the order has not: {other:?}",
                summary.id
            ));
        }
    }
    let expected: usize = scenario.datagrams.iter().map(copies).sum();
    if count == expected { Ok(()) } else { Err(format!("{count} of {expected} datagram flows")) }
}

/// A number spread evenly over the orders of magnitude between `low` and `high`.
fn log_uniform(random: &mut Stream, low: f64, high: f64) -> f64 {
    libm::exp(libm::log(low) + random.unit() * (libm::log(high) - libm::log(low)))
}

fn chance(random: &mut Stream, probability: f64) -> bool {
    random.unit() < probability
}

fn pick<T: Copy>(random: &mut Stream, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}

fn draw(number: u64) -> Scenario {
    let r = &mut Stream::new(number, "scenario");
    let rate_bps = log_uniform(r, 1e5, 1e9) as u64;
    let delay_us = log_uniform(r, 100.0, 150_000.0) as u64;
    let bdp_packets = rate_bps as f64 * 2.0 * delay_us as f64 / 1e6 / 8.0 / 1500.0;
    let packets = log_uniform(r, 2.0, (2.0 * bdp_packets).max(3.0)) as u64;
    let queue = if chance(r, 0.3) {
        let min = 5 + r.below(20);
        format!(
            r#"{{ kind = "red", limit = "{} packets", min_threshold = "{min} packets", max_threshold = "{} packets", gentle = {}, ecn = {} }}"#,
            4 * min + packets,
            3 * min,
            chance(r, 0.5),
            chance(r, 0.5),
        )
    } else {
        format!(r#"{{ kind = "droptail", limit = "{packets} packets" }}"#)
    };
    let loss = chance(r, 0.7)
        .then(|| (log_uniform(r, 1e-4, 0.1), pick(r, &["forward", "reverse", "both"])));
    let flows = 1 + r.below(8);
    let preset = pick(r, PRESETS);
    let sack = (preset.stack)().sack;
    let mut scenario = Scenario {
        seed: number,
        rate_bps,
        delay_us,
        access: chance(r, 0.3),
        queue,
        loss,
        preset: preset.name,
        flows: (0..flows).map(|_| draw_flow(r, rate_bps, sack)).collect(),
        datagrams: draw_datagrams(r),
    };
    let r = &mut Stream::new(number, "scenario/queue");
    if chance(r, 0.6) {
        let inside = draw_controlled_queue(r, packets);
        scenario.queue = match r.below(4) {
            0 => draw_nesting_queue(r, rate_bps, packets, &inside),
            _ => inside,
        };
    }
    if scenario.queue.contains("prio") {
        for flow in &mut scenario.flows {
            // What is in front of others must not keep their SYNs for as long as they try.
            let small = flow.bytes.is_some_and(|bytes| bytes < 50_000) && !flow.both_ways;
            flow.precedence = if small { r.below(8) } else { 0 };
        }
    }
    scenario
}

/// A queue that decides when packets leave, too.
fn draw_controlled_queue(r: &mut Stream, packets: u64) -> String {
    let of_flows = |r: &mut Stream| {
        let (flows, quantum) = (pick(r, &[1, 2, 1024]), 256 + r.below(3000));
        format!(", flows = {flows}, quantum = \"{quantum} bytes\"")
    };
    let ecn = chance(r, 0.5);
    let version = pick(r, &["linux", "rfc"]);
    let shape = match r.below(10) {
        0 => "kind = \"drophead\"".to_owned(),
        1 => format!("kind = \"codel\", ecn = {ecn}, variant = \"{version}\""),
        2 => format!(
            "kind = \"fq_codel\", ecn = {ecn}, ce_threshold = \"1 ms\", drop_batch = 4{}",
            of_flows(r)
        ),
        3 => format!("kind = \"cobalt\", ecn = {ecn}"),
        4 => format!(
            "kind = \"pie\", ecn = {ecn}, variant = \"{version}\", bytemode = {}, \
             dq_rate_estimator = {}, tupdate = \"{} us\"",
            chance(r, 0.5),
            chance(r, 0.5),
            100 + r.below(50_000)
        ),
        5 => format!("kind = \"fq_pie\", ecn = {ecn}, variant = \"{version}\"{}", of_flows(r)),
        6 => format!(
            "kind = \"dualpi2\", any_ect = {}, drop_enqueue = {}, drop_on_overload = {}{}",
            chance(r, 0.5),
            chance(r, 0.5),
            chance(r, 0.5),
            pick(
                r,
                &[
                    "",
                    ", ramp = \"400 us\"",
                    ", time_shift = \"30 ms\"",
                    ", step_thresh = \"3 packets\""
                ]
            ),
        ),
        7 => format!(
            "kind = \"sfq\", depth = {}, divisor = {}, head_drop = {}, perturb = \"{} ms\"",
            1 + r.below(127),
            pick(r, &[1, 4, 1024]),
            chance(r, 0.5),
            1 + r.below(10_000)
        ),
        8 => "kind = \"drr\"".to_owned(),
        _ => "kind = \"routeros-red\"".to_owned(),
    };
    let limit = if shape.contains("routeros") { packets.max(60) } else { packets };
    format!("{{ {shape}, limit = \"{limit} packets\" }}")
}

/// A queue with another one inside. No packet is larger than 9000 bytes and headers.
fn draw_nesting_queue(r: &mut Stream, rate_bps: u64, packets: u64, inside: &str) -> String {
    let rate = rate_bps / (1 + r.below(4));
    let burst = 10_000 + r.below(100_000);
    let bucket = format!("rate = \"{rate} bit/s\", burst = \"{burst} bytes\"");
    let limit = format!("limit = \"{packets} packets\"");
    match r.below(5) {
        0 => format!("{{ kind = \"tbf\", {bucket}, {limit} }}"),
        1 => format!(
            "{{ kind = \"tbf\", {bucket}, peak_rate = \"{} bit/s\", mtu = \"9100 bytes\", queue = {inside} }}",
            rate * 2
        ),
        2 => format!("{{ kind = \"policer\", {bucket}, queue = {inside} }}"),
        3 => format!("{{ kind = \"prio\", {limit} }}"),
        _ => format!("{{ kind = \"prio\", band = [{{ {limit} }}, {inside}] }}"),
    }
}

/// None in most scenarios.
fn draw_datagrams(r: &mut Stream) -> Vec<DatagramFlow> {
    let flows = if chance(r, 0.3) { 1 + r.below(3) } else { 0 };
    let draw = |_| {
        let (kind, more) = pick(
            r,
            &[
                ("cbr", ""),
                ("cbr", "count = 3\n"),
                ("cbr", "send_buffer = \"5 kB\"\n"),
                ("poisson", "precedence = 7\n"),
                (
                    "vbr",
                    "rate_deviation = \"5 kbit/s\"\nrate_period = \"1 s\"\nsend_buffer = \"6 kB\"\n",
                ),
                ("onoff", "on_time = \"2 s\"\noff_time = \"10 s\"\nsend_buffer = \"7 kB\"\n"),
                ("onoff", "on_time = \"2 s\"\nperiods = \"pareto\"\npareto_shape = 1.2\n"),
            ],
        );
        DatagramFlow {
            kind,
            rate_bps: log_uniform(r, 1e4, 2e9) as u64,
            packet_bytes: log_uniform(r, 29.0, 9000.0) as u64,
            bytes: log_uniform(r, 1.0, MAX_DATAGRAMS) as u64,
            start_ms: r.below(2_000),
            more,
        }
    };
    (0..flows).map(draw).collect()
}

/// `sack`: whether the preset has it.
fn draw_flow(r: &mut Stream, rate_bps: u64, sack: bool) -> Flow {
    let algorithm = pick(r, algorithms());
    let start_ms = r.below(2_000);
    let mut flow = Flow {
        cc: algorithm.name,
        variant: pick(r, algorithm.variants).name(),
        start_ms,
        stop_ms: None,
        bytes: Some(log_uniform(r, 1.0, MAX_TRANSFER) as u64),
        app_rate_bps: None,
        both_ways: chance(r, 0.25),
        read_rate_bps: None,
        connections: None,
        precedence: 0,
        workload: None,
        switches: draw_switches(r),
    };
    let is_switched = |line: &str| flow.switches.iter().any(|switch| switch == line);
    let sack = is_switched("sack = true") || (sack && !is_switched("sack = false"));
    if algorithm.family == Family::Model && !sack {
        flow.bytes = flow.bytes.map(|bytes| bytes.min(MAX_TRANSFER_WITHOUT_SACK));
    }
    if chance(r, 0.2) {
        flow.workload = Some(draw_workload(r));
        (flow.bytes, flow.both_ways) = (None, false);
        return flow;
    }
    if chance(r, 0.2) {
        // From far below the link's rate to above it, and never longer than an hour.
        let slowest = (flow.bytes.unwrap_or(1) as f64 * 8.0 / 3_600.0).max(1.0);
        flow.app_rate_bps = Some(log_uniform(r, slowest.max(1e4), 2e9) as u64);
    }
    if chance(r, 0.2) {
        // The same for the reader.
        let slowest = (flow.bytes.unwrap_or(1) as f64 * 8.0 / 3_600.0).max(1.0);
        flow.read_rate_bps = Some(log_uniform(r, slowest.max(1e4), 1e8) as u64);
    }
    if chance(r, 0.15) && !flow.both_ways && flow.bytes.is_some_and(|bytes| bytes > 10) {
        let striping = if flow.app_rate_bps.is_some() { "static" } else { "dynamic" };
        flow.connections = Some((1 + r.below(6), pick(r, &["static", striping])));
    }
    if chance(r, 0.2) {
        // Stops in the middle, or before it has begun; an endless source must be bounded.
        let longest = (MAX_TRANSFER * 8.0 / rate_bps as f64 * 1e3).clamp(2.0, 20_000.0);
        flow.stop_ms = Some(start_ms + log_uniform(r, 1.0, longest) as u64);
        if chance(r, 0.7) {
            flow.bytes = None;
        }
    }
    flow
}

/// A workload that comes to an end, and its connections.
fn draw_workload(r: &mut Stream) -> (String, usize) {
    let size = match r.below(4) {
        0 => format!("\"{} bytes\"", log_uniform(r, 1.0, 1e5) as u64),
        1 => "{ distribution = \"exponential\", mean = \"20 kB\" }".to_owned(),
        2 => "{ distribution = \"pareto\", least = \"100 bytes\", most = \"200 kB\", shape = 1.1 }"
            .to_owned(),
        _ => "{ distribution = \"empirical\", cdf = \"100 0.5\\n9000 0.9\\n90000 1\" }".to_owned(),
    };
    let think =
        pick(r, &["\"1 ms\"", "\"2 s\"", "{ distribution = \"exponential\", mean = \"100 ms\" }"]);
    let transfers = 1 + r.below(8);
    let connections = 1 + r.below(5) as usize;
    let (more, forward) = match r.below(6) {
        0 => (format!("kind = \"ftp\"\nthink = {think}"), transfers as usize),
        1 => (format!("kind = \"telnet\"\nthink = {think}"), 1),
        2 => (format!("kind = \"request\"\nthink = {think}"), 1),
        3 => {
            let objects = 1 + r.below(12);
            let more = format!(
                "kind = \"web\"\nthink = {think}\nobjects = {objects}\nconnections = {connections}"
            );
            (more, connections)
        }
        4 => (format!("kind = \"incast\"\nthink = {think}\nservers = {connections}"), connections),
        _ => {
            let ladder = "[\"100 kbit/s\", \"400 kbit/s\"]";
            return (
                format!(
                    "kind = \"video\"\nladder = {ladder}\nbuffer = \"30 s\"\ntransfers = {transfers}"
                ),
                1,
            );
        }
    };
    (format!("{more}\nsize = {size}\ntransfers = {transfers}"), forward)
}

fn draw_switches(r: &mut Stream) -> Vec<String> {
    let mss = pick(r, &[200u64, 536, 1000, 1460, 8960]);
    let initial_window = 1 + r.below(20);
    let buffer = log_uniform(r, mss as f64, 4e6) as u64;
    let delay_ms = 1 + r.below(400);
    let possible = [
        format!("mss = \"{mss} bytes\""),
        format!("initial_window = \"{initial_window} segments\""),
        format!("receive_buffer = \"{} bytes\"", buffer.max(8960)),
        format!("send_buffer = \"{} bytes\"", (buffer / 2).max(8960)),
        "sack = false".to_owned(),
        "timestamps = false".to_owned(),
        "timestamps = true".to_owned(),
        "window_scaling = false".to_owned(),
        "delayed_ack = false".to_owned(),
        format!("delayed_ack = \"{delay_ms} ms\""),
        format!("ack_every = \"{} segments\"", 1 + r.below(8)),
        format!("rtt_clock = \"{} ms\"", 1 + r.below(50)),
        "limited_transmit = false".to_owned(),
        "nagle = \"off\"".to_owned(),
        "nagle = \"minshall\"".to_owned(),
        "nagle = \"rfc\"".to_owned(),
        "recovery = \"rfc\"".to_owned(),
        "recovery = \"tcp-linux\"".to_owned(),
        "recovery = \"prr\"".to_owned(),
        "recovery = \"reno\"".to_owned(),
        "recovery = \"sack1\"".to_owned(),
        "recovery = \"rate-halving\"".to_owned(),
        "delayed_ack = \"linux\"".to_owned(),
        "ack_compression = \"1 ms\"".to_owned(),
        "ack_compression = \"0 s\"".to_owned(),
        "grow_on_exit = true".to_owned(),
        "grow_on_exit = false".to_owned(),
        "rto_restart_on_every_ack = true".to_owned(),
        "rto_min = \"10 ms\"".to_owned(),
        "rto_in_ticks = true".to_owned(),
        "ecn = true".to_owned(),
        "ecn = \"accurate\"".to_owned(),
        "abe = true".to_owned(),
        "window_divisor = 4".to_owned(),
        "max_burst = \"1 segments\"".to_owned(),
        "max_burst = \"3 segments\"".to_owned(),
        "send_jitter = \"1 ms\"".to_owned(),
        "slow_start = \"limited\"".to_owned(),
        "slow_start = \"hystart\"".to_owned(),
        "slow_start = \"hystart++\"".to_owned(),
        "slow_start_after_idle = true".to_owned(),
        "initial_ssthresh = \"2 segments\"".to_owned(),
        "reordering = \"1 segments\"".to_owned(),
        "reordering = \"6 segments\"".to_owned(),
    ];
    let on_or_off = OF_LINUX.iter().chain(OF_SIMULATORS);
    let on_or_off = on_or_off.map(|name| format!("{name} = {}", chance(r, 0.5)));
    let on_or_off: Vec<String> = on_or_off.collect();
    let key = |line: &str| line.split(' ').next().map(str::to_owned);
    let mut chosen: Vec<String> = Vec::new();
    for line in possible.into_iter().chain(on_or_off) {
        if chance(r, 0.15) && chosen.iter().all(|other| key(other) != key(&line)) {
            chosen.push(line);
        }
    }
    if !chosen.contains(&"sack = false".to_owned()) && chance(r, 0.15) {
        chosen.push("sack = true".to_owned());
        chosen.push(format!("fack = {}", chance(r, 0.5)));
    }
    chosen
}

impl Scenario {
    fn to_toml(&self) -> String {
        let mut text = format!(
            "title    = \"Random experiment {}\"\n\
             duration = \"{DURATION_S} s\"\n\
             seed     = {}\n\n\
             [stack]\n\
             preset = \"{}\"\n\n\
             [topology]\n\
             kind = \"dumbbell\"\n\n\
             [topology.bottleneck]\n\
             rate  = \"{} bit/s\"\n\
             delay = \"{} us\"\n\
             queue = {}\n",
            self.seed, self.seed, self.preset, self.rate_bps, self.delay_us, self.queue
        );
        if let Some((probability, direction)) = self.loss {
            let _ = writeln!(
                text,
                "loss  = {{ probability = {probability:.6}, direction = \"{direction}\" }}"
            );
        }
        if self.access {
            let _ = write!(
                text,
                "\n[topology.access]\nrate  = \"{} bit/s\"\ndelay = \"1 ms\"\n",
                self.rate_bps * 2
            );
        }
        for flow in &self.flows {
            let _ = write!(
                text,
                "\n[[flow]]\ncc         = \"{}\"\ncc_variant = \"{}\"\nstart      = \"{} ms\"\n",
                flow.cc, flow.variant, flow.start_ms
            );
            if let Some(stop) = flow.stop_ms {
                let _ = writeln!(text, "stop       = \"{stop} ms\"");
            }
            if let Some(bytes) = flow.bytes {
                let _ = writeln!(text, "bytes      = \"{bytes} bytes\"");
            }
            if let Some(rate) = flow.app_rate_bps {
                let _ = writeln!(text, "app_rate   = \"{rate} bit/s\"");
            }
            if flow.both_ways {
                let _ = writeln!(text, "both_ways  = true");
            }
            if let Some(rate) = flow.read_rate_bps {
                let _ = writeln!(text, "read_rate  = \"{rate} bit/s\"");
            }
            if let Some((workload, _)) = &flow.workload {
                let _ = writeln!(text, "{workload}");
            }
            if let Some((connections, striping)) = flow.connections {
                let _ = writeln!(text, "connections = {connections}\nstriping = \"{striping}\"");
            }
            if flow.precedence > 0 {
                let _ = writeln!(text, "precedence = {}", flow.precedence);
            }
            for switch in &flow.switches {
                let _ = writeln!(text, "{switch}");
            }
        }
        for flow in &self.datagrams {
            let _ = write!(
                text,
                "\n[[flow]]\nkind   = \"{}\"\nrate   = \"{} bit/s\"\npacket = \"{} bytes\"\n\
                 bytes  = \"{} bytes\"\nstart  = \"{} ms\"\n{}",
                flow.kind, flow.rate_bps, flow.packet_bytes, flow.bytes, flow.start_ms, flow.more
            );
        }
        let _ = writeln!(text, "\n[measure]\nsample = \"{} s\"", DURATION_S / 10);
        text
    }

    /// Scenarios that are a little smaller.
    fn smaller(&self) -> Vec<Scenario> {
        let mut all = Vec::new();
        let mut changed = |change: &dyn Fn(&mut Scenario)| {
            let mut scenario = self.clone();
            change(&mut scenario);
            if scenario.to_toml() != self.to_toml() {
                all.push(scenario);
            }
        };
        for i in 0..self.flows.len() {
            if self.flows.len() > 1 {
                changed(&|s| drop(s.flows.remove(i)));
            }
            changed(&|s| s.flows[i].start_ms = 0);
            changed(&|s| {
                s.flows[i].stop_ms = s.flows[i].stop_ms.filter(|_| s.flows[i].bytes.is_none())
            });
            changed(&|s| s.flows[i].app_rate_bps = None);
            changed(&|s| s.flows[i].both_ways = false);
            changed(&|s| s.flows[i].read_rate_bps = None);
            changed(&|s| s.flows[i].connections = None);
            changed(&|s| s.flows[i].bytes = s.flows[i].bytes.map(|bytes| bytes.div_ceil(2)));
            changed(&|s| s.flows[i].bytes = s.flows[i].bytes.map(|bytes| bytes - bytes / 8));
            for switch in 0..self.flows[i].switches.len() {
                changed(&|s| drop(s.flows[i].switches.remove(switch)));
            }
        }
        for i in 0..self.datagrams.len() {
            changed(&|s| {
                s.datagrams.remove(i);
            });
            changed(&|s| s.datagrams[i].start_ms = 0);
            changed(&|s| s.datagrams[i].bytes = s.datagrams[i].bytes.div_ceil(2));
        }
        changed(&|s| s.access = false);
        changed(&|s| s.loss = None);
        changed(&|s| s.loss = s.loss.map(|(p, _)| (p, "forward")));
        if let Some((_, inside)) = self.queue.split_once(", queue = ") {
            changed(&|s| s.queue = inside.trim_end_matches(" }").to_owned() + " }");
        }
        changed(&|s| s.queue = r#"{ limit = "1000 packets" }"#.to_owned());
        all
    }
}

/// The smallest scenario found that still fails, whatever the reason, and why it fails.
fn shrink(mut scenario: Scenario, mut why: String) -> (Scenario, String) {
    // Panics of the candidates are not news.
    std::panic::set_hook(Box::new(|_| {}));
    'smaller: loop {
        for candidate in scenario.smaller() {
            if let Err(reason) = check(&candidate) {
                (scenario, why) = (candidate, reason);
                continue 'smaller;
            }
        }
        let _ = std::panic::take_hook();
        return (scenario, why);
    }
}
