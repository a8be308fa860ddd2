//! Queue disciplines: which packet leaves next, and which never do.
//!
//! A discipline is asked twice about each packet: when it arrives and when the line is free. It
//! may drop or mark it either time. A [`Qdisc`] does not know the line behind it: whoever has both
//! asks for the next packet when the transmission before has ended.

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
    /// Bytes that it takes up, framing included.
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

/// What is behind the queue when a packet arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Bytes of the packet in transmission, zero if there is none.
    pub transmitting_bytes: u32,
    /// When it last ran out of work, if it is idle.
    pub idle_since: Option<Time>,
}

impl Line {
    /// What a packet of so many bytes finds if this is behind what waits.
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

/// Packets that a queue discipline has dropped, until someone clears them away.
#[derive(Clone, Debug)]
pub struct Drops<P> {
    /// They.
    pub packets: Vec<Queued<P>>,
    /// How many of them because the queue was full.
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

    /// Forget them.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.for_room = 0;
    }
}

/// What a queue gives to a free line.
#[derive(Clone, Copy, Debug)]
pub enum Next<P> {
    /// This packet.
    Packet(Queued<P>),
    /// Nothing yet although it is not empty, but perhaps at this time (a shaper).
    NotBefore(Time),
    /// It is empty.
    Empty,
}

/// What waits in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Packets.
    pub packets: u64,
    /// Bytes, framing included.
    pub bytes: u64,
}

/// A queue discipline. Every packet given to `enqueue` comes back once: from `dequeue`, or among
/// `drops`, or it still waits. Times never go back.
pub trait Qdisc<P: Packet>: std::fmt::Debug + Send {
    /// A packet arrives and finds `line`.
    fn enqueue(&mut self, packet: Queued<P>, line: &Line, now: Time, drops: &mut Drops<P>);

    /// The line is free. It is asked whenever a transmission ends, and hears if nothing waits:
    /// controllers learn from that too.
    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P>;

    /// What waits.
    fn waiting(&self) -> Waiting;
}
