//! H-TCP as a patch to ns-2 (`windowOption_` −10). The patch is not public. This is what its authors
//! wrote for Linux at the time (Linux 2.6.22 `net/ipv4/tcp_htcp.c`), with α computed at every
//! acknowledgement and the window a real number.

use super::linux::Linux;
use crate::linux::jiffies;
use crate::ns2::Ns2Rule;
use crate::{Ack, Flow, Rule, Signal, Window};

pub(super) struct Ns2(pub(super) Linux);

/// The window as the module sees it, in congestion avoidance.
fn window(cwnd: f64) -> Window {
    Window { ssthresh: 2, ..Window::new(cwnd as u32) }
}

impl Ns2Rule for Ns2 {
    fn increment(&mut self, cwnd: f64, flow: &Flow) -> f64 {
        // The module samples the RTT here; its counter is not used.
        self.0.growth(&mut window(cwnd), 1, &Ack::default(), flow);
        self.0.update_alpha(jiffies(flow));
        self.0.alpha as f64 / 128.0 / cwnd
    }

    fn reduced(&mut self, cwnd: f64, flow: &Flow) -> f64 {
        self.0.backoff(&window(cwnd), Signal::Loss, flow);
        Rule::on_congestion(&mut self.0, flow);
        cwnd * self.0.beta as f64 / 128.0
    }

    fn on_sample(&mut self, cwnd: f64, ack: &Ack, flow: &Flow) {
        Rule::on_sample(&mut self.0, &mut window(cwnd), ack, flow);
    }

    fn on_recovered(&mut self, flow: &Flow) {
        Rule::on_recovered(&mut self.0, &mut Window::new(2), flow);
    }
}
