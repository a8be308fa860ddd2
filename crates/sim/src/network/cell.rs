//! A WLAN cell as a part of the network: its nodes are devices that share a medium.

use fairway_net::wlan::{Cell, CellFigures, NodeId, Outcome};
use fairway_net::{LinkFigures, LinkTotals};
use fairway_units::Time;

use super::LinkEvent;
use crate::delivery_queues::DeliveryQueues;
use crate::event::{Component, Due};
use crate::packet_handle::PacketHandle;

/// The cell of a network.
pub(super) struct Medium {
    cell: Cell<PacketHandle>,
    /// The device that is its access point; the stations follow.
    first: u32,
    /// The station that receives what the access point sends, by path.
    receivers: Vec<u32>,
    /// The earliest of its events that are in the queue of events.
    scheduled: Time,
    outcome: Outcome<PacketHandle>,
}

impl Medium {
    /// A cell whose access point is the device `first`. `receivers` are the stations to which each
    /// path leads.
    pub(super) fn new(cell: Cell<PacketHandle>, first: u32, receivers: Vec<u32>) -> Self {
        Medium { cell, first, receivers, scheduled: Time::NEVER, outcome: Outcome::default() }
    }

    /// A node of the cell is offered a packet.
    pub(super) fn offer(&mut self, node: NodeId, handle: PacketHandle, now: Time) {
        self.advance(now);
        let station = match node {
            NodeId::AccessPoint => self.receivers[handle.path() as usize],
            NodeId::Station(station) => station,
        };
        self.cell.enqueue(node, station, handle, now, &mut self.outcome);
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

    /// Passes on what has happened. Packets that were received go into the delivery queues of their
    /// senders, which are behind `shared_queues` others.
    pub(super) fn tell(
        &mut self,
        now: Time,
        queues: &mut DeliveryQueues,
        shared_queues: u32,
        link_events: &mut Vec<LinkEvent>,
    ) {
        for arrival in &self.outcome.arrivals {
            let queue = shared_queues + self.device(arrival.from);
            if arrival.packet.is_held() {
                link_events.push(LinkEvent::Left(arrival.packet));
            }
            if queues.join(queue, Due { at: now, since: now }, arrival.packet.released()) {
                link_events.push(LinkEvent::Event(now, Component::Delivery(queue)));
            }
        }
        link_events
            .extend(self.outcome.drops.packets.iter().map(|p| LinkEvent::Dropped(p.packet.packet)));
        link_events.extend(self.outcome.lost.iter().map(|packet| LinkEvent::Lost(*packet)));
        self.outcome.clear();
        let next = self.cell.next_event();
        if next < self.scheduled {
            self.scheduled = next;
            link_events.push(LinkEvent::Event(next, Component::Port(self.first)));
        }
    }

    fn device(&self, node: NodeId) -> u32 {
        match node {
            NodeId::AccessPoint => self.first,
            NodeId::Station(station) => self.first + 1 + station,
        }
    }

    /// Takes out all packets inside, at the end of a run.
    pub(super) fn drain(&mut self, now: Time) -> Vec<PacketHandle> {
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
