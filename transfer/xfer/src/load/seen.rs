//! What one end tells the other of a flow.

use fairway_schema::{DatagramSummary, FlowSummary};
use serde::{Deserialize, Serialize};

use super::engine::{Counts, Delays};

/// What one end has seen of a flow, by the end of the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Seen {
    pub flow: u32,
    /// Payload written or read; of datagrams without copies.
    pub bytes: u64,
    /// The part of it that was delivered in the measuring window.
    pub window_bytes: u64,
    /// Messages written as a whole, or datagrams sent.
    pub messages: u64,
    /// Pieces or datagrams whose content was not as it was made.
    pub corrupt: u64,
    pub foreign: u64,
    /// Why it broke, if it did.
    pub failure: Option<String>,
    /// From its start to its end at this end, in seconds.
    pub took_s: Option<f64>,
    /// What is known of datagrams where they arrive.
    pub datagrams: Option<Arrivals>,
    pub figures: Figures,
}

/// Datagrams where they arrive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    pub received: u64,
    /// Those that came after one that was sent later.
    pub reordered: u64,
    pub duplicated: u64,
    pub jitter_s: Option<f64>,
    /// One-way delays, if both ends have one clock.
    pub delays: Delays,
}

/// A flow's figures in the measuring window, as far as the schema of results has them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    cc: Option<String>,
    pub goodput_bps: f64,
    throughput_bps: f64,
    sent_segments: u64,
    retransmitted_segments: Option<u64>,
    lost_segments: u64,
    timeouts: Option<u64>,
    mean_cwnd_segments: Option<f64>,
    mean_srtt_s: Option<f64>,
    datagrams: Option<Arrived>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Arrived {
    received_packets: u64,
    reordered_packets: u64,
    duplicated_packets: u64,
    loss_ratio: Option<f64>,
    jitter_s: Option<f64>,
}

impl Figures {
    pub fn of(flow: &FlowSummary) -> Self {
        let arrived = |datagrams: &DatagramSummary| Arrived {
            received_packets: datagrams.received_packets,
            reordered_packets: datagrams.reordered_packets,
            duplicated_packets: datagrams.duplicated_packets,
            loss_ratio: datagrams.loss_ratio,
            jitter_s: datagrams.jitter_s,
        };
        Figures {
            cc: flow.cc.clone(),
            goodput_bps: flow.goodput_bps,
            throughput_bps: flow.throughput_bps,
            sent_segments: flow.sent_segments,
            retransmitted_segments: flow.retransmitted_segments,
            lost_segments: flow.lost_segments,
            timeouts: flow.timeouts,
            mean_cwnd_segments: flow.mean_cwnd_segments,
            mean_srtt_s: flow.mean_srtt_s,
            datagrams: flow.datagrams.as_ref().map(arrived),
        }
    }

    /// Makes a summary say what these do, all but its name.
    pub fn put(&self, flow: &mut FlowSummary) {
        flow.cc.clone_from(&self.cc);
        flow.goodput_bps = self.goodput_bps;
        flow.throughput_bps = self.throughput_bps;
        flow.sent_segments = self.sent_segments;
        flow.retransmitted_segments = self.retransmitted_segments;
        flow.lost_segments = self.lost_segments;
        flow.timeouts = self.timeouts;
        flow.mean_cwnd_segments = self.mean_cwnd_segments;
        flow.mean_srtt_s = self.mean_srtt_s;
        if let (Some(into), Some(from)) = (&mut flow.datagrams, &self.datagrams) {
            into.received_packets = from.received_packets;
            into.reordered_packets = from.reordered_packets;
            into.duplicated_packets = from.duplicated_packets;
            into.loss_ratio = from.loss_ratio;
            into.jitter_s = from.jitter_s;
        }
    }
}

impl Seen {
    /// What the counters of a flow say; its figures are those of the end's record.
    pub fn new(
        flow: u32,
        counts: &Counts,
        (figures, window_bytes): (Figures, u64),
        is_arriving_datagrams: bool,
    ) -> Self {
        let arrivals = || {
            let datagrams = counts.datagrams.lock().clone();
            Arrivals {
                received: datagrams.received_packets,
                reordered: datagrams.reordered_packets,
                duplicated: datagrams.duplicated_packets,
                jitter_s: datagrams.jitter_s,
                delays: counts.delays.lock().clone(),
            }
        };
        Seen {
            flow,
            bytes: counts.bytes(),
            window_bytes,
            messages: counts.messages(),
            corrupt: counts.corrupt(),
            foreign: counts.foreign(),
            failure: counts.failure(),
            took_s: counts.took_s(),
            datagrams: is_arriving_datagrams.then(arrivals),
            figures,
        }
    }
}
