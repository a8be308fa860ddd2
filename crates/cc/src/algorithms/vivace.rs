//! PCC Vivace: tries rates slightly above and below the current one, measures the utility of each,
//! and moves in the direction of higher utility.
//!
//! Source: M. Dong et al., "PCC Vivace: Online-Learning Congestion Control", NSDI 2018, sections 3
//! to 5, and where it is silent the authors' PCC-Uspace (`src/pcc`).
//!
//! The utility of a monitor interval, about an RTT of sending at one rate of `x` Mbit/s, is
//! `u = x^0.9 − 900·x·dRTT/dt − 11.35·x·L`, with `L` the loss rate and the slope of the RTT by
//! linear regression; slopes below 0.01 count as zero. The loss variant has no delay term.
//!
//! Starting: the rate doubles until `u` falls, then halves. Probing: `1.05·r` and `0.95·r`, twice,
//! in random order; if both pairs agree, the slope `γ = Δu/Δr` is their mean, otherwise it probes
//! again. Moving: `r ← r + m(τ)·γ` in Mbit/s, with `τ` the steps in this direction, `m(τ) = τ` up
//! to 3 and `2τ − 3` beyond; a step is bounded by `(0.05 + 0.1·k)·r`, with `k` the number of
//! consecutive steps beyond the bound, or the least that allows the step. Each step is compared
//! with the last; when the slope changes sign, the last step is undone and probing begins again.
//!
//! Between an interval and its result, an RTT later, sending continues at the current rate
//! (PCC-Uspace); in probing that is `r` itself. Intervals begin and end with acknowledgements,
//! after an RTT and the time of five segments. A segment belongs to the interval in which it was
//! sent; the send times of lost ones are estimated from the pacing rate. `x` is the rate tried, but
//! at most the rate observed; application-limited intervals are repeated. Also assumed: the first
//! rate is the initial window per RTT, the minimum rate is two segments per RTT, and the window is
//! 2.5 RTTs of the rate. A timeout halves the rate and probes. Congestion marks, single losses and
//! the connection's choice of slow start are ignored.

use std::collections::VecDeque;

use fairway_units::random::Stream;
use fairway_units::{Duration, Rate, Time};

use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Needs, Param, Params, Signal, Variant,
    Vector,
};

use interval::Interval;
use learning::{Boundary, PAPER, Trial, Utility, amplified, slope};

mod interval;
mod learning;

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "vivace",
    title: "PCC Vivace",
    summary: "Learns online which rate is worth most, by trying others around it.",
    family: Family::Model,
    signal: "utility of rate, delay and loss",
    year: 2018,
    source: "Dong et al., NSDI 2018",
    variants: &[Variant::Paper],
    params: &[
        Param::switch(
            "latency",
            "whether increasing delay has a cost (otherwise the loss variant)",
            true,
        ),
        Param::new("exponent", "exponent of the rate in the utility", 0.9, 0.1, 0.999),
        Param::new("b", "cost of increasing delay", 900.0, 0.0, 1e6),
        Param::new("c", "cost of loss", 11.35, 0.0, 1e6),
        Param::new("epsilon", "relative difference of probes from the rate", 0.05, 0.001, 0.5),
        Param::new("theta", "step for a slope of 1, Mbit/s", 1.0, 0.001, 1e3),
        Param::new("omega", "bound of the first step, fraction of the rate", 0.05, 0.001, 1.0),
        Param::new("delta", "increase of the bound per step that exceeds it", 0.1, 0.0, 1.0),
        Param::new("slope_filter", "RTT slopes below this count as zero", 0.01, 0.0, 1.0),
    ],
    vectors: &[
        Vector::new("u(10, 0, 0) = 10^0.9 = 7.943", 7.943, || PAPER.of(10.0, 0.0, 0.0))
            .within(5e-4),
        Vector::new("u(10, 0, 0.01) = 7.943 - 11.35*10*0.01 = 6.808", 6.808, || {
            PAPER.of(10.0, 0.0, 0.01)
        })
        .within(5e-4),
        Vector::new("u(10, 0.01, 0) = 7.943 - 900*10*0.01 = -82.057", -82.057, || {
            PAPER.of(10.0, 0.01, 0.0)
        })
        .within(5e-4),
        Vector::new("9.5 and 10.5: (8.300 - 7.585)/1 = 0.715", 0.715, || {
            slope((10.5, PAPER.of(10.5, 0.0, 0.0)), (9.5, PAPER.of(9.5, 0.0, 0.0)))
        })
        .within(5e-4),
        Vector::new("a step of 0.715 at 10 is bounded by 0.05*10", 0.5, || {
            Boundary::new(0.05, 0.1).bound(0.715, 10.0)
        }),
        Vector::new("the fifth step in a direction: 2*5 - 3", 7.0, || amplified(5)),
    ],
    build,
};

/// Minimum segments of an interval (PCC-Uspace `kMinPacketPerInterval`).
const MIN_SEGMENTS: f64 = 5.0;
/// Window in RTTs of the rate (PCC-Uspace `bytes_in_flight_gain`).
const IN_FLIGHT: f64 = 2.5;
/// Minimum rate, segments per RTT.
const MIN_RATE: f64 = 2.0;
/// Maximum rate, Mbit/s.
const MAX_RATE: f64 = 1e6;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Mode {
    /// With the best trial so far.
    Starting(Option<Trial>),
    Probing,
    /// With the trial before the last step.
    Moving(Trial),
}

struct Vivace {
    mss: f64,
    initial_window: f64,
    random: Stream,
    utility: Utility,
    epsilon: f64,
    theta: f64,
    boundary: Boundary,
    mode: Mode,
    /// The current rate, Mbit/s; zero before the first RTT sample.
    rate: f64,
    /// Consecutive steps in one direction.
    tau: u32,
    srtt: Duration,
    /// Rates to try, trials done, and the number of trials for a decision.
    plan: VecDeque<f64>,
    trials: Vec<Trial>,
    wanted: usize,
    /// Intervals in order of sending; the last one is being sent.
    intervals: VecDeque<Interval>,
    timed_out: bool,
}

fn build(_variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let mss = f64::from(init.mss.max(1));
    let b = if params.is_on("latency") { params.get("b") } else { 0.0 };
    Box::new(Vivace {
        mss,
        initial_window: (init.initial_window as f64).max(mss),
        random: init.random("vivace"),
        utility: Utility {
            exponent: params.get("exponent"),
            b,
            c: params.get("c"),
            slope_filter: params.get("slope_filter"),
        },
        epsilon: params.get("epsilon"),
        theta: params.get("theta"),
        boundary: Boundary::new(params.get("omega"), params.get("delta")),
        mode: Mode::Starting(None),
        rate: 0.0,
        tau: 0,
        srtt: Duration::ZERO,
        plan: VecDeque::new(),
        trials: Vec::new(),
        wanted: 0,
        intervals: VecDeque::new(),
        timed_out: false,
    })
}

/// Decisions.
impl Vivace {
    fn decide(&mut self) {
        let trials = std::mem::take(&mut self.trials);
        match (self.mode, trials.as_slice()) {
            (Mode::Starting(best), [trial]) => self.start(best, *trial),
            (Mode::Probing, [a, b, c, d]) => self.judge_probes([*a, *b, *c, *d]),
            (Mode::Moving(before), [trial]) => self.judge_step(before, *trial),
            // A plan always has one trial or four.
            _ => self.probe(),
        }
    }

    fn start(&mut self, best: Option<Trial>, trial: Trial) {
        match best {
            Some(best) if trial.1 <= best.1 => {
                self.rate = best.0;
                self.probe();
            }
            _ => {
                self.rate = self.within(2.0 * self.rate);
                self.mode = Mode::Starting(Some(trial));
                self.plan_for(&[self.rate]);
            }
        }
    }

    /// Begin probing at the current rate.
    fn probe(&mut self) {
        self.mode = Mode::Probing;
        let (up, down) = (self.rate * (1.0 + self.epsilon), self.rate * (1.0 - self.epsilon));
        let mut rates = [up, down, up, down];
        for pair in rates.chunks_exact_mut(2) {
            if self.random.below(2) == 0 {
                pair.swap(0, 1);
            }
        }
        self.plan_for(&rates);
    }

    fn judge_probes(&mut self, [a, b, c, d]: [Trial; 4]) {
        let slopes = (slope(a, b), slope(c, d));
        if slopes.0 * slopes.1 <= 0.0 {
            self.probe();
            return;
        }
        let utility = (a.1 + b.1 + c.1 + d.1) / 4.0;
        self.tau = 0;
        self.boundary.k = 0.0;
        self.step(f64::midpoint(slopes.0, slopes.1), (self.rate, utility));
    }

    fn judge_step(&mut self, before: Trial, trial: Trial) {
        let gamma = slope(trial, before);
        if gamma * (trial.0 - before.0) > 0.0 {
            self.step(gamma, trial);
        } else {
            self.rate = before.0;
            self.probe();
        }
    }

    /// Take a step from `trial` along the slope `gamma`.
    fn step(&mut self, gamma: f64, trial: Trial) {
        self.tau = self.tau.saturating_add(1);
        let step = self.theta * amplified(self.tau) * gamma;
        let before = self.rate;
        let step = self.boundary.bound(step, before);
        self.rate = self.within(before + step);
        if self.rate == before {
            self.probe();
        } else {
            self.mode = Mode::Moving((before, trial.1));
            self.plan_for(&[self.rate]);
        }
    }

    fn within(&self, rate: f64) -> f64 {
        let least = MIN_RATE * self.in_round_trip(self.mss);
        rate.clamp(least.min(MAX_RATE), MAX_RATE)
    }

    /// Rate of `bytes` per RTT, Mbit/s.
    fn in_round_trip(&self, bytes: f64) -> f64 {
        bytes * 8e-6 / self.srtt.as_secs_f64().max(1e-6)
    }

    fn plan_for(&mut self, rates: &[f64]) {
        self.plan = rates.iter().copied().collect();
        self.wanted = rates.len();
        self.trials.clear();
    }

    /// Repeat the trial, as its measurement is invalid.
    fn repeat(&mut self) {
        match self.mode {
            Mode::Probing => self.probe(),
            Mode::Starting(_) | Mode::Moving(_) => self.plan_for(&[self.rate]),
        }
    }
}

/// Monitor intervals.
impl Vivace {
    /// Current send rate, bytes per second.
    fn bytes_per_s(&self) -> f64 {
        let rate = self.intervals.back().map_or(self.rate, Interval::rate);
        rate * 1e6 / 8.0
    }

    fn begin(&mut self, now: Time) {
        let planned = self.plan.pop_front();
        let rate = planned.unwrap_or(self.rate);
        self.intervals.push_back(Interval::new(rate, planned.is_some(), now));
    }

    /// End the current interval if it is long enough, or if it is only a filler and a trial is
    /// planned.
    fn turn(&mut self, now: Time) {
        let least_s = MIN_SEGMENTS * self.mss / self.bytes_per_s().max(1.0);
        let least = self.srtt.max(Duration::from_nanos((least_s * 1e9) as u64));
        let is_over = match self.intervals.back() {
            Some(current) if current.is_trial() => now.since(current.start()) >= least,
            Some(_) => !self.plan.is_empty(),
            None => true,
        };
        if is_over {
            if let Some(current) = self.intervals.back_mut() {
                current.end(now);
            }
            self.begin(now);
        }
    }

    /// Process an acknowledgement and the results that it completes.
    fn measure(&mut self, ack: &Ack) {
        let Some(sample) = ack.rate else { return };
        for interval in &mut self.intervals {
            interval.on_ack(ack, &sample, self.mss);
        }
        while self.intervals.front().is_some_and(Interval::is_complete) {
            let Some(interval) = self.intervals.pop_front() else { return };
            if !interval.is_trial() {
                continue;
            }
            if interval.is_limited() {
                self.repeat();
                self.forget_trials();
            } else {
                let x = interval.sent_mbps(self.mss);
                let utility = self.utility.of(x, interval.rtt_slope(), interval.loss());
                self.trials.push((interval.rate(), utility));
            }
        }
        if self.wanted > 0 && self.trials.len() >= self.wanted {
            self.decide();
        }
    }

    /// Discard trials still being measured: their plan is abandoned.
    fn forget_trials(&mut self) {
        self.intervals.iter_mut().for_each(Interval::give_up);
    }
}

impl CongestionControl for Vivace {
    fn cwnd(&self) -> u64 {
        let wanted = if self.timed_out {
            self.mss
        } else {
            let in_flight = IN_FLIGHT * self.bytes_per_s() * self.srtt.as_secs_f64();
            in_flight.max(self.initial_window.min(10.0 * self.mss))
        };
        let mss = self.mss as u64;
        ((wanted as u64 / mss).max(1)) * mss
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    /// None before the first RTT sample: the initial window is not paced here.
    fn pacing_rate(&self) -> Option<Rate> {
        (self.rate > 0.0).then(|| Rate::from_bps((self.bytes_per_s() * 8.0).max(8.0) as u64))
    }

    fn answers_loss(&self) -> bool {
        false
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.srtt = flow.srtt.unwrap_or(self.srtt);
        if ack.delivered > 0 {
            self.timed_out = false;
        }
        if self.rate == 0.0 {
            if self.srtt > Duration::ZERO {
                self.rate = self.within(self.in_round_trip(self.initial_window));
                self.plan_for(&[self.rate]);
                self.begin(flow.now);
            }
            return;
        }
        self.measure(ack);
        self.turn(flow.now);
    }

    fn on_congestion(&mut self, _signal: Signal, _flow: &Flow) {}

    fn on_recovered(&mut self, _cwnd: u64, _flow: &Flow) {}

    fn on_rto(&mut self, first: bool, flow: &Flow) {
        self.timed_out = true;
        if first && self.rate > 0.0 {
            self.rate = self.within(self.rate / 2.0);
            self.forget_trials();
            self.probe();
            self.turn(flow.now);
        }
    }

    fn on_spurious(&mut self, _flow: &Flow) {
        self.timed_out = false;
    }

    fn on_idle(&mut self, _idle: Duration, _rto: Duration, _restart_window: u64, flow: &Flow) {
        if self.rate > 0.0 {
            self.forget_trials();
            self.repeat();
            self.turn(flow.now);
        }
    }
}

#[cfg(test)]
#[path = "vivace_tests.rs"]
mod tests;
