//! How fast a line is, over time.

mod modulated;
mod trace;
mod varying;

use std::fmt::Debug;

use fairway_units::random::Stream;
use fairway_units::{Rate, Time};

pub use modulated::{Holding, MarkovRate, OnOff, RateState};
pub use trace::{DeliveryTrace, OPPORTUNITY_BYTES};

use crate::{Schedule, Serialiser};
use trace::TraceLine;
use varying::Varying;

/// The rate of a line. It may change at any time, but never depends on what is sent.
pub trait RateModel: Debug + Send {
    /// When the transmission of `bytes` ends that begins at `start`, which is never before the end
    /// of the one before; [`Time::NEVER`] if the line never comes up again.
    fn transmit(&mut self, bytes: u32, start: Time) -> Time;

    /// Whether the transmission that was asked about last is cut off at the time that was
    /// returned: the line changes so that the packet on it is lost.
    fn cuts(&self) -> bool {
        false
    }

    /// Nothing waits at `now`, where the transmission before has ended: what the line could still
    /// carry at this very instant is gone.
    fn rest(&mut self, _now: Time) {}
}

/// A constant rate.
impl RateModel for Serialiser {
    fn transmit(&mut self, bytes: u32, start: Time) -> Time {
        start + Serialiser::transmit(self, bytes)
    }
}

/// What the rate of a line is.
#[derive(Clone, Debug, PartialEq)]
pub enum RateConfig {
    /// Always the same.
    Constant(Rate),
    /// Changing at given times; the delays beside the rates are [`crate::Propagation`]'s.
    Schedule(Schedule),
    /// On and off by turns.
    OnOff(OnOff),
    /// By the state of a Markov chain.
    Markov(MarkovRate),
    /// By a packet-delivery trace of Mahimahi.
    Trace(DeliveryTrace),
}

impl RateConfig {
    /// What is wrong with it, if anything: key, what was expected, what was found, what to do.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), String> {
        match self {
            RateConfig::Constant(_) | RateConfig::Trace(_) => Ok(()),
            RateConfig::Schedule(schedule) => schedule.check(),
            RateConfig::OnOff(on_off) => on_off.check(),
            RateConfig::Markov(markov) => markov.check(),
        }
    }

    /// The line, if [`RateConfig::check`] has found nothing wrong. `seed` and `name` fix its random
    /// stream.
    pub fn model(&self, seed: u64, name: &str) -> Box<dyn RateModel> {
        let stream = || Stream::new(seed, &format!("{name}/rate"));
        match self {
            RateConfig::Constant(rate) => Box::new(Serialiser::new(*rate)),
            RateConfig::Schedule(schedule) => Box::new(Varying::new(schedule.rates())),
            RateConfig::OnOff(on_off) => Box::new(Varying::new(on_off.pieces(stream()))),
            RateConfig::Markov(markov) => Box::new(Varying::new(markov.pieces(stream()))),
            RateConfig::Trace(trace) => Box::new(TraceLine::new(trace.clone())),
        }
    }
}
