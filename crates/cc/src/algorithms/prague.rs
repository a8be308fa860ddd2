//! TCP Prague: DCTCP for the public internet, with a fractional window, gradual reductions, and
//! growth that does not favour short RTTs.
//!
//! Source: the module of the L4S team, TCP Prague 0.6 (`net/ipv4/tcp_prague.c`), which implements
//! draft-briscoe-iccrg-prague-congestion-control and the requirements of RFC 9331 section 4.3.
//!
//! `α ← α − α/16 + F/16` once per window of data, from `α = 1`, stored in 2⁻²⁰ with the remainder
//! of the division carried over; it stays 1 until the first mark. A mark reduces the window by
//! `W·α/2` once per round trip, a loss by half. Growth is `s/W` per segment delivered unmarked,
//! even during a reduction. After 500 rounds of congestion avoidance, if the RTT is below 25 ms,
//! `s = (RTT/25 ms)²`, and reductions for marks and updates of α are at most once per 25 ms;
//! otherwise `s = 1`. `W` is in units of 2⁻²⁰; the window in use follows it, rounded up, by one
//! segment per acknowledgement, down to two, and each step down sets the threshold. After a timeout
//! it grows from one segment to the halved `W` in the same way; `W` does not grow until losses are
//! recovered. The pacing rate is `W/srtt`, or that of the window in use if larger, and twice that
//! below half the threshold, including headers of 52 bytes.
//!
//! In 0.6 the fraction does not follow the window in slow start, so that the first mark would reset
//! the window to the initial one; in later versions it does, as here. The acknowledgement with the
//! mark takes the first step down, which ends slow start. Not implemented: the fallback for classic
//! ECN queues (off by default), the other two kinds of RTT scaling, and the limit on bursts. With
//! `ecn = "accurate"` at both ends, which the module requires, packets carry ECT(1), for queues
//! such as DualPI2's low-latency one; without it they carry ECT(0) with the echo of DCTCP, where
//! the module would fall back to Reno.

use fairway_units::{Duration, Rate, Time};

use crate::marks::ObservationWindow;
use crate::{
    Ack, Algorithm, CongestionControl, EcnFeedback, Family, Flow, Init, Needs, Param, Params,
    Phase, Signal, SlowStart, Variant, Vector, Window, window::segments,
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "prague",
    title: "TCP Prague",
    summary: "DCTCP for wide areas: a fractional window, and growth alike for short and long paths.",
    family: Family::Ecn,
    signal: "ECN + loss",
    year: 2019,
    source: "TCP Prague 0.6; draft-briscoe-iccrg-prague-congestion-control",
    variants: &[Variant::Paper],
    params: &[
        // `prague_rtt_target`, `prague_rtt_transition`.
        Param::new(
            "rtt_target_ms",
            "RTT at whose rate shorter ones grow, ms; 0 for none",
            25.0,
            0.0,
            100.0,
        ),
        Param::new("rtt_transition", "rounds of congestion avoidance before that", 500.0, 0.0, 1e6)
            .whole(),
    ],
    vectors: &[
        Vector::new("RTT 10 ms, W = 20: (10/25)^2/20 = 0.008 a segment", 0.008, || {
            growth_of(10, 20)
        })
        // The module counts RTTs in 128 µs and windows in 2⁻²⁰.
        .within(1e-6),
        Vector::new("RTT 40 ms, W = 20: 1/20", 0.05, || growth_of(40, 20)).within(1e-6),
        Vector::new("a mark at W = 100, alpha 0.2: 100 - 10 = 90", 90.0, || {
            in_segments(after_mark(100 << BITS, ONE / 5))
        })
        .within(1e-4),
        Vector::new("a loss at W = 9: 9 - 4.5 = 4.5", 4.5, || in_segments(after_loss(9 << BITS))),
        Vector::new("alpha 1, a tenth marked: 15/16 + 0.1/16 = 0.94375", 0.94375, || {
            let mut alpha = Alpha::new();
            alpha.observe(ONE / 10);
            alpha.get() as f64 / ONE as f64
        })
        .within(1e-6),
    ],
    build,
};

fn build(_variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let mss = init.mss.max(1);
    let whole = |bytes: u64| u32::try_from(bytes / u64::from(mss)).unwrap_or(u32::MAX).max(1);
    let mut window = Window::new(whole(init.initial_window));
    window.ssthresh = init.initial_ssthresh.map_or(u32::MAX, whole);
    Box::new(Prague {
        mss,
        exact: u64::from(window.cwnd) << BITS,
        window,
        slow_start: init.slow_start.clone().unwrap_or(SlowStart::Standard),
        alpha: Alpha::new(),
        observed: ObservationWindow::default(),
        alpha_updated: Time::ZERO,
        last_cut: None,
        rounds: 0,
        growth: ONE,
        rtt_target: Duration::from_nanos((params.get("rtt_target_ms") * 1e6) as u64),
        rtt_transition: params.get("rtt_transition") as u32,
        saw_mark: false,
        in_loss: false,
        before_loss: None,
        srtt: None,
    })
}

/// Windows and α are fractions of 2⁻²⁰ (`CWND_UNIT`, `PRAGUE_ALPHA_BITS`).
const BITS: u32 = 20;
const ONE: u64 = 1 << BITS;
/// g = 1/2⁴ (`PRAGUE_SHIFT_G`).
const SHIFT_G: u32 = 4;
/// Minimum window of reductions (`MIN_CWND`).
const MIN_CWND: u32 = 2;
/// RTTs are scaled in units of 2⁷ µs (`RTT_UNIT`).
const RTT_SHIFT: u32 = 7;
/// IPv4, TCP and the timestamp option: the module's MTU minus the segment.
const HEADERS: u64 = 52;

/// Average fraction of marks, times sixteen so that no remainder is lost.
struct Alpha(u64);

impl Alpha {
    fn new() -> Self {
        Alpha(ONE << SHIFT_G)
    }

    fn get(&self) -> u64 {
        self.0 >> SHIFT_G
    }

    /// `prague_update_alpha`.
    fn observe(&mut self, marked: u64) {
        self.0 = (self.0 - (self.0 >> SHIFT_G) + marked).min(ONE << SHIFT_G);
    }
}

/// `prague_enter_cwr`: reduction by α/2, rounded to the nearest fraction.
fn after_mark(exact: u64, alpha: u64) -> u64 {
    let cut = (u128::from(alpha) * u128::from(exact) + u128::from(ONE)) >> (BITS + 1);
    // α is at most 1, so the reduction is at most half of the window, rounded.
    exact.saturating_sub(cut as u64)
}

/// `prague_enter_loss`.
fn after_loss(exact: u64) -> u64 {
    exact - exact / 2
}

/// Whole segments of a fractional window, rounded up (`prague_frac_cwnd_to_snd_cwnd`).
fn whole(exact: u64) -> u32 {
    u32::try_from(exact.div_ceil(ONE)).unwrap_or(u32::MAX).max(1)
}

/// s in 2⁻²⁰: (RTT/target)² below the target (`prague_rate_scaled_ai_ack_increase`).
fn scaled_growth(srtt: Duration, target: Duration) -> u64 {
    let units = |span: Duration| u128::from(span.as_micros() >> RTT_SHIFT);
    let (rtt, target) = (units(srtt), units(target));
    if rtt == 0 || rtt >= target {
        return ONE;
    }
    let square = target * target;
    // Below one, because the round trip is below the target.
    (((rtt * rtt) << BITS).saturating_add(square / 2) / square) as u64
}

/// A fractional window after growth by `acked` segments.
fn increase(exact: u64, acked: u32, growth: u64) -> u64 {
    let window = u64::from(whole(exact));
    let increase = (u64::from(acked) * growth + window / 2) / window;
    increase.max(u64::from(acked))
}

fn in_segments(exact: u64) -> f64 {
    exact as f64 / ONE as f64
}

fn growth_of(rtt_ms: u64, cwnd: u64) -> f64 {
    let growth = scaled_growth(Duration::from_millis(rtt_ms), Duration::from_millis(25));
    in_segments(increase(cwnd << BITS, 1, growth))
}

struct Prague {
    mss: u32,
    /// The window in use and its threshold.
    window: Window,
    /// The target window, in 2⁻²⁰ segments.
    exact: u64,
    slow_start: SlowStart,
    alpha: Alpha,
    observed: ObservationWindow,
    alpha_updated: Time,
    /// When the window was last reduced for a mark.
    last_cut: Option<Time>,
    /// Rounds of congestion avoidance.
    rounds: u32,
    /// s in 2⁻²⁰.
    growth: u64,
    rtt_target: Duration,
    rtt_transition: u32,
    saw_mark: bool,
    /// Whether losses are being recovered.
    in_loss: bool,
    /// The window, the fractional one and the threshold before the last loss.
    before_loss: Option<(u32, u64, u32)>,
    srtt: Option<Duration>,
}

impl Prague {
    /// `prague_is_rtt_indep`.
    fn is_rtt_independent(&self) -> bool {
        self.rtt_target > Duration::ZERO
            && !self.slow_start.is_active(&self.window)
            && self.rounds >= self.rtt_transition
    }

    /// `prague_ai_ack_increase`.
    fn update_growth(&mut self) {
        self.growth = match self.srtt {
            Some(srtt) if self.rounds >= self.rtt_transition => {
                scaled_growth(srtt, self.rtt_target)
            }
            _ => ONE,
        };
    }

    /// The stack's `may_grow` is false during a reduction; Prague grows then too, if the window is
    /// in use.
    fn may_grow(&self, ack: &Ack, flow: &Flow) -> bool {
        let is_used = flow.pipe.saturating_add(u64::from(self.mss)) > self.cwnd();
        !self.in_loss && (ack.may_grow || (flow.phase == Phase::Cwr && is_used))
    }

    /// Grow for `acked` segments without a mark (`prague_update_cwnd`). Returns whether slow start
    /// used them all.
    fn grow(&mut self, mut acked: u32) -> bool {
        if self.slow_start.is_active(&self.window) {
            acked = self.slow_start.grow(&mut self.window, acked);
            self.exact = u64::from(self.window.cwnd) << BITS;
            if acked == 0 {
                self.update_growth();
                return true;
            }
        }
        self.exact = self.exact.saturating_add(increase(self.exact, acked, self.growth));
        false
    }

    /// Move the window by one segment towards the target.
    fn step(&mut self) {
        let aim = whole(self.exact);
        if self.window.cwnd > aim && self.window.cwnd > MIN_CWND {
            self.window.cwnd -= 1;
            self.window.ssthresh = self.window.cwnd;
            self.update_growth();
        } else if self.window.cwnd < aim {
            self.window.cwnd += 1;
            self.update_growth();
        }
    }

    fn lose(&mut self) {
        self.before_loss = Some((self.window.cwnd, self.exact, self.window.ssthresh));
        self.exact = after_loss(self.exact);
        self.in_loss = true;
        self.update_growth();
    }

    /// End a window of data (`prague_update_alpha`, `prague_new_round`).
    fn end_round(&mut self, flow: &Flow) {
        if self.saw_mark {
            self.alpha.observe(self.observed.share(ONE));
            self.alpha_updated = flow.now;
        }
        self.observed.restart(flow);
        if !self.slow_start.is_active(&self.window) {
            self.rounds = self.rounds.saturating_add(1);
        }
        self.update_growth();
    }

    fn bytes(&self, segments: u32) -> u64 {
        if segments == u32::MAX { u64::MAX } else { u64::from(segments) * u64::from(self.mss) }
    }
}

impl CongestionControl for Prague {
    fn cwnd(&self) -> u64 {
        self.bytes(self.window.cwnd)
    }

    fn ssthresh(&self) -> u64 {
        self.bytes(self.window.ssthresh)
    }

    fn needs(&self) -> Needs {
        Needs { ecn: EcnFeedback::Scalable, ..Needs::default() }
    }

    /// False, as the window falls by one segment per acknowledgement.
    fn answers_loss(&self) -> bool {
        false
    }

    /// `prague_update_pacing_rate`.
    fn pacing_rate(&self) -> Option<Rate> {
        let srtt_s = self.srtt?.as_secs_f64();
        if srtt_s <= 0.0 {
            return None;
        }
        // Losses without growth, as of a slow application, reduce the fraction towards zero. The
        // module uses at least the data in flight, so that its rate does not follow.
        let window = in_segments(self.exact).max(f64::from(self.window.cwnd));
        let bits = window * 8.0 * (u64::from(self.mss) + HEADERS) as f64;
        let gain = if self.window.cwnd < self.window.ssthresh / 2 { 2.0 } else { 1.0 };
        Some(Rate::from_bps((gain * bits / srtt_s).max(1.0) as u64))
    }

    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.srtt = flow.srtt;
        self.observed.count(ack);
        self.slow_start.on_sample(&mut self.window, ack, flow);
        self.saw_mark |= ack.ce > 0;
        let unmarked = segments(ack.delivered.saturating_sub(ack.ce), self.mss);
        let in_slow_start = unmarked > 0 && self.may_grow(ack, flow) && self.grow(unmarked);
        if !in_slow_start {
            self.step();
        }
        let is_due =
            !self.is_rtt_independent() || flow.now.since(self.alpha_updated) >= self.rtt_target;
        if self.observed.is_acknowledged(flow) && is_due {
            self.end_round(flow);
        }
    }

    fn on_congestion(&mut self, signal: Signal, flow: &Flow) {
        if signal != Signal::Ecn {
            self.lose();
        } else {
            let is_too_soon =
                self.last_cut.is_some_and(|last| flow.now.since(last) < self.rtt_target);
            if self.is_rtt_independent() && is_too_soon {
                return;
            }
            self.last_cut = Some(flow.now);
            self.exact = after_mark(self.exact, self.alpha.get());
        }
        self.step();
    }

    fn on_recovered(&mut self, _cwnd: u64, _flow: &Flow) {
        self.in_loss = false;
    }

    fn on_rto(&mut self, first: bool, flow: &Flow) {
        if first {
            self.lose();
        }
        self.window.cwnd = 1;
        self.window.credit = 0;
        self.slow_start.on_rto(flow);
    }

    fn on_spurious(&mut self, _flow: &Flow) {
        if let Some((cwnd, exact, ssthresh)) = self.before_loss.take() {
            self.window.cwnd = self.window.cwnd.max(cwnd);
            self.exact = self.exact.max(exact);
            self.window.ssthresh = self.window.ssthresh.max(ssthresh);
            self.in_loss = false;
        }
    }

    /// Linux does not reduce the window of an algorithm with `cong_control`
    /// (`tcp_slow_start_after_idle_check`).
    fn on_idle(&mut self, _idle: Duration, _rto: Duration, _restart_window: u64, _flow: &Flow) {}
}

#[cfg(test)]
#[path = "prague_tests.rs"]
mod tests;
