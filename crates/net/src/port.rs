//! One direction of a link whose queue decides on departure, or whose rate varies.
//!
//! A [`crate::Link`] knows a packet's arrival at once. A port has one event at a time, the end of a
//! transmission or the end of a shaper's wait; its owner then calls [`Port::wake`].

use std::fmt;

use fairway_units::{Duration, Time};

use crate::delay::Propagation;
use crate::impairment::{Fate, Passage, SharedDraws, Wire, WireConfig};
use crate::link::{LinkFigures, LinkTotals, Window};
use crate::qdisc::{Drops, Line, Next, Qdisc, Queued};
use crate::rate::RateModel;
use crate::{Ecn, Packet};

/// A port's properties, besides queue and rate.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// Propagation delay.
    pub propagation: Propagation,
    /// Bytes of framing added to every packet.
    pub frame_overhead: u32,
    /// Impairments after serialisation.
    pub wire: WireConfig,
    /// Whether figures over the measuring window are wanted.
    pub watched: bool,
}

/// A packet whose transmission has ended.
#[derive(Clone, Copy, Debug)]
pub struct Sent<P> {
    /// The packet.
    pub packet: P,
    /// Its arrival, unless it is lost on the wire.
    pub arrival: Option<Arrival>,
    /// Arrival of a copy, if the wire duplicates it.
    pub copy: Option<Arrival>,
}

/// Arrival at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time.
    pub at: Time,
    /// Whether the packet is damaged.
    pub corrupted: bool,
}

/// One direction of a link, with its events.
pub struct Port<P> {
    qdisc: Box<dyn Qdisc<P>>,
    rate: Box<dyn RateModel>,
    propagation: Propagation,
    frame_overhead: u32,
    watched: bool,
    /// Impairments, if any.
    wire: Option<Box<Wire>>,
    transmitting: Option<Queued<P>>,
    /// When the last transmission ended or ends.
    free_at: Time,
    /// Time of the next event.
    wake_at: Time,
    drops: Drops<P>,
    totals: LinkTotals,
    window: Window,
    figures: LinkFigures,
    /// Waiting times are summed up to here.
    settled_at: Time,
}

impl<P> fmt::Debug for Port<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").field("rate", &self.rate).finish_non_exhaustive()
    }
}

impl<P: Packet + Copy> Port<P> {
    /// An idle port. `seed` and `name` fix its random streams.
    pub fn new(
        qdisc: Box<dyn Qdisc<P>>,
        rate: Box<dyn RateModel>,
        config: PortConfig,
        window: Window,
        seed: u64,
        name: &str,
    ) -> Self {
        Port {
            qdisc,
            rate,
            propagation: config.propagation,
            frame_overhead: config.frame_overhead,
            watched: config.watched,
            wire: (!config.wire.is_clear()).then(|| Box::new(Wire::new(&config.wire, seed, name))),
            transmitting: None,
            free_at: Time::ZERO,
            wake_at: Time::NEVER,
            drops: Drops::default(),
            totals: LinkTotals::default(),
            window,
            figures: LinkFigures::default(),
            settled_at: Time::ZERO,
        }
    }

    /// Draw losses replayed from ns-3 from a sequence shared with the link's other direction.
    pub fn share(&mut self, draws: &SharedDraws) {
        if let Some(wire) = &mut self.wire {
            wire.share(draws);
        }
    }

    /// Time of the next event, or [`Time::NEVER`].
    pub fn wake_at(&self) -> Time {
        self.wake_at
    }

    /// Offer a packet, after all earlier events ([`Self::wake`]). Returns the time of a new next event.
    /// Call [`Self::take_drops`] afterwards.
    pub fn offer(&mut self, packet: P, now: Time) -> Option<Time> {
        debug_assert!(now <= self.wake_at && self.drops.packets.is_empty());
        self.settle(now);
        self.totals.offered += 1;
        let idle = self.transmitting.is_none();
        let line = Line {
            transmitting_bytes: self.transmitting.as_ref().map_or(0, |packet| packet.bytes),
            idle_since: (idle && self.qdisc.waiting().packets == 0).then_some(self.free_at),
        };
        let queued = Queued::new(packet, self.frame_overhead, now);
        self.qdisc.enqueue(queued, &line, now, &mut self.drops);
        let wakes = if idle { self.begin(now) } else { None };
        self.count_drops(now);
        wakes
    }

    /// Handle the event at `now`: a transmission ends, and the next begins. Returns the transmitted
    /// packet, if any. Call [`Self::take_drops`] afterwards.
    pub fn wake(&mut self, now: Time) -> Option<Sent<P>> {
        if now < self.wake_at {
            return None;
        }
        self.settle(now);
        self.wake_at = Time::NEVER;
        let sent = self.transmitting.take().map(|queued| self.send(queued, now));
        self.begin(now);
        self.count_drops(now);
        sent
    }

    /// Packets dropped since the last call.
    pub fn take_drops(&mut self) -> impl Iterator<Item = P> + '_ {
        self.drops.for_room = 0;
        self.drops.packets.drain(..).map(|queued| queued.packet)
    }

    /// Begin the next transmission. Returns the time of the next event if it changes.
    fn begin(&mut self, now: Time) -> Option<Time> {
        let at = match self.qdisc.dequeue(now, &mut self.drops) {
            Next::Empty => {
                self.rate.rest(now);
                return None;
            }
            Next::NotBefore(at) => {
                self.rate.rest(now);
                // Time must advance.
                at.max(now + Duration::from_nanos(1))
            }
            Next::Packet(queued) => {
                self.free_at = self.rate.transmit(queued.bytes, now);
                self.note_begin(&queued, now);
                self.transmitting = Some(queued);
                self.free_at
            }
        };
        // A transmission replaces the queue's earlier event.
        let changes = self.transmitting.is_some() || at < self.wake_at;
        if changes {
            self.wake_at = at;
        }
        (changes && at < Time::NEVER).then_some(at)
    }

    fn note_begin(&mut self, queued: &Queued<P>, now: Time) {
        self.totals.transmitted_bytes += u64::from(queued.bytes);
        let marked = queued.packet.ecn() == Ecn::Ce && !queued.marked_before;
        self.totals.marked += u64::from(marked);
        self.figures.busy_nanos += self.window.overlap(now, self.free_at);
        if self.window.contains(queued.arrived) {
            self.figures.sojourn.record(now.since(queued.arrived));
            self.figures.marked += u64::from(marked);
        }
    }

    /// Apply the wire's impairments to a transmitted packet.
    fn send(&mut self, queued: Queued<P>, now: Time) -> Sent<P> {
        let packet = queued.packet;
        let fate = if self.rate.cuts() {
            Fate { packet: None, copy: None }
        } else {
            match &mut self.wire {
                Some(wire) => wire.pass(queued.bytes, packet.carries_data(), now),
                None => Fate { packet: Some(Passage::default()), copy: None },
            }
        };
        let arrival = fate.packet.and_then(|passage| self.arrive(passage, now));
        let copy = fate.copy.and_then(|passage| self.arrive(passage, now));
        let lost = arrival.is_none();
        self.totals.lost += u64::from(lost);
        self.totals.copies += u64::from(copy.is_some());
        self.figures.lost += u64::from(lost && self.window.contains(queued.arrived));
        Sent { packet, arrival, copy }
    }

    fn arrive(&mut self, passage: Passage, now: Time) -> Option<Arrival> {
        let at = self.propagation.arrive(now, passage.extra)?;
        Some(Arrival { at, corrupted: passage.corrupted })
    }

    fn count_drops(&mut self, now: Time) {
        let dropped = self.drops.packets.len() as u64;
        self.totals.dropped += dropped;
        self.figures.dropped += if self.window.contains(now) { dropped } else { 0 };
    }

    /// Sum waiting times up to now.
    fn settle(&mut self, now: Time) {
        if self.watched {
            let waiting = u128::from(self.qdisc.waiting().packets);
            let nanos = u128::from(self.window.overlap(self.settled_at, now));
            self.figures.waiting_nanos += waiting * nanos;
            self.settled_at = now;
        }
    }

    /// Packets and bytes waiting, without the one in transmission.
    pub fn backlog(&self) -> (u64, u64) {
        let waiting = self.qdisc.waiting();
        (waiting.packets, waiting.bytes)
    }

    /// Remove all packets at the end of a run.
    pub fn drain(&mut self, now: Time) -> Vec<P> {
        self.settle(now);
        let mut packets: Vec<P> = self.transmitting.take().iter().map(|q| q.packet).collect();
        let (mut at, mut drops) = (now, Drops::default());
        loop {
            match self.qdisc.dequeue(at, &mut drops) {
                Next::Packet(queued) => packets.push(queued.packet),
                Next::NotBefore(later) if later > at && later < Time::NEVER => at = later,
                Next::NotBefore(_) | Next::Empty => break,
            }
        }
        packets.extend(drops.packets.iter().map(|queued| queued.packet));
        packets
    }

    /// Counters.
    pub fn totals(&self) -> LinkTotals {
        self.totals
    }

    /// Figures over the measuring window until [`Self::drain`], if the port is watched.
    pub fn figures(&self) -> Option<&LinkFigures> {
        self.watched.then_some(&self.figures)
    }
}
