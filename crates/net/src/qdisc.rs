//! Queue disciplines of ports.
//!
//! A discipline may drop or mark a packet on arrival and on departure. A [`Qdisc`] does not know its
//! line: the owner of both takes the next packet when a transmission ends.

mod buckets;
mod cobalt;
mod codel;
mod drop_head;
mod drop_tail;
mod drr;
mod dualpi2;
mod fifo;
mod flows;
mod fq_codel;
mod fq_pie;
mod kinds;
mod nested;
mod pie;
mod policer;
mod red;
mod sfq;
mod strict_priority;
#[cfg(test)]
mod test_packet;
mod token_bucket;

use fairway_units::Time;

use crate::{Backlog, Ecn, Packet};

pub use buckets::PeakRate;
pub use cobalt::{Cobalt, CobaltConfig};
pub use codel::{CeThreshold, Codel, CodelConfig};
pub use drop_head::{DropHead, DropHeadConfig};
pub use drop_tail::{DropTail, DropTailConfig};
pub use drr::{Drr, DrrConfig};
pub use dualpi2::{DualPi2, DualPi2Config, DualScheduler, LowLatencyMarks};
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use fq_pie::{FqPie, FqPieConfig};
pub use kinds::QdiscConfig;
pub use pie::{DelayFrom, Pie, PieConfig};
pub use policer::{Policer, PolicerConfig};
pub use red::{RedQueue, RedQueueConfig};
pub use sfq::{Sfq, SfqConfig};
pub use strict_priority::{StrictPriority, StrictPriorityConfig};
pub use token_bucket::{ShaperQueue, TokenBucket, TokenBucketConfig};

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Queued<P> {
    /// The packet.
    pub packet: P,
    /// Its bytes, framing included.
    pub bytes: u32,
    /// When it arrived.
    pub arrived: Time,
    /// Whether it had been marked before it arrived.
    pub marked_before: bool,
}

impl<P: Packet> Queued<P> {
    /// A packet that arrives `now` with `frame_overhead` bytes of framing.
    pub fn new(packet: P, frame_overhead: u32, now: Time) -> Self {
        let bytes = packet.wire_bytes() + frame_overhead;
        let marked_before = packet.ecn() == Ecn::Ce;
        Queued { packet, bytes, arrived: now, marked_before }
    }
}

/// State of the line when a packet arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Bytes of the packet in transmission, zero if there is none.
    pub transmitting_bytes: u32,
    /// Start of the idle period, if the line is idle.
    pub idle_since: Option<Time>,
}

impl Line {
    /// The backlog that an arriving packet of `bytes` finds.
    pub(crate) fn backlog(&self, waiting: Waiting, arriving_bytes: u32) -> Backlog {
        Backlog {
            packets: waiting.packets,
            bytes: waiting.bytes,
            transmitting_bytes: u64::from(self.transmitting_bytes),
            arriving_bytes: u64::from(arriving_bytes),
            idle_since: self.idle_since,
        }
    }
}

/// Packets dropped by a discipline and not yet taken.
#[derive(Clone, Debug)]
pub struct Drops<P> {
    /// The dropped packets.
    pub packets: Vec<Queued<P>>,
    /// Drops because the queue was full.
    pub for_room: u64,
}

impl<P> Default for Drops<P> {
    fn default() -> Self {
        Drops { packets: Vec::new(), for_room: 0 }
    }
}

impl<P> Drops<P> {
    /// The discipline drops a packet to signal congestion.
    pub fn signal(&mut self, packet: Queued<P>) {
        self.packets.push(packet);
    }

    /// There is no room for a packet.
    pub fn no_room(&mut self, packet: Queued<P>) {
        self.packets.push(packet);
        self.for_room += 1;
    }

    /// Clear.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.for_room = 0;
    }
}

/// Answer of a queue to a free line.
#[derive(Clone, Copy, Debug)]
pub enum Next<P> {
    /// This packet.
    Packet(Queued<P>),
    /// No packet before this time (a shaper).
    NotBefore(Time),
    /// The queue is empty.
    Empty,
}

/// Contents of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Packets.
    pub packets: u64,
    /// Bytes, framing included.
    pub bytes: u64,
}

/// A queue discipline. Every packet given to `enqueue` leaves once, from `dequeue` or in `drops`. Times
/// never decrease.
pub trait Qdisc<P: Packet>: std::fmt::Debug + Send {
    /// A packet arrives and finds `line`.
    fn enqueue(&mut self, packet: Queued<P>, line: &Line, now: Time, drops: &mut Drops<P>);

    /// The line is free. Called after every transmission, also with an empty queue: controllers use
    /// that.
    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P>;

    /// Its contents.
    fn waiting(&self) -> Waiting;
}
