//! The window of a direction: what was in flight, what the congestion window may have been, why
//! segments were sent again, and what held the sender back.

mod causes;
mod estimate;
mod limits;
mod losses;
mod payload;
mod series;
mod spurious;
#[cfg(test)]
mod tests;
mod vantage;
mod view;
mod words;
mod zero;

use fairway_units::{Duration, Time};
use serde::Serialize;

use crate::event::{Acked, Flow, Observer, Sent, SentKind};
use causes::Context;
use estimate::{Estimate, Phases, Stop};
use limits::{Limit, Limits, Wait};
use losses::Losses;
use payload::Payload;
use series::{Point, Series};
use view::{Heard, Known, Mode, View};
use zero::Zero;

pub use causes::Cause;
pub use estimate::{Phase, PhaseShares, SlowStart, SlowStartEnd};
pub use limits::{Limit as LimitedBy, LimitShares};
pub use losses::{
    CauseCounts, Episode, EpisodeKind, LossReport, MAX_LISTED, Retransmission, SpuriousCounts,
};
pub use series::WindowSeries;
pub use spurious::Evidence;
pub use vantage::{Position, Vantage};
pub use zero::ReceiveWindow;

/// Part of the usual time between acknowledgements within which a segment is an answer to one.
const ANSWER: u64 = 8;
/// The same part of a round trip, at the most.
const ANSWER_ROUND_TRIP: u64 = 16;
/// An answer is never later than this: a busy host takes no longer to wake up.
const ANSWER_MOST: Duration = Duration::from_millis(2);
/// And what comes within this is one: what a host takes from its card to the capture and back.
const ANSWER_LEAST: Duration = Duration::from_micros(50);
/// Part of a round trip that is allowed where the capture stands elsewhere, and the way between
/// varies.
const ANSWER_AFAR: u64 = 4;

/// Findings about a direction's window.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct WindowReport {
    /// Where the capture stands.
    pub vantage: Vantage,
    /// Limits of the direction, in words.
    pub limited_by: String,
    /// The class of that.
    pub limit: Option<Limit>,
    /// Shares of the time by what the sender waited for.
    pub limits: LimitShares,
    /// What was in flight while a window did not change, if it did not for long.
    pub constant_window_bytes: Option<u64>,
    /// Shares of the time in each phase.
    pub phases: PhaseShares,
    /// Most bytes in flight.
    pub max_flight_bytes: u64,
    /// Mean over time of the bytes in flight.
    pub mean_flight_bytes: Option<f64>,
    /// Largest estimate of the congestion window.
    pub max_cwnd_bytes: Option<u64>,
    /// Bytes that were sent before the first acknowledgement of data.
    pub initial_window_bytes: Option<u64>,
    /// The first slow start, if it ended.
    pub slow_start: Option<SlowStart>,
    /// The receive window.
    pub receive_window: ReceiveWindow,
    /// Retransmissions.
    pub losses: LossReport,
    /// Windows over time.
    pub series: WindowSeries,
}

/// Follows the window of a direction.
#[derive(Clone, Debug, Default)]
pub struct Window {
    view: View,
    /// Round trip between capture and sender if acknowledgements have to wait for it, as of the
    /// last packet.
    delay: Option<Duration>,
    known: Known,
    losses: Losses,
    estimate: Estimate,
    limits: Limits,
    phases: Phases,
    series: Series,
    zero: Zero,
    flow: Flow,
    last_at: Option<Time>,
    /// Whether the segments of this burst answer an acknowledgement.
    is_clocked: bool,
    /// Smoothed time between acknowledgements.
    ack_gap: Option<Duration>,
    max_flight: u64,
    max_cwnd: Option<u64>,
    flight_nanos: u128,
    nanos: u64,
    was_small: bool,
    payload: Payload,
    /// Data whose acknowledgement makes the window after an episode known.
    settled_at: Option<i64>,
}

impl Observer for Window {
    fn sent(&mut self, sent: &Sent, flow: &Flow) {
        self.flow = *flow;
        let is_first_echo = self.view.sent(sent);
        self.delay = self.view.delay(flow);
        while let Some((at, acked)) = self.view.next(sent.at, Some(sent), self.delay) {
            self.heard(&Heard { at, acked: &acked });
        }
        self.pass(sent.at);
        self.begin(sent);
        let answer_time = self.answer_time();
        self.payload.sent(sent, answer_time);
        self.is_clocked =
            self.answers(sent.at, answer_time) || (is_first_echo && self.echoes(sent.at));
        self.zero.sent(sent);

        let before = self.known;
        let mut mode = before.mode;
        let round_trip = self.round_trip();
        let context = Context { flow, known: &before, is_clocked: self.is_clocked, round_trip };
        let repair = self.losses.sent(sent, &context, self.estimate.cwnd(), &mut mode);
        self.limits.sent(&Wait {
            sent,
            known: &before,
            cause: repair.map(|repair| repair.cause),
            is_clocked: self.is_clocked,
            burst: answer_time,
            cwnd: self.estimate.cwnd(),
            mss: self.mss(),
            is_small: self.is_small(sent),
        });
        self.known.mode = mode;
        if repair.is_some_and(|repair| repair.begins) {
            let is_timeout = matches!(mode, Mode::Loss { .. });
            self.estimate.fell(sent.at, is_timeout);
            self.settled_at = None;
            if is_timeout {
                self.known.resent = 0;
            }
        }
        self.known.sent(sent);
        let is_probe = matches!(sent.kind, SentKind::WindowProbe | SentKind::KeepAlive)
            || repair.is_some_and(|repair| repair.cause == Cause::TailLossProbe);
        if !is_probe {
            self.estimate.allows(self.known.pipe());
            self.max_cwnd = self.max_cwnd.max(self.estimate.cwnd());
        }
        self.was_small = self.is_small(sent);
        self.note(sent.at, 0);
    }

    fn acked(&mut self, acked: &Acked, flow: &Flow) {
        self.flow = *flow;
        self.zero.acked(acked);
        self.view.acked(acked);
        self.delay = self.view.delay(flow);
        if self.delay.is_some() {
            self.view.wait(acked);
            return;
        }
        while let Some((at, before)) = self.view.rest() {
            self.heard(&Heard { at, acked: &before });
        }
        self.heard(&Heard { at: acked.at, acked });
    }
}

impl Window {
    /// The findings at the end of the capture.
    pub fn report(&self) -> WindowReport {
        let mut last = self.clone();
        while let Some((at, acked)) = last.view.rest() {
            last.heard(&Heard { at, acked: &acked });
        }
        last.finished()
    }

    fn finished(&self) -> WindowReport {
        let (limits, constant_window_bytes) = self.limits.shares(self.last_at);
        let vantage = self.view.vantage(&self.flow);
        let mean = self.flight_nanos as f64 / self.nanos as f64;
        let mut report = WindowReport {
            vantage,
            limited_by: String::new(),
            limit: limits.largest().map(|(limit, _)| limit),
            limits,
            constant_window_bytes,
            phases: self.phases.shares(),
            max_flight_bytes: self.max_flight,
            mean_flight_bytes: (self.nanos > 0).then_some(mean),
            max_cwnd_bytes: self.max_cwnd,
            initial_window_bytes: self.estimate.initial_window,
            slow_start: self.estimate.slow_start,
            receive_window: self.zero.report(self.last_at),
            losses: self.losses.report(),
            series: self.series.report(),
        };
        report.limited_by = words::limited_by(&report, self.mss());
        report
    }

    /// Takes from the handshake what the sender knows before its first segment.
    fn begin(&mut self, sent: &Sent) {
        if self.known.last_sent.is_none() && self.flow.window_bytes > 0 {
            self.known.window = self.flow.window_bytes;
            self.known.has_window = true;
            self.known.acked = self.flow.acked_offset.min(sent.offset);
        }
    }

    /// Takes in what the sender hears.
    fn heard(&mut self, heard: &Heard<'_>) {
        self.pass(heard.at);
        let (before, mss) = (self.known, self.mss());
        let is_recovering = matches!(before.mode, Mode::Recovery { .. });
        if (!before.has_heard || is_recovering) && before.last_sent.is_some() {
            let stop = self.stop(&before);
            self.estimate.stopped(&before, stop, heard.at, mss);
            self.max_cwnd = self.max_cwnd.max(self.estimate.cwnd());
        }
        if let Some(last) = before.last_heard {
            self.note_gap(heard.at.since(last));
        }
        self.known.heard(heard, &self.flow);
        self.estimate.heard(heard, &self.known, mss);
        self.losses.heard(heard, &before, &self.known, &self.flow);
        if before.mode != Mode::Open && self.known.mode == Mode::Open {
            self.estimate.repaired();
        }
        if self.losses.is_settling() {
            let acked = self.known.acked;
            match self.settled_at {
                None => self.settled_at = Some(self.known.highest),
                Some(point) if acked >= point => {
                    self.losses.settled(self.estimate.cwnd().unwrap_or(0));
                    self.settled_at = None;
                }
                Some(_) => {}
            }
        }
        self.note(heard.at, heard.acked.delivered_bytes);
    }

    /// Why the sender has stopped.
    fn stop(&self, known: &Known) -> Stop {
        if known.receive_window_left() < self.mss() {
            Stop::Receiver
        } else if self.was_small {
            Stop::Small
        } else {
            Stop::Window
        }
    }

    /// Lets time pass.
    fn pass(&mut self, at: Time) {
        let is_limited =
            matches!(self.limits.last, Some(Limit::Application | Limit::ReceiveWindow));
        let phase = estimate::phase(&self.known, &self.estimate, is_limited, at, &self.flow);
        self.phases.until(at, phase);
        let span = self.last_at.map_or(0, |last| at.since(last).as_nanos());
        self.nanos = self.nanos.saturating_add(span);
        let area = u128::from(span) * u128::from(self.known.flight());
        self.flight_nanos = self.flight_nanos.saturating_add(area);
        self.last_at = Some(self.last_at.map_or(at, |last| last.max(at)));
    }

    fn note(&mut self, at: Time, delivered: u64) {
        let flight = self.known.flight();
        self.max_flight = self.max_flight.max(flight);
        let is_limited =
            matches!(self.limits.last, Some(Limit::Application | Limit::ReceiveWindow));
        let point = Point {
            flight,
            delivered,
            cwnd: self.estimate.cwnd(),
            window: self.known.has_window.then_some(self.known.window),
            phase: estimate::phase(&self.known, &self.estimate, is_limited, at, &self.flow),
        };
        self.series.push(at, point);
    }

    /// Whether a segment that leaves at `at` is the answer to an acknowledgement, where answers
    /// take so long at the most.
    fn answers(&self, at: Time, answer_time: Duration) -> bool {
        let within = |last: Option<Time>| last.is_some_and(|last| at.since(last) <= answer_time);
        if self.known.has_heard {
            within(self.known.last_heard)
        } else {
            self.is_clocked && within(self.known.last_sent)
        }
    }

    /// Whether a segment that is the first to echo an acknowledgement's timestamp may answer it,
    /// where the capture stands elsewhere and the way between varies.
    fn echoes(&self, at: Time) -> bool {
        let is_afar = self.delay.is_some();
        let last = self.known.last_heard.filter(|_| is_afar && self.known.has_heard);
        last.zip(self.round_trip()).is_some_and(|(last, round_trip)| at.since(last) <= round_trip)
    }

    /// How soon a segment follows if it answers.
    fn answer_time(&self) -> Duration {
        let round_trip = self.round_trip();
        if self.delay.is_some() {
            let part = round_trip.map(|span| span.as_nanos() / ANSWER_AFAR);
            return part.map_or(ANSWER_MOST, Duration::from_nanos);
        }
        let part = |span: Option<Duration>, part| span.map(|span| span.as_nanos() / part);
        let least = [part(self.ack_gap, ANSWER), part(round_trip, ANSWER_ROUND_TRIP)];
        let least = least.into_iter().flatten().min().map_or(ANSWER_MOST, Duration::from_nanos);
        least.clamp(ANSWER_LEAST, ANSWER_MOST)
    }

    /// The sender's smoothed round trip.
    fn round_trip(&self) -> Option<Duration> {
        let delay = self.delay.unwrap_or(Duration::ZERO);
        self.flow.srtt.map(|srtt| srtt + delay)
    }

    fn note_gap(&mut self, gap: Duration) {
        // Gaps within a round trip: others are no rhythm of acknowledgements.
        if gap > self.round_trip().unwrap_or(Duration::ZERO) {
            return;
        }
        let smoothed = self.ack_gap.map_or(gap.as_nanos(), |smoothed| {
            smoothed.as_nanos() - smoothed.as_nanos() / 8 + gap.as_nanos() / 8
        });
        self.ack_gap = Some(Duration::from_nanos(smoothed));
    }

    /// Whether a segment has less than it could: a host's card may cut it into several.
    fn is_small(&self, sent: &Sent) -> bool {
        sent.kind == SentKind::New && u64::from(sent.bytes) % self.mss() != 0
    }

    /// Payload of a full segment.
    fn mss(&self) -> u64 {
        self.payload.full(self.flow.mss_bytes)
    }
}
