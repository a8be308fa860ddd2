//! LEDBAT++: LEDBAT that measures RTTs, never grows faster than Reno, decreases multiplicatively
//! above the target, and periodically slows down to let queues drain and measure the base delay.
//!
//! Source: draft-irtf-iccrg-ledbat-plus-plus (Balasubramanian, Ertugay, Havey, Bagnulo), section 4,
//! as of version 01. `GAIN = 1/min(16, ⌈2·TARGET/base⌉)`, TARGET 60 ms. Per round trip, applied
//! a segment at a time:
//!
//! - `q ≤ TARGET`: `W += GAIN`
//! - `q > TARGET`: `W += max(GAIN − C·W·(q/TARGET − 1), −W/2)`, C = 1, and `W ≥ 2`
//!
//! Slow start adds GAIN for each segment. The first one ends when q exceeds ¾ of TARGET; later ones
//! only at the threshold. There is a slowdown two round trips after the first slow start, and then
//! after 9 times the duration of the last slowdown: the threshold is set to the window, the window
//! to 2 for two round trips, and slow start restores it to the threshold. A loss or a mark halves
//! W.
//!
//! Where the draft is silent, this follows a Linux module (Qian Li's `tcp_ledbatpp.c`): delays as
//! in LEDBAT, `q = min(last 4 RTTs) − min(one-minute minima of 10 minutes)`; round trips are
//! counted in smoothed RTTs; slow start after a slowdown uses GAIN too; a loss ends the first slow
//! start, or the slowdown, early. The module counts whole milliseconds, and after a timeout delays
//! the next slowdown by nine times the age of its clock; here the time does not change.

use fairway_units::{Duration, Time};

use crate::base_delay::DelayHistory;
use crate::window::whole_segments;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Phase, Rule, Signal,
    SlowStart, Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "ledbat++",
    title: "LEDBAT++",
    summary: "LEDBAT on round trips, with periodic slowdowns and a multiplicative decrease.",
    family: Family::Delay,
    signal: "delay + loss",
    year: 2019,
    source: "draft-irtf-iccrg-ledbat-plus-plus-01",
    variants: &[Variant::Paper],
    params: &[
        Param::new("target_ms", "target queueing delay, ms (section 4.5)", 60.0, 1.0, 1000.0),
        Param::new("max_divisor", "largest divisor of growth (section 4.2)", 16.0, 1.0, 1000.0),
        Param::new("decrease", "C, strength of the decrease (section 4.3)", 1.0, 0.01, 10.0),
        Param::new(
            "slow_start_exit",
            "fraction of the target at which the first slow start ends (section 4.1)",
            0.75,
            0.0,
            10.0,
        ),
        Param::new(
            "slowdown_interval",
            "time between slowdowns, in durations of the last one (section 4.4)",
            9.0,
            1.0,
            1000.0,
        ),
        Param::switch("slowdowns", "whether there are slowdowns", true),
        Param::new("base_history", "history of the base delay, minutes", 10.0, 1.0, 60.0).whole(),
        Param::new(
            "current_filter",
            "latest delays whose minimum is the current delay",
            4.0,
            1.0,
            100.0,
        )
        .whole(),
    ],
    vectors: &[
        Vector::new("base 50 ms, q = 30 ms: a round adds 1/⌈120/50⌉ = 1/3", 1.0 / 3.0, || {
            change(100.0, 50, 30)
        }),
        Vector::new("W = 100, base 50 ms, q = 90 ms: 1/3 − 100 · 0.5", -49.666_666_667, || {
            change(100.0, 50, 90)
        })
        .within(1e-8),
        Vector::new(
            "W = 100, base 50 ms, q = 120 ms: 1/3 − 100 · 1, at least −50",
            -50.0,
            || change(100.0, 50, 120),
        ),
        Vector::new("base 10 ms: GAIN = 1/⌈120/10⌉ = 1/12", 1.0 / 12.0, || gain_at(10)),
        Vector::new("base 5 ms: ⌈120/5⌉ = 24, at most 16", 1.0 / 16.0, || gain_at(5)),
        Vector::new("base 200 ms: ⌈0.6⌉ = 1, as Reno", 1.0, || gain_at(200)),
        Vector::new("a round of slow start from 10 at 50 ms: ⌊10 + 10/3⌋", 13.0, || {
            Probe::new("ledbat++", Variant::Paper, &Start::slow_start(10, 50)).round().window()
        }),
        Vector::new("W = 21 at a loss: ⌊21/2⌋", 10.0, || {
            Probe::new("ledbat++", Variant::Paper, &Start::avoidance(21, 50)).loss().window()
        }),
    ],
    build,
};

const TARGET: Duration = Duration::from_millis(60);

fn gain_at(base_ms: u64) -> f64 {
    gain(TARGET, Duration::from_millis(base_ms), 16.0)
}

fn change(window: f64, base_ms: u64, queueing_ms: u64) -> f64 {
    change_per_round(window, gain_at(base_ms), 1.0, queueing_ms as f64 / 60.0)
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let length = |name| params.get(name) as usize;
    let rule = LedbatPlusPlus {
        target: Duration::from_nanos((params.get("target_ms") * 1e6) as u64),
        max_divisor: params.get("max_divisor"),
        decrease: params.get("decrease"),
        slow_start_exit: params.get("slow_start_exit"),
        slowdown_interval: params.get("slowdown_interval"),
        has_slowdowns: params.is_on("slowdowns"),
        delays: DelayHistory::new(length("base_history"), length("current_filter")),
        stage: Stage::FirstSlowStart,
    };
    Box::new(Windowed::new(rule, SlowStart::of(variant), init))
}

/// Section 4.3: minimum window, also in slowdowns.
const MIN_CWND: u32 = 2;
/// Section 4.4: round trips before the first slowdown, and of its duration.
const SLOWDOWN_ROUNDS: u64 = 2;

/// Section 4.2: growth per round trip, as a fraction of a segment.
fn gain(target: Duration, base: Duration, max_divisor: f64) -> f64 {
    let base_s = base.as_secs_f64();
    if base_s <= 0.0 {
        return 1.0 / max_divisor;
    }
    1.0 / (2.0 * target.as_secs_f64() / base_s).ceil().clamp(1.0, max_divisor)
}

/// Section 4.3: change of the window in a round trip, segments; `queueing` is in targets.
fn change_per_round(window: f64, gain: f64, decrease: f64, queueing: f64) -> f64 {
    if queueing <= 1.0 {
        gain
    } else {
        (gain - decrease * window * (queueing - 1.0)).max(-window / 2.0)
    }
}

/// Stage of the slowdown cycle.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Stage {
    FirstSlowStart,
    /// Until the next slowdown.
    Between {
        next: Time,
    },
    /// In a slowdown, with two segments.
    Held {
        since: Time,
        until: Time,
    },
    /// In slow start back to the old window.
    Return {
        since: Time,
    },
}

struct LedbatPlusPlus {
    target: Duration,
    max_divisor: f64,
    decrease: f64,
    /// In targets.
    slow_start_exit: f64,
    slowdown_interval: f64,
    has_slowdowns: bool,
    delays: DelayHistory,
    stage: Stage,
}

impl LedbatPlusPlus {
    fn gain(&self) -> f64 {
        let base_ns = self.delays.base_ns().and_then(|ns| u64::try_from(ns).ok()).unwrap_or(0);
        gain(self.target, Duration::from_nanos(base_ns), self.max_divisor)
    }

    /// Queueing delay in targets.
    fn queueing(&self) -> f64 {
        let queueing = self.delays.queueing().unwrap_or(Duration::ZERO);
        queueing.as_secs_f64() / self.target.as_secs_f64()
    }

    /// The next stage, if it is due; sets the window when a slowdown begins.
    fn next_stage(&self, window: &mut Window, flow: &Flow) -> Stage {
        let now = flow.now;
        let rounds = flow.srtt.unwrap_or(Duration::ZERO).saturating_mul(SLOWDOWN_ROUNDS);
        let is_at_threshold = window.cwnd >= window.ssthresh;
        match self.stage {
            Stage::FirstSlowStart if self.queueing() > self.slow_start_exit || is_at_threshold => {
                window.ssthresh = window.ssthresh.min(window.cwnd.max(MIN_CWND));
                Stage::Between { next: now + rounds }
            }
            Stage::Between { next }
                if now >= next && self.has_slowdowns && flow.phase == Phase::Open =>
            {
                window.ssthresh = window.cwnd.max(MIN_CWND);
                *window = Window { ssthresh: window.ssthresh, ..Window::new(MIN_CWND) };
                Stage::Held { since: now, until: now + rounds }
            }
            Stage::Held { since, until } if now >= until => Stage::Return { since },
            Stage::Return { since } if is_at_threshold => {
                let slowdown = now.since(since).as_nanos() as f64;
                let interval = Duration::from_nanos((slowdown * self.slowdown_interval) as u64);
                Stage::Between { next: now + interval }
            }
            stage => stage,
        }
    }
}

impl Rule for LedbatPlusPlus {
    fn may_grow(&self) -> bool {
        !matches!(self.stage, Stage::Held { .. })
    }

    fn slow_start(&mut self, window: &mut Window, acked: u32, _flow: &Flow) -> Option<u32> {
        let to_threshold = f64::from(window.ssthresh) - window.exact();
        window.add((self.gain() * f64::from(acked)).min(to_threshold));
        Some(0)
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        let exact = window.exact();
        let round = change_per_round(exact, self.gain(), self.decrease, self.queueing());
        window.add((round * f64::from(acked) / exact).max(f64::from(MIN_CWND) - exact));
        // Slow start must not undo a reduction by delay.
        window.ssthresh = window.ssthresh.min(window.cwnd.max(MIN_CWND));
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        whole_segments(window.exact() / 2.0)
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        if let Some(rtt) = ack.rtt {
            let rtt_ns = i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX);
            self.delays.sample(flow.now, rtt_ns);
        }
        self.stage = self.next_stage(window, flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(start: &Start) -> Probe {
        Probe::new("ledbat++", Variant::Paper, start)
    }

    #[test]
    fn the_first_slow_start_ends_above_three_quarters_of_the_target() {
        // 45 of 60 ms is not more than three quarters, 46 is. Four samples pass the filter.
        let mut p = probe(&Start::slow_start(10, 100));
        p.ack(1);
        p.rtt = Duration::from_millis(145);
        p.acks(4, 1);
        assert_eq!(p.ssthresh(), None);
        p.rtt = Duration::from_millis(146);
        p.acks(4, 1);
        assert_eq!(p.ssthresh(), Some(p.cwnd()));
    }

    #[test]
    fn slowdowns_begin_two_rounds_after_slow_start_and_are_nine_durations_apart() {
        // From the threshold on: GAIN = 1/⌈120/100⌉ = 1/2, base 100 ms.
        let mut p = probe(&Start { ssthresh: Some(40), ..Start::slow_start(40, 100) });
        let begin = p.now;
        while p.cwnd() > 2 {
            p.ack(1);
        }
        let first = p.now;
        // 200 ms after the first acknowledgement saw the threshold, to the next acknowledgement.
        let waited = first.since(begin).as_secs_f64();
        assert!((0.2..0.21).contains(&waited), "{waited}");
        let ssthresh = p.ssthresh().unwrap();
        assert!((40..=41).contains(&ssthresh), "{ssthresh}");
        // Two segments for 200 ms, with four acknowledgements.
        for _ in 0..3 {
            p.ack(1);
            assert_eq!(p.cwnd(), 2);
        }
        while p.cwnd() < ssthresh {
            p.ack(1);
        }
        // Then W/100 ms acknowledgements of half a segment each: 100 ms · 2 · ln(41/2) = 604 ms.
        let slowdown = p.now.since(first).as_secs_f64();
        assert!((0.78..0.86).contains(&slowdown), "{slowdown}");
        let returned = p.now;
        while p.cwnd() > 2 {
            p.ack(1);
        }
        let waited = p.now.since(returned).as_secs_f64();
        assert!((waited / slowdown - 9.0).abs() < 0.1, "{waited} after {slowdown}");
    }

    #[test]
    fn without_slowdowns_it_continues() {
        let start = Start::avoidance(10, 200).with("slowdowns", 0.0);
        let mut p = probe(&start);
        p.rounds(30);
        // GAIN = 1: a segment per round.
        assert!((38..=40).contains(&p.cwnd()), "{}", p.cwnd());
    }

    #[test]
    fn above_the_target_a_round_halves_at_most() {
        // q = 120 ms is twice the target: −1/2 for each segment of the round.
        let mut p = probe(&Start::avoidance(100, 50).with("slowdowns", 0.0));
        p.ack(1);
        p.rtt = Duration::from_millis(170);
        p.acks(3, 1);
        let before = p.cwnd();
        p.acks(100, 1);
        assert_eq!((before, p.cwnd()), (100, 50));
        p.acks(1_000, 1);
        assert_eq!(p.cwnd(), 2);
    }
}
