//! Scalable TCP as a patch to ns-2 (`windowOption_` 9, not public). Its two rules are those of
//! ns-2's binomial controls with exponents −1 and 1 (ns-2.35 `tcp/tcp.cc`, `windowOption_` 6).

use crate::Flow;
use crate::ns2::Ns2Rule;

pub(super) struct Ns2 {
    pub(super) a: f64,
    pub(super) b: f64,
    pub(super) low_window: f64,
}

impl Ns2Rule for Ns2 {
    fn increment(&mut self, cwnd: f64, _flow: &Flow) -> f64 {
        if cwnd > self.low_window { self.a } else { 1.0 / cwnd }
    }

    fn reduced(&mut self, cwnd: f64, _flow: &Flow) -> f64 {
        if cwnd > self.low_window { cwnd * (1.0 - self.b) } else { cwnd / 2.0 }
    }
}
