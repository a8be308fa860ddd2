//! Packets in a cell, their addresses and outcomes.

use crate::{Drops, Ecn, Packet};

/// A node of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeId {
    /// The access point.
    AccessPoint,
    /// The station with this index.
    Station(u32),
}

/// Index of the access point among the nodes; the stations follow it.
pub(super) const ACCESS_POINT: usize = 0;

impl NodeId {
    pub(super) fn index(self) -> usize {
        match self {
            NodeId::AccessPoint => ACCESS_POINT,
            NodeId::Station(station) => station as usize + 1,
        }
    }

    pub(super) fn of(index: usize) -> Self {
        match index {
            ACCESS_POINT => NodeId::AccessPoint,
            station => NodeId::Station((station - 1) as u32),
        }
    }
}

/// A packet in a cell, with the station that sends or receives it.
#[derive(Clone, Copy, Debug)]
pub struct Addressed<P> {
    /// The packet.
    pub packet: P,
    /// The station; the other end is the access point.
    pub station: u32,
}

impl<P: Packet> Packet for Addressed<P> {
    fn wire_bytes(&self) -> u32 {
        self.packet.wire_bytes()
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn mark_congestion(&mut self) {
        self.packet.mark_congestion();
    }
    fn flow(&self) -> u32 {
        self.packet.flow()
    }
    fn precedence(&self) -> u8 {
        self.packet.precedence()
    }
}

/// A packet that has been received.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<P> {
    /// The packet.
    pub packet: P,
    /// Its sender.
    pub from: NodeId,
    /// The station that sent or received it.
    pub station: u32,
}

/// Outcomes of packets, until they are cleared.
#[derive(Clone, Debug)]
pub struct Outcome<P> {
    /// Received, now.
    pub arrivals: Vec<Arrival<P>>,
    /// Dropped by queues.
    pub drops: Drops<Addressed<P>>,
    /// Given up after too many retries.
    pub lost: Vec<P>,
}

impl<P> Default for Outcome<P> {
    fn default() -> Self {
        Outcome { arrivals: Vec::new(), drops: Drops::default(), lost: Vec::new() }
    }
}

impl<P> Outcome<P> {
    /// Clear.
    pub fn clear(&mut self) {
        self.arrivals.clear();
        self.drops.clear();
        self.lost.clear();
    }
}
