//! LEDBAT: background transfers that keep the queueing delay they add at a target and yield to all
//! other traffic.
//!
//! Source: RFC 6817 (Shalunov, Hazel, Iyengar, Kuehlewind, "Low Extra Delay Background Transport",
//! 2012) section 2.4.2. The delay is the one-way delay of the timestamp option, whose clocks need
//! not agree. `q = min(last 4 delays) − min(one-minute minima of the last 10 minutes)`,
//! `off = (TARGET − q)/TARGET`, and per acknowledgement `W += GAIN · off · acked/W` segments,
//! which is at most a segment per round trip. Afterwards `W ≤ FlightSize + ALLOWED_INCREASE` and
//! `W ≥ 2`. A loss or a congestion mark halves W; a timeout leaves one segment.
//!
//! The RFC leaves slow start open. Here there is one, which ends when the queueing delay reaches
//! the target; `slow_start = 0` disables it. After a timeout it restores the window to half. The
//! filter uses the last acknowledgements even if they span less than a round trip. Without
//! timestamps of the receiver the RTT is used, which includes queues of the reverse path. A window
//! that was not in use neither grows nor shrinks.
//!
//! ns-3.29 (`src/internet/model/tcp-ledbat.cc`): slow start does not depend on the delay, and
//! returns only at a window of one segment; the filters hold one value less than their lengths;
//! without timestamps it is Reno. Its bound of the window is FlightSize before the acknowledgement,
//! without the allowed increase: in congestion avoidance a window in use never grows, and each loss
//! reduces it permanently.

mod ns3;

use crate::base_delay::DelayHistory;
use crate::ns3::Socket;
use crate::window::whole_segments;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "ledbat",
    title: "LEDBAT",
    summary: "Holds the delay that it adds to queues at a target, and so gives way to others.",
    family: Family::Delay,
    signal: "one-way delay + loss",
    year: 2012,
    source: "RFC 6817",
    variants: &[Variant::Paper, Variant::Ns3_29],
    params: &[
        Param::new(
            "target_ms",
            "target queueing delay, ms (RFC 6817: at most 100)",
            100.0,
            1.0,
            1000.0,
        ),
        Param::new("gain", "growth in segments per round trip without a queue", 1.0, 0.001, 10.0),
        Param::new(
            "allowed_increase",
            "segments by which the window may exceed FlightSize",
            1.0,
            0.0,
            1000.0,
        )
        .only(&[Variant::Paper]),
        Param::new("base_history", "history of the base delay, minutes", 10.0, 2.0, 60.0).whole(),
        Param::new(
            "current_filter",
            "latest delays whose minimum is the current delay",
            4.0,
            2.0,
            100.0,
        )
        .whole(),
        Param::switch("slow_start", "whether it begins with slow start", true),
        // `TcpLedbat::GetTypeId`, `MinCwnd`.
        Param::new("min_window", "minimum window under delay, segments", 2.0, 1.0, 1e3)
            .whole()
            .only(&[Variant::Ns3_29]),
    ],
    vectors: &[
        Vector::new(
            "W = 10, q = 25 ms: a segment acknowledged adds 0.75/10 segments",
            10.075,
            || step(10, 25, 1),
        ),
        Vector::new("W = 10, q = 100 ms: off = 0", 10.0, || step(10, 100, 1)),
        Vector::new("W = 10, q = 150 ms: two segments take away 2 · 0.5/10", 9.9, || {
            step(10, 150, 2)
        }),
        Vector::new("W = 2, q = 200 ms: 2 − 1/2, at least 2", 2.0, || step(2, 200, 1)),
        Vector::new("W = 21 at a loss: ⌊21/2⌋", 10.0, || {
            Probe::new("ledbat", Variant::Paper, &Start::avoidance(21, 100)).loss().window()
        }),
        Vector::new(
            "W = 10, no queue, 20 segments: ⌊√(100 + 2 · 20)⌋ = ⌊11.8⌋",
            11.0,
            || {
                let mut probe = Probe::new("ledbat", Variant::Paper, &Start::avoidance(10, 100));
                probe.one_way_delay_ms = Some(40);
                probe.acks(20, 1);
                probe.cwnd() as f64
            },
        ),
        Vector::new(
            "ns-3.29, q = 25 ms: 14480 + ⌊75 · 1448/(100 · 14480) · 1448⌋ = 14480 + ⌊108.6⌋",
            14_588.0,
            || {
                let mut probe = Probe::new("ledbat", Variant::Ns3_29, &Start::avoidance(10, 100));
                for (delay_ms, may_grow) in [(50, false), (75, false), (75, false), (75, true)] {
                    (probe.one_way_delay_ms, probe.may_grow) = (Some(delay_ms), may_grow);
                    probe.ack(1);
                }
                probe.cc.cwnd() as f64
            },
        ),
    ],
    build,
};

/// The exact window after `acked` segments at a queueing delay of `queueing_ms`.
fn step(cwnd: u32, queueing_ms: u64, acked: u32) -> f64 {
    let mut window = Window::new(cwnd);
    let off = off_target(queueing_ms as f64, 100.0);
    window.add(per_ack(1.0, off, acked, &window));
    bound(&mut window, f64::INFINITY);
    window.exact()
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    if variant == Variant::Ns3_29 {
        return Box::new(Socket::new(ns3::Ledbat::new(params), init));
    }
    let length = |name| params.get(name) as usize;
    let rule = Rfc6817 {
        delays: OneWay::new(length("base_history"), length("current_filter")),
        target_ms: params.get("target_ms"),
        gain: params.get("gain"),
        allowed_increase: params.get("allowed_increase"),
        slow_start: params.is_on("slow_start"),
    };
    Box::new(Windowed::new(rule, SlowStart::of(variant), init))
}

/// (TARGET − q)/TARGET: 1 without a queue, negative above the target.
fn off_target(queueing_ms: f64, target_ms: f64) -> f64 {
    (target_ms - queueing_ms) / target_ms
}

/// Change of the window on an acknowledgement, segments.
fn per_ack(gain: f64, off_target: f64, acked: u32, window: &Window) -> f64 {
    gain * off_target * f64::from(acked) / window.exact()
}

/// RFC 6817 section 2.4.2: `MIN_CWND`, segments.
const MIN_CWND: f64 = 2.0;

/// Bound the window by `most` segments, and below by the minimum.
fn bound(window: &mut Window, most: f64) {
    let exact = window.exact();
    window.add(exact.min(most).max(MIN_CWND) - exact);
}

/// FlightSize before this acknowledgement, segments.
fn flight_before(ack: &Ack, flow: &Flow) -> f64 {
    (flow.flight_size() + ack.acked) as f64 / f64::from(flow.mss.max(1))
}

/// One-way delays, or RTTs if there are none.
struct OneWay {
    history: DelayHistory,
    /// The first one-way delay, ms, from which the others are counted.
    origin_ms: Option<u32>,
}

impl OneWay {
    fn new(minutes: usize, samples: usize) -> Self {
        OneWay { history: DelayHistory::new(minutes, samples), origin_ms: None }
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        match (ack.one_way_delay_ms, self.origin_ms) {
            (Some(delay_ms), Some(origin_ms)) => {
                // The receiver's clock has 32 bits and wraps.
                let since_origin_ms = i64::from(delay_ms.wrapping_sub(origin_ms).cast_signed());
                self.history.sample(flow.now, since_origin_ms * 1_000_000);
            }
            (Some(delay_ms), None) => {
                self.origin_ms = Some(delay_ms);
                self.history.clear();
                self.history.sample(flow.now, 0);
            }
            (None, Some(_)) => {}
            (None, None) => {
                if let Some(rtt) = ack.rtt {
                    let rtt_ns = i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX);
                    self.history.sample(flow.now, rtt_ns);
                }
            }
        }
    }

    fn queueing_ms(&self) -> f64 {
        self.history.queueing().map_or(0.0, |span| span.as_secs_f64() * 1e3)
    }
}

struct Rfc6817 {
    delays: OneWay,
    target_ms: f64,
    gain: f64,
    /// Segments.
    allowed_increase: f64,
    slow_start: bool,
}

impl Rfc6817 {
    fn off_target(&self) -> f64 {
        off_target(self.delays.queueing_ms(), self.target_ms)
    }
}

impl Rule for Rfc6817 {
    fn growth(&mut self, window: &mut Window, acked: u32, ack: &Ack, flow: &Flow) {
        window.add(per_ack(self.gain, self.off_target(), acked, window));
        bound(window, flight_before(ack, flow) + self.allowed_increase);
        // Slow start must not undo a reduction by delay.
        window.ssthresh = window.ssthresh.min(window.cwnd);
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        whole_segments(window.exact() / 2.0)
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        self.delays.on_ack(ack, flow);
        let is_full = self.off_target() <= 0.0;
        if window.cwnd < window.ssthresh && (is_full || !self.slow_start) {
            window.ssthresh = window.cwnd.max(MIN_CWND as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    fn rule() -> Rfc6817 {
        Rfc6817 {
            delays: OneWay::new(10, 4),
            target_ms: 100.0,
            gain: 1.0,
            allowed_increase: 1.0,
            slow_start: true,
        }
    }

    fn delayed(one_way_delay_ms: u32) -> Ack {
        Ack { one_way_delay_ms: Some(one_way_delay_ms), ..ack(1, 300) }
    }

    #[test]
    fn clocks_need_not_be_synchronised_and_may_wrap() {
        // The receiver's clock wraps in 5 ms: 4294967291 is the base, and 20 is 25 ms later. Four
        // samples, as the filter uses the minimum of four.
        let mut rule = rule();
        let mut window = Window::new(10);
        rule.on_sample(&mut window, &delayed(u32::MAX - 4), &flow(0, 10, 300));
        for _ in 0..4 {
            rule.on_sample(&mut window, &delayed(20), &flow(0, 10, 300));
        }
        assert!((rule.delays.queueing_ms() - 25.0).abs() < 1e-9);
        // 0.75 · 1/10.
        window.ssthresh = 2;
        rule.growth(&mut window, 1, &delayed(20), &flow(0, 10, 300));
        assert!((window.exact() - 10.075).abs() < 1e-12);
    }

    #[test]
    fn one_way_delays_replace_rtts() {
        let mut rule = rule();
        let mut window = Window::new(10);
        for rtt_ms in [100, 160, 160, 160, 160] {
            rule.on_sample(&mut window, &ack(1, rtt_ms), &flow(0, 10, rtt_ms));
        }
        assert!((rule.delays.queueing_ms() - 60.0).abs() < 1e-9);
        rule.on_sample(&mut window, &delayed(7), &flow(0, 10, 160));
        assert!(rule.delays.queueing_ms().abs() < 1e-9);
    }

    #[test]
    fn slow_start_ends_at_the_target() {
        let mut rule = rule();
        let mut window = Window::new(40);
        for delay in [10, 109, 109, 109, 109] {
            rule.on_sample(&mut window, &delayed(delay), &flow(0, 40, 300));
        }
        // 99 ms.
        assert_eq!(window.ssthresh, u32::MAX);
        for _ in 0..4 {
            rule.on_sample(&mut window, &delayed(110), &flow(0, 40, 300));
        }
        assert_eq!(window.ssthresh, 40);
    }

    #[test]
    fn the_window_is_bounded_by_flight_size() {
        // 6 are unacknowledged and 1 was just acknowledged: 7, plus 1.
        let mut window = Window::new(10);
        rule().growth(&mut window, 1, &ack(1, 100), &flow(0, 6, 100));
        assert!((window.exact() - 8.0).abs() < 1e-12);
    }
}
