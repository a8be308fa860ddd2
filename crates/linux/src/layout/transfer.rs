//! Transfers by Fairway's own sender and receiver.

use fairway_guest::plan::Transfer;
use fairway_spec::{Dealing, Experiment, Flow, Source};
use fairway_units::{Bytes, Rate};

use super::algorithm;
use super::flow::{FIRST_PORT, refuse_precedence};
use super::host::{self, HEADERS, Hosts};
use super::network::sink_address;
use super::refusal::Refusals;
use crate::programs::{ByProgram, by_program};

/// What an endless transfer's file has more than the path can carry to the end of the run: a tenth, and
/// two chunks for each connection, so that none is without one before.
const SPARE: f64 = 1.1;
const CHUNKS: u64 = 2;
/// Largest file, on the host's disk when it has arrived: more than any run here carries.
const MAX_BYTES: u64 = 64 << 30;
/// What the program's connections take at a time unless it is written, and where their number changes.
const CHUNK_BYTES: u64 = 8 << 20;
const AUTO_CHUNK_BYTES: u64 = 1 << 20;
/// Connections of a program: as many as its receiver takes.
const MAX_STREAMS: u64 = 256;

/// The transfers as the guest starts them.
pub(super) fn transfers(
    experiment: &Experiment,
    hosts: &Hosts,
    slowest: Option<Rate>,
    mtu: u32,
    refusals: &mut Refusals,
) -> Vec<Transfer> {
    let plan = |transfer: ByProgram| {
        let index = transfer.connections().start;
        let flow = &experiment.flows[index];
        refuse_precedence(index, flow, experiment.linux.network, refusals);
        refuse_reading(index, flow, refusals);
        refuse_options(index, flow, refusals);
        if matches!(flow.source, Source::Limited { .. }) {
            let message = "a program sends as fast as it can; remove it, or program".to_owned();
            refusals.refuse_flow(index, "app_rate", message);
        }
        let streams = transfer.connections().len() as u64;
        if streams > MAX_STREAMS {
            let message =
                format!("{streams} are more than the {MAX_STREAMS} of one transfer; write fewer");
            refusals.refuse_flow(index, "connections", message);
        }
        let pair = hosts.of_flow(index);
        Transfer {
            id: transfer.application.id.clone(),
            source: hosts.source_namespace(pair),
            sink: hosts.sink_namespace(pair),
            address: sink_address(pair),
            port: FIRST_PORT.saturating_add(u16::try_from(index).unwrap_or(u16::MAX)),
            cc: algorithm::name(index, flow, refusals).to_owned(),
            streams: (!transfer.program.auto).then_some(u32::try_from(streams).unwrap_or(u32::MAX)),
            bytes: bytes(experiment, &transfer, index, slowest, refusals),
            chunk_bytes: transfer.program.chunk.map(Bytes::get),
            is_static: transfer.striping.dealing == Dealing::Static,
            is_encrypted: transfer.program.encrypted,
            mss: (host::packet(&flow.stack) != mtu).then(|| host::packet(&flow.stack) - HEADERS),
            start_ns: flow.start.as_nanos(),
            stop_ns: flow.stop.map(|stop| stop.as_nanos()),
        }
    };
    by_program(experiment).map(plan).collect()
}

/// The size of the file: as written, or more than the path can carry.
fn bytes(
    experiment: &Experiment,
    transfer: &ByProgram,
    index: usize,
    slowest: Option<Rate>,
    refusals: &mut Refusals,
) -> u64 {
    let slowest = slowest.filter(|rate| *rate != Rate::UNLIMITED).map(|rate| rate.as_bps());
    let length_s = experiment.duration.as_secs_f64();
    let written = transfer.striping.bytes.map(Bytes::get);
    let [streams, chunk] = match transfer.program.auto {
        true => [MAX_STREAMS, AUTO_CHUNK_BYTES],
        false => [transfer.connections().len() as u64, CHUNK_BYTES],
    };
    let chunk = transfer.program.chunk.map_or(chunk, Bytes::get);
    let carried = slowest.map(|bps| (bps as f64 / 8.0 * length_s * SPARE) as u64);
    let carried = carried.map(|bytes| bytes.saturating_add(CHUNKS * chunk * streams));
    let found = written.or(carried);
    if found.is_none_or(|bytes| bytes > MAX_BYTES) {
        let message = format!(
            "the file of a program's transfer is on the host's disk, and may have \"{} GiB\"; write as \
             much or less",
            MAX_BYTES >> 30
        );
        refusals.refuse_flow(index, "bytes", message);
    }
    found.unwrap_or(0)
}

/// A receiver that is no program of Fairway's.
fn refuse_reading(index: usize, flow: &Flow, refusals: &mut Refusals) {
    if let Some(reading) = flow.reading {
        let message = "a program reads as fast as it can; remove it, or program".to_owned();
        refusals.refuse_flow(index, reading.key(), message);
    }
    if flow.both_ways {
        let message = "true: a program sends one way; remove it, or program".to_owned();
        refusals.refuse_flow(index, "both_ways", message);
    }
}

/// Socket options that nobody sets on a program's connections.
fn refuse_options(index: usize, flow: &Flow, refusals: &mut Refusals) {
    if let Some((name, _)) = flow.linux_socket.first() {
        let message =
            format!("{name}: a program sets the options of its connections itself; remove it");
        refusals.refuse_flow(index, "linux_socket", message);
    }
}
