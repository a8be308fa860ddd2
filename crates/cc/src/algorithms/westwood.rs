//! Westwood: grows as Reno, but backs off to the estimated bandwidth-delay product, so that a loss
//! on a wireless link costs little.
//!
//! Source: S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi, R. Wang, "TCP Westwood: Bandwidth
//! Estimation for Enhanced Transport over Wireless Links", MobiCom 2001. Each acknowledgement is a
//! sample `b = bytes/Δ` of the rate, Δ the time since the last one, and
//! `BWE ← m·BWE + (1 − m)(b + b_last)/2` with `m = (2τ/Δ − 1)/(2τ/Δ + 1)`. At a loss
//! `ssthresh = max(2, BWE·RTTmin)` in segments, and cwnd falls to it if larger; after a timeout
//! cwnd is 1. A congestion mark counts as a loss.
//!
//! A duplicate acknowledgement counts as one segment. A gap counts as samples of zero, one every
//! τ/2 (the paper requires τ/m, m at least 2); the rate of the acknowledgement that ends it is over
//! the whole gap. Simultaneous acknowledgements are one sample. A loss before the first sample
//! halves the window. As samples are of single gaps, compressed acknowledgements cause
//! overestimation, which Westwood+ avoids. The equations leave τ open; 0.5 s is an assumption, with
//! which acknowledgements 50 ms apart give m = 19/21.
//!
//! ns-3.29 (`tcp-westwood.cc`, its default `ProtocolType`): a sample is an acknowledgement's
//! segments over a whole **smoothed** RTT, m is 0.9 and RTTmin the minimum of the smoothed RTT. The
//! estimate is too low by a factor of about the window over the segments per acknowledgement, so
//! that every loss reduces the threshold to about 2.
//!
//! Linux has no such module: its `westwood` is Westwood+, here "westwood+".

pub(super) mod ns3;

use fairway_units::Duration;

use self::ns3::Protocol;
use crate::bandwidth::{Bandwidth, PerAck, Tustin, pipe_segments};
use crate::ns3::Socket;
use crate::probe::{Probe, Start};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "westwood",
    title: "Westwood",
    summary: "Reno's growth; backs off to the measured bandwidth times the smallest round trip.",
    family: Family::Wireless,
    signal: "loss + rate of acknowledgements",
    year: 2001,
    source: "Mascolo et al., MobiCom 2001",
    variants: &[Variant::Paper, Variant::Ns3_29],
    params: &[
        Param::new("tau_s", "time constant of the filter, seconds", 0.5, 0.001, 100.0)
            .only(&[Variant::Paper]),
        FILTER,
    ],
    vectors: &[
        Vector::new("2τ/Δ = 20, samples 10, 10, 10 from 0: 10/21, (19·0.4762 + 20)/21, (19·1.3832 + 20)/21 = 2.2039", 2.2039, || {
            filtered(crate::bandwidth::memory_of_step(0.5, 0.05))
        })
        .within(5e-5),
        Vector::new("ns-3.29, samples 10, 10, 10 from 0: 0.5, 1.45, 2.305", 2.305, || ns3::filtered([10, 10, 10])),
        Vector::new("BWE 10 Mbit/s, RTTmin 100 ms, 1250 bytes: 10⁶/10⁴ = 100 segments", 100.0, || {
            f64::from(pipe_segments(10e6 / 8.0, Duration::from_millis(100), 1250))
        }),
        Vector::new("a round at 20 adds one", 21.0, || Probe::new("westwood", Variant::Paper, &Start::avoidance(20, 100)).round().window()),
        Vector::new("steady 20 per round, no queue: BWE·RTTmin = 20, kept whole within a segment", 20.0, || {
            let mut probe = Probe::new("westwood", Variant::Paper, &Start::avoidance(20, 100));
            probe.may_grow = false;
            probe.rounds(60);
            probe.loss();
            probe.cwnd() as f64
        })
        .within(1.0),
        Vector::new("the same in ns-3.29: 1 segment in 100 ms, BWE·RTTmin = 1, so 2", 2.0, || {
            let mut probe = Probe::new("westwood", Variant::Ns3_29, &Start::avoidance(20, 100));
            probe.may_grow = false;
            probe.rounds(60);
            probe.loss();
            probe.cwnd() as f64
        }),
    ],
    build,
};

/// `TcpWestwood::GetTypeId`, `FilterType`.
pub(super) const FILTER: Param =
    Param::switch("filter", "whether a filter smooths the samples (Tustin, 0.9)", true)
        .only(&[Variant::Ns3_29]);

/// The third value of a filter fed with 10.
fn filtered(memory: f64) -> f64 {
    let mut filter = Tustin::default();
    for _ in 0..3 {
        filter.update(10.0, memory);
    }
    filter.value()
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    if variant == Variant::Ns3_29 {
        let ops = ns3::Westwood::new(Protocol::Westwood, params.is_on(FILTER.name));
        Box::new(Socket::new(ops, init))
    } else {
        let rule = Westwood { bandwidth: PerAck::new(params.get("tau_s")) };
        Box::new(Windowed::new(rule, SlowStart::of(variant), init))
    }
}

/// Reno's growth, and back-off to an estimate.
pub(super) struct Westwood<B> {
    pub(super) bandwidth: B,
}

impl<B: Bandwidth> Rule for Westwood<B> {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.additive_increase(window.cwnd, acked);
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        match (self.bandwidth.bytes_per_s(), flow.min_rtt) {
            (bytes_per_s, Some(min_rtt)) if bytes_per_s > 0.0 => {
                pipe_segments(bytes_per_s, min_rtt, flow.mss)
            }
            // The papers do not cover a loss before the first sample.
            _ => window.cwnd / 2,
        }
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        self.bandwidth.on_ack(ack, flow);
    }
}
