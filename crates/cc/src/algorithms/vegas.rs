//! Vegas: keeps between α and β segments in queues, and so needs no loss to find its window.
//!
//! Source: L. S. Brakmo, L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", IEEE JSAC 13(8), 1995. Once per round trip, with `rtt` the minimum of the round and
//! `base` the minimum of the connection, `diff = W·(rtt − base)/rtt` segments are in queues.
//! `diff < α`: `W + 1`; `diff > β`: `W − 1`; otherwise W stays. The paper tries α, β of 1, 3 and of
//! 2, 4; the latter are Linux's. Slow start doubles the window in every other round and holds it in
//! between; `diff > γ` at the end of a round in which it was held ends slow start.
//!
//! The paper does not specify the window after slow start (unchanged here; ns-2's own agent reduces
//! it by an eighth) and describes finer retransmission timers, which are the stack's. Assumed: half
//! the window after a loss, and Reno in rounds with two samples or fewer and outside the open
//! phase, as in Linux.
//!
//! Linux 6.1 (`net/ipv4/tcp_vegas.c`): whole numbers, and `diff = ⌊W·(rtt − base)/base⌋`, divided
//! by base. Slow start continues in every round; `diff > γ` sets `W = min(W, ⌊W·base/rtt⌋ + 1)`.
//! The threshold follows the window down and is at least ¾ of it. The module grows a window that is
//! not in use; here the stack prevents that, and a product does not wrap at 2³².
//!
//! Linux 2.6.22: `diff` in half segments, of the data acknowledged in the round, divided by rtt.
//! The end of slow start sets a threshold of 2. The window moves one step towards that at the end
//! of the last round plus or minus 1, so growth is half as fast. It holds half the threshold during
//! recovery.
//!
//! ns-3.29 (`src/internet/model/tcp-vegas.cc`): `diff = W − ⌊W·base/rtt⌋`. The threshold is
//! `max(2, min(threshold, W − 1))` after a loss and after a decrease for queueing, and at least ¾
//! of the window after every round: a loss undoes the growth since the last one and never halves
//! the window, an advantage under random loss. Outside the open phase it is ns-3's NewReno.
//!
//! An idle period resets the base, except in ns-3.

mod ns3;

use fairway_units::Duration;

use crate::ns3::Socket;
use crate::probe::{Probe, Start};
use crate::round::{Delay, DelayRound};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Needs, Param, Params, Rule, Signal,
    SlowStart, Variant, Vector, Window, Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "vegas",
    title: "Vegas",
    summary: "Keeps two to four segments in queues, a segment up or down per round trip.",
    family: Family::Delay,
    signal: "delay + loss",
    year: 1995,
    source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995",
    variants: &[Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, Variant::Ns3_29],
    params: &[
        // `tcp_vegas.c`, module parameters.
        Param::new("alpha", "segments in queues below which it grows", 2.0, 0.0, 1e6),
        Param::new("beta", "segments in queues above which it shrinks", 4.0, 0.0, 1e6),
        Param::new("gamma", "segments in queues above which slow start ends", 1.0, 0.0, 1e6),
    ],
    vectors: &[
        Vector::new("W = 50, base 100, rtt 102: 50·2/102 = 0.98 < 2, so 51", 51.0, || {
            after_round(Variant::Paper, 50, 100, 102)
        }),
        Vector::new("W = 50, base 100, rtt 104: 50·4/104 = 1.92 < 2, so 51", 51.0, || {
            after_round(Variant::Paper, 50, 100, 104)
        }),
        Vector::new(
            "the same in 6.1, in µs and one more: ⌊50·4000/100001⌋ = 1 < 2",
            51.0,
            || after_round(Variant::Linux6_1, 50, 100, 104),
        ),
        Vector::new("W = 50, base 100, rtt 109: 50·9/109 = 4.13 > 4, so 49", 49.0, || {
            after_round(Variant::Paper, 50, 100, 109)
        }),
        Vector::new("the same in 6.1: ⌊50·9000/100001⌋ = 4, so 50", 50.0, || {
            after_round(Variant::Linux6_1, 50, 100, 109)
        }),
        Vector::new("W = 50, rtt 111 in 6.1: ⌊50·11000/100001⌋ = 5 > 4, so 49", 49.0, || {
            after_round(Variant::Linux6_1, 50, 100, 111)
        }),
        Vector::new("the same in ns-3.29: 50 − ⌊50·100/111⌋ = 5 > 4, so 49", 49.0, || {
            after_round(Variant::Ns3_29, 50, 100, 111)
        }),
        Vector::new("W = 50 at a loss: 50/2", 25.0, || after_loss(Variant::Linux6_1)),
        Vector::new("the same in ns-3.29, the first: 50 − 1", 49.0, || {
            after_loss(Variant::Ns3_29)
        }),
        Vector::new("and above a threshold of 2: min(2, 50 − 1)", 2.0, || {
            Probe::new("vegas", Variant::Ns3_29, &Start::avoidance(50, 100)).loss().window()
        }),
    ],
    build,
};

/// The window after a round of RTTs of `rtt_ms`, after one of `base_ms`.
fn after_round(variant: Variant, cwnd: u32, base_ms: u64, rtt_ms: u64) -> f64 {
    let mut probe = Probe::new("vegas", variant, &Start::avoidance(cwnd, base_ms));
    probe.ack(1);
    probe.rtt = Duration::from_millis(rtt_ms);
    for _ in 0..=cwnd {
        probe.ack(1);
    }
    probe.cwnd() as f64
}

/// The window after a first loss, at 50 segments.
fn after_loss(variant: Variant) -> f64 {
    Probe::new("vegas", variant, &Start::slow_start(50, 100)).loss().window()
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = SlowStart::of(variant);
    let limits =
        Limits { alpha: params.get("alpha"), beta: params.get("beta"), gamma: params.get("gamma") };
    let version = match variant {
        Variant::Paper => Version::Paper { doubles: false },
        Variant::Linux6_1 => Version::Linux6_1,
        Variant::Linux2_6_22 | Variant::Ns2 => Version::Linux2_6_22 { cwnd_at_start: 0 },
        Variant::Ns3_29 => return Box::new(Socket::new(ns3::Vegas::new(limits), init)),
    };
    Box::new(Windowed::new(Vegas::new(version, limits), slow_start, init))
}

/// Segments in queues.
#[derive(Clone, Copy)]
struct Limits {
    alpha: f64,
    beta: f64,
    gamma: f64,
}

impl Limits {
    /// Change of the window, 1, −1 or 0, with `diff` segments in queues.
    fn step(&self, diff: f64, may_grow: bool) -> i32 {
        if diff > self.beta {
            -1
        } else if diff < self.alpha && may_grow {
            1
        } else {
            0
        }
    }
}

/// Minimum window under delay, segments (`tcp_vegas_cong_avoid`).
const MIN_WINDOW: u32 = 2;

/// Take one step; the threshold follows the window down, or slow start would begin again.
fn take_step(window: &mut Window, step: i32) {
    window.cwnd = window.cwnd.saturating_add_signed(step).max(MIN_WINDOW);
    if step < 0 {
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }
}

/// Version of the rules, with its state.
#[derive(Clone, Copy)]
enum Version {
    /// `doubles`: whether slow start grows in this round.
    Paper {
        doubles: bool,
    },
    Linux6_1,
    /// With the window when the round began.
    Linux2_6_22 {
        cwnd_at_start: u32,
    },
}

struct Vegas {
    version: Version,
    limits: Limits,
    rounds: DelayRound,
    /// Whether this acknowledgement grows the window as Reno would.
    as_reno: bool,
}

impl Vegas {
    fn new(version: Version, limits: Limits) -> Self {
        Vegas { version, limits, rounds: DelayRound::new(), as_reno: true }
    }

    /// End a round; `delay` is its measurement, if there were enough samples.
    fn end_round(&mut self, window: &mut Window, delay: Option<Delay>, ack: &Ack, flow: &Flow) {
        self.as_reno = delay.is_none();
        match self.version {
            Version::Paper { doubles } => {
                self.version = Version::Paper { doubles: !doubles };
                if let Some(delay) = delay {
                    self.adjust(window, delay, !doubles, ack.may_grow);
                }
            }
            Version::Linux6_1 => {
                if let Some(delay) = delay {
                    self.adjust_6_1(window, delay, ack.may_grow);
                }
            }
            Version::Linux2_6_22 { cwnd_at_start } => {
                self.version = Version::Linux2_6_22 { cwnd_at_start: window.cwnd };
                if let Some(delay) = delay {
                    self.adjust_2_6_22(window, delay, cwnd_at_start, ack, flow);
                }
            }
        }
    }

    /// The paper: compare expected and actual rates only in rounds in which the window `was_held`.
    fn adjust(&self, window: &mut Window, delay: Delay, was_held: bool, may_grow: bool) {
        let diff = delay.backlog(f64::from(window.cwnd));
        if window.cwnd >= window.ssthresh {
            take_step(window, self.limits.step(diff, may_grow));
        } else if was_held && diff > self.limits.gamma {
            window.ssthresh = window.cwnd;
        }
    }

    fn adjust_6_1(&self, window: &mut Window, delay: Delay, may_grow: bool) {
        let (base, rtt) = delay.micros();
        let cwnd = u64::from(window.cwnd);
        let diff = cwnd.saturating_mul(rtt - base) / base;
        if window.cwnd >= window.ssthresh {
            take_step(window, self.limits.step(diff as f64, may_grow));
        } else if diff as f64 > self.limits.gamma {
            // The window at the rate of the round with empty queues, plus one for the truncation.
            let target = cwnd.saturating_mul(base) / rtt + 1;
            window.cwnd = (target.min(cwnd) as u32).max(MIN_WINDOW);
            window.ssthresh = window.ssthresh.min(window.cwnd);
        }
        // `tcp_current_ssthresh`.
        window.ssthresh = window.ssthresh.max(window.cwnd / 2 + window.cwnd / 4);
    }

    fn adjust_2_6_22(
        &self,
        window: &mut Window,
        delay: Delay,
        cwnd_before: u32,
        ack: &Ack,
        flow: &Flow,
    ) {
        let (base, rtt) = delay.micros();
        let acknowledged = self.rounds.acknowledged() / u64::from(flow.mss.max(1));
        let target_halves = acknowledged.saturating_mul(base).saturating_mul(2) / rtt;
        let diff = acknowledged.saturating_mul(2).saturating_sub(target_halves) as f64 / 2.0;
        if window.cwnd > window.ssthresh {
            let wanted = cwnd_before.saturating_add_signed(self.limits.step(diff, true));
            if wanted < window.cwnd {
                window.cwnd -= 1;
            } else if wanted > window.cwnd && ack.may_grow {
                window.cwnd += 1;
            }
        } else if diff > self.limits.gamma {
            window.ssthresh = 2;
            let target = target_halves / 2 + 1;
            // This acknowledgement still counts as one of slow start: one segment more.
            window.cwnd = u64::from(window.cwnd).min(target) as u32 + u32::from(ack.may_grow);
        }
        window.cwnd = window.cwnd.max(MIN_WINDOW);
    }
}

impl Rule for Vegas {
    const TAKES_REST_OF_SLOW_START: bool = false;

    fn needs(&self) -> Needs {
        Needs::SEND_TIMES
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        self.rounds.on_ack(ack, flow);
        self.as_reno = !self.rounds.is_open();
        if ack.acked > 0 && self.rounds.is_open() && self.rounds.ends(flow) {
            let delay = self.rounds.take(DelayRound::ENOUGH);
            self.end_round(window, delay, ack, flow);
        }
    }

    fn slow_start(&mut self, _window: &mut Window, _acked: u32, _flow: &Flow) -> Option<u32> {
        // The paper holds the window in every other round: all segments are used without growth.
        let is_held = matches!(self.version, Version::Paper { doubles: false });
        (is_held && !self.as_reno).then_some(0)
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        if !self.as_reno {
            return;
        }
        match self.version {
            Version::Paper { .. } | Version::Linux6_1 => {
                window.additive_increase(window.cwnd, acked);
            }
            Version::Linux2_6_22 { .. } => {
                window.count_ack(window.cwnd);
            }
        }
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        window.cwnd / 2
    }

    fn recovery_window(&self, ssthresh: u32) -> u32 {
        match self.version {
            Version::Paper { .. } | Version::Linux6_1 => ssthresh,
            Version::Linux2_6_22 { .. } => ssthresh / 2,
        }
    }

    fn on_recovered(&mut self, _window: &mut Window, flow: &Flow) {
        self.rounds.on_recovered(flow);
        if matches!(self.version, Version::Linux6_1) {
            // The acknowledgement that ends an episode is already outside it (`tcp_vegas_state`).
            self.as_reno = !self.rounds.is_open();
        }
    }

    fn on_idle(&mut self, _idle: Duration, flow: &Flow) {
        self.rounds.on_idle(flow);
    }

    fn on_transmit_start(&mut self, _idle: Duration, flow: &Flow) {
        // `tcp_vegas_cwnd_event`.
        if matches!(self.version, Version::Linux6_1) {
            self.rounds.on_idle(flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phase;
    use crate::testing::{MSS, ack};

    fn probe(variant: Variant, start: &Start) -> Probe {
        Probe::new("vegas", variant, start)
    }

    /// Acknowledge at `rtt_ms` until the next round ends.
    fn next_round(probe: &mut Probe, rtt_ms: u64) {
        probe.rtt = Duration::from_millis(rtt_ms);
        for _ in 0..=probe.cwnd() {
            probe.ack(1);
        }
    }

    #[test]
    fn linux_6_1_leaves_slow_start_for_the_rate_it_measured() {
        // The first acknowledgement ends a round of one sample and grows 9 to 10; of the segments
        // then in flight, up to the 10th, nine more make 19. The 11th ends the round:
        // ⌊19·20/100⌋ = 3 > 1, and ⌊19·100/120⌋ + 1 = 16.
        let mut probe = probe(Variant::Linux6_1, &Start::slow_start(9, 100));
        probe.ack(1);
        probe.rtt = Duration::from_millis(120);
        probe.acks(9, 1);
        assert_eq!((probe.cwnd(), probe.ssthresh()), (19, None));
        probe.ack(1);
        assert_eq!((probe.cwnd(), probe.ssthresh()), (16, Some(16)));
    }

    #[test]
    fn the_paper_doubles_in_every_other_round() {
        let mut probe = probe(Variant::Paper, &Start::slow_start(10, 100));
        let mut windows = Vec::new();
        for _ in 0..4 {
            probe.round();
            windows.push(probe.cwnd());
        }
        assert!(windows[3] >= 30 && windows[3] <= 50, "{windows:?}");
    }

    #[test]
    fn linux_2_6_22_needs_two_rounds_for_a_segment() {
        let mut probe = probe(Variant::Linux2_6_22, &Start::avoidance(50, 100));
        for _ in 0..21 {
            next_round(&mut probe, 100);
        }
        assert!((59..=62).contains(&probe.cwnd()), "{}", probe.cwnd());
    }

    #[test]
    fn ns3_undoes_only_the_growth_since_the_last_loss() {
        let mut probe = probe(Variant::Ns3_29, &Start::slow_start(40, 100));
        probe.loss();
        assert_eq!(probe.cwnd(), 39);
        // One segment for each of some rounds without queues, of which a loss leaves 39.
        for _ in 0..6 {
            next_round(&mut probe, 100);
        }
        assert!((43..=45).contains(&probe.cwnd()), "{}", probe.cwnd());
        assert_eq!(probe.ssthresh(), Some(39));
        probe.loss();
        assert_eq!((probe.cwnd(), probe.ssthresh()), (39, Some(39)));
        // Three quarters of 60 are 45.
        while probe.cwnd() < 60 {
            next_round(&mut probe, 100);
        }
        probe.loss();
        assert_eq!((probe.cwnd(), probe.ssthresh()), (45, Some(45)));
    }

    #[test]
    fn it_settles_between_alpha_and_beta() {
        // A path that holds 50 segments: rtt = 100·W/50 beyond that. 52 to 54 are in bounds.
        let ns3 = Variant::Ns3_29;
        for variant in [Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, ns3] {
            for start in [40, 80] {
                let mut probe = probe(variant, &Start::avoidance(start, 100));
                probe.ack(1);
                for _ in 0..60 {
                    let rtt = 100_000 * probe.cwnd().max(50) / 50;
                    probe.rtt = Duration::from_micros(rtt);
                    for _ in 0..=probe.cwnd() {
                        probe.ack(1);
                    }
                }
                assert!((51..=55).contains(&probe.cwnd()), "{variant:?}: {}", probe.cwnd());
            }
        }
    }

    #[test]
    fn it_is_reno_outside_the_open_phase() {
        let mut probe = probe(Variant::Linux6_1, &Start::avoidance(20, 100));
        probe.ack(1);
        probe.phase = Phase::Disorder;
        // Queueing of half the RTT would otherwise reduce the window.
        probe.rtt = Duration::from_millis(200);
        probe.acks(20, 1);
        assert_eq!(probe.cwnd(), 21);
    }

    /// A window of 4 after a loss, and an acknowledgement of four segments that ends the episode.
    fn after_last_ack(next: Phase) -> Probe {
        let mut probe = probe(Variant::Linux6_1, &Start::avoidance(8, 100));
        probe.ack(1);
        let flow = Flow { phase: Phase::Recovery, ..probe.flow() };
        probe.cc.on_congestion(Signal::Loss, &flow);
        probe.cc.on_last_ack(&ack(4, 100), 4 * u64::from(MSS), next, &flow);
        probe
    }

    #[test]
    fn at_the_end_of_an_episode_it_is_reno_only_in_disorder() {
        // Linux 6.1 `tcp_set_ca_state` comes before `tcp_vegas_cong_avoid`: with nothing out of order it is
        // Vegas again, at the beginning of a round; otherwise four of four make a segment.
        assert_eq!(after_last_ack(Phase::Open).cwnd(), 4);
        assert_eq!(after_last_ack(Phase::Disorder).cwnd(), 5);
    }

    #[test]
    fn the_window_never_falls_below_two() {
        let ns3 = Variant::Ns3_29;
        for variant in [Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, ns3] {
            let mut probe =
                probe(variant, &Start::avoidance(10, 1).with("alpha", 0.0).with("beta", 0.0));
            probe.ack(1);
            for _ in 0..100 {
                next_round(&mut probe, 500);
            }
            assert!(probe.cwnd() >= 2, "{variant:?}: {}", probe.cwnd());
        }
    }
}
