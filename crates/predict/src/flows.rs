//! What models need of flows.

use fairway_cc::Variant;
use fairway_spec::{
    Application, DatagramFlow, Experiment, Flow, Pattern, Source, UDP_HEADERS, Workload,
};
use fairway_tcp::{DelayedAck, EcnMode, Stack};

use crate::case::{Load, Stream};
use crate::describe::loss_of;
use crate::network::Network;
use crate::refusal::Refusal;

/// IPv4 (RFC 791) and TCP (RFC 9293, section 3.1) headers without options.
const HEADERS: f64 = 40.0;
/// The timestamp option with its padding (RFC 7323, appendix A).
const TIMESTAMPS: f64 = 12.0;
/// Largest window without a scale, and largest scale (RFC 7323, section 2.3).
const UNSCALED: u64 = 65_535;
const MOST_SCALE: u32 = 14;

/// What of the flows no model knows.
pub(crate) fn refusals(experiment: &Experiment) -> Vec<Refusal> {
    let mut refused: Vec<Refusal> = Vec::new();
    // Copies of one flow say the same: neighbours are enough to look at.
    let mut refuse = |refusal: Refusal| {
        if refused.last() != Some(&refusal) {
            refused.push(refusal);
        }
    };
    for application in &experiment.applications {
        let kind = application.workload.name();
        let Some(first) = experiment.flows.get(application.connections.start) else { continue };
        match &application.workload {
            Workload::Striped(striping) if striping.program.is_some() => {
                let what = "a program decides what its connections do";
                refuse(Refusal::new(first.path("program"), what));
            }
            Workload::Striped(_) => {}
            _ => {
                let what = format!("no model knows what an application of kind \"{kind}\" writes");
                refuse(Refusal::new(first.path("kind"), what));
            }
        }
    }
    for flow in &experiment.flows {
        // Of a request and its answer, the kind has been refused already.
        if flow.both_ways && flow.application.is_none() {
            refuse(Refusal::new(flow.path("both_ways"), "models know data in one direction only"));
        }
        if let Some(reading) = flow.reading {
            let what = "no model knows an application that reads slowly";
            refuse(Refusal::new(flow.path(reading.key()), what));
        }
    }
    if experiment.flows.is_empty() && experiment.datagrams.is_empty() {
        refuse(Refusal::new("flow", "there is nothing to tell about"));
    }
    refused
}

/// All flows, as models see them.
pub(crate) fn read(experiment: &Experiment, network: &Network) -> (Vec<Stream>, Vec<Load>) {
    let mut owners: Vec<Option<&Application>> = vec![None; experiment.flows.len()];
    for application in &experiment.applications {
        for owner in &mut owners[application.connections.clone()] {
            *owner = Some(application);
        }
    }
    let flows = experiment.flows.iter().zip(owners).enumerate();
    let streams = flows
        .map(|(place, (flow, owner))| stream(experiment, network, place, flow, owner))
        .collect();
    let datagrams = experiment.datagrams.iter().enumerate();
    let loads = datagrams.map(|(place, flow)| load(experiment, network, place, flow)).collect();
    (streams, loads)
}

fn stream(
    experiment: &Experiment,
    network: &Network,
    place: usize,
    flow: &Flow,
    owner: Option<&Application>,
) -> Stream {
    let stack = &flow.stack;
    let payload_bytes = f64::from(stack.options.mss);
    let headers = HEADERS + if stack.options.timestamps { TIMESTAMPS } else { 0.0 };
    let overhead = experiment.topology.frame_overhead.get() as f64;
    let frame_bytes = payload_bytes + headers + overhead;
    let route = &network.routes[place];
    let one_way_s = time_s(network, &route.there, frame_bytes);
    let (rate, bytes) = match (flow.source, owner.map(|owner| &owner.workload)) {
        (Source::Driven, Some(Workload::Striped(striping))) => {
            let connections = owner.map_or(1, |owner| owner.connections.len().max(1));
            (None, striping.bytes.map(|bytes| bytes.get() as f64 / connections as f64))
        }
        (Source::Bulk | Source::Driven, _) => (None, None),
        (Source::File { bytes }, _) => (None, Some(bytes.get() as f64)),
        (Source::Limited { rate, bytes }, _) => {
            (Some(rate.as_bps() as f64), bytes.map(|bytes| bytes.get() as f64))
        }
    };
    Stream {
        place,
        path: flow.path(""),
        cc: flow.cc.name.clone(),
        parameters: flow.cc.params.clone(),
        payload_bytes,
        packet_bytes: payload_bytes + headers,
        frame_bytes,
        rtt_s: one_way_s + time_s(network, &route.back, headers + overhead),
        one_way_s,
        loss: loss(network, &route.there, frame_bytes),
        ack_loss: loss(network, &route.back, headers + overhead),
        window_packets: libm::floor(window_bytes(stack) as f64 / payload_bytes).max(1.0),
        application_pps: rate.map(|rate| rate / 8.0 / payload_bytes),
        size_packets: bytes.map(|bytes| bytes / payload_bytes),
        start_s: flow.start.as_secs_f64(),
        stop_s: flow.stop.map(fairway_units::Time::as_secs_f64),
        rto_min_s: stack.rto.rto_min.as_secs_f64(),
        syn_timeout_s: stack.rto.rto_initial.as_secs_f64(),
        initial_window_packets: f64::from(stack.window.initial_window.max(1)),
        packets_per_growth: packets_per_growth(flow),
        has_sack: stack.options.sack,
        delays_acks: stack.acks.delayed_ack != DelayedAck::Off && stack.acks.ack_every > 1,
        is_ecn_capable: stack.options.ecn != EcnMode::Off,
    }
}

/// Linux grows windows by packets, the model of ns-3 by acknowledgements (ns-3.29,
/// `src/internet/model/tcp-congestion-ops.cc`, `CongestionAvoidance`).
fn packets_per_growth(flow: &Flow) -> f64 {
    let stack = &flow.stack;
    let by_acks = flow.cc.variant.unwrap_or(stack.window.cc_variant) == Variant::Ns3_29;
    let delays = stack.acks.delayed_ack != DelayedAck::Off;
    if by_acks && delays { f64::from(stack.acks.ack_every.max(1)) } else { 1.0 }
}

/// The largest window that the buffers of both ends allow.
fn window_bytes(stack: &Stack) -> u64 {
    let space = stack.buffers.receive_buffer / u64::from(stack.buffers.window_divisor.max(1));
    // Linux holds a segment in reserve (`tcp_init_buffer_space`).
    let reserve =
        if stack.buffers.receive_window_tuning { u64::from(stack.options.mss) } else { 0 };
    let space = space.saturating_sub(reserve);
    let largest = if stack.options.window_scaling { UNSCALED << MOST_SCALE } else { UNSCALED };
    space.min(largest).min(stack.buffers.send_buffer)
}

fn load(experiment: &Experiment, network: &Network, place: usize, flow: &DatagramFlow) -> Load {
    let packet_bytes = f64::from(flow.packet_bytes);
    let payload_bytes = f64::from(flow.packet_bytes.saturating_sub(UDP_HEADERS)).max(1.0);
    let frame_bytes = packet_bytes + experiment.topology.frame_overhead.get() as f64;
    let route = &network.routes[experiment.flows.len() + place];
    let share = match flow.pattern {
        Pattern::OnOff { on, off, .. } => {
            let (on, off) = (on.as_secs_f64(), off.as_secs_f64());
            if on + off > 0.0 { on / (on + off) } else { 1.0 }
        }
        _ => 1.0,
    };
    let payload_bps = flow.rate.as_bps() as f64 * share;
    let start_s = flow.start.as_secs_f64() + flow.start_jitter.as_secs_f64() / 2.0;
    let size_s = flow.bytes.map(|bytes| bytes.get() as f64 * 8.0 / payload_bps.max(1e-9));
    let by_size = size_s.map(|size_s| start_s + size_s);
    let end_s = match (by_size, flow.stop.map(fairway_units::Time::as_secs_f64)) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    Load {
        place,
        payload_bps,
        payload_bytes,
        packet_bytes,
        frame_bytes,
        one_way_s: time_s(network, &route.there, frame_bytes),
        loss: loss(network, &route.there, frame_bytes),
        is_changing: matches!(flow.pattern, Pattern::OnOff { .. } | Pattern::Variable { .. }),
        is_constant: flow.pattern == Pattern::Constant,
        start_s,
        end_s,
    }
}

/// Propagation and transmission of a frame over some links.
fn time_s(network: &Network, links: &[usize], frame_bytes: f64) -> f64 {
    let over = |direction: &usize| {
        let direction = &network.all[*direction];
        let link = direction.link.direction(direction.forward);
        link.delay.as_secs_f64() + 8.0 * frame_bytes / link.rate.as_bps() as f64
    };
    links.iter().map(over).sum()
}

/// Probability that a frame is lost on one of some links.
fn loss(network: &Network, links: &[usize], frame_bytes: f64) -> f64 {
    let kept = |direction: &usize| 1.0 - loss_of(&network.all[*direction], frame_bytes);
    1.0 - links.iter().map(kept).product::<f64>()
}
