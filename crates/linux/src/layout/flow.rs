//! Flows: their addresses, ports, sizes and socket options.

use fairway_guest::plan::{Flow as FlowPlan, SocketOption};
use fairway_spec::{Experiment, Flow, LinuxNetwork, Reading, SOCKET_OPTIONS, Shape, Source};
use fairway_units::Bytes;

use super::algorithm;
use super::host::{self, HEADERS, Hosts, TIMESTAMP_OPTION};
use super::network::sink_address;
use super::refusal::Refusals;
use crate::programs::by_guest;

/// The port of the first flow's sink. With [`MAX_FLOWS`] behind it, all are below those that the
/// kernel gives to sources, from 32768 on.
pub(super) const FIRST_PORT: u16 = 10_000;
/// Flows of one kernel, of which a connection is two threads of the guest. Starting so many takes it half a minute,
/// and that grows with their square; threads are numbered up to 32768 (`pid_max`).
const MAX_FLOWS: usize = 5_000;
/// Pairs of hosts with links of their own: six veths each.
const MAX_PAIRS_WITH_ACCESS: usize = 200;
/// Memory of the kernel for each namespace: the ring through which the guest watches its packets,
/// and its own structures. Measured with 256 and 302 namespaces: 4.2 MiB.
const MEMORY_OF_NAMESPACE: u64 = 5 << 20;
/// Memory of the kernel for each pair of hosts with links of its own: 64 KiB for each of its veths, as
/// measured with 1200.
const MEMORY_OF_PAIR_WITH_ACCESS: u64 = 6 * (64 << 10);
/// Memory of the kernel for each connection: the stacks of its threads, its sockets. Measured with
/// 1000 to 5000 connections: 100 to 120 KiB, and as much as 50 KiB of packets.
const MEMORY_OF_FLOW: u64 = 128 << 10;
/// Smallest payload with its options (net/ipv4/sysctl_net_ipv4.c, `tcp_min_snd_mss`).
const LEAST_MSS: u32 = 48;
/// Bounds of `TCP_MAXSEG` (net/ipv4/tcp.c): TCP_MIN_MSS, MAX_TCP_WINDOW.
const MAXSEG: [u32; 2] = [88, 32_767];

/// Refuses more flows and hosts than a kernel is set up with.
pub(super) fn refuse_numbers(experiment: &Experiment, refusals: &mut Refusals) {
    let flows = experiment.flows.len() + experiment.datagrams.len();
    if flows > MAX_FLOWS {
        let message = format!(
            "{flows} flows are more than the {MAX_FLOWS} that a kernel is set up with; lower \
             the counts or use --backend sim"
        );
        refusals.refuse("flow", message);
    }
    let pairs = pairs_with_access(experiment);
    if pairs > MAX_PAIRS_WITH_ACCESS {
        let message = format!(
            "{pairs} pairs of hosts with links of their own are more than the \
             {MAX_PAIRS_WITH_ACCESS} that a kernel is set up with; let flows share hosts by from and \
             to, remove topology.access, or use --backend sim"
        );
        refusals.refuse("topology.access", message);
    }
}

/// Pairs of hosts with links of their own.
fn pairs_with_access(experiment: &Experiment) -> usize {
    match experiment.topology.shape {
        Shape::Dumbbell { access: Some(_), .. } => {
            let connections = experiment.flows.iter().map(|flow| flow.hosts[0]);
            let datagrams = experiment.datagrams.iter().map(|flow| flow.hosts[0]);
            connections.chain(datagrams).map(|host| host + 1).max().unwrap_or(0)
        }
        _ => 0,
    }
}

/// Refuses more than half of the kernel's memory holds; the other half is for packets.
pub(super) fn refuse_memory(experiment: &Experiment, hosts: &Hosts, refusals: &mut Refusals) {
    let namespaces = (hosts.routers + 2 * hosts.groups.len()) as u64;
    let flows = (experiment.flows.len() + experiment.datagrams.len()) as u64;
    let pairs = pairs_with_access(experiment) as u64;
    let needed = 2
        * (MEMORY_OF_NAMESPACE * namespaces
            + MEMORY_OF_PAIR_WITH_ACCESS * pairs
            + MEMORY_OF_FLOW * flows);
    if needed > experiment.linux.memory.get() {
        let message = format!(
            "{} is too little for {flows} flows and {namespaces} routers and groups of hosts; \
             write memory = \"{} MiB\" or more, or use --backend sim",
            experiment.linux.memory,
            needed.div_ceil(1 << 20)
        );
        refusals.refuse("linux.memory", message);
    }
}

/// The flows as the guest starts them.
pub(super) fn flows(
    experiment: &Experiment,
    hosts: &Hosts,
    mtu: u32,
    refusals: &mut Refusals,
) -> Vec<FlowPlan> {
    let plan = |(index, flow): (usize, &Flow)| {
        refuse_application(index, flow, experiment.linux.network, refusals);
        let pair = hosts.of_flow(index);
        let (rate, bytes) = match flow.source {
            Source::Bulk => (None, None),
            Source::File { bytes } => (None, Some(bytes)),
            Source::Limited { rate, bytes } => (Some(rate), bytes),
            Source::Driven => {
                refuse_driven(experiment, index, refusals);
                (None, None)
            }
        };
        FlowPlan {
            id: flow.id.clone(),
            source: hosts.source_namespace(pair),
            sink: hosts.sink_namespace(pair),
            address: sink_address(pair),
            port: FIRST_PORT.saturating_add(u16::try_from(index).unwrap_or(u16::MAX)),
            cc: algorithm::name(index, flow, refusals).to_owned(),
            start_ns: flow.start.as_nanos(),
            stop_ns: flow.stop.map(|stop| stop.as_nanos()),
            bytes: bytes.map(Bytes::get),
            rate_bps: rate.map(|rate| rate.as_bps()),
            mss: flow.stack.options.mss,
            options: options(index, flow, mtu, refusals),
        }
    };
    by_guest(experiment).into_iter().map(plan).collect()
}

/// Refuses what no application of a kernel does.
pub(super) fn refuse_application(
    index: usize,
    flow: &Flow,
    network: LinuxNetwork,
    refusals: &mut Refusals,
) {
    if flow.both_ways && flow.source != Source::Driven {
        let message =
            "true: the applications of a kernel send one way; write false or use --backend sim";
        refusals.refuse_flow(index, "both_ways", message.to_owned());
    }
    if flow.precedence != 0 && network == LinuxNetwork::Tc {
        let message = format!(
            "{}: no queue that a kernel is given goes by it; leave it out or use --backend sim",
            flow.precedence
        );
        refusals.refuse_flow(index, "precedence", message);
    }
    if let Some(reading) = flow.reading {
        let found = match reading {
            Reading::AtRate(rate) => rate.to_string(),
            Reading::Pausing { interval, .. } => interval.to_string(),
        };
        let message = format!(
            "{found}: the guest's applications read everything at once; leave it out or use \
             --backend sim"
        );
        refusals.refuse_flow(index, reading.key(), message);
    }
}

/// Refuses an application that does more than to write what it has.
fn refuse_driven(experiment: &Experiment, index: usize, refusals: &mut Refusals) {
    let applications = &experiment.applications;
    let of = applications.iter().find(|application| application.connections.contains(&index));
    let kind = of.map_or("", |application| application.workload.name());
    let (key, message) = if kind == "striped" {
        let message = "\"dynamic\": the guest's applications deal nothing while they run; write \
                       \"static\", or program = \"fairway\", or use --backend sim";
        ("striping", message.to_owned())
    } else {
        let message = format!(
            "\"{kind}\": the guest's applications write what they have, and do not answer; use \
             --backend sim"
        );
        ("kind", message)
    };
    refusals.refuse_flow(index, key, message);
}

/// The size of segments where the devices' is another, and the user's options.
fn options(index: usize, flow: &Flow, mtu: u32, refusals: &mut Refusals) -> Vec<SocketOption> {
    let stack = &flow.stack;
    let timestamps = if stack.options.timestamps { TIMESTAMP_OPTION } else { 0 };
    // With its options, as the kernel counts it.
    let mss = host::packet(stack) - HEADERS;
    let mut options = Vec::new();
    let least = if host::packet(stack) == mtu { LEAST_MSS } else { MAXSEG[0] };
    let largest = if host::packet(stack) == mtu { u32::MAX } else { MAXSEG[1] };
    if !(least..=largest).contains(&mss) {
        let wanted = mss.clamp(least, largest) - timestamps;
        let message = format!(
            "a kernel cannot have {} bytes here; write \"{wanted} bytes\" or use --backend sim",
            stack.options.mss
        );
        refusals.refuse_flow(index, "mss", message);
    } else if host::packet(stack) != mtu {
        options.extend(option("TCP_MAXSEG", i32::try_from(mss).unwrap_or(i32::MAX)));
    }
    let own = flow.linux_socket.iter().filter_map(|(name, value)| option(name, *value));
    options.extend(own);
    options
}

fn option(name: &str, value: i32) -> Option<SocketOption> {
    let known = SOCKET_OPTIONS.iter().find(|option| option.name == name)?;
    Some(SocketOption {
        name: known.name.to_owned(),
        level: known.level,
        option: known.option,
        value,
    })
}
