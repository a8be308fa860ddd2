//! Retransmissions, why they were sent, which were for nothing, and the episodes that they make.

use fairway_units::{Duration, Time};
use serde::Serialize;

use crate::event::{Flow, Sent};
use crate::window::causes::{Again, Cause, Causes, Context, Verdict};
use crate::window::spurious::{Evidence, Resent, Spurious};
use crate::window::view::{Heard, Known, Mode};

/// Retransmissions and episodes of a direction that are listed one by one; beyond, they are
/// counted.
pub const MAX_LISTED: usize = 4096;

/// How many segments were sent again for each cause; they add up to `segments`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct CauseCounts {
    /// All of them.
    pub segments: u64,
    /// By the third duplicate acknowledgement.
    pub fast: u64,
    /// By partial acknowledgements in recovery without SACK.
    pub partial_ack: u64,
    /// By selective acknowledgements.
    pub sack: u64,
    /// By the retransmission timer.
    pub timeout: u64,
    /// In slow start after a timeout.
    pub after_timeout: u64,
    /// As probes of the tail.
    pub tail_loss_probe: u64,
    /// For no reason that the capture shows.
    pub unknown: u64,
}

impl CauseCounts {
    fn of(&mut self, cause: Cause) -> &mut u64 {
        match cause {
            Cause::Fast => &mut self.fast,
            Cause::PartialAck => &mut self.partial_ack,
            Cause::Sack => &mut self.sack,
            Cause::Timeout => &mut self.timeout,
            Cause::AfterTimeout => &mut self.after_timeout,
            Cause::TailLossProbe => &mut self.tail_loss_probe,
            Cause::Unknown => &mut self.unknown,
        }
    }
}

/// How many of them were for nothing, and what shows it. A segment can have more than one kind of
/// evidence, and counts once in `segments`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct SpuriousCounts {
    /// All of them.
    pub segments: u64,
    /// The receiver reported duplicates (RFC 2883).
    pub by_dsack: u64,
    /// Echoes of the original's timestamp (RFC 3522).
    pub by_timestamps: u64,
    /// Timeouts after which what was not sent again was acknowledged (RFC 5682).
    pub by_frto: u64,
    /// Acknowledged too soon to be for the retransmission.
    pub by_early_ack: u64,
    /// Acknowledged before they were sent.
    pub already_acked: u64,
}

impl SpuriousCounts {
    fn of(&mut self, evidence: Evidence) -> &mut u64 {
        match evidence {
            Evidence::Dsack => &mut self.by_dsack,
            Evidence::Timestamps => &mut self.by_timestamps,
            Evidence::Frto => &mut self.by_frto,
            Evidence::EarlyAck => &mut self.by_early_ack,
            Evidence::AlreadyAcked => &mut self.already_acked,
        }
    }
}

/// One retransmission.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Retransmission {
    /// Number of the packet in the capture.
    pub packet: u64,
    /// When, in seconds on the capture's clock.
    pub at_s: f64,
    /// Offset of its first byte.
    pub offset: i64,
    /// Its payload.
    pub bytes: u32,
    /// Why it was sent.
    pub cause: Cause,
    /// Length of the timer, if one sent it.
    pub timer_s: Option<f64>,
    /// How many times that had been doubled.
    pub backoffs: u32,
    /// Evidence that it was spurious, if any.
    pub spurious: Option<Evidence>,
}

/// How an episode began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeKind {
    /// With acknowledgements: fast recovery.
    Recovery,
    /// With a timeout.
    Timeout,
}

/// A time in which losses are repaired: from the first retransmission until all is acknowledged
/// that was outstanding then.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Episode {
    /// How it began.
    pub kind: EpisodeKind,
    /// When, in seconds on the capture's clock.
    pub begin_s: f64,
    /// When everything was acknowledged; null if the capture ends before.
    pub end_s: Option<f64>,
    /// Bytes that were in flight when it began.
    pub flight_before_bytes: u64,
    /// Estimate of the congestion window before it.
    pub cwnd_before_bytes: Option<u64>,
    /// Estimate of the congestion window when it had ended.
    pub cwnd_after_bytes: Option<u64>,
    /// The one after over the one before; null after a timeout, where it begins again from one
    /// segment.
    pub backoff_ratio: Option<f64>,
    /// Segments that were sent again.
    pub retransmitted_segments: u64,
    /// Of them, those that are not known to have been for nothing.
    pub lost_segments: u64,
    /// Timeouts in it, those that began it included.
    pub timeouts: u64,
    /// Whether all of it was for nothing, so that a sender that notices takes its reduction back.
    pub is_spurious: bool,
}

/// Retransmissions of a direction.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct LossReport {
    /// Why they were sent.
    pub causes: CauseCounts,
    /// Which of them were for nothing.
    pub spurious: SpuriousCounts,
    /// Segments that the network in front of the capture had put behind later ones.
    pub reordered_before_capture: u64,
    /// Duplicates that the receiver reported and no retransmission explains: copies that the
    /// network made, or retransmissions that the capture has not seen.
    pub unexplained_duplicates: u64,
    /// The longest timer that expired.
    pub longest_timeout_s: Option<f64>,
    /// The most times that a timer was doubled.
    pub most_backoffs: u32,
    /// Episodes of repair, and how many are not listed.
    pub episodes: Vec<Episode>,
    /// How many came after those that are listed.
    pub episodes_not_listed: u64,
    /// Retransmissions one by one.
    pub list: Vec<Retransmission>,
    /// How many came after those that are listed.
    pub not_listed: u64,
}

/// Follows retransmissions.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    causes: Causes,
    spurious: Spurious,
    report: LossReport,
    /// The episode under way in the list; past its end if it is not listed.
    open: Option<usize>,
    /// One that has ended, and whose window after it is not known yet.
    ended: Option<usize>,
    longest: Duration,
}

/// A segment's evidence about losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Repair {
    pub cause: Cause,
    /// Whether an episode begins, or begins again with a timeout.
    pub begins: bool,
}

impl Losses {
    /// Takes in a segment that leaves, and sets `mode` for what follows.
    pub(super) fn sent(
        &mut self,
        sent: &Sent,
        context: &Context<'_>,
        cwnd: Option<u64>,
        mode: &mut Mode,
    ) -> Option<Repair> {
        // A FIN alone is no data, and a copy that the network has made no retransmission.
        if sent.bytes == 0 || sent.is_same_packet {
            return None;
        }
        let verdict = match self.causes.sent(sent, context)? {
            Again::Retransmission(verdict) => verdict,
            Again::Reordered => {
                self.report.reordered_before_capture += 1;
                return None;
            }
        };
        let known = context.known;
        let begins = self.begin(sent, &verdict, known, cwnd, mode);
        if verdict.corrects_probe {
            self.correct_probe();
        }
        let cause = verdict.cause;
        self.report.causes.segments += 1;
        *self.report.causes.of(cause) += 1;
        let mut resent = Resent::new(sent, cause, sent.offset <= known.acked);
        resent.record = self.list(sent, &verdict);
        resent.episode = self.open;
        if let Some(episode) = self.open.and_then(|index| self.report.episodes.get_mut(index)) {
            episode.retransmitted_segments += 1;
            episode.lost_segments += 1;
            episode.timeouts += u64::from(cause == Cause::Timeout);
        }
        if cause == Cause::Timeout {
            self.longest = self.longest.max(verdict.timer.unwrap_or_default());
            self.report.most_backoffs = self.report.most_backoffs.max(verdict.backoffs);
        }
        if self.spurious.resent(resent, context.flow, known) {
            note(&mut self.report, &resent, Evidence::AlreadyAcked, true);
        }
        Some(Repair { cause, begins })
    }

    /// Begins an episode if a retransmission does.
    fn begin(
        &mut self,
        sent: &Sent,
        verdict: &Verdict,
        known: &Known,
        cwnd: Option<u64>,
        mode: &mut Mode,
    ) -> bool {
        let point = known.highest;
        let kind = match (verdict.cause, *mode) {
            (Cause::TailLossProbe, _) => return false,
            (Cause::Timeout, Mode::Loss { .. }) => {
                *mode = Mode::Loss { point };
                return false;
            }
            (Cause::Timeout, _) => EpisodeKind::Timeout,
            (_, Mode::Open) => EpisodeKind::Recovery,
            _ => return false,
        };
        *mode = match kind {
            EpisodeKind::Recovery => Mode::Recovery { point },
            EpisodeKind::Timeout => Mode::Loss { point },
        };
        self.end(sent.at);
        self.ended = None;
        self.open = Some(self.report.episodes.len());
        if self.report.episodes.len() == MAX_LISTED {
            self.report.episodes_not_listed += 1;
            return true;
        }
        self.report.episodes.push(Episode {
            kind,
            begin_s: sent.at.as_secs_f64(),
            end_s: None,
            flight_before_bytes: known.unacked(),
            cwnd_before_bytes: cwnd,
            cwnd_after_bytes: None,
            backoff_ratio: None,
            retransmitted_segments: 0,
            lost_segments: 0,
            timeouts: 0,
            is_spurious: false,
        });
        true
    }

    /// What looked like a probe was the first of timeouts that double.
    fn correct_probe(&mut self) {
        let Some(resent) = self.spurious.correct_last(Cause::TailLossProbe, Cause::Timeout) else {
            return;
        };
        self.report.causes.tail_loss_probe -= 1;
        self.report.causes.timeout += 1;
        if let Some(record) = self.report.list.get_mut(resent.record) {
            record.cause = Cause::Timeout;
        }
        if let Some(episode) = self.open.and_then(|index| self.report.episodes.get_mut(index)) {
            episode.begin_s = resent.at.as_secs_f64();
            episode.retransmitted_segments += 1;
            episode.lost_segments += 1;
            episode.timeouts += 1;
        }
    }

    fn list(&mut self, sent: &Sent, verdict: &Verdict) -> usize {
        if self.report.list.len() == MAX_LISTED {
            self.report.not_listed += 1;
            return usize::MAX;
        }
        self.report.list.push(Retransmission {
            packet: sent.number,
            at_s: sent.at.as_secs_f64(),
            offset: sent.offset,
            bytes: sent.bytes,
            cause: verdict.cause,
            timer_s: verdict.timer.map(Duration::as_secs_f64),
            backoffs: verdict.backoffs,
            spurious: None,
        });
        self.report.list.len() - 1
    }

    /// Takes in an acknowledgement; `before` is what was known before it, `after` afterwards.
    pub(super) fn heard(&mut self, heard: &Heard<'_>, before: &Known, after: &Known, flow: &Flow) {
        let report = &mut self.report;
        self.spurious.heard(heard, before.acked, flow, |resent, evidence, is_news| {
            note(report, resent, evidence, is_news);
        });
        if after.acked > before.acked {
            self.causes.advanced(after.acked);
        }
        if before.mode != Mode::Open && after.mode == Mode::Open {
            self.end(heard.at);
        }
    }

    fn end(&mut self, at: Time) {
        let Some(index) = self.open.take() else { return };
        if let Some(episode) = self.report.episodes.get_mut(index) {
            episode.end_s = Some(at.as_secs_f64());
            self.ended = Some(index);
        }
    }

    /// Takes in the window of the first round after an episode.
    pub(super) fn settled(&mut self, cwnd: u64) {
        let Some(index) = self.ended.take() else { return };
        let Some(episode) = self.report.episodes.get_mut(index) else { return };
        episode.cwnd_after_bytes = Some(cwnd);
        let before = episode.cwnd_before_bytes.filter(|before| *before > 0);
        episode.backoff_ratio = before
            .filter(|_| episode.kind == EpisodeKind::Recovery)
            .map(|before| cwnd as f64 / before as f64);
    }

    /// Whether an episode has ended whose window after it is not known.
    pub(super) fn is_settling(&self) -> bool {
        self.ended.is_some()
    }

    pub(super) fn report(&self) -> LossReport {
        let mut report = self.report.clone();
        report.unexplained_duplicates = self.spurious.unexplained_duplicates;
        let has_timeouts = report.causes.timeout > 0;
        for episode in &mut report.episodes {
            episode.is_spurious = episode.lost_segments == 0;
        }
        report.longest_timeout_s = has_timeouts.then(|| self.longest.as_secs_f64());
        report
    }
}

/// Notes that a retransmission was for nothing.
fn note(report: &mut LossReport, resent: &Resent, evidence: Evidence, is_news: bool) {
    *report.spurious.of(evidence) += 1;
    if !is_news {
        return;
    }
    report.spurious.segments += 1;
    if let Some(record) = report.list.get_mut(resent.record) {
        record.spurious = Some(evidence);
    }
    let episode = resent.episode.and_then(|index| report.episodes.get_mut(index));
    if let Some(episode) = episode {
        episode.lost_segments = episode.lost_segments.saturating_sub(1);
    }
}
