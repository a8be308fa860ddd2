//! The end of a test at either end: exchange of results, and the session's record.

use std::net::SocketAddr;

use serde::Serialize;
use serde_json::Value;

use super::Transport;
use super::results::Results;
use super::run::{Outcome, Role, Test};
use crate::{Error, Sessions};

/// JSON of results: without streams, and for each of them.
const RESULTS_BYTES: usize = 64 << 10;
const RESULT_BYTES: usize = 1 << 10;

/// What a session says of itself.
#[derive(Serialize)]
struct About<'a> {
    protocol: &'static str,
    role: &'static str,
    peer: String,
    report: &'a Value,
}

/// Most JSON that the other side may send as results.
pub(super) fn most_bytes_of_results(test: &Test) -> usize {
    RESULTS_BYTES + RESULT_BYTES * test.streams.len()
}

/// Has the two sides tell each other their results, unless something failed before; the other's, or
/// why there are none.
pub(super) fn settle(
    outcome: &mut Outcome,
    test: &Test,
    exchange: impl FnOnce(&Outcome) -> Result<Results, Error>,
) -> (Option<Results>, Option<Error>) {
    let results = match outcome.failure.take() {
        None => exchange(outcome),
        Some(failure) => Err(failure),
    };
    match results {
        Ok(results) => {
            complete(outcome, test, &results);
            (Some(results), None)
        }
        Err(failure) => (None, Some(failure)),
    }
}

/// Puts the session where sessions go; the report, or why the test failed.
pub(super) fn close(
    sessions: &Sessions,
    (role, peer): (Role, SocketAddr),
    outcome: Outcome,
    report: Value,
    failure: Option<Error>,
) -> Result<Value, Error> {
    let about = About {
        protocol: "iperf3",
        role: match role {
            Role::Client => "client",
            Role::Server => "server",
        },
        peer: SocketAddr::new(peer.ip().to_canonical(), peer.port()).to_string(),
        report: &report,
    };
    sessions.ended(&about, outcome.record, failure.as_ref());
    failure.map_or(Ok(report), Err)
}

/// Completes the record: a sender does not know by itself what has arrived.
fn complete(outcome: &mut Outcome, test: &Test, theirs: &Results) {
    if test.parameters.protocol != Transport::Udp {
        return;
    }
    let flows = outcome.record.summary.flows.iter_mut();
    for ((flow, stream), result) in flows.zip(&test.streams).zip(&theirs.streams) {
        let Some(datagrams) = flow.datagrams.as_mut().filter(|_| stream.sends) else { continue };
        let lost = result.errors.saturating_sub(result.omitted_errors.unwrap_or(0));
        let lost = lost.min(flow.sent_segments);
        let share =
            if flow.sent_segments > 0 { lost as f64 / flow.sent_segments as f64 } else { 0.0 };
        flow.lost_segments = lost;
        flow.goodput_bps *= 1.0 - share;
        flow.throughput_bps *= 1.0 - share;
        datagrams.received_packets = flow.sent_segments - lost;
        datagrams.loss_ratio = (flow.sent_segments > 0).then_some(share);
        datagrams.jitter_s = Some(result.jitter_s);
    }
    outcome.record.sum_up();
}
