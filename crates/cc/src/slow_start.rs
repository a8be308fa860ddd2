//! Slow starts, chosen apart from the algorithm.

use crate::{Ack, Flow, Variant, Window};

/// How the window grows below the slow-start threshold.
#[derive(Clone, PartialEq, Debug)]
pub enum SlowStart {
    /// Linux 6.1 `tcp_slow_start`: one segment per delivered segment, stopping exactly at the
    /// threshold and passing the rest on; active while cwnd < ssthresh.
    Standard,
    /// Linux 2.6.22 `tcp_slow_start`: one segment per acknowledgement; active while
    /// cwnd ≤ ssthresh. Above `max_ssthresh` segments, if given, growth is limited (RFC 3742).
    PerAck {
        /// RFC 3742 max_ssthresh in segments.
        max_ssthresh: Option<u32>,
    },
}

impl SlowStart {
    /// The slow start that belongs to a variant.
    pub fn of(variant: Variant) -> Self {
        match variant {
            Variant::Paper | Variant::Linux6_1 => SlowStart::Standard,
            Variant::Linux2_6_22 => SlowStart::PerAck { max_ssthresh: None },
        }
    }

    /// Whether the window is still in slow start.
    pub fn is_active(&self, window: &Window) -> bool {
        match self {
            SlowStart::Standard => window.cwnd < window.ssthresh,
            SlowStart::PerAck { .. } => window.cwnd <= window.ssthresh,
        }
    }

    /// Grow by one acknowledgement of `acked` segments; returns those left for congestion avoidance.
    pub fn grow(&mut self, window: &mut Window, acked: u32) -> u32 {
        match self {
            SlowStart::Standard => {
                let target = window.cwnd.saturating_add(acked).min(window.ssthresh);
                let left = acked - (target - window.cwnd);
                window.cwnd = target;
                left
            }
            SlowStart::PerAck { max_ssthresh } => {
                window.credit += match max_ssthresh {
                    Some(max) if window.cwnd > *max => *max / 2,
                    _ => window.cwnd,
                };
                while window.credit >= window.cwnd {
                    window.credit -= window.cwnd;
                    window.cwnd += 1;
                }
                0
            }
        }
    }

    /// Every acknowledgement, before growth: delay-based exits look at it.
    pub fn on_sample(&mut self, _window: &mut Window, _ack: &Ack, _flow: &Flow) {}

    /// The retransmission timer expired.
    pub fn on_rto(&mut self) {}
}
