//! What tests may see of the sending half beside its windows.

use fairway_units::Duration;

use super::Sender;

/// Segments that are outstanding, as Linux's `struct tcp_info` counts them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outstanding {
    /// Not acknowledged cumulatively.
    pub segments: u64,
    /// Of them, those that have arrived: SACKed, or as many as duplicates tell.
    pub sacked: u64,
    /// Of them, those that are marked lost, resent or not.
    pub lost: u64,
    /// Of them, those of which a retransmission is on its way.
    pub retransmitted: u64,
}

impl Sender {
    /// What is outstanding. Walks over all of it.
    pub fn outstanding(&self) -> Outstanding {
        self.board.outstanding()
    }

    /// Smallest round-trip time.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.rtt.min_rtt()
    }

    /// Timeouts since anything was acknowledged.
    pub fn timeouts_in_row(&self) -> u32 {
        self.timeouts_in_row
    }

    /// Segments of reordering that are tolerated.
    pub fn reordering(&self) -> u32 {
        self.board.reordering()
    }
}
