//! A packet for tests of queue disciplines.

use fairway_units::Time;

use super::Queued;
use crate::{Ecn, Packet};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TestPacket {
    pub(crate) flow: u32,
    pub(crate) bytes: u32,
    pub(crate) ecn: Ecn,
}

impl Packet for TestPacket {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> u32 {
        self.flow
    }
}

/// A packet that arrives at `nanos`.
pub(crate) fn queued(flow: u32, bytes: u32, ecn: Ecn, nanos: u64) -> Queued<TestPacket> {
    Queued::new(TestPacket { flow, bytes, ecn }, 0, Time::from_nanos(nanos))
}
