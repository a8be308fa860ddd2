//! Counters and figures of a cell, and its contents at the end of a run.

use fairway_units::Time;

use super::cell::Cell;
use super::figures::{CellFigures, CellTotals, NodeTotals};
use super::packet::NodeId;
use crate::{LinkFigures, LinkTotals, Packet};

impl<P: Packet + Copy + std::fmt::Debug> Cell<P> {
    /// Packets of a node that are not yet received.
    pub fn waiting(&self, node: NodeId) -> u64 {
        self.nodes[node.index()].waiting()
    }

    /// Counters of a node.
    pub fn node_totals(&self, node: NodeId) -> NodeTotals {
        self.nodes[node.index()].totals
    }

    /// Counters of a node in the form of a link's.
    pub fn link_totals(&self, node: NodeId) -> LinkTotals {
        self.nodes[node.index()].link_totals()
    }

    /// Figures of a node over the measuring window until [`Self::drain`], in the form of a link's: busy
    /// from the beginning of each access to the end of its exchange.
    pub fn link_figures(&self, node: NodeId) -> &LinkFigures {
        &self.nodes[node.index()].figures
    }

    /// Packets and bytes in a node's queue.
    pub fn backlog(&self, node: NodeId) -> (u64, u64) {
        self.nodes[node.index()].backlog()
    }

    /// Counters of the cell.
    pub fn totals(&self) -> CellTotals {
        self.totals
    }

    /// Figures over the measuring window.
    pub fn figures(&self) -> CellFigures {
        self.measured.figures(&self.all_totals())
    }

    /// Remove all packets that have not been received, at the end of a run.
    pub fn drain(&mut self, now: Time) -> Vec<P> {
        self.note_edges(now);
        self.nodes.iter_mut().flat_map(|node| node.drain(now)).collect()
    }

    fn all_totals(&self) -> Vec<NodeTotals> {
        self.nodes.iter().map(|node| node.totals).collect()
    }

    /// Note the counters at an edge of the measuring window, before a change `now`.
    pub(super) fn note_edges(&mut self, now: Time) {
        if self.measured.is_at_edge(now) {
            self.measured.pass_edges(now, &self.all_totals());
        }
    }
}
