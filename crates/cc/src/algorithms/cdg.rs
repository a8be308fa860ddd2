//! CDG: backs off at random, with a probability that rises with the delay gradient, and tries to
//! distinguish losses of a full queue from others.
//!
//! Source: D. A. Hayes, G. Armitage, "Revisiting TCP congestion control using delay gradients",
//! IFIP Networking 2011. Once per round, the differences of the minimum and of the maximum RTT to
//! those of the round before are gradients; `g` is that of the minima if positive, otherwise that
//! of the maxima, averaged over a = 8 rounds (in slow start the last one alone). With probability
//! `P = 1 − e^(−g/G)`, G = 3 ms, `W ← 0.7·W`; otherwise W grows by a segment per round. After 5
//! consecutive back-offs without a falling gradient the next 5 are skipped, as other flows fill the
//! queue. At each back-off the **shadow window** rises to W; it grows as W does and only losses
//! halve it. A loss leaves `max(shadow/2, W/2)`, or all of W unless the gradients indicate a full
//! queue (minima rise, maxima do not). Where the paper is silent, this follows FreeBSD's
//! `cc_cdg.c`, by one of its authors: a round after a back-off gives no gradient; maxima that fall
//! while minima do not indicate an empty queue and end the shadow window; a timeout and a mark
//! halve the window.
//!
//! Linux 6.1 (`net/ipv4/tcp_cdg.c`, by K. K. Jonassen): gradients in µs, summed, and
//! `P = 1 − e^(−42·10⁻⁶·g)`, that is G = 1000/(42 · 8) = 2.98 ms, scaled while fewer than 8 are
//! known. A back-off leaves 724/1024 of W. After 5 back-offs without a gradient of −32 µs or less
//! there is none. Every loss counts as congestion unless `use_tolerance` is on. The shadow window
//! is at most W while W is not in use. Slow start has its own HyStart, at any window:
//! acknowledgements less than 3 ms apart that span half the minimum RTT, or a round whose minimum
//! RTT exceeds that of the connection by an eighth.
//!
//! Both ignore the RTT of one segment after acknowledgements of several, which may be delayed
//! (Hayes, CAIA TR 100219A). Linux tests for SACKed data; here that is any phase but the open one.

use fairway_units::Duration;
use fairway_units::random::Stream;

use crate::cdg_hystart::CdgHyStart;
use crate::gradient::{Gradients, MinMax, Queue};
use crate::shadow::Shadow;
use crate::window::whole_segments;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Phase, Rule, Signal,
    SlowStart, Variant, Vector, Window, Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "cdg",
    title: "CDG",
    summary: "Backs off at random, the likelier the faster the delay rises.",
    family: Family::Delay,
    signal: "delay gradient + loss",
    year: 2011,
    source: "Hayes and Armitage, IFIP Networking 2011",
    variants: &[Variant::Paper, Variant::Linux6_1],
    params: &[
        Param::new("window", "rounds over which gradients are taken", 8.0, 1.0, 256.0).whole(),
        Param::new("backoff_beta", "factor of the window after a delay back-off", 0.7, 0.1, 1.0)
            .except(&[(Variant::Linux6_1, 724.0 / 1024.0)]),
        Param::new(
            "use_ineff",
            "ineffective back-offs before further ones are skipped; 0 for never",
            5.0,
            0.0,
            1000.0,
        )
        .whole(),
        Param::new("scaling_ms", "G, the gradient at which P = 1 − 1/e, ms", 3.0, 0.01, 1000.0)
            .only(&[Variant::Paper]),
        Param::new("hold_backoff", "back-offs skipped then", 5.0, 1.0, 1000.0)
            .whole()
            .only(&[Variant::Paper]),
        Param::new(
            "backoff_factor",
            "exponent for a gradient sum of one second",
            42.0,
            0.0,
            10_000.0,
        )
        .whole()
        .only(&[Variant::Linux6_1]),
        Param::new(
            "hystart_detect",
            "HyStart: 1 for trains, 2 for delay, 3 for both, 0 for none",
            3.0,
            0.0,
            3.0,
        )
        .whole()
        .only(&[Variant::Linux6_1]),
        Param::switch("use_shadow", "whether the shadow window counts at a loss", true)
            .only(&[Variant::Linux6_1]),
        Param::switch("use_tolerance", "whether losses without a full queue are ignored", false)
            .only(&[Variant::Linux6_1]),
    ],
    vectors: &[
        Vector::new("Linux, summed gradient of 1 ms: 1 − e^−0.042", 0.041_13, || {
            probability(linux_exponent(1_000, 42.0))
        })
        .within(1e-5),
        Vector::new("Linux, 8 ms: 1 − e^−0.336", 0.285_38, || {
            probability(linux_exponent(8_000, 42.0))
        })
        .within(1e-5),
        Vector::new("the paper, an average gradient of 1 ms: 1 − e^(−1/3)", 0.283_47, || {
            probability(1.0 / 3.0)
        })
        .within(1e-5),
        Vector::new("Linux, W = 100 at a back-off: ⌊100 · 724/1024⌋", 70.0, || {
            linux_threshold(100, 100, Queue::BackingOff)
        }),
        Vector::new("Linux, W = 100, shadow 160 at a loss: max(80, 50)", 80.0, || {
            linux_threshold(100, 160, Queue::Unknown)
        }),
        Vector::new("Linux, W = 100, shadow 300 at a loss: min(150, 100)", 100.0, || {
            linux_threshold(100, 300, Queue::Unknown)
        }),
        Vector::new("Linux, W = 101, shadow 60 at a loss: max(30, ⌊101/2⌋)", 50.0, || {
            linux_threshold(101, 60, Queue::Unknown)
        }),
    ],
    build,
};

fn linux_threshold(cwnd: u32, shadow: u32, queue: Queue) -> f64 {
    let mut rule = Cdg::linux();
    (rule.shadow.window, rule.queue) = (Some(shadow), queue);
    f64::from(rule.threshold(cwnd, Signal::Loss))
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let (source, detect, beta) = if variant == Variant::Linux6_1 {
        let source = Source::Linux {
            factor: params.get("backoff_factor"),
            use_shadow: params.is_on("use_shadow"),
            use_tolerance: params.is_on("use_tolerance"),
        };
        let detect = params.get("hystart_detect") as u8;
        (source, detect, params.scaled("backoff_beta", 1024) as f64 / 1024.0)
    } else {
        let hold = params.get("hold_backoff") as u32;
        let source = Source::Paper { scaling_us: params.get("scaling_ms") * 1e3, hold };
        (source, 0, params.get("backoff_beta"))
    };
    let detect = if init.slow_start.is_some() { 0 } else { detect };
    let rule = Cdg {
        beta,
        patience: params.get("use_ineff") as u32,
        hystart: CdgHyStart::new(detect),
        ..Cdg::new(source, params.get("window") as usize, init.random("cdg"))
    };
    Box::new(Windowed::new(rule, SlowStart::of(variant), init))
}

/// Probability of a back-off.
fn probability(exponent: f64) -> f64 {
    1.0 - libm::exp(-exponent)
}

fn linux_exponent(gradient_us: i64, factor: f64) -> f64 {
    gradient_us as f64 * factor * 1e-6
}

/// Sums of gradients at or below this show that back-off was effective, µs (`tcp_cdg_grad`).
const FALLING_US: i64 = -32;

/// Differences between the versions.
#[derive(Clone, Copy, Debug)]
enum Source {
    Paper {
        /// G, µs.
        scaling_us: f64,
        /// Back-offs skipped after ineffective ones.
        hold: u32,
    },
    Linux {
        /// Exponent for a gradient sum of one second.
        factor: f64,
        use_shadow: bool,
        use_tolerance: bool,
    },
}

struct Cdg {
    source: Source,
    beta: f64,
    /// Ineffective back-offs before further ones are skipped.
    patience: u32,
    hystart: CdgHyStart,
    random: Stream,
    gradients: Gradients,
    shadow: Shadow,
    queue: Queue,
    /// Back-offs since a gradient last fell, including skipped ones.
    in_vain: u32,
    backs_off: bool,
    /// Whether a timeout occurred; its end is not that of a reduction.
    has_timed_out: bool,
}

impl Cdg {
    fn new(source: Source, rounds: usize, random: Stream) -> Self {
        Cdg {
            source,
            beta: 0.7,
            patience: 5,
            hystart: CdgHyStart::new(0),
            random,
            gradients: Gradients::over(rounds),
            shadow: Shadow::default(),
            queue: Queue::Unknown,
            in_vain: 0,
            backs_off: false,
            has_timed_out: false,
        }
    }

    /// Linux's version with its defaults.
    fn linux() -> Self {
        let source = Source::Linux { factor: 42.0, use_shadow: true, use_tolerance: false };
        Cdg { beta: 724.0 / 1024.0, ..Cdg::new(source, 8, Stream::new(1, "cdg")) }
    }

    /// Exponent of the back-off probability for the round that ended.
    fn exponent(&self, gradient: MinMax, in_slow_start: bool) -> f64 {
        let (sum, rounds) = (self.gradients.sum().rising(), self.gradients.rounds());
        match self.source {
            Source::Paper { scaling_us, .. } if in_slow_start && gradient.rising() > 0 => {
                gradient.rising() as f64 / scaling_us
            }
            Source::Paper { scaling_us, .. } => sum as f64 / rounds as f64 / scaling_us,
            Source::Linux { factor, .. } => {
                linux_exponent(sum * rounds / self.gradients.known().max(1), factor)
            }
        }
    }

    /// Update the state of the queue and the count of ineffective back-offs from the gradients.
    fn judge_queue(&mut self) {
        let sum = self.gradients.sum();
        let (has_fallen, trend) = match self.source {
            Source::Paper { .. } => (sum.min < 0 || sum.max < 0, sum),
            Source::Linux { use_tolerance, .. } => {
                let has_fallen = sum.min <= FALLING_US || sum.max <= FALLING_US;
                (has_fallen, if use_tolerance { sum.in_steps() } else { MinMax::default() })
            }
        };
        if has_fallen {
            self.in_vain = 0;
        }
        self.queue = trend.queue().unwrap_or(self.queue);
        let is_empty = trend.min == 0 && trend.max < 0;
        if is_empty && matches!(self.source, Source::Paper { .. }) {
            self.shadow.window = Some(0);
        }
    }

    /// Process the end of a round.
    fn judge(&mut self, gradient: MinMax, window: &Window) {
        let exponent = self.exponent(gradient, window.cwnd < window.ssthresh);
        self.judge_queue();
        if exponent <= 0.0 || self.random.unit() >= probability(exponent) {
            return;
        }
        self.backs_off = self.has_patience();
        match self.source {
            Source::Paper { .. } => {
                self.shadow.raise_to(window.cwnd);
                self.gradients.forget_round();
            }
            Source::Linux { .. } if self.backs_off => {
                self.shadow.raise_to(window.cwnd);
                self.queue = Queue::BackingOff;
            }
            Source::Linux { .. } => {}
        }
    }

    /// Whether back-off is still effective.
    fn has_patience(&mut self) -> bool {
        if self.patience == 0 {
            return true;
        }
        self.in_vain = self.in_vain.saturating_add(1);
        let is_patient = self.in_vain <= self.patience;
        if let Source::Paper { hold, .. } = self.source
            && self.in_vain >= self.patience + hold
        {
            self.in_vain = 0;
        }
        is_patient
    }

    /// The window after a reduction.
    fn threshold(&mut self, cwnd: u32, signal: Signal) -> u32 {
        let half = cwnd / 2;
        let (backs_off, ignores_loss, use_shadow) = match self.source {
            Source::Paper { .. } if signal == Signal::Ecn => return half,
            Source::Paper { .. } => (signal == Signal::Delay, true, true),
            Source::Linux { use_shadow, use_tolerance, .. } => {
                (self.queue == Queue::BackingOff, use_tolerance, use_shadow)
            }
        };
        if backs_off {
            return whole_segments(f64::from(cwnd) * self.beta);
        }
        if ignores_loss && self.queue == Queue::NotFull {
            return cwnd;
        }
        let shadow = (self.shadow.get(cwnd) / 2).min(cwnd);
        self.shadow.window = Some(shadow);
        if use_shadow { shadow.max(half) } else { half }
    }
}

impl Rule for Cdg {
    fn may_grow(&self) -> bool {
        !self.backs_off
    }

    fn wants_reduction(&self) -> bool {
        self.backs_off
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.additive_increase(window.cwnd, acked);
    }

    fn backoff(&mut self, window: &Window, signal: Signal, _flow: &Flow) -> u32 {
        self.shadow.follow(window.cwnd);
        self.threshold(window.cwnd, signal)
    }

    fn rto_backoff(&mut self, window: &Window, flow: &Flow) -> u32 {
        match self.source {
            Source::Paper { .. } => window.cwnd / 2,
            Source::Linux { .. } => self.backoff(window, Signal::Loss, flow),
        }
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        self.shadow.follow(window.cwnd);
        self.backs_off = false;
        self.gradients.on_ack(ack, flow);
        // From here on `tcp_cdg_cong_avoid`.
        if ack.acked == 0 || matches!(flow.phase, Phase::Cwr | Phase::Recovery) {
            return;
        }
        let round_us = self.gradients.min_rtt_us();
        if window.cwnd < window.ssthresh && self.hystart.finds_queue(round_us, ack.may_grow, flow) {
            window.ssthresh = window.cwnd.max(2);
        }
        if self.gradients.round_ends(flow) {
            self.hystart.start_round();
            if let Some(gradient) = self.gradients.end_round(flow) {
                self.judge(gradient, window);
            }
        }
        if !ack.may_grow && !self.backs_off && matches!(self.source, Source::Linux { .. }) {
            self.shadow.window = self.shadow.window.map(|shadow| shadow.min(window.cwnd));
        }
    }

    fn on_congestion(&mut self, _flow: &Flow) {
        self.has_timed_out = false;
        self.backs_off = false;
        self.shadow.look_away();
    }

    /// `CA_EVENT_COMPLETE_CWR`.
    fn on_recovered(&mut self, _window: &mut Window, flow: &Flow) {
        self.shadow.look_away();
        if self.has_timed_out {
            return;
        }
        self.gradients.skip(flow);
        match self.source {
            Source::Paper { .. } => self.gradients.forget_round(),
            Source::Linux { .. } => self.queue = Queue::Unknown,
        }
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.has_timed_out = true;
        self.backs_off = false;
        self.shadow.look_away();
    }

    fn on_spurious(&mut self, _window: &mut Window, _flow: &Flow) {
        self.shadow.look_away();
    }

    /// `CA_EVENT_CWND_RESTART`.
    fn on_idle(&mut self, _idle: Duration, flow: &Flow) {
        self.gradients.clear(flow);
        self.hystart.clear();
        self.shadow = Shadow { window: self.shadow.seen, seen: None };
        self.queue = Queue::Unknown;
        self.in_vain = 0;
    }
}

#[cfg(test)]
#[path = "cdg_tests.rs"]
mod tests;
