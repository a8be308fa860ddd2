//! Flows: their addresses, ports, sizes and socket options.

use fairway_guest::plan::{Flow as FlowPlan, SocketOption};
use fairway_sim::experiment::{Experiment, Flow, SOCKET_OPTIONS, Shape, Source};
use fairway_units::Bytes;

use super::algorithm;
use super::host::{self, HEADERS, Hosts, TIMESTAMP_OPTION};
use super::network::{sink_address, sink_namespace};
use super::refusal::Refusals;

/// The port of the first flow's sink. With [`MAX_FLOWS`] behind it, all are below those that the
/// kernel gives to sources, from 32768 on.
const FIRST_PORT: u16 = 10_000;
/// Connections of one kernel, each with a port of its own.
const MAX_FLOWS: usize = 20_000;
/// Pairs of hosts with links of their own: six veths each.
const MAX_PAIRS_WITH_ACCESS: usize = 200;
/// Smallest payload with its options (net/ipv4/sysctl_net_ipv4.c, `tcp_min_snd_mss`).
const LEAST_MSS: u32 = 48;
/// Bounds of `TCP_MAXSEG` (net/ipv4/tcp.c): TCP_MIN_MSS, MAX_TCP_WINDOW.
const MAXSEG: [u32; 2] = [88, 32_767];

/// Refuses more flows and hosts than a kernel is set up with.
pub(super) fn refuse_numbers(experiment: &Experiment, refusals: &mut Refusals) {
    let flows = experiment.flows.len();
    if flows > MAX_FLOWS {
        let message = format!(
            "{flows} connections are more than the {MAX_FLOWS} that a kernel is set up with; lower \
             the counts or use --backend sim"
        );
        refusals.refuse("flow", message);
    }
    let pairs = experiment.flows.iter().map(|flow| flow.host + 1).max().unwrap_or(0);
    let access = matches!(experiment.topology.shape, Shape::Dumbbell { access: Some(_), .. });
    if access && pairs > MAX_PAIRS_WITH_ACCESS {
        let message = format!(
            "{pairs} pairs of hosts with links of their own are more than the \
             {MAX_PAIRS_WITH_ACCESS} that a kernel is set up with; let flows share hosts by from and \
             to, remove topology.access, or use --backend sim"
        );
        refusals.refuse("topology.access", message);
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
        let group = hosts.pairs[flow.host].group;
        let (rate, bytes) = match flow.source {
            Source::Bulk => (None, None),
            Source::File { bytes } => (None, Some(bytes)),
            Source::Limited { rate, bytes } => (Some(rate), bytes),
        };
        FlowPlan {
            id: flow.id.clone(),
            source: group,
            sink: sink_namespace(hosts, &experiment.topology, group),
            address: sink_address(flow.host),
            port: FIRST_PORT.saturating_add(u16::try_from(index).unwrap_or(u16::MAX)),
            cc: algorithm::name(index, flow, refusals).to_owned(),
            start_ns: flow.start.as_nanos(),
            stop_ns: flow.stop.map(|stop| stop.as_nanos()),
            bytes: bytes.map(Bytes::get),
            rate_bps: rate.map(|rate| rate.as_bps()),
            mss: flow.stack.mss,
            options: options(index, flow, mtu, refusals),
        }
    };
    experiment.flows.iter().enumerate().map(plan).collect()
}

/// The size of segments where the devices' is another, and the user's options.
fn options(index: usize, flow: &Flow, mtu: u32, refusals: &mut Refusals) -> Vec<SocketOption> {
    let stack = &flow.stack;
    let timestamps = if stack.timestamps { TIMESTAMP_OPTION } else { 0 };
    // With its options, as the kernel counts it.
    let mss = host::packet(stack) - HEADERS;
    let mut options = Vec::new();
    let least = if host::packet(stack) == mtu { LEAST_MSS } else { MAXSEG[0] };
    let largest = if host::packet(stack) == mtu { u32::MAX } else { MAXSEG[1] };
    if !(least..=largest).contains(&mss) {
        let wanted = mss.clamp(least, largest) - timestamps;
        let message = format!(
            "a kernel cannot have {} bytes here; write \"{wanted} bytes\" or use --backend sim",
            stack.mss
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
