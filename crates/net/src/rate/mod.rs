//! How fast a line is, over time.

use std::fmt::Debug;

use fairway_units::Time;

use crate::Serialiser;

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
