//! Rate halving: while the window is being reduced, one segment leaves for every second
//! acknowledgement (M. Mathis, J. Semke and J. Mahdavi, "The rate-halving algorithm for TCP congestion
//! control", 1999).
//!
//! As Linux had it before 3.2 (2.6.27 `net/ipv4/tcp_input.c`, `tcp_cwnd_down`, `tcp_cwnd_min`,
//! `tcp_complete_cwr`, `tcp_moderate_cwnd`): the window itself falls, by one for every second
//! acknowledgement that says anything, and is never more than one above flight.

/// One episode, all in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateHalving {
    cwnd: u64,
    /// The window does not fall below this by counting.
    floor: u64,
    /// The window at which the episode ends, at the most.
    target: u64,
    /// Whether the next acknowledgement is the second.
    second: bool,
}

impl RateHalving {
    /// The window is to come down from `cwnd`, not below `floor` (`min_cwnd` of an algorithm, or the
    /// threshold), and to be `target` at the end.
    pub fn begin(cwnd: u64, floor: u64, target: u64) -> Self {
        RateHalving { cwnd, floor, target, second: false }
    }

    /// The present window.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// An acknowledgement said something; `in_flight` segments are in the network after it.
    pub fn acknowledged(&mut self, in_flight: u64) {
        if self.second && self.cwnd > self.floor {
            self.cwnd -= 1;
        }
        self.second = !self.second;
        self.allow_above(in_flight, 1);
    }

    /// No more than `margin` above what is in flight.
    pub fn allow_above(&mut self, in_flight: u64, margin: u64) {
        self.cwnd = self.cwnd.min(in_flight + margin);
    }

    /// The window at the end.
    pub fn end(&self) -> u64 {
        self.cwnd.min(self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 20 to 10, with 18 in flight at the third SACK (two left before by limited
    /// transmit, three have arrived and one is lost).
    #[test]
    fn one_segment_for_two_acknowledgements() {
        let mut window = RateHalving::begin(20, 10, 10);
        window.acknowledged(18);
        // min(20, 18 + 1): the retransmission leaves, 19 in flight.
        assert_eq!(window.cwnd(), 19);
        // SACKs that take flight to 18, 17 (one leaves: 18), 17, 16 (17), 16, …
        let flights = [18, 17, 17, 16, 16, 15];
        let windows = flights.map(|in_flight| {
            window.acknowledged(in_flight);
            window.cwnd()
        });
        assert_eq!(windows, [18, 18, 17, 17, 16, 16]);
    }

    #[test]
    fn it_stops_at_the_floor_and_ends_at_the_target() {
        let mut window = RateHalving::begin(12, 5, 10);
        (0..30).for_each(|_| window.acknowledged(12));
        // Seven for fourteen acknowledgements, and no more.
        assert_eq!((window.cwnd(), window.end()), (5, 5));
        let mut window = RateHalving::begin(20, 5, 10);
        (0..4).for_each(|_| window.acknowledged(20));
        assert_eq!((window.cwnd(), window.end()), (18, 10));
    }

    /// What is lost is not made up for: flight below the target stays where it is, a segment for a
    /// segment (PRR would raise it to the target).
    #[test]
    fn flight_below_the_target_is_only_kept() {
        let mut window = RateHalving::begin(40, 20, 20);
        for _ in 0..6 {
            window.acknowledged(4);
            assert_eq!(window.cwnd(), 5);
        }
    }
}
