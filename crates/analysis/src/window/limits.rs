//! Causes of a sender's waiting.
//!
//! The classes are those of Y. Zhang et al., "On the characteristics and origins of Internet flow
//! rates", SIGCOMM 2002 (T-RAT), and of M. Siekkinen et al., "Root cause analysis for long-lived
//! TCP connections", CoNEXT 2005; time is dealt to them wait by wait, from one segment to the next.

use fairway_units::{Duration, Time};
use serde::Serialize;

use crate::event::{Sent, SentKind};
use crate::window::causes::Cause;
use crate::window::view::Known;

/// Waits after which those without an acknowledgement at their end are judged together.
const JUDGED: u32 = 16;
/// Waits at the least that make a rhythm.
const RHYTHM: u32 = 4;
/// Standard deviation over mean of the rate between bursts below which a clock has sent them, and
/// not an application.
const EVEN: f64 = 0.4;
/// Rounds in a row with the same window that make it a constant one: Reno would have grown by as
/// many segments, where one is allowed.
const CONSTANT_ROUNDS: u32 = 8;
/// Part of the receive window from which a window that does not change is the receive window: a host
/// that sends several segments at once leaves some room.
const IS_RECEIVE_WINDOW: f64 = 0.95;
/// Part of the estimated window that the sender has to have used for the window to be what it
/// waited for, if everything was acknowledged before it sent on.
const USED: f64 = 0.8;

/// Limits of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The receive window.
    ReceiveWindow,
    /// The congestion window.
    CongestionWindow,
    /// A window that does not change: the send buffer, a clamp, or a congestion control at rest.
    ConstantWindow,
    /// The application: it had nothing to send.
    Application,
    /// The rate at which the sender lets segments out.
    Pacing,
    /// A timer that had to expire because acknowledgements stayed away.
    Timeout,
}

/// All limits, in the order of [`Limit`].
const LIMITS: [Limit; 6] = [
    Limit::ReceiveWindow,
    Limit::CongestionWindow,
    Limit::ConstantWindow,
    Limit::Application,
    Limit::Pacing,
    Limit::Timeout,
];

/// Shares of the time from the first segment to the last, by what the sender waited for; they add
/// up to 1, or are all 0 if no time has passed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct LimitShares {
    /// For room in the receive window.
    pub receive_window: f64,
    /// For room in the congestion window.
    pub congestion_window: f64,
    /// For room in a window that did not change.
    pub constant_window: f64,
    /// For the application.
    pub application: f64,
    /// For its own clock.
    pub pacing: f64,
    /// For a timer.
    pub timeout: f64,
}

/// Waits without an acknowledgement at their end: an application's, or a clock's.
#[derive(Clone, Copy, Debug, Default)]
struct Unclocked {
    nanos: u64,
    count: u32,
    /// Sums of the rates in bytes per second, and of their squares.
    sum: f64,
    squares: f64,
}

impl Unclocked {
    fn limit(&self) -> Limit {
        let count = f64::from(self.count.max(1));
        let mean = self.sum / count;
        let variance = (self.squares / count - mean * mean).max(0.0);
        let is_even = self.count >= RHYTHM && variance.sqrt() < EVEN * mean;
        if is_even { Limit::Pacing } else { Limit::Application }
    }
}

/// Deals time to limits.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    nanos: [u64; LIMITS.len()],
    last_sent: Option<Time>,
    /// State when the sender stopped.
    had_room: bool,
    was_small: bool,
    pipe: u64,
    /// Bytes sent since the last wait.
    burst: u64,
    unclocked: Unclocked,
    /// Time in rounds with the same window, not dealt yet; how many; and their window.
    constant_nanos: u64,
    constant_rounds: u32,
    constant_window: u64,
    /// The receive window, if one was announced.
    receive_window: Option<u64>,
    /// The window of the longest such time, and how long that was.
    longest_constant: (u64, u64),
    /// Largest window in this round, and where the round ends.
    round_largest: u64,
    round_end: i64,
    pub last: Option<Limit>,
}

/// A wait that ends with a segment.
pub(super) struct Wait<'a> {
    /// The segment.
    pub sent: &'a Sent,
    /// State of the sender before it.
    pub known: &'a Known,
    /// Why, if it is a retransmission.
    pub cause: Option<Cause>,
    /// Whether an acknowledgement had just reached the sender.
    pub is_clocked: bool,
    /// Spans below which segments belong to one burst.
    pub burst: Duration,
    /// The window by estimate.
    pub cwnd: Option<u64>,
    /// Payload of a full segment.
    pub mss: u64,
    /// Whether the segment has less than that at its end.
    pub is_small: bool,
}

impl Limits {
    /// Takes in a segment that leaves.
    pub(super) fn sent(&mut self, wait: &Wait<'_>) {
        let Some(last_sent) = self.last_sent else {
            self.note(wait);
            return;
        };
        let span = wait.sent.at.since(last_sent);
        if !wait.known.has_heard && span <= wait.burst {
            let limit = self.last.unwrap_or(Limit::CongestionWindow);
            self.add(limit, span);
            self.note(wait);
            return;
        }
        let limit = self.limit_of(wait);
        match limit {
            Some(limit) => {
                self.add(limit, span);
                self.last = Some(limit);
            }
            None => self.add_unclocked(span),
        }
        self.burst = 0;
        self.note(wait);
    }

    /// The event that ended the wait before a segment; none if nothing arrived.
    fn limit_of(&self, wait: &Wait<'_>) -> Option<Limit> {
        if matches!(wait.cause, Some(Cause::Timeout | Cause::TailLossProbe)) {
            return Some(Limit::Timeout);
        }
        let probes = matches!(wait.sent.kind, SentKind::WindowProbe);
        if probes || (!self.had_room && wait.is_clocked) {
            return Some(Limit::ReceiveWindow);
        }
        if wait.sent.kind == SentKind::KeepAlive {
            return Some(Limit::Application);
        }
        let is_drained = wait.known.unacked() == 0;
        let used = wait.cwnd.is_none_or(|cwnd| self.pipe as f64 >= USED * cwnd as f64);
        if self.was_small || (is_drained && !(used && wait.is_clocked)) {
            return Some(Limit::Application);
        }
        wait.is_clocked.then_some(Limit::CongestionWindow)
    }

    fn add_unclocked(&mut self, span: Duration) {
        let seconds = span.as_secs_f64();
        if seconds > 0.0 {
            let bytes_per_second = self.burst as f64 / seconds;
            self.unclocked.sum += bytes_per_second;
            self.unclocked.squares += bytes_per_second * bytes_per_second;
            self.unclocked.count += 1;
        }
        self.unclocked.nanos = self.unclocked.nanos.saturating_add(span.as_nanos());
        if self.unclocked.count >= JUDGED {
            self.judge_unclocked();
        }
    }

    fn judge_unclocked(&mut self) {
        let unclocked = std::mem::take(&mut self.unclocked);
        if unclocked.nanos > 0 {
            let limit = unclocked.limit();
            self.add(limit, Duration::from_nanos(unclocked.nanos));
            self.last = Some(limit);
        }
    }

    fn add(&mut self, limit: Limit, span: Duration) {
        let nanos = match limit {
            Limit::CongestionWindow => &mut self.constant_nanos,
            limit => &mut self.nanos[limit as usize],
        };
        *nanos = nanos.saturating_add(span.as_nanos());
    }

    fn note(&mut self, wait: &Wait<'_>) {
        let after = {
            let mut known = *wait.known;
            known.sent(wait.sent);
            known
        };
        self.last_sent = Some(self.last_sent.map_or(wait.sent.at, |last| last.max(wait.sent.at)));
        self.receive_window = after.has_window.then_some(after.window);
        self.had_room = after.receive_window_left() >= wait.mss;
        self.was_small = wait.is_small && self.had_room;
        self.pipe = after.pipe();
        self.burst = self.burst.saturating_add(u64::from(wait.sent.bytes));
        self.round_largest = self.round_largest.max(self.pipe);
        if wait.cause.is_some() {
            self.end_constant();
        }
        if after.acked >= self.round_end {
            self.end_round(after.highest, wait.mss);
        }
    }

    fn end_round(&mut self, highest: i64, mss: u64) {
        if self.round_largest.abs_diff(self.constant_window) <= mss {
            self.constant_rounds = self.constant_rounds.saturating_add(1);
        } else {
            self.end_constant();
            self.constant_window = self.round_largest;
        }
        self.round_largest = 0;
        self.round_end = highest;
    }

    /// Deals the time of rounds with the same window.
    fn end_constant(&mut self) {
        let is_constant = self.constant_rounds >= CONSTANT_ROUNDS;
        let is_receive_window = self
            .receive_window
            .is_some_and(|window| self.constant_window as f64 >= IS_RECEIVE_WINDOW * window as f64);
        let limit = match is_constant {
            true if is_receive_window => Limit::ReceiveWindow,
            true => Limit::ConstantWindow,
            false => Limit::CongestionWindow,
        };
        let span = std::mem::take(&mut self.constant_nanos);
        if limit == Limit::ConstantWindow {
            self.longest_constant = self.longest_constant.max((span, self.constant_window));
        }
        let nanos = &mut self.nanos[limit as usize];
        *nanos = nanos.saturating_add(span);
        self.constant_rounds = 0;
    }

    /// Shares up to `end`, when the last thing happened: after its last segment the sender had
    /// nothing more to send, unless there was no room for it.
    /// With them comes the window that was constant for longest, in bytes.
    pub(super) fn shares(&self, end: Option<Time>) -> (LimitShares, Option<u64>) {
        let mut last = self.clone();
        last.judge_unclocked();
        if let (Some(end), Some(last_sent)) = (end, last.last_sent) {
            let limit = if last.had_room { Limit::Application } else { Limit::ReceiveWindow };
            last.add(limit, end.since(last_sent));
        }
        last.end_constant();
        let total: u128 = last.nanos.iter().map(|nanos| u128::from(*nanos)).sum();
        let share = |limit: Limit| match total {
            0 => 0.0,
            _ => last.nanos[limit as usize] as f64 / total as f64,
        };
        let (span, constant) = last.longest_constant;
        let shares = LimitShares {
            receive_window: share(Limit::ReceiveWindow),
            congestion_window: share(Limit::CongestionWindow),
            constant_window: share(Limit::ConstantWindow),
            application: share(Limit::Application),
            pacing: share(Limit::Pacing),
            timeout: share(Limit::Timeout),
        };
        (shares, (span > 0).then_some(constant))
    }
}

impl LimitShares {
    /// The limit with the largest share; none if no time has passed.
    pub fn largest(&self) -> Option<(Limit, f64)> {
        let shares = LIMITS.map(|limit| (limit, self.of(limit)));
        let largest = shares
            .into_iter()
            .fold(shares[0], |largest, next| if next.1 > largest.1 { next } else { largest });
        (largest.1 > 0.0).then_some(largest)
    }

    /// The share of one limit.
    pub fn of(&self, limit: Limit) -> f64 {
        match limit {
            Limit::ReceiveWindow => self.receive_window,
            Limit::CongestionWindow => self.congestion_window,
            Limit::ConstantWindow => self.constant_window,
            Limit::Application => self.application,
            Limit::Pacing => self.pacing,
            Limit::Timeout => self.timeout,
        }
    }
}
