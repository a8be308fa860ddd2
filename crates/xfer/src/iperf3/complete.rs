//! What the other side has measured of datagrams, added to the record of the side that sent them.

use super::Protocol;
use super::results::Results;
use super::run::{Flowed, Test};

/// Completes the record: a sender does not know by itself what has arrived.
pub(super) fn complete(flowed: &mut Flowed, test: &Test, theirs: &Results) {
    if test.parameters.protocol != Protocol::Udp {
        return;
    }
    let flows = flowed.record.summary.flows.iter_mut();
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
    flowed.record.sum_up();
}
