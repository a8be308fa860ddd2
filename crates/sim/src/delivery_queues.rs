//! Packets on their way to the far ends of links, in delivery queues that have one event each.
//!
//! A delivery queue is first in, first out. Each link has one of its own, and links that are alike
//! share one more, in which nearly all their packets travel: the access links of a thousand hosts,
//! say, that a bottleneck feeds, in which packets arrive in the order in which they left the
//! bottleneck. So there is one event for all of them, and their packets lie in memory in the order
//! of their use.

use std::slice::from_ref;

use fairway_units::Time;
use prefetch_index::prefetch_index;

use crate::event::Due;
use crate::packet_handle::PacketHandle;
use crate::ring::Ring;

/// How far ahead of a look-ahead the delivery queue itself is asked for, in packets.
const LOOK_AHEAD: usize = 12;

#[derive(Clone, Copy, Debug, Default)]
struct OnItsWay {
    arrives: Due,
    handle: PacketHandle,
}

/// A packet that arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) handle: PacketHandle,
    /// When the next one of its delivery queue arrives; never if there is none.
    pub(crate) next: Due,
}

/// Packets that arrive in the order in which they joined.
#[derive(Clone, Debug, Default)]
struct DeliveryQueue {
    packets: Ring<OnItsWay>,
    /// When the packet arrives that joined last.
    last: Time,
}

/// Packets on their way.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryQueues {
    queues: Vec<DeliveryQueue>,
    /// Packets that do not arrive in the order of their delivery queue, in slots that are used
    /// again.
    strays: Vec<Option<PacketHandle>>,
    free_slots: Vec<u32>,
}

impl DeliveryQueues {
    /// `count` empty delivery queues.
    pub(crate) fn new(count: usize) -> Self {
        DeliveryQueues {
            queues: vec![DeliveryQueue::default(); count],
            strays: Vec::new(),
            free_slots: Vec::new(),
        }
    }

    /// A packet joins the end of a delivery queue. Returns whether the delivery queue was empty
    /// before, so that it has a new next event.
    pub(crate) fn join(&mut self, queue: u32, arrives: Due, handle: PacketHandle) -> bool {
        let queue = &mut self.queues[queue as usize];
        queue.last = arrives.at;
        let was_empty = queue.packets.is_empty();
        queue.packets.push(OnItsWay { arrives, handle });
        was_empty
    }

    /// Whether a packet that arrives then would be the last of the delivery queue.
    pub(crate) fn is_in_order(&self, queue: u32, arrives: Time) -> bool {
        self.queues[queue as usize].last <= arrives
    }

    /// Whether nothing is in the delivery queue.
    pub(crate) fn is_empty(&self, queue: u32) -> bool {
        self.queues[queue as usize].packets.is_empty()
    }

    /// Take the packet whose arrival is due, and say when the next one arrives.
    #[inline(always)]
    pub(crate) fn take(&mut self, queue: u32) -> Option<Taken> {
        let count = self.queues.len();
        let Some(queue) = self.queues.get_mut(queue as usize) else {
            let handle = self.take_stray(queue as usize - count)?;
            return Some(Taken { handle, next: Due::NEVER });
        };
        let handle = queue.packets.pop()?.handle;
        let next = queue.packets.get(0).map_or(Due::NEVER, |next| next.arrives);
        Some(Taken { handle, next })
    }

    /// The packet `places` behind the first of a delivery queue. Asks for the memory of those
    /// further back, so that it is there when they are asked for.
    pub(crate) fn ahead(&self, queue: u32, places: usize) -> Option<PacketHandle> {
        let queue = &self.queues.get(queue as usize)?.packets;
        if let Some(later) = queue.get(places + LOOK_AHEAD) {
            prefetch_index(from_ref(later), 0);
        }
        queue.get(places).map(|entry| entry.handle)
    }

    /// Whether another packet of the connection of `handle` arrives at this instant in its direction.
    #[inline(never)]
    pub(crate) fn brings_more(&self, queue: u32, handle: &PacketHandle, now: Time) -> bool {
        let Some(queue) = self.queues.get(queue as usize) else { return false };
        let behind = (0..).map_while(|place| queue.packets.get(place));
        behind.take_while(|packet| packet.arrives.at == now).any(|packet| {
            let other = &packet.handle;
            !other.is_special()
                && other.connection() == handle.connection()
                && other.forward() == handle.forward()
        })
    }

    /// A packet gets a delivery queue of its own, until it is taken. Returns which.
    pub(crate) fn join_apart(&mut self, handle: PacketHandle) -> u32 {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.strays.push(None);
            (self.strays.len() - 1) as u32
        });
        self.strays[slot as usize] = Some(handle);
        self.queues.len() as u32 + slot
    }

    #[inline(never)]
    fn take_stray(&mut self, slot: usize) -> Option<PacketHandle> {
        let handle = self.strays.get_mut(slot)?.take();
        self.free_slots.push(slot as u32);
        handle
    }

    /// Take all packets that are on their way.
    pub(crate) fn take_all(&mut self) -> Vec<PacketHandle> {
        let strays = self.strays.drain(..).flatten();
        let in_rows = self.queues.iter_mut();
        let in_rows = in_rows.flat_map(|queue| std::iter::from_fn(|| queue.packets.pop()));
        strays.chain(in_rows.map(|entry| entry.handle)).collect()
    }
}
