//! What decides when packets arrive and what is asked when they leave are one theory: behind the same
//! queue, a port and a foreknowing link drop and mark the same packets and deliver the others at the
//! same times.

use fairway_net::{
    AdaptiveRed, DropTailConfig, Ecn, Limit, Link, LinkConfig, LinkFigures, LinkTotals, Offer,
    Packet, Port, PortConfig, Propagation, QdiscConfig, QueueConfig, RedConfig, RedMeasure,
    RedQueueConfig, RedVariant, Sent, Serialiser, Timing, Window, WireConfig,
};
use fairway_units::random::Stream;
use fairway_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

const SEED: u64 = 7;
const ALWAYS: Window = Window { from: Time::ZERO, to: Time::NEVER };
const DELAY: Duration = Duration::from_millis(3);

#[derive(Clone, Copy, Debug)]
struct Numbered {
    number: usize,
    bytes: u32,
    ecn: Ecn,
}

impl Packet for Numbered {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_congestion(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Became {
    Dropped,
    Lost,
    Arrived { at: Time, marked: bool },
}

/// Counters of a link at the end: packets dropped, lost and marked, and nanoseconds of
/// transmission and of waiting.
type Counts = (u64, u64, u64, u64, u128);

fn counts(totals: LinkTotals, figures: Option<&LinkFigures>) -> Counts {
    let figures = figures.expect("it is watched");
    assert_eq!((totals.dropped, totals.lost), (figures.dropped, figures.lost));
    (totals.dropped, totals.lost, totals.marked, figures.busy_nanos, figures.waiting_nanos)
}

#[derive(Clone, Debug)]
struct Case {
    rate: Rate,
    queue: QueueConfig,
    loss_probability: f64,
    arrivals: Vec<(Time, Numbered)>,
}

impl Case {
    fn by_link(&self) -> (Vec<Became>, Counts) {
        let config = LinkConfig {
            rate: self.rate,
            delay: DELAY,
            frame_overhead: 38,
            queue: self.queue.clone(),
            loss_probability: self.loss_probability,
            watched: true,
            timing: Timing::Exact,
        };
        let mut link = Link::new(&config, ALWAYS, SEED, "it");
        let offer = |(at, packet): &(Time, Numbered)| match link.offer(packet, *at) {
            Offer::Arrives(at) => Became::Arrived { at, marked: packet.ecn == Ecn::Ce },
            Offer::Marked(at) => Became::Arrived { at, marked: true },
            Offer::Dropped => Became::Dropped,
            Offer::Lost => Became::Lost,
        };
        let became = self.arrivals.iter().map(offer).collect();
        (became, counts(link.totals(), link.figures()))
    }

    fn by_port(&self) -> (Vec<Became>, Counts) {
        let discipline = match self.queue.clone() {
            QueueConfig::DropTail { limit } => QdiscConfig::DropTail(DropTailConfig { limit }),
            QueueConfig::Red { limit, red } => QdiscConfig::Red(RedQueueConfig { limit, red }),
        };
        let config = PortConfig {
            propagation: Propagation::Constant(DELAY),
            frame_overhead: 38,
            wire: WireConfig::losing(self.loss_probability),
            watched: true,
        };
        let qdisc = discipline.build(Stream::new(SEED, "it/queue"));
        let rate = Box::new(Serialiser::new(self.rate));
        let mut port = Port::new(qdisc, rate, config, ALWAYS, SEED, "it");
        let mut became = vec![None; self.arrivals.len()];
        let mut arrive = |sent: Sent<Numbered>| {
            let marked = sent.packet.ecn == Ecn::Ce;
            let arrived = sent.arrival.map(|arrival| Became::Arrived { at: arrival.at, marked });
            became[sent.packet.number] = Some(arrived.unwrap_or(Became::Lost));
        };
        let mut dropped = Vec::new();
        for (at, packet) in &self.arrivals {
            while port.wake_at() <= *at {
                port.wake(port.wake_at()).into_iter().for_each(&mut arrive);
            }
            port.offer(*packet, *at);
            dropped.extend(port.take_drops().map(|packet| packet.number));
        }
        while port.wake_at() < Time::NEVER {
            port.wake(port.wake_at()).into_iter().for_each(&mut arrive);
        }
        for number in dropped {
            assert_eq!(became[number].replace(Became::Dropped), None);
        }
        let known = |packet: Option<Became>| packet.expect("a packet is missing");
        let became = became.into_iter().map(known).collect();
        (became, counts(port.totals(), port.figures()))
    }
}

fn red() -> impl Strategy<Value = RedConfig> {
    let thresholds = (0.5..10.0, 1.0..15.0);
    let curve = (0.0..1.0, 0.001..1.0, any::<bool>());
    let marks = (any::<bool>(), any::<bool>());
    let extras = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (thresholds, curve, marks, extras).prop_map(
        |((min_threshold, width), (max_probability, weight, gentle), marks, extras)| RedConfig {
            min_threshold,
            max_threshold: min_threshold + width,
            max_probability,
            weight,
            gentle,
            ecn: marks.0,
            ecn_beyond_max: marks.1,
            typical_transmission: Duration::from_micros(800),
            measure: if extras.0 { RedMeasure::Bytes } else { RedMeasure::Packets },
            by_size: extras.1,
            mean_packet: Bytes::new(1000),
            adaptive: extras.2.then(|| AdaptiveRed {
                interval: Duration::from_millis(20),
                ..AdaptiveRed::default()
            }),
            variant: if extras.3 { RedVariant::Linux } else { RedVariant::Ns2 },
        },
    )
}

fn queue() -> impl Strategy<Value = QueueConfig> {
    let limit = || {
        prop_oneof![
            1 => Just(Limit::Unlimited),
            3 => (1..30u64).prop_map(Limit::Packets),
            3 => (1600..30_000u64).prop_map(Limit::Bytes),
        ]
    };
    prop_oneof![
        limit().prop_map(|limit| QueueConfig::DropTail { limit }),
        (limit(), red()).prop_map(|(limit, red)| QueueConfig::Red { limit, red }),
    ]
}

/// Gaps in nanoseconds: a packet of 962 bytes and 38 of framing takes 800,000 at 10 Mbit/s, so that
/// many packets arrive in the very moment in which a transmission ends.
fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![
        3 => Just(0u64),
        4 => Just(800_000),
        4 => 0..2_000_000u64,
        1 => 0..100_000_000u64,
    ]
}

fn arrivals() -> impl Strategy<Value = Vec<(Time, Numbered)>> {
    let bytes = prop_oneof![3 => Just(962u32), 1 => 2..1500u32];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0)];
    prop::collection::vec((gap(), bytes, ecn), 1..300).prop_map(|packets| {
        let mut now = Time::ZERO;
        let number = |(number, (gap, bytes, ecn))| {
            now = now + Duration::from_nanos(gap);
            (now, Numbered { number, bytes, ecn })
        };
        packets.into_iter().enumerate().map(number).collect()
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let rate = prop_oneof![
        4 => Just(Rate::from_bps(10_000_000)),
        1 => (1_000_000..30_000_000u64).prop_map(Rate::from_bps),
    ];
    let loss = prop_oneof![3 => Just(0.0), 1 => 0.0..1.0f64];
    (rate, queue(), loss, arrivals()).prop_map(|(rate, queue, loss_probability, arrivals)| Case {
        rate,
        queue,
        loss_probability,
        arrivals,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_port_does_what_a_link_foreknows(case in cases()) {
        prop_assert_eq!(case.by_link(), case.by_port());
    }
}
