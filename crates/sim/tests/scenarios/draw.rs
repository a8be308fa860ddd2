//! What a random experiment is.

use fairway_cc::{Family, algorithms};
use fairway_tcp::PRESETS;
use fairway_units::random::Stream;

use super::{DatagramFlow, Flow, Scenario};

/// The largest transfer, in bytes.
const MAX_TRANSFER: f64 = 1e7;

/// The largest without SACK of an algorithm that follows a model of its path and not losses. BBR keeps
/// four segments in flight at the least (draft-ietf-ccwg-bbr section 2.7, BBR.MinPipeCwnd); where path and
/// queue hold but three, every round trip loses one. Without SACK one loss is repaired in a round trip,
/// and those that are left to the timer by a handful a minute: nothing that was sent again tells the
/// round-trip time, so that the timeout stays backed off (RFC 6298 section 3, Karn).
const MAX_TRANSFER_WITHOUT_SACK: u64 = 200_000;

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
    "receive_scaling",
    "tso_fill",
];

/// Mechanisms of older stacks, likewise.
const OF_SIMULATORS: &[&str] = &[
    "ack_heartbeat",
    "ack_first_at_once",
    "grow_when_unused",
    "reduce_on_every_timeout",
    "rto_impatient",
    "backoff_ends_with_any_ack",
];

/// A number spread evenly over the orders of magnitude between `low` and `high`.
pub(crate) fn log_uniform(random: &mut Stream, low: f64, high: f64) -> f64 {
    libm::exp(libm::log(low) + random.unit() * (libm::log(high) - libm::log(low)))
}

pub(crate) fn chance(random: &mut Stream, probability: f64) -> bool {
    random.unit() < probability
}

pub(crate) fn pick<T: Copy>(random: &mut Stream, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}

pub(crate) fn draw(number: u64) -> Scenario {
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
    let sack = (preset.stack)().options.sack;
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
        read_interval_ms: None,
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
        // From far below the link's rate to far above all of them, and never longer than an hour.
        let slowest = (flow.bytes.unwrap_or(1) as f64 * 8.0 / 3_600.0).max(1.0);
        flow.app_rate_bps = Some(log_uniform(r, slowest.max(1e4), 1e13) as u64);
    }
    if chance(r, 0.2) {
        // The same for the reader.
        let slowest = (flow.bytes.unwrap_or(1) as f64 * 8.0 / 3_600.0).max(1.0);
        flow.read_rate_bps = Some(log_uniform(r, slowest.max(1e4), 1e8) as u64);
    } else if flow.bytes.is_none_or(|bytes| bytes < 1 << 20) && chance(r, 0.1) {
        // Of a small window, a read an interval: not longer than the run either.
        flow.read_interval_ms = Some(1 + r.below(500));
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
        "cwnd_clamp = \"20 segments\"".to_owned(),
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
