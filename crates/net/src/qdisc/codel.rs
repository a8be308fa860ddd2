//! Controlled delay: packets are dropped from the head while none has waited less than the target
//! for an interval, ever more often until the queue gives way.
//!
//! Sources: RFC 8289; Linux 6.12 `include/net/codel_impl.h` and `net/sched/sch_codel.c`, whose
//! integers these are, because the times of drops follow from them: time in units of 1024 ns, and
//! the reciprocal square root in 16 bits, one Newton step for each drop. Unlike Linux's, these
//! times have 64 bits and never wrap round.

use fairway_units::{Duration, Time};

use super::fifo::Fifo;
use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::{Ecn, Packet};

/// The largest packet of an Ethernet as Linux counts it, header included (`psched_mtu`).
pub(crate) const ETHERNET_MTU_BYTES: u32 = 1514;

/// When packets are marked by their own delay, whatever the control law says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CeThreshold {
    /// Packets that have waited longer than this are marked.
    pub delay: Duration,
    /// Only packets that came as ECT(1), which L4S senders use: what `ce_threshold_selector 1/3`
    /// says to Linux's `fq_codel`.
    pub only_ect1: bool,
}

/// Parameters of CoDel; the defaults are those of Linux (`codel_params_init`, `codel_init`).
#[derive(Clone, Debug, PartialEq)]
pub struct CodelConfig {
    /// Delay that a queue may have for longer than an interval (RFC 8289: TARGET).
    pub target: Duration,
    /// Time in which the delay must have been below the target once; of the order of a round trip
    /// (RFC 8289: INTERVAL).
    pub interval: Duration,
    /// Packets that may wait; more are dropped on arrival.
    pub limit_packets: u64,
    /// Whether packets that allow it are marked where they would be dropped by the control law.
    pub ecn: bool,
    /// Marking by a packet's own delay, if wanted.
    pub ce_threshold: Option<CeThreshold>,
    /// With no more bytes than this behind it, no packet is dropped by the control law.
    pub mtu_bytes: u32,
    /// Whether drops come at interval/√count exactly as RFC 8289 has it. Linux's step after the
    /// second drop is 50 ms for 70.7 ms, and within 1 % from the seventh on.
    pub exact_root: bool,
}

impl Default for CodelConfig {
    fn default() -> Self {
        CodelConfig {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            limit_packets: 1000,
            ecn: false,
            ce_threshold: None,
            mtu_bytes: ETHERNET_MTU_BYTES,
            exact_root: false,
        }
    }
}

/// Time in Linux's units for CoDel, `codel_time_t` (`CODEL_SHIFT`).
type CodelTime = i64;

fn codel_time(nanos: u64) -> CodelTime {
    (nanos >> 10) as CodelTime
}

/// What the control law needs to know, in its own units (`struct codel_params`).
#[derive(Clone, Debug)]
pub(crate) struct ControlParameters {
    target: CodelTime,
    interval: CodelTime,
    mtu_bytes: u64,
    ecn: bool,
    ce_threshold: Option<(CodelTime, bool)>,
    exact_root: bool,
}

impl ControlParameters {
    pub(crate) fn new(config: &CodelConfig) -> Self {
        ControlParameters {
            target: codel_time(config.target.as_nanos()),
            interval: codel_time(config.interval.as_nanos()),
            mtu_bytes: u64::from(config.mtu_bytes),
            ecn: config.ecn,
            ce_threshold: config
                .ce_threshold
                .map(|threshold| (codel_time(threshold.delay.as_nanos()), threshold.only_ect1)),
            exact_root: config.exact_root,
        }
    }
}

/// Where the control law takes its packets from.
pub(crate) trait Source<P> {
    /// The packet at the head.
    fn take(&mut self) -> Option<Queued<P>>;

    /// Bytes that wait in the whole discipline.
    fn backlog_bytes(&self) -> u64;
}

impl<P> Source<P> for Fifo<P> {
    fn take(&mut self) -> Option<Queued<P>> {
        self.pop()
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes()
    }
}

/// The state of the control law (`struct codel_vars`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    /// Drops since dropping began, with those of the time before if that was shortly before.
    count: u32,
    /// What it was when dropping began.
    last_count: u32,
    dropping: bool,
    /// 1/√count in units of 2⁻¹⁶.
    reciprocal_root: u16,
    /// When the delay will have been above the target for an interval.
    first_above: Option<CodelTime>,
    /// When the next packet is due to be dropped; of the last one when not dropping.
    drop_next: CodelTime,
    /// How long the packet that was taken last had waited.
    delay: CodelTime,
}

impl Default for Control {
    fn default() -> Self {
        Control {
            count: 0,
            last_count: 0,
            dropping: false,
            reciprocal_root: 0,
            first_above: None,
            drop_next: LONG_AGO,
            delay: 0,
        }
    }
}

/// Before any run by more than any interval. Linux starts at zero of a clock that has run since it
/// was booted.
const LONG_AGO: CodelTime = i64::MIN / 4;

/// Re-entering the dropping state within this many intervals of the last drop goes on with the
/// rate of drops that the state before had reached (RFC 8289, `codel_dequeue`).
const REMEMBERED_INTERVALS: i64 = 16;

impl Control {
    /// The next packet that is neither dropped here nor left waiting (`codel_dequeue`).
    pub(crate) fn dequeue<P: Packet>(
        &mut self,
        parameters: &ControlParameters,
        source: &mut impl Source<P>,
        now: Time,
        drops: &mut Drops<P>,
    ) -> Option<Queued<P>> {
        let now = codel_time(now.as_nanos());
        let Some(first) = source.take() else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        let may_drop = self.may_drop(Some(&first), parameters, source.backlog_bytes(), now);
        let mut packet = if !self.dropping {
            if may_drop { self.begin(first, parameters, source, now, drops) } else { Some(first) }
        } else if may_drop {
            self.go_on(first, parameters, source, now, drops)
        } else {
            self.dropping = false;
            Some(first)
        };
        if let (Some(packet), Some((threshold, only_ect1))) = (&mut packet, parameters.ce_threshold)
            && self.delay > threshold
            && (!only_ect1 || packet.packet.ecn() == Ecn::Ect1)
        {
            mark(&mut packet.packet);
        }
        packet
    }

    /// Drops for want of room count as signals too (`fq_codel_drop`).
    pub(crate) fn count_drops(&mut self, packets: u32) {
        self.count = self.count.wrapping_add(packets);
    }

    /// Enter the dropping state with this packet.
    fn begin<P: Packet>(
        &mut self,
        mut first: Queued<P>,
        parameters: &ControlParameters,
        source: &mut impl Source<P>,
        now: CodelTime,
        drops: &mut Drops<P>,
    ) -> Option<Queued<P>> {
        let packet = if parameters.ecn && mark(&mut first.packet) {
            Some(first)
        } else {
            drops.signal(first);
            let next = source.take();
            self.may_drop(next.as_ref(), parameters, source.backlog_bytes(), now);
            next
        };
        self.dropping = true;
        let drops_last_time = self.count.wrapping_sub(self.last_count);
        let lately = now - self.drop_next < REMEMBERED_INTERVALS * parameters.interval;
        if drops_last_time > 1 && lately {
            self.count = drops_last_time;
            self.newton_step();
        } else {
            self.count = 1;
            self.reciprocal_root = u16::MAX;
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(now, parameters);
        packet
    }

    /// In the dropping state, drop what is due.
    fn go_on<P: Packet>(
        &mut self,
        first: Queued<P>,
        parameters: &ControlParameters,
        source: &mut impl Source<P>,
        now: CodelTime,
        drops: &mut Drops<P>,
    ) -> Option<Queued<P>> {
        let mut packet = Some(first);
        while self.dropping && now >= self.drop_next {
            let Some(mut due) = packet.take() else { break };
            self.count = self.count.wrapping_add(1);
            self.newton_step();
            if parameters.ecn && mark(&mut due.packet) {
                self.drop_next = self.control_law(self.drop_next, parameters);
                return Some(due);
            }
            drops.signal(due);
            packet = source.take();
            if self.may_drop(packet.as_ref(), parameters, source.backlog_bytes(), now) {
                self.drop_next = self.control_law(self.drop_next, parameters);
            } else {
                self.dropping = false;
            }
        }
        packet
    }

    /// Whether the delay has been above the target for an interval (`codel_should_drop`).
    fn may_drop<P>(
        &mut self,
        packet: Option<&Queued<P>>,
        parameters: &ControlParameters,
        backlog_bytes: u64,
        now: CodelTime,
    ) -> bool {
        let Some(packet) = packet else {
            self.first_above = None;
            return false;
        };
        self.delay = now - codel_time(packet.arrived.as_nanos());
        if self.delay < parameters.target || backlog_bytes <= parameters.mtu_bytes {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + parameters.interval);
                false
            }
            Some(first_above) => now > first_above,
        }
    }

    /// `t` + interval/√count.
    fn control_law(&self, t: CodelTime, parameters: &ControlParameters) -> CodelTime {
        let interval = parameters.interval;
        let step = if parameters.exact_root {
            (interval as f64 / libm::sqrt(f64::from(self.count))) as CodelTime
        } else {
            ((interval as i128 * i128::from(self.reciprocal_root)) >> 16) as CodelTime
        };
        t + step
    }

    /// One Newton step towards 1/√count: x/2·(3 − count·x²), in Linux's fixed point
    /// (`codel_Newton_step`). It wraps round as Linux's does when the count has jumped.
    fn newton_step(&mut self) {
        let x = u64::from(self.reciprocal_root) << 16;
        let square = (x * x) >> 32;
        let bracket = (3u64 << 32).wrapping_sub(u64::from(self.count) * square);
        let next = (bracket >> 2).wrapping_mul(x) >> (32 - 2 + 1);
        self.reciprocal_root = (next >> 16) as u16;
    }
}

/// Mark a packet if it allows that (`INET_ECN_set_ce`).
pub(crate) fn mark(packet: &mut impl Packet) -> bool {
    let capable = packet.is_ecn_capable();
    if capable {
        packet.mark_congestion();
    }
    capable
}

/// One queue under CoDel.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    limit_packets: u64,
    parameters: ControlParameters,
    control: Control,
    queue: Fifo<P>,
}

impl<P> Codel<P> {
    /// An empty queue.
    pub fn new(config: &CodelConfig) -> Self {
        Codel {
            limit_packets: config.limit_packets,
            parameters: ControlParameters::new(config),
            control: Control::default(),
            queue: Fifo::default(),
        }
    }
}

impl<P: Packet + std::fmt::Debug + Send> Qdisc<P> for Codel<P> {
    fn enqueue(&mut self, packet: Queued<P>, _line: &Line, _now: Time, drops: &mut Drops<P>) {
        if self.queue.len() < self.limit_packets {
            self.queue.push(packet);
        } else {
            drops.no_room(packet);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P> {
        match self.control.dequeue(&self.parameters, &mut self.queue, now, drops) {
            Some(packet) => Next::Packet(packet),
            None => Next::Empty,
        }
    }

    fn waiting(&self) -> Waiting {
        self.queue.waiting()
    }
}

#[cfg(test)]
mod tests;
