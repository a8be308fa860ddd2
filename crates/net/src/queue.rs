//! Queue disciplines that decide on arrival: what is admitted, marked or dropped.

use fairway_units::Time;

use crate::red::{Red, RedConfig};
use crate::{Packet, Stream};

/// The size of a queue; the packet in service is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No limit.
    Unlimited,
    /// Packets waiting.
    Packets(u64),
    /// Bytes waiting.
    Bytes(u64),
}

impl Limit {
    /// Whether a packet of `bytes` still fits behind the given backlog.
    pub fn admits(self, backlog_packets: u64, backlog_bytes: u64, bytes: u32) -> bool {
        match self {
            Limit::Unlimited => true,
            Limit::Packets(limit) => backlog_packets < limit,
            Limit::Bytes(limit) => backlog_bytes + u64::from(bytes) <= limit,
        }
    }
}

/// What becomes of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It joins the queue.
    Enqueue,
    /// It joins the queue with a congestion mark.
    Mark,
    /// It is dropped.
    Drop,
}

/// Which discipline, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueConfig {
    /// First in, first out, arrivals beyond the limit dropped.
    DropTail {
        /// The limit.
        limit: Limit,
    },
    /// Random early detection.
    Red {
        /// Hard limit.
        limit: Limit,
        /// Parameters.
        red: RedConfig,
    },
}

/// The state of a queue discipline.
#[derive(Clone, Debug)]
pub struct Queue {
    limit: Limit,
    red: Option<Red>,
}

impl Queue {
    /// A queue; `stream` feeds its random decisions.
    pub fn new(config: &QueueConfig, stream: Stream) -> Self {
        match config {
            QueueConfig::DropTail { limit } => Queue { limit: *limit, red: None },
            QueueConfig::Red { limit, red } => {
                Queue { limit: *limit, red: Some(Red::new(red.clone(), stream)) }
            }
        }
    }

    /// Decide on a packet that arrives at `now` behind the given backlog; `idle_since` is when
    /// the link last ran out of work, if it is idle.
    pub fn admit(
        &mut self,
        packet: &impl Packet,
        backlog_packets: u64,
        backlog_bytes: u64,
        idle_since: Option<Time>,
        now: Time,
    ) -> Admission {
        let fits = self.limit.admits(backlog_packets, backlog_bytes, packet.wire_bytes());
        match &mut self.red {
            None if fits => Admission::Enqueue,
            None => Admission::Drop,
            Some(red) => red.admit(packet, fits, backlog_packets, idle_since, now),
        }
    }
}
