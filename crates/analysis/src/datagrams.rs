//! Flows of UDP datagrams.

use std::net::SocketAddr;

use fairway_capture::{Packet, Udp};
use fairway_units::Time;
use serde::Serialize;

/// Datagrams of one direction.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Datagrams {
    /// How many.
    pub packets: u64,
    /// Bytes of payload.
    pub data_bytes: u64,
    /// Bytes of frames.
    pub wire_bytes: u64,
    /// Packets that have met congestion (RFC 3168 CE).
    pub marked_packets: u64,
    #[serde(skip)]
    pub(crate) first_at: Option<Time>,
    #[serde(skip)]
    pub(crate) last_at: Time,
}

/// Datagrams between two ports.
pub(crate) struct DatagramFlow {
    pub(crate) ends: [SocketAddr; 2],
    pub(crate) interface: u32,
    pub(crate) first_number: u64,
    pub(crate) directions: [Datagrams; 2],
    first_is_low: bool,
}

impl DatagramFlow {
    pub(crate) fn new(first_is_low: bool, packet: &Packet) -> DatagramFlow {
        DatagramFlow {
            ends: [packet.source, packet.destination],
            interface: packet.interface,
            first_number: packet.number,
            directions: [Datagrams::default(); 2],
            first_is_low,
        }
    }

    #[inline]
    pub(crate) fn packet(&mut self, upwards: bool, packet: &Packet, udp: &Udp) {
        let there = &mut self.directions[usize::from(upwards != self.first_is_low)];
        there.packets += 1;
        there.data_bytes += u64::from(udp.payload_bytes);
        there.wire_bytes += u64::from(packet.frame_bytes);
        there.marked_packets += u64::from(packet.traffic_class & 3 == 3);
        there.first_at.get_or_insert(packet.at);
        there.last_at = there.last_at.max(packet.at);
    }
}
