//! How the window comes down while it is being reduced: step by step, with what arrives.

use crate::prr::{Progress, Prr};
use crate::rate_halving::RateHalving;

/// A reduction under way, in one of the ways that a stack may have. All in segments.
#[derive(Clone, Copy, Debug)]
pub enum Reduction {
    /// As many segments leave as arrive, times the ratio of the windows.
    Proportional(Prr),
    /// One segment leaves for every second acknowledgement.
    Halving(RateHalving),
}

impl Reduction {
    /// The present window.
    pub fn cwnd(&self) -> u64 {
        match self {
            Reduction::Proportional(prr) => prr.cwnd(),
            Reduction::Halving(halving) => halving.cwnd(),
        }
    }

    /// A segment left.
    pub fn sent(&mut self) {
        match self {
            Reduction::Proportional(prr) => prr.sent(),
            Reduction::Halving(_) => {}
        }
    }

    /// An acknowledgement arrived; `says_something` unless it repeats what was known.
    pub fn acknowledged(&mut self, progress: Progress, says_something: bool) {
        match self {
            Reduction::Proportional(prr) => prr.acknowledged(progress),
            Reduction::Halving(halving) if says_something => {
                halving.acknowledged(progress.in_flight);
            }
            Reduction::Halving(_) => {}
        }
    }

    /// The window at which the episode ends.
    pub fn end(&self) -> u64 {
        match self {
            Reduction::Proportional(prr) => prr.target(),
            Reduction::Halving(halving) => halving.end(),
        }
    }
}
