//! Growth and back-off of DCM+, for both readings and all switches.

use fairway_units::Duration;

use super::rate::{RoundTrips, estimate};
use super::switches::Switches;
use super::timeout::Timeout;
use crate::bandwidth::{Bandwidth, pipe_segments};
use crate::{Ack, Flow, Rule, Signal, SlowStart, Window};

/// The window rule.
pub(crate) struct Dcm {
    pub(super) switches: Switches,
    pub(super) bandwidth: Box<dyn Bandwidth>,
    pub(super) rtts: RoundTrips,
    pub(super) timeout: Timeout,
}

impl Dcm {
    pub(crate) fn new(switches: Switches) -> Self {
        Dcm {
            switches,
            bandwidth: estimate(&switches),
            rtts: RoundTrips::default(),
            timeout: Timeout::new(switches.timeout),
        }
    }

    fn rate_ca(&self) -> f64 {
        if self.switches.over_new_rtt { self.rtts.over_new() } else { self.rtts.over_min() }
    }

    /// Bytes in flight on the path without queueing.
    fn pipe_bytes(&self) -> f64 {
        self.bandwidth.bytes_per_s() * self.rtts.min_s
    }

    pub(super) fn is_below(&self, window: &Window, mss: f64) -> bool {
        // A window in bytes is whole; its fraction of a segment is not exact.
        let (cwnd, threshold) = if self.switches.below_estimate {
            ((window.exact() * mss).round(), self.pipe_bytes().floor())
        } else {
            (window.exact(), f64::from(window.ssthresh))
        };
        if self.switches.equal_is_below { cwnd <= threshold } else { cwnd < threshold }
    }

    /// Growth by one acknowledgement at a window of `cwnd`, in the unit of the switches.
    pub(super) fn increment(&self, cwnd: f64, is_below: bool) -> f64 {
        let rate_ca = self.rate_ca();
        let (quick, slow) = match (self.switches.falls_with_rtt, self.switches.over_new_rtt) {
            (false, _) => (rate_ca, 1.0 / rate_ca),
            // Over the new RTT the ratio falls when the RTT rises; over the minimum it rises.
            (true, true) => (rate_ca, rate_ca),
            (true, false) => (1.0 / rate_ca, 1.0 / rate_ca),
        };
        let increment = if is_below { 2.0 * quick } else { 2.0 * slow / cwnd };
        if self.switches.in_bytes { increment.floor() } else { increment }
    }

    /// A call of congestion avoidance, or of its substitute in slow start, with `acked` segments.
    fn call(&mut self, window: &mut Window, acked: u32, flow: &Flow) {
        self.timeout.on_call(&self.rtts, self.rate_ca());
        if acked == 0 {
            return;
        }
        let mss = f64::from(flow.mss.max(1));
        let segment = if self.switches.in_bytes { mss } else { 1.0 };
        let is_below = self.is_below(window, mss);
        let grown = self.increment(window.exact() * segment, is_below) / segment;
        let room = (f64::from(window.ssthresh) - window.exact()).max(0.0);
        window.add(if self.switches.hold { grown.min(room) } else { grown });
    }
}

impl Rule for Dcm {
    fn min_rto(&self) -> Option<Duration> {
        self.timeout.get()
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, flow: &Flow) {
        self.call(window, acked, flow);
    }

    fn slow_start(&mut self, window: &mut Window, acked: u32, flow: &Flow) -> Option<u32> {
        if !self.switches.ns3_slow_start {
            self.call(window, acked, flow);
            return Some(0);
        }
        let left = SlowStart::Ns3.grow(window, acked);
        if left == 0 && window.cwnd >= window.ssthresh {
            // ns-3.29 `TcpNewReno::IncreaseWindow` calls it even if no segment is left.
            self.call(window, 0, flow);
        }
        Some(left)
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        let bytes_per_s = self.bandwidth.bytes_per_s();
        if bytes_per_s > 0.0 {
            let min_rtt = Duration::from_nanos((self.rtts.min_s * 1e9).round() as u64);
            pipe_segments(bytes_per_s, min_rtt, flow.mss)
        } else {
            window.cwnd / 2
        }
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        self.bandwidth.on_ack(ack, flow);
        if self.rtts.on_ack(self.switches.smoothed_rtt, ack, flow) {
            self.timeout.on_rtt(&self.rtts, self.rate_ca());
        }
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.timeout.on_rto();
    }
}
