//! The one timer of the sending half.

use fairway_units::{Duration, Time};

use crate::TimerWheel;

/// What happens when the timer expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiry {
    /// Everything is lost (RFC 6298).
    Retransmit,
    /// The tail may be lost: something is sent to find out (RFC 8985 section 7).
    Probe,
    /// What is still missing was not reordered but lost (RFC 8985 section 6.2 step 5).
    Reordering,
    /// The peer is asked for a window (RFC 9293 section 3.8.6.1).
    Window,
}

/// A timer that one purpose has at a time.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    expiry: Expiry,
    at: Time,
    wheel: TimerWheel,
}

impl Timer {
    /// Not running.
    pub fn new(wheel: TimerWheel) -> Self {
        Timer { expiry: Expiry::Retransmit, at: Time::NEVER, wheel }
    }

    /// When it expires.
    pub fn at(&self) -> Time {
        self.at
    }

    /// What it is for, if it is running.
    pub fn purpose(&self) -> Option<Expiry> {
        (self.at < Time::NEVER).then_some(self.expiry)
    }

    /// Not running any more.
    pub fn stop(&mut self) {
        self.at = Time::NEVER;
    }

    /// Expire `delay` from now.
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
