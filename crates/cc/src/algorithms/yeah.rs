//! YeAH: Scalable TCP while the queues are short, Reno while they are long, with draining of its
//! own queue.
//!
//! Source: A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP",
//! PFLDnet 2007. Once per round trip, with `rtt` the minimum of the round and `base` the minimum of
//! the connection, `Q = W·(rtt − base)/rtt`. The mode is slow if `Q > 80` or `rtt − base > base/8`,
//! otherwise fast. Fast mode adds a segment per `min(W, 100)` acknowledged, slow mode one per W. In
//! slow mode with `Q > 80`, `W ← W − min(Q, W/2)`, but not below the estimated window of a Reno
//! flow (`reno_count`: half the window on entry to slow mode, plus one in each of its rounds,
//! halved at a loss, reset after 50 fast rounds). A loss reduces W by `max(min(Q, W/2), W/8)`, or
//! by half after 16 consecutive slow rounds, which indicate greedy competitors.
//!
//! Linux 6.1 (`net/ipv4/tcp_yeah.c`): whole numbers, a microsecond added to each RTT, and rounds
//! with two samples or fewer are ignored, which is assumed for the paper too. It evaluates the
//! queue after the growth of the acknowledgement that ends the round.
//!
//! Linux 2.6.22 counts the segments of an acknowledgement in fast mode and acknowledgements in slow
//! mode; fast mode grows when the count exceeds 100. It holds half the threshold during recovery.
//!
//! ns-3.29 (`tcp-yeah.cc`) computes its 1/8 in whole numbers, so that any queue causes slow mode.
//! Fast mode is its Scalable TCP with 1/100, slow mode its NewReno. A loss reduces the bytes in
//! flight by `min(max(Q, W/8), W/2)`; with less than two segments in flight the difference can wrap
//! around, to a threshold of nearly 2³² bytes.

mod ns3;

use fairway_units::Duration;

use crate::linux::packets_acked;
use crate::ns3::Socket;
use crate::probe::{Probe, Start};
use crate::round::{Delay, DelayRound};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Needs, Param, Params, Phase, Rule,
    Signal, SlowStart, Variant, Vector, Window, Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "yeah",
    title: "YeAH",
    summary: "Scalable TCP while queues are short, Reno while they are long, and queues drained.",
    family: Family::Delay,
    signal: "loss + delay",
    year: 2007,
    source: "Baiocchi, Castellani and Vacirca, PFLDnet 2007",
    variants: &[Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, Variant::Ns3_29],
    params: &[
        // `tcp_yeah.c`, TCP_YEAH_ALPHA, PHY, RHO and ZETA.
        Param::new("q_max", "segments in queues above which it drains them", 80.0, 0.0, 1e6)
            .whole(),
        Param::new(
            "phi",
            "ratio of base to queueing delay below which it is in slow mode",
            8.0,
            1.0,
            1e3,
        )
        .whole(),
        Param::new(
            "rho",
            "consecutive slow rounds that indicate greedy competitors",
            16.0,
            1.0,
            1e3,
        )
        .whole(),
        Param::new("zeta", "fast rounds after which reno_count is reset", 50.0, 0.0, 1e4).whole(),
        // `TcpYeah::GetTypeId`.
        Param::new("gamma", "divisor of the queue when draining", 1.0, 1.0, 1e6)
            .whole()
            .only(&[Variant::Ns3_29]),
        Param::new("epsilon", "draining removes at most W/2 to this power", 1.0, 0.0, 31.0)
            .whole()
            .only(&[Variant::Ns3_29]),
        Param::new("delta", "a loss removes at least W/2 to this power", 3.0, 0.0, 31.0)
            .whole()
            .only(&[Variant::Ns3_29]),
    ],
    vectors: &[
        Vector::new("W = 1000, base 100, rtt 110: Q = 90 > 80, 1000 − 90", 910.0, || {
            after_round(Variant::Linux6_1, 1_000, 100, 110)
        }),
        Vector::new("the same in the paper: Q = 90.909, 1000 − 90.909", 909.091, || {
            after_round(Variant::Paper, 1_000, 100, 110)
        })
        .within(1e-3),
        Vector::new("W = 1000, base 100, rtt 400: Q = 749, at most half: 500", 500.0, || {
            after_round(Variant::Linux6_1, 1_000, 100, 400)
        }),
        Vector::new("W = 400, base 100, rtt 110: Q = 36, 10 ≤ 12.5: fast, so 404", 404.0, || {
            // Four hundred acknowledgements at that delay, one for each hundred.
            let mut probe = Probe::new("yeah", Variant::Linux6_1, &Start::avoidance(400, 100));
            probe.ack(1);
            probe.rtt = Duration::from_millis(110);
            probe.round();
            probe.cwnd() as f64
        }),
        Vector::new("W = 1000 at a loss, Q = 90: 1000 − max(90, 125)", 875.0, || {
            f64::from(left_by_loss(1_000, Some(90.0)))
        }),
        Vector::new("W = 1000 at a loss, Q = 200: 1000 − 200", 800.0, || {
            f64::from(left_by_loss(1_000, Some(200.0)))
        }),
        Vector::new("W = 1000 at a loss beside greedy flows: 1000 − 1000/2", 500.0, || {
            f64::from(left_by_loss(1_000, None))
        }),
        ns3::KEPT,
        ns3::WRAPPED,
    ],
    build,
};

/// The window after the end of a round, by the minimum RTTs of the connection and of the round.
fn after_round(variant: Variant, cwnd: u32, base_ms: u64, rtt_ms: u64) -> f64 {
    let mut window = Window { ssthresh: 2, ..Window::new(cwnd) };
    let (base, rtt) = (Duration::from_millis(base_ms), Duration::from_millis(rtt_ms));
    Yeah::new(variant).end_round(&mut window, Delay { base, rtt });
    window.exact()
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    if variant == Variant::Ns3_29 {
        return Box::new(Socket::new(ns3::Yeah::new(params), init));
    }
    let rule = Yeah {
        q_max: params.get("q_max"),
        phi: params.get("phi"),
        rho: params.get("rho") as u32,
        zeta: params.get("zeta") as u32,
        ..Yeah::new(variant)
    };
    Box::new(Windowed::new(rule, SlowStart::of(variant), init))
}

/// Segments per segment of growth in fast mode (`tcp_yeah.c`, TCP_SCALABLE_AI_CNT).
const INVERSE_A: u32 = 100;
/// Greatest reduction by draining and least by a loss, as fractions of the window
/// (TCP_YEAH_EPSILON and TCP_YEAH_DELTA, as powers of two).
const DRAINED_AT_MOST: u32 = 2;
const LOST_AT_LEAST: u32 = 8;
/// Value of `reno_count` at the start and after a reset.
const FORGOTTEN: u32 = 2;

/// The window after a loss; `queue` is that of the last round, if no competitor is greedy
/// (`tcp_yeah_ssthresh`).
fn left_by_loss(cwnd: u32, queue: Option<f64>) -> u32 {
    let half = (cwnd / 2).max(2);
    let taken = queue.map_or(half, |queue| (queue as u32).min(half).max(cwnd / LOST_AT_LEAST));
    cwnd.saturating_sub(taken)
}

struct Yeah {
    variant: Variant,
    q_max: f64,
    phi: f64,
    rho: u32,
    zeta: u32,
    rounds: DelayRound,
    /// Segments in queues in the last round.
    queue: f64,
    /// Slow rounds since the last fast one; if any, the mode is slow.
    slow_rounds: u32,
    fast_rounds: u32,
    /// Estimated window of a Reno flow, segments.
    reno_count: u32,
    /// Segments of the last acknowledgement.
    packets: u32,
}

impl Yeah {
    /// With the values of the kernel.
    fn new(variant: Variant) -> Self {
        Yeah {
            variant,
            q_max: 80.0,
            phi: 8.0,
            rho: 16,
            zeta: 50,
            rounds: DelayRound::new(),
            queue: 0.0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno_count: FORGOTTEN,
            packets: 1,
        }
    }

    fn is_fast(&self) -> bool {
        self.slow_rounds == 0
    }

    fn queue_of(&self, window: &Window, delay: Delay) -> f64 {
        if self.variant == Variant::Paper {
            return delay.backlog(window.exact());
        }
        let (base, rtt) = delay.micros();
        (u64::from(window.cwnd).saturating_mul(rtt - base) / rtt) as f64
    }

    fn is_long_delay(&self, delay: Delay) -> bool {
        if self.variant == Variant::Paper {
            return delay.queueing().as_secs_f64() > delay.base.as_secs_f64() / self.phi;
        }
        let (base, rtt) = delay.micros();
        rtt - base > base / self.phi as u64
    }

    fn end_round(&mut self, window: &mut Window, delay: Delay) {
        self.queue = self.queue_of(window, delay);
        if self.queue > self.q_max || self.is_long_delay(delay) {
            self.slow_round(window);
        } else {
            self.fast_round();
        }
    }

    fn slow_round(&mut self, window: &mut Window) {
        if self.queue > self.q_max && window.cwnd > self.reno_count {
            self.drain(window);
        }
        self.reno_count = if self.reno_count <= FORGOTTEN {
            (window.cwnd / 2).max(FORGOTTEN)
        } else {
            self.reno_count.saturating_add(1)
        };
        self.slow_rounds = self.slow_rounds.saturating_add(1);
    }

    /// Precautionary decongestion.
    fn drain(&self, window: &mut Window) {
        let most = window.cwnd / DRAINED_AT_MOST;
        window.add(-self.queue.min(f64::from(most)));
        if window.cwnd < self.reno_count {
            (window.cwnd, window.fraction) = (self.reno_count, 0.0);
        }
        window.ssthresh = window.cwnd;
    }

    fn fast_round(&mut self) {
        self.slow_rounds = 0;
        self.fast_rounds = self.fast_rounds.saturating_add(1);
        if self.fast_rounds > self.zeta {
            self.fast_rounds = 0;
            self.reno_count = FORGOTTEN;
        }
    }

    fn grow_as_2_6_22(&mut self, window: &mut Window) {
        if self.is_fast() {
            window.credit = window.credit.saturating_add(self.packets);
            self.packets = 1;
            if window.credit > window.cwnd.min(INVERSE_A) {
                window.cwnd = window.cwnd.saturating_add(1);
                window.credit = 0;
            }
        } else {
            window.additive_increase(window.cwnd, 1);
        }
    }
}

impl Rule for Yeah {
    fn needs(&self) -> Needs {
        Needs::SEND_TIMES
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        self.rounds.on_ack(ack, flow);
        if flow.phase == Phase::Open {
            self.packets = packets_acked(ack, flow) as u32;
        }
    }

    fn after_growth(&mut self, window: &mut Window, flow: &Flow) {
        if self.rounds.ends(flow)
            && let Some(delay) = self.rounds.take(DelayRound::ENOUGH)
        {
            self.end_round(window, delay);
        }
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        let divisor = if self.is_fast() { window.cwnd.min(INVERSE_A) } else { window.cwnd };
        match self.variant {
            Variant::Paper => window.add(f64::from(acked) / f64::from(divisor)),
            Variant::Linux6_1 => window.additive_increase(divisor, acked),
            Variant::Linux2_6_22 | Variant::Ns3_29 | Variant::Ns2 => self.grow_as_2_6_22(window),
        }
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        let is_alone = self.slow_rounds < self.rho;
        self.fast_rounds = 0;
        self.reno_count = (self.reno_count / 2).max(FORGOTTEN);
        left_by_loss(window.cwnd, is_alone.then_some(self.queue))
    }

    fn recovery_window(&self, ssthresh: u32) -> u32 {
        if self.variant == Variant::Linux2_6_22 { ssthresh / 2 } else { ssthresh }
    }

    fn on_recovered(&mut self, _window: &mut Window, flow: &Flow) {
        self.rounds.on_recovered(flow);
    }

    fn on_idle(&mut self, _idle: Duration, flow: &Flow) {
        // `tcp_vegas_cwnd_event`: the base too.
        self.rounds.on_idle(flow);
    }

    fn on_transmit_start(&mut self, _idle: Duration, flow: &Flow) {
        if self.variant == Variant::Linux6_1 {
            self.rounds.on_idle(flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIANTS: [Variant; 3] = [Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22];

    /// One acknowledgement at 100 ms, then `rounds` at `rtt_ms`.
    fn after(variant: Variant, start: &Start, rounds: u32, rtt_ms: u64) -> Probe {
        let mut probe = Probe::new("yeah", variant, start);
        probe.ack(1).rtt = Duration::from_millis(rtt_ms);
        for _ in 0..rounds {
            probe.acks(probe.cwnd() as u32 + 1, 1);
        }
        probe
    }

    #[test]
    fn a_fast_round_at_200_segments() {
        // 1 % of 202 acknowledgements in the paper and 6.1; 2.6.22 adds at every 101st.
        for variant in VARIANTS {
            let probe = after(variant, &Start::avoidance(200, 100), 1, 100);
            assert_eq!(probe.cwnd(), 202, "{variant:?}");
        }
    }

    #[test]
    fn a_long_delay_makes_it_reno() {
        for variant in VARIANTS {
            // 15 ms are more than an eighth of 100; Q = 200·15/115 = 26.
            let mut probe = after(variant, &Start::avoidance(200, 100), 1, 115);
            let before = probe.cwnd();
            probe.rounds(4);
            let grown = probe.cwnd() - before;
            assert!((3..=4).contains(&grown), "{variant:?}: {grown}");
        }
    }

    #[test]
    fn draining_stops_at_the_window_of_reno() {
        // 1000 drains to 500 at most; reno_count is then 250, plus one in each round. With a
        // segment of growth in between: 501 − 250 = 251; 252 − 126 would be below the 251 of Reno.
        let mut rule = Yeah::new(Variant::Linux6_1);
        let mut window = Window { ssthresh: 2, ..Window::new(1_000) };
        let ms = Duration::from_millis;
        let delay = Delay { base: ms(100), rtt: ms(400) };
        for (cwnd, reno_count) in [(500, 250), (251, 251), (251, 252)] {
            rule.end_round(&mut window, delay);
            assert_eq!((window.cwnd, window.ssthresh, rule.reno_count), (cwnd, cwnd, reno_count));
            window.cwnd += 1;
        }
        // Fifty-one fast rounds reset reno_count.
        for round in 1..=51 {
            rule.end_round(&mut window, Delay { base: ms(100), rtt: ms(100) });
            assert_eq!(rule.reno_count, if round == 51 { 2 } else { 252 });
        }
    }

    #[test]
    fn after_sixteen_slow_rounds_a_loss_halves() {
        for variant in VARIANTS {
            let mut probe = after(variant, &Start::avoidance(40, 100), 15, 150);
            let before = probe.cwnd();
            // Q = W/3.
            probe.congestion(Signal::Loss);
            let ssthresh = probe.ssthresh().unwrap();
            assert!(ssthresh > before * 6 / 10, "{variant:?}: {ssthresh} of {before}");
            let mut probe = after(variant, &Start::avoidance(40, 100), 17, 150);
            let before = probe.cwnd();
            probe.congestion(Signal::Loss);
            assert_eq!(probe.ssthresh(), Some(before - before / 2), "{variant:?}");
        }
    }

    #[test]
    fn slow_start_is_drained_too() {
        // A hundred segments and then some in slow start, and a queue of three quarters of them.
        let mut probe = after(Variant::Linux6_1, &Start::slow_start(200, 100), 1, 400);
        assert!(probe.ssthresh().is_some());
        assert!(probe.cwnd() <= 201, "{}", probe.cwnd());
        // 2.6.22 evaluates rounds in slow start as well.
        probe = after(Variant::Linux2_6_22, &Start::slow_start(200, 100), 1, 400);
        assert!(probe.ssthresh().is_some());
    }

    #[test]
    fn a_tiny_window_does_not_underflow() {
        // 1 − max(⌊1/2⌋, 2) would be negative.
        assert_eq!(left_by_loss(1, None), 0);
        assert_eq!(left_by_loss(0, Some(f64::MAX)), 0);
        assert_eq!(left_by_loss(7, Some(0.0)), 7);
    }
}
