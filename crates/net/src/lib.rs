//! The network: packets wait in a queue, are serialised at a rate, may be lost, and arrive.
//!
//! A [`Link`] is queue discipline → rate → loss → propagation, and decides a packet's fate and arrival
//! when the packet is offered. A [`wlan::Cell`] is a medium shared by stations.

pub mod datagrams;
mod delay;
mod histogram;
pub mod impairment;
mod link;
mod packet;
mod pieces;
mod port;
mod qdisc;
mod queue;
pub mod rate;
mod red;
mod schedule;
mod serialiser;
pub mod wlan;

pub use delay::Propagation;
pub use histogram::Histogram;
pub use impairment::{Fate, Passage, Wire, WireConfig};
pub use link::{Link, LinkConfig, LinkFigures, LinkTotals, Offer, Window};
pub use packet::{Ecn, Packet, memory_of};
pub use port::{Arrival, Port, PortConfig, Sent};
pub use qdisc::{CeThreshold, Codel, CodelConfig, FqCodel, FqCodelConfig};
pub use qdisc::{Cobalt, CobaltConfig, DualPi2, DualPi2Config, DualScheduler, LowLatencyMarks};
pub use qdisc::{DelayFrom, FqPie, FqPieConfig, Pie, PieConfig};
pub use qdisc::{
    DropHead, DropHeadConfig, DropTail, DropTailConfig, Drr, DrrConfig, PeakRate, Policer,
    PolicerConfig, RedQueue, RedQueueConfig, Sfq, SfqConfig, ShaperQueue, StrictPriority,
    StrictPriorityConfig, TokenBucket, TokenBucketConfig,
};
pub use qdisc::{Drops, Line, Next, Qdisc, QdiscConfig, Queued, Waiting};
pub use queue::{Admission, Backlog, Limit, Queue, QueueConfig};
pub use rate::{RateConfig, RateModel};
pub use red::{
    AdaptiveRed, RedConfig, RedMeasure, RedVariant, RouterOsRed, automatic_thresholds,
    automatic_weight, weight_of_burst,
};
pub use schedule::{Change, InFlight, Schedule};
pub use serialiser::{Serialiser, Timing};
