//! H-TCP: growth accelerates with the time since the last congestion; back-off depends on the ratio
//! of the minimum to the maximum RTT.
//!
//! Source: R. N. Shorten, D. J. Leith, "H-TCP: TCP for high-speed and long-distance networks",
//! PFLDnet 2004. α = 1 for the first second after congestion, then
//! 1 + 10(Δ − 1) + ((Δ − 1)/2)², and α ← 2(1 − β)α; growth is α segments per round trip. β is
//! RTTmin/RTTmax between 0.5 and 0.8, or 0.5 if the throughput before this event differs by more
//! than a fifth from that before the last. With RTT scaling, α is divided by 100 ms/RTTmin, bounded
//! to 0.5 to 10.
//!
//! Linux (`net/ipv4/tcp_htcp.c`): α and β in 1/128, so that β is at most 102/128; the factor of α
//! in whole numbers, computed at each increase; RTT scaling on. β stays 0.5 at the first event
//! whose throughput is close to the last one's, and while RTTmin is 10 ms or less. RTTmax rises by
//! at most 20 ms per sample and falls by a twentieth of its distance to RTTmin at each event. Linux
//! 6.1 samples every RTT, Linux 2.6.22 the smoothed one in whole ms, only in congestion avoidance.
//!
//! ns-3.29 (`tcp-htcp.cc`) adds α **bytes** per acknowledgement to NewReno's growth, from which it
//! hardly differs, and at first, without a β, 2α. β is RTTmin/RTTmax if the throughput is less than
//! twice that before the last event, 0.5 otherwise; it may be 1, so that a loss does not reduce the
//! window.
//!
//! ns-2's own agents had it as a patch that is not public. The variant is Linux 2.6.22's rules on a
//! window in real numbers; the first loss halves the window.

mod linux;
mod ns2;
mod ns3;

use fairway_units::{Duration, Time};

use self::linux::{Linux, Rtt};
use crate::ns2::Agent;
use crate::ns3::Socket;
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Param, Params, Rule, Signal, SlowStart,
    Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
    window::whole_segments,
};

/// Variants with Leith's two switches.
const SWITCHED: &[Variant] =
    &[Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, Variant::Ns2];

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "htcp",
    title: "H-TCP",
    summary: "Growth rises with the time since the last loss; back-off follows the delay.",
    family: Family::Classic,
    signal: "loss + time + delay",
    year: 2004,
    source: "Leith and Shorten, PFLDnet 2004",
    variants: &Variant::ALL,
    params: &[
        Param::switch("use_rtt_scaling", "whether growth is scaled by the minimum RTT", false)
            .except(&[(Variant::Linux6_1, 1.0), (Variant::Linux2_6_22, 1.0), (Variant::Ns2, 1.0)])
            .only(SWITCHED),
        Param::switch(
            "use_bandwidth_switch",
            "whether a change of throughput sets beta to 0.5",
            true,
        )
        .only(SWITCHED),
        Param::new("default_backoff", "beta if the delay does not determine it", 0.5, 0.0, 1.0)
            .only(&[Variant::Ns3_29]),
        Param::new(
            "throughput_ratio",
            "largest ratio of throughputs, a whole number, at which the delay determines beta",
            0.2,
            0.0,
            1e6,
        )
        .only(&[Variant::Ns3_29]),
        Param::new(
            "delta_l_s",
            "time after congestion until growth accelerates, seconds",
            1.0,
            0.0,
            1e3,
        )
        .only(&[Variant::Ns3_29]),
    ],
    vectors: &[
        Vector::new("Δ = 1.5 s, β = 0.5: 1 + 10·0.5 + 0.25²", 6.0625, || {
            alpha_after(1_500, 0.5)
        }),
        Vector::new("Δ = 5 s, β = 0.5: 1 + 10·4 + 2²", 45.0, || alpha_after(5_000, 0.5)),
        Vector::new("Δ = 1.5 s, β = 0.8: 2·(1 − 0.8)·6.0625", 2.425, || {
            alpha_after(1_500, 0.8)
        }),
        Vector::new(
            "ns-2, first loss at 201, α = 1: 100.5, and 200 acknowledgements 102.4",
            102.0,
            || {
                let mut probe = Probe::new("htcp", Variant::Ns2, &Start::avoidance(201, 100));
                probe.loss();
                // Within the first second: 2(1 − β) = 1 segment per round trip.
                (0..200).for_each(|_| {
                    probe.ack_now(1);
                });
                probe.cwnd() as f64
            },
        ),
        Vector::new("6.1, Δ = 5 s, RTTmin = 100 ms: 45", 45.0, || linux_alpha_after(5_000, 100)),
        Vector::new("6.1, Δ = 5 s, RTTmin = 20 ms: 8·45/40 = 9", 9.0, || {
            linux_alpha_after(5_000, 20)
        }),
        Vector::new("6.1, Δ = 1.5 s, RTTmin = 200 ms: 8·6/4 = 12", 12.0, || {
            linux_alpha_after(1_500, 200)
        }),
        Vector::new(
            "ns-3.29, 14480 bytes, 5 s, no loss yet: ⌊1448²/14480 + 2(1 + 10·4 + 4²/4)⌋ = ⌊144.8 + 90⌋",
            14_714.0,
            || {
                Probe::new("htcp", Variant::Ns3_29, &Start::avoidance(10, 100)).ack_now(1).cc.cwnd()
                    as f64
            },
        ),
    ],
    build,
};

fn alpha_after(millis: u64, beta: f64) -> f64 {
    let rule = LeithShorten { beta, ..LeithShorten::new(false, true) };
    rule.alpha(Time::ZERO + Duration::from_millis(millis))
}

fn linux_alpha_after(millis: u64, min_rtt: u64) -> f64 {
    let mut rule = Linux::new(Rtt::EverySample, true, true);
    rule.last_congestion = Some(0);
    rule.min_rtt = min_rtt;
    rule.update_alpha(millis);
    rule.alpha as f64 / 128.0
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let slow_start = SlowStart::of(variant);
    if variant == Variant::Ns3_29 {
        let [backoff, ratio, delta_l_s] =
            ["default_backoff", "throughput_ratio", "delta_l_s"].map(|name| params.get(name));
        return Box::new(Socket::new(ns3::Htcp::new(backoff, ratio, delta_l_s), init));
    }
    let scaling = params.is_on("use_rtt_scaling");
    let switch = params.is_on("use_bandwidth_switch");
    match variant {
        Variant::Paper => {
            let rule = LeithShorten::new(scaling, switch);
            Box::new(Windowed::new(rule, slow_start, init))
        }
        Variant::Ns2 => {
            let rule = ns2::Ns2(Linux::new(Rtt::Smoothed { eighths: 0 }, scaling, switch));
            // Gelle's script sets `max_ssthresh_` to 1 for H-TCP, which disables limited slow
            // start.
            Box::new(Agent::new(rule, 0, init))
        }
        Variant::Linux6_1 => {
            let rule = Linux::new(Rtt::EverySample, scaling, switch);
            Box::new(Windowed::new(rule, slow_start, init))
        }
        Variant::Linux2_6_22 | Variant::Ns3_29 => {
            let rule = Linux::new(Rtt::Smoothed { eighths: 0 }, scaling, switch);
            Box::new(Windowed::new(rule, slow_start, init))
        }
    }
}

/// The paper, in real numbers.
struct LeithShorten {
    use_rtt_scaling: bool,
    use_bandwidth_switch: bool,
    beta: f64,
    last_congestion: Time,
    min_rtt: Duration,
    /// Maximum RTT since the last congestion.
    max_rtt: Duration,
    round: Round,
    /// Throughput of the last whole round before the last congestion, bytes per second.
    throughput_before: f64,
}

/// Bounds of beta.
pub const RETENTIONS: (f64, f64) = (0.5, 0.8);
/// Beta is at its minimum if the throughput has changed by more than this since the last loss.
pub const THROUGHPUT_CHANGE: f64 = 0.2;

/// α(Δ), growth per round trip `since_loss_s` after a loss: `1 + 10(Δ-1) + ((Δ-1)/2)²` after a second.
pub fn increase(since_loss_s: f64) -> f64 {
    let beyond = (since_loss_s - 1.0).max(0.0);
    1.0 + 10.0 * beyond + 0.25 * beyond * beyond
}

/// Beta from the ratio of the minimum to the maximum RTT.
pub fn retention(rtt_ratio: f64) -> f64 {
    rtt_ratio.clamp(RETENTIONS.0, RETENTIONS.1)
}

/// A round trip of data, to measure the throughput.
#[derive(Default)]
struct Round {
    end: u64,
    started: Time,
    delivered_at_start: u64,
    /// Throughput of the last whole round, bytes per second.
    throughput: f64,
}

impl Round {
    fn on_ack(&mut self, flow: &Flow) {
        if flow.snd_una < self.end {
            return;
        }
        let span = flow.now.since(self.started).as_secs_f64();
        if span > 0.0 && self.end > 0 {
            self.throughput = (flow.delivered - self.delivered_at_start) as f64 / span;
        }
        *self = Round {
            end: flow.snd_nxt.max(flow.snd_una + 1),
            started: flow.now,
            delivered_at_start: flow.delivered,
            throughput: self.throughput,
        };
    }
}

impl LeithShorten {
    fn new(use_rtt_scaling: bool, use_bandwidth_switch: bool) -> Self {
        LeithShorten {
            use_rtt_scaling,
            use_bandwidth_switch,
            beta: 0.5,
            last_congestion: Time::ZERO,
            min_rtt: Duration::MAX,
            max_rtt: Duration::ZERO,
            round: Round::default(),
            throughput_before: 0.0,
        }
    }

    /// Growth in segments per round trip.
    fn alpha(&self, now: Time) -> f64 {
        let mut alpha = increase(now.since(self.last_congestion).as_secs_f64());
        if self.use_rtt_scaling && self.min_rtt != Duration::MAX {
            let scale = 0.1 / self.min_rtt.as_secs_f64().max(1e-9);
            alpha = (alpha / scale.clamp(0.5, 10.0)).max(1.0);
        }
        2.0 * (1.0 - self.beta) * alpha
    }

    fn new_beta(&self) -> f64 {
        let change = (self.round.throughput - self.throughput_before).abs();
        let is_uneven =
            self.use_bandwidth_switch && change > THROUGHPUT_CHANGE * self.throughput_before;
        if is_uneven || self.max_rtt == Duration::ZERO {
            RETENTIONS.0
        } else {
            retention(self.min_rtt.as_secs_f64() / self.max_rtt.as_secs_f64())
        }
    }
}

impl Rule for LeithShorten {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, flow: &Flow) {
        window.add(self.alpha(flow.now) * f64::from(acked) / window.exact());
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        self.beta = self.new_beta();
        self.throughput_before = self.round.throughput;
        self.max_rtt = Duration::ZERO;
        whole_segments(window.exact() * self.beta)
    }

    fn on_sample(&mut self, _window: &mut Window, ack: &Ack, flow: &Flow) {
        self.round.on_ack(flow);
        if let Some(rtt) = ack.rtt {
            self.min_rtt = self.min_rtt.min(rtt);
            self.max_rtt = self.max_rtt.max(rtt);
        }
    }

    fn on_congestion(&mut self, flow: &Flow) {
        self.last_congestion = flow.now;
    }

    fn on_rto(&mut self, flow: &Flow) {
        self.last_congestion = flow.now;
    }
}

#[cfg(test)]
mod tests {
    use super::linux::smooth;
    use super::*;
    use crate::Phase;
    use crate::testing::{ack, flow};

    fn paper_alpha(millis: u64, beta: f64, min_rtt_ms: Option<u64>) -> f64 {
        let mut rule = LeithShorten::new(min_rtt_ms.is_some(), true);
        rule.beta = beta;
        rule.min_rtt = min_rtt_ms.map_or(Duration::MAX, Duration::from_millis);
        rule.alpha(flow(millis, 0, 40).now)
    }

    #[test]
    fn paper_growth() {
        // Δ = 1.5: 1 + 5 + 0.0625 = 6.0625, times 2(1 − β): 6.0625 or 2.425.
        assert!((paper_alpha(1_500, 0.5, None) - 6.0625).abs() < 1e-12);
        assert!((paper_alpha(1_500, 0.8, None) - 2.425).abs() < 1e-12);
        // Δ = 5: 1 + 40 + 4 = 45, or 18. Δ ≤ 1: 1.
        assert!((paper_alpha(5_000, 0.5, None) - 45.0).abs() < 1e-12);
        assert!((paper_alpha(5_000, 0.8, None) - 18.0).abs() < 1e-12);
        assert!((paper_alpha(1_000, 0.5, None) - 1.0).abs() < 1e-12);
        // Scaled by 100/20 = 5: 45/5 = 9.
        assert!((paper_alpha(5_000, 0.5, Some(20)) - 9.0).abs() < 1e-12);
        // A round at 100 segments with α = 45.
        let mut rule = LeithShorten::new(false, true);
        let mut window = Window::new(100);
        rule.growth(&mut window, 100, &ack(100, 40), &flow(5_000, 100, 40));
        assert!((window.exact() - 145.0).abs() < 1e-9);
    }

    #[test]
    fn paper_backoff() {
        let mut rule = LeithShorten::new(false, true);
        let mut window = Window::new(100);
        for rtt_ms in [50, 80] {
            rule.on_sample(&mut window, &ack(1, rtt_ms), &flow(0, 100, rtt_ms));
        }
        // Throughput as before: β = 50/80 = 0.625, ⌊62.5⌋. Then 50/55 = 0.91, bounded to 0.8.
        rule.round.throughput = 1e6;
        rule.throughput_before = 0.9e6;
        assert_eq!(rule.backoff(&window, Signal::Loss, &flow(0, 100, 80)), 62);
        rule.on_sample(&mut window, &ack(1, 55), &flow(0, 100, 55));
        assert_eq!(rule.backoff(&window, Signal::Loss, &flow(0, 100, 55)), 80);
        // A quarter more throughput: half.
        rule.on_sample(&mut window, &ack(1, 55), &flow(0, 100, 55));
        rule.round.throughput = 1.25e6;
        assert_eq!(rule.backoff(&window, Signal::Loss, &flow(0, 100, 55)), 50);
    }

    #[test]
    fn linux_growth_factors() {
        let alpha = |since_ms: u64, min_rtt: u64, beta: u64| {
            let mut rule = Linux::new(Rtt::EverySample, true, true);
            rule.last_congestion = Some(0);
            rule.min_rtt = min_rtt;
            rule.beta = beta;
            rule.update_alpha(since_ms);
            rule.alpha
        };
        // Δ 1500: 1 + (10·500 + 250·250/1000)/1000 = 1 + 5062/1000 = 6; RTTmin 100: scale
        // 8000/1000 = 8, so 6; in 1/128 times 2·64.
        assert_eq!(alpha(1_500, 100, 64), 6 * 128);
        // Δ 5000: 1 + (40000 + 4000)/1000 = 45.
        assert_eq!(alpha(5_000, 100, 64), 45 * 128);
        // RTTmin 20: scale 8000/200 = 40: 48/40 = 1 and 360/40 = 9.
        assert_eq!(alpha(1_500, 20, 64), 128);
        assert_eq!(alpha(5_000, 20, 64), 9 * 128);
        // RTTmin 200: scale 4: 48/4 = 12 and 360/4 = 90.
        assert_eq!(alpha(1_500, 200, 64), 12 * 128);
        assert_eq!(alpha(5_000, 200, 64), 90 * 128);
        // β 102/128: 2·45·26 = 2340 (18.28 segments).
        assert_eq!(alpha(5_000, 100, 102), 2_340);
    }

    #[test]
    fn linux_grows_when_the_counter_times_alpha_reaches_the_window() {
        // α = 6, window 100: the counter must reach 17 (17·6 = 102), and the next one grows.
        let mut rule = Linux::new(Rtt::EverySample, true, true);
        rule.alpha = 6 * 128;
        let mut window = Window::new(100);
        for _ in 0..17 {
            rule.growth(&mut window, 1, &ack(1, 40), &flow(500, 100, 40));
        }
        assert_eq!((window.cwnd, window.credit), (100, 17));
        rule.growth(&mut window, 1, &ack(1, 40), &flow(500, 100, 40));
        assert_eq!((window.cwnd, window.credit), (101, 0));
    }

    #[test]
    fn linux_backoff_follows_the_delay_from_the_second_even_event_on() {
        let mut rule = Linux::new(Rtt::EverySample, true, true);
        let window = Window::new(100);
        let flow = flow(10_000, 100, 50);
        (rule.min_rtt, rule.max_rtt, rule.max_throughput) = (50, 80, 1_000);
        // Throughput rose from 0 to 1000: half, and the delay is not used yet.
        assert_eq!(rule.backoff(&window, Signal::Loss, &flow), 50);
        // RTTmax decays: 50 + 30·95/100 = 78.
        assert_eq!(rule.max_rtt, 78);
        // Even: still half, but adaptive from now on.
        assert_eq!(rule.backoff(&window, Signal::Loss, &flow), 50);
        rule.max_rtt = 80;
        // ⌊128·50/80⌋ = 80; ⌊100·80/128⌋ = 62.
        assert_eq!(rule.backoff(&window, Signal::Loss, &flow), 62);
        // 1200 is a fifth more and still even (5·1200 = 6·1000), 1441 is not (7205 > 7200).
        rule.max_throughput = 1_200;
        rule.max_rtt = 55;
        assert_eq!(rule.backoff(&window, Signal::Loss, &flow), 79); // 128·50/55 = 116 → 102.
        rule.max_throughput = 1_441;
        assert_eq!(rule.backoff(&window, Signal::Loss, &flow), 50);
    }

    #[test]
    fn linux_counts_its_first_interval_from_boot() {
        // Ten segments since the kernel booted are none a second; ten more in 50 ms are 200.
        let mut rule = Linux::new(Rtt::EverySample, true, true);
        rule.min_rtt = 50;
        rule.measure_throughput(&Window::new(10), 10, Phase::Open, 1_000);
        assert_eq!((rule.throughput, rule.packets_since), (0, Some(1_000)));
        rule.measure_throughput(&Window::new(10), 10, Phase::Open, 1_050);
        assert_eq!((rule.throughput, rule.packets_since), (200, Some(1_050)));
    }

    #[test]
    fn the_smoothed_rtt_moves_by_eighths() {
        // 40 ms: 320; then 48: 320 + 48 − 40 = 328, 41 whole ms; 0.4 ms counts as 1.
        assert_eq!(smooth(0, Duration::from_millis(40)), 320);
        assert_eq!(smooth(320, Duration::from_millis(48)), 328);
        assert_eq!(smooth(0, Duration::from_micros(400)), 8);
        // 40.5 ms rounds up: 320 + 41 − 40.
        assert_eq!(smooth(320, Duration::from_micros(40_500)), 321);
    }

    #[test]
    fn a_spurious_event_restores_the_clock() {
        let mut rule = Linux::new(Rtt::EverySample, true, true);
        rule.last_congestion = Some(100);
        rule.on_congestion(&flow(9_000, 10, 40));
        assert_eq!(rule.last_congestion, Some(9_000));
        rule.on_spurious(&mut Window::new(10), &flow(9_100, 10, 40));
        assert_eq!(rule.last_congestion, Some(100));
    }
}
