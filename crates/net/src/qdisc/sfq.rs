//! Stochastic fairness queueing: flows, told apart by a hash, take turns; where there is no room
//! the longest loses a packet.
//!
//! Sources: P. McKenney, "Stochastic Fairness Queuing", INFOCOM 1990; Linux 6.12
//! `net/sched/sch_sfq.c`, in whose order packets leave and are dropped here.

mod lengths;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use fairway_units::random::{Stream, splitmix64};
use fairway_units::{Bytes, Duration, Time};

use super::codel::ETHERNET_MTU_BYTES;
use super::fifo::Fifo;
use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::Packet;
use lengths::Lengths;

/// Parameters of SFQ; the defaults are those of Linux (`sfq_init`).
#[derive(Clone, Debug, PartialEq)]
pub struct SfqConfig {
    /// Packets that may wait; the one in transmission does not count.
    pub limit_packets: u32,
    /// Packets of one queue that may wait (`depth`). In Linux at most 127.
    pub depth_packets: u32,
    /// Queues that may have packets at the same time (`flows`). In Linux at most 65408.
    pub flows: u32,
    /// Values of the hash (`divisor`), a power of two. In Linux at most 65536.
    pub divisor: u32,
    /// Bytes, framing included, that a queue may send before it is the next one's turn; it may
    /// overdraw them by a packet, and then has less in the next round.
    pub quantum: Bytes,
    /// Time after which the hash changes, if it does. tc-sfq(8) recommends 10 s.
    pub perturb: Option<Duration>,
    /// Whether a queue loses the packet at its head where there is no room, instead of the last.
    pub head_drop: bool,
}

impl Default for SfqConfig {
    fn default() -> Self {
        SfqConfig {
            limit_packets: 127,
            depth_packets: 127,
            flows: 128,
            divisor: 1024,
            quantum: Bytes::new(u64::from(ETHERNET_MTU_BYTES)),
            perturb: None,
            head_drop: false,
        }
    }
}

/// One of the queues that take turns.
#[derive(Clone, Debug)]
struct Slot<P> {
    fifo: Fifo<P>,
    /// The value of the hash whose packets these are.
    bucket: usize,
    /// Bytes that it may still send in its turn.
    allotment: i64,
    /// Whose turn comes next; a ring of those with packets.
    next: usize,
}

/// A stochastic fairness queue.
#[derive(Clone, Debug)]
pub struct Sfq<P> {
    limit_packets: u64,
    depth_packets: u64,
    quantum_bytes: i64,
    head_drop: bool,
    /// The slot of each value of the hash.
    slot_of: Vec<Option<usize>>,
    slots: Vec<Slot<P>>,
    lengths: Lengths,
    /// The slot whose turn was last.
    last_turn: Option<usize>,
    waiting: Waiting,
    key: u64,
    perturb: Option<(Duration, Time)>,
    /// Packets that change their slots.
    moving: Vec<Queued<P>>,
    stream: Stream,
}

impl<P: Packet> Sfq<P> {
    /// An empty queue; `stream` gives the keys of the hash.
    pub fn new(config: &SfqConfig, mut stream: Stream) -> Self {
        let divisor = config.divisor.max(1) as usize;
        let flows = (config.flows.max(1) as usize).min(divisor);
        let slot = || Slot { fifo: Fifo::default(), bucket: 0, allotment: 0, next: 0 };
        let depth = config.depth_packets.max(1).min(config.limit_packets.max(1));
        let most = u64::from(depth).saturating_mul(flows as u64);
        Sfq {
            limit_packets: u64::from(config.limit_packets).min(most),
            depth_packets: u64::from(depth),
            quantum_bytes: i64::try_from(config.quantum.get().max(1)).unwrap_or(i64::MAX),
            head_drop: config.head_drop,
            slot_of: vec![None; divisor],
            slots: (0..flows).map(|_| slot()).collect(),
            lengths: Lengths::new(flows, depth as usize),
            last_turn: None,
            waiting: Waiting::default(),
            key: stream.bits64(),
            perturb: config.perturb.map(|period| (period, Time::ZERO + period)),
            moving: Vec::new(),
            stream,
        }
    }

    fn bucket(&self, flow: u32) -> usize {
        // Linux: a keyed hash of the five-tuple (`skb_get_hash_perturb`).
        let hash = splitmix64(u64::from(flow) ^ self.key);
        (hash % self.slot_of.len() as u64) as usize
    }

    /// Change the hash if it is time to. If it has been time more than once, the last change is the
    /// one that counts.
    fn perturb(&mut self, now: Time, drops: &mut Drops<P>) {
        let Some((period, due)) = self.perturb else { return };
        if now < due {
            return;
        }
        let period_nanos = period.as_nanos().max(1);
        let missed = now.since(due).as_nanos() / period_nanos;
        let next =
            due + Duration::from_nanos(period_nanos.saturating_mul(missed.saturating_add(1)));
        self.perturb = Some((period, next));
        self.key = self.stream.bits64();
        if self.last_turn.is_some() {
            self.rehash(drops);
        }
    }

    /// Distribute what waits anew (`sfq_rehash`).
    fn rehash(&mut self, drops: &mut Drops<P>) {
        let mut moving = std::mem::take(&mut self.moving);
        for index in 0..self.slots.len() {
            while let Some(packet) = self.slots[index].fifo.pop() {
                moving.push(packet);
                self.lengths.shorter(index);
            }
            self.slot_of[self.slots[index].bucket] = None;
        }
        self.last_turn = None;
        self.waiting = Waiting::default();
        for packet in moving.drain(..) {
            match self.slot(self.bucket(packet.packet.flow())) {
                Some(index) if self.slots[index].fifo.len() < self.depth_packets => {
                    self.push(index, packet);
                }
                _ => drops.no_room(packet),
            }
        }
        self.moving = moving;
    }

    /// The slot of a value of the hash, a free one if it has none yet, none if none is free.
    fn slot(&mut self, bucket: usize) -> Option<usize> {
        if let Some(index) = self.slot_of[bucket] {
            return Some(index);
        }
        let free = self.lengths.first_of(0)?;
        self.slots[free].bucket = bucket;
        self.slot_of[bucket] = Some(free);
        Some(free)
    }

    fn push(&mut self, index: usize, packet: Queued<P>) {
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(packet.bytes);
        self.slots[index].fifo.push(packet);
        self.lengths.longer(index);
        if self.slots[index].fifo.len() == 1 {
            self.join_the_round(index);
        }
    }

    /// A slot that has become active has its turn after all others.
    fn join_the_round(&mut self, index: usize) {
        let next = match self.last_turn {
            None => index,
            Some(last) => std::mem::replace(&mut self.slots[last].next, index),
        };
        self.slots[index].next = next;
        self.slots[index].allotment = self.quantum_bytes;
        self.last_turn = Some(index);
    }

    /// A packet of a slot: the first, or the last.
    fn pull(&mut self, index: usize, first: bool) -> Option<Queued<P>> {
        let fifo = &mut self.slots[index].fifo;
        let packet = if first { fifo.pop() } else { fifo.pop_last() }?;
        self.lengths.shorter(index);
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// The slot after `last` is empty and leaves the round.
    fn leave_the_round(&mut self, last: usize) {
        let index = self.slots[last].next;
        self.slot_of[self.slots[index].bucket] = None;
        if index == last {
            self.last_turn = None;
        } else {
            self.slots[last].next = self.slots[index].next;
        }
    }

    /// One packet too many waits: drop one of the longest slot (`sfq_drop`).
    fn drop_from_the_longest(&mut self, drops: &mut Drops<P>) {
        let length = self.lengths.longest();
        // Where all have one packet, the one whose turn is next.
        let index = match self.last_turn {
            Some(last) if length == 1 => {
                let next = self.slots[last].next;
                self.leave_the_round(last);
                Some(next)
            }
            _ => self.lengths.first_of(length),
        };
        if let Some(packet) = index.and_then(|index| self.pull(index, self.head_drop)) {
            drops.no_room(packet);
        }
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for Sfq<P> {
    fn enqueue(&mut self, packet: Queued<P>, _line: &Line, now: Time, drops: &mut Drops<P>) {
        self.perturb(now, drops);
        if self.limit_packets == 0 {
            drops.no_room(packet);
            return;
        }
        let Some(index) = self.slot(self.bucket(packet.packet.flow())) else {
            drops.no_room(packet);
            return;
        };
        if self.slots[index].fifo.len() >= self.depth_packets {
            if !self.head_drop {
                drops.no_room(packet);
                return;
            }
            // The slot keeps its place in the round and its length: not `pull`.
            if let Some(oldest) = self.slots[index].fifo.pop() {
                self.waiting.bytes -= u64::from(oldest.bytes);
                self.waiting.bytes += u64::from(packet.bytes);
                self.slots[index].fifo.push(packet);
                drops.no_room(oldest);
            }
            return;
        }
        self.push(index, packet);
        if self.waiting.packets > self.limit_packets {
            self.drop_from_the_longest(drops);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P> {
        self.perturb(now, drops);
        let Some(mut last) = self.last_turn else { return Next::Empty };
        let mut index = self.slots[last].next;
        while self.slots[index].allotment <= 0 {
            let slot = &mut self.slots[index];
            slot.allotment = slot.allotment.saturating_add(self.quantum_bytes);
            (last, index) = (index, slot.next);
        }
        self.last_turn = Some(last);
        let Some(packet) = self.pull(index, true) else { return Next::Empty };
        if self.slots[index].fifo.is_empty() {
            self.leave_the_round(last);
        } else {
            self.slots[index].allotment -= i64::from(packet.bytes);
        }
        Next::Packet(packet)
    }

    fn waiting(&self) -> Waiting {
        self.waiting
    }
}
