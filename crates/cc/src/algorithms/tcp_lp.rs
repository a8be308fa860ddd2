//! TCP-LP: uses only bandwidth that other flows leave. It backs off when the one-way delay rises,
//! before there are losses.
//!
//! Source: A. Kuzmanovic, E. W. Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data
//! Transfer", INFOCOM 2003. The one-way delay `d` is smoothed with weight 1/8. Congestion is indicated
//! when it exceeds `d_min + δ·(d_max − d_min)`, δ = 0.15. The first indication halves the window
//! and begins an inference phase of three round trips in which the window does not grow; another
//! one within it sets the window to 1, and each restarts the phase. Otherwise growth and back-off
//! are Reno's. Without timestamps (RFC 7323) there is no one-way delay, and it is Reno.
//!
//! The paper's rule is for congestion avoidance; here an indication in slow start ends it (ssthresh
//! = cwnd). Delays are the receiver's clock minus the sender's, relative to the first one; an
//! increase of up to 2 ms is within the rounding of timestamps and ignored. With delayed
//! acknowledgements a single segment is acknowledged late: the lower of two consecutive delays
//! counts, and none of a segment sent alone. For one RTT after an indication delays are ignored, as
//! they reflect the queue before the reduction.
//!
//! Linux calls this module `lp`. It counts in whole milliseconds of clocks with random offsets, in
//! 32 bits, and estimates the rate of the receiver's clock from two consecutive acknowledgements.
//! Seven connections in eight are therefore Reno, as observed in a real Linux 6.1. The others halve
//! the window at the first acknowledgement, and if acknowledgements are closer than the clock's
//! tick, the window repeatedly falls to 1.
//!
//! ns-3.29 (`tcp-lp.cc`): both clocks are the simulator's, in whole milliseconds, and the delay is
//! their difference. It acts in slow start and in recovery too, and the inference phase lasts three
//! times the age of the echoed timestamp; a window reduced to 1 returns to the threshold in slow
//! start.

mod linux;
mod ns3;

use fairway_units::Time;

use self::linux::Linux6_1;
use crate::ns3::Socket;
use crate::probe::{Probe, Start};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed, window::flight,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "tcp-lp",
    title: "TCP-LP",
    summary: "Low priority: halves the window when the one-way delay rises, and holds it there a while.",
    family: Family::Wireless,
    signal: "one-way delay + loss",
    year: 2003,
    source: "Kuzmanovic and Knightly, INFOCOM 2003",
    variants: &[Variant::Paper, Variant::Linux6_1, Variant::Ns3_29],
    params: &[
        Param::new(
            "delta",
            "fraction of the delay range above which congestion is indicated",
            0.15,
            0.01,
            1.0,
        )
        .only(&[Variant::Paper]),
        Param::new("inference_rtts", "length of the inference phase, round trips", 3.0, 0.0, 1e3)
            .only(&[Variant::Paper]),
    ],
    vectors: &[
        Vector::new("delays 100 to 200: threshold 100 + 0.15·100", 115.0, || {
            let range = Range { min: 100.0, max: 200.0 };
            range.threshold(0.15)
        }),
        Vector::new("smoothed 116 > 115, W = 40: 40/2", 20.0, || {
            let mut rule = ranged(116.0);
            let mut window = Window::new(40);
            rule.react(&mut window, &flow_at(5_000));
            f64::from(window.cwnd)
        }),
        Vector::new("again within 3 round trips of 100 ms: 1", 1.0, || {
            let mut rule = ranged(116.0);
            let mut window = Window::new(40);
            rule.react(&mut window, &flow_at(5_000));
            rule.react(&mut window, &flow_at(5_299));
            f64::from(window.cwnd)
        }),
        Vector::new("again after 3 round trips: 20/2", 10.0, || {
            let mut rule = ranged(116.0);
            let mut window = Window::new(40);
            rule.react(&mut window, &flow_at(5_000));
            rule.react(&mut window, &flow_at(5_300));
            f64::from(window.cwnd)
        }),
        Vector::new(
            "delays 0, 80, 80: smoothed 80/8 = 10, not above 0.15·80 = 12; another 80 makes 18.75: 40/2",
            20.0,
            || {
                let mut probe = Probe::new("tcp-lp", Variant::Paper, &Start::avoidance(40, 100));
                for delay_ms in [1_000, 1_080, 1_080, 1_080] {
                    probe.one_way_delay_ms = Some(delay_ms);
                    probe.ack_now(1);
                }
                probe.cwnd() as f64
            },
        ),
        linux::HALVED,
        linux::TWICE,
        ns3::HALVED,
        ns3::TWICE,
        Vector::new("W = 40 at a loss: 40/2", 20.0, || {
            Probe::new("tcp-lp", Variant::Paper, &Start::avoidance(40, 100)).loss().window()
        }),
    ],
    build,
};

/// The paper's rule that has seen delays of 100 to 200, smoothed to `smoothed`.
fn ranged(smoothed: f64) -> KuzmanovicKnightly {
    KuzmanovicKnightly {
        range: Range { min: 100.0, max: 200.0 },
        smoothed: Some(smoothed),
        ..KuzmanovicKnightly::new(0.15, 3.0)
    }
}

/// A flow at `millis` with an RTT of 100 ms, for the vectors above.
fn flow_at(millis: u64) -> Flow {
    let probe = Probe::new("tcp-lp", Variant::Paper, &Start::avoidance(40, 100));
    Flow { now: Time::from_nanos(millis * 1_000_000), ..probe.flow() }
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = SlowStart::of(variant);
    match variant {
        Variant::Linux6_1 => return Box::new(Windowed::new(Linux6_1::new(), slow_start, init)),
        Variant::Ns3_29 => return Box::new(Socket::new(ns3::Lp::new(), init)),
        _ => {}
    }
    let rule = KuzmanovicKnightly::new(params.get("delta"), params.get("inference_rtts"));
    Box::new(Windowed::new(rule, slow_start, init))
}

/// The difference of two millisecond clocks (RFC 7323 section 5.4) has an error of up to one in
/// either direction, which must not count as queueing delay on an empty path.
const TIMESTAMP_NOISE_MS: f64 = 2.0;

/// Minimum and maximum delay, ms.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Range {
    min: f64,
    max: f64,
}

impl Range {
    fn threshold(self, delta: f64) -> f64 {
        self.min + (delta * (self.max - self.min)).max(TIMESTAMP_NOISE_MS)
    }
}

/// The paper, in real numbers.
struct KuzmanovicKnightly {
    delta: f64,
    inference_rtts: f64,
    /// The first delay, the origin of the others.
    origin: Option<u32>,
    range: Range,
    smoothed: Option<f64>,
    indicated_at: Option<Time>,
    /// The delay before the last.
    previous: f64,
}

impl KuzmanovicKnightly {
    fn new(delta: f64, inference_rtts: f64) -> Self {
        KuzmanovicKnightly {
            delta,
            inference_rtts,
            origin: None,
            range: Range { min: f64::INFINITY, max: f64::NEG_INFINITY },
            smoothed: None,
            indicated_at: None,
            previous: f64::INFINITY,
        }
    }

    /// Whether less than `round_trips` have passed since the last indication.
    fn is_within(&self, round_trips: f64, flow: &Flow) -> bool {
        let (Some(at), Some(srtt)) = (self.indicated_at, flow.srtt) else { return false };
        (flow.now.since(at).as_nanos() as f64) < round_trips * srtt.as_nanos() as f64
    }

    fn infers(&self, flow: &Flow) -> bool {
        self.is_within(self.inference_rtts, flow)
    }

    fn sample(&mut self, one_way_delay_ms: u32) {
        let origin = *self.origin.get_or_insert(one_way_delay_ms);
        let latest = f64::from(one_way_delay_ms.wrapping_sub(origin) as i32);
        // A delayed acknowledgement (RFC 5681 section 4.2) of an odd segment is late.
        let delay = latest.min(self.previous);
        self.previous = latest;
        self.range = Range { min: self.range.min.min(delay), max: self.range.max.max(delay) };
        self.smoothed = Some(self.smoothed.map_or(delay, |old| old + (delay - old) / 8.0));
    }

    fn is_indicated(&self) -> bool {
        self.smoothed.is_some_and(|delay| delay > self.range.threshold(self.delta))
    }

    fn react(&mut self, window: &mut Window, flow: &Flow) {
        window.cwnd = if self.infers(flow) { 1 } else { (window.cwnd / 2).max(1) };
        window.fraction = 0.0;
        window.ssthresh = window.ssthresh.min(window.cwnd.max(2));
        self.indicated_at = Some(flow.now);
    }
}

impl Rule for KuzmanovicKnightly {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, flow: &Flow) {
        if !self.infers(flow) {
            window.additive_increase(window.cwnd, acked);
        }
    }

    fn slow_start(&mut self, _window: &mut Window, _acked: u32, flow: &Flow) -> Option<u32> {
        self.infers(flow).then_some(0)
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        flight(window, flow) / 2
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        let is_alone = flow.pipe <= u64::from(flow.mss);
        if let Some(one_way_delay_ms) = ack.one_way_delay_ms.filter(|_| !is_alone) {
            // Data that arrives within one RTT of a reduction was sent before it.
            if self.is_within(1.0, flow) {
                self.smoothed = None;
                return;
            }
            self.sample(one_way_delay_ms);
            if self.is_indicated() {
                self.react(window, flow);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_of_the_timestamps_is_no_congestion() {
        // Delays of 50 and 51 ms in turn: min 50, range 1, threshold 52; 51 is not above it.
        let mut probe = Probe::new("tcp-lp", Variant::Paper, &Start::avoidance(40, 100));
        for i in 0..400 {
            probe.one_way_delay_ms = Some(50 + i % 2);
            probe.ack(1);
        }
        assert!(probe.cwnd() > 40, "{}", probe.cwnd());
    }
    use crate::testing::{ack, flow};

    fn delayed(one_way_delay_ms: u32) -> Ack {
        Ack { one_way_delay_ms: Some(one_way_delay_ms), ..ack(1, 100) }
    }

    #[test]
    fn the_offset_of_the_clocks_does_not_matter_to_the_paper() {
        for offset in [0, 77_000, u32::MAX - 10] {
            let mut shifted = KuzmanovicKnightly::new(0.15, 3.0);
            for delay in [30_u32, 40, 40, 20] {
                shifted.sample(delay.wrapping_add(offset));
            }
            assert_eq!(shifted.range, Range { min: -10.0, max: 10.0 });
            // The lower of two consecutive delays: 0, 0, 10, −10. Smoothed 0, 0, 1.25, 1.25 −
            // 11.25/8.
            assert_eq!(shifted.smoothed, Some(-0.15625));
        }
    }

    #[test]
    fn it_does_not_grow_in_the_inference_phase() {
        let mut rule = ranged(116.0);
        let mut window = Window::new(10);
        rule.react(&mut window, &flow_at(5_000));
        assert_eq!((window.cwnd, window.ssthresh), (5, 5));
        rule.growth(&mut window, 5, &ack(5, 100), &flow_at(5_100));
        assert_eq!(window.cwnd, 5);
        rule.growth(&mut window, 5, &ack(5, 100), &flow_at(5_300));
        assert_eq!(window.cwnd, 6);
    }

    #[test]
    fn one_indication_per_round_trip() {
        let mut rule = KuzmanovicKnightly::new(0.15, 3.0);
        let mut window = Window::new(40);
        // Smoothed 0, then 100/8 = 12.5, not above 15; 23.4 is. The next one is 100 ms later.
        for delay in [0, 100, 100, 100, 100] {
            rule.on_sample(&mut window, &delayed(delay), &flow(5_000, 40, 100));
        }
        assert_eq!(window.cwnd, 20);
        rule.on_sample(&mut window, &delayed(100), &flow(5_100, 20, 100));
        assert_eq!(window.cwnd, 1);
    }
}
