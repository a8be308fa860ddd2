//! What the host tells the library, and what the library has measured: files of a run directory.

use std::net::Ipv4Addr;

use fairway_guest::record::FlowMark;
use fairway_schema::{LinkSummary, WlanSummary};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The file with [`Instructions`].
pub const INSTRUCTIONS: &str = "network.json";
/// The file with [`Measured`], written at the end.
pub const MEASURED: &str = "network-measured.json";
/// The file with a [`fairway_guest::record::QueueSample`] for each reported link and sample.
pub const SAMPLES: &str = "network-queues.bin";
/// The list of [`crate::losses`], if the experiment asks for it.
pub const LOSSES: &str = "network-losses.bin";
/// The file that says why the library gave up, if it did: where the guest says so too.
pub const ERROR: &str = "error";

/// Which network a kernel's hosts are on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instructions {
    /// The experiment, as a resolved document.
    #[serde(default)]
    pub experiment: Value,
    /// How many devices the kernel has on the network.
    pub devices: u32,
    /// The connections of the experiment, and its datagram flows behind them.
    pub flows: Vec<Ends>,
    /// The first and the number of connections that a program opens between the same hosts.
    #[serde(default)]
    pub groups: Vec<[u32; 2]>,
}

/// The ends of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ends {
    /// Address of the source.
    pub source: Ipv4Addr,
    /// Address of the sink.
    pub sink: Ipv4Addr,
    /// Port of the sink; no other flow has it.
    pub port: u16,
    /// The devices of both, in the same order.
    pub devices: [u32; 2],
}

/// What a network has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The reported link directions over the measuring window.
    pub links: Vec<LinkSummary>,
    /// The cell, if there is one.
    pub wlan: Option<WlanSummary>,
    /// For each flow, its packets towards the sink at both ends of the measuring window.
    pub flows: Vec<[FlowMark; 2]>,
    /// For each connection, its packets towards the source.
    pub back: Vec<[FlowMark; 2]>,
    /// For each flow, its data packets that have arrived over the whole run, those towards the source
    /// included.
    pub arrivals: Vec<u64>,
    /// For each flow, its data packets that a queue dropped in the measuring window.
    pub dropped: Vec<u64>,
    /// For each connection, the same of data packets towards the source.
    pub dropped_back: Vec<u64>,
    /// For each flow, the route that it was given, if it had a choice.
    pub routes: Vec<Option<String>>,
    /// Packets that belong to no flow, which are dropped.
    pub foreign_packets: u64,
    /// What has to be known of its captures.
    pub remarks: Vec<String>,
    /// What belongs to the list of losses, if there is one.
    #[serde(default)]
    pub losses: Option<OfLosses>,
}

/// What belongs to a list of losses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfLosses {
    /// The names of all link directions.
    pub link_ids: Vec<String>,
    /// Losses that are not listed.
    pub left_out: u64,
}
