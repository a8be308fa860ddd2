//! The sender's timer: retransmission, probe, reordering or closed window.

use fairway_cc::Phase;
use fairway_units::{Duration, Time};

use super::Sender;
use crate::scoreboard::AckSummary;
use crate::timer::Expiry;

/// Minimum delay of the probe and reordering timers: two ticks (Linux 6.1 `include/net/tcp.h`,
/// `TCP_TIMEOUT_MIN`).
const LEAST_WAIT: Duration = Duration::from_millis(2);

impl Sender {
    /// Set the timer after an acknowledgement; `wait` is the rest of the reordering window.
    pub(super) fn after_ack(&mut self, summary: &AckSummary, wait: Option<Duration>, now: Time) {
        if let Some(wait) = wait.filter(|_| !self.board.is_empty()) {
            self.wait_for_reordering(wait, now);
        } else if self.board.is_empty() || self.moves_timer(summary, now) {
            self.move_timer(now);
        }
    }

    /// Stop the timer if nothing is outstanding; otherwise restart it, or schedule a probe.
    pub(super) fn move_timer(&mut self, now: Time) {
        if self.board.is_empty() {
            self.timer.stop();
            if self.is_finished() {
                self.board.free_memory();
            }
            return;
        }
        let probes = self.stack.losses.tail_loss_probe && self.schedule_probe(self.rtt.rto(), now);
        if !probes {
            self.rearm(now);
        }
    }

    fn moves_timer(&mut self, summary: &AckSummary, now: Time) -> bool {
        if self.stack.rto.rto_impatient && self.phase == Phase::Recovery {
            let is_partial = summary.acked > 0;
            return is_partial && !std::mem::replace(&mut self.had_partial_ack, true);
        }
        if summary.acked > 0 || self.stack.rto.rto_restart_on_every_ack || self.retransmit_first {
            return true;
        }
        // The SACKed data was sent before the head's last transmission (Linux 6.1
        // `tcp_clean_rtx_queue`).
        self.stack.losses.tail_loss_probe
            && match (summary.sacked_sent, self.board.head_sent_at()) {
                (Some(sacked), Some(head)) => {
                    self.rtt.between(sacked.earliest, now) > self.rtt.between(head, now)
                }
                _ => false,
            }
    }

    #[inline(never)]
    pub(super) fn wait_for_reordering(&mut self, wait: Duration, now: Time) {
        let delay = (wait + LEAST_WAIT).min(self.rtt.rto());
        self.timer.start(Expiry::Reordering, delay, now);
    }

    /// Restart the retransmission timer. If it replaces another timer, it runs for the time left
    /// (Linux 6.1 `tcp_rearm_rto`).
    #[inline(always)]
    pub(super) fn rearm(&mut self, now: Time) {
        match self.timer.purpose() {
            Some(Expiry::Probe | Expiry::Reordering) => {
                let left = self.rto_left(now).max(Duration::from_nanos(1));
                self.timer.start(Expiry::Retransmit, left + self.pacer.delay(now), now);
            }
            _ => self.start_timer(now),
        }
    }

    /// Time until the first outstanding segment times out.
    fn rto_left(&self, now: Time) -> Duration {
        let head = self.board.head_sent_at().unwrap_or(now);
        (head + self.rtt.rto()).since(now)
    }

    /// Restart the retransmission timer, later by the pacing delay (Linux `tcp_pacing_delay`).
    #[inline(always)]
    pub(super) fn start_timer(&mut self, now: Time) {
        if let Some(min_rto) = self.cc.min_rto() {
            self.rtt.bound_below(min_rto);
        }
        let delay = self.rtt.rto() + self.pacer.delay(now);
        self.timer.start(Expiry::Retransmit, delay, now);
    }

    /// Schedule a tail loss probe, within `rto`. Returns false if none is due.
    #[inline(never)]
    pub(super) fn schedule_probe(&mut self, rto: Duration, now: Time) -> bool {
        let undisturbed = matches!(self.phase(), Phase::Open | Phase::Cwr);
        if !self.stack.losses.tail_loss_probe || !self.sack || !undisturbed || self.board.is_empty()
        {
            return false;
        }
        // RFC 8985 section 7.2; a lone segment may be acknowledged late.
        let delay = match self.rtt.srtt() {
            None => self.stack.rto.rto_initial,
            Some(srtt) => {
                let alone = self.board.outstanding_segments() == 1;
                srtt * 2 + if alone { self.stack.rto.rto_min } else { LEAST_WAIT }
            }
        };
        let delay = if rto > Duration::ZERO { delay.min(rto) } else { delay };
        self.timer.start(Expiry::Probe, delay + self.pacer.delay(now), now);
        true
    }

    /// Nothing more may be sent in answer to this event.
    #[inline(always)]
    pub(super) fn end_pass(&mut self, now: Time) {
        if self.pass.ended {
            return;
        }
        self.pass.ended = true;
        if self.board.is_empty() && self.has_unsent() {
            self.watch_window(now);
        }
        if self.stack.window.cwnd_validation {
            self.validate_window();
        }
        if self.pass.sent && !self.pass.probed && self.stack.losses.tail_loss_probe {
            let purpose = self.timer.purpose();
            if purpose != Some(Expiry::Reordering) || self.phase() == Phase::Open {
                self.schedule_probe(self.rto_left(now), now);
            }
        }
    }

    fn validate_window(&mut self) {
        let limited = self.pass.waits_for_cwnd || self.has_filled_cwnd();
        if self.pass.sent || limited {
            let outstanding = self.board.outstanding_segments();
            self.validation.after_sending(limited, outstanding, self.board.una(), self.snd_nxt);
        }
    }
}
