//! Two queues side by side, one for low latency (L4S) and one for the rest, coupled so that a flow
//! of one gets about the throughput of a flow of the other.
//!
//! Sources: RFC 9332, appendix A above all; Linux 6.17 `net/sched/sch_dualpi2.c`, whose structure
//! and defaults these are. Probabilities are floating-point numbers, as in the RFC: only random
//! decisions follow from them. Linux's integers make its weights 0.05 % less than they are set to.

use fairway_units::random::Stream;
use fairway_units::{Duration, Time};

use super::codel::{ETHERNET_MTU_BYTES, mark};
use super::fifo::Fifo;
use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::{Ecn, Packet};

mod low_latency;

use low_latency::LowLatencyQueue;

/// When a packet of low latency is marked by what its own queue does to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LowLatencyMarks {
    /// If it has waited for longer than this (Linux's `step_thresh`).
    StepTime(Duration),
    /// If more packets than this wait behind it (Linux's `step_packets`).
    StepPackets(u64),
    /// With a probability that rises from 0 to 1 over `range` from a wait of `from` (RFC 9332
    /// appendix A.1: minTh 800 µs, range 400 µs).
    Ramp {
        /// Longest wait without marks.
        from: Duration,
        /// From there to a probability of one.
        range: Duration,
    },
}

/// Which queue is served while packets wait in both (RFC 9332 appendix A.1, scheduler()).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DualScheduler {
    /// Weighted round robin by bytes; the classic queue has this many percent (Linux's
    /// `c_protection`).
    Weighted {
        /// Share of the classic queue in percent.
        classic_percent: u8,
    },
    /// The packet that has waited longest, if those of low latency are taken to have waited for so
    /// much longer: twice the target in the draft implementations of DualPI2.
    TimeShifted {
        /// By how much.
        shift: Duration,
    },
}

/// Parameters of DualPI2; the defaults are those of Linux (`dualpi2_reset_default`).
#[derive(Clone, Debug, PartialEq)]
pub struct DualPi2Config {
    /// Delay of the classic queue that the controller aims at.
    pub target: Duration,
    /// Time between two updates of the probability.
    pub update_interval: Duration,
    /// Weight of the difference from the target, per second: 0.16, which is 41/256 to Linux.
    pub alpha_hz: f64,
    /// Weight of the delay's growth since the last update, per second: 3.2, or 819/256.
    pub beta_hz: f64,
    /// How many times the base probability packets of low latency are marked with (k).
    pub coupling: f64,
    /// Packets that may wait in both queues; more are dropped on arrival.
    pub limit_packets: u64,
    /// Marks by the queue of low latency itself.
    pub low_latency_marks: LowLatencyMarks,
    /// Packets that must wait there when a packet arrives for these to apply to it (Linux's
    /// `min_qlen_step`).
    pub min_packets_for_marks: u64,
    /// Which queue is served.
    pub scheduler: DualScheduler,
    /// Whether ECT(0) is taken for low latency too (Linux's `any_ect`), as data centres may want.
    pub any_ect: bool,
    /// Whether the controller decides on packets as they arrive, rather than as they leave.
    pub drop_early: bool,
    /// Whether packets of low latency are dropped as often as others when marks no longer help;
    /// otherwise the delay grows until the limit is reached.
    pub drop_on_overload: bool,
    /// The largest packet. The controller lets all pass while less than two of it wait.
    pub mtu_bytes: u32,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        DualPi2Config {
            target: Duration::from_millis(15),
            update_interval: Duration::from_millis(16),
            alpha_hz: 41.0 / 256.0,
            beta_hz: 819.0 / 256.0,
            coupling: 2.0,
            limit_packets: 10_000,
            low_latency_marks: LowLatencyMarks::StepTime(Duration::from_millis(1)),
            min_packets_for_marks: 0,
            scheduler: DualScheduler::Weighted { classic_percent: 10 },
            any_ect: false,
            drop_early: false,
            drop_on_overload: true,
            mtu_bytes: ETHERNET_MTU_BYTES,
        }
    }
}

impl DualPi2Config {
    /// Highest base probability.
    fn most(&self) -> f64 {
        if self.drop_on_overload { 1.0 } else { f64::min(1.0, 1.0 / self.coupling) }
    }
}

/// The base probability p′ and its controller (`calculate_probability`).
#[derive(Clone, Copy, Debug, PartialEq)]
struct Controller {
    probability: f64,
    /// Delay at the last update in seconds.
    delay_before: f64,
    updates: u64,
}

impl Controller {
    fn update(&mut self, config: &DualPi2Config, delay: f64) {
        let delta = config.alpha_hz * (delay - config.target.as_secs_f64())
            + config.beta_hz * (delay - self.delay_before);
        self.delay_before = delay;
        self.probability = (self.probability + delta).clamp(0.0, config.most());
    }
}

/// DualPI2.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    config: DualPi2Config,
    controller: Controller,
    low_latency: LowLatencyQueue<P>,
    classic: Fifo<P>,
    /// Whose turn it is in the weighted round robin: the classic queue's above zero.
    credit: i64,
    stream: Stream,
}

/// What becomes of a packet.
enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl<P> DualPi2<P> {
    /// Empty queues; `stream` feeds the random decisions.
    pub fn new(config: &DualPi2Config, stream: Stream) -> Self {
        let mut config = config.clone();
        // The coupling divides.
        config.coupling = config.coupling.max(f64::MIN_POSITIVE);
        let mut dualpi2 = DualPi2 {
            config,
            controller: Controller { probability: 0.0, delay_before: 0.0, updates: 0 },
            low_latency: LowLatencyQueue::default(),
            classic: Fifo::default(),
            credit: 0,
            stream,
        };
        dualpi2.reset_credit();
        dualpi2
    }

    /// Weights of the two queues in percent.
    fn weights(&self) -> (i64, i64) {
        let DualScheduler::Weighted { classic_percent } = self.config.scheduler else {
            return (0, 0);
        };
        let classic = i64::from(classic_percent.min(100));
        (classic, 100 - classic)
    }

    /// As after an idle time (`dualpi2_calculate_c_protection`).
    fn reset_credit(&mut self) {
        let (classic, low_latency) = self.weights();
        self.credit = i64::from(self.config.mtu_bytes) * (classic - low_latency);
    }

    fn backlog(&self) -> Waiting {
        let (low_latency, classic) = (self.low_latency.waiting(), self.classic.waiting());
        Waiting {
            packets: low_latency.packets + classic.packets,
            bytes: low_latency.bytes + classic.bytes,
        }
    }

    /// Make the updates that were due until `now`. The heads of the queues have not changed since
    /// the last call, so that the delay is known at each of them.
    fn catch_up(&mut self, now: Time) {
        let interval = self.config.update_interval.as_nanos().max(1);
        let due = now.as_nanos() / interval;
        let arrivals = [self.low_latency.head(), self.classic.head()];
        let oldest = arrivals.into_iter().flatten().map(|head| head.arrived).min();
        let delay_at = |update: u64| {
            let at = Time::from_nanos(update * interval);
            oldest.map_or(0.0, |oldest| at.since(oldest).as_secs_f64())
        };
        while self.controller.updates < due {
            let before = self.controller.probability;
            let delay = delay_at(self.controller.updates + 1);
            let steady = delay == self.controller.delay_before;
            self.controller.update(&self.config, delay);
            self.controller.updates += 1;
            // What the rest would change nothing in: an empty queue after it has come to rest, and
            // a head that waits for ever once the probability is as high as it can be.
            let at_rest = oldest.is_none() && steady && self.controller.probability == before;
            let too_late = oldest.is_some()
                && delay > self.config.target.as_secs_f64()
                && self.controller.probability == self.config.most();
            if at_rest || too_late {
                self.controller.updates = due;
                self.controller.delay_before = delay_at(due);
            }
        }
    }

    fn roll(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.stream.unit() < probability
    }

    /// Twice, so with the square of the probability (`dualpi2_classic_marking`).
    fn roll_twice(&mut self, probability: f64) -> bool {
        self.roll(probability) && self.roll(probability)
    }

    /// What the controller says of a packet when this waits besides it (`must_drop`).
    fn judge(&mut self, low_latency: bool, ecn_capable: bool, native: f64) -> Verdict {
        let calm = self.backlog().bytes < 2 * u64::from(self.config.mtu_bytes);
        let base = if calm { 0.0 } else { self.controller.probability };
        let coupled = self.config.coupling * base;
        let overload = coupled > 1.0;
        if low_latency {
            if overload && self.config.drop_on_overload && self.roll_twice(base) {
                return Verdict::Drop;
            }
            return if self.roll(f64::max(native, coupled)) {
                Verdict::Mark
            } else {
                Verdict::Pass
            };
        }
        match self.roll_twice(base) {
            true if overload || !ecn_capable => Verdict::Drop,
            true => Verdict::Mark,
            false => Verdict::Pass,
        }
    }

    /// Whether the queue of low latency is served next; none if both are empty
    /// (`dequeue_packet`).
    fn low_latency_is_next(&self) -> Option<bool> {
        match (self.low_latency.head(), self.classic.head()) {
            (None, None) => None,
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            (Some(low_latency), Some(classic)) => Some(match self.config.scheduler {
                DualScheduler::Weighted { .. } => self.credit <= 0,
                DualScheduler::TimeShifted { shift } => {
                    low_latency.arrived <= classic.arrived + shift
                }
            }),
        }
    }
}

impl<P: Packet> DualPi2<P> {
    /// Apply a verdict; the packet comes back unless it was dropped.
    fn execute(verdict: Verdict, mut packet: Queued<P>, drops: &mut Drops<P>) -> Option<Queued<P>> {
        match verdict {
            Verdict::Drop => {
                drops.signal(packet);
                return None;
            }
            Verdict::Mark => {
                mark(&mut packet.packet);
            }
            Verdict::Pass => {}
        }
        Some(packet)
    }

    fn is_low_latency(&self, packet: &P) -> bool {
        match packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => true,
            Ecn::Ect0 => self.config.any_ect,
            Ecn::NotEct => false,
        }
    }
}

impl<P: Packet + std::fmt::Debug + Send> Qdisc<P> for DualPi2<P> {
    fn enqueue(&mut self, packet: Queued<P>, _line: &Line, now: Time, drops: &mut Drops<P>) {
        self.catch_up(now);
        if self.backlog().packets >= self.config.limit_packets {
            drops.no_room(packet);
            return;
        }
        let low_latency = self.is_low_latency(&packet.packet);
        let packet = if self.config.drop_early {
            let verdict = self.judge(low_latency, packet.packet.is_ecn_capable(), 0.0);
            let Some(packet) = Self::execute(verdict, packet, drops) else { return };
            packet
        } else {
            packet
        };
        if low_latency {
            self.low_latency.push(packet, self.config.min_packets_for_marks);
        } else {
            self.classic.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P> {
        self.catch_up(now);
        while let Some(low_latency) = self.low_latency_is_next() {
            let (classic_weight, low_latency_weight) = self.weights();
            let (taken, native, credit) = if low_latency {
                let native = self.low_latency.native(self.config.low_latency_marks, now);
                let credit = if self.classic.is_empty() { 0 } else { classic_weight };
                (self.low_latency.pop(), native, credit)
            } else {
                let credit =
                    if self.low_latency.head().is_none() { 0 } else { -low_latency_weight };
                (self.classic.pop(), 0.0, credit)
            };
            let Some(packet) = taken else { break };
            let verdict = if self.config.drop_early {
                if self.roll(native) { Verdict::Mark } else { Verdict::Pass }
            } else {
                self.judge(low_latency, packet.packet.is_ecn_capable(), native)
            };
            if let Some(packet) = Self::execute(verdict, packet, drops) {
                self.credit += credit * i64::from(packet.bytes);
                return Next::Packet(packet);
            }
        }
        self.reset_credit();
        Next::Empty
    }

    fn waiting(&self) -> Waiting {
        self.backlog()
    }
}

#[cfg(test)]
mod tests;
