//! Why the sender sent a segment again: what it had heard, and how long it had been silent.

use fairway_units::{Duration, Time};
use serde::Serialize;

use crate::event::{Flow, Sent, SentKind};
use crate::window::view::{Known, Mode};

/// Duplicate acknowledgements that tell of a loss (RFC 5681 section 3.2).
const DUPLICATES: u32 = 3;
/// The smallest silence that a timer ends where no round trip is known. Where one is known it is the smoothed round trip: a probe of the tail waits for
/// two of them, a timeout for one and a margin (RFC 8985 section 7.2, RFC 6298 section 2), while
/// the timer of RACK waits for a quarter of the smallest (RFC 8985 section 6.2).
const SILENCE_UNKNOWN: Duration = SHORTEST_TIMEOUT;
/// Round trips after which no acknowledgement has a segment sent once more: what was sent after it
/// is acknowledged one round trip later, and RACK waits for a quarter of one more (RFC 8985 section
/// 6.2).
const LATE_FOR_ACKS: (u64, u64) = (3, 2);
/// The shortest timeout of stacks in use: Linux's (`TCP_RTO_MIN`); RFC 6298 has a second.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(200);
/// A second timeout comes after twice the first (RFC 6298 rule 5.5), the first after a probe after
/// about as long as that: half way between on a scale of ratios, 1.4.
const DOUBLED: (u64, u64) = (7, 5);
/// Holes remembered.
const HOLES: usize = 1024;
/// Part of the smallest round trip within which a hole cannot have been filled by a
/// retransmission: news of it has to reach the sender and the answer to come back.
const REORDERED: (u64, u64) = (3, 4);

/// Why a segment was sent again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Three duplicate acknowledgements: the first segment of a fast retransmit (RFC 5681).
    Fast,
    /// An acknowledgement, in recovery, that ends below its end: without SACK (RFC 6582).
    PartialAck,
    /// Selective acknowledgements above it, counted (RFC 6675) or timed (RACK, RFC 8985).
    Sack,
    /// The retransmission timer (RFC 6298).
    Timeout,
    /// Slow start after a timeout: what was outstanding when the timer expired.
    AfterTimeout,
    /// A probe of the tail (TLP, RFC 8985 section 7).
    TailLossProbe,
    /// Nothing that the capture shows.
    Unknown,
}

/// What a segment is that holds bytes which were seen, or missed, before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Again {
    /// A retransmission.
    Retransmission(Verdict),
    /// The network before the capture has put it behind later ones.
    Reordered,
}

/// Why a segment was sent again, and the timer if it was one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Verdict {
    /// Why.
    pub cause: Cause,
    /// Length of the timer.
    pub timer: Option<Duration>,
    /// How many times it had been doubled.
    pub backoffs: u32,
    /// Whether the probe before was not one, but the first of timeouts that double.
    pub corrects_probe: bool,
}

/// A stretch of the stream that later segments have overtaken, or that was lost before the
/// capture.
#[derive(Clone, Copy, Debug)]
struct Hole {
    from: i64,
    to: i64,
    at: Time,
    timestamp: Option<u32>,
}

/// State when a segment leaves.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    /// State of the direction by the capture.
    pub flow: &'a Flow,
    /// State of the sender before it.
    pub known: &'a Known,
    /// Whether an acknowledgement has just reached the sender.
    pub is_clocked: bool,
    /// The sender's smoothed round trip.
    pub round_trip: Option<Duration>,
}

/// The last segment that a timer sent.
#[derive(Clone, Copy, Debug)]
struct Timer {
    at: Time,
    offset: i64,
    waited: Duration,
    is_probe: bool,
    /// Whether it could have been either.
    is_ambiguous: bool,
    backoffs: u32,
}

/// Classifies what is sent again.
#[derive(Clone, Debug, Default)]
pub(super) struct Causes {
    holes: Vec<Hole>,
    /// Whether the sender was seen to let a timer expire where one that probes would have probed.
    never_probes: bool,
    timer: Option<Timer>,
}

impl Causes {
    /// Takes in an acknowledgement of something new up to `offset`.
    pub(super) fn advanced(&mut self, offset: i64) {
        self.timer = self.timer.filter(|timer| timer.offset >= offset);
        if !self.holes.is_empty() {
            self.holes.retain(|hole| hole.to > offset);
        }
    }

    /// Takes in a segment. None if it is new.
    pub(super) fn sent(&mut self, sent: &Sent, context: &Context<'_>) -> Option<Again> {
        match sent.kind {
            SentKind::New => {
                self.note_hole(sent, context.known);
                None
            }
            SentKind::WindowProbe | SentKind::KeepAlive => None,
            SentKind::Retransmission => {
                Some(Again::Retransmission(self.verdict(sent, context, sent.previous)))
            }
            SentKind::FillsHole => {
                let hole = self.take_hole(sent);
                if hole.is_some_and(|hole| is_reordered(sent, context.flow, &hole)) {
                    return Some(Again::Reordered);
                }
                let seen_at = hole.map(|hole| hole.at);
                Some(Again::Retransmission(self.verdict(sent, context, seen_at)))
            }
        }
    }

    fn note_hole(&mut self, sent: &Sent, known: &Known) {
        if sent.offset > known.highest && known.last_sent.is_some() {
            if self.holes.len() == HOLES {
                self.holes.remove(0);
            }
            let timestamp = sent.timestamps.map(|(value, _)| value);
            let (from, to, at) = (known.highest, sent.offset, sent.at);
            self.holes.push(Hole { from, to, at, timestamp });
        }
    }

    fn take_hole(&mut self, sent: &Sent) -> Option<Hole> {
        let end = sent.offset.saturating_add(i64::from(sent.bytes));
        let index = self.holes.iter().position(|hole| hole.from < end && sent.offset < hole.to)?;
        let hole = self.holes[index];
        let left = Hole { to: sent.offset, ..hole };
        let right = Hole { from: end, ..hole };
        let rest = [left, right].into_iter().filter(|hole| hole.from < hole.to);
        self.holes.splice(index..=index, rest);
        self.holes.truncate(HOLES);
        Some(hole)
    }

    fn verdict(&mut self, sent: &Sent, context: &Context<'_>, previous: Option<Time>) -> Verdict {
        let Context { flow, known, .. } = *context;
        let plain = |cause| Verdict { cause, timer: None, backoffs: 0, corrects_probe: false };
        if (is_by_timer(sent, context) || is_again(sent, context, previous))
            && let Some(verdict) = self.by_timer(sent, context, previous)
        {
            return verdict;
        }
        let is_head = sent.offset <= known.acked;
        plain(match known.mode {
            Mode::Loss { .. } => Cause::AfterTimeout,
            Mode::Open if known.duplicates >= DUPLICATES && is_head => Cause::Fast,
            _ if sent.sacked_above_bytes > 0 => Cause::Sack,
            // What was sent again after it has been delivered, and it has not (RFC 8985).
            _ if flow.has_sack && known.has_delivered_again && known.last_resent > previous => {
                Cause::Sack
            }
            Mode::Recovery { .. } if flow.has_sack => Cause::Sack,
            Mode::Recovery { .. } if is_head => Cause::PartialAck,
            _ => Cause::Unknown,
        })
    }

    /// What a timer has sent: the oldest segment if it was that of retransmission, the newest if
    /// it was that of the probe. None if it is neither.
    fn by_timer(
        &mut self,
        sent: &Sent,
        context: &Context<'_>,
        previous: Option<Time>,
    ) -> Option<Verdict> {
        let Context { flow, known, .. } = *context;
        let is_head = sent.offset <= known.acked;
        let end = sent.offset.saturating_add(i64::from(sent.bytes));
        let is_tail = end >= known.highest;
        if !is_head && !is_tail {
            return None;
        }
        // The timer runs from the last news, or from when the oldest segment was sent last.
        let since = [known.last_advance, previous, self.timer.map(|timer| timer.at)];
        let since = since.into_iter().flatten().max();
        let waited = since.map_or(Duration::ZERO, |since| sent.at.since(since));
        let before = self.timer.filter(|timer| timer.offset >= known.acked);
        let may_probe = flow.has_sack && known.mode == Mode::Open && before.is_none();
        // Where the only segment that is outstanding could be either, what was sent again before
        // is not probed.
        let is_timed = self.never_probes || sent.transmissions > 2;
        let is_probe = is_tail && may_probe && !(is_head && is_timed);
        self.never_probes |= may_probe && !is_tail;
        let doubled = |timer: &Timer| {
            waited.saturating_mul(DOUBLED.1) >= timer.waited.saturating_mul(DOUBLED.0)
        };
        let corrects_probe = before.is_some_and(|timer| timer.is_ambiguous && doubled(&timer));
        let backoffs = match before {
            _ if is_probe => 0,
            Some(timer) if !timer.is_probe || corrects_probe => timer.backoffs.saturating_add(1),
            _ => 0,
        };
        self.timer = Some(Timer {
            at: sent.at,
            offset: sent.offset,
            waited,
            is_probe,
            is_ambiguous: is_probe && is_head,
            backoffs,
        });
        let cause = if is_probe { Cause::TailLossProbe } else { Cause::Timeout };
        Some(Verdict { cause, timer: Some(waited), backoffs, corrects_probe })
    }
}

/// Whether the sender has neither heard nor sent anything for so long that only a timer can have
/// sent this.
fn is_by_timer(sent: &Sent, context: &Context<'_>) -> bool {
    let last = context.known.last_heard.max(context.known.last_sent);
    let silence = last.map_or(Duration::ZERO, |last| sent.at.since(last));
    !context.is_clocked && silence >= context.round_trip.unwrap_or(SILENCE_UNKNOWN)
}

/// Whether the oldest segment is sent in repair though nothing new was acknowledged for so long
/// that a timer has sent it: without SACK, acknowledgements alone make no sender do that, and with
/// it they do when news of what was sent later is back.
fn is_again(sent: &Sent, context: &Context<'_>, previous: Option<Time>) -> bool {
    let Context { flow, known, is_clocked, round_trip } = *context;
    let Some(previous) = previous else { return false };
    let is_in_repair = known.mode != Mode::Open && sent.offset <= known.acked;
    // Any timer has begun again since.
    let since = known.last_advance.map_or(previous, |advance| advance.max(previous));
    let waited = sent.at.since(since);
    let round_trip = round_trip.unwrap_or(Duration::ZERO);
    let is_too_late_for_acks =
        waited.saturating_mul(LATE_FOR_ACKS.1) >= round_trip.saturating_mul(LATE_FOR_ACKS.0);
    is_in_repair
        && (!flow.has_sack || !is_clocked || is_too_late_for_acks)
        && waited >= round_trip.max(SHORTEST_TIMEOUT)
}

/// Whether a segment was sent before those that have passed it: by its timestamp, or because no
/// retransmission could have been there so soon.
fn is_reordered(sent: &Sent, flow: &Flow, hole: &Hole) -> bool {
    if let (Some((value, _)), Some(later)) = (sent.timestamps, hole.timestamp) {
        let behind = later.wrapping_sub(value) as i32;
        if behind != 0 {
            return behind > 0;
        }
    }
    let whole = match (flow.sender_rtt, flow.receiver_rtt) {
        (Some(near), Some(far)) => Some(near + far),
        _ => flow.min_rtt,
    };
    let age = sent.at.since(hole.at);
    whole.is_some_and(|rtt| age.saturating_mul(REORDERED.1) < rtt.saturating_mul(REORDERED.0))
}
