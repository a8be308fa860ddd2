//! Reno of ns-2's agents (ns-2.35 `tcp/tcp.cc`, `opencwnd`, `windowOption_` 1).

use crate::Flow;
use crate::ns2::Ns2Rule;

pub(in crate::algorithms) struct Ns2;

impl Ns2Rule for Ns2 {
    fn increment(&mut self, cwnd: f64, _flow: &Flow) -> f64 {
        1.0 / cwnd
    }

    fn reduced(&mut self, cwnd: f64, _flow: &Flow) -> f64 {
        cwnd / 2.0
    }
}
