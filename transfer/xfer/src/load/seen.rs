//! What one end reports to the other about a flow.

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
    pub messages: u64,
    /// Pieces or datagrams whose content was not as it was made.
    pub corrupt: u64,
    pub foreign: u64,
    /// Why it broke, if it did.
    pub failure: Option<String>,
    /// From its start to its end at this end, in seconds.
    pub took_s: Option<f64>,
    pub datagrams: Option<Arrivals>,
    pub figures: Figures,
}

/// Datagrams where they arrive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    pub received: u64,
    pub reordered: u64,
    pub duplicated: u64,
    pub jitter_s: Option<f64>,
    /// One-way delays, if both ends have one clock.
    pub delays: Delays,
}

/// Declares figures that one end sends to the other, as fields of a summary: read from it, and put into
/// it again.
macro_rules! figures {
    ($(#[$doc:meta])* $name:ident of $summary:ident { $($field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct $name {
            $(pub $field: $type,)*
        }

        impl $name {
            fn of(summary: &$summary) -> Self {
                $name { $($field: summary.$field.clone(),)* }
            }

            fn put(&self, summary: &mut $summary) {
                $(summary.$field = self.$field.clone();)*
            }
        }
    };
}

figures! {
    /// A flow in the measuring window.
    FlowFigures of FlowSummary {
        cc: Option<String>,
        goodput_bps: f64,
        throughput_bps: f64,
        sent_segments: u64,
        retransmitted_segments: Option<u64>,
        lost_segments: u64,
        timeouts: Option<u64>,
        mean_cwnd_segments: Option<f64>,
        mean_srtt_s: Option<f64>,
    }
}

figures! {
    /// Its datagrams.
    DatagramFigures of DatagramSummary {
        received_packets: u64,
        reordered_packets: u64,
        duplicated_packets: u64,
        loss_ratio: Option<f64>,
        jitter_s: Option<f64>,
    }
}

/// A flow's figures in the measuring window, as far as both ends exchange them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    pub flow: FlowFigures,
    datagrams: Option<DatagramFigures>,
}

impl Figures {
    pub fn of(flow: &FlowSummary) -> Self {
        let datagrams = flow.datagrams.as_ref().map(DatagramFigures::of);
        Figures { flow: FlowFigures::of(flow), datagrams }
    }

    pub fn put(&self, flow: &mut FlowSummary) {
        self.flow.put(flow);
        if let (Some(into), Some(from)) = (&mut flow.datagrams, &self.datagrams) {
            from.put(into);
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
