//! One switch for each point in which the thesis and its code disagree.

use crate::{Param, Params};

use super::timeout::{Step, TimeoutRule};

/// Default of a switch: the value of the reading.
const AS_THE_READING: f64 = -1.0;

const fn switch(name: &'static str, meaning: &'static str) -> Param {
    Param::new(name, meaning, AS_THE_READING, AS_THE_READING, 1.0).whole()
}

pub(crate) const READING: Param = Param::new(
    "reading",
    "0: the equations of chapter 4; 1: the code of appendix B; 2: that code with a window that stands still",
    0.0,
    0.0,
    2.0,
)
.whole();
pub(crate) const UNIT: Param =
    switch("unit", "increments in segments (0) or whole bytes (1); -1: as the reading");
pub(crate) const THRESHOLD: Param = switch(
    "threshold",
    "growth is quick below ssthresh (0) or below BWE·RTTmin (1); -1: as the reading",
);
pub(crate) const EQUALITY: Param = switch(
    "equality",
    "a window equal to that threshold grows slowly (0) or quickly (1); -1: as the reading",
);
pub(crate) const RATIO: Param =
    switch("ratio", "rateCA is RTT_old/RTT_min (0) or RTT_old/RTT_new (1); -1: as the reading");
pub(crate) const RTT_SERIES: Param =
    switch("rtt_series", "round-trip times are samples (0) or smoothed (1); -1: as the reading");
pub(crate) const SIGN: Param = switch(
    "sign",
    "growth follows rateCA as printed (0) or falls when the round trip rises (1); -1: as the reading",
);
pub(crate) const ESTIMATOR: Param = switch(
    "estimator",
    "one bandwidth sample per round trip (0) or per acknowledgement (1); -1: as the reading",
);
pub(crate) const FILTER: Param =
    switch("filter", "19/21 as the text (0) or 0.9 as ns-3.29 (1); -1: as the reading");
pub(crate) const SLOW_START: Param = switch(
    "slow_start",
    "slow start is the first line of equation 4.2 (0) or that of ns-3.29 (1); -1: as the reading",
);
pub(crate) const HOLD: Param =
    switch("hold", "above ssthresh the window grows (0) or is held (1); -1: as the reading");
pub(crate) const RTO_STEP: Param = Param::new(
    "rto_step",
    "the timeout's step does nothing (0), takes seconds for nanoseconds (1) or is meant (2); -1: as the reading",
    AS_THE_READING,
    AS_THE_READING,
    2.0,
)
.whole();
pub(crate) const RTO_KIND: Param = switch(
    "rto_kind",
    "the value is a timeout, restored when it expires (0), or the smallest timeout (1); -1: as the reading",
);
pub(crate) const RTO_WHEN: Param = switch(
    "rto_when",
    "the step is taken at round-trip samples (0) or calls of congestion avoidance (1); -1: as the reading",
);
pub(crate) const RTO_RULE: Param = switch(
    "rto_rule",
    "the step divides by rateCA (0) or multiplies by RTT_new/RTT_old (1); -1: as the reading",
);
pub(crate) const RTO_START: Param =
    Param::new("rto_start_ms", "value before the first step, milliseconds", 1_000.0, 0.0, 60_000.0);

/// Values of all switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Switches {
    pub(super) in_bytes: bool,
    pub(super) below_estimate: bool,
    pub(super) equal_is_below: bool,
    pub(super) over_new_rtt: bool,
    pub(super) smoothed_rtt: bool,
    pub(super) falls_with_rtt: bool,
    pub(super) per_ack: bool,
    pub(super) ns3_filter: bool,
    pub(super) ns3_slow_start: bool,
    pub(super) hold: bool,
    pub(super) timeout: TimeoutRule,
}

impl Switches {
    /// Chapter 4 of the thesis.
    pub(crate) const EQUATIONS: Switches = Switches {
        in_bytes: false,
        below_estimate: false,
        equal_is_below: false,
        over_new_rtt: false,
        smoothed_rtt: false,
        falls_with_rtt: false,
        per_ack: false,
        ns3_filter: false,
        ns3_slow_start: false,
        hold: false,
        timeout: TimeoutRule {
            step: Step::Meant,
            is_minimum: false,
            at_calls: false,
            follows_rtt: false,
            start_ms: 1_000.0,
        },
    };

    /// Appendix B of the thesis.
    pub(crate) const CODE: Switches = Switches {
        in_bytes: true,
        below_estimate: true,
        equal_is_below: true,
        smoothed_rtt: true,
        ns3_filter: true,
        ns3_slow_start: true,
        timeout: TimeoutRule {
            step: Step::Literal,
            is_minimum: true,
            at_calls: true,
            ..Switches::EQUATIONS.timeout
        },
        ..Switches::EQUATIONS
    };

    /// A published DCM took one sample of the bandwidth per acknowledgement.
    pub(crate) const PER_ACK: Switches = Switches { per_ack: true, ..Switches::EQUATIONS };

    /// These switches with those of `params` that are set.
    pub(crate) fn with(mut self, list: &[Param], params: &Params) -> Self {
        for param in list {
            let value = params.get(param.name);
            if value >= 0.0 {
                self.decide(param.name, value);
            }
        }
        self
    }

    pub(super) fn decide(&mut self, name: &str, value: f64) {
        let second = value != 0.0;
        let timeout = &mut self.timeout;
        match name {
            "unit" => self.in_bytes = second,
            "threshold" => self.below_estimate = second,
            "equality" => self.equal_is_below = second,
            "ratio" => self.over_new_rtt = second,
            "rtt_series" => self.smoothed_rtt = second,
            "sign" => self.falls_with_rtt = second,
            "estimator" => self.per_ack = second,
            "filter" => self.ns3_filter = second,
            "slow_start" => self.ns3_slow_start = second,
            "hold" => self.hold = second,
            "rto_kind" => timeout.is_minimum = second,
            "rto_when" => timeout.at_calls = second,
            "rto_rule" => timeout.follows_rtt = second,
            "rto_start_ms" => timeout.start_ms = value,
            "rto_step" => {
                timeout.step = match value as u8 {
                    0 => Step::Nothing,
                    1 => Step::Literal,
                    _ => Step::Meant,
                }
            }
            _ => {}
        }
    }
}
