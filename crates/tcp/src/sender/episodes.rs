//! Episodes of congestion: entry, exit and timeouts.

use fairway_cc::{Flow, Phase, Signal};
use fairway_units::Time;

use super::Sender;
use super::recovery::{RecoveryPolicy, Reduction};
use crate::scoreboard::AckSummary;
use crate::timer::Expiry;

impl Sender {
    /// Handle the timer, if it has expired.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.policy.whole().is_some() {
            return self.with_policy(|policy, s| policy.handle_timeout(s, now));
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
            Some(Expiry::Window) => self.expire_window_timer(),
            None => {}
        }
    }

    fn time_out(&mut self, now: Time) {
        let first =
            self.stack.losses.reduce_on_every_timeout || self.policy.timeout_lowers_threshold(self);
        self.frto = self.stack.losses.frto
            && self.policy.may_judge_timeout(self.sack)
            && (self.timeouts_in_row > 0 || !matches!(self.phase, Phase::Recovery | Phase::Loss));
        self.timeouts_in_row += 1;
        self.timed = None;
        self.timed_out_at = Some(self.board.una());
        self.counters.timeouts += 1;
        self.rtt.back_off();
        self.start_over(first, self.board.pipe(), now);
    }

    /// The reordering timer expired: overdue segments are lost (RFC 8985 section 6.2 step 5).
    fn stop_waiting(&mut self, now: Time) {
        let flow = self.flow(self.board.pipe(), now);
        self.board.rack().look_again();
        let mut summary = AckSummary::default();
        let wait = self.find_losses_by_time(false, now, &mut summary);
        self.lost += summary.lost;
        if summary.lost > 0 && self.phase != Phase::Recovery {
            self.react_to_loss(&Flow { in_flight: self.board.pipe(), ..flow }, now);
            // As if one segment had been delivered (`tcp_rack_reo_timeout`).
            self.step(&AckSummary { delivered: self.mss(), ..summary }, true);
        }
        match wait {
            Some(wait) => self.after_ack(&AckSummary::default(), Some(wait), now),
            None if self.timer.purpose() != Some(Expiry::Retransmit) => self.rearm(now),
            None => {}
        }
    }

    /// Mark everything outstanding lost and retransmit from the first hole.
    fn start_over(&mut self, first: bool, pipe: u64, now: Time) {
        let by_time = self.detector.is_by_time();
        let sacked = self.board.sacked_segments();
        self.with_policy(|policy, s| policy.time_out(s));
        let lost =
            if by_time { self.board.mark_lost_by_timeout(now) } else { self.board.mark_all_lost() };
        self.lost += lost;
        if let Some(rate) = self.board.delivery_rate() {
            rate.lost(lost);
        }
        let flow = self.flow(pipe, now);
        self.cc.on_rto(first, &flow);
        if first {
            self.undo.begin(self.board.una(), 0);
        }
        if by_time && matches!(self.phase, Phase::Open | Phase::Disorder) {
            self.board.rack().doubt_reordering(sacked);
        }
        if self.stack.losses.adaptive_reordering {
            self.board.forget_reordering();
        }
        self.phase = Phase::Loss;
        self.recover = self.snd_nxt;
        self.recovers_from_timeout = true;
        self.cwr_pending = true;
        self.probe.cancel();
        self.retransmit_first = self.policy.forces_head_after_timeout();
        self.rescue_allowed = false;
        self.holds_retransmissions = false;
        self.start_timer(now);
    }

    /// A loss begins a new episode.
    #[cold]
    #[inline(never)]
    pub(super) fn react_to_loss(&mut self, flow: &Flow, now: Time) {
        if self.restarts_after_loss {
            // As after a timeout, but without timer back-off. A window just reduced for a mark is
            // not reduced again.
            let first = self.phase != Phase::Cwr;
            self.counters.reductions += u64::from(first);
            self.timed_out_at = None;
            self.start_over(first, flow.pipe, now);
        } else {
            self.enter_recovery(flow);
        }
    }

    pub(super) fn enters_recovery(&self, summary: &AckSummary) -> bool {
        summary.lost > 0
            && match self.phase {
                Phase::Open | Phase::Disorder | Phase::Cwr => true,
                Phase::Recovery => false,
                Phase::Loss => self.policy.leaves_timeout(self, summary),
            }
    }

    fn enter_recovery(&mut self, flow: &Flow) {
        let reduces = self.phase != Phase::Cwr;
        self.with_policy(|policy, s| policy.enter(s, reduces));
        if reduces {
            let outstanding = self.board.retransmitted_segments() as u32;
            let probes = u32::from(self.probe.is_retransmission());
            self.undo.begin(self.board.una(), outstanding + probes);
            self.reduce(Signal::Loss, flow);
        }
        self.probe.cancel();
        self.timed = None;
        self.phase = Phase::Recovery;
        self.recover = self.snd_nxt;
        // RFC 3168 section 6.1.2: CWR after any reduction.
        self.recovers_from_timeout = false;
        self.had_partial_ack = false;
        self.cwr_pending = true;
        self.retransmit_first = self.policy.forces_first_retransmission();
        self.rescue_allowed = self.policy.rescues(self.sack);
    }

    /// Reduce the window for a mark or at the request of the algorithm.
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

    /// Reduce the window: the algorithm gives the target, the policy the steps.
    fn reduce(&mut self, signal: Signal, flow: &Flow) {
        let mss = self.mss();
        let prior = self.cwnd() / mss;
        self.cc.on_congestion(signal, flow);
        self.counters.reductions += 1;
        if !self.cc.controls_recovery() {
            self.policy.reduce(Reduction {
                prior,
                target: (self.cc.ssthresh() / mss).min(prior),
                floor: self.cc.cwnd() / mss,
                in_flight: self.flight_segments(),
                by_loss: signal == Signal::Loss,
            });
        }
    }

    /// End the episode. Returns the resulting window in bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn leave_recovery(&mut self) -> u64 {
        let cwnd = self.with_policy(|policy, s| policy.leave(s));
        if self.phase != Phase::Cwr {
            self.repaired_until = Some(self.recover);
        }
        self.phase = Phase::Open;
        self.frto = false;
        // Retransmissions still in flight keep the time of the first (Linux 6.1 `tcp_enter_recovery`,
        // `tcp_any_retrans_done`).
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
