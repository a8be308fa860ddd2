//! A first-in, first-out queue that knows its bytes.

use std::collections::VecDeque;

use super::{Queued, Waiting};

/// Packets in the order in which they came.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<P> {
    packets: VecDeque<Queued<P>>,
    bytes: u64,
}

impl<P> Default for Fifo<P> {
    fn default() -> Self {
        Fifo { packets: VecDeque::new(), bytes: 0 }
    }
}

impl<P> Fifo<P> {
    pub(crate) fn push(&mut self, packet: Queued<P>) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    pub(crate) fn pop(&mut self) -> Option<Queued<P>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// The packet that came last.
    pub(crate) fn pop_last(&mut self) -> Option<Queued<P>> {
        let packet = self.packets.pop_back()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// The packet that came first, which stays.
    pub(crate) fn head(&self) -> Option<&Queued<P>> {
        self.packets.front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(crate) fn len(&self) -> u64 {
        self.packets.len() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn waiting(&self) -> Waiting {
        Waiting { packets: self.len(), bytes: self.bytes }
    }
}
