//! The single timer of the sending half.

use fairway_units::{Duration, Time};

use crate::TimerWheel;

/// Purpose of the timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// Retransmission timeout (RFC 6298).
    Retransmit,
    /// Tail loss probe (RFC 8985 section 7).
    Probe,
    /// End of the reordering window (RFC 8985 section 6.2 step 5).
    Reordering,
    /// Zero-window probe (RFC 9293 section 3.8.6.1).
    Window,
}

/// A timer with one purpose at a time.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    expiry: Expiry,
    at: Time,
    wheel: TimerWheel,
}

impl Timer {
    /// A stopped timer.
    pub fn new(wheel: TimerWheel) -> Self {
        Timer { expiry: Expiry::Retransmit, at: Time::NEVER, wheel }
    }

    /// When it expires.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Its purpose, if it is running.
    pub fn purpose(&self) -> Option<Expiry> {
        (self.at < Time::NEVER).then_some(self.expiry)
    }

    /// Stop the timer.
    pub fn stop(&mut self) {
        self.at = Time::NEVER;
    }

    /// Expire `delay` from now.
    #[inline(always)]
    pub fn start(&mut self, expiry: Expiry, delay: Duration, now: Time) {
        self.expiry = expiry;
        self.at = self.wheel.expiry(now, delay);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_one_purpose_at_a_time() {
        let mut timer = Timer::new(TimerWheel::Exact);
        assert_eq!((timer.at(), timer.purpose()), (Time::NEVER, None));
        timer.start(Expiry::Probe, Duration::from_nanos(5), Time::from_nanos(7));
        assert_eq!((timer.at().as_nanos(), timer.purpose()), (12, Some(Expiry::Probe)));
        timer.start(Expiry::Retransmit, Duration::from_nanos(2), Time::from_nanos(7));
        assert_eq!((timer.at().as_nanos(), timer.purpose()), (9, Some(Expiry::Retransmit)));
        timer.stop();
        assert_eq!(timer.purpose(), None);
    }
}
