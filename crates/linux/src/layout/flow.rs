//! Flows: their addresses, ports, sizes and socket options.

use fairway_guest::plan::{Flow as FlowPlan, LISTENING_SOURCE, SocketOption};
use fairway_spec::{Experiment, Flow, LinuxNetwork, SOCKET_OPTIONS, Shape, Source, Workload};
use fairway_units::Bytes;

use super::algorithm;
use super::host::{self, HEADERS, Hosts, TIMESTAMP_OPTION};
use super::multipath;
use super::network::{sink_address, source_address};
use super::refusal::Refusals;
use crate::programs::by_guest;

/// The port of the first flow's sink. With [`MAX_FLOWS`] behind it, and as many of sources that listen,
/// all are below those that the kernel gives to sources, from 32768 on.
pub(super) const FIRST_PORT: u16 = 10_000;
/// Flows of one kernel.
const MAX_FLOWS: usize = LISTENING_SOURCE as usize;
/// Flows of two threads of the guest each. Starting so many takes it half a minute, and that grows with
/// their square; threads are numbered up to 32768 (`pid_max`). If there are more, one thread works all.
const MAX_THREADED: usize = 5_000;
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
/// Memory of a transfer that comes and goes: its addresses and routes, what is kept of it, and its share of
/// the connections that are open at a time. An estimate, not measured.
const MEMORY_OF_TRANSFER: u64 = 16 << 10;
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
    if experiment.linux.network == LinuxNetwork::Tc && pairs > MAX_PAIRS_WITH_ACCESS {
        let message = format!(
            "{pairs} pairs of hosts with links of their own are more than the \
             {MAX_PAIRS_WITH_ACCESS} that a kernel is set up with; let flows share hosts by from and \
             to, remove topology.access, or remove `network = \"tc\"`"
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
    let transfers = experiment.flows.iter().filter(|flow| !flow.is_sampled).count() as u64;
    let pairs = match experiment.linux.network {
        LinuxNetwork::Fairway => 0,
        LinuxNetwork::Tc => pairs_with_access(experiment) as u64,
    };
    let needed = 2
        * (MEMORY_OF_NAMESPACE * namespaces
            + MEMORY_OF_PAIR_WITH_ACCESS * pairs
            + MEMORY_OF_FLOW * (flows - transfers)
            + MEMORY_OF_TRANSFER * transfers);
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
    let own = by_guest(experiment);
    let subflows = multipath::subflows(experiment, hosts, &own, refusals);
    let is_driven = driven(experiment);
    let plan = |(place, (index, flow)): (usize, (usize, &Flow))| {
        refuse_application(index, flow, experiment.linux.network, refusals);
        let pair = hosts.of_flow(index);
        let (rate, bytes) = match flow.source {
            Source::Bulk | Source::Driven => (None, None),
            Source::File { bytes } => (None, Some(bytes)),
            Source::Limited { rate, bytes } => (Some(rate), bytes),
        };
        FlowPlan {
            id: flow.id.clone(),
            place: u32::try_from(index).unwrap_or(u32::MAX),
            is_driven: is_driven[index],
            both_ways: flow.both_ways,
            is_sampled: flow.is_sampled,
            source: hosts.source_namespace(pair),
            sink: hosts.sink_namespace(pair),
            source_address: source_address(pair),
            address: sink_address(pair),
            port: port(index),
            subflow: subflows[place],
            cc: algorithm::name(index, flow, refusals).to_owned(),
            start_ns: flow.start.as_nanos(),
            stop_ns: flow.stop.map(|stop| stop.as_nanos()),
            bytes: bytes.map(Bytes::get),
            rate_bps: rate.map(|rate| rate.as_bps()),
            mss: flow.stack.options.mss,
            options: options(index, flow, mtu, refusals),
        }
    };
    let mut flows: Vec<FlowPlan> = own.into_iter().enumerate().map(plan).collect();
    multipath::share_sinks(&mut flows);
    flows
}

/// Port of a flow's sink.
pub(super) fn port(index: usize) -> u16 {
    FIRST_PORT.saturating_add(u16::try_from(index).unwrap_or(u16::MAX))
}

/// The connections that the guest works in one thread, by events: those whose application does more than
/// write at one end and read everything at the other, and those that come in great numbers.
fn driven(experiment: &Experiment) -> Vec<bool> {
    let flows = &experiment.flows;
    let are_many = flows.len() > MAX_THREADED;
    let is_driven = |flow: &Flow| {
        let is_plain = flow.source != Source::Driven && !flow.both_ways && flow.reading.is_none();
        are_many || !is_plain || !flow.is_sampled
    };
    let mut driven: Vec<bool> = flows.iter().map(is_driven).collect();
    for application in &experiment.applications {
        // Its driver follows what each of its connections delivers.
        if matches!(&application.workload, Workload::Striped(striping) if !striping.mptcp) {
            driven[application.connections.clone()].fill(true);
        }
    }
    driven
}

/// Refuses what the packets of `tc` cannot be told apart by.
fn refuse_application(index: usize, flow: &Flow, network: LinuxNetwork, refusals: &mut Refusals) {
    if network == LinuxNetwork::Fairway {
        return;
    }
    let remedy = "write [linux] network = \"fairway\", or use --backend sim";
    if flow.both_ways {
        let (key, found) = match flow.source {
            Source::Driven => ("kind", "an application that answers"),
            _ => ("both_ways", "true"),
        };
        let message =
            format!("{found}: on a network of tc, only data to sinks are watched; {remedy}");
        refusals.refuse_flow(index, key, message);
    }
    refuse_precedence(index, flow, network, refusals);
}

/// Refuses a precedence that nothing goes by.
pub(super) fn refuse_precedence(
    index: usize,
    flow: &Flow,
    network: LinuxNetwork,
    refusals: &mut Refusals,
) {
    if flow.precedence != 0 && network == LinuxNetwork::Tc {
        let message = format!(
            "{}: no queue that tc is given goes by it; leave it out, or remove `network = \"tc\"`",
            flow.precedence
        );
        refusals.refuse_flow(index, "precedence", message);
    }
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
