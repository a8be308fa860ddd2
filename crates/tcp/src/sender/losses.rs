//! What an acknowledgement says is lost: by time, by what is SACKed, or by duplicates.

use fairway_cc::Phase;
use fairway_units::{Duration, Time};

use super::{AckInfo, Sender};
use crate::scoreboard::News;
use crate::{LossDetection, Recovery};

impl Sender {
    /// Mark what is lost by all that is known. Returns how long to wait for what may be reordered.
    #[inline(never)]
    pub(super) fn find_losses(
        &mut self,
        info: &AckInfo<'_>,
        leaving: bool,
        now: Time,
        news: &mut News,
    ) -> Option<Duration> {
        if !self.sack {
            self.count_duplicates_without_sack(info, leaving, news);
            return None;
        }
        if self.stack.loss_detection() == LossDetection::Rack {
            return self.find_losses_by_time(leaving, now, news);
        }
        if self.is_sack1() {
            return None;
        }
        if self.stack.adaptive_reordering {
            self.find_losses_as_linux_did(info, leaving, now, news);
        } else if self.board.has_holes() {
            self.board.detect_losses(news);
            self.count_duplicates(news);
        }
        None
    }

    pub(super) fn find_losses_by_time(
        &mut self,
        leaving: bool,
        now: Time,
        news: &mut News,
    ) -> Option<Duration> {
        let in_order = self.phase == Phase::Open && !self.board.has_holes();
        if self.holds_retransmissions || in_order || !self.board.rack().take_advanced() {
            return None;
        }
        let repairing = !leaving && matches!(self.phase, Phase::Recovery | Phase::Loss);
        let sacked = self.board.sacked_segments();
        let (min_rtt, srtt) = (self.rtt.min_rtt(), self.rtt.srtt());
        let window = self.board.rack().window(repairing, sacked, min_rtt, srtt);
        self.board.detect_losses_by_time(window, now, news)
    }

    /// With SACK, before there was RACK (2.6.27 `net/ipv4/tcp_input.c`, `tcp_fastretrans_alert`,
    /// `tcp_update_scoreboard`, `tcp_time_to_recover`).
    fn find_losses_as_linux_did(
        &mut self,
        info: &AckInfo<'_>,
        leaving: bool,
        now: Time,
        news: &mut News,
    ) {
        let in_episode = !leaving && matches!(self.phase, Phase::Recovery | Phase::Loss);
        let in_recovery = in_episode && self.phase == Phase::Recovery;
        let fack = self.board.detection() == LossDetection::LinuxFack;
        if self.holds_retransmissions || !(in_episode || self.board.has_holes()) {
            return;
        }
        if fack && in_recovery {
            self.board.detect_lost_retransmissions(news);
        }
        if fack && self.phase != Phase::Loss {
            self.board.detect_timed_out(self.rtt.rto(), now, news);
        }
        // What was sent after an episode began is looked at when that is over
        // (`tcp_mark_head_lost`).
        let waits = in_episode && self.stack.recovery == Recovery::RateHalving;
        let limit = if waits { self.recover } else { u64::MAX };
        self.board.detect_losses_below(limit, news);
        let duplicate = info.pure && news.acked == 0;
        // In recovery every duplicate is of the first hole.
        let first_hole = in_recovery && duplicate && self.board.una() < self.recover;
        if first_hole || (!in_episode && self.is_starved()) {
            news.lost += self.board.mark_head_lost();
        } else if !fack {
            self.count_duplicates(news);
        }
    }

    /// Whether more reordering is tolerated than the segments outstanding can show, enough of them
    /// have arrived, and there is nothing to send that could show more (`tcp_time_to_recover`).
    fn is_starved(&self) -> bool {
        let outstanding = self.board.outstanding_segments();
        let enough = (outstanding / 2).max(u64::from(self.stack.reordering));
        outstanding <= u64::from(self.board.reordering())
            && self.board.sacked_segments() >= enough
            && self.sendable_end() <= self.snd_nxt
    }

    fn count_duplicates_without_sack(
        &mut self,
        info: &AckInfo<'_>,
        leaving: bool,
        news: &mut News,
    ) {
        if self.phase == Phase::Recovery && !leaving && news.acked > 0 {
            // RFC 6582 step 3: a partial acknowledgement names the next hole.
            if self.board.una() < self.recover {
                news.lost += self.board.mark_head_lost();
            }
        } else if info.pure
            && news.acked == 0
            && self.board.duplicates() >= u64::from(self.board.reordering())
            && self.duplicates_say_something()
        {
            news.lost += self.board.mark_head_lost();
        }
    }

    /// RFC 6675 section 5 step 1: as many duplicates as the threshold mean a loss even if too few
    /// bytes are SACKed for it, as at the end of a transfer. A duplicate brings new SACKs and
    /// acknowledges nothing new (section 2).
    fn count_duplicates(&mut self, news: &mut News) {
        if news.acked > 0 || self.phase != Phase::Open {
            self.sack_duplicates = 0;
        } else if news.delivered > 0 {
            self.sack_duplicates += 1;
            let rfc = self.board.detection() == LossDetection::Rfc6675;
            if rfc && self.sack_duplicates >= self.board.reordering() {
                news.lost += self.board.mark_head_lost();
            }
        }
    }
}
