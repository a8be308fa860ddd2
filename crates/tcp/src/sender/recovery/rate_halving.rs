//! Rate halving: while the window is being reduced, one segment is sent for every second
//! acknowledgement (M. Mathis, J. Semke and J. Mahdavi, "The rate-halving algorithm for TCP
//! congestion control", 1999).
//!
//! As in Linux before 3.2 (2.6.27 `net/ipv4/tcp_input.c`, `tcp_cwnd_down`, `tcp_cwnd_min`,
//! `tcp_complete_cwr`, `tcp_moderate_cwnd`): the window itself falls by one for every second
//! acknowledgement with new information, and is at most one segment above flight.

use fairway_cc::Phase;

use super::prr::{ends_linux_episode, linux_timeout_lowers_threshold};
use super::{Progress, RecoveryPolicy, Reduction};
use crate::Stack;
use crate::burst::MAX_DEVICE_BYTES;
use crate::scoreboard::Scoreboard;
use crate::sender::Sender;

/// Rate halving.
pub(crate) struct RateHalving {
    episode: Option<Episode>,
}

impl From<&Stack> for RateHalving {
    fn from(_: &Stack) -> Self {
        RateHalving { episode: None }
    }
}

impl RecoveryPolicy for RateHalving {
    fn reduced_window(&self) -> Option<u64> {
        self.episode.map(|episode| episode.cwnd)
    }

    fn is_calm(&self, _: &Sender) -> bool {
        self.episode.is_none()
    }

    fn reduce(&mut self, reduction: Reduction) {
        let Reduction { prior, target, floor, in_flight, by_loss } = reduction;
        // An algorithm's window during recovery is its `min_cwnd`.
        let mut episode = Episode::begin(prior, floor, target);
        if !by_loss {
            // `tcp_enter_cwr`
            episode.allow_above(in_flight, 1);
        }
        self.episode = Some(episode);
    }

    fn advance(&mut self, progress: Progress) {
        if let Some(episode) = &mut self.episode
            && progress.is_informative
        {
            episode.acknowledged(progress.in_flight);
        }
    }

    fn hold(&mut self, in_flight: u64, reordering: u64) {
        if let Some(episode) = &mut self.episode {
            episode.allow_above(in_flight, reordering);
        }
    }

    fn leave(&mut self, s: &mut Sender) -> u64 {
        // `tcp_moderate_cwnd`: no burst at the end of an episode.
        let most = s.flight_segments() + u64::from(s.board.reordering());
        let cwnd = self.episode.take().map_or(s.cc.cwnd(), |episode| episode.end() * s.mss());
        cwnd.min(most * s.mss())
    }

    fn abandon(&mut self) {
        self.episode = None;
    }

    fn slow_down_after_spurious_timeout(&mut self, s: &mut Sender) -> bool {
        // The threshold stays reduced, and the window falls to it (`tcp_process_frto`, with
        // net.ipv4.tcp_frto_response 0).
        s.board.forget_losses();
        s.frto = false;
        s.undo.give_up();
        s.phase = Phase::Cwr;
        s.recover = s.snd_nxt;
        if !s.cc.controls_recovery() {
            let threshold = s.cc.ssthresh() / s.mss();
            self.episode = Some(Episode::begin(s.flight_segments() + 1, threshold, threshold));
        }
        true
    }

    fn was_window_used(&self, s: &Sender, prior_pipe: u64) -> bool {
        // As before 3.1: an unused part below a burst counts as used (`tcp_cong.c`,
        // `tcp_is_cwnd_limited`).
        let (cwnd, mss) = (s.cwnd(), s.mss());
        let left = (cwnd / mss).saturating_sub(prior_pipe.div_ceil(mss));
        left <= u64::from(s.board.reordering())
            || (s.stack.sending.tso && 3 * left < cwnd / mss && left * mss < MAX_DEVICE_BYTES)
    }

    fn heeds_duplicates_after_timeout(&self) -> bool {
        false
    }

    fn repairs_episode_first(&self) -> bool {
        // `tcp_mark_head_lost`: data sent after the episode began is examined after it ends.
        true
    }

    fn ends_episode(&self, s: &Sender, ack: u64) -> bool {
        // Without SACK, duplicates caused by retransmissions must not begin another episode
        // (`tcp_try_undo_recovery`; `recover` in RFC 6582).
        let waits = s.phase == Phase::Recovery && !s.sack && ack == s.recover;
        !waits && ends_linux_episode(s, ack)
    }

    fn has_further_losses(&self, board: &mut Scoreboard) -> bool {
        board.has_losses()
    }

    fn timeout_lowers_threshold(&self, s: &Sender) -> bool {
        linux_timeout_lowers_threshold(s)
    }

    fn may_judge_timeout(&self, _: bool) -> bool {
        true
    }

    fn rescues(&self, sack: bool) -> bool {
        sack
    }

    fn rescues_repeatedly(&self) -> bool {
        // `tcp_xmit_retransmit_queue`
        true
    }

    fn restarts_timer_with_head(&self) -> bool {
        // `tcp_xmit_retransmit_queue`
        true
    }
}

/// One episode, in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Episode {
    cwnd: u64,
    /// Least window during the episode.
    floor: u64,
    /// Greatest window at the end of the episode.
    target: u64,
    /// Whether the next acknowledgement reduces the window.
    second: bool,
}

impl Episode {
    /// Begin a reduction from `cwnd`, not below `floor` (`min_cwnd` of an algorithm, or the
    /// threshold), to `target` at the end.
    fn begin(cwnd: u64, floor: u64, target: u64) -> Self {
        Episode { cwnd, floor, target, second: false }
    }

    /// Process an acknowledgement with new information, after which `in_flight` segments are in
    /// flight.
    fn acknowledged(&mut self, in_flight: u64) {
        if self.second && self.cwnd > self.floor {
            self.cwnd -= 1;
        }
        self.second = !self.second;
        self.allow_above(in_flight, 1);
    }

    /// Limit the window to `margin` above the segments in flight.
    fn allow_above(&mut self, in_flight: u64, margin: u64) {
        self.cwnd = self.cwnd.min(in_flight + margin);
    }

    /// The window at the end.
    fn end(&self) -> u64 {
        self.cwnd.min(self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 20 to 10, with 18 in flight at the third SACK (limited transmit has sent two, three are
    /// SACKed and one is lost).
    #[test]
    fn one_segment_for_two_acknowledgements() {
        let mut window = Episode::begin(20, 10, 10);
        window.acknowledged(18);
        // min(20, 18 + 1): the retransmission is sent, 19 in flight.
        assert_eq!(window.cwnd, 19);
        // SACKs reduce flight to 18, 17 (one is sent: 18), 17, 16 (17), 16, …
        let flights = [18, 17, 17, 16, 16, 15];
        let windows = flights.map(|in_flight| {
            window.acknowledged(in_flight);
            window.cwnd
        });
        assert_eq!(windows, [18, 18, 17, 17, 16, 16]);
    }

    #[test]
    fn it_stops_at_the_floor_and_ends_at_the_target() {
        let mut window = Episode::begin(12, 5, 10);
        (0..30).for_each(|_| window.acknowledged(12));
        // Down by seven for fourteen acknowledgements, and no further.
        assert_eq!((window.cwnd, window.end()), (5, 5));
        let mut window = Episode::begin(20, 5, 10);
        (0..4).for_each(|_| window.acknowledged(20));
        assert_eq!((window.cwnd, window.end()), (18, 10));
    }

    /// Losses are not compensated: flight below the target stays constant (PRR would raise it to
    /// the target).
    #[test]
    fn flight_below_the_target_stays_constant() {
        let mut window = Episode::begin(40, 20, 20);
        for _ in 0..6 {
            window.acknowledged(4);
            assert_eq!(window.cwnd, 5);
        }
    }
}
