//! Events while packets are matched, and their observers.

use super::identity::Side;
use super::slab::Repair;

/// A packet as a capture shows it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Look {
    pub(super) number: u64,
    /// By the clock of its capture.
    pub(super) at_ns: i64,
    /// By the clock of the first capture.
    pub(super) now_ns: i64,
    /// Identity, addresses and ports included.
    pub(super) key: u64,
    /// Sequence number, if it has one.
    pub(super) seq: Option<u32>,
    /// Bytes of stream that it takes, SYN and FIN included.
    pub(super) length: u32,
    pub(super) payload_bytes: u32,
    pub(super) has_syn: bool,
    pub(super) stamp: Option<u32>,
    pub(super) size_bytes: u32,
    /// Whether its capture says that the network has thrown it away.
    pub(super) is_annotated: bool,
}

/// A packet, or a part of one, that has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// As the capture at the sender shows it.
    pub(super) sent: Look,
    /// By the clock of the capture at the receiver.
    pub(super) at_ns: i64,
    /// When it arrived, and how long it took, by the clock of the first capture.
    pub(super) now_ns: i64,
    pub(super) delay_ns: i64,
    pub(super) order: u64,
    /// Whether nothing of the packet had arrived before.
    pub(super) is_first: bool,
}

/// A packet that has not arrived.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Loss {
    pub(super) number: u64,
    /// By the clock of the first capture.
    pub(super) now_ns: i64,
    pub(super) offset: i64,
    pub(super) payload_bytes: u32,
    /// Stream bytes of it that have not arrived.
    pub(super) missing_bytes: u64,
    pub(super) repair: Option<Repair>,
    pub(super) is_annotated: bool,
}

/// Looks on while packets are found.
pub(super) trait Watcher {
    /// A packet was sent; if it holds bytes that were sent before, SYN and FIN included, how many of
    /// them are data.
    fn sent(&mut self, _way: usize, _look: &Look, _again_bytes: Option<u32>) {}
    /// Any packet was seen at its receiver, and so many bytes of its data had been there before.
    fn received(&mut self, _way: usize, _look: &Look, _again_bytes: u32) {}
    /// A packet was found at its receiver.
    fn arrived(&mut self, _way: usize, _source: Side, _arrival: &Arrival) {}
    /// A packet has arrived once more.
    fn copied(&mut self, _way: usize) {}
    /// A packet is lost; its repair is known, if there is one.
    fn lost(&mut self, _way: usize, _loss: &Loss) {}
    /// A packet was sent again: whether any of it was lost.
    fn sent_again(&mut self, _way: usize, _is_needed: bool) {}
    /// A packet was not seen to arrive, and could not have been.
    fn undecided(&mut self, _way: usize) {}
    /// A packet has arrived that was not seen sent; whether it should have been.
    fn unsent(&mut self, _way: usize, _is_covered: bool) {}
}

/// The time that the captures cover, by the clock of the first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Coverage {
    pub(super) from_ns: [i64; 2],
    pub(super) until_ns: [i64; 2],
    /// Least delay from each side.
    pub(super) least_delay_ns: [i64; 2],
}

impl Coverage {
    /// For when nothing is known yet.
    pub(super) const ALL: Coverage =
        Coverage { from_ns: [i64::MIN; 2], until_ns: [i64::MAX; 2], least_delay_ns: [0; 2] };
}
