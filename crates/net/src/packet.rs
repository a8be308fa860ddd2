//! The network's view of a packet.

/// The ECN field of an IP packet (RFC 3168 section 5, RFC 8311).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ecn {
    /// May not be marked.
    #[default]
    NotEct,
    /// May be marked; the sender answers a mark as a loss (RFC 3168).
    Ect0,
    /// May be marked; the sender counts marks and answers their share (RFC 9331: L4S).
    Ect1,
    /// Marked.
    Ce,
}

/// Memory that Linux counts for a packet: a head of 256 bytes (`sk_buff`), and a buffer of a power
/// of two with what describes it, 320 bytes, at its end (`SKB_TRUESIZE`, `skb_shared_info`).
pub fn memory_of(bytes: u32) -> u64 {
    256 + (u64::from(bytes) + 320).next_power_of_two()
}

/// Anything a link can carry.
pub trait Packet {
    /// Size in bytes at the network layer, without the link's own framing.
    fn wire_bytes(&self) -> u32;

    /// The ECN field.
    fn ecn(&self) -> Ecn;

    /// Mark the packet as having met congestion (RFC 3168 CE).
    fn mark_congestion(&mut self);

    /// Flow number, in place of a five-tuple: one for each direction of each connection.
    fn flow(&self) -> u32 {
        0
    }

    /// Whether it carries data.
    fn carries_data(&self) -> bool {
        true
    }

    /// Precedence, 0 to 7: the upper three bits of the DS field (RFC 2474 section 4.2.2), by default 0.
    fn precedence(&self) -> u8 {
        0
    }

    /// Whether the packet may be marked instead of dropped.
    fn is_ecn_capable(&self) -> bool {
        self.ecn() != Ecn::NotEct
    }
}
