//! Throughput laws: the mean window and rate of one stream, or how streams share, in closed form or by a
//! few steps of Newton's.
//!
//! Each law is a structure of its parameters, with the unit in the name of each; [`Law::evaluate`] checks
//! them, and answers with its results and whether its range is left. [`LAWS`] lists all of them.
//!
//! Windows, buffers and capacities count packets of one size. `loss` is the probability that a packet is
//! lost, by itself unless a law says otherwise. `packets_per_ack` is 1 where the window grows by packets
//! that are acknowledged, as in Linux, even if acknowledgements are delayed.

mod aimd;
mod bbr;
mod bic;
mod bic_linux;
mod cardwell;
mod columns;
mod cubic;
mod dctcp;
mod delay;
mod ethernet;
mod highspeed;
mod htcp;
mod hybla;
mod ledbat;
mod pftk;
mod quantity;
mod scalable;
mod westwood;

use crate::answer::Answer;
use crate::constants;
use crate::error::Error;

pub use aimd::{Aimd, Mathis, aimd_loss, aimd_window, mathis_window};
pub use bbr::{BbrShare, BbrShares};
pub use bic::{Bic, BicEpoch, BicLarge, BicSmall};
pub use bic_linux::BicLinux;
pub use cardwell::{Cardwell, Latency};
pub use columns::{Columns, Refused};
pub use cubic::{Cubic, CubicRegions, cubic_loss, cubic_window};
pub use dctcp::{Dctcp, DctcpMarks, DctcpSawtooth};
pub use delay::{Balance, Fast, Joined, LateJoiner, Vegas};
pub use ethernet::{Ceiling, TcpCeiling, Udp};
pub use highspeed::{
    HighSpeed, HighSpeedPoint, highspeed_increase, highspeed_loss, highspeed_reduction,
    highspeed_window,
};
pub use htcp::{Htcp, HtcpEpoch, htcp_epoch, htcp_loss};
pub use hybla::{Hybla, HyblaGrowth, HyblaMean, HyblaPoint};
pub use ledbat::{Ledbat, LedbatBalance};
pub use pftk::{Pftk, PftkRates, pftk_loss};
pub use quantity::{Kind, Parameter, Parameters, Quantities, Quantity};
pub use scalable::{
    Scalable, ScalableLinux, ScalableMean, scalable_linux_loss, scalable_linux_window,
    scalable_mean_field_window,
};
pub use westwood::{RenoBalance, WestwoodPath, WestwoodPlus};

/// Why laws without timeouts do not hold.
pub(crate) const MUCH_LOSS: &str = "loss above 2 %: timeouts, which the law leaves out, count";

/// That reason, at a loss of more than 2 %.
fn without_timeouts(loss: f64) -> Option<&'static str> {
    (loss > constants::MUCH_LOSS).then_some(MUCH_LOSS)
}

/// A throughput law; its fields are its parameters.
pub trait Law: Parameters {
    /// Its short name, as commands have it.
    const NAME: &'static str;
    /// Its result, in a line.
    const TITLE: &'static str;
    /// Its equation, in a line.
    const EQUATION: &'static str;
    /// Where it holds.
    const RANGE: &'static str;
    /// Its source.
    const SOURCE: &'static str;
    /// Its results.
    type Value: Quantities;

    /// Evaluates the law for valid parameters.
    fn answer(&self) -> Answer<Self::Value>;

    /// Checks the parameters together.
    ///
    /// # Errors
    /// [`Error`] of the first that is refused.
    fn consistent(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Checks the parameters and evaluates the law.
    ///
    /// # Errors
    /// [`Error`] of the first parameter that is refused.
    fn evaluate(&self) -> Result<Answer<Self::Value>, Error> {
        self.check()?;
        self.consistent()?;
        Ok(self.answer())
    }
}

quantity::quantities! {
    /// Results of most laws.
    Mean {
        /// Mean congestion window.
        window_packets,
        /// Mean rate.
        rate_pps,
    }
}

impl Mean {
    fn of(window_packets: f64, rtt_s: f64) -> Self {
        Self { window_packets, rate_pps: window_packets / rtt_s }
    }
}

/// A law in the list of laws.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its short name.
    pub name: &'static str,
    /// Its result, in a line.
    pub title: &'static str,
    /// Its equation, in a line.
    pub equation: &'static str,
    /// Where it holds.
    pub range: &'static str,
    /// Its source.
    pub source: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Its results.
    pub results: &'static [Quantity],
    columns: fn(&[&[f64]], usize) -> Result<Columns, Refused>,
}

impl Entry {
    /// The law of that name.
    pub fn named(name: &str) -> Option<&'static Entry> {
        LAWS.iter().find(|law| law.name == name)
    }

    /// Evaluates it at many points: each of `given` has one number, which is the same for all of them, or
    /// as many as there are points.
    ///
    /// # Errors
    /// [`Refused`] names the first invalid point.
    ///
    /// # Panics
    /// If there is not one column for each parameter, or one has another length.
    pub fn evaluate(&self, given: &[&[f64]], points: usize) -> Result<Columns, Refused> {
        (self.columns)(given, points)
    }
}

const fn entry<L: Law>() -> Entry {
    Entry {
        name: L::NAME,
        title: L::TITLE,
        equation: L::EQUATION,
        range: L::RANGE,
        source: L::SOURCE,
        parameters: L::PARAMETERS,
        results: <L::Value as Quantities>::QUANTITIES,
        columns: columns::evaluate::<L>,
    }
}

/// All laws.
pub static LAWS: [Entry; 27] = [
    entry::<Mathis>(),
    entry::<Aimd>(),
    entry::<Pftk>(),
    entry::<Cardwell>(),
    entry::<RenoBalance>(),
    entry::<WestwoodPlus>(),
    entry::<WestwoodPath>(),
    entry::<Bic>(),
    entry::<BicLarge>(),
    entry::<BicSmall>(),
    entry::<BicLinux>(),
    entry::<Scalable>(),
    entry::<ScalableLinux>(),
    entry::<HighSpeed>(),
    entry::<Cubic>(),
    entry::<Htcp>(),
    entry::<Hybla>(),
    entry::<HyblaGrowth>(),
    entry::<Vegas>(),
    entry::<Fast>(),
    entry::<LateJoiner>(),
    entry::<Ledbat>(),
    entry::<BbrShare>(),
    entry::<Dctcp>(),
    entry::<DctcpMarks>(),
    entry::<Udp>(),
    entry::<TcpCeiling>(),
];

#[cfg(test)]
mod tests;
