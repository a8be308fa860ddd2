//! Hosts: a flow's stack as sysctls of a namespace and as properties of routes.

use std::collections::BTreeMap;

use fairway_spec::{DatagramFlow, Experiment, Flow, switches};
use fairway_tcp::{DelayedAck, EcnMode, Preset, Stack};
use fairway_units::Duration;
use serde_json::Value;

use super::global::Sysctl;
use super::multipath;
use super::refusal::Refusals;

/// Largest buffer: the kernel keeps it in a signed integer.
pub(super) const MAX_BUFFER: u64 = i32::MAX as u64;
/// IPv4 and TCP headers without options.
pub(super) const HEADERS: u32 = 20 + 20;
/// The timestamp option with its padding.
pub(super) const TIMESTAMP_OPTION: u32 = 12;
/// `tcp_rmem[0]` and `tcp_wmem[0]` of the kernel (net/ipv4/tcp_ipv4.c, `tcp_init`).
const LEAST_BUFFER: u64 = 4096;
/// `tcp_rmem[1]` of the kernel.
const FIRST_RECEIVE_BUFFER: u64 = 131_072;
/// `tcp_wmem[1]` of the kernel.
const FIRST_SEND_BUFFER: u64 = 16_384;
/// Initial window without a route's (include/net/tcp.h, TCP_INIT_CWND).
const USUAL_INITIAL_WINDOW: u32 = 10;
/// `tcp_comp_sack_nr` of the kernel (net/ipv4/tcp_ipv4.c, `tcp_sk_init`).
const USUAL_HELD_ACKS: u32 = 44;
/// Lower bound of the timeout without a route's (include/net/tcp.h, TCP_RTO_MIN).
const USUAL_RTO_MIN: Duration = Duration::from_millis(200);

/// Switches that a kernel has in its source alone, and what it does.
const FIXED: &[(&str, &str)] = &[
    ("fack", "Linux has had no forward acknowledgement since 4.15"),
    ("paws", "a kernel with timestamps always refuses what is outdated"),
    ("receive_window_tuning", "a kernel's windows open as data arrive"),
    ("send_buffer_tuning", "a kernel's send buffers grow with the window"),
    ("write_queue", "a kernel keeps the application's data in buffers"),
    ("abe", "a kernel answers a mark like a loss"),
    ("adaptive_reordering", "a kernel always does"),
    ("limited_transmit", "a kernel always transmits so"),
    ("initial_ssthresh", "a kernel's connections begin without a threshold"),
    ("recovery", "a kernel has a recovery of its own (PRR, RFC 6937)"),
    ("undo", "a kernel always does"),
    ("tso", "a kernel always sizes and defers what it sends"),
    ("tso_autosizing", "a kernel always sizes what it sends"),
    ("tso_fill", "kernels newer than 6.1 do"),
    ("receive_scaling", "kernels measure since Linux 6.6, and those that fill bursts do"),
    ("syn_linear_timeouts", "kernels have 4 since Linux 6.5, and those that fill bursts do"),
    ("cwnd_validation", "a kernel has its own"),
    ("timer_wheel", "a kernel has a timer wheel"),
    ("ack_every", "a kernel counts two"),
    ("ack_first_at_once", "a kernel has quick acknowledgements of its own"),
    ("ack_heartbeat", "a kernel has a timer for each connection"),
    ("grow_when_unused", "a kernel's windows never do"),
    ("reduce_on_every_timeout", "a kernel reduces once for the same data"),
    ("nagle", "a kernel has Minshall's variant; linux_socket = { TCP_NODELAY = 1 } turns it off"),
    ("rto_impatient", "a kernel restarts on all new data"),
    ("backoff_ends_with_any_ack", "a kernel waits for a measurement"),
    ("rtt_clock", "a kernel measures in microseconds"),
    ("grow_on_exit", "a kernel leaves that to the algorithm"),
    ("rto_max", "a kernel has it in its source"),
    ("rto_initial", "a kernel has it in its source"),
    ("rto_granularity", "a kernel has the tick that it was built with"),
    ("rto_min_bounds_variance", "a kernel always bounds the variance"),
    ("rto_in_ticks", "a kernel measures round trips in microseconds"),
    ("rto_restart_on_every_ack", "a kernel restarts on new data alone"),
    ("cwnd_clamp", "a kernel has it in its source"),
    ("max_burst", "a kernel has no such limit"),
    ("send_jitter", "a kernel's computing takes no time here"),
];

/// What is set for one end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Sysctls of its namespace.
    sysctls: Vec<Sysctl>,
    /// Properties of its route to the other end.
    route: String,
}

/// A pair of hosts.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// Index of the group of both hosts, those with the same sysctls.
    pub(super) group: usize,
    /// Properties of the route to the sink.
    pub(super) source_route: String,
    /// Properties of the route to the source.
    pub(super) sink_route: String,
}

/// All pairs of hosts, and the sysctls of each group of them.
pub(super) struct Hosts {
    pub(super) groups: Vec<Vec<Sysctl>>,
    pub(super) pairs: Vec<Pair>,
    /// The pair of each connection, and of each datagram flow.
    of_flows: Vec<usize>,
    of_datagrams: Vec<usize>,
    /// Routers between the hosts.
    pub(super) routers: usize,
}

impl Hosts {
    /// Those of Fairway's network: a pair for each flow, no routers between them.
    pub(super) fn apart(experiment: &Experiment, refusals: &mut Refusals) -> Self {
        let (flows, datagrams) = (&experiment.flows, &experiment.datagrams);
        let of_flows: Vec<usize> = (0..flows.len()).collect();
        let of_datagrams: Vec<usize> = (flows.len()..flows.len() + datagrams.len()).collect();
        let extra = |index| multipath::sysctls(experiment, index);
        Hosts::new(flows, of_flows, of_datagrams, 0, extra, refusals)
    }

    /// Those of a row of links: a pair for each pair of the experiment.
    pub(super) fn on_row(
        flows: &[Flow],
        datagrams: &[DatagramFlow],
        routers: usize,
        refusals: &mut Refusals,
    ) -> Self {
        let of_flows = flows.iter().map(|flow| flow.hosts[0]).collect();
        let of_datagrams = datagrams.iter().map(|flow| flow.hosts[0]).collect();
        Hosts::new(flows, of_flows, of_datagrams, routers, |_| None, refusals)
    }

    /// The hosts of all flows, given the pair of each, grouped by their sysctls.
    fn new(
        flows: &[Flow],
        of_flows: Vec<usize>,
        of_datagrams: Vec<usize>,
        routers: usize,
        extra: impl Fn(usize) -> Option<Sysctl>,
        refusals: &mut Refusals,
    ) -> Self {
        let mut of_hosts: BTreeMap<usize, (usize, Settings, String)> = BTreeMap::new();
        for (index, flow) in flows.iter().enumerate() {
            let mut settings = settings(index, flow, refusals);
            settings.sysctls.extend(extra(index));
            let sink_route = format!("{}{}", settings.route, sink_algorithm(flow));
            match of_hosts.get(&of_flows[index]) {
                None => {
                    of_hosts.insert(of_flows[index], (index, settings, sink_route));
                }
                Some((_, same, route)) if *same == settings && *route == sink_route => {}
                Some((other, known, route)) => {
                    let message = conflict(&flows[*other].id, known, route, &settings, &sink_route);
                    refusals.refuse_flow(index, "from", message);
                }
            }
        }
        // Hosts of datagrams alone have the stack of any others.
        let any = of_hosts.values().next().map(|(_, settings, _)| settings.clone());
        let any = any.unwrap_or_else(|| Settings { sysctls: Vec::new(), route: String::new() });
        for pair in &of_datagrams {
            let other = || (0, any.clone(), String::new());
            of_hosts.entry(*pair).or_insert_with(other);
        }
        let (groups, pairs) = (Vec::new(), Vec::new());
        let mut hosts = Hosts { groups, pairs, of_flows, of_datagrams, routers };
        // Hosts are numbered without gaps, in the order of the flows.
        for (_, settings, sink_route) in of_hosts.into_values() {
            let known = hosts.groups.iter().position(|known| *known == settings.sysctls);
            let group = known.unwrap_or_else(|| {
                hosts.groups.push(settings.sysctls);
                hosts.groups.len() - 1
            });
            hosts.pairs.push(Pair { group, source_route: settings.route, sink_route });
        }
        hosts
    }

    /// The pair of a connection.
    pub(super) fn of_flow(&self, index: usize) -> usize {
        self.of_flows[index]
    }

    /// The pair of a datagram flow.
    pub(super) fn of_datagrams(&self, index: usize) -> usize {
        self.of_datagrams[index]
    }

    /// Index of the namespace of a pair's source.
    pub(super) fn source_namespace(&self, pair: usize) -> usize {
        self.pairs[pair].group
    }

    /// Index of the namespace of a pair's sink, behind those of all sources and routers.
    pub(super) fn sink_namespace(&self, pair: usize) -> usize {
        self.groups.len() + self.routers + self.pairs[pair].group
    }
}

/// What differs between two flows of one host, if anything does.
pub(super) fn conflict_of_sysctls(known: &[Sysctl], own: &[Sysctl]) -> Option<String> {
    let differ = known.iter().zip(own).find(|(known, own)| known != own);
    differ.map(|((name, known), (_, own))| format!("{name} = {known}, and this flow {own}"))
}

/// Largest IP packet of any flow.
pub(super) fn mtu(flows: &[Flow], datagrams: &[DatagramFlow]) -> u32 {
    let segments = flows.iter().map(|flow| packet(&flow.stack));
    segments.chain(datagrams.iter().map(|flow| flow.packet_bytes)).max().unwrap_or(0)
}

/// Largest IP packet of a stack.
pub(super) fn packet(stack: &Stack) -> u32 {
    stack.options.mss + HEADERS + if stack.options.timestamps { TIMESTAMP_OPTION } else { 0 }
}

/// What both ends of a flow are set to, with everything refused that cannot be set.
fn settings(index: usize, flow: &Flow, refusals: &mut Refusals) -> Settings {
    let stack = &flow.stack;
    refuse_fixed(index, stack, &flow.cc.name, refusals);
    let ipv4 = |name: &str, value: String| (format!("net/ipv4/{name}"), value);
    let switch = |on: bool| u8::from(on).to_string();
    let sysctls = vec![
        ipv4("tcp_rmem", buffers(stack.buffers.receive_buffer, FIRST_RECEIVE_BUFFER)),
        ipv4("tcp_wmem", buffers(stack.buffers.send_buffer, FIRST_SEND_BUFFER)),
        ipv4("tcp_adv_win_scale", window_scale(index, stack, refusals)),
        ipv4("tcp_sack", switch(stack.options.sack)),
        ipv4("tcp_dsack", switch(stack.options.dsack)),
        ipv4("tcp_comp_sack_delay_ns", stack.acks.ack_compression.as_nanos().to_string()),
        ipv4("tcp_comp_sack_nr", held_acks(stack).to_string()),
        ipv4("tcp_timestamps", switch(stack.options.timestamps)),
        ipv4("tcp_window_scaling", switch(stack.options.window_scaling)),
        // 2, the kernel's own: answered, not asked for.
        // Without RACK, what RFC 6675 counts (net/ipv4/tcp_input.c, tcp_identify_packet_loss).
        ipv4("tcp_recovery", u8::from(stack.losses.rack).to_string()),
        ipv4("tcp_early_retrans", if stack.losses.tail_loss_probe { "3" } else { "0" }.to_owned()),
        ipv4("tcp_frto", if stack.losses.frto { "2" } else { "0" }.to_owned()),
        ipv4("tcp_ecn", if stack.options.ecn == EcnMode::Off { "2" } else { "1" }.to_owned()),
        ipv4("tcp_reordering", stack.losses.reordering.to_string()),
        ipv4("tcp_slow_start_after_idle", switch(stack.window.slow_start_after_idle)),
        ipv4("tcp_no_metrics_save", "1".to_owned()),
        ipv4("tcp_max_tw_buckets", super::global::CLOSED.to_string()),
    ];
    for (key, buffer) in [
        ("receive_buffer", stack.buffers.receive_buffer),
        ("send_buffer", stack.buffers.send_buffer),
    ] {
        if buffer > MAX_BUFFER {
            let message =
                format!("{buffer} bytes are more than a kernel's {MAX_BUFFER}; write \"1 GiB\"");
            refusals.refuse_flow(index, key, message);
        }
    }
    if stack.options.ecn == EcnMode::Accurate {
        // Linux has it since 6.18 (Documentation/networking/ip-sysctl.rst, tcp_ecn 3).
        let message = "\"accurate\" cannot be set: this kernel has the ECN of RFC 3168 alone; write \
                       true or use --backend sim";
        refusals.refuse_flow(index, "ecn", message.to_owned());
    }
    Settings { sysctls, route: route(index, stack, refusals) }
}

fn refuse_fixed(index: usize, stack: &Stack, cc: &str, refusals: &mut Refusals) {
    // The kernel that runs decides these three; presets have them together.
    let Some(kernel) =
        Preset::named(if stack.sending.tso_fill { "linux-6.12" } else { "linux-6.1" })
    else {
        return;
    };
    let (has, wants) = (switches(&(kernel.stack)()), switches(stack));
    for (name, why) in FIXED.iter().filter(|(name, _)| has[name] != wants[name]) {
        let message =
            format!("{} cannot be set: {why}; {}", show(&wants[name]), remedy(&has[name]));
        refusals.refuse_flow(index, name, message);
    }
    if let Some((_, segments)) =
        stack.window.initial_ssthresh_of.iter().find(|(name, _)| *name == cc)
    {
        let message = format!(
            "\"{segments} segments\" of the preset for {cc} cannot be set; write \"unlimited\" or use \
             --backend sim"
        );
        refusals.refuse_flow(index, "initial_ssthresh", message);
    }
}

fn show(value: &Value) -> String {
    value.to_string()
}

fn remedy(kernel: &Value) -> String {
    format!("write {} or use --backend sim", show(kernel))
}

/// Acknowledgements of out-of-order data that are held back at the most.
fn held_acks(stack: &Stack) -> u32 {
    if stack.acks.ack_compression > Duration::ZERO { USUAL_HELD_ACKS } else { 0 }
}

/// The least, first and largest buffer.
fn buffers(largest: u64, first: u64) -> String {
    let largest = largest.min(MAX_BUFFER);
    format!("{} {} {largest}", LEAST_BUFFER.min(largest), first.min(largest))
}

/// `tcp_adv_win_scale`: 1 offers half of a buffer, -n a 2^n-th, 0 all of it
/// (include/net/tcp.h, `tcp_win_from_space`).
fn window_scale(index: usize, stack: &Stack, refusals: &mut Refusals) -> String {
    let divisor = stack.buffers.window_divisor;
    if !divisor.is_power_of_two() {
        let message = format!(
            "a kernel offers a half, a quarter, an eighth or a sixteenth of a buffer, or all of it, \
             got {divisor}; write {}",
            divisor.next_power_of_two()
        );
        refusals.refuse_flow(index, "window_divisor", message);
    }
    match divisor {
        2 => "1".to_owned(),
        1 => "0".to_owned(),
        _ => format!("-{}", divisor.max(1).ilog2()),
    }
}

/// Properties of the route to the other end, where they are not the kernel's own.
fn route(index: usize, stack: &Stack, refusals: &mut Refusals) -> String {
    let mut route = String::new();
    if stack.window.initial_window != USUAL_INITIAL_WINDOW {
        route += &format!(" initcwnd {}", stack.window.initial_window);
    }
    let rto_min = stack.rto.rto_min;
    if rto_min != USUAL_RTO_MIN {
        let milliseconds = rto_min.as_nanos() / 1_000_000;
        if milliseconds * 1_000_000 != rto_min.as_nanos() {
            let message = format!(
                "a kernel counts it in milliseconds, got {rto_min}; write \"{} ms\"",
                milliseconds.max(1)
            );
            refusals.refuse_flow(index, "rto_min", message);
        }
        route += &format!(" rto_min {milliseconds}ms");
    }
    match stack.acks.delayed_ack {
        DelayedAck::Off => route += " quickack 1",
        DelayedAck::Counted { timeout } => {
            let message = format!(
                "a kernel decides by itself when to wait, and cannot be set to {timeout}; write \
                 \"linux\", or false"
            );
            refusals.refuse_flow(index, "delayed_ack", message);
        }
        DelayedAck::Linux => {}
    }
    route
}

/// DCTCP needs a receiver that echoes every mark, which is DCTCP too (RFC 8257 section 3.2); the
/// kernel also agrees on ECN with such a SYN only where the route says so (net/ipv4/tcp_input.c,
/// `tcp_ecn_create_request`). DCTCP asks for ECN by itself, as in the simulator.
fn sink_algorithm(flow: &Flow) -> &'static str {
    if flow.cc.name == "dctcp" { " congctl dctcp" } else { "" }
}

/// What differs between two flows of one pair of hosts.
fn conflict(other: &str, known: &Settings, route: &str, own: &Settings, own_route: &str) -> String {
    let sysctls = known.sysctls.iter().zip(&own.sysctls).find(|(known, own)| known != own);
    let (known, own) = match sysctls {
        Some(((name, known), (_, own))) => (format!("{name} = {known}"), format!("{name} = {own}")),
        None => (format!("a route with \"{}\"", route.trim()), format!("\"{}\"", own_route.trim())),
    };
    format!(
        "hosts have one kernel for all their flows: \"{other}\" needs {known}, and this flow {own}; \
         give them the same stack, or hosts of their own"
    )
}
