//! What a link needs to know of a packet.

/// Anything a link can carry.
pub trait Packet {
    /// Size in bytes at the network layer, without the link's own framing.
    fn wire_bytes(&self) -> u32;

    /// Whether the packet may be marked instead of dropped (RFC 3168 ECT).
    fn is_ecn_capable(&self) -> bool;

    /// Mark the packet as having met congestion (RFC 3168 CE).
    fn mark_congestion(&mut self);
}
