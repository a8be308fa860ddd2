//! The private timeout of DCM+.

use fairway_units::Duration;

use super::rate::RoundTrips;

/// Effect of a step on the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// None, with the stack's own minimum timeout: ns-3.29 has no such variable in that class.
    Nothing,
    /// As written: a number of seconds becomes a `Time`, which ns-3.29 interprets as nanoseconds
    /// (`nstime.h`, `Time (double v)`).
    Literal,
    /// As meant.
    Meant,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct TimeoutRule {
    pub(super) step: Step,
    /// Whether the value survives a timeout.
    pub(super) is_minimum: bool,
    /// Whether the step is taken at calls of congestion avoidance.
    pub(super) at_calls: bool,
    /// Whether equation 4.1 replaces 4.5.
    pub(super) follows_rtt: bool,
    pub(super) start_ms: f64,
}

/// RFC 6298 section 2.5: an upper bound of the timeout must be at least 60 s.
const LARGEST_NANOS: f64 = 60e9;

/// The private timeout, or minimum timeout.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Timeout {
    rule: TimeoutRule,
    nanos: u64,
}

impl Timeout {
    pub(super) fn new(rule: TimeoutRule) -> Self {
        Timeout { rule, nanos: (rule.start_ms * 1e6) as u64 }
    }

    /// The step at an RTT sample.
    pub(super) fn on_rtt(&mut self, rtts: &RoundTrips, rate_ca: f64) {
        if !self.rule.at_calls {
            self.step(rtts, rate_ca);
        }
    }

    /// The step at a call of congestion avoidance.
    pub(super) fn on_call(&mut self, rtts: &RoundTrips, rate_ca: f64) {
        if self.rule.at_calls {
            self.step(rtts, rate_ca);
        }
    }

    fn step(&mut self, rtts: &RoundTrips, rate_ca: f64) {
        let factor = if self.rule.follows_rtt { rtts.rise() } else { 1.0 / rate_ca };
        self.multiply(factor);
    }

    pub(super) fn multiply(&mut self, factor: f64) {
        let nanos = match self.rule.step {
            Step::Nothing => return,
            Step::Literal => self.nanos as f64 / 1e9 * factor,
            Step::Meant => self.nanos as f64 * factor,
        };
        self.nanos = nanos.round().min(LARGEST_NANOS) as u64;
    }

    /// The retransmission timer expired.
    pub(super) fn on_rto(&mut self) {
        if !self.rule.is_minimum {
            *self = Timeout::new(self.rule);
        }
    }

    /// Lower bound of the stack's timeout; none for the stack's own.
    pub(super) fn get(&self) -> Option<Duration> {
        (self.rule.step != Step::Nothing).then(|| Duration::from_nanos(self.nanos))
    }
}
