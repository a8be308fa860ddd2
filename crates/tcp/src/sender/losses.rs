//! Loss detection: by time, by SACK or by duplicate acknowledgements.

use fairway_cc::Phase;
use fairway_units::{Duration, Time};

use super::Sender;
use super::acknowledge::Arrival;
use super::recovery::RecoveryPolicy;
use crate::scoreboard::AckSummary;
use crate::{LossDetection, Stack};

/// The method of a connection.
#[derive(Clone, Copy)]
pub(super) enum Detector {
    NewReno,
    Sack,
    LinuxBeforeRack,
    Rack,
}

impl Detector {
    pub(super) fn new(stack: &Stack, sack: bool) -> Self {
        match stack.loss_detection() {
            _ if !sack => Detector::NewReno,
            LossDetection::Rack => Detector::Rack,
            _ if stack.losses.adaptive_reordering => Detector::LinuxBeforeRack,
            LossDetection::Rfc6675 | LossDetection::Fack | LossDetection::LinuxFack => {
                Detector::Sack
            }
        }
    }

    /// Whether late segments raise the tolerated reordering.
    pub(super) fn learns_reordering(self, phase: Phase) -> bool {
        match self {
            Detector::NewReno | Detector::Sack => false,
            Detector::LinuxBeforeRack => phase != Phase::Loss,
            Detector::Rack => true,
        }
    }

    /// Whether losses are found by time.
    pub(super) fn is_by_time(self) -> bool {
        matches!(self, Detector::Rack)
    }
}

impl Sender {
    /// Mark lost segments. Returns how long to wait for segments that may be reordered.
    #[inline]
    pub(super) fn find_losses(&mut self, ack: &mut Arrival<'_>, leaving: bool) -> Option<Duration> {
        match self.detector {
            Detector::Rack => return self.find_losses_by_time(leaving, ack.now, &mut ack.summary),
            Detector::NewReno => self.count_duplicates_without_sack(ack, leaving),
            _ if self.policy.learns_itself() => {}
            Detector::LinuxBeforeRack => self.find_losses_before_rack(ack, leaving),
            Detector::Sack if self.board.has_holes() => {
                self.board.detect_losses(&mut ack.summary);
                self.count_duplicates(&mut ack.summary);
            }
            Detector::Sack => {}
        }
        None
    }

    /// RACK (RFC 8985).
    pub(super) fn find_losses_by_time(
        &mut self,
        leaving: bool,
        now: Time,
        summary: &mut AckSummary,
    ) -> Option<Duration> {
        let in_order = self.phase == Phase::Open && !self.board.has_holes();
        if self.holds_retransmissions || in_order || !self.board.rack().take_advanced() {
            return None;
        }
        let repairing = !leaving && matches!(self.phase, Phase::Recovery | Phase::Loss);
        let sacked = self.board.sacked_segments();
        let (min_rtt, srtt) = (self.rtt.min_rtt(), self.rtt.srtt());
        let window = self.board.rack().window(repairing, sacked, min_rtt, srtt);
        self.board.detect_losses_by_time(window, now, summary)
    }

    /// Linux with SACK, before RACK (2.6.27 `net/ipv4/tcp_input.c`, `tcp_fastretrans_alert`,
    /// `tcp_update_scoreboard`, `tcp_time_to_recover`).
    fn find_losses_before_rack(&mut self, ack: &mut Arrival<'_>, leaving: bool) {
        let Arrival { info, now, ref mut summary, .. } = *ack;
        let in_episode = !leaving && matches!(self.phase, Phase::Recovery | Phase::Loss);
        let in_recovery = in_episode && self.phase == Phase::Recovery;
        let fack = self.board.detection() == LossDetection::LinuxFack;
        if self.holds_retransmissions || !(in_episode || self.board.has_holes()) {
            return;
        }
        if fack && in_recovery {
            self.board.detect_lost_retransmissions(summary);
        }
        if fack && self.phase != Phase::Loss {
            self.board.detect_timed_out(self.rtt.rto(), now, summary);
        }
        let waits = in_episode && self.policy.repairs_episode_first();
        let limit = if waits { self.recover } else { u64::MAX };
        self.board.detect_losses_below(limit, summary);
        let duplicate = info.pure && summary.acked == 0;
        // In recovery every duplicate marks the first hole.
        let first_hole = in_recovery && duplicate && self.board.una() < self.recover;
        if first_hole || (!in_episode && self.is_starved()) {
            summary.lost += self.board.mark_head_lost();
        } else if !fack {
            self.count_duplicates(summary);
        }
    }

    /// Whether too little is outstanding to exceed the tolerated reordering, enough of it is
    /// SACKed, and there is nothing else to send (`tcp_time_to_recover`).
    fn is_starved(&self) -> bool {
        let outstanding = self.board.outstanding_segments();
        let enough = (outstanding / 2).max(u64::from(self.stack.losses.reordering));
        outstanding <= u64::from(self.board.reordering())
            && self.board.sacked_segments() >= enough
            && self.sendable_end() <= self.snd_nxt
    }

    /// RFC 6582.
    fn count_duplicates_without_sack(&mut self, ack: &mut Arrival<'_>, leaving: bool) {
        let acked = ack.summary.acked;
        let is_lost = if self.phase == Phase::Recovery && !leaving && acked > 0 {
            // Section 3.2 step 3: a partial acknowledgement reveals the next hole.
            self.board.una() < self.recover
        } else {
            ack.info.pure
                && acked == 0
                && self.board.duplicates() >= u64::from(self.board.reordering())
                && self.heeds_duplicates()
        };
        if is_lost {
            ack.summary.lost += self.board.mark_head_lost();
        }
    }

    /// RFC 6675 section 5 step 1: DupThresh duplicates indicate a loss even if too few bytes are
    /// SACKed, as at the end of a transfer. A duplicate SACKs new data and acknowledges none
    /// (section 2).
    fn count_duplicates(&mut self, summary: &mut AckSummary) {
        if summary.acked > 0 || self.phase != Phase::Open {
            self.sack_duplicates = 0;
        } else if summary.delivered > 0 {
            self.sack_duplicates += 1;
            let rfc = self.board.detection() == LossDetection::Rfc6675;
            if rfc && self.sack_duplicates >= self.board.reordering() {
                summary.lost += self.board.mark_head_lost();
            }
        }
    }
}
