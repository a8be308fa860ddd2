//! Packets in a cell, between whom they go, and what becomes of them.

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
    /// It.
    pub packet: P,
    /// The station; at the other end is the access point.
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
    /// It.
    pub packet: P,
    /// Who has sent it.
    pub from: NodeId,
    /// The station that it was sent by or to.
    pub station: u32,
}

/// What happened to packets, until someone clears it away.
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
    /// Forget it.
    pub fn clear(&mut self) {
        self.arrivals.clear();
        self.drops.clear();
        self.lost.clear();
    }
}
