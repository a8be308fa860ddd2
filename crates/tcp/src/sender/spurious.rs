//! Undo of unnecessary reductions (Linux 6.1 `net/ipv4/tcp_input.c`,
//! `tcp_try_undo_partial`, `tcp_try_undo_recovery`, `tcp_try_undo_dsack`, `tcp_process_loss`).

use fairway_cc::{Flow, Phase};

use super::Sender;
use super::acknowledge::Arrival;
use super::recovery::RecoveryPolicy;
use crate::ranges::Range;

impl Sender {
    /// Undo the current episode if the acknowledgement shows that nothing was lost.
    #[inline]
    pub(super) fn undo_if_spurious(&mut self, ack: &Arrival<'_>, at_end: bool) -> bool {
        self.holds_retransmissions = false;
        (self.phase != Phase::Open || self.undo.is_possible())
            && (self.phase == Phase::Loss || self.stack.losses.undo || ack.info.ece)
            && self.try_undo(ack, at_end)
    }

    #[cold]
    #[inline(never)]
    fn try_undo(&mut self, ack: &Arrival<'_>, at_end: bool) -> bool {
        if ack.info.ece {
            self.undo.reduction_stands();
        }
        let flow = |s: &Self| s.flow(ack.prior_pipe, ack.now);
        match self.phase {
            Phase::Loss => self.undo_timeout(ack, at_end, &flow(self)),
            _ if !self.stack.losses.undo => false,
            Phase::Recovery => self.undo_recovery(ack, at_end, &flow(self)),
            Phase::Open | Phase::Disorder => {
                let undone = self.undo.all_were_duplicates();
                if undone {
                    self.take_back(false, &flow(self));
                }
                undone
            }
            Phase::Cwr => false,
        }
    }

    /// Bytes that the acknowledgement reports as duplicates.
    #[inline]
    pub(super) fn note_duplicate(&mut self, ack: &Arrival<'_>) -> u64 {
        ack.info.duplicate.map_or(0, |range| self.count_duplicate(range, ack.prior_una))
    }

    /// `range` arrived twice. Returns its bytes, or 0 if fewer were retransmitted and the network
    /// made the copy (Linux 6.1 `tcp_dsack_seen`).
    #[cold]
    #[inline(never)]
    fn count_duplicate(&mut self, range: Range, prior_una: u64) -> u64 {
        if range.bytes() > self.max_window {
            return 0;
        }
        let segments = range.bytes().div_ceil(self.segment_bytes);
        self.reported_twice += segments;
        if self.reported_twice > self.counters.retransmissions {
            return 0;
        }
        // The duplicate of a tail loss probe does not indicate reordering.
        if !self.probe.ends_at(range.end) {
            let (una, nxt) = (self.board.una(), self.snd_nxt);
            self.board.rack().duplicate(una, nxt);
        }
        self.undo.duplicate(range.end, prior_una, u32::try_from(segments).unwrap_or(u32::MAX));
        range.bytes()
    }

    fn undo_recovery(&mut self, ack: &Arrival<'_>, at_end: bool, flow: &Flow) -> bool {
        let delayed = ack.summary.acked > 0 && self.undo.was_delayed(ack.info.echo_ms);
        if at_end {
            let undone = delayed || self.undo.all_were_duplicates();
            if undone {
                self.take_back(false, flow);
            } else {
                self.board.rack().recovered(false);
            }
            return undone;
        }
        if delayed {
            let highest = self.board.highest_sacked();
            self.board.note_reordering(ack.prior_una, highest);
            if self.board.retransmitted_segments() > 0 {
                // Reordering is wider than assumed: mark nothing else lost now.
                self.holds_retransmissions = true;
                return false;
            }
            self.take_back(true, flow);
            return true;
        }
        let undone = self.undo.all_were_duplicates();
        if undone {
            self.board.rack().recovered(true);
            self.take_back(false, flow);
        }
        undone
    }

    fn undo_timeout(&mut self, ack: &Arrival<'_>, at_end: bool, flow: &Flow) -> bool {
        let may = self.stack.losses.undo
            && ack.summary.acked > 0
            && (self.undo.was_delayed(ack.info.echo_ms) || self.undo.all_were_duplicates());
        if may {
            self.take_back(true, flow);
            return true;
        }
        self.frto && self.judge_timeout(ack, at_end, flow)
    }

    /// F-RTO with SACK (RFC 5682 section 3.1) or without (section 2.1).
    fn judge_timeout(&mut self, ack: &Arrival<'_>, at_end: bool, flow: &Flow) -> bool {
        let (info, summary) = (ack.info, &ack.summary);
        let duplicate = !self.sack && info.pure && summary.acked == 0;
        if self.shows_spurious_timeout(ack, at_end) {
            if !self.with_policy(|policy, s| policy.slow_down_after_spurious_timeout(s)) {
                self.take_back(true, flow);
            }
            return true;
        }
        if duplicate {
            // Steps 2a and 3a: data is missing.
            self.frto = false;
        } else if self.snd_nxt > self.recover {
            // Step 3a: new data has arrived, old data has not.
            if summary.sacked_sent.is_some() {
                self.frto = false;
            }
        } else if summary.acked > 0 && !at_end {
            // Step 2b: send new data, if any.
            self.recover = self.snd_nxt;
            if self.sendable_end() > self.snd_nxt {
                self.holds_retransmissions = true;
            } else {
                self.frto = false;
            }
        }
        false
    }

    /// Step 3b: data from before the timeout, never retransmitted, has arrived. Without SACK this takes
    /// two acknowledgements of new data in a row.
    fn shows_spurious_timeout(&self, ack: &Arrival<'_>, at_end: bool) -> bool {
        let summary = &ack.summary;
        if self.sack {
            summary.original_end.is_some_and(|end| end <= self.recover)
        } else {
            self.snd_nxt > self.recover && summary.acked > 0 && !at_end
        }
    }

    /// Restore the window; with `all_arrives`, nothing outstanding counts as lost.
    fn take_back(&mut self, all_arrives: bool, flow: &Flow) {
        if all_arrives {
            self.board.forget_losses();
        }
        self.board.rack().look_again();
        self.policy.abandon();
        self.phase = Phase::Open;
        self.frto = false;
        self.retransmit_first = false;
        self.rescue_allowed = false;
        if self.undo.gives_back() {
            let in_flight = self.board.pipe();
            self.cc.on_spurious(&Flow { phase: Phase::Open, in_flight, ..*flow });
            self.cwr_pending = false;
        } else {
            let flow = Flow { phase: Phase::Open, ..*flow };
            self.cc.on_recovered(self.cc.cwnd(), &flow);
        }
        self.undo.give_up();
        self.undo.settle();
    }
}
