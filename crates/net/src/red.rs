//! Random early detection.
//!
//! Source: S. Floyd and V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM ToN 1(4), 1993, figure 2; the gentle form: S. Floyd, "Recommendation on using the
//! 'gentle_' variant of RED", 2000; the adaptive form: see [`AdaptiveRed`]; in bytes: ns-2.35
//! (`queue/red.cc`); as Linux does it: [`RedVariant::Linux`].

mod adaptive;
mod idle;
mod parameters;
#[cfg(test)]
mod tests;

use fairway_units::random::Stream;
use fairway_units::{Bytes, Duration, Time};

pub use adaptive::AdaptiveRed;
pub use parameters::{RouterOsRed, automatic_thresholds, automatic_weight, weight_of_burst};

use crate::{Admission, Backlog};

/// Parameters of RED. The default is that of the paper (section 8: w_q 0.002, max_p 0.1 in the later
/// recommendation, thresholds of 5 and 15 packets) with the gentle form.
#[derive(Clone, Debug, PartialEq)]
pub struct RedConfig {
    /// Average queue, in packets, below which nothing is dropped.
    pub min_threshold: f64,
    /// Average queue, in packets, at which the drop probability reaches its maximum.
    pub max_threshold: f64,
    /// That maximum; where it adapts itself, what it is at first.
    pub max_probability: f64,
    /// Weight w_q of a new sample of the queue in its average.
    pub weight: f64,
    /// Whether the probability rises from the maximum to 1 between one and two `max_threshold`,
    /// rather than jumping to 1.
    pub gentle: bool,
    /// Whether packets that allow it are marked where they would be dropped early.
    pub ecn: bool,
    /// Whether they are also marked rather than dropped where the probability is 1. Linux does so
    /// unless told `harddrop`; ns-2 does not.
    pub ecn_beyond_max: bool,
    /// Time a typical packet takes to leave, by which the average decays while the link is idle.
    pub typical_transmission: Duration,
    /// What the average counts.
    pub measure: RedMeasure,
    /// Whether a packet's probability is in proportion to its size, and what passes since the last
    /// drop is counted in bytes too: one of `mean_packet` has the probability of the formula.
    pub by_size: bool,
    /// The size that counts as one packet where bytes are measured, and where `by_size`.
    pub mean_packet: Bytes,
    /// Whether and how the maximal probability adapts itself.
    pub adaptive: Option<AdaptiveRed>,
    /// Whose RED.
    pub variant: RedVariant,
}

impl Default for RedConfig {
    fn default() -> Self {
        RedConfig {
            // ns-2.35, tcl/lib/ns-default.tcl: the values before the automatic ones of 2001.
            min_threshold: 5.0,
            max_threshold: 15.0,
            max_probability: 0.1,
            weight: 0.002,
            gentle: true,
            ecn: false,
            ecn_beyond_max: false,
            // 1000 bytes at 10 Mbit/s: `tc red` (iproute2, tc/q_red.c) where no bandwidth is given.
            typical_transmission: Duration::from_micros(800),
            measure: RedMeasure::Packets,
            by_size: false,
            // ns-2's is 500 bytes; tc-red(8) recommends this.
            mean_packet: Bytes::new(1000),
            adaptive: None,
            variant: RedVariant::Ns2,
        }
    }
}

/// What the average of a RED queue counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedMeasure {
    /// Packets.
    #[default]
    Packets,
    /// Bytes, in units of the mean packet (ns-2: `queue_in_bytes_`; Linux always).
    Bytes,
}

/// Where implementations of RED differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedVariant {
    /// The paper's figure 2, as ns-2.35 has it (`queue/red.cc`): a random number for each packet, and
    /// a packet that finds the link idle is a sample too.
    #[default]
    Ns2,
    /// Linux (`include/net/red.h`), in real numbers instead of its fixed-point ones: the paper's
    /// figure 17, in which one random number decides how many packets pass until the next drop; the
    /// first packet beyond the lower threshold always passes; a packet that finds the link idle is
    /// no sample; the average decays by the table of `tc`; no room is no early drop.
    Linux,
}

/// The state of one RED queue.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    config: RedConfig,
    average: f64,
    /// The maximal probability, which may adapt itself.
    max_probability: f64,
    next_adaptation: Time,
    /// Packets admitted since the last early drop, in mean packets if `by_size`; −1 below the lower
    /// threshold.
    count: f64,
    /// Linux's random number, drawn at the last early drop, over the maximal probability of that
    /// time (`red_random`).
    drawn: f64,
    /// Linux's table.
    idle_decay: Option<idle::IdleDecay>,
    stream: Stream,
}

impl Red {
    pub(crate) fn new(config: RedConfig, stream: Stream) -> Self {
        let first = config.adaptive.as_ref().map_or(Duration::ZERO, |adaptive| adaptive.interval);
        Red {
            average: 0.0,
            max_probability: config.max_probability,
            next_adaptation: Time::ZERO + first,
            count: -1.0,
            drawn: 0.0,
            idle_decay: (config.variant == RedVariant::Linux)
                .then(|| idle::IdleDecay::new(config.weight, config.typical_transmission)),
            config,
            stream,
        }
    }

    pub(crate) fn admit(
        &mut self,
        is_ecn_capable: bool,
        fits: bool,
        backlog: &Backlog,
        now: Time,
    ) -> Admission {
        if self.config.adaptive.is_some() {
            self.adapt_until(now, backlog.idle_since);
        }
        let sample = match self.config.measure {
            RedMeasure::Packets => backlog.packets as f64,
            RedMeasure::Bytes => self.in_mean_packets(backlog.bytes),
        };
        self.update_average(sample, backlog.idle_since, now);
        let early = self.wants_early_drop(backlog.arriving_bytes);
        let may_mark = self.config.ecn && is_ecn_capable;
        if !fits {
            if self.config.variant == RedVariant::Ns2 {
                self.count = 0.0;
            }
            return Admission::Drop;
        }
        match early {
            Early::Keep => Admission::Enqueue,
            Early::Signal if may_mark => Admission::Mark,
            Early::Force if may_mark && self.config.ecn_beyond_max => Admission::Mark,
            Early::Signal | Early::Force => Admission::Drop,
        }
    }

    fn in_mean_packets(&self, bytes: u64) -> f64 {
        bytes as f64 / self.config.mean_packet.get().max(1) as f64
    }

    /// Figure 2 of the paper. In ns-2.35 (`queue/red.cc`, `estimator`) the arrival after an idle
    /// time counts as a sample too; in Linux (`red_calc_qavg`) it does not.
    fn update_average(&mut self, sample: f64, idle_since: Option<Time>, now: Time) {
        if let Some(idle_since) = idle_since {
            self.average = self.decayed(idle_since, now);
            if self.config.variant == RedVariant::Linux {
                return;
            }
        }
        self.average += self.config.weight * (sample - self.average);
    }

    /// The average `now` if nothing has arrived and the link has been idle since then.
    fn decayed(&self, idle_since: Time, now: Time) -> f64 {
        let idle = now.since(idle_since);
        if let Some(decay) = &self.idle_decay {
            return decay.after(idle, self.average);
        }
        let typical = self.config.typical_transmission.as_nanos().max(1) as f64;
        let packets = idle.as_nanos() as f64 / typical;
        self.average * libm::pow(1.0 - self.config.weight, packets)
    }

    fn wants_early_drop(&mut self, arriving_bytes: u64) -> Early {
        let c = &self.config;
        let max_probability = self.max_probability;
        let probability = if self.average < c.min_threshold {
            self.count = -1.0;
            return Early::Keep;
        } else if self.average < c.max_threshold {
            max_probability * (self.average - c.min_threshold) / (c.max_threshold - c.min_threshold)
        } else if c.gentle && self.average < 2.0 * c.max_threshold {
            max_probability
                + (1.0 - max_probability) * (self.average - c.max_threshold) / c.max_threshold
        } else {
            self.count = match c.variant {
                RedVariant::Ns2 => 0.0,
                RedVariant::Linux => -1.0,
            };
            return Early::Force;
        };
        let size = if c.by_size { self.in_mean_packets(arriving_bytes) } else { 1.0 };
        let drops = match c.variant {
            RedVariant::Ns2 => self.draws_each_time(probability, size),
            RedVariant::Linux => self.draws_once(probability, size),
        };
        if drops {
            self.count = 0.0;
            Early::Signal
        } else {
            Early::Keep
        }
    }

    /// Spreads drops evenly: uniform rather than geometric gaps (section 7 of the paper).
    fn draws_each_time(&mut self, probability: f64, size: f64) -> bool {
        self.count = if self.count < 0.0 { self.count + 1.0 } else { self.count + size };
        let spread = 1.0 - self.count * probability;
        spread <= 0.0 || self.stream.unit() < probability / spread * size
    }

    /// The same from one random number for each gap (figure 17; Linux, `red_action`).
    fn draws_once(&mut self, probability: f64, size: f64) -> bool {
        let first = self.count < 0.0;
        self.count = if first { 0.0 } else { self.count + size };
        let drops = !first && probability / self.max_probability * self.count >= self.drawn;
        if first || drops {
            self.drawn = self.stream.unit() / self.max_probability;
        }
        drops
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Early {
    Keep,
    Signal,
    Force,
}
