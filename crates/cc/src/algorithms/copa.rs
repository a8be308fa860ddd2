//! Copa: moves its rate towards a target inversely proportional to the queueing delay, so that each
//! flow keeps a few segments in the queue; if other flows keep the queue full, it competes with
//! them.
//!
//! Source: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the
//! Internet", NSDI 2018, section 2. `RTTmin` is the minimum RTT of 10 s, `RTTstanding` that of the
//! last srtt/2, `dq = RTTstanding − RTTmin`. Each segment delivered moves the window W by `v/(δ·W)`
//! towards the target rate `1/(δ·dq)`: up while `W/RTTstanding` does not exceed it, otherwise down.
//! The pacing rate is `2·W/RTTstanding`. The velocity v is 1; once per round the window is compared
//! with that of the round before, and after three rounds in one direction v doubles in every
//! further one, until the direction changes. Slow start doubles the window each round until the
//! rate exceeds the target.
//!
//! In default mode δ = ½ and losses are ignored. A queue is nearly empty when
//! `dq ≤ (RTTmax − RTTmin)/10`, RTTmax over four round trips; if it was not for five, other flows
//! fill it, and Copa competes: `1/δ` grows by one per round, a loss halves it, and δ never exceeds
//! ½.
//!
//! Where the paper is silent, this follows the authors' code (genericCC, `markoviancc.cc`): a step
//! is at most a segment (`v ≤ δ·W`), W ≥ 2, and when more than 30 % of two round trips are lost W
//! falls to 70 % in either mode (`heavy_loss`). That code differs: it takes the direction from a
//! vote of the acknowledgements, looks for an empty queue over four round trips, and keeps RTTmin
//! for 20 round trips if that is longer.
//!
//! Assumed: the fourth round in one direction is the first that doubles v, and the first step in
//! the other direction resets it to 1 at once, both as in Facebook's mvfst (without the latter,
//! `prompt_turn = 0`, the window oscillates between an empty and a full queue on long paths); a
//! congestion mark counts as a loss; after a timeout the window is one segment and slow start
//! begins; after an idle period the window stays, as it is paced. It always uses its own slow
//! start.

use fairway_units::{Duration, Rate, Time};

use crate::filter::{MaxFilter, MinFilter};
use crate::round::Round;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Phase, Signal, Variant,
    Vector,
    probe::{Probe, Start},
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "copa",
    title: "Copa",
    summary: "Steers to a rate that falls with the queueing delay; competes where others fill queues.",
    family: Family::Delay,
    signal: "delay",
    year: 2018,
    source: "Arun and Balakrishnan, NSDI 2018",
    variants: &[Variant::Paper],
    params: &[
        Param::new("delta", "δ in default mode: 1/δ segments wait in queues", 0.5, 0.004, 100.0),
        Param::switch("competitive", "whether it competes with flows that fill queues", true),
        Param::new("min_rtt_window_s", "window of the RTTmin filter, s", 10.0, 0.1, 1000.0),
        Param::new("velocity_rounds", "rounds in one direction before v doubles", 3.0, 1.0, 100.0)
            .whole(),
        Param::switch(
            "prompt_turn",
            "whether the first step in the other direction resets v",
            true,
        ),
        Param::new(
            "empty_share",
            "fraction of the RTT range below which the queue is nearly empty",
            0.1,
            0.0,
            1.0,
        ),
        Param::new(
            "heavy_loss",
            "loss rate that reduces the window in either mode; 1 for none",
            0.3,
            0.0,
            1.0,
        ),
    ],
    vectors: &[
        Vector::new("RTTmin 100, standing 110 ms, δ = ½: W = 0.11/(0.5 · 0.01)", 22.0, || {
            target_window(0.5, ms(110), ms(100))
        }),
        Vector::new("W = 15 there: up by 1/(0.5 · 15)", 15.0 + 2.0 / 15.0, || step_from(15.0)),
        Vector::new("W = 30 there: down by 1/(0.5 · 30)", 30.0 - 2.0 / 30.0, || step_from(30.0)),
        Vector::new("W = 2, too much: down by 1/(0.5 · 2), at least 2", 2.0, || {
            moved(2.0, -1.0, 1.0, 0.5)
        }),
        Vector::new("W = 10, δ = ½, v = 8: no more than δ · W = 5", 11.0, || {
            moved(10.0, 1.0, 8.0, 0.5)
        }),
        Vector::new(
            "W = 22, standing 110 ms: paced at 2 · 22 · 1448 · 8/0.11 bit/s",
            4_633_600.0,
            || {
                let mut probe = Probe::new("copa", Variant::Paper, &Start::avoidance(22, 110));
                probe.may_grow = false;
                probe.ack(1);
                probe.cc.pacing_rate().map_or(f64::NAN, |rate| rate.as_bps() as f64)
            },
        ),
        Vector::new("10 segments delivered in slow start from 10", 20.0, || {
            Probe::new("copa", Variant::Paper, &Start::slow_start(10, 100)).ack(10).window()
        }),
    ],
    build,
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn step_from(window: f64) -> f64 {
    let direction = if window <= target_window(0.5, ms(110), ms(100)) { 1.0 } else { -1.0 };
    moved(window, direction, 1.0, 0.5)
}

fn build(_variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let mss = init.mss.max(1);
    let window = (init.initial_window / u64::from(mss)).max(1) as f64;
    let threshold = init.initial_ssthresh.map(|bytes| bytes as f64 / f64::from(mss));
    let least_inverse_delta = 1.0 / params.get("delta");
    Box::new(Copa {
        least_inverse_delta,
        may_compete: params.is_on("competitive"),
        min_rtt_window: seconds(params.get("min_rtt_window_s")),
        velocity_rounds: params.get("velocity_rounds") as u32,
        prompt_turn: params.is_on("prompt_turn"),
        empty_share: params.get("empty_share"),
        heavy_loss: params.get("heavy_loss"),
        mss,
        window,
        in_slow_start: threshold.is_none_or(|threshold| window < threshold),
        inverse_delta: least_inverse_delta,
        is_competing: false,
        velocity: Velocity::new(window),
        round: Round::default(),
        min_rtt: MinFilter::new(),
        standing: MinFilter::new(),
        max_rtt: MaxFilter::new(),
        nearly_empty_at: None,
        losses: None,
        before: None,
    })
}

/// `markoviancc.cc`, `update_intersend_time`: segments.
const MIN_WINDOW: f64 = 2.0;
const MAX_WINDOW: f64 = u32::MAX as f64;
/// Section 2.2: round trips of the RTTmax filter.
const MAX_RTT_ROUNDS: u64 = 4;
/// Section 2.2: round trips without a nearly empty queue until it competes.
const FULL_ROUNDS: u64 = 5;
/// genericCC `estimators.cc`, `ReduceOnLoss`: round trips over which losses are counted, least
/// number of segments, and factor of the window.
const LOSS_ROUNDS: u64 = 2;
const LOSS_SEGMENTS: u64 = 20;
const HEAVY_LOSS_KEEPS: f64 = 0.7;

fn seconds(value: f64) -> Duration {
    Duration::from_nanos((value * 1e9) as u64)
}

/// The window at the target rate 1/(δ·dq), segments; infinite without a queue.
fn target_window(delta: f64, standing: Duration, min_rtt: Duration) -> f64 {
    let queueing_s = (standing - min_rtt).as_secs_f64();
    if queueing_s > 0.0 { standing.as_secs_f64() / (delta * queueing_s) } else { f64::INFINITY }
}

/// The window after `segments` delivered, each a step of v/(δ·W); negative for steps down.
fn moved(window: f64, segments: f64, velocity: f64, delta: f64) -> f64 {
    let velocity = velocity.min(delta * window).max(1.0);
    (window + segments * velocity / (delta * window)).clamp(MIN_WINDOW, MAX_WINDOW)
}

/// Velocity of the window.
#[derive(Clone, Copy, Debug)]
struct Velocity {
    value: f64,
    is_upward: bool,
    /// Rounds in this direction.
    rounds: u32,
    /// At the beginning of the round.
    window: f64,
}

impl Velocity {
    fn new(window: f64) -> Self {
        Velocity { value: 1.0, is_upward: true, rounds: 0, window }
    }

    /// Reset the velocity if a step is in the other direction.
    fn turn(&mut self, is_upward: bool, window: f64) {
        if is_upward != self.is_upward && self.value > 1.0 {
            *self = Velocity { is_upward, ..Velocity::new(window) };
        }
    }

    /// A round has ended.
    fn on_round(&mut self, window: f64, rounds_before: u32) {
        let is_upward = window > self.window;
        if is_upward != self.is_upward {
            *self = Velocity { is_upward, ..Velocity::new(window) };
        }
        self.rounds = self.rounds.saturating_add(1);
        if self.rounds > rounds_before {
            self.value = (self.value * 2.0).min(MAX_WINDOW);
        }
        self.window = window;
    }
}

/// Lost and delivered bytes when counting began.
#[derive(Clone, Copy, Debug)]
struct Losses {
    since: Time,
    lost: u64,
    delivered: u64,
}

/// State before a loss or timeout.
#[derive(Clone, Copy, Debug)]
struct Before {
    window: f64,
    inverse_delta: f64,
    in_slow_start: bool,
}

struct Copa {
    /// 1/δ in default mode.
    least_inverse_delta: f64,
    may_compete: bool,
    min_rtt_window: Duration,
    velocity_rounds: u32,
    prompt_turn: bool,
    empty_share: f64,
    heavy_loss: f64,
    mss: u32,
    /// Segments.
    window: f64,
    in_slow_start: bool,
    /// 1/δ, the target of segments in the queue.
    inverse_delta: f64,
    is_competing: bool,
    velocity: Velocity,
    round: Round,
    min_rtt: MinFilter<Duration, Time>,
    standing: MinFilter<Duration, Time>,
    max_rtt: MaxFilter<Duration, Time>,
    nearly_empty_at: Option<Time>,
    losses: Option<Losses>,
    before: Option<Before>,
}

impl Copa {
    /// RTTstanding and RTTmin, including the RTT of this acknowledgement.
    fn measure(&mut self, ack: &Ack, flow: &Flow) -> Option<(Duration, Duration)> {
        if let Some(rtt) = ack.rtt {
            let srtt = flow.srtt.unwrap_or(rtt);
            self.min_rtt.update(flow.now, self.min_rtt_window, rtt);
            self.standing.update(flow.now, Duration::from_nanos(srtt.as_nanos() / 2), rtt);
            self.max_rtt.update(flow.now, srtt * MAX_RTT_ROUNDS, rtt);
        }
        self.standing.get().zip(self.min_rtt.get())
    }

    /// Section 2.2: choose between the default and the competitive mode.
    fn choose_mode(&mut self, standing: Duration, min_rtt: Duration, flow: &Flow) {
        let spread = self.max_rtt.get().unwrap_or(standing) - min_rtt;
        let queueing_s = (standing - min_rtt).as_secs_f64();
        if queueing_s <= self.empty_share * spread.as_secs_f64() {
            self.nearly_empty_at = Some(flow.now);
        }
        let full_for = flow.now.since(*self.nearly_empty_at.get_or_insert(flow.now));
        let limit = flow.srtt.unwrap_or(standing) * FULL_ROUNDS;
        self.is_competing = self.may_compete && full_for > limit;
        if !self.is_competing {
            self.inverse_delta = self.least_inverse_delta;
        }
    }

    fn on_round(&mut self) {
        self.velocity.on_round(self.window, self.velocity_rounds);
        if self.is_competing {
            self.inverse_delta = (self.inverse_delta + 1.0).min(MAX_WINDOW);
        }
    }

    /// Take a step for each of `segments`; steps up require that the window is in use.
    fn approach(&mut self, target: f64, segments: f64, is_used: bool) {
        let delta = 1.0 / self.inverse_delta;
        let is_below = self.window <= target;
        if self.in_slow_start && is_below {
            let growth = if is_used { segments } else { 0.0 };
            self.window = (self.window + growth).min(MAX_WINDOW);
            self.velocity.window = self.window;
            return;
        }
        self.in_slow_start = false;
        if self.prompt_turn {
            self.velocity.turn(is_below, self.window);
        }
        if !is_below {
            self.window = moved(self.window, -segments, self.velocity.value, delta);
        } else if is_used {
            self.window = moved(self.window, segments, self.velocity.value, delta);
        }
    }

    /// genericCC: reduce the window at a high loss rate.
    fn count_losses(&mut self, flow: &Flow) {
        let begin = Losses { since: flow.now, lost: flow.lost, delivered: flow.delivered };
        let counted = *self.losses.get_or_insert(begin);
        let lost = flow.lost.saturating_sub(counted.lost);
        let all = lost + flow.delivered.saturating_sub(counted.delivered);
        let is_over = flow.now.since(counted.since) > flow.srtt.unwrap_or_default() * LOSS_ROUNDS;
        if is_over && all > LOSS_SEGMENTS * u64::from(self.mss) {
            self.losses = Some(begin);
            if lost as f64 > self.heavy_loss * all as f64 {
                self.window = (self.window * HEAVY_LOSS_KEEPS).max(MIN_WINDOW);
            }
        }
    }

    fn remember(&mut self) {
        let Copa { window, inverse_delta, in_slow_start, .. } = *self;
        self.before = Some(Before { window, inverse_delta, in_slow_start });
    }
}

impl CongestionControl for Copa {
    fn cwnd(&self) -> u64 {
        self.window as u64 * u64::from(self.mss)
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let standing_s = self.standing.get()?.as_secs_f64();
        let bits = 2.0 * self.window * f64::from(self.mss) * 8.0;
        (standing_s > 0.0).then(|| Rate::from_bps((bits / standing_s).max(1.0) as u64))
    }

    fn answers_loss(&self) -> bool {
        false
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        let Some((standing, min_rtt)) = self.measure(ack, flow) else { return };
        self.choose_mode(standing, min_rtt, flow);
        if self.round.ends(flow) {
            self.on_round();
        }
        let target = target_window(1.0 / self.inverse_delta, standing, min_rtt);
        let segments = ack.delivered as f64 / f64::from(self.mss);
        self.approach(target, segments, ack.may_grow || flow.phase != Phase::Open);
        self.count_losses(flow);
    }

    fn on_congestion(&mut self, _signal: Signal, _flow: &Flow) {
        self.remember();
        if self.is_competing {
            self.inverse_delta = (self.inverse_delta / 2.0).max(self.least_inverse_delta);
        }
    }

    fn on_recovered(&mut self, _cwnd: u64, _flow: &Flow) {}

    fn on_rto(&mut self, first: bool, _flow: &Flow) {
        if first {
            self.remember();
        }
        self.window = 1.0;
        self.in_slow_start = true;
        self.velocity = Velocity::new(self.window);
    }

    fn on_spurious(&mut self, _flow: &Flow) {
        if let Some(before) = self.before.take() {
            self.window = self.window.max(before.window);
            self.inverse_delta = self.inverse_delta.max(before.inverse_delta);
            self.in_slow_start = before.in_slow_start;
        }
    }

    fn on_idle(&mut self, _idle: Duration, _rto: Duration, _restart_window: u64, flow: &Flow) {
        // The queue was not observed, so it does not count as full.
        self.nearly_empty_at = Some(flow.now);
        self.losses = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_path::{TestPath, mean};

    fn probe(start: &Start) -> Probe {
        Probe::new("copa", Variant::Paper, start)
    }

    #[test]
    fn velocity_doubles_after_three_rounds_in_one_direction_and_is_reset() {
        let mut velocity = Velocity::new(10.0);
        let mut seen = Vec::new();
        for window in [11.0, 12.0, 13.0, 15.0, 19.0, 18.0, 17.0, 16.0, 17.0] {
            velocity.on_round(window, 3);
            seen.push(velocity.value as u32);
        }
        assert_eq!(seen, [1, 1, 1, 2, 4, 1, 1, 1, 1]);
        velocity.value = 8.0;
        velocity.turn(true, 17.0);
        assert_eq!(velocity.value as u32, 8);
        velocity.turn(false, 17.0);
        assert_eq!((velocity.value as u32, velocity.is_upward), (1, false));
    }

    /// A path of 100 segments: 100 · 1448 · 8 bit in 100 ms.
    fn path(params: &[(&str, f64)], loss: f64) -> TestPath {
        let mut path = TestPath::with("copa", params, 1, (11.584, 100.0, 200));
        path.loss = loss;
        path
    }

    #[test]
    fn alone_it_fills_the_path_and_keeps_the_queue_short() {
        // δ = ½ is a target of two segments in the queue; oscillations add some.
        let mut path = path(&[], 0.0);
        let window = mean(&mut path, 20_000, 60_000, |path| path.cc.cwnd() as f64 / 1448.0);
        assert!((98.0..115.0).contains(&window), "{window}");
        let share = path.delivered as f64 / (path.rate * 60.0);
        assert!(share > 0.95, "{share}");
    }

    #[test]
    fn in_default_mode_losses_cost_nothing_but_themselves() {
        let mut path = path(&[("competitive", 0.0)], 0.01);
        path.run(60_000, |_| {});
        let share = path.delivered as f64 / (path.rate * 60.0);
        assert!(share > 0.9, "{share}");
    }

    #[test]
    fn it_competes_if_the_queue_never_empties() {
        let mut p = probe(&Start::avoidance(10, 100));
        p.ack(1);
        // 50 ms of queue at all times. The target is 150/(½·50) = 6 segments in default mode.
        p.rtt = ms(150);
        for _ in 0..10 {
            p.round();
        }
        // It competes after 750 ms; with 1/δ = n the target is 3·n segments.
        let early = p.cwnd();
        for _ in 0..20 {
            p.round();
        }
        let late = p.cwnd();
        assert!(late > early + 20, "{early}, then {late}");
        // A nearly empty queue restores the default mode, in which the same queue is too long.
        p.rtt = ms(101);
        p.round();
        let before = p.cwnd();
        p.rtt = ms(150);
        for _ in 0..4 {
            p.round();
        }
        assert!(p.cwnd() < before, "{before}, then {}", p.cwnd());
        let mut p = probe(&Start::avoidance(10, 100).with("competitive", 0.0));
        p.ack(1);
        p.rtt = ms(150);
        for _ in 0..30 {
            p.round();
        }
        assert!(p.cwnd() <= 8, "{}", p.cwnd());
    }

    #[test]
    fn losses_count_only_where_it_competes() {
        let mut p = probe(&Start::avoidance(50, 100));
        p.ack(1);
        p.loss();
        assert_eq!(p.cwnd(), 50);
    }

    #[test]
    fn too_many_losses_take_three_tenths_of_the_window() {
        // 160 are lost while 202 are delivered; two round trips and an acknowledgement later the window
        // is 70 %.
        let mut p = probe(&Start::avoidance(100, 100));
        p.may_grow = false;
        p.ack(1);
        p.lost += 160 * 1448;
        p.round();
        p.round();
        assert_eq!(p.cwnd(), 100);
        p.ack(1);
        p.ack(1);
        assert_eq!(p.cwnd(), 70);
    }

    #[test]
    fn a_timeout_begins_slow_start_and_can_be_undone() {
        let mut p = probe(&Start::avoidance(50, 100));
        p.ack(1);
        p.rto();
        assert_eq!(p.cwnd(), 1);
        p.ack(1);
        p.ack(2);
        assert_eq!(p.cwnd(), 4);
        let flow = p.flow();
        p.cc.on_spurious(&flow);
        assert_eq!(p.cwnd(), 50);
    }
}
