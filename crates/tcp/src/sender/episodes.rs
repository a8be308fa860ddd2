//! Episodes of congestion: how the sender enters and leaves them, and what a timeout does.

use fairway_cc::{Flow, Phase, Signal};
use fairway_units::Time;

use super::Sender;
use crate::prr::Prr;
use crate::rate_halving::RateHalving;
use crate::reduction::Reduction;
use crate::scoreboard::News;
use crate::timer::Expiry;
use crate::{LossDetection, Recovery};

/// Segments beyond flight that TCP-Linux allows when recovery ends
/// (ns-2.35 `tcp/linux/ns-linux-param.c`, `tcp_max_burst`; Linux 2.6 `tcp_max_burst`).
const EXIT_BURST_SEGMENTS: u64 = 3;

impl Sender {
    /// The timer may have expired, or a segment been held back until now.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.ns3.is_some() {
            return self.handle_timeout_as_ns3(now);
        }
        self.pacer.wake(now);
        if now < self.timer.at() {
            return;
        }
        self.note_app_limit();
        match self.timer.purpose() {
            Some(Expiry::Retransmit) => self.time_out(now),
            Some(Expiry::Probe) => self.probe_tail(now),
            Some(Expiry::Reordering) => self.stop_waiting(now),
            Some(Expiry::Window) => self.question_window(),
            None => {}
        }
    }

    fn time_out(&mut self, now: Time) {
        // RFC 5681 section 3.1: the threshold is kept only for data that the timer has resent.
        let first = match self.stack.recovery {
            _ if self.stack.reduce_on_every_timeout => true,
            Recovery::Rfc | Recovery::Reno | Recovery::Sack1 | Recovery::Ns3 => {
                self.phase != Phase::Loss
                    || self.timed_out_at.is_none_or(|at| self.board.una() > at)
            }
            Recovery::TcpLinux => true,
            // `tcp_enter_loss`: a reduction that is under way is enough, too.
            Recovery::Prr | Recovery::RateHalving => match self.phase {
                Phase::Open | Phase::Disorder => true,
                Phase::Loss if self.timeouts_in_row == 0 => true,
                Phase::Cwr | Phase::Recovery | Phase::Loss => self.board.una() >= self.recover,
            },
        };
        self.frto = self.stack.frto
            && (self.sack || self.stack.recovery == Recovery::RateHalving)
            && !self.is_sack1()
            && (self.timeouts_in_row > 0 || !matches!(self.phase, Phase::Recovery | Phase::Loss));
        self.timeouts_in_row += 1;
        self.timed = None;
        self.timed_out_at = Some(self.board.una());
        self.counters.timeouts += 1;
        self.rtt.back_off();
        self.start_over(first, self.board.pipe(), now);
    }

    /// What was missing has had its time: it is lost.
    fn stop_waiting(&mut self, now: Time) {
        let flow = self.flow(self.board.pipe(), now);
        self.board.rack().look_again();
        let mut news = News::default();
        let wait = self.find_losses_by_time(false, now, &mut news);
        self.lost += news.lost;
        if news.lost > 0 && self.phase != Phase::Recovery {
            self.react_to_loss(&Flow { in_flight: self.board.pipe(), ..flow }, now);
            // As if one segment had arrived (`tcp_rack_reo_timeout`).
            self.step(&News { delivered: u64::from(self.stack.mss), ..news }, true);
        }
        match wait {
            Some(wait) => self.after_ack(&News::default(), Some(wait), now),
            None if self.timer.purpose() != Some(Expiry::Retransmit) => self.rearm(now),
            None => {}
        }
    }

    /// What is outstanding is lost, and sending begins again at the first hole.
    fn start_over(&mut self, first: bool, flight_size: u64, now: Time) {
        let by_time = self.sack && self.stack.loss_detection() == LossDetection::Rack;
        let sacked = self.board.sacked_segments();
        if self.is_sack1() {
            // What was SACKed is sent again, too.
            self.board.forget_sacks();
        }
        let lost =
            if by_time { self.board.mark_lost_by_timeout(now) } else { self.board.mark_all_lost() };
        self.lost += lost;
        if let Some(rate) = self.board.delivery_rate() {
            rate.lost(lost);
        }
        let flow = self.flow(flight_size, now);
        self.cc.on_rto(first, &flow);
        if first {
            self.undo.begin(self.board.una(), 0);
        }
        if by_time && matches!(self.phase, Phase::Open | Phase::Disorder) {
            self.board.rack().doubt_reordering(sacked);
        }
        if self.stack.adaptive_reordering {
            self.board.forget_reordering();
        }
        self.phase = Phase::Loss;
        self.recover = self.snd_nxt;
        self.recovers_from_timeout = true;
        self.cwr_pending = true;
        self.conserved_flight = 0;
        self.reduction = None;
        self.probe.cancel();
        // The head leaves whatever else is in flight.
        self.retransmit_first = self.stack.recovery == Recovery::Prr;
        self.rescue_allowed = false;
        self.holds_retransmissions = false;
        self.start_timer(now);
    }

    /// A loss was found, and no episode is under way that it belongs to.
    #[cold]
    #[inline(never)]
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
                // A retransmission was lost (`tcp_fastretrans_alert`).
                Phase::Loss if self.stack.recovery == Recovery::Prr => news.lost_again,
                // Retransmissions that are lost wait for the timer (2.6.27 `tcp_fastretrans_alert`).
                Phase::Loss if self.stack.recovery == Recovery::RateHalving => false,
                // TCP-Linux reduces again for a loss found after a timeout; the RFCs wait until
                // everything outstanding at the timeout is acknowledged (RFC 6675 section 5.1).
                Phase::Loss => {
                    self.stack.recovery == Recovery::TcpLinux && !self.restarts_after_loss
                }
            }
    }

    fn enter_recovery(&mut self, flow: &Flow) {
        if self.phase != Phase::Cwr {
            let outstanding = self.board.retransmitted_segments() as u32;
            let probes = u32::from(self.probe.is_retransmission());
            self.undo.begin(self.board.una(), outstanding + probes);
            self.conserved_flight = self.cc.cwnd() / u64::from(self.stack.mss);
            self.reduce(Signal::Loss, flow);
        }
        self.probe.cancel();
        self.timed = None;
        self.phase = Phase::Recovery;
        self.recover = self.snd_nxt;
        // RFC 3168 section 6.1.2: said after any reduction, so that an echo does not ask for another.
        self.recovers_from_timeout = false;
        self.had_partial_ack = false;
        self.cwr_pending = true;
        let of_rfc = matches!(self.stack.recovery, Recovery::Rfc | Recovery::Reno);
        self.retransmit_first = of_rfc || self.stack.recovery == Recovery::Sack1;
        self.rescue_allowed = of_rfc || (self.stack.recovery == Recovery::RateHalving && self.sack);
        if self.is_sack1() {
            self.begin_as_sack1();
        }
    }

    /// The window is reduced for another reason than a loss.
    #[cold]
    #[inline(never)]
    pub(super) fn enter_cwr(&mut self, signal: Signal, flow: &Flow) {
        self.reduce(signal, flow);
        self.undo.give_up();
        self.probe.cancel();
        self.phase = Phase::Cwr;
        self.recover = self.snd_nxt;
        self.recovers_from_timeout = false;
        self.cwr_pending = true;
    }

    /// The algorithm says to what; the stack how.
    fn reduce(&mut self, signal: Signal, flow: &Flow) {
        let mss = u64::from(self.stack.mss);
        let prior = self.cwnd() / mss;
        self.cc.on_congestion(signal, flow);
        self.counters.reductions += 1;
        if self.cc.controls_recovery() {
            return;
        }
        let target = (self.cc.ssthresh() / mss).min(prior);
        match self.stack.recovery {
            Recovery::Prr => {
                self.reduction = Some(Reduction::Proportional(Prr::begin(prior, target)));
            }
            Recovery::RateHalving => {
                // An algorithm's window during recovery is its `min_cwnd`.
                let floor = self.cc.cwnd() / mss;
                let mut halving = RateHalving::begin(prior, floor, target);
                if signal != Signal::Loss {
                    // `tcp_enter_cwr`
                    halving.allow_above(self.flight_segments(), 1);
                }
                self.reduction = Some(Reduction::Halving(halving));
            }
            Recovery::Rfc
            | Recovery::Sack1
            | Recovery::TcpLinux
            | Recovery::Reno
            | Recovery::Ns3 => {}
        }
    }

    /// The episode is over; the window in bytes that it leaves.
    #[cold]
    #[inline(never)]
    pub(super) fn leave_recovery(&mut self) -> u64 {
        let mss = u64::from(self.stack.mss);
        if self.is_sack1() {
            self.end_as_sack1();
        }
        if self.stack.recovery == Recovery::TcpLinux {
            // `tcp_fastretrans_alert` clears the scoreboard: what was SACKed beyond the episode
            // counts as in flight until it is SACKed again.
            self.board.forget_sacks();
        }
        if self.stack.recovery == Recovery::Reno && self.phase == Phase::Recovery {
            // The window is measured from the first unacknowledged byte again.
            self.board.forget_duplicates();
        }
        let flight = self.board.pipe();
        let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
        let reduction = self.reduction.take();
        let cwnd = match self.stack.recovery {
            Recovery::Prr => reduction.map_or(cwnd, |reduction| reduction.end() * mss),
            Recovery::RateHalving => {
                // `tcp_moderate_cwnd`: the end of an episode makes no burst.
                let most = self.flight_segments() + u64::from(self.board.reordering());
                reduction.map_or(cwnd, |reduction| reduction.end() * mss).min(most * mss)
            }
            Recovery::TcpLinux if cwnd < ssthresh => {
                ssthresh.min(flight + EXIT_BURST_SEGMENTS * mss)
            }
            // RFC 6582 step 3, option 1.
            Recovery::Rfc | Recovery::Sack1 if !self.sack && self.phase == Phase::Recovery => {
                ssthresh.min(flight.max(mss) + mss)
            }
            Recovery::Rfc
            | Recovery::Sack1
            | Recovery::TcpLinux
            | Recovery::Reno
            | Recovery::Ns3 => cwnd,
        };
        if self.phase != Phase::Cwr {
            self.repaired_until = Some(self.recover);
        }
        self.phase = Phase::Open;
        self.conserved_flight = 0;
        self.frto = false;
        // What the next episode finds sent again already was sent again in this one: the time of the first
        // stays known (Linux 6.1 `tcp_enter_recovery`, `tcp_any_retrans_done`).
        if self.board.retransmitted_segments() == 0 {
            self.undo.settle();
        }
        self.retransmit_first = false;
        self.rescue_allowed = false;
        cwnd
    }

    pub(super) fn phase_allows_growth(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Disorder | Phase::Loss)
    }
}
