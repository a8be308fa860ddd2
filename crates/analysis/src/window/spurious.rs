//! Which retransmissions were for nothing, as what came back shows afterwards.

use std::collections::VecDeque;

use fairway_units::{Duration, Time};
use serde::Serialize;

use crate::event::{Flow, Sent};
use crate::window::causes::Cause;
use crate::window::view::{Heard, Known};

/// Retransmissions remembered: a D-SACK comes a round trip after one, in which rarely more are sent.
const REMEMBERED: usize = 1024;
/// How long one is remembered that was acknowledged: four round trips, and no less than a second.
const KEPT: Duration = Duration::from_secs(1);
/// Part of the smallest round trip within which an acknowledgement cannot be for what was sent: as
/// in RFC 3522's reasoning, it is then for the original.
const TOO_SOON: (u64, u64) = (3, 4);

/// Evidence that a retransmission was spurious.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The receiver reported that it came twice (D-SACK, RFC 2883, RFC 3708).
    Dsack,
    /// The acknowledgement echoed the timestamp of the original (Eifel, RFC 3522).
    Timestamps,
    /// After a timeout, what had not been sent again was acknowledged (F-RTO, RFC 5682).
    Frto,
    /// It was acknowledged sooner than a segment can get there and an acknowledgement back.
    EarlyAck,
    /// It was acknowledged before it passed the capture.
    AlreadyAcked,
}

/// A retransmission whose fate is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resent {
    pub offset: i64,
    pub end: i64,
    pub at: Time,
    pub timestamp: Option<u32>,
    pub cause: Cause,
    /// Whether it was the oldest that was outstanding: the echo is of what fills the left edge.
    pub is_head: bool,
    pub is_acked: bool,
    /// Where it stands in the list of retransmissions, and in that of episodes.
    pub record: usize,
    pub episode: Option<usize>,
    pub found: Option<Evidence>,
    has_dsack: bool,
}

impl Resent {
    pub(super) fn new(sent: &Sent, cause: Cause, is_head: bool) -> Resent {
        Resent {
            offset: sent.offset,
            end: sent.offset.saturating_add(i64::from(sent.bytes)),
            at: sent.at,
            timestamp: sent.timestamps.map(|(value, _)| value),
            cause,
            is_head,
            is_acked: false,
            record: usize::MAX,
            episode: None,
            found: None,
            has_dsack: false,
        }
    }
}

/// F-RTO's view of a timeout (RFC 5682 section 2.1, and 3.1 with SACK).
#[derive(Clone, Copy, Debug)]
struct Frto {
    /// The outstanding segments.
    point: i64,
    /// How far the first acknowledgement after it went.
    first: Option<i64>,
}

/// Follows retransmissions until it shows whether they were needed.
#[derive(Clone, Debug, Default)]
pub(super) struct Spurious {
    recent: VecDeque<Resent>,
    unacked: usize,
    frto: Option<Frto>,
    /// Reports of duplicates that no retransmission explains.
    pub unexplained_duplicates: u64,
}

impl Spurious {
    /// Takes in a retransmission; tells whether it is too late already.
    pub(super) fn resent(&mut self, mut resent: Resent, flow: &Flow, known: &Known) -> bool {
        let is_late = resent.end <= flow.acked_offset;
        if is_late {
            resent.found = Some(Evidence::AlreadyAcked);
            resent.is_acked = true;
        }
        self.frto = match resent.cause {
            Cause::Timeout => Some(Frto { point: known.highest, first: None }),
            // Anything else that is sent again ends the algorithm.
            _ => None,
        };
        if self.recent.len() == REMEMBERED
            && let Some(old) = self.recent.pop_front()
        {
            self.unacked -= usize::from(!old.is_acked);
        }
        self.unacked += usize::from(!resent.is_acked);
        self.recent.push_back(resent);
        is_late
    }

    /// Corrects the cause of the last one.
    pub(super) fn correct_last(&mut self, from: Cause, to: Cause) -> Option<Resent> {
        let last = self.recent.iter_mut().rev().find(|resent| resent.cause == from)?;
        last.cause = to;
        Some(*last)
    }

    /// Takes in an acknowledgement; `acked` is how far it was acknowledged before. Calls `found`
    /// for each retransmission that it shows to have been for nothing, with whether that was not
    /// known of it before.
    pub(super) fn heard(
        &mut self,
        heard: &Heard<'_>,
        acked: i64,
        flow: &Flow,
        mut found: impl FnMut(&Resent, Evidence, bool),
    ) {
        if self.recent.is_empty() {
            self.unexplained_duplicates += u64::from(heard.acked.dsack.is_some());
            return;
        }
        let mut find = |resent: &mut Resent, evidence| {
            let is_news = resent.found.is_none();
            resent.found = resent.found.or(Some(evidence));
            found(resent, evidence, is_news);
        };
        if let Some((from, to)) = heard.acked.dsack {
            let mut left = to.saturating_sub(from);
            for resent in self.recent.iter_mut().rev() {
                if left > 0 && !resent.has_dsack && resent.offset < to && from < resent.end {
                    resent.has_dsack = true;
                    left = left.saturating_sub(resent.end.saturating_sub(resent.offset).max(1));
                    find(resent, Evidence::Dsack);
                }
            }
            if left == to.saturating_sub(from) {
                self.unexplained_duplicates = self.unexplained_duplicates.saturating_add(1);
            }
        }
        if self.frto_says_spurious(heard, flow)
            && let Some(resent) =
                self.recent.iter_mut().rev().find(|resent| resent.cause == Cause::Timeout)
        {
            find(resent, Evidence::Frto);
        }
        if heard.acked.offset <= acked || self.unacked == 0 {
            return;
        }
        for resent in self.recent.iter_mut() {
            if resent.is_acked || resent.end > heard.acked.offset {
                continue;
            }
            resent.is_acked = true;
            self.unacked -= 1;
            if let Some(evidence) = answer_to_original(resent, heard, acked, flow) {
                find(resent, evidence);
            }
        }
        let kept = flow.srtt.map_or(KEPT, |srtt| KEPT.max(srtt.saturating_mul(4)));
        while self.recent.front().is_some_and(|old| old.is_acked && heard.at.since(old.at) > kept) {
            self.recent.pop_front();
        }
    }

    /// Whether an acknowledgement shows that what was outstanding at a timeout has arrived though
    /// it was not sent again.
    fn frto_says_spurious(&mut self, heard: &Heard<'_>, flow: &Flow) -> bool {
        let Some(frto) = self.frto else { return false };
        let acked = heard.acked;
        let is_below = acked.offset < frto.point && acked.highest_sacked_offset <= frto.point;
        if flow.has_sack {
            let originals = acked.delivered_bytes.saturating_sub(acked.delivered_again_bytes);
            if is_below && originals > 0 {
                self.frto = None;
                return true;
            }
            if !is_below {
                self.frto = None;
            }
            return false;
        }
        match frto.first {
            None if acked.acked_bytes > 0 && is_below => {
                self.frto = Some(Frto { first: Some(acked.offset), ..frto });
                false
            }
            None => {
                self.frto = None;
                false
            }
            Some(first) => {
                self.frto = None;
                acked.offset > first
            }
        }
    }
}

/// What shows that an acknowledgement is for the original and not for what was sent again.
fn answer_to_original(
    resent: &Resent,
    heard: &Heard<'_>,
    acked: i64,
    flow: &Flow,
) -> Option<Evidence> {
    let fills_edge = resent.is_head && resent.offset <= acked;
    if let (true, Some(value), Some((_, echo))) =
        (fills_edge, resent.timestamp, heard.acked.timestamps)
        && (echo.wrapping_sub(value) as i32) < 0
    {
        return Some(Evidence::Timestamps);
    }
    let took = heard.acked.at.since(resent.at);
    let least = flow.min_rtt?;
    (took.saturating_mul(TOO_SOON.1) < least.saturating_mul(TOO_SOON.0))
        .then_some(Evidence::EarlyAck)
}
