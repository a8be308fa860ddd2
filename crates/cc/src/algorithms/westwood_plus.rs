//! Westwood+: Westwood with one bandwidth sample per round trip, so that compressed
//! acknowledgements do not cause overestimation.
//!
//! Source: L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno,
//! and Vegas TCP congestion control", ACM CCR 34(2), 2004. A sample is
//! `b = bytes acknowledged in a round trip / its length`; `BWE ← α·BWE + (1 − α)·b` with α = 0.9,
//! initialised by the first sample. At a loss `ssthresh = max(2, BWE·RTTmin)` in segments, and cwnd
//! falls to it if larger; after a timeout cwnd is 1. Growth is Reno's. The paper measures rounds by
//! the RTT; here a round ends with the first acknowledgement one smoothed RTT after its start.
//!
//! The paper's rule also exists as a congestion control for Linux, which comes with Fairway and
//! which the Linux backend runs under the same name:
//! `python/fairway/backends/linux/kernel/tcp_westwood_plus.c`. The page of that backend lists its
//! differences.
//!
//! Linux itself has another module `westwood` (`net/ipv4/tcp_westwood.c`; its description says "TCP
//! Westwood+"), and so a Linux host set to `westwood` runs this algorithm's variant "linux-6.1".
//! Time is in ticks of 1 ms, the rate in whole bytes per tick: a sample ends strictly after the
//! last RTT or 50 ms, whichever is longer, and passes two filters `(7·old + new)/8` in series, both
//! initialised by the first. During recovery the window falls to one half, as Reno's; threshold and
//! window become BWE·RTTmin when recovery **ends**. After a timeout the threshold is BWE·RTTmin at
//! once, and RTTmin is the next RTT sample. The interval of the first sample begins with the
//! connection. Linux takes the first acknowledgement for a duplicate, whatever it acknowledges: it
//! counts as one segment, which a later one that ends a gap does not count again.
//!
//! Linux 2.6.22, included in ns-2.35: the RTT is the smoothed one, acknowledgements count where 6.1
//! counts segments, and the window is BWE·RTTmin as soon as recovery begins. A timeout sets the
//! threshold to half the window, and RTTmin stays. ns-2's TCP-Linux never tells the module that
//! recovery has ended, so that there the threshold stays at half the window; here it follows as in
//! a real kernel.
//!
//! ns-3.29 (`tcp-westwood.cc`, `ProtocolType` WestwoodPlus): an acknowledgement starts a sample
//! that ends one smoothed RTT later, including its own segments; Tustin filter with 0.9, from zero;
//! RTTmin is the minimum of the smoothed RTT.

use fairway_units::Duration;

use super::westwood::ns3::{self, Protocol};
use super::westwood::{FILTER, Westwood};
use crate::bandwidth::{AckedBytes, PerRound, pipe_segments};
use crate::linux::{HZ, jiffies, to_jiffies};
use crate::ns3::Socket;
use crate::probe::{Probe, Start};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "westwood+",
    title: "Westwood+",
    summary: "Reno's growth; backs off to the bandwidth measured per round trip times the smallest round trip.",
    family: Family::Wireless,
    signal: "loss + rate of acknowledgements",
    year: 2004,
    source: "Grieco and Mascolo, ACM CCR 34(2), 2004",
    variants: &[Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, Variant::Ns3_29],
    params: &[
        Param::new("alpha", "weight of the old estimate in the filter", 0.9, 0.0, 0.999)
            .only(&[Variant::Paper]),
        FILTER,
    ],
    vectors: &[
        Vector::new("steady 20 per round, no queue: BWE·RTTmin = 20", 20.0, || {
            let mut probe = Probe::new("westwood+", Variant::Paper, &Start::avoidance(20, 100));
            probe.may_grow = false;
            probe.rounds(3);
            probe.loss();
            probe.cwnd() as f64
        }),
        Vector::new(
            "BWE 10 Mbit/s, RTTmin 100 ms, 1250 bytes: 10⁶/10⁴ = 100 segments",
            100.0,
            || f64::from(pipe_segments(10e6 / 8.0, Duration::from_millis(100), 1250)),
        ),
        Vector::new(
            "Linux, samples 1000, 1500, 1250 bytes/ms: 1000; 8500/8 = 1062, 8062/8 = 1007; 8684/8 = 1085, 8134/8 = 1016",
            1016.0,
            || {
                let mut filter = LinuxFilter::default();
                for sample in [1000, 1500, 1250] {
                    filter.update(sample);
                }
                filter.second as f64
            },
        ),
        Vector::new(
            "Linux, 1016 bytes/ms, RTTmin 100 ms, 1448 bytes: ⌊101600/1448⌋ = 70",
            70.0,
            || {
                let mut rule = Linux::new(false);
                (rule.filter.second, rule.min_rtt) = (1016, 100);
                f64::from(rule.pipe(1448))
            },
        ),
        Vector::new(
            "Linux, steady 20 per round of 100 ms: a tenth is 28960/100 = 289 bytes/ms or less; ⌊28900/1448⌋ = 19",
            19.0,
            || {
                let mut probe =
                    Probe::new("westwood+", Variant::Linux6_1, &Start::avoidance(20, 100));
                probe.may_grow = false;
                probe.rounds(10);
                probe.loss();
                probe.cwnd() as f64
            },
        ),
        Vector::new("Linux 2.6.22, the same, while it still recovers: 19", 19.0, || {
            let mut probe =
                Probe::new("westwood+", Variant::Linux2_6_22, &Start::avoidance(20, 100));
            probe.may_grow = false;
            probe.rounds(10);
            probe.congestion(Signal::Loss);
            probe.cwnd() as f64
        }),
        Vector::new("ns-3.29, samples 8, 12, 10 from 0: 0.4, 1.36, 2.324", 2.324, || {
            ns3::filtered([8, 12, 10])
        }),
    ],
    build,
};

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    match variant {
        Variant::Linux6_1 | Variant::Linux2_6_22 => {
            let rule = Linux::new(variant == Variant::Linux2_6_22);
            Box::new(Windowed::new(rule, SlowStart::of(variant), init))
        }
        Variant::Ns3_29 => {
            let ops = ns3::Westwood::new(Protocol::WestwoodPlus, params.is_on(FILTER.name));
            Box::new(Socket::new(ops, init))
        }
        Variant::Paper | Variant::Ns2 => {
            let rule = Westwood { bandwidth: PerRound::new(params.get("alpha")) };
            Box::new(Windowed::new(rule, SlowStart::of(variant), init))
        }
    }
}

/// `TCP_WESTWOOD_RTT_MIN`: least interval of a sample, ticks.
const MIN_INTERVAL: u64 = HZ / 20;
/// `TCP_WESTWOOD_INIT_RTT`: RTT before the first sample, ticks.
const INITIAL_RTT: u64 = 20 * HZ;

/// Two low-pass filters in series, in bytes per tick (`westwood_filter`).
#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct LinuxFilter {
    first: u64,
    second: u64,
}

impl LinuxFilter {
    fn update(&mut self, sample: u64) {
        if *self == LinuxFilter::default() {
            *self = LinuxFilter { first: sample, second: sample };
        } else {
            self.first = (7 * self.first + sample) / 8;
            self.second = (7 * self.second + self.first) / 8;
        }
    }
}

/// The kernel's module; times in ticks.
struct Linux {
    /// Whether it is the module of 2.6.22, not of 6.1.
    is_old: bool,
    mss: u32,
    filter: LinuxFilter,
    acked: AckedBytes,
    /// Whether nothing was acknowledged yet (`first_ack`).
    is_first: bool,
    interval_start: u64,
    /// Bytes of the interval.
    bytes: u64,
    rtt: u64,
    min_rtt: u64,
    /// Whether the next RTT replaces the minimum.
    forget_min_rtt: bool,
    /// Whether a timeout occurred: its episode ends without the event that sets the window.
    timed_out: bool,
}

impl Linux {
    fn new(is_old: bool) -> Self {
        Linux {
            is_old,
            mss: 1,
            filter: LinuxFilter::default(),
            acked: AckedBytes::default(),
            is_first: true,
            interval_start: 0,
            bytes: 0,
            rtt: INITIAL_RTT,
            min_rtt: INITIAL_RTT,
            forget_min_rtt: true,
            timed_out: false,
        }
    }

    /// `tcp_westwood_bw_rttmin`.
    fn pipe(&self, mss: u32) -> u32 {
        let segments = self.filter.second.saturating_mul(self.min_rtt) / u64::from(mss.max(1));
        u32::try_from(segments).unwrap_or(u32::MAX).max(2)
    }

    /// `westwood_update_window`.
    fn end_interval(&mut self, now: u64) {
        let elapsed = now.saturating_sub(self.interval_start);
        if self.rtt > 0 && elapsed > self.rtt.max(MIN_INTERVAL) {
            self.filter.update(self.bytes / elapsed);
            self.bytes = 0;
            self.interval_start = now;
        }
    }

    /// `tcp_westwood_pkts_acked`.
    fn measure(&mut self, ack: &Ack, flow: &Flow) {
        if self.is_old {
            if let Some(srtt) = flow.srtt.filter(|_| ack.acked > 0) {
                self.rtt = srtt.as_millis();
            }
        } else if let Some(rtt) = ack.rtt.filter(|rtt| *rtt > Duration::ZERO) {
            self.rtt = to_jiffies(rtt);
        }
    }
}

impl Rule for Linux {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        if self.is_old {
            window.count_ack(window.cwnd);
        } else {
            window.additive_increase(window.cwnd, acked);
        }
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        window.cwnd / 2
    }

    fn rto_backoff(&mut self, window: &Window, flow: &Flow) -> u32 {
        if self.is_old { window.cwnd / 2 } else { self.pipe(flow.mss) }
    }

    fn recovery_window(&self, ssthresh: u32) -> u32 {
        if self.is_old { self.pipe(self.mss) } else { ssthresh }
    }

    fn on_established(&mut self, _window: &mut Window, flow: &Flow) {
        self.interval_start = jiffies(flow);
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        self.mss = flow.mss;
        self.measure(ack, flow);
        self.end_interval(jiffies(flow));
        let acked = if std::mem::take(&mut self.is_first) { 0 } else { ack.acked };
        let bytes = self.acked.count(acked, flow.mss, ack.is_plain);
        self.bytes = self.bytes.saturating_add(bytes);
        self.min_rtt = if self.forget_min_rtt { self.rtt } else { self.min_rtt.min(self.rtt) };
        self.forget_min_rtt = false;
    }

    fn on_congestion(&mut self, _flow: &Flow) {
        self.timed_out = false;
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.forget_min_rtt |= !self.is_old;
        self.timed_out = true;
    }

    fn on_recovered(&mut self, window: &mut Window, flow: &Flow) {
        if !std::mem::take(&mut self.timed_out) {
            *window = Window { ssthresh: self.pipe(flow.mss), ..Window::new(self.pipe(flow.mss)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    fn established(at_ms: u64) -> (Linux, Window) {
        let (mut rule, mut window) = (Linux::new(false), Window::new(10));
        rule.on_established(&mut window, &flow(at_ms, 10, 100));
        (rule, window)
    }

    #[test]
    fn linux_intervals_end_strictly_after_the_rtt() {
        // The first acknowledgement counts as a segment. At 901 + 100 the interval has the RTT's
        // 100 ms, and five more segments, of which one has been counted. At 1002 it ends with
        // 1448 + 5792 = 7240 bytes in 101 ms: 71 bytes/ms.
        let (mut rule, mut window) = established(901);
        rule.on_sample(&mut window, &ack(10, 100), &flow(1_000, 10, 100));
        assert_eq!((rule.bytes, rule.filter), (1_448, LinuxFilter::default()));
        rule.on_sample(&mut window, &ack(5, 100), &flow(1_001, 10, 100));
        assert_eq!((rule.bytes, rule.filter), (7_240, LinuxFilter::default()));
        rule.on_sample(&mut window, &ack(5, 100), &flow(1_002, 10, 100));
        assert_eq!(rule.filter, LinuxFilter { first: 71, second: 71 });
        assert_eq!(rule.bytes, 7_240);
    }

    #[test]
    fn linux_intervals_are_at_least_50_ms() {
        // From 990, 1040 is 50 ms; 1041 is 51, with three segments: 4344/51 = 85.
        let (mut rule, mut window) = established(990);
        for at_ms in [1_000, 1_020, 1_040] {
            rule.on_sample(&mut window, &ack(1, 10), &flow(at_ms, 10, 10));
        }
        assert_eq!(rule.filter.first, 0);
        rule.on_sample(&mut window, &ack(1, 10), &flow(1_041, 10, 10));
        assert_eq!(rule.filter.first, 85);
    }

    #[test]
    fn linux_sets_the_window_when_recovery_ends() {
        let mut probe = Probe::new("westwood+", Variant::Linux6_1, &Start::avoidance(40, 100));
        probe.may_grow = false;
        probe.rounds(10);
        probe.congestion(Signal::Loss);
        assert_eq!((probe.cwnd(), probe.ssthresh()), (20, Some(20)));
        // Then 40 per 100 ms: 57920/100 = 579 bytes/ms at most; ⌊57900/1448⌋ = 39.
        probe.recover();
        assert_eq!((probe.cwnd(), probe.ssthresh()), (39, Some(39)));
    }

    #[test]
    fn linux_resets_the_minimum_rtt_at_a_timeout() {
        let (mut rule, mut window) = established(990);
        rule.filter = LinuxFilter { first: 1_448, second: 1_448 };
        rule.on_sample(&mut window, &ack(1, 40), &flow(1_000, 10, 40));
        rule.on_sample(&mut window, &ack(1, 80), &flow(1_001, 10, 80));
        assert_eq!(rule.rto_backoff(&window, &flow(1_002, 10, 80)), 40);
        rule.on_rto(&flow(1_002, 10, 80));
        rule.on_sample(&mut window, &ack(1, 80), &flow(1_003, 10, 80));
        assert_eq!(rule.pipe(1_448), 80);
        // The end of that episode does not change the window.
        rule.on_recovered(&mut window, &flow(1_003, 10, 80));
        assert_eq!(window, Window::new(10));
    }
}
