//! All link directions, and the packets on their way through them.

mod build;
mod cell;
mod exits;
mod lookahead;
mod node;
mod wlan;

use fairway_net::wlan::{CellFigures, NodeId};
use fairway_net::{Arrival, Link, LinkFigures, LinkTotals, Offer, Port, Timing};
use fairway_schema::{LinkBooks, Violation, ideal_s};
use fairway_tcp::Stack;
use fairway_units::{Duration, Rate, Time};

use crate::capture::Tap;
use crate::event::{Component, Due};
use crate::parcel::Parcel;
use crate::rows::Rows;
use crate::ways::Ways;
use cell::Medium;
use exits::Exit;
use fairway_spec::{Experiment, HEADERS, TIMESTAMP_OPTION};

pub(crate) use lookahead::Lookahead;
pub(crate) use node::Node;

/// All link directions of a network and the ways through them.
pub(crate) struct Network {
    devices: Vec<Device>,
    /// The cell whose nodes some of them are.
    medium: Option<Box<Medium>>,
    /// Packets that have come to the far end of each link direction.
    delivered: Vec<u64>,
    rows: Rows,
    /// Name of each link direction.
    pub(crate) names: Vec<String>,
    /// Where each link direction begins and ends.
    ends: Vec<[Node; 2]>,
    /// Rate and delay of each link direction.
    paths: Vec<(Rate, Duration)>,
    /// Link directions that results report; the first is the bottleneck towards the sinks.
    pub(crate) reported: Vec<u32>,
    ways: Ways,
    /// The route of each connection's data, where it had a choice.
    pub(crate) routes: Vec<Option<String>>,
    /// Rows that links share: those come first, and behind them each link's own.
    shared_rows: u32,
    /// Rows that may run ahead of others.
    pub(crate) lookahead: Lookahead,
    timing: Timing,
    /// What has become of packets, where that is more than one thing at a time.
    news: Vec<News>,
}

/// One direction of a link.
enum Device {
    /// It knows at once when a packet arrives.
    Link(Link, Exit),
    /// It has events of its own.
    Port(Box<Port<Parcel>>),
    /// A node of the cell, to whatever other node it sends.
    Node(NodeId),
}

/// What became of a packet that was offered to a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passage {
    /// It is on its way; a row has a new next event, then.
    Begins(Due, u32),
    /// It is on its way behind others.
    Behind,
    /// A queue dropped it.
    Dropped,
    /// It will be lost on the wire.
    Lost,
    /// It is inside a port, and there is news.
    News,
}

/// What a port has done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News {
    /// There is a new event.
    Event(Time, Component),
    /// A packet has left the link that its sender's buffer held it for.
    Left(Parcel),
    /// Its queue dropped a packet.
    Dropped(Parcel),
    /// A packet is lost on the wire.
    Lost(Parcel),
    /// The wire of a port doubles a packet: a copy has to be made, which arrives like this.
    Doubled(Parcel, u32, Arrival),
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
    /// The shortest time in which a transfer may be complete.
    pub(crate) fn ideal_s(&self, bytes: u64, stack: &Stack) -> f64 {
        let headers = HEADERS + if stack.timestamps { TIMESTAMP_OPTION } else { 0 };
        let packets = bytes.div_ceil(u64::from(stack.mss));
        let wire = bytes + packets * (headers + self.frame_overhead);
        let (there, back) = (self.there.as_secs_f64(), self.back.as_secs_f64());
        ideal_s(wire, self.slowest.as_bps() as f64, there, back)
    }
}

impl Network {
    /// What the packets of a connection meet.
    pub(crate) fn path(&self, connection: u32, experiment: &Experiment) -> Path {
        let links = |way| self.ways.links(way).map(|link| self.paths[link as usize]);
        let delay = |way| links(way).fold(Duration::ZERO, |sum, (_, delay)| sum + delay);
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

    /// Figures of a link direction over the measuring window, if it is watched and the books are
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

    /// The position at which one end of a connection sends packets off.
    pub(crate) fn entrance(&self, connection: u32, forward: bool) -> u32 {
        self.ways.entrance(connection * 2 + u32::from(!forward))
    }

    /// The position at which packets enter a way.
    pub(crate) fn entrance_of(&self, way: u32) -> u32 {
        self.ways.entrance(way)
    }

    /// That of the next packet on a way, which is `entrance` unless the way has several routes.
    #[inline(always)]
    pub(crate) fn in_turn(&mut self, entrance: u32, way: u32) -> u32 {
        if self.ways.have_turns() { self.ways.next_entrance(way) } else { entrance }
    }

    /// The link direction at a position.
    pub(crate) fn link_at(&self, position: u32) -> u32 {
        self.ways.link(position)
    }

    /// Each link direction: the name of the link, where it begins and ends, and its rate.
    pub(crate) fn directions(&self) -> impl Iterator<Item = (&str, [Node; 2], Rate)> {
        let links = self.names.iter().zip(&self.ends).zip(&self.paths);
        links.map(|((name, ends), (rate, _))| {
            (name.strip_suffix(build::REVERSE).unwrap_or(name), *ends, *rate)
        })
    }

    /// How many routers packets have passed when they are offered to the link at each position.
    pub(crate) fn routers_before(&self) -> Vec<u8> {
        self.ways.counted_before(|link| self.ends[link as usize] != [Node::Inside; 2])
    }

    /// Offer a packet to the link that it is at, and to the next one if it is through at once.
    pub(crate) fn offer(
        &mut self,
        mut parcel: Parcel,
        mut at: Time,
        tap: &mut impl Tap,
    ) -> Passage {
        let since = at;
        loop {
            let index = self.ways.link(parcel.position());
            tap.enters(&parcel, index, at);
            let Device::Link(link, exit) = &mut self.devices[index as usize] else {
                return self.offer_elsewhere(index, parcel, at, tap);
            };
            match link.offer(&mut parcel, at) {
                Offer::Arrives(arrives) => at = arrives,
                Offer::Dropped => {
                    tap.is_dropped(&parcel, index);
                    return Passage::Dropped;
                }
                Offer::Lost => {
                    tap.is_lost(&parcel, index);
                    return Passage::Lost;
                }
            }
            tap.passes(&parcel);
            let own_row = self.shared_rows + index;
            let row = match *exit {
                Exit::Express => {
                    tap.leaves(&parcel, index, at);
                    self.pass(&mut parcel);
                    continue;
                }
                Exit::Row => own_row,
                Exit::Shared(row) => {
                    // A packet in the link's own row goes before any that follows it.
                    let in_order = self.rows.is_empty(own_row) && self.rows.is_in_order(row, at);
                    if in_order { row } else { own_row }
                }
            };
            let due = Due { at, since };
            let begins = self.rows.join(row, due, parcel);
            return if begins { Passage::Begins(due, row) } else { Passage::Behind };
        }
    }

    #[inline(never)]
    fn offer_elsewhere(
        &mut self,
        index: u32,
        parcel: Parcel,
        now: Time,
        tap: &mut impl Tap,
    ) -> Passage {
        match self.devices[index as usize] {
            Device::Node(node) => self.offer_to_node(node, parcel, now),
            _ => self.offer_to_port(index, parcel, now, tap),
        }
    }

    /// Offer a packet to a port, after what was due there, or before what is due at this instant.
    fn offer_to_port(
        &mut self,
        index: u32,
        parcel: Parcel,
        now: Time,
        tap: &mut impl Tap,
    ) -> Passage {
        if self.timing == Timing::Exact {
            self.wake(index, now, tap);
        }
        if let Device::Port(port) = &mut self.devices[index as usize] {
            let wakes = port.offer(parcel, now);
            self.news.extend(wakes.map(|at| News::Event(at, Component::Port(index))));
            self.news.extend(port.take_drops().map(News::Dropped));
        }
        Passage::News
    }

    /// Offer a packet to a node of the cell.
    #[inline(never)]
    fn offer_to_node(&mut self, node: NodeId, parcel: Parcel, now: Time) -> Passage {
        if let Some(medium) = &mut self.medium {
            medium.offer(node, parcel, now);
            medium.tell(now, &mut self.rows, self.shared_rows, &mut self.news);
        }
        Passage::News
    }

    /// What was due in the cell happens.
    fn wake_cell(&mut self, now: Time) {
        if let Some(medium) = &mut self.medium {
            medium.advance(now);
            medium.tell(now, &mut self.rows, self.shared_rows, &mut self.news);
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
                    self.news.push(News::Event(port.wake_at(), Component::Port(index)));
                }
                return;
            }
            woken = true;
            let sent = port.wake(now);
            self.news.extend(port.take_drops().map(News::Dropped));
            let Some(mut sent) = sent else { continue };
            if sent.packet.is_held() {
                self.news.push(News::Left(sent.packet));
                sent.packet = sent.packet.released();
            }
            // Before its original is given up.
            self.news.extend(sent.copy.map(|copy| News::Doubled(sent.packet, index, copy)));
            match sent.arrival {
                None => self.news.push(News::Lost(sent.packet)),
                Some(arrival) => {
                    let event = self.propagate(index, sent.packet, arrival, now, tap);
                    self.news.extend(event.map(|(at, component)| News::Event(at, component)));
                }
            }
        }
    }

    /// A packet is on its way to the far end of a port. Returns the event of its arrival if there
    /// is a new one.
    pub(crate) fn propagate(
        &mut self,
        index: u32,
        packet: Parcel,
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
        let row = self.shared_rows + index;
        if !self.rows.is_in_order(row, at) {
            return Some((at, Component::Row(self.rows.join_apart(packet))));
        }
        let due = Due { at, since: now };
        self.rows.join(row, due, packet).then_some((at, Component::Row(row)))
    }

    /// What ports have done since this was asked last.
    pub(crate) fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// The memory of news that are old, for those to come.
    pub(crate) fn give_back(&mut self, mut news: Vec<News>) {
        news.clear();
        self.news = news;
    }

    /// Take the packet whose arrival is due from a row, and say when the row's next one arrives.
    pub(crate) fn take(&mut self, row: u32) -> Option<(Parcel, Option<Due>)> {
        self.rows.take(row)
    }

    /// Whether the link that a packet has crossed is the last of its way.
    pub(crate) fn is_at_end(&self, parcel: &Parcel) -> bool {
        self.ways.is_last(parcel.position())
    }

    /// A packet has come to the end of its way.
    pub(crate) fn end(&mut self, parcel: &Parcel) {
        self.delivered[self.ways.link(parcel.position()) as usize] += 1;
    }

    /// A packet has crossed a link that is not the last of its way: it is at the next.
    pub(crate) fn pass(&mut self, parcel: &mut Parcel) {
        self.delivered[self.ways.link(parcel.position()) as usize] += 1;
        *parcel = parcel.at_next();
    }

    /// The packet `places` behind the first of a row.
    pub(crate) fn ahead(&self, row: u32, places: usize) -> Option<Parcel> {
        self.rows.ahead(row, places)
    }

    /// Every packet offered to a link was delivered, dropped or lost, or is inside. Empties the
    /// network, and returns what was inside.
    pub(crate) fn close_books(&mut self, now: Time) -> Result<Vec<Parcel>, Violation> {
        let mut parcels: Vec<Parcel> = self.rows.take_all();
        for device in &mut self.devices {
            if let Device::Port(port) = device {
                parcels.extend(port.drain(now));
            }
        }
        if let Some(medium) = &mut self.medium {
            parcels.extend(medium.drain(now));
        }
        let mut inside = vec![0; self.devices.len()];
        for parcel in &parcels {
            inside[self.ways.link(parcel.position()) as usize] += 1;
        }
        for (i, device) in self.devices.iter().enumerate() {
            let totals = match device {
                Device::Link(link, _) => link.totals(),
                Device::Port(port) => port.totals(),
                Device::Node(node) => {
                    self.medium.as_ref().map_or(LinkTotals::default(), |m| m.totals(*node))
                }
            };
            LinkBooks {
                offered: totals.offered,
                copies: totals.copies,
                delivered: self.delivered[i],
                dropped: totals.dropped,
                lost: totals.lost,
                inside: inside[i],
            }
            .balance(&self.names[i], now)?;
        }
        Ok(parcels)
    }
}
