//! Counters and figures of a cell.

use fairway_units::{Duration, Time};

use crate::Window;

/// Counters of the access point or of a station. Every packet offered is delivered, dropped, lost
/// or waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeTotals {
    /// Packets offered.
    pub offered: u64,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Packets given up after too many retries, and not received.
    pub lost: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Accesses to the medium, with or without collision.
    pub accesses: u64,
    /// Accesses in which others transmitted too.
    pub collisions: u64,
    /// Accesses that failed because a frame could not be read.
    pub errors: u64,
    /// Frames given up, received or not.
    pub given_up: u64,
    /// Duplicate frames received, after a lost acknowledgement.
    pub duplicates: u64,
}

impl NodeTotals {
    /// The difference from `earlier`.
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

/// State of the measuring window.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    window: Window,
    /// The next edge of the window.
    next_edge: Time,
    /// Counters of the nodes at the edges passed so far.
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

    /// Whether an edge of the window has passed, so that [`Self::pass_edges`] must be called before a
    /// change `now`.
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

    /// The figures, with the present counters.
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
