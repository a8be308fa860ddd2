//! CUBIC: the window is a cubic function of the time since the last loss, flat where the loss was.
//!
//! Source: RFC 9438 (L. Xu, S. Ha, I. Rhee, V. Goel, L. Eggert, 2023) section 4. W(t) =
//! C(t − K)³ + Wmax with K = ((Wmax − W at the start of the epoch)/C)^⅓; the window heads for
//! W(t + RTT), and follows an estimate of Reno's window where that is larger. The RFC counts
//! growth per acknowledgement; here it is per acknowledged segment, so that delayed
//! acknowledgements do not slow it.
//!
//! Linux (`net/ipv4/tcp_cubic.c`) keeps time in 1/1024 s, adds the smallest round trip instead of
//! the smoothed one, takes an integer cube root that is off by 0.2 %, and turns the target into
//! the number of segments to count per increase. Linux 6.1 (v2.3): β = 717/1024, counts
//! delivered segments, at least 2 per increase, at most 20 before the first loss, updated once
//! per tick; HyStart. Linux 2.6.22 (v2.1): β = 819/1024, counts acknowledgements, 50 before the
//! first loss, divided by the ratio of segments to acknowledgements as in BIC; beyond the origin
//! no more than `max_increment` segments per 100 ms. In both a timeout forgets everything, and
//! no round trip is sampled during the first second of an epoch.

use fairway_units::{Duration, Time};

use super::reno::flight;
use crate::cube_root::cube_root;
use crate::linux::{DelayedAckRatio, HZ, jiffies, packets_acked, to_jiffies};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, HyStart, Init, Param, Params, Phase, Rule,
    Signal, SlowStart, Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
    window::whole_segments,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "cubic",
    title: "CUBIC",
    summary: "The window is a cubic function of the time since the last loss.",
    family: Family::Classic,
    signal: "loss + time",
    year: 2005,
    source: "RFC 9438; Ha, Rhee and Xu, ACM OSR 42(5), 2008",
    variants: &[Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22],
    params: &[
        Param::new("beta", "share of the window kept at a loss", 0.7, 0.1, 0.95)
            .except(&[(Variant::Linux6_1, 717.0 / 1024.0), (Variant::Linux2_6_22, 819.0 / 1024.0)]),
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
        .only(&[Variant::Linux2_6_22]),
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
        Variant::Paper | Variant::Linux2_6_22 | Variant::Ns3_29 => SlowStart::of(variant),
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

/// What the RFC restores after a spurious loss.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Curve {
    /// None before the first loss and after a timeout: the next epoch starts at its maximum.
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
        Epoch { start: now, k: libm::cbrt((origin - w) / self.c), origin, w_est: w }
    }

    /// Section 4.2 equation 1, `t` seconds after the start of the epoch.
    fn w_cubic(&self, epoch: &Epoch, t: f64) -> f64 {
        let offset = t - epoch.k;
        self.c * offset * offset * offset + epoch.origin
    }

    /// Section 4.2: time during which the application did not fill the window does not count.
    fn pause(&mut self, span: Duration, now: Time) {
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start = (epoch.start + span).min(now);
        }
    }
}

impl Rule for Rfc9438 {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, flow: &Flow) {
        let w = window.exact();
        let per_segment = f64::from(acked) / w;
        let mut epoch = self.state.epoch.unwrap_or_else(|| self.start_epoch(w, flow.now));
        // Section 4.3: slower than Reno only until the window before the loss is reached.
        let alpha = if epoch.w_est >= self.state.cwnd_prior {
            1.0
        } else {
            3.0 * (1.0 - self.beta) / (1.0 + self.beta)
        };
        epoch.w_est += alpha * per_segment;
        self.state.epoch = Some(epoch);

        let t = flow.now.since(epoch.start).as_secs_f64();
        if self.tcp_friendliness && self.w_cubic(&epoch, t) < epoch.w_est {
            window.add((epoch.w_est - w).max(0.0));
            return;
        }
        let rtt = flow.srtt.unwrap_or(Duration::ZERO).as_secs_f64();
        let target = self.w_cubic(&epoch, t + rtt).clamp(w, 1.5 * w);
        window.add((target - w) * per_segment.min(1.0));
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        let w = window.exact();
        self.before_loss = Some(self.state);
        // Section 4.7: fast convergence.
        let falling = self.state.w_max.is_some_and(|w_max| w < w_max);
        let w_max = if falling && self.fast_convergence { w * (1.0 + self.beta) / 2.0 } else { w };
        self.state = Curve { w_max: Some(w_max), cwnd_prior: w, epoch: None };
        // Section 4.6: of what is in flight, not of a window that may not have been filled.
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

/// Time of the cubic function: ticks of 2^-10 s (`BICTCP_HZ`).
const TIME_SHIFT: u32 = 10;

/// What both kernels do alike. Windows in segments, times in ticks of the kernel's clock.
struct LinuxCore {
    /// In 1/1024.
    beta: u64,
    /// C in 1/1024 (`cube_rtt_scale`).
    c: u64,
    /// 2⁴⁰/C: what the distance to the maximum is multiplied with to give K³ (`cube_factor`).
    inverse_c: u64,
    /// Segments counted per segment of Reno's growth, in eighths of the window (`beta_scale`).
    reno_eighths: u64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    /// Counted per increase.
    count: u64,
    /// Window of the last loss, 0 before the first.
    w_max: u64,
    last_cwnd: u64,
    last_time: u64,
    origin: u64,
    /// In 1/1024 s.
    k: u64,
    /// 0 where no epoch has begun.
    epoch_start: u64,
    /// Counted towards Reno's next segment.
    reno_count: u64,
    reno_cwnd: u64,
}

impl LinuxCore {
    fn new(params: &Params) -> Self {
        LinuxCore {
            fast_convergence: params.is_on("fast_convergence"),
            tcp_friendliness: params.is_on("tcp_friendliness"),
            ..LinuxCore::with(params.scaled("beta", 1024), params.scaled("c", 1024))
        }
    }

    fn with(beta: u64, c: u64) -> Self {
        LinuxCore {
            beta,
            c,
            inverse_c: (1 << 40) / c,
            reno_eighths: 8 * (1024 + beta) / 3 / (1024 - beta),
            fast_convergence: true,
            tcp_friendliness: true,
            count: 0,
            w_max: 0,
            last_cwnd: 0,
            last_time: 0,
            origin: 0,
            k: 0,
            epoch_start: 0,
            reno_count: 0,
            reno_cwnd: 0,
        }
    }

    /// Whether `count` is still good for this window.
    fn is_fresh(&self, cwnd: u64, now: u64) -> bool {
        self.last_cwnd == cwnd && now - self.last_time <= HZ / 32
    }

    /// Note the update, and begin an epoch with `counted` if none has begun.
    fn begin(&mut self, cwnd: u64, now: u64, counted: u64) {
        self.last_cwnd = cwnd;
        self.last_time = now;
        if self.epoch_start != 0 {
            return;
        }
        self.epoch_start = now;
        self.reno_count = counted;
        self.reno_cwnd = cwnd;
        let below = self.w_max.saturating_sub(cwnd);
        self.k = if below == 0 { 0 } else { cube_root(self.inverse_c * below) };
        self.origin = self.w_max.max(cwnd);
    }

    /// Time of the curve, in 1/1024 s, one round trip of `min_rtt` ticks ahead.
    fn time(&self, now: u64, min_rtt: u64) -> u64 {
        ((now + min_rtt - self.epoch_start) << TIME_SHIFT) / HZ
    }

    /// Segments to count per increase so as to reach the curve at `t`.
    fn follow_curve(&mut self, cwnd: u64, t: u64) {
        let offset = t.abs_diff(self.k);
        // Wraps as the kernel's does, some six minutes from the origin.
        let cubed = self.c.wrapping_mul(offset).wrapping_mul(offset).wrapping_mul(offset);
        let distance = cubed >> (10 + 3 * TIME_SHIFT);
        let target =
            if t < self.k { self.origin.wrapping_sub(distance) } else { self.origin + distance };
        self.count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
    }

    /// Not slower than Reno.
    fn follow_reno(&mut self, cwnd: u64) {
        if !self.tcp_friendliness {
            return;
        }
        let per_segment = ((cwnd * self.reno_eighths) >> 3).max(1);
        while self.reno_count > per_segment {
            self.reno_count -= per_segment;
            self.reno_cwnd += 1;
        }
        if self.reno_cwnd > cwnd {
            self.count = self.count.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }

    fn backoff(&mut self, cwnd: u64) -> u32 {
        self.epoch_start = 0;
        let falling = cwnd < self.w_max;
        self.w_max =
            if falling && self.fast_convergence { cwnd * (1024 + self.beta) / 2048 } else { cwnd };
        (cwnd * self.beta / 1024) as u32
    }

    fn forget(&mut self) {
        *self = LinuxCore {
            fast_convergence: self.fast_convergence,
            tcp_friendliness: self.tcp_friendliness,
            ..LinuxCore::with(self.beta, self.c)
        };
    }
}

struct Linux6_1 {
    core: LinuxCore,
    min_rtt: Option<Duration>,
}

impl Linux6_1 {
    /// `bictcp_update`.
    fn update(&mut self, cwnd: u64, acked: u64, now: u64) {
        let core = &mut self.core;
        core.reno_count += acked;
        if core.is_fresh(cwnd, now) {
            return;
        }
        if core.epoch_start == 0 || now != core.last_time {
            core.begin(cwnd, now, acked);
            let t = core.time(now, self.min_rtt.map_or(0, to_jiffies));
            core.follow_curve(cwnd, t);
            if core.w_max == 0 {
                core.count = core.count.min(20);
            }
        }
        core.follow_reno(cwnd);
        core.count = core.count.max(2);
    }
}

impl Rule for Linux6_1 {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, flow: &Flow) {
        self.update(u64::from(window.cwnd), u64::from(acked), jiffies(flow));
        window.additive_increase(u32::try_from(self.core.count).unwrap_or(u32::MAX), acked);
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        self.core.backoff(u64::from(window.cwnd))
    }

    /// `cubictcp_acked`.
    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        let Some(rtt) = ack.rtt else { return };
        let in_first_second =
            self.core.epoch_start != 0 && jiffies(flow) - self.core.epoch_start < HZ;
        if !in_first_second && self.min_rtt.is_none_or(|min| rtt < min) {
            self.min_rtt = Some(rtt.max(Duration::from_micros(1)));
        }
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.core.forget();
        self.min_rtt = None;
    }

    /// `cubictcp_cwnd_event`: the curve waits while nothing is sent.
    fn on_idle(&mut self, idle: Duration, flow: &Flow) {
        if self.core.epoch_start != 0 {
            let shifted = self.core.epoch_start + idle.as_millis();
            self.core.epoch_start = shifted.min(jiffies(flow));
        }
    }
}

/// Segments counted per increase before the first loss.
const COUNT_BEFORE_LOSS: u64 = 50;

struct Linux2_6_22 {
    core: LinuxCore,
    max_increment: u64,
    /// Smallest round trip in eighths of a tick, 0 before the first.
    min_rtt_eighths: u64,
    ratio: DelayedAckRatio,
}

impl Linux2_6_22 {
    /// `bictcp_update`.
    fn update(&mut self, cwnd: u64, now: u64) {
        let core = &mut self.core;
        core.reno_count += 1;
        if core.is_fresh(cwnd, now) {
            return;
        }
        core.begin(cwnd, now, 1);
        let t = core.time(now, self.min_rtt_eighths >> 3);
        core.follow_curve(cwnd, t);
        if self.min_rtt_eighths > 0 && t >= core.k {
            let fewest = cwnd * HZ * 8 / (10 * self.max_increment * self.min_rtt_eighths);
            core.count = core.count.max(fewest);
        }
        if core.w_max == 0 {
            core.count = COUNT_BEFORE_LOSS;
        }
        core.follow_reno(cwnd);
        core.count = self.ratio.acknowledgements(core.count);
    }

    /// `measure_delay`: the clock truncates, the echoed timestamp is rounded (ns-2.35
    /// `tcp/tcp-linux.cc`, `recv` and `time_processing`).
    fn measure_delay(&mut self, rtt: Duration, flow: &Flow) {
        let now = jiffies(flow);
        if now - self.core.epoch_start < HZ {
            return;
        }
        let sent_nanos = flow.now.as_nanos().saturating_sub(rtt.as_nanos());
        let sent = (sent_nanos + 500_000) / 1_000_000;
        let eighths = (now.saturating_sub(sent) << 3).max(1);
        if self.min_rtt_eighths == 0 || eighths < self.min_rtt_eighths {
            self.min_rtt_eighths = eighths;
        }
    }
}

impl Rule for Linux2_6_22 {
    fn growth(&mut self, window: &mut Window, _acked: u32, _ack: &Ack, flow: &Flow) {
        self.update(u64::from(window.cwnd), jiffies(flow));
        window.count_ack(u32::try_from(self.core.count).unwrap_or(u32::MAX));
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        self.core.backoff(u64::from(window.cwnd))
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        if flow.phase != Phase::Open || ack.acked == 0 {
            return;
        }
        self.ratio.sample(packets_acked(ack, flow));
        // An acknowledgement with news of holes is dubious, and its delay not taken
        // (`tcp_ack_is_dubious`).
        let has_new_sack = ack.delivered > ack.acked;
        if let (Some(rtt), false) = (ack.rtt, has_new_sack) {
            self.measure_delay(rtt, flow);
        }
    }

    fn undo_window(&self, _window: &Window, _prior: u32) -> u32 {
        u32::try_from(self.core.w_max).unwrap_or(u32::MAX)
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.core.forget();
        self.min_rtt_eighths = 0;
        self.ratio = DelayedAckRatio::new();
    }
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
