//! HighSpeed TCP of ns-2's agents (ns-2.35 `tcp/tcp.cc`, `windowOption_` 8): the RFC's straight
//! lines in logarithms, evaluated at every acknowledgement.

use crate::Flow;
use crate::ns2::Ns2Rule;

/// Least reduction. The line reaches zero beyond half a million segments, below which ns-2 would
/// continue.
const LEAST_DECREASE: f64 = 1e-3;

pub(super) struct Ns2 {
    low_window: f64,
    /// Reduction: at a window of 1, and per e-fold (`hstcp_.dec1`, `dec2`).
    decrease: (f64, f64),
    /// Logarithm of the loss rate, likewise (`hstcp_.p1`, `p2`).
    log_p: (f64, f64),
    /// The last reduction, used again at or below `low_window` (`decrease_num_`).
    last_decrease: f64,
}

impl Ns2 {
    /// `TcpAgent::reset`.
    pub(super) fn new(low_window: f64, high_window: f64, high_p: f64, high_decrease: f64) -> Self {
        let log_low = libm::log(low_window);
        let span = libm::log(high_window) - log_low;
        let log_low_p = libm::log(1.5 / (low_window * low_window));
        let decrease = (high_decrease - 0.5) / span;
        let log_p = (libm::log(high_p) - log_low_p) / span;
        Ns2 {
            low_window,
            decrease: (0.5 - log_low * decrease, decrease),
            log_p: (log_low_p - log_low * log_p, log_p),
            last_decrease: 0.5,
        }
    }

    /// `decrease_param`, of the logarithm of the window.
    fn decrease(&self, log_cwnd: f64) -> f64 {
        (self.decrease.0 + log_cwnd * self.decrease.1).max(LEAST_DECREASE)
    }
}

impl Ns2Rule for Ns2 {
    /// `increase_param`; `cwnd_range_` is 0.
    fn increment(&mut self, cwnd: f64, _flow: &Flow) -> f64 {
        if cwnd <= self.low_window {
            return 1.0 / cwnd;
        }
        let log_cwnd = libm::log(cwnd);
        let p = libm::exp(self.log_p.0 + log_cwnd * self.log_p.1);
        cwnd * p / (1.0 / self.decrease(log_cwnd) - 0.5)
    }

    fn reduced(&mut self, cwnd: f64, _flow: &Flow) -> f64 {
        if cwnd <= self.low_window {
            return self.last_decrease * cwnd;
        }
        self.last_decrease = self.decrease(libm::log(cwnd));
        cwnd - self.last_decrease * cwnd
    }
}
