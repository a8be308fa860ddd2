//! Both ends of a datagram flow: when its packets leave, and what becomes of them as their receiver
//! sees it. The simulator and the guest of a kernel have these in common.

mod receiver;
mod schedule;

use fairway_units::{Duration, Rate};

pub use receiver::{Arrival, Receiver};
pub use schedule::Schedule;

/// IPv4 header without options (RFC 791) and UDP header (RFC 768), bytes.
pub const UDP_HEADERS: u32 = 20 + 8;

/// When the packets of a datagram flow leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// At a constant rate.
    Constant,
    /// At a rate that is drawn anew, from a log-normal distribution.
    Variable {
        /// Standard deviation of the rate.
        deviation: Rate,
        /// How long a rate holds.
        period: Duration,
    },
    /// After gaps that are exponentially distributed.
    Poisson,
    /// At a constant rate in some periods, and not at all between them.
    OnOff {
        /// Mean length of the periods with packets.
        on: Duration,
        /// Mean length of those without.
        off: Duration,
        /// How both are distributed.
        periods: Periods,
    },
}

/// Distribution of the lengths of periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Periods {
    /// Exponential.
    Exponential,
    /// Pareto.
    Pareto {
        /// Its shape, above 1.
        shape: f64,
    },
}

impl Pattern {
    /// Its name as a kind of traffic.
    pub fn name(&self) -> &'static str {
        match self {
            Pattern::Constant => "cbr",
            Pattern::Variable { .. } => "vbr",
            Pattern::Poisson => "poisson",
            Pattern::OnOff { .. } => "onoff",
        }
    }
}
