//! H-TCP as the Linux kernels compute it, in whole numbers.

use fairway_units::Duration;

use crate::linux::{HZ, PhaseBefore, jiffies, packets_acked, to_jiffies};
use crate::{Ack, Flow, Phase, Rule, Signal, Window};

/// β in 1/128.
pub(super) const BETA_MIN: u64 = 64;
pub(super) const BETA_MAX: u64 = 102;
/// α of one segment per round trip, in 1/128.
pub(super) const ALPHA_BASE: u64 = 128;
/// Linux 2.6.22 treats thresholds from here on as infinite (`measure_rtt`).
pub(super) const INFINITE_SSTHRESH: u32 = 0xFFFF;

/// Which RTTs are used.
#[derive(Clone, Copy)]
pub(super) enum Rtt {
    /// Each one, in ticks rounded up (Linux 6.1).
    EverySample,
    /// The smoothed one, in whole ticks; stored in eighths as in `tp->srtt` and in ns-2.35's
    /// TCP-Linux (`tcp/tcp-linux.cc`, `rtt_update`).
    Smoothed { eighths: u64 },
}

/// State before congestion, for undo.
#[derive(Clone, Copy)]
pub(super) struct BeforeCongestion {
    pub(super) last_congestion: u64,
    pub(super) max_rtt: u64,
    pub(super) old_max_throughput: u64,
}

/// The kernel's module; times in ticks, throughputs in segments per second.
pub(super) struct Linux {
    pub(super) rtt: Rtt,
    pub(super) use_rtt_scaling: bool,
    pub(super) use_bandwidth_switch: bool,
    pub(super) alpha: u64,
    pub(super) beta: u64,
    /// Whether β may follow the delay: set at the first event of even throughput.
    pub(super) adaptive: bool,
    pub(super) packets_of_ack: u64,
    pub(super) before: PhaseBefore,
    pub(super) min_rtt: u64,
    pub(super) max_rtt: u64,
    /// None before the module begins: with the connection, or in TCP-Linux with the first
    /// acknowledgement.
    pub(super) last_congestion: Option<u64>,
    pub(super) undo: Option<BeforeCongestion>,
    pub(super) throughput: u64,
    pub(super) max_throughput: u64,
    pub(super) old_max_throughput: u64,
    pub(super) packets: u64,
    /// None for the kernel's boot, long before the first acknowledgement; TCP-Linux's clock begins
    /// with the simulation.
    pub(super) packets_since: Option<u64>,
}

impl Linux {
    pub(super) fn new(rtt: Rtt, use_rtt_scaling: bool, use_bandwidth_switch: bool) -> Self {
        Linux {
            rtt,
            use_rtt_scaling,
            use_bandwidth_switch,
            alpha: ALPHA_BASE,
            beta: BETA_MIN,
            adaptive: false,
            packets_of_ack: 1,
            before: PhaseBefore::new(),
            min_rtt: 0,
            max_rtt: 0,
            last_congestion: None,
            undo: None,
            throughput: 0,
            max_throughput: 0,
            old_max_throughput: 0,
            packets: 0,
            packets_since: match rtt {
                Rtt::EverySample => None,
                Rtt::Smoothed { .. } => Some(0),
            },
        }
    }

    pub(super) fn since_congestion(&self, now: u64) -> u64 {
        now - self.last_congestion.unwrap_or(now)
    }

    /// Whether more than three round trips have passed since the last congestion.
    pub(super) fn is_settled(&self, now: u64) -> bool {
        self.min_rtt > 0 && self.since_congestion(now) / self.min_rtt > 3
    }

    pub(super) fn measure_rtt(&mut self, rtt: u64, max_too: bool) {
        if self.min_rtt > rtt || self.min_rtt == 0 {
            self.min_rtt = rtt;
        }
        if max_too {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if self.max_rtt < rtt && rtt <= self.max_rtt + 20 * HZ / 1000 {
                self.max_rtt = rtt;
            }
        }
    }

    /// `measure_achieved_throughput`.
    pub(super) fn measure_throughput(
        &mut self,
        window: &Window,
        packets: u64,
        phase: Phase,
        now: u64,
    ) {
        if !matches!(phase, Phase::Open | Phase::Disorder) {
            self.packets = 0;
            self.packets_since = Some(now);
            return;
        }
        self.packets += packets;
        let span = self.packets_since.map_or(u64::MAX, |since| now - since);
        // In the kernel an α greater than the window wraps around to a bound never reached.
        let bound = u64::from(window.cwnd).checked_sub((self.alpha >> 7).max(1));
        let is_full = bound.is_some_and(|bound| self.packets >= bound);
        if !is_full || span < self.min_rtt || self.min_rtt == 0 {
            return;
        }
        let throughput = self.packets * HZ / span;
        if self.is_settled(now) {
            self.throughput = (3 * self.throughput + throughput) / 4;
            self.max_throughput = self.max_throughput.max(self.throughput);
        } else {
            self.throughput = throughput;
            self.max_throughput = throughput;
        }
        self.packets = 0;
        self.packets_since = Some(now);
    }

    /// `htcp_beta_update`.
    pub(super) fn update_beta(&mut self) {
        if self.use_bandwidth_switch {
            let (new, old) = (self.max_throughput, self.old_max_throughput);
            self.old_max_throughput = new;
            if !(4 * old..=6 * old).contains(&(5 * new)) {
                self.beta = BETA_MIN;
                self.adaptive = false;
                return;
            }
        }
        if self.adaptive && self.min_rtt > 10 * HZ / 1000 && self.max_rtt > 0 {
            self.beta = ((self.min_rtt << 7) / self.max_rtt).clamp(BETA_MIN, BETA_MAX);
        } else {
            self.beta = BETA_MIN;
            self.adaptive = true;
        }
    }

    /// `htcp_alpha_update`.
    pub(super) fn update_alpha(&mut self, now: u64) {
        let mut factor = 1;
        let since = self.since_congestion(now);
        if since > HZ {
            let beyond = since - HZ;
            let half = beyond / 2;
            factor = 1 + (10 * beyond + half * half / HZ) / HZ;
        }
        if self.use_rtt_scaling && self.min_rtt > 0 {
            // 100 ms/RTTmin in eighths, between a half and ten.
            let scale = (8 * HZ / (10 * self.min_rtt)).clamp(4, 80);
            factor = (8 * factor / scale).max(1);
        }
        self.alpha = 2 * factor * (128 - self.beta);
    }

    pub(super) fn reset(&mut self, now: u64) {
        self.undo = Some(BeforeCongestion {
            last_congestion: self.last_congestion.unwrap_or(now),
            max_rtt: self.max_rtt,
            old_max_throughput: self.old_max_throughput,
        });
        self.last_congestion = Some(now);
    }
}

impl Rule for Linux {
    // `htcp_cong_avoid` is either in slow start or in congestion avoidance, never in both.
    const TAKES_REST_OF_SLOW_START: bool = false;

    fn growth(&mut self, window: &mut Window, _acked: u32, _ack: &Ack, flow: &Flow) {
        let now = jiffies(flow);
        if let Rtt::Smoothed { eighths } = self.rtt {
            let max_too = flow.phase == Phase::Open && window.ssthresh < INFINITE_SSTHRESH;
            // The minimum RTT is updated before the time since congestion is compared with it.
            self.measure_rtt(eighths >> 3, false);
            self.measure_rtt(eighths >> 3, max_too && self.is_settled(now));
        }
        if (u64::from(window.credit) * self.alpha) >> 7 >= u64::from(window.cwnd) {
            window.cwnd = window.cwnd.saturating_add(1);
            window.credit = 0;
            self.update_alpha(now);
        } else {
            window.credit = window.credit.saturating_add(self.packets_of_ack as u32);
        }
        self.packets_of_ack = 1;
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        self.update_beta();
        self.update_alpha(jiffies(flow));
        // The maximum decays, in case the route has changed.
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
        ((u64::from(window.cwnd) * self.beta) >> 7) as u32
    }

    fn on_established(&mut self, _window: &mut Window, flow: &Flow) {
        if matches!(self.rtt, Rtt::EverySample) {
            self.last_congestion = Some(jiffies(flow));
        }
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        self.last_congestion.get_or_insert(jiffies(flow));
        let packets = packets_acked(ack, flow);
        if let (Rtt::Smoothed { eighths }, Some(rtt)) = (&mut self.rtt, ack.rtt) {
            *eighths = smooth(*eighths, rtt);
            if packets == 0 {
                return;
            }
        }
        let phase = match self.rtt {
            Rtt::EverySample => self.before.on_ack(flow),
            Rtt::Smoothed { .. } => flow.phase,
        };
        if phase == Phase::Open {
            self.packets_of_ack = packets;
        }
        if let (Rtt::EverySample, Some(rtt)) = (self.rtt, ack.rtt) {
            self.measure_rtt(to_jiffies(rtt), phase == Phase::Open);
        }
        if self.use_bandwidth_switch {
            self.measure_throughput(window, packets, phase, jiffies(flow));
        }
    }

    fn undo_window(&self, window: &Window, prior: u32) -> u32 {
        match self.rtt {
            Rtt::EverySample => prior,
            Rtt::Smoothed { .. } => ((u64::from(window.ssthresh) << 7) / self.beta) as u32,
        }
    }

    fn on_congestion(&mut self, flow: &Flow) {
        self.before.change(Phase::Cwr);
        self.reset(jiffies(flow));
    }

    fn on_rto(&mut self, flow: &Flow) {
        self.before.change(Phase::Loss);
        self.reset(jiffies(flow));
    }

    fn on_recovered(&mut self, _window: &mut Window, flow: &Flow) {
        self.before.change(flow.phase);
        match self.rtt {
            Rtt::EverySample => {
                if self.undo.take().is_some() {
                    self.last_congestion = Some(jiffies(flow));
                }
            }
            Rtt::Smoothed { .. } => self.last_congestion = Some(jiffies(flow)),
        }
    }

    fn on_spurious(&mut self, _window: &mut Window, _flow: &Flow) {
        if let Some(before) = self.undo.take() {
            self.last_congestion = Some(before.last_congestion);
            self.max_rtt = before.max_rtt;
            self.old_max_throughput = before.old_max_throughput;
        }
    }
}

/// Smoothed RTT in eighths of a tick after another sample, with weight 1/8; the sample is rounded
/// to the nearest tick, at least one.
pub(super) fn smooth(eighths: u64, rtt: Duration) -> u64 {
    let sample = ((rtt.as_nanos() * HZ + 500_000_000) / 1_000_000_000).max(1);
    if eighths == 0 { sample << 3 } else { (eighths + sample - (eighths >> 3)).max(1) }
}
