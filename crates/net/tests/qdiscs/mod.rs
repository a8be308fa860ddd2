//! What every queue discipline keeps to, whatever arrives and whenever the line asks.

mod table;

use fairway_net::{Drops, Ecn, Line, Next, Packet, Qdisc, Queued, Waiting};
use fairway_units::random::Stream;
use fairway_units::{Duration, Time};
use proptest::prelude::*;

use table::{Entry, table};

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

/// A queue with a line, and the counters of both.
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
