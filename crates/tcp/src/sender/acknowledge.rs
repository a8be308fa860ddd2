//! Processing of an acknowledgement, step by step.

use fairway_cc::{Ack, Flow, Phase, Signal};
use fairway_units::{Duration, Time};

use super::recovery::{Progress, RecoveryPolicy};
use super::{AckInfo, Sender};
use crate::LossDetection;
use crate::ecn::ace;
use crate::scoreboard::AckSummary;

/// An acknowledgement on its way through the steps.
pub(super) struct Arrival<'a> {
    pub(super) info: &'a AckInfo<'a>,
    pub(super) now: Time,
    /// Pipe and SND.UNA before it.
    pub(super) prior_pipe: u64,
    pub(super) prior_una: u64,
    /// Whether the peer's window allows more than before.
    pub(super) window_moved: bool,
    /// Its new information.
    pub(super) summary: AckSummary,
}

/// Its effect on the congestion episode.
#[derive(Clone, Copy, Default)]
struct Verdict {
    /// The episode ends.
    leaving: bool,
    /// An episode of recovery begins.
    entering: bool,
    /// Recovery ends and another begins without leaving the state.
    continues: bool,
    /// The window is reduced for a congestion mark.
    marked: bool,
    /// Delivered bytes that were marked.
    marked_bytes: u64,
    /// The data that it delivers lets the window grow.
    raises: bool,
}

impl Sender {
    /// An acknowledgement arrived.
    pub fn handle_ack(&mut self, info: &AckInfo<'_>, now: Time) {
        if self.policy.whole().is_some() {
            return self.with_policy(|policy, s| policy.handle_ack(s, info, now));
        }
        if info.ack < self.board.una() {
            return self.handle_old_ack(info, now);
        }
        self.note_app_limit();
        let mut ack = self.begin_ack(info, now);
        if self.board.is_empty() {
            ack.window_moved = false;
            return self.handle_ack_when_idle(&ack, now);
        }
        self.learn(&mut ack);
        self.delivered += ack.summary.delivered;
        let rtt = self.measure_rtt(&ack);
        let (verdict, wait) = self.follow_episode(&mut ack);
        let mut flow = self.flow(ack.prior_pipe, now);
        self.tell_algorithm(&ack, verdict, rtt, &mut flow);
        if !self.react(verdict, &flow, now) {
            self.reduce_further(&ack);
        }
        self.after_ack(&ack.summary, wait, now);
    }

    /// Follow the congestion episode: undo it, find losses, and judge whether it ends or another one
    /// begins. Returns also the rest of the reordering window.
    #[inline(never)]
    fn follow_episode(&mut self, ack: &mut Arrival<'_>) -> (Verdict, Option<Duration>) {
        let counted = ack.info.mark_count.map(|count| self.count_marks(count, &ack.summary));
        let twice = self.note_duplicate(ack);
        self.end_probe(ack);
        let at_end = self.is_at_end_of_episode(ack);
        let undone = self.undo_if_spurious(ack, at_end);
        let leaving = at_end && !undone;
        let wait = self.find_losses(ack, leaving);
        let raises = self.may_raise(&ack.summary);
        self.lost += ack.summary.lost;
        // Duplicate data was delivered too (Linux 6.1 `tcp_dsack_seen`).
        ack.summary.delivered += twice;
        self.delivered += twice;
        (Verdict { raises, ..self.judge(ack, leaving, counted) }, wait)
    }

    /// Whether data is acknowledged, or SACKed on a path known to reorder (Linux 6.1
    /// `tcp_may_raise_cwnd`).
    fn may_raise(&self, summary: &AckSummary) -> bool {
        let losses = &self.stack.losses;
        let reorders = losses.rack
            && losses.adaptive_reordering
            && self.board.reordering() > losses.reordering;
        summary.acked > 0 || (reorders && summary.delivered > 0)
    }

    /// Take over the window that an acknowledgement offers.
    #[inline(always)]
    pub(super) fn move_window(&mut self, info: &AckInfo<'_>) {
        self.right_edge = self.right_edge.max(info.right_edge);
        let window = info.right_edge - info.ack;
        self.max_window = self.max_window.max(window);
        let is_new = info.ack > self.board.una();
        self.is_plain = is_new
            && window == self.offered
            && info.sack.is_empty()
            && info.duplicate.is_none()
            && !info.ece;
        // Linux `tcp_may_update_window`.
        if is_new || window > self.offered || window == 0 {
            self.offered = window;
        }
    }

    fn begin_ack<'a>(&mut self, info: &'a AckInfo<'a>, now: Time) -> Arrival<'a> {
        let window_moved = info.right_edge > self.right_edge;
        self.move_window(info);
        self.arrival(info, window_moved, now)
    }

    fn arrival<'a>(&self, info: &'a AckInfo<'a>, window_moved: bool, now: Time) -> Arrival<'a> {
        Arrival {
            info,
            now,
            prior_pipe: self.board.pipe(),
            prior_una: self.board.una(),
            window_moved,
            summary: AckSummary::default(),
        }
    }

    /// Update the scoreboard.
    fn learn(&mut self, ack: &mut Arrival<'_>) {
        let Arrival { info, ref mut summary, .. } = *ack;
        if self.board.detection() == LossDetection::Rack {
            let min_rtt = self.rtt.min_rtt();
            self.board.rack().begin(ack.now, min_rtt, info.echo_ms);
        }
        let is_new = info.ack > self.board.una();
        if is_new {
            self.timeouts_in_row = 0;
        }
        if self.policy.learns_itself() {
            return self.with_policy(|policy, s| policy.learn(s, info, summary));
        }
        let highest = self.board.highest_sacked();
        if is_new {
            if self.stack.rto.backoff_ends_with_any_ack {
                self.rtt.end_back_off();
            }
            self.board.acknowledge(info.ack, summary);
        }
        if self.sack {
            for block in info.sack {
                self.board.sack(*block, summary);
            }
            if self.detector.learns_reordering(self.phase)
                && let Some(low) = summary.late_from
            {
                let highest = highest.max(self.board.highest_sacked());
                self.board.note_reordering(low, highest);
            }
        } else if !is_new && info.pure && !ack.window_moved && self.heeds_duplicates() {
            self.board.duplicate(summary);
        }
    }

    /// Whether duplicate acknowledgements without SACK count as deliveries. After an episode its
    /// retransmissions may cause them (RFC 6582 section 3.2 step 2; Linux
    /// `tcp_is_non_sack_preventing_reopen`). After a timeout earlier data is no longer in the pipe;
    /// Linux counts them once new data has been sent (`tcp_process_loss`).
    pub(super) fn heeds_duplicates(&self) -> bool {
        match self.phase {
            Phase::Recovery => !self.is_held(),
            Phase::Loss => {
                self.policy.heeds_duplicates_after_timeout() && self.snd_nxt > self.recover
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                self.repaired_until.is_none_or(|end| self.board.una() > end)
                    || self.policy.heeds_duplicates_after_repair(self)
            }
        }
    }

    /// Whether the count reports new marks, and on how many delivered bytes. Ignored on an
    /// acknowledgement without new information, which may be reordered (RFC 9768 section 3.2.2.2).
    #[inline(never)]
    fn count_marks(&mut self, count: u8, summary: &AckSummary) -> (bool, u64) {
        if summary.acked == 0 && summary.delivered == 0 {
            return (false, 0);
        }
        let before = std::mem::replace(&mut self.mark_count, count);
        // Packets are not counted; this is the least number.
        let packets = summary.delivered.div_ceil(self.segment_bytes);
        let marked = ace::newly_marked(count, before, packets);
        if marked > 0 {
            self.undo.reduction_stands();
        }
        (marked > 0, (marked * self.segment_bytes).min(summary.delivered))
    }

    /// Measure RTT as Linux does: for the RTO from the earliest segment newly acknowledged, or else
    /// SACKed; returned for the algorithm, from the latest segment SACKed, or else acknowledged.
    /// Retransmitted segments give no sample (Karn's rule), but the echoed timestamp does (RFC 7323
    /// section 4.2).
    fn measure_rtt(&mut self, ack: &Arrival<'_>) -> Option<Duration> {
        let Arrival { info, now, ref summary, .. } = *ack;
        if !self.policy.measures_rtt(self, info, summary) {
            return None;
        }
        if self.policy.times_one_segment(self.stack.options.timestamps) {
            return self.end_timing(info.ack, now);
        }
        let age = |sent: Time| self.rtt.between(sent, now);
        let timeout = summary.acked_sent.or(summary.sacked_sent).map(|sent| age(sent.earliest));
        let latest = summary.sacked_sent.or(summary.acked_sent).map(|sent| age(sent.latest));
        let echoed = info.timestamp_age.filter(|_| summary.acked > 0);
        let (timeout, latest) = (timeout.or(echoed)?, latest.or(echoed)?);
        let latest = self.sample_rtts(timeout, latest, now);
        if self.tells_age_of_last {
            // ns-2.35 `tcp/tcp-linux.cc`, `recv`: `tss` of the highest segment acknowledged.
            return summary.last_sent.map(|sent| now.since(sent));
        }
        Some(latest)
    }

    /// Take samples for the RTO and of the latest segment. Returns the latter.
    #[inline(always)]
    pub(super) fn sample_rtts(
        &mut self,
        timeout: Duration,
        latest: Duration,
        now: Time,
    ) -> Duration {
        let timeout = self.in_clock_ticks(timeout, now);
        let latest = self.in_clock_ticks(latest, now);
        self.rtt.sample_min(latest);
        self.rtt.sample(timeout, self.board.una(), self.snd_nxt);
        latest
    }

    /// An RTT that ends now, measured by a clock of coarse ticks.
    #[inline(always)]
    pub(super) fn in_clock_ticks(&self, rtt: Duration, now: Time) -> Duration {
        let tick = self.stack.rto.rtt_clock.as_nanos();
        if tick == 0 {
            return rtt;
        }
        let ended = now.as_nanos();
        let began = ended.saturating_sub(rtt.as_nanos());
        Duration::from_nanos((ended / tick - began / tick).max(1) * tick)
    }

    fn is_at_end_of_episode(&self, ack: &Arrival<'_>) -> bool {
        ack.summary.acked > 0
            && !matches!(self.phase, Phase::Open | Phase::Disorder)
            && self.policy.ends_episode(self, ack.info.ack)
    }

    fn judge(&mut self, ack: &Arrival<'_>, leaving: bool, counted: Option<(bool, u64)>) -> Verdict {
        let (info, summary) = (ack.info, &ack.summary);
        let entering = !leaving && self.enters_recovery(summary);
        let echoed = if info.ece { summary.delivered } else { 0 };
        let (congested, marked_bytes) = counted.unwrap_or((info.ece, echoed));
        // In Linux an episode's last acknowledgement may begin the next (`tcp_fastretrans_alert`,
        // `tcp_try_to_open`).
        let is_over = leaving && self.stack.window.grow_on_exit;
        Verdict {
            leaving,
            entering,
            continues: leaving && self.policy.stays_in_recovery() && self.has_further_losses(),
            marked: congested
                && !entering
                && (is_over || matches!(self.phase, Phase::Open | Phase::Disorder)),
            marked_bytes,
            raises: false,
        }
    }

    fn has_further_losses(&mut self) -> bool {
        self.policy.has_further_losses(&mut self.board)
    }

    fn tell_algorithm(
        &mut self,
        arrival: &Arrival<'_>,
        verdict: Verdict,
        rtt: Option<Duration>,
        flow: &mut Flow,
    ) {
        let Arrival { info, now, prior_pipe, ref summary, .. } = *arrival;
        let Verdict { leaving, entering, continues, marked, marked_bytes, raises } = verdict;
        let left_with = (leaving && self.stack.window.grow_on_exit).then(|| self.leave_recovery());
        let may_raise = raises && !(entering || continues || marked) && self.phase_allows_growth();
        let mut ack = Ack {
            acked: summary.acked,
            delivered: summary.delivered,
            lost: summary.lost,
            ce: marked_bytes,
            rtt,
            one_way_delay_ms: info.one_way_delay_ms().filter(|_| summary.acked > 0),
            timestamps: info.timestamps,
            rate: None,
            may_raise,
            may_grow: may_raise && self.window_was_used(self.cwnd(), prior_pipe),
            is_plain: self.is_plain,
        };
        if let Some(rate) = self.board.delivery_rate() {
            ack.rate = rate.sample(summary.delivered, summary.lost, flow.min_rtt, now);
        }
        let Some(cwnd) = left_with else { return self.cc.on_ack(&ack, flow) };
        self.policy.limit_last_ack(&mut ack, self.mss());
        let next = self.policy.reported_phase(self);
        self.cc.on_last_ack(&ack, cwnd, next, flow);
        flow.phase = next;
    }

    /// Whether a window of `cwnd` may grow: only if it was filled, or in slow start half filled (RFC 7661
    /// as in Linux `tcp_is_cwnd_limited`).
    #[inline(always)]
    pub(super) fn window_was_used(&self, cwnd: u64, prior_pipe: u64) -> bool {
        if self.stack.window.cwnd_clamp.is_some_and(|n| cwnd >= u64::from(n) * self.mss()) {
            return false;
        }
        if self.stack.window.grow_when_unused {
            return true;
        }
        if self.stack.window.cwnd_validation {
            return self.validation.allows_growth(cwnd, self.cc.ssthresh(), self.mss());
        }
        self.policy.was_window_used(self, prior_pipe)
    }

    /// End the episode or begin the next. Returns true if the algorithm asked for a reduction,
    /// which starts with the next acknowledgement.
    fn react(&mut self, verdict: Verdict, flow: &Flow, now: Time) -> bool {
        let Verdict { leaving, entering, continues, marked, .. } = verdict;
        if leaving && !self.stack.window.grow_on_exit {
            let cwnd = self.leave_recovery();
            let in_flight = self.board.pipe();
            self.cc.on_recovered(cwnd, &Flow { phase: Phase::Open, in_flight, ..*flow });
        }
        // Losses of data sent after this episode began belong to the next one (RFC 6675 section 5).
        let again = leaving && !self.policy.stays_in_recovery() && self.has_further_losses();
        if entering || continues || again {
            self.react_to_loss(flow, now);
        } else if marked {
            self.enter_cwr(Signal::Ecn, flow);
        } else if self.phase == Phase::Open && self.cc.wants_reduction() {
            self.enter_cwr(Signal::Delay, flow);
            return true;
        }
        false
    }

    /// One step of the current reduction.
    fn reduce_further(&mut self, ack: &Arrival<'_>) {
        if self.policy.reduced_window().is_none() {
            return;
        }
        let (info, summary) = (ack.info, &ack.summary);
        if self.is_held() {
            self.board.forget_duplicates();
            self.policy.hold(self.flight_segments(), u64::from(self.board.reordering()));
            return;
        }
        // Without SACK a duplicate counts too (`tcp_cwnd_down`).
        let duplicate = info.duplicate.is_some() || (!self.sack && info.pure);
        self.step(summary, summary.acked > 0 || summary.delivered > 0 || duplicate);
    }

    /// Whether an episode without SACK lasts only until data sent after it is acknowledged.
    fn is_held(&self) -> bool {
        !self.sack && self.phase == Phase::Recovery && self.board.una() >= self.recover
    }

    pub(super) fn step(&mut self, summary: &AckSummary, is_informative: bool) {
        let progress = Progress {
            in_flight: self.flight_segments(),
            delivered: summary.delivered.div_ceil(self.mss()),
            advanced_without_loss: summary.acked > 0 && summary.lost == 0,
            is_informative,
        };
        self.policy.advance(progress);
    }

    /// Process an old acknowledgement: its SACK blocks count and may reveal losses, but the window
    /// does not change (Linux 6.1 `tcp_ack`, from `old_ack` on).
    #[cold]
    #[inline(never)]
    fn handle_old_ack(&mut self, info: &AckInfo<'_>, now: Time) {
        let says_nothing = info.sack.is_empty() && info.duplicate.is_none();
        if !self.sack || says_nothing || self.board.is_empty() {
            return;
        }
        let mut ack = self.arrival(info, false, now);
        self.learn(&mut ack);
        let twice = self.note_duplicate(&ack);
        self.undo_if_spurious(&ack, false);
        let wait = self.find_losses(&mut ack, false);
        let delivered = ack.summary.delivered + twice;
        self.lost += ack.summary.lost;
        self.delivered += delivered;
        let min_rtt = self.rtt.min_rtt();
        if let Some(rate) = self.board.delivery_rate() {
            // Counted, but not used as a sample.
            rate.sample(delivered, ack.summary.lost, min_rtt, now);
        }
        if self.enters_recovery(&ack.summary) {
            let flow = self.flow(ack.prior_pipe, now);
            self.react_to_loss(&flow, now);
        }
        if let Some(wait) = wait {
            self.wait_for_reordering(wait, now);
        }
    }
}
