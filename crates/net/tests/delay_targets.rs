//! Queue disciplines in a loop with senders that answer them: the delays and shares that they are
//! made for.
//!
//! The senders are the simplest that there are: a window that grows by a packet each round trip,
//! and is halved once in a round trip with a loss or a mark; or loses half a packet with each mark
//! (scalable, RFC 9331).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairway_net::{
    CobaltConfig, CodelConfig, DelayFrom, DropTailConfig, Drops, DualPi2Config, Ecn, FqCodelConfig,
    FqPieConfig, Limit, Line, Next, Packet, PieConfig, Qdisc, QdiscConfig, Queued,
};
use fairway_units::Time;
use fairway_units::random::Stream;

const BYTES: u32 = 1500;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

#[derive(Clone, Copy, Debug)]
struct TestPacket {
    flow: u32,
    ecn: Ecn,
    bytes: u32,
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
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    /// Halves its window once in a round trip with a signal.
    Halving,
    /// Takes half a packet off for each mark, and halves its window for a loss.
    Scalable,
    /// Sends packets of these bytes as a Poisson process of this many each second.
    Poisson(f64, u32),
}

#[derive(Clone, Copy, Debug)]
struct Source {
    law: Law,
    ecn: Ecn,
    round_trip_nanos: u64,
}

fn source(law: Law, ecn: Ecn, round_trip_ms: u64) -> Source {
    Source { law, ecn, round_trip_nanos: round_trip_ms * MS }
}

#[derive(Clone, Debug)]
struct Sender {
    source: Source,
    window: f64,
    flight: u32,
    slow_start: bool,
    /// No answer to another signal before this time.
    deaf_until: u64,
    /// Packets and summed sojourn of those sent in the second half of the run.
    packets: u64,
    waited_nanos: u64,
    dropped: u64,
}

impl Sender {
    fn new(source: Source) -> Self {
        Sender {
            source,
            window: 2.0,
            flight: 0,
            slow_start: true,
            deaf_until: 0,
            packets: 0,
            waited_nanos: 0,
            dropped: 0,
        }
    }

    fn hears(&mut self, events: PortEvent, now: u64) {
        self.flight -= 1;
        let scalable = self.source.law == Law::Scalable;
        if events != PortEvent::Arrived {
            self.slow_start = false;
        }
        match events {
            PortEvent::Arrived => {
                self.window += if self.slow_start { 1.0 } else { 1.0 / self.window }
            }
            PortEvent::Marked if scalable => self.window -= 0.5,
            PortEvent::Marked | PortEvent::Lost if now >= self.deaf_until => {
                self.window /= 2.0;
                self.deaf_until = now + self.source.round_trip_nanos;
            }
            PortEvent::Marked | PortEvent::Lost => {}
        }
        self.window = self.window.max(2.0);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PortEvent {
    Arrived,
    Marked,
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    LineIsFree,
    Hears(u32, PortEvent),
    Sends(u32),
}

struct Loop {
    qdisc: Box<dyn Qdisc<TestPacket>>,
    line_bps: f64,
    busy: bool,
    senders: Vec<Sender>,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    events_so_far: u64,
    stream: Stream,
    drops: Drops<TestPacket>,
    /// From when on figures are taken.
    from: u64,
}

/// The second half of a run.
#[derive(Debug)]
struct Outcome {
    senders: Vec<Sender>,
    line_bps: f64,
    nanos: u64,
}

impl Outcome {
    fn mean_wait_ms(&self, senders: std::ops::Range<usize>) -> f64 {
        let of = &self.senders[senders];
        let packets: u64 = of.iter().map(|sender| sender.packets).sum();
        let waited: u64 = of.iter().map(|sender| sender.waited_nanos).sum();
        waited as f64 / packets as f64 / MS as f64
    }

    fn utilisation(&self) -> f64 {
        let packets: u64 = self.senders.iter().map(|sender| sender.packets).sum();
        let bits = (packets * u64::from(BYTES) * 8) as f64;
        bits / (self.line_bps * self.nanos as f64 / SECOND as f64)
    }

    /// Jain's index of the senders' shares.
    fn fairness(&self) -> f64 {
        let shares: Vec<f64> = self.senders.iter().map(|sender| sender.packets as f64).collect();
        let sum: f64 = shares.iter().sum();
        sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
    }
}

impl Loop {
    fn new(config: &QdiscConfig, line_mbps: f64, sources: &[Source]) -> Self {
        Loop {
            qdisc: config.build(Stream::new(1, "queue")),
            line_bps: line_mbps * 1e6,
            busy: false,
            senders: sources.iter().copied().map(Sender::new).collect(),
            events: BinaryHeap::new(),
            events_so_far: 0,
            stream: Stream::new(1, "sources"),
            drops: Drops::default(),
            from: 0,
        }
    }

    fn at(&mut self, time: u64, event: Event) {
        self.events_so_far += 1;
        self.events.push(Reverse((time, self.events_so_far, event)));
    }

    fn run(mut self, seconds: u64) -> Outcome {
        self.from = seconds * SECOND / 2;
        for sender in 0..self.senders.len() as u32 {
            self.at(u64::from(sender) * 7 * MS, Event::Sends(sender));
        }
        while let Some(Reverse((now, _, event))) = self.events.pop() {
            if now >= seconds * SECOND {
                break;
            }
            match event {
                Event::LineIsFree => {
                    self.busy = false;
                    self.serve(now);
                }
                Event::Hears(flow, events) => {
                    self.senders[flow as usize].hears(events, now);
                    self.send_window(flow, now);
                }
                Event::Sends(flow) => match self.senders[flow as usize].source.law {
                    Law::Poisson(per_second, _) => {
                        self.send(flow, now);
                        let gap = self.stream.exponential() / per_second * SECOND as f64;
                        self.at(now + gap as u64, Event::Sends(flow));
                    }
                    _ => self.send_window(flow, now),
                },
            }
        }
        let nanos = seconds * SECOND - self.from;
        Outcome { senders: self.senders, line_bps: self.line_bps, nanos }
    }

    fn send_window(&mut self, flow: u32, now: u64) {
        let sender = &self.senders[flow as usize];
        for _ in sender.flight..sender.window as u32 {
            self.senders[flow as usize].flight += 1;
            self.send(flow, now);
        }
    }

    fn send(&mut self, flow: u32, now: u64) {
        let source = self.senders[flow as usize].source;
        let bytes = if let Law::Poisson(_, bytes) = source.law { bytes } else { BYTES };
        let queued = Queued::new(TestPacket { flow, ecn: source.ecn, bytes }, 0, time(now));
        self.qdisc.enqueue(queued, &Line::default(), time(now), &mut self.drops);
        self.hear_of_drops(now);
        if !self.busy {
            self.serve(now);
        }
    }

    fn serve(&mut self, now: u64) {
        let next = self.qdisc.dequeue(time(now), &mut self.drops);
        self.hear_of_drops(now);
        let Next::Packet(queued) = next else { return };
        let transmission = f64::from(queued.bytes) * 8e9 / self.line_bps;
        self.busy = true;
        self.at(now + transmission as u64, Event::LineIsFree);
        let sender = &mut self.senders[queued.packet.flow as usize];
        if now >= self.from {
            sender.packets += 1;
            sender.waited_nanos += time(now).since(queued.arrived).as_nanos();
        }
        let events =
            if queued.packet.ecn == Ecn::Ce { PortEvent::Marked } else { PortEvent::Arrived };
        self.tell(queued.packet.flow, events, now);
    }

    fn hear_of_drops(&mut self, now: u64) {
        for queued in std::mem::take(&mut self.drops.packets) {
            let flow = queued.packet.flow;
            self.senders[flow as usize].dropped += u64::from(now >= self.from);
            self.tell(flow, PortEvent::Lost, now);
        }
        self.drops.clear();
    }

    fn tell(&mut self, flow: u32, events: PortEvent, now: u64) {
        let source = self.senders[flow as usize].source;
        if !matches!(source.law, Law::Poisson(..)) {
            self.at(now + source.round_trip_nanos, Event::Hears(flow, events));
        }
    }
}

fn time(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

fn run(config: &QdiscConfig, line_mbps: f64, sources: &[Source], seconds: u64) -> Outcome {
    Loop::new(config, line_mbps, sources).run(seconds)
}

fn codel() -> QdiscConfig {
    QdiscConfig::Codel(CodelConfig::default())
}

fn pie() -> QdiscConfig {
    QdiscConfig::Pie(PieConfig::default())
}

fn dropped_share(sender: &Sender) -> f64 {
    sender.dropped as f64 / (sender.dropped + sender.packets) as f64
}

#[test]
fn the_loop_fills_a_queue_that_only_has_a_limit() {
    // 1000 packets of 1500 bytes are 600 ms at 20 Mbit/s; halving windows keep more than half of
    // that.
    let drop_tail = QdiscConfig::DropTail(DropTailConfig { limit: Limit::Packets(1000) });
    let outcome = run(&drop_tail, 20.0, &[source(Law::Halving, Ecn::NotEct, 50); 8], 60);
    assert!((300.0..600.0).contains(&outcome.mean_wait_ms(0..8)));
    assert!(outcome.utilisation() > 0.99);
}

#[test]
fn standing_queues_are_held_near_the_target() {
    let cobalt = QdiscConfig::Cobalt(CobaltConfig { ecn: false, ..CobaltConfig::default() });
    let fq_codel = QdiscConfig::FqCodel(FqCodelConfig::default());
    let fq_pie = QdiscConfig::FqPie(FqPieConfig::default());
    let by_rate = PieConfig { delay_from: DelayFrom::DepartureRate, ..PieConfig::default() };
    let dualpi2 = QdiscConfig::DualPi2(DualPi2Config::default());
    // CoDel lets a queue pass its target for an interval, so that the mean may be above it.
    for (config, target_ms, least, most) in [
        (codel(), 5.0, 0.5, 2.0),
        (cobalt, 5.0, 0.5, 2.0),
        (fq_codel, 5.0, 0.5, 2.0),
        (pie(), 15.0, 0.8, 1.25),
        (QdiscConfig::Pie(by_rate), 15.0, 0.8, 1.25),
        (fq_pie, 15.0, 0.8, 1.25),
        (dualpi2, 15.0, 0.8, 1.25),
    ] {
        let outcome = run(&config, 20.0, &[source(Law::Halving, Ecn::NotEct, 50); 8], 60);
        let share = outcome.mean_wait_ms(0..8) / target_ms;
        assert!((least..most).contains(&share), "{config:?}: {share} of the target");
        assert!(outcome.utilisation() > 0.98, "{config:?}: {}", outcome.utilisation());
        assert!(outcome.fairness() > 0.97, "{config:?}: {}", outcome.fairness());
    }
}

#[test]
fn marks_do_what_drops_do_and_nothing_is_dropped() {
    let codel = QdiscConfig::Codel(CodelConfig { ecn: true, ..CodelConfig::default() });
    let pie = QdiscConfig::Pie(PieConfig { ecn: true, ..PieConfig::default() });
    let fq_codel = QdiscConfig::FqCodel(FqCodelConfig::default());
    for (config, most_ms) in [(codel, 10.0), (pie, 19.0), (fq_codel, 10.0)] {
        let outcome = run(&config, 20.0, &[source(Law::Halving, Ecn::Ect0, 50); 8], 60);
        assert!(outcome.mean_wait_ms(0..8) < most_ms);
        assert!(outcome.senders.iter().all(|sender| sender.dropped == 0));
    }
}

#[test]
fn one_sixth_is_dropped_of_what_does_not_answer() {
    // 24 Mbit/s into 20: 1 − 20/24 = 1/6. PIE's integral finds that probability, and holds the
    // target; so does COBALT. CoDel starts from few drops again each time the queue has gone: its
    // delay is many times its target, which is why there is COBALT.
    let overload = [source(Law::Poisson(2000.0, BYTES), Ecn::NotEct, 50)];
    let cobalt = QdiscConfig::Cobalt(CobaltConfig::default());
    for (config, least_ms, most_ms) in
        [(pie(), 12.0, 19.0), (cobalt, 2.0, 10.0), (codel(), 50.0, 600.0)]
    {
        let outcome = run(&config, 20.0, &overload, 120);
        let wait = outcome.mean_wait_ms(0..1);
        assert!((least_ms..most_ms).contains(&wait), "{config:?}: {wait} ms");
        let share = dropped_share(&outcome.senders[0]);
        // 120,000 packets, and a line that is idle for half a percent.
        assert!((share - 1.0 / 6.0).abs() < 0.005, "{config:?}: {share}");
    }
}

#[test]
fn flows_of_their_own_wait_for_nobody_and_share_evenly() {
    // One sends 20 small packets a second beside four that fill the line, with round trips of 10 to
    // 100 ms.
    let mut sources = vec![source(Law::Poisson(20.0, 200), Ecn::NotEct, 50)];
    sources.extend([10, 20, 50, 100].map(|ms| source(Law::Halving, Ecn::NotEct, ms)));
    let fq_codel = QdiscConfig::FqCodel(FqCodelConfig::default());
    let fq_pie = QdiscConfig::FqPie(FqPieConfig::default());
    for config in [fq_codel, fq_pie] {
        let outcome = run(&config, 20.0, &sources, 60);
        // Half a packet of 0.6 ms that is in transmission, on average.
        assert!(outcome.mean_wait_ms(0..1) < 0.6);
        assert_eq!(outcome.senders[0].dropped, 0);
        let bulk = Outcome { senders: outcome.senders[1..].to_vec(), ..outcome };
        assert!(bulk.fairness() > 0.95, "{}", bulk.fairness());
    }
    // In one queue the small packets wait as long as the others, and short round trips win.
    let outcome = run(&pie(), 20.0, &sources, 60);
    assert!(outcome.mean_wait_ms(0..1) > 10.0);
    assert!(outcome.senders[1].packets > 2 * outcome.senders[4].packets);
}

#[test]
fn low_latency_goes_beside_comparable_throughput() {
    let config = QdiscConfig::DualPi2(DualPi2Config::default());
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        for round_trip_ms in [10, 20] {
            let two = [
                source(Law::Scalable, Ecn::Ect1, round_trip_ms),
                source(Law::Halving, ecn, round_trip_ms),
            ];
            let outcome = run(&config, 40.0, &two, 60);
            assert!(outcome.mean_wait_ms(0..1) < 1.0);
            assert!((7.5..19.0).contains(&outcome.mean_wait_ms(1..2)));
            let ratio = outcome.senders[0].packets as f64 / outcome.senders[1].packets as f64;
            assert!((0.5..2.0).contains(&ratio), "{ratio}");
            assert!(outcome.utilisation() > 0.98);
        }
    }
}
