//! CUBIC as the Linux kernels compute it, in whole numbers.

use fairway_units::Duration;

use crate::cube_root::cube_root;
use crate::linux::{DelayedAckRatio, HZ, jiffies, packets_acked, to_jiffies};
use crate::{Ack, Flow, Params, Phase, Rule, Signal, Window};

/// Time of the cubic function: ticks of 2^-10 s (`BICTCP_HZ`).
pub(super) const TIME_SHIFT: u32 = 10;

/// Common part of both kernels. Windows are in segments, times in kernel ticks.
pub(super) struct LinuxCore {
    /// In 1/1024.
    pub(super) beta: u64,
    /// C in 1/1024 (`cube_rtt_scale`).
    pub(super) c: u64,
    /// 2⁴⁰/C, which times the distance to the maximum gives K³ (`cube_factor`).
    pub(super) inverse_c: u64,
    /// Segments counted per segment of Reno's growth, in eighths of the window (`beta_scale`).
    pub(super) reno_eighths: u64,
    pub(super) fast_convergence: bool,
    pub(super) tcp_friendliness: bool,
    /// Counted per increase.
    pub(super) count: u64,
    /// Window of the last loss, 0 before the first.
    pub(super) w_max: u64,
    pub(super) last_cwnd: u64,
    pub(super) last_time: u64,
    pub(super) origin: u64,
    /// In 1/1024 s.
    pub(super) k: u64,
    /// 0 before an epoch begins.
    pub(super) epoch_start: u64,
    /// Counted towards Reno's next segment.
    pub(super) reno_count: u64,
    pub(super) reno_cwnd: u64,
}

impl LinuxCore {
    pub(super) fn new(params: &Params) -> Self {
        LinuxCore {
            fast_convergence: params.is_on("fast_convergence"),
            tcp_friendliness: params.is_on("tcp_friendliness"),
            ..LinuxCore::with(params.scaled("beta", 1024), params.scaled("c", 1024))
        }
    }

    pub(super) fn with(beta: u64, c: u64) -> Self {
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

    /// Whether `count` is still valid for this window.
    pub(super) fn is_fresh(&self, cwnd: u64, now: u64) -> bool {
        self.last_cwnd == cwnd && now - self.last_time <= HZ / 32
    }

    /// Record the update, and begin an epoch with `counted` if none has begun.
    pub(super) fn begin(&mut self, cwnd: u64, now: u64, counted: u64) {
        self.last_cwnd = cwnd;
        self.last_time = now;
        if self.epoch_start != 0 {
            return;
        }
        self.epoch_start = now;
        self.reno_count = counted;
        self.reno_cwnd = cwnd;
        let below = self.w_max.saturating_sub(cwnd);
        self.k = if below == 0 { 0 } else { cube_root(self.inverse_c.saturating_mul(below)) };
        self.origin = self.w_max.max(cwnd);
    }

    /// Time of the curve, in 1/1024 s, one round trip of `min_rtt` ticks ahead.
    pub(super) fn time(&self, now: u64, min_rtt: u64) -> u64 {
        ((now + min_rtt - self.epoch_start) << TIME_SHIFT) / HZ
    }

    /// Set the segments to count per increase to reach the curve at `t`.
    pub(super) fn follow_curve(&mut self, cwnd: u64, t: u64) {
        let offset = t.abs_diff(self.k);
        // Wraps as in the kernel, some six minutes from the origin.
        let cubed = self.c.wrapping_mul(offset).wrapping_mul(offset).wrapping_mul(offset);
        let distance = cubed >> (10 + 3 * TIME_SHIFT);
        let target =
            if t < self.k { self.origin.wrapping_sub(distance) } else { self.origin + distance };
        self.count = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
    }

    /// Grow at least as fast as Reno.
    pub(super) fn follow_reno(&mut self, cwnd: u64) {
        if !self.tcp_friendliness {
            return;
        }
        let per_segment = ((cwnd * self.reno_eighths) >> 3).max(1);
        // The kernel subtracts them one by one while more than `per_segment` are left.
        let grown = self.reno_count.saturating_sub(1) / per_segment;
        self.reno_count -= grown * per_segment;
        self.reno_cwnd += grown;
        if self.reno_cwnd > cwnd {
            self.count = self.count.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }

    pub(super) fn backoff(&mut self, cwnd: u64) -> u32 {
        self.epoch_start = 0;
        let falling = cwnd < self.w_max;
        self.w_max =
            if falling && self.fast_convergence { cwnd * (1024 + self.beta) / 2048 } else { cwnd };
        (cwnd * self.beta / 1024) as u32
    }

    pub(super) fn forget(&mut self) {
        *self = LinuxCore {
            fast_convergence: self.fast_convergence,
            tcp_friendliness: self.tcp_friendliness,
            ..LinuxCore::with(self.beta, self.c)
        };
    }
}

pub(super) struct Linux6_1 {
    pub(super) core: LinuxCore,
    pub(super) min_rtt: Option<Duration>,
}

impl Linux6_1 {
    /// `bictcp_update`.
    pub(super) fn update(&mut self, cwnd: u64, acked: u64, now: u64) {
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
    fn beta_ecn(&self) -> Option<f64> {
        Some(super::BETA_ECN)
    }

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

    /// `cubictcp_cwnd_event`: idle time does not count for the curve.
    fn on_transmit_start(&mut self, idle: Duration, flow: &Flow) {
        if self.core.epoch_start != 0 {
            let shifted = self.core.epoch_start + idle.as_millis();
            self.core.epoch_start = shifted.min(jiffies(flow));
        }
    }
}

/// Segments counted per increase before the first loss.
pub(super) const COUNT_BEFORE_LOSS: u64 = 50;

pub(super) struct Linux2_6_22 {
    pub(super) core: LinuxCore,
    pub(super) max_increment: u64,
    /// Minimum RTT in eighths of a tick, 0 before the first sample.
    pub(super) min_rtt_eighths: u64,
    pub(super) ratio: DelayedAckRatio,
}

impl Linux2_6_22 {
    /// `bictcp_update`.
    pub(super) fn update(&mut self, cwnd: u64, now: u64) {
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
    pub(super) fn measure_delay(&mut self, rtt: Duration, flow: &Flow) {
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
        // An acknowledgement with new SACKs is dubious, and its delay ignored
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
