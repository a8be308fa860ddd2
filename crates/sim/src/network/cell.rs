//! A WLAN cell as a part of the network: its nodes are devices that share a medium.

use fairway_net::wlan::{Cell, CellFigures, NodeId, Outcome};
use fairway_net::{LinkFigures, LinkTotals};
use fairway_units::Time;

use super::News;
use crate::event::{Component, Due};
use crate::parcel::Parcel;
use crate::rows::Rows;

/// The cell of a network.
pub(super) struct Medium {
    cell: Cell<Parcel>,
    /// The device that is its access point; the stations follow.
    first: u32,
    /// The station that receives what the access point sends, by way.
    receivers: Vec<u32>,
    /// The earliest of its events that are in the queue of events.
    scheduled: Time,
    outcome: Outcome<Parcel>,
}

impl Medium {
    /// A cell whose access point is the device `first`. `receivers` are the stations to which each
    /// way leads.
    pub(super) fn new(cell: Cell<Parcel>, first: u32, receivers: Vec<u32>) -> Self {
        Medium { cell, first, receivers, scheduled: Time::NEVER, outcome: Outcome::default() }
    }

    /// A node of the cell is offered a packet.
    pub(super) fn offer(&mut self, node: NodeId, parcel: Parcel, now: Time) {
        self.advance(now);
        let station = match node {
            NodeId::AccessPoint => self.receivers[parcel.way() as usize],
            NodeId::Station(station) => station,
        };
        self.cell.enqueue(node, station, parcel, now, &mut self.outcome);
    }

    /// What is due happens.
    pub(super) fn advance(&mut self, now: Time) {
        if self.scheduled <= now {
            self.scheduled = Time::NEVER;
        }
        while self.cell.next_event() <= now {
            self.cell.handle(now, &mut self.outcome);
        }
    }

    /// Passes on what has happened. Packets that were received go into the rows of their senders,
    /// which are behind `shared_rows` others.
    pub(super) fn tell(
        &mut self,
        now: Time,
        rows: &mut Rows,
        shared_rows: u32,
        news: &mut Vec<News>,
    ) {
        for arrival in &self.outcome.arrivals {
            let row = shared_rows + self.device(arrival.from);
            if arrival.packet.is_held() {
                news.push(News::Left(arrival.packet));
            }
            if rows.join(row, Due { at: now, since: now }, arrival.packet.released()) {
                news.push(News::Event(now, Component::Row(row)));
            }
        }
        news.extend(self.outcome.drops.packets.iter().map(|p| News::Dropped(p.packet.packet)));
        news.extend(self.outcome.lost.iter().map(|packet| News::Lost(*packet)));
        self.outcome.clear();
        let next = self.cell.next_event();
        if next < self.scheduled {
            self.scheduled = next;
            news.push(News::Event(next, Component::Port(self.first)));
        }
    }

    fn device(&self, node: NodeId) -> u32 {
        match node {
            NodeId::AccessPoint => self.first,
            NodeId::Station(station) => self.first + 1 + station,
        }
    }

    /// Takes out all packets inside, at the end of a run.
    pub(super) fn drain(&mut self, now: Time) -> Vec<Parcel> {
        self.cell.drain(now)
    }

    pub(super) fn totals(&self, node: NodeId) -> LinkTotals {
        self.cell.link_totals(node)
    }

    pub(super) fn link_figures(&self, node: NodeId) -> &LinkFigures {
        self.cell.link_figures(node)
    }

    pub(super) fn backlog(&self, node: NodeId) -> (u64, u64) {
        self.cell.backlog(node)
    }

    /// Figures over the measuring window.
    pub(super) fn figures(&self) -> CellFigures {
        self.cell.figures()
    }
}
