//! Veno: Reno that distinguishes link losses from queue losses by its backlog of segments in
//! queues.
//!
//! Source: C. P. Fu, S. C. Liew, "TCP Veno: TCP enhancement for transmission over wireless access
//! networks", IEEE JSAC 21(2), 2003. The backlog is Vegas', `N = cwnd·(RTT − base)/RTT` with the
//! smoothed and the minimum RTT. Growth is `1/cwnd` segments per segment acknowledged while
//! `N < β = 3`, half of that otherwise. At a loss `ssthresh = 4/5·cwnd` if `N < β`, as the queue
//! was not full, otherwise `cwnd/2`; after a timeout `cwnd/2`.
//!
//! Linux 6.1 (`net/ipv4/tcp_veno.c`): N in whole half segments, by the minimum RTT since the last
//! acknowledgement that could grow the window; the slower growth skips every other increase; a
//! timeout backs off as a loss does; Reno outside the open state and for the first two RTT samples.
//! An idle period resets the minimum RTT.
//!
//! Linux 2.6.22, included in ns-2.35: the same, counting acknowledgements where 6.1 counts
//! segments.
//!
//! ns-3.29 (`tcp-veno.cc`) resets its count of RTT samples at each acknowledgement that may grow
//! the window, so that it nearly always takes the branch for "too few samples", ns-3's NewReno.
//! Only the response to losses is Veno's: N in whole segments from smoothed RTTs, and 4/5 or half
//! of the bytes in flight.

mod ns3;

use fairway_units::Duration;

use crate::ns3::Socket;
use crate::probe::{Probe, Start};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Needs, Param, Params, Phase, Rule,
    Signal, SlowStart, Variant, Vector, Window, Windowed, round::Delay, window::whole_segments,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "veno",
    title: "Veno",
    summary: "Reno; a loss while few segments wait in queues costs a fifth of the window, not half.",
    family: Family::Wireless,
    signal: "loss + delay",
    year: 2003,
    source: "Fu and Liew, IEEE JSAC 21(2), 2003",
    variants: &[Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, Variant::Ns3_29],
    params: &[Param::new(
        "beta",
        "backlog in segments from which a loss indicates congestion",
        3.0,
        0.0,
        1e6,
    )
    .whole()],
    vectors: &[
        Vector::new("W = 50, base 100, RTT 105: N = 50·5/105 = 2.38 < 3: 50·4/5", 40.0, || {
            after_loss(Variant::Paper, 105)
        }),
        Vector::new("W = 50, base 100, RTT 110: N = 50·10/110 = 4.55: 50/2", 25.0, || {
            after_loss(Variant::Paper, 110)
        }),
        Vector::new(
            "Linux, RTT 105 (+ 1 µs): 100 − ⌊100·100001/105001⌋ = 100 − 95 = 5 halves: 40",
            40.0,
            || after_loss(Variant::Linux6_1, 105),
        ),
        Vector::new("Linux, RTT 110: 100 − 90 = 10 halves: 25", 25.0, || {
            after_loss(Variant::Linux6_1, 110)
        }),
        Vector::new(
            "Linux 2.6.22, N > 3, acknowledgements of two segments: 51 counted and one more: 51",
            51.0,
            || {
                let mut probe = queued(Variant::Linux2_6_22, 110);
                probe.acks(51, 2);
                probe.cwnd() as f64
            },
        ),
        Vector::new("ns-3.29, RTT 106: 50 − ⌊50·100/106⌋ = 50 − 47 = 3: 25", 25.0, || {
            after_loss(Variant::Ns3_29, 106)
        }),
        Vector::new("N < 3, W = 50, 51 acknowledgements: √(2500 + 102) = 51.01", 51.0, || {
            grown(Variant::Paper, 101, 51)
        }),
        Vector::new(
            "N > 3, W = 50, 51 acknowledgements of half: √(2500 + 51) = 50.5",
            50.0,
            || grown(Variant::Paper, 110, 51),
        ),
        Vector::new(
            "Linux, N > 3, W = 50: 51 counted and one more: 51; then 52 that add none",
            51.0,
            || {
                let mut probe = queued(Variant::Linux6_1, 110);
                probe.acks(102, 1);
                probe.cwnd() as f64
            },
        ),
        Vector::new(
            "ns-3.29, no queue, 51 · 1448 bytes at a loss: ⌊73848 · 0.8⌋ = ⌊59078.4⌋",
            59_078.0,
            || {
                Probe::new("veno", Variant::Ns3_29, &Start::avoidance(51, 100)).loss().cc.cwnd()
                    as f64
            },
        ),
    ],
    build,
};

/// A window of 50 with a minimum RTT of 100 ms and a current RTT of `rtt_ms`.
fn queued(variant: Variant, rtt_ms: u64) -> Probe {
    let mut probe = Probe::new("veno", variant, &Start::avoidance(50, 100));
    probe.may_grow = false;
    probe.ack(1);
    probe.rtt = Duration::from_millis(rtt_ms);
    probe.acks(3, 1);
    probe.may_grow = true;
    probe
}

fn after_loss(variant: Variant, rtt_ms: u64) -> f64 {
    let mut probe = queued(variant, rtt_ms);
    // The backlog is measured when the window may grow. In Linux the first such acknowledgement
    // uses the minimum RTT since the last one, that of the empty queue.
    probe.ack(1);
    probe.ack(1);
    probe.loss();
    probe.cwnd() as f64
}

fn grown(variant: Variant, rtt_ms: u64, acknowledgements: u32) -> f64 {
    let mut probe = queued(variant, rtt_ms);
    probe.acks(acknowledgements, 1);
    probe.cwnd() as f64
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let beta = params.get("beta");
    let slow_start = SlowStart::of(variant);
    match variant {
        Variant::Linux6_1 | Variant::Linux2_6_22 => {
            let rule = Linux::new(beta as u64, variant == Variant::Linux2_6_22);
            Box::new(Windowed::new(rule, slow_start, init))
        }
        Variant::Ns3_29 => Box::new(Socket::new(ns3::Veno::new(beta as u32), init)),
        Variant::Paper | Variant::Ns2 => Box::new(Windowed::new(FuLiew { beta }, slow_start, init)),
    }
}

/// `window` reduced by a fifth, or by half.
fn reduced(window: u32, is_congested: bool) -> u32 {
    if is_congested { window / 2 } else { (u64::from(window) * 4 / 5) as u32 }
}

/// Growth per round trip.
pub fn increase(is_congested: bool) -> f64 {
    if is_congested { 0.5 } else { 1.0 }
}

/// Beta.
pub fn retention(is_congested: bool) -> f64 {
    if is_congested { 0.5 } else { 0.8 }
}

/// The paper, in real numbers.
struct FuLiew {
    beta: f64,
}

impl FuLiew {
    fn is_congested(&self, window: &Window, flow: &Flow) -> bool {
        let (Some(base), Some(rtt)) = (flow.min_rtt, flow.srtt) else { return false };
        Delay { base, rtt: rtt.max(base) }.backlog(window.exact()) >= self.beta
    }
}

impl Rule for FuLiew {
    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, flow: &Flow) {
        window.add(increase(self.is_congested(window, flow)) * f64::from(acked) / window.exact());
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, flow: &Flow) -> u32 {
        whole_segments(retention(self.is_congested(window, flow)) * window.exact())
    }

    fn rto_backoff(&mut self, window: &Window, _flow: &Flow) -> u32 {
        window.cwnd / 2
    }
}

/// RTT before the first sample (`veno_enable`), µs.
const NO_RTT: u64 = 0x7fff_ffff;
/// `cntrtt`: with at most this many samples it is Reno.
const TOO_FEW: u16 = 2;

/// The kernel's module.
struct Linux {
    /// Whether it is the module of 2.6.22, not of 6.1.
    is_old: bool,
    /// β and the backlog, in half segments (`V_PARAM_SHIFT`).
    beta_halves: u64,
    backlog_halves: u64,
    base_us: u64,
    min_us: u64,
    /// RTT samples; Linux never resets the count, but it wraps.
    samples: u16,
    /// Whether the next increase is not skipped.
    increases: bool,
    is_open: bool,
    /// Whether recovery has just ended: the acknowledgement that ended it grows the window without
    /// an RTT.
    has_recovered: bool,
}

impl Linux {
    fn new(beta: u64, is_old: bool) -> Self {
        Linux {
            is_old,
            beta_halves: 2 * beta,
            backlog_halves: 0,
            base_us: NO_RTT,
            min_us: NO_RTT,
            samples: 0,
            increases: true,
            is_open: true,
            has_recovered: false,
        }
    }

    fn measures(&self) -> bool {
        self.is_open && self.samples > TOO_FEW
    }

    fn is_congested(&self) -> bool {
        self.backlog_halves >= self.beta_halves
    }

    fn measure(&mut self, window: &Window) {
        if self.measures() {
            let halves = 2 * u64::from(window.cwnd);
            let target = halves * self.base_us / self.min_us.max(1);
            self.backlog_halves = halves.saturating_sub(target);
        }
        self.min_us = NO_RTT;
    }
}

impl Rule for Linux {
    fn needs(&self) -> Needs {
        Needs::SEND_TIMES
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        if std::mem::take(&mut self.has_recovered) {
            self.measure(window);
        }
        let acked = if self.is_old { 1 } else { acked };
        if !self.measures() || !self.is_congested() {
            if self.is_old {
                window.count_ack(window.cwnd);
            } else {
                window.additive_increase(window.cwnd, acked);
            }
        } else if window.credit >= window.cwnd {
            window.cwnd = window.cwnd.saturating_add(u32::from(self.increases));
            self.increases = !self.increases;
            window.credit = 0;
        } else {
            window.credit = window.credit.saturating_add(acked);
        }
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        reduced(window.cwnd, self.is_congested())
    }

    fn on_recovered(&mut self, _window: &mut Window, _flow: &Flow) {
        if !self.is_old {
            (self.is_open, self.has_recovered, self.min_us) = (true, true, NO_RTT);
        }
    }

    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        self.has_recovered = false;
        // Returning to the open state discards earlier RTTs (`tcp_veno_state`).
        let was_open = std::mem::replace(&mut self.is_open, flow.phase == Phase::Open);
        if self.is_open && !was_open {
            self.min_us = NO_RTT;
        }
        if let Some(rtt) = ack.rtt {
            // "Never allow zero" (`tcp_veno_pkts_acked`).
            let rtt_us = (rtt.as_micros() + 1).min(NO_RTT);
            self.base_us = self.base_us.min(rtt_us);
            self.min_us = self.min_us.min(rtt_us);
            self.samples = self.samples.wrapping_add(1);
        }
        if self.is_open && ack.may_grow && ack.acked > 0 {
            self.measure(window);
        }
    }

    /// `tcp_veno_cwnd_event`, after an idle period of any length.
    fn on_transmit_start(&mut self, _idle: Duration, _flow: &Flow) {
        (self.base_us, self.min_us, self.increases) = (NO_RTT, NO_RTT, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, flow};

    #[test]
    fn a_timeout_halves_by_the_paper_and_follows_the_backlog_in_linux() {
        let mut paper = queued(Variant::Paper, 101);
        paper.ack(1);
        paper.rto();
        assert_eq!((paper.cwnd(), paper.ssthresh()), (1, Some(25)));
        let mut linux = queued(Variant::Linux6_1, 101);
        linux.ack(1);
        linux.ack(1);
        linux.rto();
        assert_eq!((linux.cwnd(), linux.ssthresh()), (1, Some(40)));
    }

    #[test]
    fn linux_is_reno_until_three_rtt_samples() {
        let mut rule = Linux::new(3, false);
        let mut window = Window::new(50);
        rule.on_sample(&mut window, &ack(1, 100), &flow(0, 50, 100));
        rule.on_sample(&mut window, &ack(1, 200), &flow(0, 50, 100));
        assert_eq!(rule.backlog_halves, 0);
        rule.on_sample(&mut window, &ack(1, 200), &flow(0, 50, 100));
        // 100 − ⌊100·100001/200001⌋ = 100 − 50.
        assert_eq!(rule.backlog_halves, 50);
    }

    #[test]
    fn linux_skips_every_other_increase() {
        let mut rule = Linux::new(3, false);
        (rule.samples, rule.backlog_halves) = (3, 6);
        let mut window = Window::new(2);
        let mut windows = Vec::new();
        for _ in 0..9 {
            rule.growth(&mut window, 1, &ack(1, 100), &flow(0, 2, 100));
            windows.push(window.cwnd);
        }
        // Two counted, then +1; three counted, then none; three counted, then +1.
        assert_eq!(windows, [2, 2, 3, 3, 3, 3, 3, 3, 3]);
        for _ in 0..2 {
            rule.growth(&mut window, 1, &ack(1, 100), &flow(0, 2, 100));
        }
        assert_eq!(window.cwnd, 4);
    }

    #[test]
    fn linux_takes_the_end_of_a_recovery_for_congestion() {
        // Without an RTT the backlog is the window: 2·28 half segments, so that the next loss halves.
        let mut rule = Linux::new(3, false);
        let mut window = Window::new(28);
        for _ in 0..3 {
            rule.on_sample(&mut window, &ack(1, 50), &flow(0, 28, 50));
        }
        assert_eq!(rule.backoff(&window, Signal::Loss, &flow(0, 28, 50)), 22);
        rule.on_recovered(&mut window, &flow(0, 28, 50));
        rule.growth(&mut window, 1, &ack(1, 50), &flow(0, 28, 50));
        assert_eq!(rule.backlog_halves, 56);
        assert_eq!(rule.backoff(&window, Signal::Loss, &flow(0, 28, 50)), 14);
    }

    #[test]
    fn linux_resets_after_an_idle_period() {
        let mut rule = Linux::new(3, false);
        let mut window = Window::new(50);
        for rtt_ms in [100, 100, 100] {
            rule.on_sample(&mut window, &ack(1, rtt_ms), &flow(0, 50, 100));
        }
        rule.on_transmit_start(Duration::from_secs(3), &flow(0, 0, 100));
        rule.on_sample(&mut window, &ack(1, 200), &flow(0, 50, 100));
        assert_eq!((rule.base_us, rule.backlog_halves), (200_001, 0));
    }
}
