//! CoDel and BLUE together, as CAKE has them: CoDel's law for flows that answer, and random drops
//! for those that fill the queue all the same.
//!
//! Sources: J. Palmei et al., "Design and Evaluation of COBALT Queue Discipline", IEEE LANMAN 2019;
//! Linux 6.12 `net/sched/sch_cake.c`, `cobalt_*`, whose integers these are: time in nanoseconds and
//! the reciprocal square root in 32 bits, exact below 16 drops and by one Newton step from there.
//! BLUE: W. Feng et al., "The BLUE Active Queue Management Algorithms", IEEE/ACM ToN 10(4), 2002.
//!
//! Two things CAKE does not say of a queue of its own: it is not asked when all its queues are
//! empty, this one is; and its first root is zero by omission, which makes its first drop early by
//! an interval: it is one here, as the comments there mean it to be.

use fairway_units::random::Stream;
use fairway_units::{Duration, Rate, Time};

use super::codel::mark;
use super::fifo::Fifo;
use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::Packet;

/// Parameters of COBALT; the defaults are those of CAKE without a rate (`cake_set_rate`,
/// `cake_init`).
#[derive(Clone, Debug, PartialEq)]
pub struct CobaltConfig {
    /// Delay that a queue may have for longer than an interval; also the shortest time between two
    /// changes of BLUE's probability.
    pub target: Duration,
    /// Time above the target until the first signal.
    pub interval: Duration,
    /// Packets that may wait. One more, and the head is dropped.
    pub limit_packets: u64,
    /// Whether packets that allow it are marked where CoDel's law would drop them. BLUE drops.
    pub ecn: bool,
    /// Time of transmission of the largest packet. A delay of less than four is no queue.
    pub mtu_time: Duration,
    /// By how much BLUE's probability rises when the queue is full.
    pub blue_increment: f64,
    /// By how much it falls when the queue is empty.
    pub blue_decrement: f64,
}

impl Default for CobaltConfig {
    fn default() -> Self {
        CobaltConfig {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            limit_packets: 10_240,
            ecn: true,
            mtu_time: Duration::ZERO,
            blue_increment: 1.0 / 256.0,
            blue_decrement: 1.0 / 4096.0,
        }
    }
}

impl CobaltConfig {
    /// What CAKE makes of the defaults for a line of this rate with packets of up to `mtu_bytes`:
    /// at low rates the target is one and a half packets (`cake_set_rate`).
    pub fn for_rate(rate: Rate, mtu_bytes: u32) -> Self {
        let plain = CobaltConfig::default();
        let bit_nanos = u64::from(mtu_bytes) * 8_000_000_000;
        let mtu_time = Duration::from_nanos(bit_nanos / rate.as_bps().max(1));
        let target = Duration::from_nanos(mtu_time.as_nanos() * 3 / 2).max(plain.target);
        let interval = (plain.interval + target - plain.target).max(target * 2);
        CobaltConfig { target, interval, mtu_time, ..plain }
    }
}

/// 1/√n in units of 2⁻³² for the first n; the first is for no drops yet (`inv_sqrt_cache`).
const ROOTS: [u32; 16] = [
    u32::MAX,
    u32::MAX,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// The state of both laws (`struct cobalt_vars`); times in nanoseconds.
#[derive(Clone, Debug)]
struct Control {
    count: u32,
    /// 1/√count in units of 2⁻³².
    root: u32,
    /// When the next signal is due; when not dropping, when the count is next lowered.
    due: u64,
    dropping: bool,
    /// BLUE's probability in units of 2⁻³².
    blue: u32,
    /// When that changed last.
    blue_changed: u64,
}

/// COBALT.
#[derive(Clone, Debug)]
pub struct Cobalt<P> {
    config: CobaltConfig,
    blue_up: u32,
    blue_down: u32,
    control: Control,
    queue: Fifo<P>,
    stream: Stream,
}

impl<P> Cobalt<P> {
    /// An empty queue; `stream` feeds BLUE's drops.
    pub fn new(config: &CobaltConfig, stream: Stream) -> Self {
        // `as` keeps within the bounds of the type.
        let fixed = |share: f64| (share * (1u64 << 32) as f64) as u32;
        Cobalt {
            blue_up: fixed(config.blue_increment),
            blue_down: fixed(config.blue_decrement),
            config: config.clone(),
            control: Control {
                count: 0,
                root: ROOTS[0],
                due: 0,
                dropping: false,
                blue: 0,
                blue_changed: 0,
            },
            queue: Fifo::default(),
            stream,
        }
    }

    /// BLUE may change no more often than once in a target.
    fn blue_may_change(&self, now: u64) -> bool {
        now - self.control.blue_changed > self.config.target.as_nanos()
    }

    /// There is no room (`cobalt_queue_full`).
    fn is_full(&mut self, now: u64) {
        if self.blue_may_change(now) {
            self.control.blue = self.control.blue.saturating_add(self.blue_up);
            self.control.blue_changed = now;
        }
        self.control.dropping = true;
        self.control.due = now;
        self.control.count = self.control.count.max(1);
    }

    /// The line found nothing (`cobalt_queue_empty`).
    fn is_empty(&mut self, now: u64) {
        if self.control.blue > 0 && self.blue_may_change(now) {
            self.control.blue = self.control.blue.saturating_sub(self.blue_down);
            self.control.blue_changed = now;
        }
        self.control.dropping = false;
        if self.control.count > 0 && now >= self.control.due {
            self.lower_count();
        }
    }

    fn lower_count(&mut self) {
        self.control.count -= 1;
        self.control.update_root();
        self.control.due = self.after(self.control.due);
    }

    /// interval/√count later (`cobalt_control`).
    fn after(&self, time: u64) -> u64 {
        let interval = u128::from(self.config.interval.as_nanos());
        time.saturating_add(((interval * u128::from(self.control.root)) >> 32) as u64)
    }
}

impl Control {
    fn update_root(&mut self) {
        match ROOTS.get(self.count as usize) {
            Some(root) => self.root = *root,
            None => self.newton_step(),
        }
    }

    /// x/2·(3 − count·x²) (`cobalt_newton_step`).
    fn newton_step(&mut self) {
        let x = u64::from(self.root);
        let square = (x * x) >> 32;
        let bracket = (3u64 << 32).wrapping_sub(u64::from(self.count) * square);
        self.root = ((bracket >> 2).wrapping_mul(x) >> (32 - 2 + 1)) as u32;
    }
}

impl<P: Packet> Cobalt<P> {
    /// Whether the packet that has just been taken must go; it may be marked instead
    /// (`cobalt_should_drop`).
    fn must_drop(&mut self, packet: &mut Queued<P>, now: u64) -> bool {
        let waited = now - packet.arrived.as_nanos();
        let over_target = waited > self.config.target.as_nanos()
            && waited > self.config.mtu_time.saturating_mul(4).as_nanos();
        let is_due = self.control.count > 0 && now >= self.control.due;
        let mut late = now > self.control.due;
        let mut drop = false;
        if over_target {
            if !self.control.dropping {
                self.control.dropping = true;
                self.control.due = self.after(now);
            }
            self.control.count = self.control.count.max(1);
        } else {
            self.control.dropping = false;
        }
        if is_due && self.control.dropping {
            drop = !(self.config.ecn && mark(&mut packet.packet));
            self.control.count = self.control.count.saturating_add(1);
            self.control.update_root();
            self.control.due = self.after(self.control.due);
            late = now > self.control.due;
        } else if is_due {
            while self.control.count > 0 && now >= self.control.due {
                self.lower_count();
            }
            late = now > self.control.due;
        }
        // It drops what could be marked: these are for flows that do not answer.
        if self.control.blue > 0 {
            drop |= self.stream.bits32() < self.control.blue;
        }
        if self.control.count == 0 {
            self.control.due = now.saturating_add(self.config.interval.as_nanos());
        } else if late && !drop {
            self.control.due = now;
        }
        drop
    }
}

impl<P: Packet + std::fmt::Debug + Send> Qdisc<P> for Cobalt<P> {
    fn enqueue(&mut self, packet: Queued<P>, _line: &Line, now: Time, drops: &mut Drops<P>) {
        self.queue.push(packet);
        while self.queue.len() > self.config.limit_packets {
            let Some(head) = self.queue.pop() else { break };
            self.is_full(now.as_nanos());
            drops.no_room(head);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P> {
        while let Some(mut packet) = self.queue.pop() {
            // The last one is never dropped, though perhaps marked.
            if !self.must_drop(&mut packet, now.as_nanos()) || self.queue.is_empty() {
                return Next::Packet(packet);
            }
            drops.signal(packet);
        }
        self.is_empty(now.as_nanos());
        Next::Empty
    }

    fn waiting(&self) -> Waiting {
        self.queue.waiting()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::qdisc::test_packet::{TestPacket, queued};

    const MS: u64 = 1_000_000;
    const STEP: u64 = 10_000;

    fn cobalt(config: CobaltConfig) -> Cobalt<TestPacket> {
        Cobalt::new(&config, Stream::new(1, "cobalt"))
    }

    /// Serve every 10 µs packets that have waited this long; when they were dropped or marked.
    fn serve(
        cobalt: &mut Cobalt<TestPacket>,
        ecn: Ecn,
        from: u64,
        until: u64,
        delay: u64,
    ) -> Vec<f64> {
        let mut signals = Vec::new();
        for now in (from..until).step_by(STEP as usize) {
            cobalt.queue = Fifo::default();
            for _ in 0..3 {
                cobalt.queue.push(queued(1, 1500, ecn, now - delay));
            }
            let mut drops = Drops::default();
            let next = cobalt.dequeue(Time::from_nanos(now), &mut drops);
            let Next::Packet(next) = next else { panic!("nothing in a full queue") };
            let marked = next.packet.ecn == Ecn::Ce && ecn != Ecn::Ce;
            for _ in 0..drops.packets.len() + usize::from(marked) {
                signals.push(now as f64 / MS as f64);
            }
        }
        signals
    }

    #[test]
    fn signals_come_at_the_inverse_root_of_their_number() {
        // Above the target from 1000 ms on: the first after 100 ms, each further one after
        // 100/√count with count 2, 3, 4, 5: 70.71, 57.74, 50, 44.72 ms.
        for (ecn, config_ecn) in [(Ecn::NotEct, true), (Ecn::Ect0, true), (Ecn::Ect0, false)] {
            let mut cobalt = cobalt(CobaltConfig { ecn: config_ecn, ..CobaltConfig::default() });
            serve(&mut cobalt, ecn, 1000 * MS - STEP, 1000 * MS, 0);
            let signals = serve(&mut cobalt, ecn, 1000 * MS, 1430 * MS, 10 * MS);
            let expected = [1100.0, 1170.71, 1228.45, 1278.45, 1323.17];
            assert!(signals.len() >= expected.len());
            for (time, expected) in signals.iter().zip(expected) {
                assert!((time - expected).abs() < 0.06, "{time} ms instead of {expected} ms");
            }
        }
    }

    #[test]
    fn the_count_is_worked_off_at_the_same_pace() {
        // Five signals make count 6. Below the target it falls by one each 100/√count: the first
        // when the sixth would have been due.
        let mut cobalt = cobalt(CobaltConfig::default());
        serve(&mut cobalt, Ecn::NotEct, 1000 * MS - STEP, 1000 * MS, 0);
        serve(&mut cobalt, Ecn::NotEct, 1000 * MS, 1330 * MS, 10 * MS);
        assert_eq!(cobalt.control.count, 6);
        // Due at 1323.17 + 40.82 = 1363.99; then, with 5, 44.72 later: 1408.71; with 4, 50: 1458.71.
        serve(&mut cobalt, Ecn::NotEct, 1330 * MS, 1363 * MS, 0);
        assert_eq!(cobalt.control.count, 6);
        serve(&mut cobalt, Ecn::NotEct, 1363 * MS, 1408 * MS, 0);
        assert_eq!(cobalt.control.count, 5);
        serve(&mut cobalt, Ecn::NotEct, 1408 * MS, 1458 * MS, 0);
        assert_eq!(cobalt.control.count, 4);
        // After a long rest all at once.
        serve(&mut cobalt, Ecn::NotEct, 9000 * MS, 9000 * MS + STEP, 0);
        assert_eq!(cobalt.control.count, 0);
    }

    #[test]
    fn blue_rises_when_full_and_falls_when_empty() {
        let config = CobaltConfig { limit_packets: 2, ..CobaltConfig::default() };
        let mut cobalt = cobalt(config);
        let mut drops = Drops::default();
        let arrive = |cobalt: &mut Cobalt<TestPacket>, flow, ms, drops: &mut Drops<_>| {
            let packet = queued(flow, 1500, Ecn::NotEct, ms * MS);
            cobalt.enqueue(packet, &Line::default(), Time::from_nanos(ms * MS), drops);
        };
        for flow in 0..4 {
            arrive(&mut cobalt, flow, 100, &mut drops);
        }
        // Two overflows at once raise it once: 2³²/256. The head goes.
        assert_eq!(cobalt.control.blue, 1 << 24);
        let gone: Vec<u32> = drops.packets.iter().map(|dropped| dropped.packet.flow).collect();
        assert_eq!((gone, drops.for_room), (vec![0, 1], 2));
        arrive(&mut cobalt, 4, 105, &mut drops);
        assert_eq!(cobalt.control.blue, 1 << 24, "no more than a target later");
        arrive(&mut cobalt, 5, 106, &mut drops);
        assert_eq!(cobalt.control.blue, 2 << 24);
        // Each time it is found empty, 2³²/4096 less, and no more often than once in 5 ms.
        cobalt.queue = Fifo::default();
        for (ms, expected) in [(110, 0), (112, 1), (116, 1), (118, 2), (200, 3)] {
            assert!(matches!(cobalt.dequeue(Time::from_nanos(ms * MS), &mut drops), Next::Empty));
            assert_eq!(cobalt.control.blue, (2 << 24) - expected * (1 << 20), "at {ms} ms");
        }
    }

    #[test]
    fn blue_drops_at_its_probability_whether_marks_are_allowed_or_not() {
        let mut cobalt = cobalt(CobaltConfig::default());
        cobalt.control.blue = 1 << 30;
        let drops = serve(&mut cobalt, Ecn::Ect0, 1000 * MS, 2000 * MS, 0).len() as f64;
        // A quarter of those that are not the last of three in the queue: ¼ of the first, and then
        // of the second: 0.25 + 0.0625 for each of 100,000 services.
        assert!((drops / 31_250.0 - 1.0).abs() < 0.03, "{drops}");
    }

    #[test]
    fn slow_lines_have_a_longer_target() {
        // 1 Mbit/s, 1514 bytes: 12.112 ms; one and a half: 18.168 ms; 100 + 13.168 ms.
        let config = CobaltConfig::for_rate(Rate::from_bps(1_000_000), 1514);
        assert_eq!(config.mtu_time.as_micros(), 12_112);
        assert_eq!(config.target.as_micros(), 18_168);
        assert_eq!(config.interval.as_micros(), 113_168);
        let fast = CobaltConfig::for_rate(Rate::from_bps(1_000_000_000), 1514);
        assert_eq!((fast.target.as_millis(), fast.interval.as_millis()), (5, 100));
    }

    #[test]
    fn many_drops_are_counted_by_newton_steps() {
        let mut control = cobalt(CobaltConfig::default()).control;
        for count in 1..=2000u32 {
            control.count = count;
            control.update_root();
            let root = f64::from(control.root) / 4_294_967_296.0;
            let error = root * libm::sqrt(f64::from(count)) - 1.0;
            assert!(error.abs() < 0.002, "{count}: {error}");
        }
    }
}
