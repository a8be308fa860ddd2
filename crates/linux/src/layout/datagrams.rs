//! Flows of datagrams: what the simulator's become in a kernel.
//!
//! A packet takes memory of its sender's socket until it leaves its host or a queue that forgets whose it is.
//! A flow without a `send_buffer` does not feel that, and sends from its host. One that has one sends from the
//! router in front of the first link, which thus is its host's own card: only there do packets in the queue
//! still hold the socket's memory.

use fairway_guest::plan::{Datagrams, STAMP_BYTES};
use fairway_spec::{DatagramFlow, Experiment, LinuxNetwork, UDP_HEADERS, departures_of};
use fairway_units::Bytes;

use super::flow::FIRST_PORT;
use super::host::Hosts;
use super::network::{first_router, sink_address};
use super::refusal::Refusals;
use crate::programs::by_guest;

/// Largest buffer of a socket for sending, packets' own memory included: `sk_sndbuf` is a signed integer, and
/// even as the kernel doubles what is asked for.
const LARGEST_BUFFER: u64 = i32::MAX as u64 - 1;

/// The flows of datagrams as the guest starts them.
pub(super) fn datagrams(
    experiment: &Experiment,
    hosts: &Hosts,
    refusals: &mut Refusals,
) -> Vec<Datagrams> {
    let connections = by_guest(experiment);
    let plan = |(index, flow): (usize, &DatagramFlow)| {
        refuse(experiment, flow, refusals);
        let pair = hosts.of_datagrams(index);
        // On Fairway's network a packet holds its socket's memory until it has left its first link.
        let is_at_router = flow.send_buffer.is_some() && hosts.routers > 0;
        let number = experiment.flows.len() + index;
        Datagrams {
            id: flow.id.clone(),
            behind: connections.iter().filter(|(place, _)| *place < flow.behind).count(),
            source: if is_at_router { first_router(hosts) } else { hosts.source_namespace(pair) },
            sink: hosts.sink_namespace(pair),
            address: sink_address(pair),
            port: FIRST_PORT.saturating_add(u16::try_from(number).unwrap_or(u16::MAX)),
            pattern: (&flow.pattern).into(),
            rate_bps: flow.rate.as_bps(),
            payload_bytes: flow.packet_bytes - UDP_HEADERS,
            bytes: flow.bytes.map(Bytes::get),
            // By the simulator's random numbers, so that packets leave when they do there.
            start_ns: flow.jittered_start(experiment.seed, index).as_nanos(),
            stop_ns: flow.stop.map(|stop| stop.as_nanos()),
            random: (experiment.seed, departures_of(index)),
            send_buffer: flow.send_buffer.map(Bytes::get),
        }
    };
    experiment.datagrams.iter().enumerate().map(plan).collect()
}

/// Refuses what no flow of a kernel does.
fn refuse(experiment: &Experiment, flow: &DatagramFlow, refusals: &mut Refusals) {
    let least = STAMP_BYTES + UDP_HEADERS;
    if flow.packet_bytes < least {
        let message = format!(
            "{} bytes have no room for the number and the time that a kernel's guest writes into its \
             packets; write \"{least} bytes\" or more, or use --backend sim",
            flow.packet_bytes
        );
        refusals.refuse_datagrams(flow, "packet", message);
    }
    let on_row = experiment.linux.network == LinuxNetwork::Tc;
    if flow.precedence != 0 && on_row {
        let message = format!(
            "{}: no queue that tc is given goes by it; leave it out, or remove `network = \"tc\"`",
            flow.precedence
        );
        refusals.refuse_datagrams(flow, "precedence", message);
    }
    let Some(buffer) = flow.send_buffer.map(Bytes::get) else { return };
    if buffer > LARGEST_BUFFER || !buffer.is_multiple_of(2) {
        let nearest = buffer.min(LARGEST_BUFFER).next_multiple_of(2);
        let message = format!(
            "{buffer} bytes are no size that a kernel's socket has, even and at most {LARGEST_BUFFER}; \
             write \"{nearest} bytes\" or use --backend sim"
        );
        refusals.refuse_datagrams(flow, "send_buffer", message);
    }
    if experiment.capture.is_on() && on_row {
        let message = "on a network of tc, a flow that waits for its socket sends where no \
                       capture sees it; remove it or [capture], or remove `network = \"tc\"`";
        refusals.refuse_datagrams(flow, "send_buffer", message.to_owned());
    }
}
