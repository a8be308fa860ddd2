//! The sender as far as a capture shows it: what it must have made of each acknowledgement, told to
//! every hypothesis alike.
//!
//! Of the stack it supposes what Linux 6.1 does (`net/ipv4/tcp_input.c`). Whether a loss was found
//! shows in what leaves next; so an acknowledgement is worked through when something follows it.

use fairway_cc::{Ack, Flow, Phase, Signal, Timestamps};
use fairway_units::{Duration, Time};

use super::hypothesis::{Hypothesis, Round};
use super::scoreboard::{AckSummary, Scoreboard};
use crate::event::{Acked, Sent, SentKind};

/// Offset of the stream's first byte in positions without a sign.
const ORIGIN: i64 = 1 << 32;
/// The receive window is what limits if less than this is left of it, segments.
const WINDOW_LEFT_SEGMENTS: u64 = 3;

/// An acknowledgement that is not worked through yet.
struct Pending {
    ack: Ack,
    flow: Flow,
    ends_episode: bool,
    /// Whether another episode begins at once: losses remain.
    goes_on: bool,
    has_ece: bool,
}

/// The sender.
pub struct Replica {
    /// The outstanding segments.
    pub board: Scoreboard,
    mss: u32,
    srtt: Option<Duration>,
    phase: Phase,
    /// The episode ends when this is acknowledged.
    recover: i64,
    retransmissions: u32,
    duplicates: u32,
    pending: Option<Pending>,
    last_ack_at: Time,
    window_bytes: u64,
    /// Most in flight in the round before, if it was outside an episode.
    last_most: u64,
    /// Most that was outstanding in this round and the one before.
    most_outstanding: u64,
    last_most_outstanding: u64,
    round: RoundSoFar,
    /// Whether the next round that shows the window is the first after an episode.
    is_after_episode: bool,
}

/// A round so far.
#[derive(Clone, Copy, Debug, Default)]
struct RoundSoFar {
    end: i64,
    most: u64,
    first: u64,
    delivered: u64,
    is_blind: bool,
}

impl Replica {
    /// Nothing sent yet.
    pub fn new(mss: u32) -> Self {
        Replica {
            board: Scoreboard::default(),
            mss: mss.max(1),
            srtt: None,
            phase: Phase::Open,
            recover: 0,
            retransmissions: 0,
            duplicates: 0,
            pending: None,
            last_ack_at: Time::ZERO,
            window_bytes: u64::MAX,
            last_most: 0,
            most_outstanding: 0,
            last_most_outstanding: 0,
            // Nobody is asked before the first acknowledgement.
            round: RoundSoFar { is_blind: true, ..RoundSoFar::default() },
            is_after_episode: false,
        }
    }

    /// The handshake has measured a round trip.
    pub fn sample_handshake(&mut self, rtt: Duration) {
        self.srtt = Some(rtt);
        self.board.min_rtt = Some(rtt);
    }

    /// A segment left.
    pub fn sent(&mut self, sent: &Sent, hypotheses: &mut [Hypothesis]) {
        match sent.kind {
            SentKind::New => self.sent_new(sent, hypotheses),
            SentKind::Retransmission | SentKind::FillsHole => self.sent_again(sent, hypotheses),
            SentKind::WindowProbe | SentKind::KeepAlive => {}
        }
    }

    fn sent_new(&mut self, sent: &Sent, hypotheses: &mut [Hypothesis]) {
        self.work(false, hypotheses);
        if self.board.is_empty() && self.board.delivered > 0 {
            // Nothing was left to send.
            self.round.is_blind = true;
        }
        self.board.sent(sent.offset, sent.bytes, sent.at);
        let pipe = self.board.pipe;
        if sent.bytes < self.mss {
            self.round.is_blind = true;
        }
        let outstanding = (self.board.nxt - self.board.una).max(0) as u64;
        self.most_outstanding = self.most_outstanding.max(outstanding);
        let left = self.window_bytes.saturating_sub(outstanding);
        if left < WINDOW_LEFT_SEGMENTS * u64::from(self.mss) {
            self.round.is_blind = true;
        }
        if pipe > self.round.most && matches!(self.phase, Phase::Open) {
            self.round.most = pipe;
            hypotheses.iter_mut().for_each(Hypothesis::note);
        }
    }

    fn sent_again(&mut self, sent: &Sent, hypotheses: &mut [Hypothesis]) {
        let is_answer = self.pending.is_some();
        let goes_on = self.pending.as_ref().is_some_and(|pending| pending.goes_on);
        let has_evidence = self.board.has_sacked() || self.phase == Phase::Recovery;
        let may_enter = matches!(self.phase, Phase::Open | Phase::Disorder | Phase::Cwr);
        let enters = may_enter && has_evidence;
        self.work(enters && is_answer, hypotheses);
        if goes_on {
            // The episode has begun already.
        } else if enters && !is_answer {
            // The wait for reordering is over (`tcp_rack_reo_timeout`).
            self.enter(Signal::Loss, sent.at, hypotheses);
        } else if !enters && !is_answer && !self.board.is_tail(sent.offset, sent.bytes) {
            self.time_out(sent, hypotheses);
        }
        self.retransmissions += 1;
        self.round.is_blind = true;
        self.board.sent_again(sent.offset, sent.bytes, sent.at);
    }

    fn time_out(&mut self, sent: &Sent, hypotheses: &mut [Hypothesis]) {
        let waited = sent.at.since(self.last_ack_at);
        // Linux's smallest timeout is 200 ms and a round trip; in recovery only a timer is so late.
        let least = self.srtt.unwrap_or(Duration::ZERO) + Duration::from_millis(150);
        if waited < least || sent.offset > self.board.una {
            return;
        }
        let first =
            matches!(self.phase, Phase::Open | Phase::Disorder) || self.board.una >= self.recover;
        let flight = self.board.pipe;
        self.board.lose_all();
        self.phase = Phase::Loss;
        let flow = self.flow(flight, sent.at);
        hypotheses.iter_mut().for_each(|hypothesis| hypothesis.timed_out(first, &flow));
        self.recover = self.board.nxt;
        self.retransmissions = 0;
        self.duplicates = 0;
    }

    /// An acknowledgement arrived.
    pub fn acked(&mut self, acked: &Acked, hypotheses: &mut [Hypothesis]) {
        self.work(false, hypotheses);
        self.window_bytes = acked.window_bytes;
        if acked.offset > self.round.end {
            self.end_round(acked.at, hypotheses);
        }
        let prior_flight = self.board.pipe;
        let recovering = matches!(self.phase, Phase::Recovery | Phase::Loss);
        let summary = self.board.acked(acked.offset, acked.sack_blocks(), recovering, acked.at);
        let rtt = summary.rtt.or(acked.timestamp_rtt.filter(|_| summary.acked > 0));
        self.smooth(rtt);
        self.duplicates += u32::from(acked.dsack.is_some());
        self.undo_if_spurious(acked.at, hypotheses);
        let ends_episode = summary.acked > 0 && self.is_at_end(acked.offset);
        let flow = self.flow(prior_flight, acked.at);
        if ends_episode {
            self.phase = Phase::Open;
            self.is_after_episode = true;
            self.begin_round();
            self.last_most = 0;
            hypotheses.iter_mut().for_each(|hypothesis| hypothesis.begin_round(acked.at));
        }
        let ack = self.ack(acked, &summary, rtt);
        self.last_ack_at = acked.at;
        // `tcp_time_to_recover`: what was sent again in the episode and has not arrived counts.
        let goes_on = ends_episode && self.board.has_losses();
        let has_ece = acked.has_ece;
        self.pending = Some(Pending { ack, flow, ends_episode, goes_on, has_ece });
    }

    fn ack(&self, acked: &Acked, summary: &AckSummary, rtt: Option<Duration>) -> Ack {
        let stamps = acked.timestamps;
        let may_raise = summary.acked > 0
            && matches!(self.phase, Phase::Open | Phase::Disorder | Phase::Loss)
            && !self.is_held_by_receiver();
        Ack {
            acked: summary.acked,
            delivered: summary.delivered,
            lost: summary.lost,
            ce: if acked.has_ece { summary.delivered } else { 0 },
            rtt,
            one_way_delay_ms: stamps
                .filter(|_| summary.acked > 0)
                .map(|(value, echo)| value.wrapping_sub(echo)),
            timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
            rate: summary.rate,
            may_raise,
            may_grow: may_raise,
            is_plain: self.phase == Phase::Open,
        }
    }

    fn is_held_by_receiver(&self) -> bool {
        let outstanding = (self.board.nxt - self.board.una).max(0) as u64;
        outstanding + WINDOW_LEFT_SEGMENTS * u64::from(self.mss) > self.window_bytes
    }

    fn is_at_end(&self, offset: i64) -> bool {
        match self.phase {
            Phase::Open | Phase::Disorder => false,
            Phase::Cwr => offset > self.recover,
            Phase::Recovery | Phase::Loss => offset >= self.recover,
        }
    }

    /// Tells hypotheses of the acknowledgement that came last; `enters` if a loss was found by it.
    fn work(&mut self, enters: bool, hypotheses: &mut [Hypothesis]) {
        let Some(pending) = self.pending.take() else { return };
        let Pending { mut ack, flow, ends_episode, goes_on, has_ece } = pending;
        let enters = enters || goes_on;
        let marked = has_ece && !enters && matches!(self.phase, Phase::Open | Phase::Disorder);
        ack.may_raise &= !enters && !marked;
        ack.may_grow &= ack.may_raise;
        let most = self.most_outstanding.max(self.last_most_outstanding);
        for hypothesis in hypotheses.iter_mut() {
            hypothesis.acked(&ack, ends_episode, most, &flow);
        }
        if enters {
            self.enter(Signal::Loss, flow.now, hypotheses);
        } else if marked {
            self.enter(Signal::Ecn, flow.now, hypotheses);
        }
    }

    fn enter(&mut self, signal: Signal, at: Time, hypotheses: &mut [Hypothesis]) {
        let flow = self.flow(self.board.pipe, at);
        let most = self.round.most.max(self.last_most);
        // A reduction that is under way is enough.
        if self.phase != Phase::Cwr {
            hypotheses.iter_mut().for_each(|hypothesis| hypothesis.congested(signal, most, &flow));
            self.retransmissions = 0;
            self.duplicates = 0;
        }
        self.phase = if signal == Signal::Loss { Phase::Recovery } else { Phase::Cwr };
        self.recover = self.board.nxt;
        self.round.is_blind = true;
    }

    /// Linux takes a reduction back when everything that was sent again had arrived before.
    fn undo_if_spurious(&mut self, at: Time, hypotheses: &mut [Hypothesis]) {
        if self.retransmissions == 0 || self.duplicates < self.retransmissions {
            return;
        }
        let flow = self.flow(self.board.pipe, at);
        hypotheses.iter_mut().for_each(|hypothesis| hypothesis.undone(&flow));
        self.retransmissions = 0;
    }

    fn end_round(&mut self, at: Time, hypotheses: &mut [Hypothesis]) {
        let delivered = self.board.delivered;
        let is_open = self.phase == Phase::Open;
        let round = Round {
            most_bytes: self.round.most,
            first_bytes: self.round.first,
            last_bytes: self.board.pipe,
            delivered_bytes: delivered - self.round.delivered,
            is_after_episode: self.is_after_episode,
            is_blind: self.round.is_blind || !is_open || self.round.most == 0,
        };
        let flow = self.flow(self.board.pipe, at);
        hypotheses.iter_mut().for_each(|hypothesis| hypothesis.judge(&round, &flow));
        self.is_after_episode &= round.is_blind;
        self.last_most = self.round.most;
        self.last_most_outstanding = std::mem::take(&mut self.most_outstanding);
        self.begin_round();
    }

    fn begin_round(&mut self) {
        self.round = RoundSoFar {
            end: self.board.nxt,
            most: 0,
            first: self.board.pipe,
            delivered: self.board.delivered,
            is_blind: false,
        };
    }

    fn smooth(&mut self, rtt: Option<Duration>) {
        let Some(rtt) = rtt else { return };
        // RFC 6298 rule 2.3.
        self.srtt = Some(match self.srtt {
            None => rtt,
            Some(srtt) => Duration::from_nanos((7 * srtt.as_nanos() + rtt.as_nanos()) / 8),
        });
    }

    /// The connection as the algorithm sees it.
    pub fn flow(&self, prior_flight: u64, now: Time) -> Flow {
        let position = |offset: i64| (offset + ORIGIN).max(0) as u64;
        let phase = if self.phase == Phase::Open && self.board.has_sacked() {
            Phase::Disorder
        } else {
            self.phase
        };
        Flow {
            now,
            mss: self.mss,
            pipe: prior_flight,
            in_flight: self.board.pipe,
            srtt: self.srtt,
            min_rtt: self.board.min_rtt,
            snd_una: position(self.board.una),
            snd_nxt: position(self.board.nxt),
            snd_max: position(self.board.nxt),
            delivered: self.board.delivered,
            lost: self.board.lost,
            pacing_delay: Duration::ZERO,
            phase,
        }
    }
}
