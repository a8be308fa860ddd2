//! CUBIC as a patch to ns-2 (`windowOption_` 13). The patch is not public; its parameters are, by
//! the scripts that set them. This is what its authors wrote for Linux at the time (Linux 2.6.22
//! `net/ipv4/tcp_cubic.c`, v2.1), in real numbers and without the count of acknowledgements.

use fairway_units::{Duration, Time};

use crate::ns2::Ns2Rule;
use crate::{Ack, Flow};

pub(super) struct Ns2 {
    /// Factor of the window after a loss.
    pub(super) beta: f64,
    pub(super) c: f64,
    /// Segments per 100 ms, beyond the origin.
    pub(super) max_increment: f64,
    pub(super) fast_convergence: bool,
    pub(super) tcp_friendliness: bool,
    pub(super) state: State,
    pub(super) before_loss: Option<State>,
    pub(super) min_rtt: Option<Duration>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct State {
    /// Window of the last loss.
    w_max: Option<f64>,
    epoch: Option<Epoch>,
}

#[derive(Clone, Copy)]
struct Epoch {
    start: Time,
    k: f64,
    origin: f64,
    /// Estimate of Reno's window.
    reno: f64,
}

/// Window over growth in a round trip while the curve does not rise (`bictcp_update`: 100 · cwnd
/// acknowledgements a segment).
const FLAT: f64 = 100.0;
/// Acknowledgements a segment before the first loss.
const COUNT_BEFORE_LOSS: f64 = 50.0;

impl Ns2 {
    pub(super) fn new(beta: f64, c: f64, max_increment: f64) -> Self {
        Ns2 {
            beta,
            c,
            max_increment,
            fast_convergence: true,
            tcp_friendliness: true,
            state: State::default(),
            before_loss: None,
            min_rtt: None,
        }
    }

    fn begin(&self, cwnd: f64, now: Time) -> Epoch {
        let origin = self.state.w_max.unwrap_or(cwnd).max(cwnd);
        Epoch { start: now, k: libm::cbrt((origin - cwnd) / self.c), origin, reno: cwnd }
    }

    /// Growth in a round trip towards the curve, one round trip ahead.
    fn towards_curve(&self, epoch: &Epoch, cwnd: f64, now: Time) -> f64 {
        let rtt_s = self.min_rtt.unwrap_or(Duration::ZERO).as_secs_f64();
        let t = now.since(epoch.start).as_secs_f64() + rtt_s;
        let offset = t - epoch.k;
        let target = epoch.origin + self.c * offset * offset * offset;
        let step = if target > cwnd { target - cwnd } else { 1.0 / FLAT };
        if rtt_s > 0.0 && t >= epoch.k { step.min(self.max_increment * rtt_s / 0.1) } else { step }
    }
}

impl Ns2Rule for Ns2 {
    fn increment(&mut self, cwnd: f64, flow: &Flow) -> f64 {
        let mut epoch = self.state.epoch.unwrap_or_else(|| self.begin(cwnd, flow.now));
        let mut step = if self.state.w_max.is_some() {
            self.towards_curve(&epoch, cwnd, flow.now)
        } else {
            cwnd / COUNT_BEFORE_LOSS
        };
        epoch.reno += 3.0 * (1.0 - self.beta) / (1.0 + self.beta) / cwnd;
        if self.tcp_friendliness {
            step = step.max(epoch.reno - cwnd);
        }
        self.state.epoch = Some(epoch);
        // At most as in slow start.
        (step / cwnd).min(1.0)
    }

    fn reduced(&mut self, cwnd: f64, _flow: &Flow) -> f64 {
        self.before_loss = Some(self.state);
        let falling = self.fast_convergence && self.state.w_max.is_some_and(|w_max| cwnd < w_max);
        let w_max = if falling { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.state = State { w_max: Some(w_max), epoch: None };
        cwnd * self.beta
    }

    fn on_sample(&mut self, _cwnd: f64, ack: &Ack, _flow: &Flow) {
        if let Some(rtt) = ack.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
    }

    fn on_spurious(&mut self) {
        if let Some(before) = self.before_loss.take() {
            self.state = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    #[test]
    fn the_step_of_a_round_follows_the_curve() {
        // 800 below 1000: K = (200/0.4)^⅓ = 7.937; one second and a round trip of 100 ms later
        // 1000 + 0.4 · (1.1 − 7.937)³ = 872.16.
        let mut rule = Ns2::new(0.8, 0.4, 16.0);
        rule.on_sample(800.0, &ack(1, 100), &flow(0, 1, 100));
        rule.state.w_max = Some(1000.0);
        rule.increment(800.0, &flow(0, 800, 100));
        let per_ack = rule.increment(800.0, &flow(1_000, 800, 100));
        assert!((per_ack * 800.0 - 72.16).abs() < 0.05, "{}", per_ack * 800.0);
        // At 20 s it would be 1000 + 0.4 · 12.163³ = 1719.7; beyond K no more than 16.
        let per_ack = rule.increment(1000.0, &flow(20_000, 1000, 100));
        assert!((per_ack * 1000.0 - 16.0).abs() < 1e-9);
    }

    #[test]
    fn a_falling_maximum_is_lowered() {
        let mut rule = Ns2::new(0.8, 0.4, 16.0);
        assert!((rule.reduced(1000.0, &flow(0, 1000, 100)) - 800.0).abs() < 1e-9);
        assert_eq!(rule.state.w_max, Some(1000.0));
        rule.reduced(900.0, &flow(0, 900, 100));
        assert!((rule.state.w_max.unwrap() - 810.0).abs() < 1e-9);
    }
}
