//! What is counted in a cell.

use fairway_units::{Duration, Time};

use crate::Window;

/// Counters of the access point or of a station. Every packet offered is delivered, dropped, lost
/// or waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeTotals {
    /// Packets that it was given to send.
    pub offered: u64,
    /// Packets that its queue dropped.
    pub dropped: u64,
    /// Packets that it gave up after too many retries, and that had not been received.
    pub lost: u64,
    /// Packets of its own that have been received.
    pub delivered: u64,
    /// Times that it won the medium and began to transmit, alone or not.
    pub accesses: u64,
    /// Accesses in which others transmitted too.
    pub collisions: u64,
    /// Accesses that failed because a frame could not be read.
    pub errors: u64,
    /// Frames that it gave up, received or not.
    pub given_up: u64,
    /// Frames that were received once more, because an acknowledgement was not.
    pub duplicates: u64,
}

impl NodeTotals {
    /// What was counted after `earlier`.
    fn since(&self, earlier: &NodeTotals) -> NodeTotals {
        NodeTotals {
            offered: self.offered - earlier.offered,
            dropped: self.dropped - earlier.dropped,
            lost: self.lost - earlier.lost,
            delivered: self.delivered - earlier.delivered,
            accesses: self.accesses - earlier.accesses,
            collisions: self.collisions - earlier.collisions,
            errors: self.errors - earlier.errors,
            given_up: self.given_up - earlier.given_up,
            duplicates: self.duplicates - earlier.duplicates,
        }
    }
}

/// Counters of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellTotals {
    /// Time from the beginning of accesses to the ends of their exchanges.
    pub busy: Duration,
    /// The part of it in which several stations transmitted.
    pub collided: Duration,
    /// Accesses of one station or several.
    pub accesses: u64,
    /// Accesses of several.
    pub collisions: u64,
}

/// A cell over the measuring window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellFigures {
    /// Time from the beginning of accesses to the ends of their exchanges.
    pub busy: Duration,
    /// The part of it in which several stations transmitted.
    pub collided: Duration,
    /// Counters of the access point, and then of each station.
    pub nodes: Vec<NodeTotals>,
}

/// What is known about the measuring window.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    window: Window,
    /// The edge of the window that comes next.
    next_edge: Time,
    /// Counters of the nodes at its edges, as far as it has come to them.
    at_edges: Vec<Vec<NodeTotals>>,
    busy_nanos: u64,
    collided_nanos: u64,
}

impl Measured {
    pub(super) fn new(window: Window) -> Self {
        Measured {
            window,
            next_edge: window.from,
            at_edges: Vec::new(),
            busy_nanos: 0,
            collided_nanos: 0,
        }
    }

    /// Something will change `now`: whether an edge of the window has passed, so that
    /// [`Self::pass_edges`] has to know how things were.
    pub(super) fn is_at_edge(&self, now: Time) -> bool {
        now >= self.next_edge
    }

    pub(super) fn pass_edges(&mut self, now: Time, nodes: &[NodeTotals]) {
        while now >= self.next_edge && self.at_edges.len() < 2 {
            self.at_edges.push(nodes.to_vec());
            self.next_edge = if self.at_edges.len() == 1 { self.window.to } else { Time::NEVER };
        }
    }

    /// An access and what followed it, from `began` to `ended`.
    pub(super) fn exchange(&mut self, began: Time, ended: Time, collided: bool) {
        let nanos = self.window.overlap(began, ended);
        self.busy_nanos += nanos;
        self.collided_nanos += if collided { nanos } else { 0 };
    }

    /// The figures, where the counters are `now` what they are.
    pub(super) fn figures(&self, now: &[NodeTotals]) -> CellFigures {
        let none = vec![NodeTotals::default(); now.len()];
        let nodes = match &self.at_edges[..] {
            [] => none,
            [from] => now.iter().zip(from).map(|(to, from)| to.since(from)).collect(),
            [from, to, ..] => to.iter().zip(from).map(|(to, from)| to.since(from)).collect(),
        };
        CellFigures {
            busy: Duration::from_nanos(self.busy_nanos),
            collided: Duration::from_nanos(self.collided_nanos),
            nodes,
        }
    }
}
