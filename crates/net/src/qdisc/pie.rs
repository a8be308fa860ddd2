//! Proportional integral controller, enhanced: packets are dropped at random on arrival, with a
//! probability that a controller of the queueing delay sets every 15 ms.
//!
//! Sources: RFC 8033; Linux 6.12 `include/net/pie.h` and `net/sched/sch_pie.c`, whose integers
//! these are: probabilities in units of 2⁻⁵⁶, delays in ticks of 64 ns, and thresholds as they come
//! out of integer division.

use fairway_units::Time;
use fairway_units::random::Stream;

use super::codel::mark;
use super::fifo::Fifo;
use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::Packet;

mod config;

pub use config::{DelayFrom, PieConfig};

/// A probability of one (`MAX_PROB`).
const ONE: u64 = u64::MAX >> 8;
/// Linux's `PSCHED_TICKS_PER_SEC`: ticks of 64 ns.
const TICKS_PER_SEC: u64 = 1_000_000_000 >> TICK_SHIFT;
const TICK_SHIFT: u32 = 6;
/// Delay above which the probability rises by two percent more with each update
/// (`pie_calculate_probability`).
const HIGH_DELAY_TICKS: u64 = 250_000_000 >> TICK_SHIFT;
/// Bytes over which a rate of departure is measured (RFC 8033 section 5.2: DQ_THRESHOLD).
const RATE_BYTES: u64 = 16_384;
/// Rates are in bytes per tick times 2⁸ (`PIE_SCALE`).
const RATE_SHIFT: u32 = 8;

/// Parameters in the controller's own units.
#[derive(Clone, Debug)]
pub(crate) struct PieParameters {
    target: u64,
    update_nanos: u64,
    /// Probability for each tick of delay.
    alpha: u64,
    beta: u64,
    burst_allowance: u64,
    ecn: bool,
    ecn_up_to: u64,
    byte_mode: bool,
    delay_from: DelayFrom,
    mtu_bytes: u64,
    bounded: bool,
}

impl PieParameters {
    pub(crate) fn new(config: &PieConfig) -> Self {
        let per_tick = |sixteenths: u32| (u64::from(sixteenths) * (ONE / TICKS_PER_SEC)) >> 4;
        PieParameters {
            target: config.target.as_nanos() >> TICK_SHIFT,
            update_nanos: config.update_interval.as_nanos().max(1),
            alpha: per_tick(config.alpha_sixteenths),
            beta: per_tick(config.beta_sixteenths),
            burst_allowance: config.burst_allowance.as_nanos() >> TICK_SHIFT,
            ecn: config.ecn,
            ecn_up_to: ONE / 100 * u64::from(config.ecn_up_to_percent.min(100)),
            byte_mode: config.byte_mode,
            delay_from: config.delay_from,
            mtu_bytes: u64::from(config.mtu_bytes.clamp(1, 1 << 20)),
            bounded: config.bounded,
        }
    }
}

/// The state of the controller (`struct pie_vars`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Controller {
    delay: u64,
    delay_before: u64,
    burst_left: u64,
    /// When the last packet left, or the measurement of a rate began.
    mark: Option<u64>,
    probability: u64,
    accumulated: u64,
    /// Bytes that left since the measurement began, if one is under way.
    departed_bytes: Option<u64>,
    departure_rate: u64,
    /// Updates there have been.
    updates: u64,
}

impl Controller {
    pub(crate) fn new(parameters: &PieParameters) -> Self {
        let mut controller = Controller {
            delay: 0,
            delay_before: 0,
            burst_left: 0,
            mark: None,
            probability: 0,
            accumulated: 0,
            departed_bytes: None,
            departure_rate: 0,
            updates: 0,
        };
        controller.calm_down(parameters);
        controller
    }

    /// As `pie_vars_init`.
    fn calm_down(&mut self, parameters: &PieParameters) {
        self.burst_left = parameters.burst_allowance;
        self.mark = None;
        self.accumulated = 0;
        self.departed_bytes = None;
        self.departure_rate = 0;
    }

    /// Make the updates that were due until `now`, while `backlog_bytes` waited. Linux's timer
    /// runs at multiples of the update interval here; there it begins half a second after the
    /// discipline was set up.
    pub(crate) fn catch_up(&mut self, parameters: &PieParameters, backlog_bytes: u64, now: Time) {
        let due = now.as_nanos() / parameters.update_nanos;
        while self.updates < due {
            let before = *self;
            self.update(parameters, backlog_bytes);
            self.updates += 1;
            // Nothing arrives or leaves meanwhile: if only the probability changes, it goes on
            // changing by as much, or not at all, until it comes to a bound.
            let same = Controller { probability: before.probability, ..*self };
            if same == (Controller { updates: self.updates, ..before }) {
                self.skip(parameters, before.probability, due);
            }
        }
    }

    /// Make further updates at once that do what the last one did, which began `from`.
    fn skip(&mut self, parameters: &PieParameters, from: u64, due: u64) {
        let rest = due - self.updates;
        let bound = if parameters.bounded { ONE } else { u64::MAX };
        let steps = match self.probability.checked_sub(from) {
            Some(0) => rest,
            // Of the same weights.
            Some(step) if from >= ONE / 10 => rest.min((bound - self.probability) / step),
            _ => 0,
        };
        self.probability += steps * (self.probability.saturating_sub(from));
        self.updates += steps;
    }

    /// RFC 8033 section 4.2 (`pie_calculate_probability`).
    fn update(&mut self, parameters: &PieParameters, backlog_bytes: u64) {
        let (delay, delay_before) = match parameters.delay_from {
            DelayFrom::Timestamps => (self.delay, self.delay_before),
            DelayFrom::DepartureRate => {
                self.delay_before = self.delay;
                let scaled = backlog_bytes << RATE_SHIFT;
                (scaled.checked_div(self.departure_rate).unwrap_or(0), self.delay)
            }
        };
        let shift = self.gain_shift();
        let (alpha, beta) = (parameters.alpha >> shift, parameters.beta >> shift);
        let mut delta = i128::from(alpha) * (i128::from(delay) - i128::from(parameters.target))
            + i128::from(beta) * (i128::from(delay) - i128::from(delay_before));
        // RFC 8033 section 5.5.
        if self.probability >= ONE / 10 {
            delta = delta.min(i128::from(ONE / 100 * 2));
        }
        if delay > HIGH_DELAY_TICKS {
            delta += i128::from(ONE / 50);
        }
        let sum = (i128::from(self.probability) + delta).max(0);
        let sum = if parameters.bounded { sum.min(i128::from(ONE)) } else { sum };
        // What does not fit in its 64 bits is one to Linux.
        self.probability = u64::try_from(sum).unwrap_or(ONE);
        // With a backlog, no delay means that it is too small to tell.
        if delay == 0 && delay_before == 0 && backlog_bytes == 0 {
            self.probability -= self.probability / 64;
        }
        self.delay = delay;
        let calm = delay < parameters.target / 2
            && self.delay_before < parameters.target / 2
            && self.probability == 0;
        if calm && (parameters.delay_from == DelayFrom::Timestamps || self.departure_rate > 0) {
            self.calm_down(parameters);
        }
        if parameters.delay_from == DelayFrom::Timestamps {
            self.delay_before = delay;
        }
    }

    /// By how many bits the weights are reduced while the probability is small (RFC 8033 section
    /// 4.2): 1 below 10 %, 3 below 1 %, and so on to 11 below 0.0001 %.
    fn gain_shift(&self) -> u32 {
        if self.probability >= ONE / 10 {
            return 0;
        }
        let powers = [100, 1000, 10_000, 100_000, 1_000_000];
        1 + 2 * powers.iter().take_while(|power| self.probability < ONE / **power).count() as u32
    }

    /// Whether a packet that arrives is to be dropped or marked (`pie_drop_early`).
    fn signals(
        &mut self,
        parameters: &PieParameters,
        backlog_bytes: u64,
        bytes: u32,
        stream: &mut Stream,
    ) -> bool {
        if self.burst_left > 0 {
            return false;
        }
        if self.delay < parameters.target / 2 && self.probability < ONE / 5 {
            return false;
        }
        if backlog_bytes < 2 * parameters.mtu_bytes {
            return false;
        }
        let bytes = u64::from(bytes);
        let probability = if parameters.byte_mode && bytes <= parameters.mtu_bytes {
            bytes * (self.probability / parameters.mtu_bytes)
        } else {
            self.probability
        };
        self.accumulated =
            if probability == 0 { 0 } else { self.accumulated.wrapping_add(probability) };
        // Neither too soon after the last one nor too late (RFC 8033 section 5.4).
        if self.accumulated < ONE / 100 * 85 {
            return false;
        }
        let overdue = self.accumulated >= ONE / 2 * 17;
        let signals = overdue || stream.bits64() >> 8 < probability;
        if signals && (parameters.bounded || !overdue) {
            self.accumulated = 0;
        }
        signals
    }

    /// Take in a packet that finds `backlog_bytes`: as it is, or marked; or give it back to be
    /// dropped (`pie_qdisc_enqueue`, `fq_pie_qdisc_enqueue`).
    pub(crate) fn admit<P: Packet>(
        &mut self,
        parameters: &PieParameters,
        backlog_bytes: u64,
        mut packet: Queued<P>,
        stream: &mut Stream,
    ) -> Result<Queued<P>, Queued<P>> {
        if !self.signals(parameters, backlog_bytes, packet.bytes, stream) {
            return Ok(packet);
        }
        let may_mark = parameters.ecn && self.probability <= parameters.ecn_up_to;
        if may_mark && mark(&mut packet.packet) {
            return Ok(packet);
        }
        self.accumulated = 0;
        Err(packet)
    }

    /// A packet was dropped for want of room.
    pub(crate) fn had_no_room(&mut self) {
        self.accumulated = 0;
    }

    /// A packet leaves `backlog_bytes` behind (`pie_process_dequeue`).
    pub(crate) fn departs(
        &mut self,
        parameters: &PieParameters,
        backlog_bytes: u64,
        bytes: u32,
        arrived: Time,
        now: Time,
    ) {
        let now = now.as_nanos() >> TICK_SHIFT;
        let elapsed = match parameters.delay_from {
            DelayFrom::Timestamps => {
                let waited = now - (arrived.as_nanos() >> TICK_SHIFT);
                self.delay = if backlog_bytes > 0 { waited } else { 0 };
                let before = self.mark.replace(now);
                now - before.unwrap_or(now)
            }
            DelayFrom::DepartureRate => self.measure(backlog_bytes, bytes, now),
        };
        self.burst_left = self.burst_left.saturating_sub(elapsed);
    }

    /// Measure the rate of departure; ticks that the measurement took if one is complete.
    fn measure(&mut self, backlog_bytes: u64, bytes: u32, now: u64) -> u64 {
        if backlog_bytes >= RATE_BYTES && self.departed_bytes.is_none() {
            self.mark = Some(now);
            self.departed_bytes = Some(0);
        }
        let (Some(departed), Some(mark)) = (self.departed_bytes, self.mark) else { return 0 };
        let departed = departed + u64::from(bytes);
        self.departed_bytes = Some(departed);
        let elapsed = now - mark;
        if departed < RATE_BYTES || elapsed == 0 {
            return 0;
        }
        let rate = (departed << RATE_SHIFT) / elapsed;
        self.departure_rate = match self.departure_rate {
            0 => rate,
            average => average - (average >> 3) + (rate >> 3),
        };
        if backlog_bytes < RATE_BYTES {
            self.departed_bytes = None;
        } else {
            self.departed_bytes = Some(0);
            self.mark = Some(now);
        }
        elapsed
    }
}

/// One queue under PIE.
#[derive(Clone, Debug)]
pub struct Pie<P> {
    limit_packets: u64,
    parameters: PieParameters,
    controller: Controller,
    queue: Fifo<P>,
    stream: Stream,
}

impl<P> Pie<P> {
    /// An empty queue; `stream` feeds its random drops.
    pub fn new(config: &PieConfig, stream: Stream) -> Self {
        let parameters = PieParameters::new(config);
        Pie {
            limit_packets: config.limit_packets,
            controller: Controller::new(&parameters),
            parameters,
            queue: Fifo::default(),
            stream,
        }
    }
}

impl<P: Packet + std::fmt::Debug + Send> Qdisc<P> for Pie<P> {
    fn enqueue(&mut self, packet: Queued<P>, _line: &Line, now: Time, drops: &mut Drops<P>) {
        let backlog = self.queue.bytes();
        self.controller.catch_up(&self.parameters, backlog, now);
        if self.queue.len() >= self.limit_packets {
            self.controller.had_no_room();
            drops.no_room(packet);
            return;
        }
        match self.controller.admit(&self.parameters, backlog, packet, &mut self.stream) {
            Ok(packet) => self.queue.push(packet),
            Err(packet) => drops.signal(packet),
        }
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Drops<P>) -> Next<P> {
        self.controller.catch_up(&self.parameters, self.queue.bytes(), now);
        let Some(packet) = self.queue.pop() else { return Next::Empty };
        let backlog = self.queue.bytes();
        self.controller.departs(&self.parameters, backlog, packet.bytes, packet.arrived, now);
        Next::Packet(packet)
    }

    fn waiting(&self) -> Waiting {
        self.queue.waiting()
    }
}

#[cfg(test)]
mod tests;
