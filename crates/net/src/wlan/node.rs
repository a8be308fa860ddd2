//! The access point or a station: its queue, current frame and back-off.

use fairway_phy::Phy;
use fairway_units::random::Stream;
use fairway_units::{Duration, Time};

use super::config::MacConfig;
use super::figures::NodeTotals;
use super::packet::{Addressed, Outcome};
use crate::{Drops, Ecn, Line, LinkFigures, LinkTotals, Next, Packet, Qdisc, Queued, Window};

/// The current frame, retried until it is acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<P> {
    pub(super) packet: Queued<Addressed<P>>,
    /// The receiver has it, though its sender may not know (10.3.2.11: duplicates are told by
    /// their sequence number).
    pub(super) received: bool,
}

#[derive(Debug)]
pub(super) struct Node<P> {
    queue: Box<dyn Qdisc<Addressed<P>>>,
    pub(super) head: Option<Head<P>>,
    /// End of a shaper's wait.
    pub(super) wakes: Time,
    /// Slots left of the back-off, if any.
    backoff: Option<u32>,
    /// Start of the slot count; without slots, time of transmission.
    counts_from: Time,
    /// Network allocation vector (10.3.2.4).
    pub(super) reserved_until: Time,
    contention_window: u32,
    /// Failures of the frame, of those that count as short and as long.
    short_retries: u32,
    long_retries: u32,
    draws: Stream,
    idle_since: Time,
    pub(super) totals: NodeTotals,
    marked: u64,
    transmitted_bytes: u64,
    window: Window,
    pub(super) figures: LinkFigures,
    /// Waiting times are summed up to here.
    settled_at: Time,
}

impl<P: Packet + Copy> Node<P> {
    pub(super) fn new(
        queue: Box<dyn Qdisc<Addressed<P>>>,
        phy: &Phy,
        window: Window,
        draws: Stream,
    ) -> Self {
        Node {
            queue,
            head: None,
            wakes: Time::NEVER,
            backoff: None,
            counts_from: Time::ZERO,
            reserved_until: Time::ZERO,
            contention_window: phy.cw_min,
            short_retries: 0,
            long_retries: 0,
            draws,
            idle_since: Time::ZERO,
            totals: NodeTotals::default(),
            marked: 0,
            transmitted_bytes: 0,
            window,
            figures: LinkFigures::default(),
            settled_at: Time::ZERO,
        }
    }

    /// A packet arrives.
    pub(super) fn enqueue(
        &mut self,
        packet: Queued<Addressed<P>>,
        now: Time,
        drops: &mut Drops<Addressed<P>>,
    ) {
        self.settle(now);
        self.totals.offered += 1;
        let line = Line {
            transmitting_bytes: self.head.as_ref().map_or(0, |head| head.packet.bytes),
            idle_since: self.head.is_none().then_some(self.idle_since),
        };
        let before = drops.packets.len();
        self.queue.enqueue(packet, &line, now, drops);
        self.count_drops(drops.packets.len() - before, now);
    }

    /// Take the next packet from the queue as the current frame, if there is none. Returns whether it
    /// did.
    pub(super) fn pull(&mut self, now: Time, drops: &mut Drops<Addressed<P>>) -> bool {
        if self.head.is_some() {
            return false;
        }
        self.settle(now);
        self.wakes = Time::NEVER;
        let before = drops.packets.len();
        let next = self.queue.dequeue(now, drops);
        self.count_drops(drops.packets.len() - before, now);
        match next {
            Next::Packet(packet) => {
                let marked = packet.packet.ecn() == Ecn::Ce && !packet.marked_before;
                self.marked += u64::from(marked);
                if self.window.contains(packet.arrived) {
                    self.figures.sojourn.record(now.since(packet.arrived));
                    self.figures.marked += u64::from(marked);
                }
                self.head = Some(Head { packet, received: false });
            }
            // Time must advance.
            Next::NotBefore(at) => self.wakes = at.max(now + Duration::from_nanos(1)),
            Next::Empty => {}
        }
        self.head.is_some()
    }

    fn count_drops(&mut self, packets: usize, now: Time) {
        self.totals.dropped += packets as u64;
        self.figures.dropped += if self.window.contains(now) { packets as u64 } else { 0 };
    }

    /// Sum waiting times up to now.
    pub(super) fn settle(&mut self, now: Time) {
        let waiting = u128::from(self.queue.waiting().packets);
        let nanos = u128::from(self.window.overlap(self.settled_at, now));
        self.figures.waiting_nanos += waiting * nanos;
        self.settled_at = now;
    }

    /// The frame is received. Returns its packet, unless it is a duplicate.
    pub(super) fn receive(&mut self) -> Option<Addressed<P>> {
        let head = self.head.as_mut()?;
        if head.received {
            self.totals.duplicates += 1;
            return None;
        }
        head.received = true;
        self.totals.delivered += 1;
        self.transmitted_bytes += u64::from(head.packet.bytes);
        Some(head.packet.packet)
    }

    /// The node's own access is over.
    pub(super) fn end(&mut self, began: Time, now: Time) {
        self.figures.busy_nanos += self.window.overlap(began, now);
        if self.head.is_none() {
            self.idle_since = now;
        }
    }

    /// Counters as of a link; bytes are those of received packets.
    pub(super) fn link_totals(&self) -> LinkTotals {
        LinkTotals {
            offered: self.totals.offered,
            dropped: self.totals.dropped,
            lost: self.totals.lost,
            marked: self.marked,
            transmitted_bytes: self.transmitted_bytes,
            ..LinkTotals::default()
        }
    }

    /// Packets and bytes behind the current frame.
    pub(super) fn backlog(&self) -> (u64, u64) {
        let waiting = self.queue.waiting();
        (waiting.packets, waiting.bytes)
    }

    /// Remove all packets that have not been received, at the end of a run.
    pub(super) fn drain(&mut self, now: Time) -> Vec<P> {
        self.settle(now);
        let head = self.head.take().filter(|head| !head.received);
        let mut packets: Vec<P> = head.iter().map(|head| head.packet.packet.packet).collect();
        let (mut at, mut drops) = (now, Drops::default());
        loop {
            match self.queue.dequeue(at, &mut drops) {
                Next::Packet(queued) => packets.push(queued.packet.packet),
                Next::NotBefore(later) if later > at && later < Time::NEVER => at = later,
                Next::NotBefore(_) | Next::Empty => break,
            }
        }
        packets.extend(drops.packets.iter().map(|queued| queued.packet.packet));
        packets
    }

    /// Waiting packets, with the current frame until it is received.
    pub(super) fn waiting(&self) -> u64 {
        let head = self.head.as_ref().is_some_and(|head| !head.received);
        self.queue.waiting().packets + u64::from(head)
    }

    /// Time of transmission if the medium stays idle.
    pub(super) fn access_at(&self, slot: Duration) -> Time {
        match self.head {
            Some(_) => self.counts_from + slot * u64::from(self.backoff.unwrap_or(0)),
            None => Time::NEVER,
        }
    }

    /// Whether it would transmit now on an idle medium.
    pub(super) fn is_free(&self, now: Time) -> bool {
        self.backoff.is_none() && self.counts_from <= now
    }

    /// A new frame while the medium is idle: sent after DIFS, or after a pending back-off (10.3.4.2).
    pub(super) fn contend_idle(&mut self, now: Time, slot: Duration) {
        if self.access_at(slot) <= now {
            self.backoff = None;
            self.counts_from = now;
        }
    }

    /// A new frame while the medium is busy: back off.
    pub(super) fn contend_busy(&mut self) {
        if self.backoff.is_none() {
            self.draw();
        }
    }

    /// Another node begins to transmit. Elapsed slots count; a back-off without a frame may end.
    pub(super) fn freeze(&mut self, now: Time, slot: Duration, mac: &MacConfig) {
        let Some(slots) = self.backoff else {
            if self.head.is_some() {
                self.draw();
            }
            return;
        };
        if self.counts_from > now {
            return;
        }
        let passed = now.since(self.counts_from).as_nanos() / slot.as_nanos().max(1);
        let passed = passed + u64::from(mac.busy_takes_slot);
        let left = u64::from(slots).saturating_sub(passed) as u32;
        self.backoff = if left == 0 && self.head.is_none() { None } else { Some(left) };
    }

    /// Its own transmission begins.
    pub(super) fn begin(&mut self) {
        self.backoff = None;
        self.totals.accesses += 1;
    }

    /// The medium is idle from `now`; slots are counted after `wait` and the allocation vector.
    pub(super) fn wait(&mut self, now: Time, wait: Duration, difs: Duration) {
        self.counts_from = now + wait;
        if self.reserved_until > now {
            self.counts_from = self.counts_from.max(self.reserved_until + difs);
        }
    }

    /// No response to the frame or its RTS: retry or give up.
    pub(super) fn fail(&mut self, short: bool, mac: &MacConfig, phy: &Phy, out: &mut Outcome<P>) {
        if short {
            self.short_retries += 1;
        } else {
            self.long_retries += 1;
        }
        if self.short_retries < mac.short_retry_limit && self.long_retries < mac.long_retry_limit {
            self.contention_window =
                self.contention_window.saturating_mul(2).saturating_add(1).min(phy.cw_max);
            return self.draw();
        }
        self.totals.given_up += 1;
        if let Some(head) = self.head.as_ref().filter(|head| !head.received) {
            self.totals.lost += 1;
            self.figures.lost += u64::from(self.window.contains(head.packet.arrived));
            out.lost.push(head.packet.packet.packet);
        }
        self.finish(phy);
    }

    /// The frame is done: a back-off follows in any case (10.3.4.3).
    pub(super) fn finish(&mut self, phy: &Phy) {
        self.head = None;
        self.short_retries = 0;
        self.long_retries = 0;
        self.contention_window = phy.cw_min;
        self.draw();
    }

    /// A back-off: 0 to CW slots (10.3.3).
    fn draw(&mut self) {
        self.backoff = Some(self.draws.below(u64::from(self.contention_window) + 1) as u32);
    }
}
