//! TCP-NV: Vegas for data centres. It computes the window that the measured rate would need with
//! empty queues, and allows at most ten segments above that.
//!
//! Source: L. Brakmo, "TCP-NV: An Update to TCP-Vegas" (2010), as in Linux 6.1
//! (`net/ipv4/tcp_nv.c`).
//!
//! Each acknowledgement gives an RTT, averaged with weight ½, and a rate `F/RTT`, where F is the
//! data delivered since the acknowledged segment was sent. The minimum of the average RTT is that
//! of the last 5 to 10 s. Once per round, with the maximum rate of the rounds since the last
//! decision, `target = rate · min_rtt/mss` and `max = target + pad`, pad 10:
//!
//! - `W > max` (two rounds and 60 samples; in the first slow start 30): growth stops, `S = max`,
//!   and `W −= max(2, ⌊(W − max) · 38/128⌋)`, or `W = max` if that is at most two away.
//! - `W ≤ max − 2` (20 samples): growth is allowed.
//! - in between: no change.
//!
//! Growth is slow start, then a segment per `max(4, W)` delivered; after a timeout, per `W · 2`,
//! which another timeout doubles and nine decisions for growth halve. A loss or a mark leaves
//! 819/1024 of the window, stops growth, and resets all measurements except the next minimum. If a
//! whole round is acknowledged at once, as with offloading, growth is allowed until there are more
//! acknowledgements.
//!
//! The module can get the base RTT from a BPF program; here it is `base_rtt_us`. According to its
//! author it is for data centres where every sender runs it.

use fairway_units::random::Stream;

use crate::linux::{HZ, jiffies};
use crate::{
    Ack, Algorithm, CongestionControl, Family, Flow, Init, Needs, Param, Params, Phase, Rule,
    Signal, SlowStart, Variant, Vector, Window, Windowed,
    probe::{Probe, Start},
};

pub(super) const ALGORITHM: Algorithm = Algorithm {
    name: "nv",
    title: "TCP-NV",
    summary: "Keeps at most ten segments above what the measured rate needs without queues.",
    family: Family::Delay,
    signal: "delivery rate + delay + loss",
    year: 2010,
    source: "Brakmo, Linux Plumbers Conference 2010; Linux 6.1 tcp_nv.c",
    variants: &[Variant::Linux6_1],
    params: &[
        Param::new("pad", "segments allowed in queues (nv_pad)", 10.0, 2.0, 10_000.0).whole(),
        Param::new(
            "reset_period_s",
            "period of the minimum-RTT filter, seconds (nv_reset_period)",
            5.0,
            1.0,
            1000.0,
        )
        .whole(),
        Param::new(
            "min_cwnd",
            "minimum window under delay, segments (nv_min_cwnd)",
            2.0,
            2.0,
            1000.0,
        )
        .whole(),
        Param::new("base_rtt_us", "base RTT, µs; 0 if unknown", 0.0, 0.0, 1e9).whole(),
    ],
    vectors: &[
        Vector::new("100 segments of 1448 bytes in 1000 µs, in 100 bit/s", 11_584_000.0, || {
            f64::from(delivery_rate(144_800, 1_000))
        }),
        Vector::new(
            "that rate at a smallest round trip of 800 µs: 100 · 0.8 segments",
            80.0,
            || f64::from(target(11_584_000, 800, 1448)),
        ),
        Vector::new("W = 100, max = 90: 100 − max(2, ⌊10 · 38/128⌋)", 98.0, || {
            f64::from(reduced(100, 90))
        }),
        Vector::new("W = 200, max = 90: 200 − ⌊110 · 38/128⌋", 168.0, || {
            f64::from(reduced(200, 90))
        }),
        Vector::new("W = 92, max = 90: two away", 90.0, || f64::from(reduced(92, 90))),
        Vector::new("W = 100 at a loss: ⌊81 900/1024⌋", 79.0, || {
            Probe::new("nv", Variant::Linux6_1, &Start::avoidance(100, 10)).loss().window()
        }),
        Vector::new("W = 10 after a timeout: a segment for every 20", 20.0, || {
            f64::from(segments_per_increase(10, -1))
        }),
    ],
    build,
};

fn build(variant: Variant, params: &Params, init: &Init) -> Box<dyn CongestionControl> {
    let rule = Nv {
        pad: params.get("pad") as u32,
        reset_period: params.get("reset_period_s") as u64,
        min_cwnd: params.get("min_cwnd") as u32,
        base_rtt_us: params.get("base_rtt_us") as u64,
        ..Nv::new(init.random("nv"))
    };
    Box::new(Windowed::new(rule, SlowStart::of(variant), init))
}

/// `NV_INIT_RTT`.
const NO_RTT: u64 = u32::MAX as u64;
/// `nv_pad_buffer`: distance to the limit within which the window does not grow.
const PAD_BUFFER: u32 = 2;
/// `nv_cong_dec_mult`: 30 % in 1/128.
const DECREASE: u64 = 30 * 128 / 100;
/// `nv_loss_dec_factor`: 80 % in 1/1024.
const LOSS_FACTOR: u64 = 819;
/// `nv_rtt_factor`: weight of a new round-trip time in 1/256.
const RTT_WEIGHT: u64 = 128;
/// `nv_dec_eval_min_calls`, `nv_inc_eval_min_calls`, `nv_ssthresh_eval_min_calls`: samples for a
/// decision to shrink, to grow, and to end the first slow start.
const SAMPLES_TO_SHRINK: u8 = 60;
const SAMPLES_TO_GROW: u8 = 20;
const SAMPLES_TO_LEAVE: u8 = 30;
/// `nv_rtt_min_cnt`: rounds before the window is reduced.
const MIN_ROUNDS: u8 = 2;
/// `nv_stop_rtt_cnt`: rounds without enough samples after which growth stops.
const ROUNDS_WITHOUT_DECISION: u8 = 10;
/// `nv_cwnd_growth_rate_neg`: decisions for growth after which slow growth doubles.
const CLEAN_DECISIONS: u32 = 8;
/// `tcpnv_state`: growth is slowed to at most 1/256.
const SLOWEST_GROWTH: i32 = -8;
/// `NV_MIN_CWND`, `NV_MIN_CWND_GROW`, `NV_TSO_CWND_BOUND`: windows in segments at which
/// acknowledgements of many segments still give more than one sample per round.
const SMALLEST_FOR_SAMPLES: u32 = 4;
const SAMPLES_STEP: u32 = 2;
const LARGEST_FOR_SAMPLES: u32 = 81;
/// `tcpnv_init`: first period of the minimum RTT, ticks.
const FIRST_PERIOD: u64 = 2 * HZ;

/// Rate of `bytes` per RTT, in units of 100 bit/s.
fn delivery_rate(bytes: u64, rtt_us: u64) -> u32 {
    (bytes.saturating_mul(80_000) / rtt_us.max(1)) as u32
}

/// `cwnd_by_slope`: the window for this rate and RTT, segments.
fn target(max_rate: u32, rtt_us: u64, mss: u32) -> u32 {
    (u64::from(max_rate) * rtt_us / (80_000 * u64::from(mss.max(1)))) as u32
}

/// The window, above `max`, after the decision to reduce it.
fn reduced(cwnd: u32, max: u32) -> u32 {
    let gap = cwnd - max;
    if gap <= 2 { max } else { cwnd - ((u64::from(gap) * DECREASE) >> 7).max(2) as u32 }
}

/// Segments delivered per increase of the window by one.
fn segments_per_increase(cwnd: u32, growth_factor: i32) -> u32 {
    if growth_factor < 0 {
        cwnd.saturating_mul(1 << growth_factor.unsigned_abs())
    } else {
        (cwnd >> growth_factor).max(4)
    }
}

/// State of the module; RTTs in µs, sequence numbers in bytes.
struct Nv {
    pad: u32,
    /// Seconds.
    reset_period: u64,
    min_cwnd: u32,
    base_rtt_us: u64,
    random: Stream,
    may_grow: bool,
    /// Whether measurements restart when the phase is open again.
    reset: bool,
    /// If negative, growth is halved that many times.
    growth_factor: i32,
    /// Average RTT; 0 before the first sample.
    last_rtt_us: u64,
    min_rtt_us: u64,
    next_min_rtt_us: u64,
    /// Tick at which the next minimum replaces this one.
    min_rtt_until: u64,
    /// Since the last decision, in 100 bit/s.
    max_rate: u32,
    samples: u8,
    /// Rounds since the last decision.
    rounds: u8,
    round_end: u64,
    last_snd_una: u64,
    enough_for_samples: u32,
    /// Decisions for growth in a row.
    clean_decisions: u32,
}

impl Nv {
    fn new(random: Stream) -> Self {
        Nv {
            pad: 10,
            reset_period: 5,
            min_cwnd: 2,
            base_rtt_us: 0,
            random,
            may_grow: true,
            reset: true,
            growth_factor: 0,
            last_rtt_us: 0,
            min_rtt_us: NO_RTT,
            next_min_rtt_us: NO_RTT,
            min_rtt_until: FIRST_PERIOD,
            max_rate: 0,
            samples: 0,
            rounds: 0,
            round_end: 0,
            last_snd_una: 0,
            enough_for_samples: SMALLEST_FOR_SAMPLES,
            clean_decisions: 0,
        }
    }

    /// `tcpnv_reset`.
    fn begin_anew(&mut self, snd_una: u64) {
        self.reset = false;
        self.clean_decisions = 0;
        self.rounds = 0;
        self.last_rtt_us = 0;
        self.max_rate = 0;
        self.round_end = snd_una;
        self.samples = 0;
        self.last_snd_una = snd_una;
    }

    fn average(&mut self, rtt_us: u64) -> u64 {
        let average = if self.last_rtt_us > 0 {
            (rtt_us * RTT_WEIGHT + self.last_rtt_us * (256 - RTT_WEIGHT)) >> 8
        } else {
            self.min_rtt_us = rtt_us << 1;
            rtt_us
        };
        self.last_rtt_us = average;
        average
    }

    /// `nv_get_bounded_rtt`: bounded to between 80 % and 100 % of the base RTT, if known.
    fn bounded(&self, rtt_us: u64) -> u64 {
        let base = self.base_rtt_us;
        if base == 0 { rtt_us } else { rtt_us.clamp((base * 205) >> 8, base) }
    }

    fn measure_min_rtt(&mut self, rtt_us: u64, now: u64) {
        self.min_rtt_us = self.min_rtt_us.min(rtt_us);
        self.next_min_rtt_us = self.next_min_rtt_us.min(rtt_us);
        if now >= self.min_rtt_until {
            self.min_rtt_us = self.next_min_rtt_us;
            self.next_min_rtt_us = NO_RTT;
            // ¾ to 5/4 of the period.
            let jitter = 384 + u64::from(self.random.bits32() & 0xff);
            self.min_rtt_until = now + ((self.reset_period * jitter * HZ) >> 9);
            self.enough_for_samples = (self.enough_for_samples / 2).max(SMALLEST_FOR_SAMPLES);
        }
    }

    /// The end of a round.
    fn decide(&mut self, window: &mut Window, bytes_acked: u64, flow: &Flow) {
        let mss = flow.mss.max(1);
        self.round_end = flow.snd_nxt;
        self.rounds = self.rounds.saturating_add(1);
        let enough = u64::from(self.enough_for_samples - 1) * u64::from(mss);
        if self.samples == 1
            && bytes_acked >= enough
            && self.enough_for_samples < LARGEST_FOR_SAMPLES
        {
            self.enough_for_samples =
                (self.enough_for_samples + SAMPLES_STEP).min(LARGEST_FOR_SAMPLES);
            self.round_end += u64::from(self.enough_for_samples) * u64::from(mss);
            self.samples = 0;
            self.may_grow = true;
            return;
        }
        let max = target(self.max_rate, self.min_rtt_us, mss).saturating_add(self.pad);
        let has_decided = if window.cwnd > max {
            self.shrink(window, max)
        } else if window.cwnd <= max - PAD_BUFFER {
            self.allow_growth()
        } else {
            false
        };
        if has_decided {
            self.samples = 0;
            self.rounds = 0;
            self.max_rate = 0;
            window.cwnd = window.cwnd.max(self.min_cwnd);
        }
    }

    /// Reduce the window if there are enough samples. Returns whether there were.
    fn shrink(&mut self, window: &mut Window, max: u32) -> bool {
        if self.rounds < MIN_ROUNDS {
            return false;
        }
        if window.ssthresh == u32::MAX {
            if self.samples < SAMPLES_TO_LEAVE {
                return false;
            }
        } else if self.samples < SAMPLES_TO_SHRINK {
            self.may_grow &= self.rounds <= ROUNDS_WITHOUT_DECISION;
            return false;
        }
        self.may_grow = false;
        window.ssthresh = max;
        window.cwnd = reduced(window.cwnd, max);
        self.growth_factor = self.growth_factor.min(0);
        self.clean_decisions = 0;
        true
    }

    /// Allow growth if there are enough samples. Returns whether there were.
    fn allow_growth(&mut self) -> bool {
        if self.samples < SAMPLES_TO_GROW {
            return false;
        }
        self.may_grow = true;
        self.clean_decisions += 1;
        if self.growth_factor < 0 && self.clean_decisions > CLEAN_DECISIONS {
            self.growth_factor += 1;
            self.clean_decisions = 0;
        }
        true
    }
}

impl Rule for Nv {
    fn needs(&self) -> Needs {
        Needs { rate_samples: true, ..Needs::default() }
    }

    fn may_grow(&self) -> bool {
        self.may_grow
    }

    fn growth(&mut self, window: &mut Window, acked: u32, _ack: &Ack, _flow: &Flow) {
        window.additive_increase(segments_per_increase(window.cwnd, self.growth_factor), acked);
    }

    fn backoff(&mut self, window: &Window, _signal: Signal, _flow: &Flow) -> u32 {
        ((u64::from(window.cwnd) * LOSS_FACTOR) >> 10) as u32
    }

    fn on_established(&mut self, _window: &mut Window, flow: &Flow) {
        self.min_rtt_until = jiffies(flow) + FIRST_PERIOD;
    }

    /// `tcpnv_acked`.
    fn on_sample(&mut self, window: &mut Window, ack: &Ack, flow: &Flow) {
        let now = jiffies(flow);
        if self.reset && flow.phase == Phase::Open {
            self.begin_anew(flow.snd_una.saturating_sub(ack.acked));
        }
        let (Some(rtt), Phase::Open | Phase::Disorder) = (ack.rtt, flow.phase) else { return };
        let bytes_acked = flow.snd_una.saturating_sub(self.last_snd_una);
        self.last_snd_una = flow.snd_una;
        // `tcp_clean_rtx_queue`: delivered since the acknowledged segment was sent.
        let Some(sample) = ack.rate else { return };
        let delivered = flow.delivered.saturating_sub(sample.prior_delivered);
        if delivered == 0 {
            return;
        }
        let rtt_us = self.average(rtt.as_micros());
        self.max_rate = self.max_rate.max(delivery_rate(delivered, rtt_us));
        self.samples = self.samples.saturating_add(1);
        self.measure_min_rtt(self.bounded(rtt_us), now);
        if flow.snd_una > self.round_end {
            self.decide(window, bytes_acked, flow);
        }
    }

    fn on_congestion(&mut self, _flow: &Flow) {
        self.reset = true;
        self.may_grow = false;
    }

    fn on_rto(&mut self, _flow: &Flow) {
        self.reset = true;
        self.may_grow = false;
        self.growth_factor = (self.growth_factor.min(0) - 1).max(SLOWEST_GROWTH);
    }
}

#[cfg(test)]
#[path = "nv_tests.rs"]
mod tests;
