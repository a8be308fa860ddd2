//! Proportional rate reduction (RFC 6937): while the window is being reduced, segments are sent in
//! proportion to those delivered, by the ratio of the new window to the old one.
//!
//! As in Linux 6.1 (`net/ipv4/tcp_input.c`, `tcp_cwnd_reduction`): with flight below the new
//! window, one segment more than was delivered may be sent if SND.UNA advanced and no new loss was
//! found.

use fairway_cc::Phase;

use super::{Departure, Progress, RecoveryPolicy, Reduction};
use crate::Stack;
use crate::scoreboard::{AckSummary, Scoreboard};
use crate::sender::Sender;

/// Proportional rate reduction.
pub(crate) struct Prr {
    episode: Option<Episode>,
}

impl From<&Stack> for Prr {
    fn from(_: &Stack) -> Self {
        Prr { episode: None }
    }
}

impl RecoveryPolicy for Prr {
    fn reduced_window(&self) -> Option<u64> {
        self.episode.map(|episode| episode.cwnd)
    }

    fn is_calm(&self, _: &Sender) -> bool {
        self.episode.is_none()
    }

    fn reduce(&mut self, reduction: Reduction) {
        self.episode = Some(Episode::begin(reduction.prior, reduction.target));
    }

    fn sent(&mut self, _: &Scoreboard, _: Departure) {
        if let Some(episode) = &mut self.episode {
            episode.out += 1;
        }
    }

    fn advance(&mut self, progress: Progress) {
        if let Some(episode) = &mut self.episode {
            episode.acknowledged(progress);
        }
    }

    fn leave(&mut self, s: &mut Sender) -> u64 {
        self.episode.take().map_or(s.cc.cwnd(), |episode| episode.target * s.mss())
    }

    fn abandon(&mut self) {
        self.episode = None;
    }

    fn leaves_timeout(&self, _: &Sender, summary: &AckSummary) -> bool {
        // A retransmission was lost (`tcp_fastretrans_alert`).
        summary.lost_again
    }

    fn ends_episode(&self, s: &Sender, ack: u64) -> bool {
        ends_linux_episode(s, ack)
    }

    fn stays_in_recovery(&self) -> bool {
        // `tcp_fastretrans_alert` comes before `tcp_cong_control`, and nothing grows.
        true
    }

    fn has_further_losses(&self, board: &mut Scoreboard) -> bool {
        // Lost segments count even if already retransmitted (`tcp_time_to_recover`).
        board.has_losses()
    }

    fn timeout_lowers_threshold(&self, s: &Sender) -> bool {
        linux_timeout_lowers_threshold(s)
    }

    fn forces_head_after_timeout(&self) -> bool {
        true
    }
}

/// CWR must be acknowledged before the reduction ends (Linux 6.1 `tcp_fastretrans_alert`).
pub(super) fn ends_linux_episode(s: &Sender, ack: u64) -> bool {
    ack > s.recover || (ack == s.recover && s.phase != Phase::Cwr)
}

/// `tcp_enter_loss`: not if a reduction is in progress.
pub(super) fn linux_timeout_lowers_threshold(s: &Sender) -> bool {
    match s.phase {
        Phase::Open | Phase::Disorder => true,
        Phase::Loss if s.timeouts_in_row == 0 => true,
        Phase::Cwr | Phase::Recovery | Phase::Loss => s.board.una() >= s.recover,
    }
}

/// One episode, in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Episode {
    /// Window before the episode.
    prior_cwnd: u64,
    /// Window at the end.
    target: u64,
    /// Delivered since the episode began.
    delivered: u64,
    /// Sent since then, retransmissions included.
    out: u64,
    cwnd: u64,
}

impl Episode {
    /// Begin a reduction from `prior_cwnd` to `target`.
    fn begin(prior_cwnd: u64, target: u64) -> Self {
        Episode { prior_cwnd: prior_cwnd.max(1), target, delivered: 0, out: 0, cwnd: prior_cwnd }
    }

    /// Process an acknowledgement; without deliveries nothing changes.
    fn acknowledged(&mut self, progress: Progress) {
        let Progress { in_flight, delivered, advanced_without_loss, .. } = progress;
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
        // The first retransmission of an episode is always sent.
        self.cwnd = in_flight + send.max(u64::from(self.out == 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(prr: &mut Episode, in_flight: u64, delivered: u64, advanced: bool) -> u64 {
        prr.acknowledged(Progress {
            in_flight,
            delivered,
            advanced_without_loss: advanced,
            is_informative: true,
        });
        prr.cwnd
    }

    /// From 20 to 10 with one loss, as observed in a real kernel: limited transmit has sent two
    /// segments, and the third SACK begins the episode with 18 in flight.
    #[test]
    fn one_loss_of_twenty() {
        let mut prr = Episode::begin(20, 10);
        assert_eq!(arrive(&mut prr, 18, 1, false), 19);
        prr.out += 1;
        // One SACK more: ceil(10·2/20) − 1 = 0.
        assert_eq!(arrive(&mut prr, 18, 1, false), 18);
        // ceil(10·3/20) − 1 = 1.
        assert_eq!(arrive(&mut prr, 17, 1, false), 18);
        prr.out += 1;
        // Every second SACK releases one segment, so flight falls by one for two SACKs.
        assert_eq!(arrive(&mut prr, 17, 1, false), 17);
        assert_eq!(arrive(&mut prr, 16, 1, false), 17);
    }

    #[test]
    fn below_the_target_sending_follows_deliveries_and_one_more_without_new_loss() {
        let mut prr = Episode::begin(20, 10);
        // Most of the window is lost: nothing is in flight, and one segment must be sent.
        assert_eq!(arrive(&mut prr, 0, 1, false), 1);
        prr.out += 1;
        assert_eq!(arrive(&mut prr, 0, 1, true), 2);
        prr.out += 1;
        prr.out += 1;
        // Never above the target.
        assert_eq!(arrive(&mut prr, 9, 5, true), 10);
    }

    #[test]
    fn at_the_target_nothing_is_sent() {
        // RFC 6937 section 3: the proportional part, which would send ceil(10·10/20) − 1 = 4,
        // applies only to pipe > ssthresh. At ssthresh the limit is ssthresh − pipe = 0.
        let mut prr = Episode::begin(20, 10);
        assert_eq!(arrive(&mut prr, 18, 1, false), 19);
        prr.out += 1;
        assert_eq!(arrive(&mut prr, 10, 9, false), 10);
    }

    #[test]
    fn nothing_delivered_changes_nothing() {
        let mut prr = Episode::begin(20, 10);
        assert_eq!(arrive(&mut prr, 5, 0, false), 20);
    }
}
