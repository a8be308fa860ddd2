//! DCM+: Westwood+'s bandwidth estimate and back-off, with growth and timeout controlled by the
//! ratio of two RTTs, `rateCA`.
//!
//! Source: D. S. A. Khader, "Robust Dynamic Congestion Control Protocol for Mobile Networks (TCP
//! DCM+)", MSc thesis, Al-Quds University, 2020 (chapter 4, appendix B); R. Hamamreh, D. Khader,
//! IJCNS 12, 2019. For every **acknowledgement**, however much it acknowledges, equation 4.2 adds
//! `2·rateCA` to cwnd below a threshold and `2/(rateCA·cwnd)` from it on, where
//! `rateCA = RTT_old/RTT_min` (4.3). A timeout is divided by rateCA (4.5). At a loss
//! `ssthresh = max(2, BWE·RTTmin)` in segments and cwnd falls to it if larger; after a timeout cwnd
//! is 1. Thesis and code say little more, and disagree in the points below.
//!
//! **`reading`** selects the source: 0, chapter 4 with windows in segments (below the threshold the
//! window triples every round trip); 1, the ns-3.29 C++ of appendix B with windows in bytes (2 or 3
//! **bytes** per acknowledgement below the threshold and none from it on, so that only slow start
//! and losses change the window); 2, **frozen**: that code if its RTT_old is never assigned. Then
//! rateCA is 0, and both increments are 0 bytes, as `(uint32_t) (2/0.0)` is 0 on x86-64: ns-3.29's
//! Westwood+ to the byte, but without growth in congestion avoidance. That is an inference; of the
//! rules tried it comes closest to the thesis's runs. Every other switch except `rto_start_ms` is
//! -1 by default, the value of the reading, given after its name as (reading 0, reading 1). Reading
//! 2 ignores all switches.
//!
//! 1. `unit` (0, 1): the increments of equation 4.2 are segments (0), or bytes rounded down (1).
//! 2. `threshold` (0, 1): growth is fast below ssthresh (0), or below the current BWE·RTTmin (1).
//!    `equality` (0, 1): a window equal to the threshold is not below it (0, "<" of 4.2), or is
//!    (1, "<=" of the code and of the prose).
//! 3. `rto_kind` (0, 1): the divided value is the timeout itself, which is reset when it expires
//!    (0), or the minimum timeout, which is never reset (1). In both an algorithm can only set a
//!    lower bound: the timeout is the larger of the value and SRTT + 4·RTTVAR.
//!    `rto_when` (0, 1): divided at each RTT sample (0), or at each call of congestion avoidance,
//!    even if nothing is acknowledged (1).
//! 4. `ratio` (0, 0): rateCA is RTT_old/RTT_min (0, equation and code), never below 1; or
//!    RTT_old/RTT_new (1, the prose, which says "lower than 1 is danger").
//!    `rtt_series` (0, 1): of RTT samples (0), or of smoothed RTTs as everywhere in ns-3.29 (1).
//!    RTT_old is the value before the newest; the code's `m_oldRtt` is not printed.
//! 5. `sign` (0, 0): rateCA as printed (0), so that with RTT_min a growing queue accelerates growth
//!    below the threshold, and with RTT_new from it on; or inverted so that growth falls on both
//!    sides when the RTT rises (1, the intention of the prose).
//!    `rto_rule` (0, 0): the value is divided by rateCA (0, equation 4.5), or multiplied by
//!    RTT_new/RTT_old (1, equation 4.1): a queue makes it shorter or longer.
//! 6. `rto_start_ms` (1000, 1000): the value before the first step. The prose has an initial
//!    timeout of 1 ms; in ns-3.29 that is the clock granularity, and the minimum timeout is 1 s.
//! 7. `estimator` (0, 0): a bandwidth sample per round trip, as in Westwood+, which the text names
//!    (0), or per acknowledgement, as in Westwood, the default of ns-3.29 (1). With ns-3.29's filter
//!    (1) every loss would leave about 2 segments, and reading 1 would stay there; the thesis's
//!    throughputs (table C-1) are those of windows many times larger.
//! 8. `filter` (0, 1): 19/21 of the text, its equation 3.4 and algorithm 3-1 (0), or the sampling
//!    and the 0.9, 0.05, 0.05 of ns-3.29 (1).
//! 9. Algorithms 4-1 and 4-2 are figures, which were not available. `slow_start` (0, 1): below
//!    ssthresh the first line of 4.2 applies (0; an abstract of 2020 says that both phases are
//!    changed), or a segment per acknowledgement, as the code replaces only congestion avoidance
//!    (1). `hold` (0, 0): above ssthresh the window grows (0), or is held at it (1): the text says
//!    that cwnd tracks ssthresh and never exceeds it, but no equation does.
//!
//! `rto_step` (2, 1) is the effect of a division. 0: none, with the stack's own bound, as ns-3.29
//! has no such variable in that class. 1: as written: the quotient in seconds becomes a `Time`,
//! which counts nanoseconds, so that 1 s is 1 ns or 0 after one call and 0 after two. 2: as meant,
//! `1 s/rateCA^calls`. It never rises again while rateCA is at least 1. At most 60 s.
//!
//! Also assumed: marks count as losses; before the first bandwidth sample a loss halves the window;
//! the ratios are bounded to between a millionth and a million.
//!
//! Reading 0 also exists as a congestion control for Linux,
//! `python/fairway/backends/linux/kernel/tcp_dcm_plus.c`, which the Linux backend runs under the
//! same name. The page of that backend lists its differences.

mod rate;
mod rule;
mod switches;
mod timeout;

pub(super) use self::rule::Dcm;
pub(super) use self::switches::{RATIO, RTO_RULE, RTO_STEP, SIGN, SLOW_START, Switches};

use self::switches::{
    EQUALITY, ESTIMATOR, FILTER, HOLD, READING, RTO_KIND, RTO_START, RTO_WHEN, RTT_SERIES,
    THRESHOLD, UNIT,
};
use super::westwood::ns3::{Protocol, Westwood};
use crate::ns3::Socket;
use crate::probe::{Probe, Start};
use crate::{
    Algorithm, CongestionControl, Family, Init, Param, Params, Rule, SlowStart, Variant, Vector,
    Window, Windowed,
};

const PARAMS: &[Param] = &[
    READING, UNIT, THRESHOLD, EQUALITY, RTO_STEP, RTO_KIND, RTO_WHEN, RTO_RULE, RTO_START, RATIO,
    RTT_SERIES, SIGN, ESTIMATOR, FILTER, SLOW_START, HOLD,
];

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "dcm+",
    title: "TCP DCM+",
    summary: "Westwood+ whose growth and timeout follow the ratio of round-trip times.",
    family: Family::Wireless,
    signal: "loss + rate of acknowledgements + delay",
    year: 2019,
    source: "Khader, MSc thesis, Al-Quds University, 2020; Hamamreh and Khader, IJCNS 12, 2019",
    variants: &[Variant::Paper],
    params: PARAMS,
    vectors: &[
        Vector::new(
            "reading 0, rateCA = 1, W = 10 below ssthresh, three rounds: 10 · 3 · 3 · 3 = 270",
            270.0,
            || after_rounds(0.0, 3),
        ),
        Vector::new(
            "reading 1, the same rounds in slow start: 10 · 2 · 2 · 2 = 80",
            80.0,
            || after_rounds(1.0, 3),
        ),
        Vector::new(
            "reading 0, rateCA = 1.5, W = 100 at ssthresh, a segment: 2/(1.5 · 100)",
            2.0 / 150.0,
            || with_rate(Switches::EQUATIONS, 1.5).increment(100.0, false),
        ),
        Vector::new("and a round of them: √(100² + 2 · 100 · 2/1.5) = 101.32", 101.32, || {
            after_acks(Switches::EQUATIONS, 1.5, 100)
        })
        .within(0.01),
        Vector::new("reading 1, below, rateCA = 1.49: ⌊2.98⌋ = 2 bytes", 2.0, || {
            with_rate(Switches::CODE, 1.49).increment(144_000.0, true)
        }),
        Vector::new("rateCA = 1.5: 3 bytes", 3.0, || {
            with_rate(Switches::CODE, 1.5).increment(144_000.0, true)
        }),
        Vector::new("rateCA = 2.7: ⌊5.4⌋ = 5 bytes", 5.0, || {
            with_rate(Switches::CODE, 2.7).increment(144_000.0, true)
        }),
        Vector::new("not below, 144 000 bytes: ⌊2/144 000⌋ = 0", 0.0, || {
            with_rate(Switches::CODE, 1.0).increment(144_000.0, false)
        }),
        Vector::new(
            "reading 1, rateCA = 1.2, 1 s, a call: 1/1.2 = 0.83 ns, rounded 1",
            1.0,
            || smallest_timeout_ns(Switches::CODE, 1.2, 1),
        ),
        Vector::new("and another: 10⁻⁹/1.2 ns, rounded 0", 0.0, || {
            smallest_timeout_ns(Switches::CODE, 1.2, 2)
        }),
        Vector::new(
            "reading 0, rateCA = 1.1, 24 samples: 1 s/1.1²⁴ = 0.101526 s",
            101_526_000.0,
            || smallest_timeout_ns(Switches::EQUATIONS, 1.1, 24),
        )
        .within(500.0),
        Vector::new("reading 2, W = 10 at ssthresh, three rounds: 10", 10.0, || {
            Probe::new("dcm+", Variant::Paper, &Start::avoidance(10, 100).with("reading", 2.0))
                .rounds(3)
                .window()
        }),
        Vector::new(
            "steady 20 per round, no queue: a loss keeps BWE·RTTmin = 20",
            20.0,
            kept_of_twenty,
        ),
    ],
    build,
};

fn after_rounds(reading: f64, rounds: u32) -> f64 {
    Probe::new("dcm+", Variant::Paper, &Start::slow_start(10, 100).with("reading", reading))
        .rounds(rounds)
        .window()
}

fn kept_of_twenty() -> f64 {
    let mut probe = Probe::new("dcm+", Variant::Paper, &Start::avoidance(20, 100));
    probe.may_grow = false;
    probe.rounds(3);
    probe.loss();
    probe.cwnd() as f64
}

/// A rule that has just seen round trips with this rateCA.
fn with_rate(switches: Switches, rate_ca: f64) -> Dcm {
    let mut rule = Dcm::new(switches);
    for rtt_s in [0.1, 0.1 * rate_ca, 0.1 * rate_ca] {
        rule.rtts.sample(rtt_s);
    }
    rule
}

/// The window in segments after as many acknowledgements above the threshold.
fn after_acks(switches: Switches, rate_ca: f64, cwnd: u32) -> f64 {
    let rule = with_rate(switches, rate_ca);
    let mut window = Window::new(cwnd);
    for _ in 0..cwnd {
        window.add(rule.increment(window.exact(), false));
    }
    window.exact()
}

fn smallest_timeout_ns(switches: Switches, rate_ca: f64, steps: u32) -> f64 {
    let mut rule = with_rate(switches, rate_ca);
    for _ in 0..steps {
        rule.timeout.on_rtt(&rule.rtts, rate_ca);
        rule.timeout.on_call(&rule.rtts, rate_ca);
    }
    rule.min_rto().map_or(f64::NAN, |timeout| timeout.as_nanos() as f64)
}

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let reading = match params.get(READING.name) as u8 {
        0 => Switches::EQUATIONS,
        1 => Switches::CODE,
        _ => {
            let ops = Westwood::new(Protocol::WestwoodPlus, true).frozen();
            return Box::new(Socket::new(ops, init));
        }
    };
    let rule = Dcm::new(reading.with(PARAMS, params));
    Box::new(Windowed::new(rule, SlowStart::of(variant), init))
}

#[cfg(test)]
mod tests;
