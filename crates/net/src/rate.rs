//! How fast a line is, over time.

use std::fmt::Debug;

use fairway_units::Time;

use crate::Serialiser;

/// The rate of a line. It may change at any time, but never depends on what is sent.
pub trait RateModel: Debug + Send {
    /// When the transmission of `bytes` ends that begins at `start`, which is never before the end
    /// of the one before; [`Time::NEVER`] if the line never comes up again.
    fn transmit(&mut self, bytes: u32, start: Time) -> Time;
}

/// A constant rate.
impl RateModel for Serialiser {
    fn transmit(&mut self, bytes: u32, start: Time) -> Time {
        start + Serialiser::transmit(self, bytes)
    }
}
