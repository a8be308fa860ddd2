//! Episodes of congestion: how the sender enters and leaves them, and what a timeout does.

use fairway_cc::{Flow, Phase, Signal};
use fairway_units::Time;

use super::Sender;
use crate::Recovery;
use crate::scoreboard::News;

/// Segments beyond flight that TCP-Linux allows when recovery ends
/// (ns-2.35 `tcp/linux/ns-linux-param.c`, `tcp_max_burst`; Linux 2.6 `tcp_max_burst`).
const EXIT_BURST_SEGMENTS: u64 = 3;

impl Sender {
    /// The retransmission timer may have expired, or a segment been held back until now.
    pub fn handle_timeout(&mut self, now: Time) {
        self.pacer.wake(now);
        if now < self.rto_deadline {
            return;
        }
        self.note_app_limit();
        // RFC 5681 section 3.1: the threshold is kept only for data that the timer has resent.
        let first = self.phase != Phase::Loss
            || self.timed_out_at.is_none_or(|at| self.board.una() > at)
            || self.stack.recovery == Recovery::TcpLinux;
        self.timed_out_at = Some(self.board.una());
        self.counters.timeouts += 1;
        self.rtt.back_off();
        self.start_over(first, self.board.pipe(), now);
    }

    /// Everything outstanding is lost, and sending begins again at the first hole.
    fn start_over(&mut self, first: bool, flight_size: u64, now: Time) {
        let lost = self.board.mark_all_lost();
        self.lost += lost;
        if let Some(rate) = self.board.delivery_rate() {
            rate.lost(lost);
        }
        let flow = self.flow(flight_size, now);
        self.cc.on_rto(first, &flow);
        self.phase = Phase::Loss;
        self.recover = self.snd_nxt;
        self.cwr_pending = true;
        self.conserved_flight = 0;
        self.retransmit_first = false;
        self.rescue_allowed = false;
        self.start_timer(now);
    }

    /// A loss was found, and no episode is under way that it belongs to.
    pub(super) fn react_to_loss(&mut self, flow: &Flow, now: Time) {
        if self.restarts_after_loss {
            // The window is reduced as by a timeout, once if it was just reduced for a mark. But
            // the timer did not expire: it neither backs off nor has resent anything.
            let first = self.phase != Phase::Cwr;
            self.counters.reductions += u64::from(first);
            self.timed_out_at = None;
            self.start_over(first, flow.flight_size, now);
        } else {
            self.enter_recovery(flow);
        }
    }

    pub(super) fn enters_recovery(&self, news: &News) -> bool {
        news.lost > 0
            && match self.phase {
                Phase::Open | Phase::Disorder | Phase::Cwr => true,
                Phase::Recovery => false,
                // TCP-Linux reduces again for a loss found after a timeout; the RFCs wait until
                // everything outstanding at the timeout is acknowledged (RFC 6675 section 5.1).
                Phase::Loss => {
                    self.stack.recovery == Recovery::TcpLinux && !self.restarts_after_loss
                }
            }
    }

    fn enter_recovery(&mut self, flow: &Flow) {
        if self.phase != Phase::Cwr {
            self.conserved_flight = self.cc.cwnd() / u64::from(self.stack.mss);
            self.cc.on_congestion(Signal::Loss, flow);
            self.counters.reductions += 1;
        }
        self.phase = Phase::Recovery;
        self.recover = self.snd_nxt;
        // RFC 3168 section 6.1.2: said after any reduction, so that an echo does not ask for another.
        self.cwr_pending = true;
        self.retransmit_first = self.stack.recovery == Recovery::Rfc;
        self.rescue_allowed = self.stack.recovery == Recovery::Rfc;
    }

    /// The window is reduced for another reason than a loss.
    pub(super) fn enter_cwr(&mut self, signal: Signal, flow: &Flow) {
        self.cc.on_congestion(signal, flow);
        self.counters.reductions += 1;
        self.phase = Phase::Cwr;
        self.recover = self.snd_nxt;
        self.cwr_pending = true;
    }

    pub(super) fn leave_recovery(&mut self, flow: &Flow) {
        let mss = u64::from(self.stack.mss);
        if self.stack.recovery == Recovery::TcpLinux {
            // `tcp_fastretrans_alert` clears the scoreboard: what was SACKed beyond the episode
            // counts as in flight until it is SACKed again.
            self.board.forget_sacks();
        }
        let flight = self.board.pipe();
        let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
        let cwnd = match self.stack.recovery {
            Recovery::TcpLinux if cwnd < ssthresh => {
                ssthresh.min(flight + EXIT_BURST_SEGMENTS * mss)
            }
            // RFC 6582 step 3, option 1.
            Recovery::Rfc if !self.sack && self.phase == Phase::Recovery => {
                ssthresh.min(flight.max(mss) + mss)
            }
            Recovery::Rfc | Recovery::TcpLinux => cwnd,
        };
        self.phase = Phase::Open;
        self.conserved_flight = 0;
        self.retransmit_first = false;
        self.rescue_allowed = false;
        self.cc.on_recovered(cwnd, &Flow { phase: Phase::Open, in_flight: flight, ..*flow });
    }

    pub(super) fn phase_allows_growth(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Disorder | Phase::Loss)
    }
}
