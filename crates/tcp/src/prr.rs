//! Proportional rate reduction (RFC 6937): while the window is being reduced, as many segments leave
//! as arrive, times the ratio of the new window to the old one.
//!
//! As Linux 6.1 has it (`net/ipv4/tcp_input.c`, `tcp_cwnd_reduction`): with flight below the new
//! window, one segment more than arrived may leave if the acknowledgement advanced and nothing new
//! was found lost.

/// One episode, all in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prr {
    /// Window before the episode.
    prior_cwnd: u64,
    /// Window to arrive at.
    target: u64,
    /// Arrived since the episode began.
    delivered: u64,
    /// Sent since then, again or new.
    out: u64,
    cwnd: u64,
}

/// What one acknowledgement says.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// In the network now.
    pub in_flight: u64,
    /// Newly arrived.
    pub delivered: u64,
    /// Whether the first unacknowledged byte moved, and nothing was newly found lost.
    pub advanced_without_loss: bool,
}

impl Prr {
    /// The window is to come down from `prior_cwnd` to `target`.
    pub fn begin(prior_cwnd: u64, target: u64) -> Self {
        Prr { prior_cwnd: prior_cwnd.max(1), target, delivered: 0, out: 0, cwnd: prior_cwnd }
    }

    /// The window at which the episode ends.
    pub fn target(&self) -> u64 {
        self.target
    }

    /// The present window.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// A segment left.
    pub fn sent(&mut self) {
        self.out += 1;
    }

    /// An acknowledgement arrived; nothing changes if it delivered nothing.
    pub fn acknowledged(&mut self, progress: Progress) {
        let Progress { in_flight, delivered, advanced_without_loss } = progress;
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let send = if in_flight > self.target {
            let due = (self.target * self.delivered).div_ceil(self.prior_cwnd);
            due.saturating_sub(self.out)
        } else {
            let due = self.delivered.saturating_sub(self.out).max(delivered);
            (due + u64::from(advanced_without_loss)).min(self.target - in_flight)
        };
        // The first retransmission of an episode always leaves.
        self.cwnd = in_flight + send.max(u64::from(self.out == 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(prr: &mut Prr, in_flight: u64, delivered: u64, advanced: bool) -> u64 {
        prr.acknowledged(Progress { in_flight, delivered, advanced_without_loss: advanced });
        prr.cwnd()
    }

    /// A window of 20 to 10 with one loss, as a real kernel was seen to do it: two segments were
    /// sent before by limited transmit, and the third SACK begins the episode with 18 in flight.
    #[test]
    fn one_loss_of_twenty() {
        let mut prr = Prr::begin(20, 10);
        assert_eq!(arrive(&mut prr, 18, 1, false), 19);
        prr.sent();
        // One SACK more: ceil(10·2/20) − 1 = 0.
        assert_eq!(arrive(&mut prr, 18, 1, false), 18);
        // ceil(10·3/20) − 1 = 1.
        assert_eq!(arrive(&mut prr, 17, 1, false), 18);
        prr.sent();
        // Every second SACK lets one leave, so flight falls by one for two.
        assert_eq!(arrive(&mut prr, 17, 1, false), 17);
        assert_eq!(arrive(&mut prr, 16, 1, false), 17);
    }

    #[test]
    fn below_the_target_as_many_leave_as_arrive_and_one_more_if_all_goes_well() {
        let mut prr = Prr::begin(20, 10);
        // Most of the window is lost: nothing in flight, and one must leave.
        assert_eq!(arrive(&mut prr, 0, 1, false), 1);
        prr.sent();
        assert_eq!(arrive(&mut prr, 0, 1, true), 2);
        prr.sent();
        prr.sent();
        // Never above the target.
        assert_eq!(arrive(&mut prr, 9, 5, true), 10);
    }

    #[test]
    fn at_the_target_nothing_more_leaves() {
        // RFC 6937 section 3: the proportional part is for pipe > ssthresh alone, which would let
        // ceil(10·10/20) − 1 = 4 leave. At ssthresh the limit is ssthresh − pipe = 0.
        let mut prr = Prr::begin(20, 10);
        assert_eq!(arrive(&mut prr, 18, 1, false), 19);
        prr.sent();
        assert_eq!(arrive(&mut prr, 10, 9, false), 10);
    }

    #[test]
    fn nothing_delivered_changes_nothing() {
        let mut prr = Prr::begin(20, 10);
        assert_eq!(arrive(&mut prr, 5, 0, false), 20);
    }
}
