//! What every queue discipline keeps to, whatever arrives and whenever the line asks.

use fairway_net::{
    AdaptiveRed, CeThreshold, CobaltConfig, CodelConfig, DelayFrom, DropHeadConfig, DropTailConfig,
    Drops, DrrConfig, DualPi2Config, DualScheduler, Ecn, FqCodelConfig, FqPieConfig, Limit, Line,
    LowLatencyMarks, Next, Packet, PeakRate, PieConfig, PolicerConfig, Qdisc, QdiscConfig, Queued,
    RedConfig, RedQueueConfig, RouterOsRed, SfqConfig, ShaperQueue, StrictPriorityConfig,
    TokenBucketConfig, Waiting,
};
use fairway_random::Stream;
use fairway_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

/// A discipline, and what it promises beyond what all do.
struct Entry {
    name: &'static str,
    config: QdiscConfig,
    /// Most that may wait.
    bound: Waiting,
    /// Whether it may keep packets back from a free line.
    shapes: bool,
}

const ANY_BYTES: u64 = u64::MAX;

fn entry(name: &'static str, config: QdiscConfig, packets: u64, bytes: u64) -> Entry {
    Entry { name, config, bound: Waiting { packets, bytes }, shapes: false }
}

/// Every discipline, most of them once as they come and once small and eager.
fn table() -> Vec<Entry> {
    let mut table = scheduling();
    table.extend(codel_like());
    table.extend(pie_like());
    table
}

fn codel_like() -> Vec<Entry> {
    let micros = Duration::from_micros;
    let eager = CodelConfig {
        target: micros(500),
        interval: micros(2000),
        limit_packets: 20,
        ecn: true,
        mtu_bytes: 100,
        ..CodelConfig::default()
    };
    let ce_threshold = Some(CeThreshold { delay: micros(100), only_ect1: true });
    let fq_eager = FqCodelConfig {
        codel: CodelConfig { ce_threshold, exact_root: true, ..eager.clone() },
        flows: 7,
        quantum_bytes: 300,
        memory_limit_bytes: 30_000,
        drop_batch_packets: 3,
    };
    let cobalt_eager = CobaltConfig {
        target: micros(500),
        interval: micros(2000),
        limit_packets: 20,
        blue_increment: 0.1,
        ..CobaltConfig::default()
    };
    vec![
        entry("codel", QdiscConfig::Codel(CodelConfig::default()), 1000, ANY_BYTES),
        entry("codel, eager", QdiscConfig::Codel(eager), 20, ANY_BYTES),
        entry("fq_codel", QdiscConfig::FqCodel(FqCodelConfig::default()), 10_240, ANY_BYTES),
        entry("fq_codel, eager", QdiscConfig::FqCodel(fq_eager), 20, 30_000),
        entry("cobalt", QdiscConfig::Cobalt(CobaltConfig::default()), 10_240, ANY_BYTES),
        entry("cobalt, eager", QdiscConfig::Cobalt(cobalt_eager), 20, ANY_BYTES),
    ]
}

fn pie_like() -> Vec<Entry> {
    let micros = Duration::from_micros;
    let eager = PieConfig {
        target: micros(500),
        update_interval: micros(1000),
        limit_packets: 30,
        alpha_sixteenths: 2000,
        beta_sixteenths: 20_000,
        burst_allowance: micros(1000),
        ecn: true,
        ecn_up_to_percent: 50,
        byte_mode: true,
        mtu_bytes: 100,
        ..PieConfig::default()
    };
    let by_rate = PieConfig { delay_from: DelayFrom::DepartureRate, ..eager.clone() };
    let fq_eager = FqPieConfig { pie: eager.clone(), flows: 7, quantum_bytes: 300 };
    let dual_eager = DualPi2Config {
        target: micros(500),
        update_interval: micros(1000),
        alpha_hz: 20.0,
        beta_hz: 200.0,
        limit_packets: 30,
        low_latency_marks: LowLatencyMarks::Ramp { from: micros(100), range: micros(200) },
        scheduler: DualScheduler::TimeShifted { shift: micros(1000) },
        drop_early: true,
        any_ect: true,
        mtu_bytes: 100,
        ..DualPi2Config::default()
    };
    vec![
        entry("pie", QdiscConfig::Pie(PieConfig::default()), 1000, ANY_BYTES),
        entry("pie, eager", QdiscConfig::Pie(eager), 30, ANY_BYTES),
        entry("pie, by rate", QdiscConfig::Pie(by_rate), 30, ANY_BYTES),
        entry("fq_pie", QdiscConfig::FqPie(FqPieConfig::default()), 10_240, ANY_BYTES),
        entry("fq_pie, eager", QdiscConfig::FqPie(fq_eager), 30, ANY_BYTES),
        entry("dualpi2", QdiscConfig::DualPi2(DualPi2Config::default()), 10_000, ANY_BYTES),
        entry("dualpi2, eager", QdiscConfig::DualPi2(dual_eager), 30, ANY_BYTES),
    ]
}

/// FIFOs, RED, schedulers and shapers.
fn scheduling() -> Vec<Entry> {
    let drop_tail = |limit| QdiscConfig::DropTail(DropTailConfig { limit });
    let drop_head = |limit| QdiscConfig::DropHead(DropHeadConfig { limit });
    let red = |red| QdiscConfig::Red(RedQueueConfig { limit: Limit::Packets(30), red });
    let eager = RedConfig { weight: 0.2, by_size: true, ..RedConfig::default() };
    let (router_limit, router) = RouterOsRed::default().to_red(Rate::from_bps(10_000_000)).unwrap();
    let router = RedQueueConfig { limit: router_limit, red: router };
    let sfq = SfqConfig {
        limit_packets: 20,
        depth_packets: 5,
        flows: 4,
        divisor: 8,
        quantum: Bytes::new(300),
        perturb: Some(Duration::from_millis(5)),
        head_drop: true,
    };
    let drr = DrrConfig { quantum: Bytes::new(1514), flow_limit_packets: 3 };
    let shaper = TokenBucketConfig {
        rate: Rate::from_bps(10_000_000),
        burst: Bytes::new(3000),
        peak: Some(PeakRate { rate: Rate::from_bps(50_000_000), mtu: Bytes::new(1400) }),
        queue: ShaperQueue::Bytes(Bytes::new(20_000)),
    };
    let shaped_red = TokenBucketConfig {
        peak: None,
        queue: ShaperQueue::Discipline(Box::new(red(eager.clone()))),
        ..shaper.clone()
    };
    let policer = PolicerConfig {
        rate: shaper.rate,
        burst: shaper.burst,
        peak: shaper.peak.clone(),
        queue: Box::new(drop_tail(Limit::Packets(10))),
    };
    let priority = StrictPriorityConfig {
        bands: vec![
            QdiscConfig::TokenBucket(shaper.clone()),
            QdiscConfig::Sfq(sfq.clone()),
            drop_tail(Limit::Packets(10)),
        ],
        ..StrictPriorityConfig::default()
    };
    let any = u64::MAX;
    let shapes = |entry: Entry| Entry { shapes: true, ..entry };
    vec![
        entry("drop-tail", drop_tail(Limit::Packets(20)), 20, ANY_BYTES),
        entry("drop-tail, bytes", drop_tail(Limit::Bytes(20_000)), any, 20_000),
        entry("drop-tail, unlimited", drop_tail(Limit::Unlimited), any, ANY_BYTES),
        entry("drop-head", drop_head(Limit::Packets(20)), 20, ANY_BYTES),
        entry("drop-head, bytes", drop_head(Limit::Bytes(20_000)), any, 20_000),
        entry("red", red(RedConfig::default()), 30, ANY_BYTES),
        entry(
            "red, adaptive, marks",
            red(RedConfig {
                adaptive: Some(AdaptiveRed::default()),
                ecn: true,
                ecn_beyond_max: true,
                ..eager
            }),
            30,
            ANY_BYTES,
        ),
        entry("red of a MikroTik router", QdiscConfig::Red(router), any, 60_000),
        entry("sfq", QdiscConfig::Sfq(SfqConfig::default()), 127, ANY_BYTES),
        entry("sfq, small", QdiscConfig::Sfq(sfq), 20, ANY_BYTES),
        entry("drr", QdiscConfig::Drr(DrrConfig::default()), 24_000, ANY_BYTES),
        entry("drr, small", QdiscConfig::Drr(drr), 3 * 24, ANY_BYTES),
        entry("policer", QdiscConfig::Policer(policer), 10, ANY_BYTES),
        shapes(entry("token bucket", QdiscConfig::TokenBucket(shaper), any, 20_000)),
        shapes(entry("token bucket, red", QdiscConfig::TokenBucket(shaped_red), 31, ANY_BYTES)),
        shapes(entry("priority", QdiscConfig::StrictPriority(priority), any, ANY_BYTES)),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct TestPacket {
    id: u64,
    flow: u32,
    bytes: u32,
    ecn: Ecn,
}

impl Packet for TestPacket {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    // One flow has one precedence and one kind of ECN: no discipline promises order otherwise.
    fn precedence(&self) -> u8 {
        (self.flow % 8) as u8
    }
}

const KINDS_OF_ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

fn ecn_of(flow: u32) -> Ecn {
    KINDS_OF_ECN[(flow / 3 % 4) as usize]
}

#[derive(Clone, Copy, Debug)]
enum What {
    Arrive {
        flow: u32,
        bytes: u32,
    },
    /// This many packets of one flow at once.
    Burst {
        flow: u32,
        packets: u32,
    },
    Serve,
}

type Step = (u64, What);

/// A time to the next step in nanoseconds: mostly less than a packet takes, rarely hours.
fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![
        10 => 0..300_000u64,
        4 => 0..5_000_000u64,
        1 => 0..400_000_000u64,
        1 => Just(0u64),
    ]
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        6 => (0..24u32, 40..1515u32).prop_map(|(flow, bytes)| What::Arrive { flow, bytes }),
        1 => (0..24u32, 1..30u32).prop_map(|(flow, packets)| What::Burst { flow, packets }),
        6 => Just(What::Serve),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = prop::collection::vec((gap(), what()), 1..400);
    let hours = 0..20_000_000_000_000u64;
    (some, hours, 0..400usize).prop_map(|(mut steps, hours, at)| {
        // One long rest somewhere.
        let at = at % steps.len();
        steps[at].0 = hours;
        steps
    })
}

/// What became of the packets.
#[derive(Default, PartialEq, Debug)]
struct Fate {
    sent: Vec<TestPacket>,
    dropped: Vec<TestPacket>,
}

/// A queue with a line, and the books of both.
struct Bench<'a> {
    entry: &'a Entry,
    qdisc: Box<dyn Qdisc<TestPacket>>,
    now: Time,
    line: Line,
    drops: Drops<TestPacket>,
    offered: Vec<TestPacket>,
    waiting: Waiting,
    fate: Fate,
}

impl<'a> Bench<'a> {
    fn new(entry: &'a Entry) -> Self {
        Bench {
            entry,
            qdisc: entry.config.build(Stream::new(1, entry.name)),
            now: Time::ZERO,
            line: Line { transmitting_bytes: 0, idle_since: Some(Time::ZERO) },
            drops: Drops::default(),
            offered: Vec::new(),
            waiting: Waiting::default(),
            fate: Fate::default(),
        }
    }

    fn arrive(&mut self, flow: u32, bytes: u32) {
        let id = self.offered.len() as u64;
        let packet = TestPacket { id, flow, bytes, ecn: ecn_of(flow) };
        self.offered.push(packet);
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(bytes);
        let queued = Queued::new(packet, 0, self.now);
        self.qdisc.enqueue(queued, &self.line, self.now, &mut self.drops);
        self.book_drops();
        assert_eq!(self.qdisc.waiting(), self.waiting, "{}", self.entry.name);
        let bound = self.entry.bound;
        assert!(self.waiting.packets <= bound.packets, "{}: {:?}", self.entry.name, self.waiting);
        assert!(self.waiting.bytes <= bound.bytes, "{}: {:?}", self.entry.name, self.waiting);
    }

    /// The line is free. When a packet may come, if one waits and none came.
    fn serve(&mut self) -> Option<Time> {
        let next = self.qdisc.dequeue(self.now, &mut self.drops);
        self.book_drops();
        let not_before = match next {
            Next::Packet(queued) => {
                assert!(queued.arrived <= self.now);
                self.line = Line { transmitting_bytes: queued.bytes, idle_since: None };
                self.leaves(&queued);
                self.fate.sent.push(queued.packet);
                None
            }
            Next::NotBefore(time) => {
                assert!(self.entry.shapes, "{} keeps packets back", self.entry.name);
                assert!(time > self.now && self.waiting.packets > 0);
                Some(time)
            }
            Next::Empty => {
                assert_eq!(self.waiting, Waiting::default(), "{} is not empty", self.entry.name);
                None
            }
        };
        if !matches!(next, Next::Packet(_)) && self.line.idle_since.is_none() {
            self.line = Line { transmitting_bytes: 0, idle_since: Some(self.now) };
        }
        assert_eq!(self.qdisc.waiting(), self.waiting, "{}", self.entry.name);
        not_before
    }

    fn book_drops(&mut self) {
        assert!(self.drops.for_room <= self.drops.packets.len() as u64);
        for queued in std::mem::take(&mut self.drops.packets) {
            self.leaves(&queued);
            self.fate.dropped.push(queued.packet);
        }
        self.drops.clear();
    }

    /// A packet comes back as it was, but for a mark if it allows one.
    fn leaves(&mut self, queued: &Queued<TestPacket>) {
        let offered = self.offered[queued.packet.id as usize];
        let marked = TestPacket { ecn: Ecn::Ce, ..offered };
        assert!(
            queued.packet == offered || offered.is_ecn_capable() && queued.packet == marked,
            "{}: {offered:?} became {:?}",
            self.entry.name,
            queued.packet
        );
        assert_eq!(queued.bytes, offered.bytes);
        assert_eq!(queued.marked_before, offered.ecn == Ecn::Ce);
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(queued.bytes);
    }

    fn run(mut self, steps: &[Step]) -> Fate {
        for (gap, what) in steps {
            self.now = self.now + Duration::from_nanos(*gap);
            match *what {
                What::Arrive { flow, bytes } => self.arrive(flow, bytes),
                What::Burst { flow, packets } => {
                    for _ in 0..packets {
                        self.arrive(flow, 1500);
                    }
                }
                What::Serve => {
                    self.serve();
                }
            }
        }
        while self.waiting.packets > 0 {
            let step = Duration::from_micros(100);
            let not_before = self.serve();
            self.now = not_before.unwrap_or(self.now + step);
        }
        self.serve();
        self.fate
    }
}

/// Every packet was sent or dropped, once, and those sent of one flow are in order.
fn check(entry: &Entry, offered: usize, fate: &Fate) {
    let mut seen = vec![false; offered];
    for packet in fate.sent.iter().chain(&fate.dropped) {
        let twice = std::mem::replace(&mut seen[packet.id as usize], true);
        assert!(!twice, "{}: packet {} left twice", entry.name, packet.id);
    }
    assert!(seen.iter().all(|left| *left), "{}: packets are missing", entry.name);
    let mut last = [None; 24];
    for packet in &fate.sent {
        let last = &mut last[packet.flow as usize];
        assert!(*last < Some(packet.id), "{}: flow {} reordered", entry.name, packet.flow);
        *last = Some(packet.id);
    }
}

fn offered(steps: &[Step]) -> usize {
    let of = |what: &What| match what {
        What::Arrive { .. } => 1,
        What::Burst { packets, .. } => *packets as usize,
        What::Serve => 0,
    };
    steps.iter().map(|(_, what)| of(what)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_discipline_keeps_the_rules(steps in steps()) {
        for entry in table() {
            let fate = Bench::new(&entry).run(&steps);
            check(&entry, offered(&steps), &fate);
            prop_assert_eq!(&fate, &Bench::new(&entry).run(&steps), "{} differs", entry.name);
        }
    }
}

#[test]
fn full_queues_stay_full_and_empty_ones_empty() {
    for entry in table() {
        let mut bench = Bench::new(&entry);
        for _ in 0..3 {
            bench.serve();
            for n in 0..12_000 {
                bench.arrive(n % 24, 1500);
            }
            bench.now = bench.now + Duration::from_secs(10_000);
            for _ in 0..100 {
                bench.now = bench.now + Duration::from_millis(1);
                bench.serve();
            }
        }
        let offered = bench.offered.len();
        let fate = bench.run(&[]);
        check(&entry, offered, &fate);
    }
}
