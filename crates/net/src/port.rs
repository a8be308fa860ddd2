//! One direction of a link that needs to be asked when packets leave: its queue decides then which
//! one does, or its rate changes.
//!
//! A [`crate::Link`] knows at once when a packet will arrive. A port does not: it has one event at a
//! time, the end of a transmission or the moment from which its queue gives again, and whoever owns
//! it calls [`Port::wake`] then.

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
    /// What happens to packets after they were serialised.
    pub wire: WireConfig,
    /// Whether figures over the measuring window are wanted.
    pub watched: bool,
}

/// A packet whose transmission has ended.
#[derive(Clone, Copy, Debug)]
pub struct Sent<P> {
    /// The packet.
    pub packet: P,
    /// How it comes to the far end; nothing if it is lost on the wire.
    pub arrival: Option<Arrival>,
    /// How a copy of it does, if the wire doubles it.
    pub copy: Option<Arrival>,
}

/// How a packet comes to the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Time,
    /// It is damaged, as its receiver will find.
    pub corrupted: bool,
}

/// One direction of a link, with its events.
pub struct Port<P> {
    qdisc: Box<dyn Qdisc<P>>,
    rate: Box<dyn RateModel>,
    propagation: Propagation,
    frame_overhead: u32,
    watched: bool,
    /// If it does anything.
    wire: Option<Box<Wire>>,
    transmitting: Option<Queued<P>>,
    /// When the last transmission ended or ends.
    free_at: Time,
    /// When it has to be woken.
    wake_at: Time,
    drops: Drops<P>,
    totals: LinkTotals,
    window: Window,
    figures: LinkFigures,
    /// Until when the time that packets wait has been added up.
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

    /// Draws losses that are replayed from ns-3 from a sequence that the link's other direction draws
    /// from, too.
    pub fn share(&mut self, draws: &SharedDraws) {
        if let Some(wire) = &mut self.wire {
            wire.share(draws);
        }
    }

    /// When it has to be woken; [`Time::NEVER`] if only a packet could.
    pub fn wake_at(&self) -> Time {
        self.wake_at
    }

    /// Offer a packet. What is due before then has happened ([`Self::wake`]). Returns the time of the
    /// next event if it is a new one. Then ask for [`Self::take_drops`].
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

    /// What was due at `now` happens: a transmission ends, and the next begins. Returns the packet
    /// that has been transmitted, if there is one. Then ask for [`Self::take_drops`].
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

    /// The packets that were dropped since this was asked last.
    pub fn take_drops(&mut self) -> impl Iterator<Item = P> + '_ {
        self.drops.for_room = 0;
        self.drops.packets.drain(..).map(|queued| queued.packet)
    }

    /// The line is free: take the next packet from the queue. Returns the time of the next event if
    /// that is earlier than what was known.
    fn begin(&mut self, now: Time) -> Option<Time> {
        let at = match self.qdisc.dequeue(now, &mut self.drops) {
            Next::Empty => {
                self.rate.rest(now);
                return None;
            }
            Next::NotBefore(at) => {
                self.rate.rest(now);
                // Time goes on whatever the queue says.
                at.max(now + Duration::from_nanos(1))
            }
            Next::Packet(queued) => {
                self.free_at = self.rate.transmit(queued.bytes, now);
                self.note_begin(&queued, now);
                self.transmitting = Some(queued);
                self.free_at
            }
        };
        // What the queue said before counts no longer once a transmission has begun.
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

    /// The last bit of a packet has left: what the wire does to it.
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

    /// Add up the time that packets have waited until now.
    fn settle(&mut self, now: Time) {
        if self.watched {
            let waiting = u128::from(self.qdisc.waiting().packets);
            let nanos = u128::from(self.window.overlap(self.settled_at, now));
            self.figures.waiting_nanos += waiting * nanos;
            self.settled_at = now;
        }
    }

    /// Packets and bytes waiting, the one in transmission not counted.
    pub fn backlog(&self) -> (u64, u64) {
        let waiting = self.qdisc.waiting();
        (waiting.packets, waiting.bytes)
    }

    /// Take out all packets that wait or are in transmission, at the end of a run.
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
