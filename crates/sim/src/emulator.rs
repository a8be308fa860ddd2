//! The network alone, for the packets of endpoints that are not simulated: a real kernel's.
//!
//! Whoever has such packets offers them with [`Emulator::send`], asks when the network does
//! something next, lets time pass with [`Emulator::advance`], and carries out what came of it.

use std::io;
use std::path::Path;

use fairway_capture::write::Frame;
use fairway_net::{Ecn, Packet};
use fairway_schema::{Cause, FlowBalance, LinkSummary, Losses, Violation, WlanSummary};
use fairway_spec::Experiment;
use fairway_units::Time;

use crate::capture::{Recorder, Tap};
use crate::delivery_queues::Taken;
use crate::event::{Component, EventQueue};
use crate::network::{LinkEvent, Network, Passage};
use crate::packet_handle::{PacketHandle, SegmentPool};
use crate::summary::{link_summary, wlan_summary};

/// The network of an experiment, carrying packets of others.
pub struct Emulator {
    experiment: Experiment,
    events: EventQueue,
    network: Network,
    pool: SegmentPool,
    paths: Vec<PathCounts>,
    window: [Vec<PathCounts>; 2],
    losses: Option<Losses>,
    outcomes: Vec<Outcome>,
    samples: Vec<LinkSample>,
    captures: Option<Recorder>,
    now: Time,
}

/// A packet as the network needs to know it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Twice the index of its connection, and one more towards the source; behind all connections,
    /// one for each datagram flow.
    pub path: u32,
    /// Its size with the IP header.
    pub wire_bytes: u32,
    /// Whether it carries data.
    pub has_payload: bool,
    /// Bytes of data that it carries.
    pub payload_bytes: u32,
    /// What its IP header says about marks.
    pub ecn: Ecn,
    /// Its precedence, 0 to 7.
    pub precedence: u8,
    /// Whether its sender's buffer holds it until it has left its first link.
    pub is_held: bool,
}

/// What became of a packet, named by the slot that [`Emulator::send`] gave it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It has arrived at the end of its path. Its slot is its own until [`Emulator::release`].
    Arrived {
        /// Its slot.
        slot: u32,
        /// Its path.
        path: u32,
        /// Whether a queue on its way has marked it.
        is_marked: bool,
    },
    /// It will not arrive, or is damaged. Its slot is its own until [`Emulator::release`].
    Gone {
        /// Its slot.
        slot: u32,
    },
    /// It has left the link that its sender's buffer held it for.
    Left {
        /// Its slot.
        slot: u32,
    },
    /// A link has doubled it.
    Doubled {
        /// Its slot.
        slot: u32,
        /// The slot of the other one.
        copy: u32,
    },
}

/// What a path has carried from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Packets with data that have arrived.
    pub arrivals: u64,
    /// Their bytes, IP headers included.
    pub wire_bytes: u64,
    /// Their data alone.
    pub payload_bytes: u64,
    /// Their delays from host to host, added up.
    pub delay_ns: u64,
    /// Packets with data that were dropped, lost or damaged.
    pub missing: u64,
    /// Of them, those that a queue dropped.
    pub dropped: u64,
    balance: FlowBalance,
}

/// A reported link direction at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSample {
    /// When.
    pub at: Time,
    /// Its index among those reported.
    pub link: u32,
    /// Packets that wait, without the one in transmission.
    pub backlog_packets: u64,
    /// Their bytes, framing included.
    pub backlog_bytes: u64,
    /// Bytes whose transmission has begun, framing included.
    pub transmitted_bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets lost.
    pub losses: u64,
}

/// What a network has measured.
#[derive(Clone, Debug)]
pub struct Emulated {
    /// The reported link directions over the measuring window.
    pub links: Vec<LinkSummary>,
    /// The cell, if there is one.
    pub wlan: Option<WlanSummary>,
    /// Each path at the beginning and at the end of the measuring window.
    pub window: [Vec<PathCounts>; 2],
    /// Each path at the end.
    pub paths: Vec<PathCounts>,
    /// Packets that did not arrive, one by one, if the experiment asks for them.
    pub losses: Option<Losses>,
    /// The names of all link directions.
    pub link_ids: Vec<String>,
    /// The route of each connection, and of each datagram flow behind them, where it had a choice.
    pub routes: Vec<Option<String>>,
    /// What has to be known of its captures.
    pub remarks: Vec<String>,
}

impl Emulator {
    /// The network of an experiment, idle, at time zero. Its captures, if it asks for any, go into a
    /// directory.
    ///
    /// # Errors
    /// If a capture cannot be begun.
    pub fn new(experiment: Experiment, directory: &Path) -> io::Result<Self> {
        let network = Network::new(&experiment);
        let captures = match experiment.capture.is_on() {
            true => Some(Recorder::create(&experiment, &network, directory)?),
            false => None,
        };
        let queues = network.lookahead.by.len() as u32;
        let mut events = EventQueue::new(queues, &[], 0..queues);
        let measure = experiment.measure;
        events.push(measure.from, Component::WindowBegins);
        events.push(measure.to, Component::WindowEnds);
        events.push(Time::ZERO + measure.sample, Component::Sample);
        let paths = 2 * experiment.flows.len() + experiment.datagrams.len();
        Ok(Emulator {
            captures,
            events,
            pool: SegmentPool::default(),
            paths: vec![PathCounts::default(); paths],
            window: [Vec::new(), Vec::new()],
            losses: measure.losses.then(Losses::default),
            outcomes: Vec::new(),
            samples: Vec::new(),
            now: Time::ZERO,
            network,
            experiment,
        })
    }

    /// Whether [`Self::send`] wants a packet's frame.
    pub fn captures(&self) -> bool {
        self.captures.is_some()
    }

    /// When the network does something next.
    pub fn next_event(&self) -> Time {
        self.events.next().map_or(Time::NEVER, |(at, _)| at)
    }

    /// A host sends a packet now. Returns its slot. Without a frame no capture shows it.
    pub fn send(&mut self, sent: Sent, frame: Option<Frame>) -> u32 {
        let slot = self.pool.place();
        let segment = self.pool.segment(slot);
        (segment.sent_at, segment.payload_bytes) = (self.now, sent.payload_bytes);
        let entrance = self.network.entrance_of(sent.path);
        let position = self.network.in_turn(entrance, sent.path);
        self.paths[sent.path as usize].balance.sent += 1;
        let handle = PacketHandle::emulated(slot, position, sent);
        if let Some(captures) = &mut self.captures {
            captures.follow(&handle, frame, self.now);
        }
        self.offer(handle);
        slot
    }

    /// What is due until `now` happens, and it is `now`.
    ///
    /// # Errors
    /// A fault of the network.
    pub fn advance(&mut self, now: Time) -> Result<(), Violation> {
        while let Some((at, component)) = self.events.next() {
            if at > now {
                break;
            }
            self.now = at;
            self.events.advance(at);
            self.captures.advance(at);
            self.handle(component)?;
        }
        self.now = now;
        self.events.advance(now);
        Ok(())
    }

    /// What became of packets since this was asked last, in order.
    pub fn outcomes(&mut self) -> std::vec::Drain<'_, Outcome> {
        self.outcomes.drain(..)
    }

    /// The slot of a packet that has arrived or is gone: a packet that is sent may have it from now on.
    pub fn release(&mut self, slot: u32) {
        self.pool.give_back(slot);
    }

    /// Samples of the reported link directions since this was asked last.
    pub fn samples(&mut self) -> std::vec::Drain<'_, LinkSample> {
        self.samples.drain(..)
    }

    /// The run is over, if need be before its time: then the measuring window ends now.
    ///
    /// # Errors
    /// Why it is not: a packet is not accounted for, or a capture cannot be written.
    pub fn finish(mut self) -> Result<Emulated, String> {
        if self.now < self.experiment.measure.to {
            self.experiment.measure.to = self.now.max(self.experiment.measure.from);
        }
        for counts in self.window.iter_mut().filter(|counts| counts.is_empty()) {
            counts.clone_from(&self.paths);
        }
        let captures = self.captures.take();
        let remarks = captures.map_or_else(|| Ok(Vec::new()), |captures| captures.finish(self.now));
        let remarks = remarks.map_err(|error| error.to_string())?;
        let measure = &self.experiment.measure;
        let (network, reported) = (&self.network, &self.network.reported);
        let links = reported.iter().filter_map(|link| link_summary(network, *link, measure));
        let (links, wlan) = (links.collect(), wlan_summary(network, measure));
        self.check_balance().map_err(|violation| violation.to_string())?;
        Ok(Emulated {
            remarks,
            links,
            wlan,
            window: self.window,
            paths: self.paths,
            losses: self.losses,
            link_ids: self.network.names,
            routes: self.network.routes,
        })
    }

    fn handle(&mut self, component: Component) -> Result<(), Violation> {
        match component {
            Component::Delivery(queue) => return self.packet_arrives(queue),
            _ => self.events.pop(),
        }
        match component {
            Component::Port(index) => {
                self.network.wake(index, self.now, &mut self.captures);
                self.take_link_events();
            }
            Component::WindowBegins => self.window[0].clone_from(&self.paths),
            Component::WindowEnds => self.window[1].clone_from(&self.paths),
            Component::Sample => {
                self.sample();
                self.events.push(self.now + self.experiment.measure.sample, Component::Sample);
            }
            other => {
                let what = format!("{other:?} is no event of a network");
                return Err(Violation::new(self.now, what));
            }
        }
        Ok(())
    }

    fn packet_arrives(&mut self, queue: u32) -> Result<(), Violation> {
        let what = "a delivery queue had an event but no packet";
        let taken = self.network.take(queue).ok_or_else(|| Violation::new(self.now, what));
        let Taken { mut handle, next } = taken?;
        if next.at < Time::NEVER {
            self.events.repeat(next);
        } else {
            self.events.pop();
        }
        self.captures.leaves(&handle, self.network.link_at(handle.position()), self.now);
        if self.network.cross(&mut handle) {
            self.captures.is_delivered(&handle, self.now);
            self.deliver(handle);
        } else {
            self.offer(handle);
        }
        Ok(())
    }

    fn offer(&mut self, handle: PacketHandle) {
        match self.network.offer(handle, self.now, &mut self.captures) {
            Passage::Begins(due, queue) => self.events.push_delivery(due, queue),
            Passage::Behind => {}
            Passage::Dropped => self.count_missing(handle, Cause::Dropped),
            Passage::Lost => self.count_missing(handle, Cause::Lost),
            Passage::LinkEvent => self.take_link_events(),
        }
    }

    fn take_link_events(&mut self) {
        let link_events = self.network.take_link_events();
        for event in &link_events {
            match *event {
                LinkEvent::Event(at, component) => self.events.push(at, component),
                LinkEvent::Left(handle) => {
                    self.outcomes.push(Outcome::Left { slot: handle.place() as u32 });
                }
                LinkEvent::Dropped(handle) => {
                    self.captures.is_dropped(&handle, self.network.link_at(handle.position()));
                    self.count_missing(handle, Cause::Dropped);
                }
                LinkEvent::Lost(handle) => {
                    self.captures.is_lost(&handle, self.network.link_at(handle.position()));
                    self.count_missing(handle, Cause::Lost);
                }
                LinkEvent::Doubled(handle, port, arrival) => {
                    self.paths[handle.path() as usize].balance.copied += 1;
                    let copy = self.pool.copy(handle);
                    let (slot, double) = (handle.place() as u32, copy.place() as u32);
                    self.outcomes.push(Outcome::Doubled { slot, copy: double });
                    self.captures.is_copied(&handle, &copy);
                    let (network, tap) = (&mut self.network, &mut self.captures);
                    let event = network.propagate(port, copy, arrival, self.now, tap);
                    if let Some((at, component)) = event {
                        self.events.push(at, component);
                    }
                }
            }
        }
        self.network.give_back(link_events);
    }

    fn deliver(&mut self, handle: PacketHandle) {
        if handle.is_corrupted() {
            return self.count_missing(handle, Cause::Damaged);
        }
        let (slot, path) = (handle.place() as u32, handle.path());
        let segment = self.pool.segment(slot);
        let (sent_at, payload_bytes) = (segment.sent_at, segment.payload_bytes);
        let counts = &mut self.paths[path as usize];
        counts.balance.delivered += 1;
        if handle.has_payload() {
            counts.arrivals += 1;
            counts.wire_bytes += u64::from(handle.wire_bytes());
            counts.payload_bytes += u64::from(payload_bytes);
            counts.delay_ns += self.now.since(sent_at).as_nanos();
        }
        let is_marked = handle.ecn() == Ecn::Ce;
        self.outcomes.push(Outcome::Arrived { slot, path, is_marked });
    }

    fn count_missing(&mut self, handle: PacketHandle, cause: Cause) {
        let slot = handle.place() as u32;
        self.outcomes.push(Outcome::Gone { slot });
        if let Some(losses) = self.losses.as_mut().filter(|_| handle.has_payload()) {
            let link = self.network.link_at(handle.position());
            losses.push(self.now, handle.path(), link, cause);
        }
        let counts = &mut self.paths[handle.path() as usize];
        counts.missing += u64::from(handle.has_payload());
        counts.dropped += u64::from(handle.has_payload() && cause == Cause::Dropped);
        match cause {
            Cause::Dropped => counts.balance.dropped += 1,
            Cause::Lost => counts.balance.lost += 1,
            Cause::Damaged => counts.balance.corrupted += 1,
        }
    }

    fn sample(&mut self) {
        let (at, samples) = (self.now, &mut self.samples);
        self.network.reported_links(at, |index, (packets, bytes), totals| {
            samples.push(LinkSample {
                at,
                link: index as u32,
                backlog_packets: packets,
                backlog_bytes: bytes,
                transmitted_bytes: totals.transmitted_bytes,
                drops: totals.dropped,
                losses: totals.lost,
            });
        });
    }

    /// Every packet of a path has arrived, is gone, or is inside.
    fn check_balance(&mut self) -> Result<(), Violation> {
        let mut inside = vec![0u64; self.paths.len()];
        let on_their_way = self.network.drain_and_check(self.now)?;
        for handle in &on_their_way {
            inside[handle.path() as usize] += 1;
        }
        for (path, (counts, inside)) in self.paths.iter().zip(inside).enumerate() {
            counts.balance.balance(&format!("path {path}"), inside, self.now)?;
        }
        Ok(())
    }
}
