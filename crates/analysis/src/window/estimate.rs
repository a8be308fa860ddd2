//! The congestion window and its phase, from where the sender stopped by itself.
//!
//! A sender that has data and room in the receive window sends until what is in the network is its
//! congestion window, and waits. So what is in the network when the next acknowledgement arrives
//! is the window, less what its host holds back to send more at once.

use fairway_units::{Duration, Time};
use serde::Serialize;

use crate::event::Flow;
use crate::window::view::{Heard, Known, Mode};

/// Parts of a window over which the largest stop is taken: Linux defers up to a third of a window
/// (`tcp_tso_win_divisor`), so that in two quarters one stop is at the window.
const PARTS: u64 = 4;
/// Growth over what was acknowledged below which slow start is over. Slow start gives 1, or 1/2
/// where each acknowledgement of two segments counts once (RFC 5681); CUBIC and others above half
/// a window per round trip are rare (Linux's CUBIC is at most that).
const SLOW_START_ENDS: f64 = 0.3;
/// Growth over what was acknowledged from which it was not over, if nothing was lost.
const SLOW_START_GOES_ON: f64 = 0.8;
/// Segments at the least over which growth is measured.
const LEAST_SEGMENTS: u64 = 8;

/// State of the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The window grows by what is acknowledged: at the beginning, and after a timeout.
    #[default]
    SlowStart,
    /// The window grows more slowly.
    CongestionAvoidance,
    /// Losses are repaired.
    Recovery,
    /// The window is not what limits: the application, or the receive window, does.
    Limited,
    /// Nothing is under way.
    Idle,
}

/// Phases in the order of [`Phase`].
pub(super) const PHASES: usize = 5;

/// Why the sender stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// By its congestion window, as far as one can see.
    Window,
    /// The receive window has no room for a segment.
    Receiver,
    /// The last segment was small: there was no more.
    Small,
}

/// How slow start ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SlowStartEnd {
    /// Something was lost, or marked.
    Loss,
    /// Growth slowed down without a loss: at a threshold, or by the delay (HyStart, RFC 9406).
    Growth,
}

/// The first slow start.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct SlowStart {
    /// When it ended, in seconds on the capture's clock.
    pub end_s: f64,
    /// Estimate of the window then.
    pub cwnd_bytes: u64,
    /// How.
    pub by: SlowStartEnd,
}

/// Estimates the congestion window.
#[derive(Clone, Debug, Default)]
pub(super) struct Estimate {
    /// The largest stop of this part of a window, and of the one before.
    largest: [u64; 2],
    /// Bytes that were delivered in this part.
    delivered: u64,
    cwnd: Option<u64>,
    is_slow_start: Option<bool>,
    /// Window at the start of the measurement of growth, and what was acknowledged since.
    growth: Option<(u64, u64)>,
    is_undisturbed: bool,
    pub initial_window: Option<u64>,
    pub slow_start: Option<SlowStart>,
}

impl Estimate {
    /// The window now.
    pub(super) fn cwnd(&self) -> Option<u64> {
        self.cwnd
    }

    /// Whether the window grows as in slow start, or below what it was before a timeout.
    pub(super) fn is_slow_start(&self) -> bool {
        self.is_slow_start.unwrap_or(true)
    }

    /// Takes in that the sender stopped with `known`, for `stop`, before it heard something.
    pub(super) fn stopped(&mut self, known: &Known, stop: Stop, at: Time, mss: u64) {
        let pipe = known.pipe();
        if self.initial_window.is_none() {
            self.initial_window = Some(pipe);
            self.is_undisturbed = true;
        }
        if let Mode::Recovery { .. } = known.mode {
            // The window follows what is in the network down to its new size (RFC 6937).
            self.cwnd = Some(pipe);
            return;
        }
        self.largest[0] = self.largest[0].max(pipe);
        match stop {
            Stop::Window => self.cwnd = Some(self.largest[0].max(self.largest[1])),
            // The window is no smaller than what was sent.
            Stop::Receiver | Stop::Small => {
                self.cwnd = Some(self.cwnd.unwrap_or(0).max(pipe));
                self.growth = None;
                return;
            }
        }
        if known.mode == Mode::Open {
            self.judge_growth(at, mss);
        }
    }

    /// Takes in that the window allows `pipe` bytes in the network, as they are.
    pub(super) fn allows(&mut self, pipe: u64) {
        if let Some(cwnd) = &mut self.cwnd {
            *cwnd = pipe.max(*cwnd);
        }
        self.largest[0] = self.largest[0].max(pipe);
    }

    /// Takes in that losses are repaired.
    pub(super) fn repaired(&mut self) {
        self.largest = [0, 0];
        self.delivered = 0;
    }

    /// Takes in what was delivered.
    pub(super) fn heard(&mut self, heard: &Heard<'_>, known: &Known, mss: u64) {
        let delivered = heard.acked.delivered_bytes;
        if let (Some((_, acked)), Mode::Open) = (&mut self.growth, known.mode) {
            *acked = acked.saturating_add(heard.acked.acked_bytes);
        }
        self.delivered = self.delivered.saturating_add(delivered);
        if self.delivered >= (self.cwnd.unwrap_or(0) / PARTS).max(mss) {
            self.delivered = 0;
            self.largest = [0, self.largest[0]];
        }
    }

    /// Takes in that the window falls: by a loss, or by a timeout.
    pub(super) fn fell(&mut self, at: Time, is_timeout: bool) {
        self.end_slow_start(at, SlowStartEnd::Loss);
        self.is_slow_start = Some(is_timeout);
        self.is_undisturbed = false;
        self.largest = [0, 0];
        self.delivered = 0;
        self.growth = None;
    }

    /// Slow start is over if the window has grown by much less than what was acknowledged.
    fn judge_growth(&mut self, at: Time, mss: u64) {
        let Some(cwnd) = self.cwnd else { return };
        let Some((first, acked)) = self.growth else {
            self.growth = Some((cwnd, 0));
            return;
        };
        if acked < (cwnd / 2).max(LEAST_SEGMENTS * mss) {
            return;
        }
        let ratio = (cwnd as f64 - first as f64) / acked as f64;
        if self.is_slow_start() && ratio < SLOW_START_ENDS {
            self.end_slow_start(at, SlowStartEnd::Growth);
            self.is_slow_start = Some(false);
        } else if self.is_undisturbed && ratio > SLOW_START_GOES_ON && !self.is_slow_start() {
            self.is_slow_start = Some(true);
            self.slow_start = None;
        }
        self.growth = Some((cwnd, 0));
    }

    fn end_slow_start(&mut self, at: Time, by: SlowStartEnd) {
        if self.slow_start.is_none()
            && let Some(cwnd_bytes) = self.cwnd
        {
            self.slow_start = Some(SlowStart { end_s: at.as_secs_f64(), cwnd_bytes, by });
        }
    }
}

/// Time in each phase.
#[derive(Clone, Debug, Default)]
pub(super) struct Phases {
    nanos: [u64; PHASES],
    since: Option<Time>,
}

impl Phases {
    /// Adds the time until `at` to `phase`.
    pub(super) fn until(&mut self, at: Time, phase: Phase) {
        let span = self.since.map_or(Duration::ZERO, |since| at.since(since));
        let nanos = &mut self.nanos[phase as usize];
        *nanos = nanos.saturating_add(span.as_nanos());
        self.since = Some(self.since.map_or(at, |since| since.max(at)));
    }

    pub(super) fn shares(&self) -> PhaseShares {
        let total: u128 = self.nanos.iter().map(|nanos| u128::from(*nanos)).sum();
        let share = |phase: Phase| match total {
            0 => 0.0,
            _ => self.nanos[phase as usize] as f64 / total as f64,
        };
        PhaseShares {
            slow_start: share(Phase::SlowStart),
            congestion_avoidance: share(Phase::CongestionAvoidance),
            recovery: share(Phase::Recovery),
            limited: share(Phase::Limited),
            idle: share(Phase::Idle),
        }
    }
}

/// Shares of the time in each phase; they add up to 1, or are all 0 if no time has passed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct PhaseShares {
    /// In slow start, at the beginning or after a timeout.
    pub slow_start: f64,
    /// In congestion avoidance.
    pub congestion_avoidance: f64,
    /// In recovery.
    pub recovery: f64,
    /// With something else than the congestion window as the limit.
    pub limited: f64,
    /// With nothing under way.
    pub idle: f64,
}

/// What is in force now, for the phase.
pub(super) fn phase(
    known: &Known,
    estimate: &Estimate,
    is_limited: bool,
    at: Time,
    flow: &Flow,
) -> Phase {
    let is_idle = || {
        let last = known.last_heard.max(known.last_sent);
        let rest = flow.srtt.unwrap_or(Duration::from_secs(1));
        last.is_some_and(|last| at.since(last) > rest)
    };
    match known.mode {
        Mode::Recovery { .. } => Phase::Recovery,
        Mode::Loss { .. } => Phase::SlowStart,
        Mode::Open if known.unacked() == 0 && is_idle() => Phase::Idle,
        Mode::Open if is_limited => Phase::Limited,
        Mode::Open if estimate.is_slow_start() => Phase::SlowStart,
        Mode::Open => Phase::CongestionAvoidance,
    }
}
