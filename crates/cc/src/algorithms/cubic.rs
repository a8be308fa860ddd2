//! CUBIC: the window is a cubic function of the time since the last loss, with its plateau at the
//! window of that loss.
//!
//! Source: RFC 9438 (L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert, 2023) section 4. W(t) =
//! C(t − K)³ + Wmax with K = ((Wmax − W at the start of the epoch)/C)^⅓; the target is W(t + RTT),
//! or an estimate of Reno's window if that is larger. The RFC counts growth per acknowledgement;
//! here it is per acknowledged segment, so that delayed acknowledgements do not slow it.
//!
//! Linux (`net/ipv4/tcp_cubic.c`) counts time in 1/1024 s, adds the minimum RTT instead of the
//! smoothed one, and converts the target into the number of segments to count per increase; the
//! error of its cube root is 0.2 %, the one here is exact. Linux 6.1 (v2.3): β = 717/1024, counts
//! delivered segments, at least 2 per increase, at most 20 before the first loss, updated once per
//! tick; HyStart. Linux 2.6.22 (v2.1): β = 819/1024, counts acknowledgements, 50 before the first
//! loss, divided by the ratio of segments to acknowledgements as in BIC; beyond the origin at most
//! `max_increment` segments per 100 ms. In both a timeout resets everything, and no RTT is sampled
//! during the first second of an epoch.
//!
//! ns-2's own agents had it as a patch, of which only the parameters are public. The variant is
//! Linux 2.6.22's curve in real numbers; the first loss halves the window.

mod linux;
mod ns2;

use fairway_units::{Duration, Time};

use self::linux::{Linux2_6_22, Linux6_1, LinuxCore};
use crate::linux::DelayedAckRatio;
use crate::ns2::{Agent, max_ssthresh};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, HyStart, Init, Param, Params, Phase, Rule,
    Signal, SlowStart, Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
    window::{flight, whole_segments},
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "cubic",
    title: "CUBIC",
    summary: "The window is a cubic function of the time since the last loss.",
    family: Family::Classic,
    signal: "loss + time",
    year: 2005,
    source: "RFC 9438; Ha, Rhee and Xu, ACM OSR 42(5), 2008",
    variants: &[Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, Variant::Ns2],
    params: &[
        Param::new("beta", "factor of the window after a loss", 0.7, 0.1, 0.95).except(&[
            (Variant::Linux6_1, 717.0 / 1024.0),
            (Variant::Linux2_6_22, 819.0 / 1024.0),
            (Variant::Ns2, 0.8),
        ]),
        Param::new("c", "C of the cubic function, segments per second cubed", 0.4, 0.001, 100.0)
            .except(&[(Variant::Linux6_1, 410.0 / 1024.0), (Variant::Linux2_6_22, 410.0 / 1024.0)]),
        Param::switch("fast_convergence", "whether a falling maximum is lowered further", true),
        Param::switch("tcp_friendliness", "whether it is never slower than Reno", true),
        Param::new(
            "max_increment",
            "largest growth beyond the origin, segments per 100 ms",
            16.0,
            1.0,
            1e6,
        )
        .whole()
        .only(&[Variant::Linux2_6_22, Variant::Ns2]),
        max_ssthresh(),
    ],
    vectors: &[
        Vector::new("W = 70 below 100: K = (30/0.4)^⅓", 4.2172, || curve(70.0, 100.0).1.k)
            .within(5e-5),
        Vector::new("W(1) = 0.4·(1 − 4.2172)³ + 100", 86.68, || curve_at(70.0, 100.0, 1.0))
            .within(5e-3),
        Vector::new("W(6) = 0.4·(6 − 4.2172)³ + 100", 102.27, || curve_at(70.0, 100.0, 6.0))
            .within(5e-3),
        Vector::new("W = 700 below 1000: W(12) = 0.4·(12 − 9.0856)³ + 1000", 1009.90, || {
            curve_at(700.0, 1000.0, 12.0)
        })
        .within(5e-3),
        Vector::new("6.1, W = 100 at a loss: ⌊100 · 717/1024⌋", 70.0, || {
            let mut probe = Probe::new("cubic", Variant::Linux6_1, &Start::avoidance(100, 100));
            probe.congestion(Signal::Loss);
            probe.ssthresh().map_or(f64::NAN, |segments| segments as f64)
        }),
        Vector::new(
            "6.1, W = 70 below 100: K = 1024·(30·1024/410)^⅓, its root within 0.2 %",
            4316.97,
            || {
                let mut core = LinuxCore::with(717, 410);
                core.w_max = 100;
                core.begin(70, 5_000, 0);
                core.k as f64
            },
        )
        .within(9.0),
    ],
    build,
};

fn curve(w: f64, w_max: f64) -> (Rfc9438, Epoch) {
    let mut rule = Rfc9438::new();
    rule.state.w_max = Some(w_max);
    let epoch = rule.start_epoch(w, Time::ZERO);
    (rule, epoch)
}

fn curve_at(w: f64, w_max: f64, seconds: f64) -> f64 {
    let (rule, epoch) = curve(w, w_max);
    rule.w_cubic(&epoch, seconds)
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = match variant {
        Variant::Linux6_1 => SlowStart::HyStart(HyStart::new()),
        _ => SlowStart::of(variant),
    };
    match variant {
        Variant::Paper => {
            let rule = Rfc9438 {
                beta: params.get("beta"),
                c: params.get("c"),
                fast_convergence: params.is_on("fast_convergence"),
                tcp_friendliness: params.is_on("tcp_friendliness"),
                ..Rfc9438::new()
            };
            Box::new(Windowed::new(rule, slow_start, init))
        }
        Variant::Linux6_1 => {
            let rule = Linux6_1 { core: LinuxCore::new(params), min_rtt: None };
            Box::new(Windowed::new(rule, slow_start, init))
        }
        Variant::Ns2 => {
            let rule = ns2::Ns2 {
                fast_convergence: params.is_on("fast_convergence"),
                tcp_friendliness: params.is_on("tcp_friendliness"),
                ..ns2::Ns2::new(params.get("beta"), params.get("c"), params.get("max_increment"))
            };
            Box::new(Agent::limited(rule, params, init))
        }
        Variant::Linux2_6_22 | Variant::Ns3_29 => {
            let rule = Linux2_6_22 {
                core: LinuxCore::new(params),
                max_increment: params.scaled("max_increment", 1),
                min_rtt_eighths: 0,
                ratio: DelayedAckRatio::new(),
            };
            Box::new(Windowed::new(rule, slow_start, init))
        }
    }
}

/// Section 4.2: the window at `since_origin_s` after the origin of its curve, before it if
/// negative.
pub fn window_at(since_origin_s: f64, origin: f64, c: f64) -> f64 {
    c * since_origin_s * since_origin_s * since_origin_s + origin
}

/// Section 4.2 equation 2, K: time of the curve to its origin, from `below` segments below it.
pub fn time_to_origin(below: f64, c: f64) -> f64 {
    libm::cbrt(below / c)
}

/// Section 4.3, α of the Reno-friendly region: growth per round trip that offsets a back-off to
/// `beta`.
pub fn reno_increase(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// Section 4.7, fast convergence: the maximum after a loss below the last one.
pub fn converged(window: f64, beta: f64) -> f64 {
    window * (1.0 + beta) / 2.0
}

/// Section 4.2: greatest ratio of the window to that of a round trip before.
pub const MOST_GROWTH: f64 = 1.5;

/// RFC 9438, in real numbers: segments and seconds.
struct Rfc9438 {
    beta: f64,
    c: f64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    state: Curve,
    /// For the undo (section 4.9).
    before_loss: Option<Curve>,
    last_ack: Time,
}

/// State that the RFC restores after a spurious loss.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Curve {
    /// None before the first loss and after a timeout, when the next epoch starts at its maximum.
    w_max: Option<f64>,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Epoch {
    start: Time,
    k: f64,
    origin: f64,
    /// Estimate of Reno's window.
    w_est: f64,
}

impl Rfc9438 {
    fn new() -> Self {
        Rfc9438 {
            beta: 0.7,
            c: 0.4,
            fast_convergence: true,
            tcp_friendliness: true,
            state: Curve { w_max: None, cwnd_prior: 0.0, epoch: None },
            before_loss: None,
            last_ack: Time::ZERO,
        }
    }

    /// Section 4.2: K, and the origin of the curve.
    fn start_epoch(&self, w: f64, now: Time) -> Epoch {
        let origin = self.state.w_max.unwrap_or(w).max(w);
        Epoch { start: now, k: time_to_origin(origin - w, self.c), origin, w_est: w }
    }

    /// Section 4.2 equation 1, `t` seconds after the start of the epoch.
    fn w_cubic(&self, epoch: &Epoch, t: f64) -> f64 {
        window_at(t - epoch.k, epoch.origin, self.c)
    }

    /// Section 4.2: application-limited time does not count.
    fn pause(&mut self, span: Duration, now: Time) {
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start = (epoch.start + span).min(now);
        }
    }
}

/// β_ecn of CUBIC with ABE (RFC 8511 section 4.1).
const BETA_ECN: f64 = 0.85;

impl Rule for Rfc9438 {
    fn beta_ecn(&self) -> Option<f64> {
        Some(BETA_ECN)
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, flow: &Flow) {
        let w = window.exact();
        let per_segment = f64::from(acked) / w;
        let mut epoch = self.state.epoch.unwrap_or_else(|| self.start_epoch(w, flow.now));
        // Section 4.3: slower than Reno only below the window before the loss.
        let alpha =
            if epoch.w_est >= self.state.cwnd_prior { 1.0 } else { reno_increase(self.beta) };
        epoch.w_est += alpha * per_segment;
        self.state.epoch = Some(epoch);

        let t = flow.now.since(epoch.start).as_secs_f64();
        if self.tcp_friendliness && self.w_cubic(&epoch, t) < epoch.w_est {
            window.add((epoch.w_est - w).max(0.0));
            return;
        }
        let rtt = flow.srtt.unwrap_or(Duration::ZERO).as_secs_f64();
        let target = self.w_cubic(&epoch, t + rtt).clamp(w, MOST_GROWTH * w);
        window.add((target - w) * per_segment.min(1.0));
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        let w = window.exact();
        self.before_loss = Some(self.state);
        // Section 4.7: fast convergence.
        let falling = self.state.w_max.is_some_and(|w_max| w < w_max);
        let w_max = if falling && self.fast_convergence { converged(w, self.beta) } else { w };
        self.state = Curve { w_max: Some(w_max), cwnd_prior: w, epoch: None };
        // Section 4.6: of FlightSize, as the window may not have been filled.
        whole_segments(f64::from(flight(window, flow)) * self.beta)
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        let is_quiet = matches!(flow.phase, Phase::Open | Phase::Disorder);
        if is_quiet && !ack.may_grow && ack.acked > 0 {
            self.pause(flow.now.since(self.last_ack), flow.now);
        }
        self.last_ack = flow.now;
    }

    fn on_rto(&mut self, _flow: &Flow) {
        // Section 4.8: the epoch after a timeout has K = 0 and the window it starts at as Wmax.
        self.state.w_max = None;
        self.state.epoch = None;
    }

    fn on_spurious(&mut self, _window: &mut Window, _flow: &Flow) {
        if let Some(before) = self.before_loss.take() {
            self.state = before;
        }
    }

    fn on_idle(&mut self, idle: Duration, flow: &Flow) {
        self.pause(idle, flow.now);
        self.last_ack = flow.now;
    }
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
