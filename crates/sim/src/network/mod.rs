//! All link directions, and the packets on their way through them.

mod bisection;
mod build;
mod cell;
mod exits;
mod lookahead;
mod regions;
mod wlan;

use fairway_net::wlan::{CellFigures, NodeId};
use fairway_net::{Arrival, Link, LinkFigures, LinkTotals, Offer, Packet, Port, Timing};
use fairway_schema::{LinkBalance, Violation, ideal_s};
use fairway_tcp::Stack;
use fairway_units::{Duration, Rate, Time};
use prefetch_index::prefetch_index;

use crate::capture::Tap;
use crate::delivery_queues::{DeliveryQueues, Taken};
use crate::event::{Component, Due, EventQueue};
use crate::packet_handle::PacketHandle;
use crate::path_table::PathTable;
use cell::Medium;
use exits::Exit;
use fairway_spec::{Experiment, HEADERS, Node, REVERSE, TIMESTAMP_OPTION};

pub(crate) use lookahead::{Lookahead, happens_apart};
pub(crate) use regions::{Region, Regions};

/// All link directions of a network and the paths through them.
pub(crate) struct Network {
    devices: Vec<Device>,
    /// The cell whose nodes some of them are.
    medium: Option<Box<Medium>>,
    queues: DeliveryQueues,
    /// Name of each link direction.
    pub(crate) names: Vec<String>,
    /// Where each link direction begins and ends.
    ends: Vec<[Node; 2]>,
    /// Rate and delay of each link direction.
    paths: Vec<(Rate, Duration)>,
    /// Link directions that results report; the first is the bottleneck towards the sinks.
    pub(crate) reported: Vec<u32>,
    path_table: PathTable,
    /// The route of each connection's data, where it had a choice.
    pub(crate) routes: Vec<Option<String>>,
    /// Delivery queues that links share: those come first, and behind them each link's own.
    shared_queues: u32,
    /// When the last packet arrives that is in its link's own delivery queue and not in the shared
    /// one.
    in_own_rows_until: Time,
    /// Delivery queues that may run ahead of others.
    pub(crate) lookahead: Lookahead,
    timing: Timing,
    /// What has become of packets, where that is more than one thing at a time.
    link_events: Vec<LinkEvent>,
    pub(crate) regions: Regions,
    /// Which link directions lead to regions that are simulated elsewhere; empty if none do.
    leads_away: Vec<bool>,
    /// Packets on their way there.
    departures: Vec<Departure>,
}

/// A packet is on its way over a link to a region that is simulated elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) link: u32,
    pub(crate) due: Due,
    pub(crate) handle: PacketHandle,
}

/// One direction of a link.
enum Device {
    /// It knows at once when a packet arrives.
    Link(Link, Exit),
    /// It has events of its own.
    Port(Box<Port<PacketHandle>>),
    /// A node of the cell, to whatever other node it sends.
    Node(NodeId),
}

/// What became of a packet that was offered to a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passage {
    /// It is on its way; a delivery queue has a new next event, then.
    Begins(Due, u32),
    /// It is on its way behind others.
    Behind,
    /// A queue dropped it.
    Dropped,
    /// It will be lost on the wire.
    Lost,
    /// It is inside a port, and there are link events.
    LinkEvent,
}

/// What a port has done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LinkEvent {
    /// There is a new event.
    Event(Time, Component),
    /// A packet has left the link that its sender's buffer held it for.
    Left(PacketHandle),
    /// Its queue dropped a packet.
    Dropped(PacketHandle),
    /// A packet is lost on the wire.
    Lost(PacketHandle),
    /// The wire of a port doubles a packet: a copy has to be made, which arrives like this.
    Doubled(PacketHandle, u32, Arrival),
}

/// What a connection's packets meet on an idle network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Rate of the slowest link towards the sink.
    slowest: Rate,
    /// Propagation to the sink and back.
    there: Duration,
    back: Duration,
    frame_overhead: u64,
}

impl Path {
    /// Rate of the slowest link towards the sink.
    pub(crate) fn rate_bps(&self) -> f64 {
        self.slowest.as_bps() as f64
    }

    /// The shortest time in which a transfer may be complete.
    pub(crate) fn ideal_s(&self, bytes: u64, stack: &Stack) -> f64 {
        let headers = HEADERS + if stack.options.timestamps { TIMESTAMP_OPTION } else { 0 };
        let packets = bytes.div_ceil(u64::from(stack.options.mss));
        let wire = bytes + packets * (headers + self.frame_overhead);
        let (there, back) = (self.there.as_secs_f64(), self.back.as_secs_f64());
        ideal_s(wire, self.slowest.as_bps() as f64, there, back)
    }
}

impl Network {
    /// What the packets of a connection meet.
    pub(crate) fn path(&self, connection: u32, experiment: &Experiment) -> Path {
        let links = |path| self.path_table.links(path).map(|link| self.paths[link as usize]);
        let delay = |path| links(path).fold(Duration::ZERO, |sum, (_, delay)| sum + delay);
        Path {
            slowest: links(connection * 2).map(|(rate, _)| rate).min().unwrap_or(Rate::UNLIMITED),
            there: delay(connection * 2),
            back: delay(connection * 2 + 1),
            frame_overhead: experiment.topology.frame_overhead.get(),
        }
    }

    /// Look at each link direction that results report, in their order: its backlog in packets and
    /// bytes, and its counters.
    pub(crate) fn reported_links(
        &mut self,
        now: Time,
        mut look: impl FnMut(usize, (u64, u64), LinkTotals),
    ) {
        for (i, index) in self.reported.iter().enumerate() {
            match &mut self.devices[*index as usize] {
                Device::Link(link, _) => look(i, link.backlog(now), link.totals()),
                Device::Port(port) => look(i, port.backlog(), port.totals()),
                Device::Node(node) => {
                    if let Some(medium) = &self.medium {
                        look(i, medium.backlog(*node), medium.totals(*node));
                    }
                }
            }
        }
    }

    /// Figures of a link direction over the measuring window, if it is watched and the account is
    /// closed.
    pub(crate) fn figures(&self, index: u32) -> Option<&LinkFigures> {
        match &self.devices[index as usize] {
            Device::Link(link, _) => link.figures(),
            Device::Port(port) => port.figures(),
            Device::Node(node) => self.medium.as_ref().map(|medium| medium.link_figures(*node)),
        }
    }

    /// Which node of the cell a device is, the access point the first.
    pub(crate) fn node_of(&self, index: u32) -> Option<usize> {
        match self.devices[index as usize] {
            Device::Node(NodeId::AccessPoint) => Some(0),
            Device::Node(NodeId::Station(station)) => Some(station as usize + 1),
            Device::Link(..) | Device::Port(_) => None,
        }
    }

    /// Figures of the cell over the measuring window, if there is one.
    pub(crate) fn cell_figures(&self) -> Option<CellFigures> {
        self.medium.as_ref().map(|medium| medium.figures())
    }

    /// The position at which packets enter a path.
    pub(crate) fn entrance_of(&self, path: u32) -> u32 {
        self.path_table.entrance(path)
    }

    /// That of the next packet on a path, which is `entrance` unless the path has several routes.
    #[inline(always)]
    pub(crate) fn in_turn(&mut self, entrance: u32, path: u32) -> u32 {
        if self.path_table.have_turns() { self.path_table.next_entrance(path) } else { entrance }
    }

    /// The link direction at a position.
    pub(crate) fn link_at(&self, position: u32) -> u32 {
        self.path_table.hop(position).link()
    }

    /// Each link direction: the name of the link, where it begins and ends, and its rate.
    pub(crate) fn directions(&self) -> impl Iterator<Item = (&str, [Node; 2], Rate)> {
        let links = self.names.iter().zip(&self.ends).zip(&self.paths);
        links.map(|((name, ends), (rate, _))| {
            (name.strip_suffix(REVERSE).unwrap_or(name), *ends, *rate)
        })
    }

    /// How many routers packets have passed when they are offered to the link at each position.
    pub(crate) fn routers_before(&self) -> Vec<u8> {
        self.path_table.counted_before(|link| self.ends[link as usize] != [Node::Inside; 2])
    }

    /// Offer a packet to the link that it is at, and to the next one if it is through at once.
    #[inline(always)]
    pub(crate) fn offer(
        &mut self,
        mut handle: PacketHandle,
        mut at: Time,
        tap: &mut impl Tap,
    ) -> Passage {
        let since = at;
        if let Some(passage) = self.offer_once(&mut handle, &mut at, since, tap) {
            return passage;
        }
        // Behind a link that is passed at once there is nearly always a host's.
        self.offer_plain(handle, at, since, tap)
            .unwrap_or_else(|| self.offer_on(handle, at, since, tap))
    }

    #[inline(never)]
    fn offer_on(
        &mut self,
        mut handle: PacketHandle,
        mut at: Time,
        since: Time,
        tap: &mut impl Tap,
    ) -> Passage {
        loop {
            if let Some(passage) = self.offer_once(&mut handle, &mut at, since, tap) {
                return passage;
            }
        }
    }

    /// Offer a packet to a link. None if it is through at once, and at the next one at that time.
    #[inline(always)]
    fn offer_once(
        &mut self,
        handle: &mut PacketHandle,
        at: &mut Time,
        since: Time,
        tap: &mut impl Tap,
    ) -> Option<Passage> {
        let index = self.link_at(handle.position());
        tap.enters(handle, index, *at);
        let Device::Link(link, exit) = &mut self.devices[index as usize] else {
            return Some(self.offer_elsewhere(index, *handle, *at, tap));
        };
        let exit = *exit;
        match link.offer(handle, *at) {
            Offer::Arrives(arrives) => *at = arrives,
            Offer::Marked(arrives) => {
                handle.mark_congestion();
                *at = arrives;
            }
            Offer::Dropped => {
                tap.is_dropped(handle, index);
                return Some(Passage::Dropped);
            }
            Offer::Lost => {
                tap.is_lost(handle, index);
                return Some(Passage::Lost);
            }
        }
        tap.passes(handle);
        if exit == Exit::Express {
            tap.leaves(handle, index, *at);
            self.cross(handle);
            return None;
        }
        Some(self.enqueue(index, exit, *handle, Due { at: *at, since }))
    }

    /// Offer a packet to a link that takes every packet as it is and is not passed at once, as hosts'
    /// links. None if the packet is at another one.
    #[inline(always)]
    pub(crate) fn offer_plain(
        &mut self,
        handle: PacketHandle,
        at: Time,
        since: Time,
        tap: &mut impl Tap,
    ) -> Option<Passage> {
        let index = self.link_at(handle.position());
        let Device::Link(link, exit) = &mut self.devices[index as usize] else { return None };
        let exit = *exit;
        if !link.is_plain() || exit == Exit::Express {
            return None;
        }
        tap.enters(&handle, index, at);
        let at = link.pass(&handle, at);
        tap.passes(&handle);
        Some(self.enqueue(index, exit, handle, Due { at, since }))
    }

    /// A packet has left a link's beginning and arrives at its end.
    #[inline(always)]
    fn enqueue(&mut self, index: u32, exit: Exit, handle: PacketHandle, due: Due) -> Passage {
        let own_row = self.shared_queues + index;
        let queue = match exit {
            Exit::Row | Exit::Express => own_row,
            Exit::Shared(queue) => {
                // A packet in the link's own delivery queue goes before any that follows it.
                let is_first = self.in_own_rows_until < due.since || self.queues.is_empty(own_row);
                if is_first && self.queues.is_in_order(queue, due.at) {
                    queue
                } else {
                    self.in_own_rows_until = self.in_own_rows_until.max(due.at);
                    own_row
                }
            }
            Exit::Away => {
                self.departures.push(Departure { link: index, due, handle });
                return Passage::Behind;
            }
        };
        let begins = self.queues.join(queue, due, handle);
        if begins { Passage::Begins(due, queue) } else { Passage::Behind }
    }

    #[inline(never)]
    fn offer_elsewhere(
        &mut self,
        index: u32,
        handle: PacketHandle,
        now: Time,
        tap: &mut impl Tap,
    ) -> Passage {
        match self.devices[index as usize] {
            Device::Node(node) => self.offer_to_node(node, handle, now),
            _ => self.offer_to_port(index, handle, now, tap),
        }
    }

    /// Offer a packet to a port, after what was due there, or before what is due at this instant.
    fn offer_to_port(
        &mut self,
        index: u32,
        handle: PacketHandle,
        now: Time,
        tap: &mut impl Tap,
    ) -> Passage {
        if self.timing == Timing::Exact {
            self.wake(index, now, tap);
        }
        if let Device::Port(port) = &mut self.devices[index as usize] {
            let wakes = port.offer(handle, now);
            self.link_events.extend(wakes.map(|at| LinkEvent::Event(at, Component::Port(index))));
            self.link_events.extend(port.take_drops().map(LinkEvent::Dropped));
        }
        Passage::LinkEvent
    }

    /// Offer a packet to a node of the cell.
    #[inline(never)]
    fn offer_to_node(&mut self, node: NodeId, handle: PacketHandle, now: Time) -> Passage {
        if let Some(medium) = &mut self.medium {
            medium.offer(node, handle, now);
            medium.tell(now, &mut self.queues, self.shared_queues, &mut self.link_events);
        }
        Passage::LinkEvent
    }

    /// What was due in the cell happens.
    fn wake_cell(&mut self, now: Time) {
        if let Some(medium) = &mut self.medium {
            medium.advance(now);
            medium.tell(now, &mut self.queues, self.shared_queues, &mut self.link_events);
        }
    }

    /// What was due at a port, or in the cell, happens.
    pub(crate) fn wake(&mut self, index: u32, now: Time, tap: &mut impl Tap) {
        if matches!(self.devices[index as usize], Device::Node(_)) {
            return self.wake_cell(now);
        }
        let mut woken = false;
        // Packets that leave in no time, or with one opportunity, are due one after the other.
        while let Device::Port(port) = &mut self.devices[index as usize] {
            if port.wake_at() > now {
                if woken && port.wake_at() < Time::NEVER {
                    self.link_events.push(LinkEvent::Event(port.wake_at(), Component::Port(index)));
                }
                return;
            }
            woken = true;
            let sent = port.wake(now);
            self.link_events.extend(port.take_drops().map(LinkEvent::Dropped));
            let Some(mut sent) = sent else { continue };
            if sent.packet.is_held() {
                self.link_events.push(LinkEvent::Left(sent.packet));
                sent.packet = sent.packet.released();
            }
            // Before its original is given up.
            self.link_events
                .extend(sent.copy.map(|copy| LinkEvent::Doubled(sent.packet, index, copy)));
            match sent.arrival {
                None => self.link_events.push(LinkEvent::Lost(sent.packet)),
                Some(arrival) => {
                    let event = self.propagate(index, sent.packet, arrival, now, tap);
                    self.link_events
                        .extend(event.map(|(at, component)| LinkEvent::Event(at, component)));
                }
            }
        }
    }

    /// A packet is on its way to the far end of a port. Returns the event of its arrival if there
    /// is a new one.
    pub(crate) fn propagate(
        &mut self,
        index: u32,
        packet: PacketHandle,
        arrival: Arrival,
        now: Time,
        tap: &mut impl Tap,
    ) -> Option<(Time, Component)> {
        let Arrival { at, corrupted } = arrival;
        let packet = if corrupted { packet.corrupt() } else { packet };
        tap.passes(&packet);
        if corrupted {
            tap.is_damaged(&packet, index);
        }
        if self.leads_away.get(index as usize).is_some_and(|leads_away| *leads_away) {
            let due = Due { at, since: now };
            self.departures.push(Departure { link: index, due, handle: packet });
            return None;
        }
        let queue = self.shared_queues + index;
        if !self.queues.is_in_order(queue, at) {
            return Some((at, Component::Delivery(self.queues.join_apart(packet))));
        }
        let due = Due { at, since: now };
        self.queues.join(queue, due, packet).then_some((at, Component::Delivery(queue)))
    }

    /// What ports have done since this was asked last.
    pub(crate) fn take_link_events(&mut self) -> Vec<LinkEvent> {
        std::mem::take(&mut self.link_events)
    }

    /// The memory of old link events, for those to come.
    pub(crate) fn give_back(&mut self, mut link_events: Vec<LinkEvent>) {
        link_events.clear();
        self.link_events = link_events;
    }

    /// Take the packet whose arrival is due from a delivery queue, and say when the delivery
    /// queue's next one arrives.
    #[inline(always)]
    pub(crate) fn take(&mut self, queue: u32) -> Option<Taken> {
        self.queues.take(queue)
    }

    /// A packet has crossed the link that it is at. Returns whether that is the last of its path;
    /// otherwise the packet is at the next.
    #[inline(always)]
    pub(crate) fn cross(&mut self, handle: &mut PacketHandle) -> bool {
        let is_last = self.path_table.cross(handle.position());
        if !is_last {
            *handle = handle.at_next();
        }
        is_last
    }

    /// The packet `places` behind the first of a delivery queue.
    pub(crate) fn ahead(&self, queue: u32, places: usize) -> Option<PacketHandle> {
        self.queues.ahead(queue, places)
    }

    /// Whether another packet of the connection of `handle` arrives in its delivery queue now.
    pub(crate) fn brings_more(&self, queue: u32, handle: &PacketHandle, now: Time) -> bool {
        self.queues.brings_more(queue, handle, now)
    }

    /// Ask for the memory of the link that answers to a packet enter first.
    pub(crate) fn prefetch_back(&self, handle: &PacketHandle) {
        prefetch_index(&self.devices, self.link_at(self.entrance_of(handle.path() ^ 1)) as usize);
    }

    /// Ask for the memory of the next two links on a packet's path.
    pub(crate) fn prefetch_on(&self, handle: &PacketHandle) {
        let mut hop = self.path_table.hop(handle.position());
        for next in 1..=2 {
            if hop.is_last() {
                return;
            }
            hop = self.path_table.hop(handle.position() + next);
            prefetch_index(&self.devices, hop.link() as usize);
        }
    }

    /// From now on only what happens in `region` happens here. Returns the events of its delivery
    /// queues: they come in the order of those of the whole network.
    pub(crate) fn confine(&mut self, region: &Region<'_>, lookahead: &Lookahead) -> EventQueue {
        for (index, device) in (0..).zip(&mut self.devices) {
            let leads_away = region.is_left_by(index);
            if let Device::Link(_, exit) = device
                && leads_away
            {
                *exit = Exit::Away;
            }
            self.leads_away.push(leads_away);
        }
        let here = self.queues_in(region);
        let ahead = lookahead.queues.iter().copied().filter(|queue| here[*queue as usize]);
        let others = (0..).zip(&here).filter(|(_, here)| **here).map(|(queue, _)| queue);
        EventQueue::new(here.len() as u32, &ahead.collect::<Vec<_>>(), others)
    }

    /// Which delivery queues have packets that arrive in a region.
    fn queues_in(&self, region: &Region<'_>) -> Vec<bool> {
        let mut here = vec![false; self.shared_queues as usize];
        here.extend((0..self.devices.len() as u32).map(|link| region.has_end_of(link)));
        for (link, device) in (0..).zip(&self.devices) {
            if let Device::Link(_, Exit::Shared(queue)) = device {
                here[*queue as usize] |= region.has_end_of(link);
            }
        }
        here
    }

    /// The shortest time in which a packet comes from one region to another.
    pub(crate) fn least_delay_between(&self, regions: &Regions) -> Duration {
        let cut = (0..).zip(&self.paths).filter(|(link, _)| regions.is_cut(*link));
        cut.map(|(_, (_, delay))| *delay).min().unwrap_or(Duration::MAX)
    }

    /// The link directions at the beginning and at the end of a path.
    pub(crate) fn ends_of(&self, path: u32) -> [u32; 2] {
        let first = self.link_at(self.entrance_of(path));
        [first, self.path_table.links(path).last().unwrap_or(first)]
    }

    /// Packets that went elsewhere since this was asked last.
    pub(crate) fn take_departures(&mut self) -> std::vec::Drain<'_, Departure> {
        self.departures.drain(..)
    }

    /// A packet comes from elsewhere. Returns its delivery queue if that has a new next event.
    pub(crate) fn join(&mut self, departure: Departure) -> Option<u32> {
        let queue = self.shared_queues + departure.link;
        self.queues.join(queue, departure.due, departure.handle).then_some(queue)
    }

    /// Takes over what has become of another region.
    pub(crate) fn absorb(&mut self, mut other: Network, region: &Region) {
        for (index, device) in other.devices.into_iter().enumerate() {
            if region.has_beginning_of(index as u32) {
                self.devices[index] = device;
            }
        }
        self.path_table.absorb(&other.path_table);
        for handle in other.queues.take_all() {
            self.queues.join_apart(handle);
        }
    }

    /// Empty the network and return what was inside. Fails unless every packet offered to a link was
    /// delivered, dropped or lost, or is inside.
    pub(crate) fn drain_and_check(&mut self, now: Time) -> Result<Vec<PacketHandle>, Violation> {
        let mut pool: Vec<PacketHandle> = self.queues.take_all();
        for device in &mut self.devices {
            if let Device::Port(port) = device {
                pool.extend(port.drain(now));
            }
        }
        if let Some(medium) = &mut self.medium {
            pool.extend(medium.drain(now));
        }
        let mut inside = vec![0; self.devices.len()];
        let delivered = self.path_table.delivered(self.devices.len());
        for handle in &pool {
            inside[self.path_table.hop(handle.position()).link() as usize] += 1;
        }
        for (i, device) in self.devices.iter().enumerate() {
            let totals = match device {
                Device::Link(link, _) => link.totals(),
                Device::Port(port) => port.totals(),
                Device::Node(node) => {
                    self.medium.as_ref().map_or(LinkTotals::default(), |m| m.totals(*node))
                }
            };
            LinkBalance {
                offered: totals.offered,
                copies: totals.copies,
                delivered: delivered[i],
                dropped: totals.dropped,
                lost: totals.lost,
                inside: inside[i],
            }
            .balance(&self.names[i], now)?;
        }
        Ok(pool)
    }
}
