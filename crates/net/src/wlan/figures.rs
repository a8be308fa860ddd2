//! What is counted in a cell.

use fairway_units::Duration;

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
