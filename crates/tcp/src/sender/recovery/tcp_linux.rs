//! Recovery of ns-2's TCP-Linux (ns-2.35 `tcp/tcp-linux.cc`).

use fairway_cc::Phase;
use fairway_units::Duration;

use super::{Departure, RecoveryPolicy};
use crate::Stack;
use crate::scoreboard::{AckSummary, Scoreboard};
use crate::sender::Sender;

/// Segments allowed beyond flight when recovery ends (`tcp/linux/ns-linux-param.c`,
/// `tcp_max_burst`; Linux 2.6 `tcp_max_burst`).
const EXIT_BURST_SEGMENTS: u64 = 3;

/// State of the agent.
pub(crate) struct TcpLinux {
    /// Segments in flight allowed while flight is above the window (`next_pkts_in_flight_`).
    conserved: u64,
    /// Value of `conserved` at the last event, when `cwnd_` was set to it.
    allowed: u64,
    /// Whether flight falls by a segment for every second acknowledgement: each segment sent lowers
    /// the allowance of the next event (`send_much`). With `overhead_` segments are sent by a
    /// timer, after which `load_to_linux` restores the allowance, and flight stays constant.
    halves: bool,
}

impl From<&Stack> for TcpLinux {
    fn from(stack: &Stack) -> Self {
        TcpLinux { conserved: 0, allowed: 0, halves: stack.sending.send_jitter == Duration::ZERO }
    }
}

impl RecoveryPolicy for TcpLinux {
    #[inline]
    fn window(&self, s: &Sender) -> u64 {
        s.cwnd().max(self.conserved * s.mss())
    }

    fn flight_allowance(&self, s: &Sender) -> u64 {
        self.recorded_window(s).max(if s.pass.is_forced { s.pipe() } else { 0 })
    }

    fn inflates(&self, _: bool) -> bool {
        true
    }

    fn recorded_window(&self, s: &Sender) -> u64 {
        // `save_from_linux`
        let segments = if self.halves { self.allowed } else { self.conserved };
        s.cwnd().max(segments * s.mss())
    }

    fn was_window_used(&self, s: &Sender, prior_pipe: u64) -> bool {
        prior_pipe + s.mss() > s.cwnd()
    }

    fn reported_phase(&self, s: &Sender) -> Phase {
        // The agent has no Disorder.
        s.phase
    }

    fn tells_age_of_last(&self) -> bool {
        true
    }

    fn leaves_timeout(&self, s: &Sender, _: &AckSummary) -> bool {
        // The window is reduced again for a loss detected after a timeout; the RFCs wait until all
        // data outstanding at the timeout is acknowledged (RFC 6675 section 5.1).
        !s.restarts_after_loss
    }

    fn timeout_lowers_threshold(&self, _: &Sender) -> bool {
        true
    }

    fn is_calm(&self, _: &Sender) -> bool {
        self.conserved == 0 && self.allowed == 0
    }

    fn begin_burst(&mut self, board: &Scoreboard, mss: u64) {
        self.allowed = self.conserved;
        // At most one more segment in flight than now. Without an episode there is nothing to divide.
        if self.conserved > 0 {
            self.conserved = self.allowed.min(board.pipe().div_ceil(mss) + 1);
        }
    }

    fn sent(&mut self, board: &Scoreboard, departure: Departure) {
        if self.halves && self.conserved > 0 {
            let flight = board.pipe().div_ceil(departure.mss);
            self.conserved = self.conserved.min(flight.saturating_sub(1).max(1));
        }
    }

    fn enter(&mut self, s: &mut Sender, reduces: bool) {
        if reduces {
            self.conserved = s.cc.cwnd() / s.mss();
        }
    }

    fn leave(&mut self, s: &mut Sender) -> u64 {
        self.conserved = 0;
        // `tcp_fastretrans_alert` clears the scoreboard: segments SACKed beyond the episode count
        // as in flight until SACKed again.
        s.board.forget_sacks();
        let (cwnd, ssthresh) = (s.cc.cwnd(), s.cc.ssthresh());
        if cwnd < ssthresh {
            ssthresh.min(s.board.pipe() + EXIT_BURST_SEGMENTS * s.mss())
        } else {
            cwnd
        }
    }

    fn time_out(&mut self, _: &mut Sender) {
        self.conserved = 0;
    }
}
