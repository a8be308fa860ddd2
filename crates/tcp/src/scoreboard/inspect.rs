//! Counts for traces and samples.

use super::{LOST, RETRANSMITTED, SACKED, Scoreboard, Sent};
use crate::LossDetection;
use crate::sender::Outstanding;

impl Scoreboard {
    /// Counts of outstanding segments. Walks over all of them.
    pub fn outstanding(&self) -> Outstanding {
        let count = |is: fn(&Sent) -> bool| self.sent.iter().filter(|sent| is(sent)).count() as u64;
        Outstanding {
            segments: self.sent.len() as u64,
            sacked: count(|sent| sent.is(SACKED)) + self.duplicates,
            lost: count(|sent| sent.is(LOST) && !sent.is(SACKED)),
            retransmitted: count(|sent| sent.is(RETRANSMITTED) && !sent.is(SACKED)),
        }
    }

    /// Segments of reordering tolerated.
    pub fn reordering(&self) -> u32 {
        if self.detection == LossDetection::Rack { self.rack.reordering() } else { self.reordering }
    }
}
