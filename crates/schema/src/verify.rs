//! The verifier: the accounting of a run, kept apart from the code they check.

use std::collections::VecDeque;
use std::ops::AddAssign;

use fairway_units::Time;

/// A law that a run broke.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the run is not reported because it broke a law of the simulator at {at}: {what}. This is a \
     fault of Fairway, not of the experiment: please report it with the experiment file and the seed"
)]
pub struct Violation {
    /// Time of the first offending event.
    pub at: Time,
    /// What was expected and what was found.
    pub what: String,
}

impl Violation {
    /// A violation at `at`.
    pub fn new(at: Time, what: impl Into<String>) -> Self {
        Violation { at, what: what.into() }
    }
}

/// Packets of one flow, both directions together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowBalance {
    /// Sent by either end.
    pub sent: u64,
    /// Copies made by links that double packets.
    pub copied: u64,
    /// Delivered to either end.
    pub delivered: u64,
    /// Dropped by queues.
    pub dropped: u64,
    /// Lost by links.
    pub lost: u64,
    /// Thrown away by either end because a link had damaged them.
    pub corrupted: u64,
}

impl AddAssign for FlowBalance {
    fn add_assign(&mut self, other: FlowBalance) {
        self.sent += other.sent;
        self.copied += other.copied;
        self.delivered += other.delivered;
        self.dropped += other.dropped;
        self.lost += other.lost;
        self.corrupted += other.corrupted;
    }
}

impl FlowBalance {
    /// Check that what was sent is accounted for; `inside` packets are still in the network.
    ///
    /// # Errors
    /// A [`Violation`] with the figures if not.
    pub fn balance(&self, id: &str, inside: u64, at: Time) -> Result<(), Violation> {
        let known = self.delivered + self.dropped + self.lost + self.corrupted + inside;
        if self.sent + self.copied == known {
            return Ok(());
        }
        Err(Violation::new(
            at,
            format!(
                "flow {id} sent {} packets and links copied {}, but {} delivered + {} dropped + {} \
                 lost + {} damaged + {inside} in flight is {known}",
                self.sent, self.copied, self.delivered, self.dropped, self.lost, self.corrupted,
            ),
        ))
    }
}

/// Packets of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkBalance {
    /// Offered to it.
    pub offered: u64,
    /// Copies of packets that it made itself.
    pub copies: u64,
    /// Handed on.
    pub delivered: u64,
    /// Dropped by its queue.
    pub dropped: u64,
    /// Lost on the wire.
    pub lost: u64,
    /// Still inside.
    pub inside: u64,
}

impl LinkBalance {
    /// Check that what was offered is accounted for.
    ///
    /// # Errors
    /// A [`Violation`] with the figures if not.
    pub fn balance(&self, id: &str, at: Time) -> Result<(), Violation> {
        if self.offered + self.copies == self.delivered + self.dropped + self.lost + self.inside {
            return Ok(());
        }
        Err(Violation::new(at, format!("link {id} does not balance: {self:?}")))
    }
}

/// One direction of a connection's data, followed packet by packet: what may be sent, and what
/// the application must have received.
#[derive(Clone, Debug, Default)]
pub struct StreamCheck {
    /// End of what was ever sent.
    sent_end: u64,
    /// End of what the receiver's windows have allowed.
    allowed_end: u64,
    /// End of the prefix that has arrived.
    arrived: u64,
    /// What arrived beyond it, start and end, ascending; neighbours may touch or overlap.
    beyond: VecDeque<(u64, u64)>,
    /// Episodes of congestion in which a retransmission went beyond the congestion window.
    exceeded: u64,
}

/// What a sender's state allows when a segment leaves it.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Bytes in flight that the congestion window allows.
    pub flight: u64,
    /// Episodes of congestion so far: the first retransmission of each may leave whatever is in
    /// flight (RFC 6675 step 4.3).
    pub episodes: u64,
    /// A full segment: one may always be in flight.
    pub mss: u64,
}

impl StreamCheck {
    /// The receiver allowed data up to `end`.
    pub fn allow(&mut self, end: u64) {
        self.allowed_end = self.allowed_end.max(end);
    }

    /// `start`..`end` leaves the sender, with `pipe` bytes in flight then.
    ///
    /// # Errors
    /// A [`Violation`] if the peer's window or the congestion window did not allow it, or if
    /// the data leaves a gap behind what was sent before.
    #[inline]
    pub fn send(
        &mut self,
        start: u64,
        end: u64,
        pipe: u64,
        allowance: Allowance,
        at: Time,
    ) -> Result<(), Violation> {
        if start > self.sent_end {
            return Err(Violation::new(
                at,
                format!("data from offset {start} was sent, but nothing from {}", self.sent_end),
            ));
        }
        if end > self.allowed_end {
            return Err(Violation::new(
                at,
                format!("data up to {end} was sent, the receiver allows {}", self.allowed_end),
            ));
        }
        let allowed = allowance.flight.max(allowance.mss);
        if pipe > allowed {
            let retransmission = end <= self.sent_end;
            if !retransmission || self.exceeded >= allowance.episodes {
                let what =
                    format!("{pipe} bytes in flight, the congestion window allows {allowed}");
                return Err(Violation::new(at, what));
            }
            self.exceeded = allowance.episodes;
        }
        self.sent_end = self.sent_end.max(end);
        Ok(())
    }

    /// Data up to `end` left a sender whose departures are checked elsewhere.
    pub fn sent_elsewhere(&mut self, end: u64) {
        self.sent_end = self.sent_end.max(end);
    }

    /// `start`..`end` reached the receiving host.
    ///
    /// # Errors
    /// A [`Violation`] if that was never sent.
    #[inline]
    pub fn arrive(&mut self, start: u64, end: u64, at: Time) -> Result<(), Violation> {
        if end > self.sent_end {
            return Err(Violation::new(
                at,
                format!("data up to {end} arrived, only {} was sent", self.sent_end),
            ));
        }
        if start > self.arrived {
            self.arrive_beyond(start, end);
            return Ok(());
        }
        self.arrived = self.arrived.max(end);
        while let Some((start, end)) = self.beyond.front().copied() {
            if start > self.arrived {
                break;
            }
            self.arrived = self.arrived.max(end);
            self.beyond.pop_front();
        }
        Ok(())
    }

    fn arrive_beyond(&mut self, start: u64, end: u64) {
        match self.beyond.back_mut() {
            // Nearly always the data arrives right behind what arrived before.
            Some(last) if last.1 == start => last.1 = end,
            Some(last) if last.0 >= start => {
                let at = self.beyond.partition_point(|range| *range < (start, end));
                self.beyond.insert(at, (start, end));
            }
            _ => self.beyond.push_back((start, end)),
        }
    }

    /// The application has now received `delivered` bytes: exactly the prefix that arrived.
    ///
    /// # Errors
    /// A [`Violation`] if it received more or less.
    pub fn delivered(&self, delivered: u64, at: Time) -> Result<(), Violation> {
        if delivered == self.arrived {
            return Ok(());
        }
        Err(Violation::new(
            at,
            format!(
                "the application received {delivered} bytes, {} have arrived in order",
                self.arrived
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Time = Time::ZERO;

    fn open(allowed: u64) -> StreamCheck {
        let mut s = StreamCheck::default();
        s.allow(allowed);
        s
    }

    fn flight(flight: u64) -> Allowance {
        Allowance { flight, episodes: 0, mss: 1000 }
    }

    #[test]
    fn windows_are_held() {
        let mut s = open(3000);
        assert_eq!(s.send(0, 1000, 1000, flight(0), T), Ok(()));
        let what = |result: Result<(), Violation>| result.unwrap_err().what;
        assert!(what(s.send(1000, 2000, 2000, flight(1999), T)).contains("congestion window"));
        assert!(what(s.send(2000, 3000, 0, flight(9), T)).contains("nothing from 1000"));
        assert!(what(s.send(1000, 3001, 0, flight(9), T)).contains("receiver allows 3000"));
    }

    #[test]
    fn one_retransmission_an_episode_may_exceed_the_window() {
        let mut s = open(9000);
        s.send(0, 5000, 5000, flight(5000), T).unwrap();
        let halved = Allowance { flight: 2500, episodes: 1, mss: 1000 };
        assert_eq!(s.send(0, 1000, 5000, halved, T), Ok(()));
        assert!(s.send(1000, 2000, 5000, halved, T).is_err());
        assert_eq!(s.send(1000, 2000, 5000, Allowance { episodes: 2, ..halved }, T), Ok(()));
        assert!(s.send(5000, 6000, 5000, Allowance { episodes: 3, ..halved }, T).is_err());
    }

    #[test]
    fn delivery_is_the_prefix_that_arrived() {
        let mut s = open(9000);
        s.send(0, 4000, 0, flight(0), T).unwrap();
        s.arrive(1000, 2000, T).unwrap();
        assert_eq!(s.delivered(0, T), Ok(()));
        assert!(s.delivered(2000, T).is_err());
        s.arrive(0, 1000, T).unwrap();
        s.arrive(0, 1000, T).unwrap();
        assert_eq!(s.delivered(2000, T), Ok(()));
        assert!(s.arrive(3000, 4001, T).unwrap_err().what.contains("only 4000 was sent"));
    }

    #[test]
    fn arrivals_in_any_order_make_one_prefix() {
        let mut s = open(9000);
        s.send(0, 9000, 0, flight(0), T).unwrap();
        for start in [7000, 3000, 4000, 1000, 5000, 1000, 8000] {
            s.arrive(start, start + 1000, T).unwrap();
        }
        assert_eq!(s.delivered(0, T), Ok(()));
        s.arrive(0, 1500, T).unwrap();
        assert_eq!(s.delivered(2000, T), Ok(()));
        s.arrive(1500, 3500, T).unwrap();
        assert_eq!(s.delivered(6000, T), Ok(()));
        s.arrive(6000, 7000, T).unwrap();
        assert_eq!(s.delivered(9000, T), Ok(()));
    }

    #[test]
    fn an_imbalance_says_by_how_much() {
        let flow =
            FlowBalance { sent: 9, copied: 2, delivered: 6, dropped: 2, lost: 1, corrupted: 1 };
        assert_eq!(flow.balance("x", 1, T), Ok(()));
        assert!(flow.balance("x", 0, T).unwrap_err().what.contains("is 10"));
        let link =
            LinkBalance { offered: 4, copies: 1, delivered: 3, dropped: 1, lost: 0, inside: 1 };
        assert_eq!(link.balance("l", T), Ok(()));
        assert!(LinkBalance { inside: 0, ..link }.balance("l", T).is_err());
    }
}
