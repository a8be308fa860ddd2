//! Queue disciplines of links: each packet is admitted, marked or dropped on arrival.

use fairway_units::Time;
use fairway_units::random::Stream;

use crate::red::{Red, RedConfig};

/// The size of a queue. The packet in transmission counts, as it does in ns-2.35
/// (`queue/drop-tail.cc`, `enque`) and in Linux's netem (`sch_netem.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// No limit.
    Unlimited,
    /// Packets waiting or in transmission.
    Packets(u64),
    /// Bytes waiting or in transmission.
    Bytes(u64),
}

impl Limit {
    /// Whether one more packet fits.
    #[inline(always)]
    pub fn admits(self, inside: &Backlog) -> bool {
        match self {
            Limit::Unlimited => true,
            Limit::Packets(limit) => {
                inside.packets + u64::from(inside.transmitting_bytes > 0) < limit
            }
            Limit::Bytes(limit) => {
                let bytes = inside.bytes + inside.transmitting_bytes + inside.arriving_bytes;
                bytes <= limit
            }
        }
    }
}

/// State of the queue at an arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
    /// Bytes of the packet in transmission, zero if there is none.
    pub transmitting_bytes: u64,
    /// Bytes of the arriving packet.
    pub arriving_bytes: u64,
    /// Start of the idle period, if the link is idle.
    pub idle_since: Option<Time>,
}

/// Decision on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It joins the queue.
    Enqueue,
    /// It joins the queue with a congestion mark.
    Mark,
    /// It is dropped.
    Drop,
}

/// A discipline with its parameters.
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

    /// Decide on a packet that arrives at `now` and finds `backlog`.
    /// It may be marked if `may_mark`.
    #[inline(always)]
    pub fn admit(&mut self, may_mark: bool, backlog: Backlog, now: Time) -> Admission {
        let fits = self.limit.admits(&backlog);
        if self.red.is_some() {
            // A copy, so that nothing else need be in memory.
            let found = backlog;
            self.admit_early(may_mark, fits, &found, now)
        } else if fits {
            Admission::Enqueue
        } else {
            Admission::Drop
        }
    }

    #[inline(never)]
    fn admit_early(
        &mut self,
        may_mark: bool,
        fits: bool,
        backlog: &Backlog,
        now: Time,
    ) -> Admission {
        let red = self.red.as_mut();
        red.map_or(Admission::Enqueue, |red| red.admit(may_mark, fits, backlog, now))
    }
}
