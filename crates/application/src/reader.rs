//! A receiving application that does not take everything at once.

use fairway_units::{Bytes, Time};

use fairway_spec::Reading;

/// When the application reads, and how much of what has arrived.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    how: Reading,
    /// Whether its next read is scheduled.
    is_waiting: bool,
    /// Until when it pauses.
    pauses_until: Time,
}

impl Reader {
    /// One that has read nothing yet.
    pub fn new(how: Reading) -> Self {
        Reader { how, is_waiting: false, pauses_until: Time::ZERO }
    }

    /// When it reads next, if that is to be scheduled, with `unread` bytes there.
    pub fn schedule(&mut self, unread: u64, mss: u32, now: Time) -> Option<Time> {
        if self.is_waiting || unread == 0 {
            return None;
        }
        self.is_waiting = true;
        Some(match self.how {
            Reading::AtRate(rate) => now + rate.time_for(u64::from(mss).min(unread)),
            Reading::Pausing { .. } => now.max(self.pauses_until),
        })
    }

    /// It reads now: returns the most that it takes.
    pub fn read(&mut self, mss: u32, now: Time) -> u64 {
        self.is_waiting = false;
        match self.how {
            Reading::AtRate(_) => u64::from(mss),
            Reading::Pausing { size, interval } => {
                self.pauses_until = now + interval;
                size.map_or(u64::MAX, Bytes::get)
            }
        }
    }
}
