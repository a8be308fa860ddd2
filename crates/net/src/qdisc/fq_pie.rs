//! A queue for each flow, each under PIE, served by deficit round robin with new flows first.
//!
//! Source: Linux 6.12 `net/sched/sch_fq_pie.c`. Its limit of memory only counts and drops nothing,
//! so there is none here.

use fairway_units::Time;
use fairway_units::random::Stream;

use super::codel::ETHERNET_MTU_BYTES;
use super::fifo::Fifo;
use super::flows::{FlowHash, Rounds};
use super::pie::{Controller, PieConfig, PieParameters};
use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::Packet;

/// Parameters of FQ-PIE; the defaults are those of Linux (`fq_pie_init`).
#[derive(Clone, Debug, PartialEq)]
pub struct FqPieConfig {
    /// The controller of each queue. Its limit is one of all packets together.
    pub pie: PieConfig,
    /// Queues that flows are spread over, at most 65,536.
    pub flows: u32,
    /// Bytes that a queue may send before it is the next one's turn, at least 256.
    pub quantum_bytes: u32,
}

impl Default for FqPieConfig {
    fn default() -> Self {
        FqPieConfig {
            pie: PieConfig { limit_packets: 10 * 1024, ..PieConfig::default() },
            flows: 1024,
            quantum_bytes: ETHERNET_MTU_BYTES,
        }
    }
}

/// FQ-PIE.
#[derive(Clone, Debug)]
pub struct FqPie<P> {
    limit_packets: u64,
    parameters: PieParameters,
    hash: FlowHash,
    flows: Vec<FlowQueue<P>>,
    rounds: Rounds,
    waiting: Waiting,
    stream: Stream,
}

/// A flow's queue. Its controller sees nothing of the others, so that it is enough to make its
/// updates when a packet joins or leaves it.
#[derive(Clone, Debug)]
struct FlowQueue<P> {
    queue: Fifo<P>,
    controller: Controller,
}

impl<P: Clone> FqPie<P> {
    /// An empty queue; `stream` says which flows share one, and feeds the random drops.
    pub fn new(config: &FqPieConfig, mut stream: Stream) -> Self {
        let parameters = PieParameters::new(&config.pie);
        let hash = FlowHash::new(config.flows, &mut stream);
        let flow = FlowQueue { queue: Fifo::default(), controller: Controller::new(&parameters) };
        FqPie {
            limit_packets: config.pie.limit_packets,
            parameters,
            flows: vec![flow; hash.queues()],
            rounds: Rounds::new(hash.queues(), config.quantum_bytes),
            hash,
            waiting: Waiting::default(),
            stream,
        }
    }
}

impl<P: Packet + std::fmt::Debug + Send> Qdisc<P> for FqPie<P> {
    fn enqueue(&mut self, packet: Queued<P>, _line: &Line, now: Time, drops: &mut Drops<P>) {
        let index = self.hash.queue_of(packet.packet.flow());
        let flow = &mut self.flows[index];
        let backlog = flow.queue.bytes();
        flow.controller.catch_up(&self.parameters, backlog, now);
        if self.waiting.packets >= self.limit_packets {
            flow.controller.had_no_room();
            drops.no_room(packet);
            return;
        }
        match flow.controller.admit(&self.parameters, backlog, packet, &mut self.stream) {
            Ok(packet) => {
                self.waiting.packets += 1;
                self.waiting.bytes += u64::from(packet.bytes);
                flow.queue.push(packet);
                self.rounds.joined(index);
            }
            Err(packet) => drops.signal(packet),
        }
    }

    fn dequeue(&mut self, now: Time, _drops: &mut Drops<P>) -> Next<P> {
        while let Some(turn) = self.rounds.next() {
            let flow = &mut self.flows[turn];
            flow.controller.catch_up(&self.parameters, flow.queue.bytes(), now);
            let Some(packet) = flow.queue.pop() else {
                self.rounds.was_empty(turn);
                continue;
            };
            self.waiting.packets -= 1;
            self.waiting.bytes -= u64::from(packet.bytes);
            self.rounds.sent(turn, packet.bytes);
            let backlog = flow.queue.bytes();
            flow.controller.departs(&self.parameters, backlog, packet.bytes, packet.arrived, now);
            return Next::Packet(packet);
        }
        Next::Empty
    }

    fn waiting(&self) -> Waiting {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::qdisc::test_packet::{TestPacket, queued};

    const MS: u64 = 1_000_000;

    #[test]
    fn a_flow_is_not_dropped_for_another_ones_delay() {
        // A line of 1.5 Mbyte/s; flow 1 sends twice that, flow 2 a twentieth.
        let mut fq = FqPie::new(&FqPieConfig::default(), Stream::new(1, "fq_pie"));
        let mut drops = Drops::default();
        let mut sent = [0; 3];
        for ms in 0..5000 {
            let now = Time::from_nanos(ms * MS);
            let mut arrive = |flow| {
                let packet: Queued<TestPacket> = queued(flow, 1500, Ecn::NotEct, ms * MS);
                fq.enqueue(packet, &Line::default(), now, &mut drops);
            };
            arrive(1);
            arrive(1);
            if ms % 20 == 0 {
                arrive(2);
            }
            if let Next::Packet(packet) = fq.dequeue(now, &mut drops) {
                sent[packet.packet.flow as usize] += 1;
                // A flow within its share waits for two packets of another at most: a quantum of
                // 1514 bytes lets one of 1500 go, and another on the 14 that are left.
                let waited = now.since(packet.arrived);
                assert!(packet.packet.flow == 1 || waited.as_millis() <= 2, "{waited:?}");
            }
        }
        assert_eq!(sent[2], 250);
        assert!(drops.packets.iter().all(|dropped| dropped.packet.flow == 1));
        // Flow 1 offers 10,000 packets for 4750 places.
        let excess = drops.packets.len() as f64 / 5250.0;
        assert!((0.9..=1.0).contains(&excess), "{excess}");
    }

    #[test]
    fn a_full_queue_drops_what_arrives() {
        let pie = PieConfig { limit_packets: 2, ..PieConfig::default() };
        let config = FqPieConfig { pie, ..FqPieConfig::default() };
        let mut fq = FqPie::new(&config, Stream::new(1, "fq_pie"));
        let mut drops = Drops::default();
        for flow in 0..3 {
            let packet: Queued<TestPacket> = queued(flow, 1500, Ecn::NotEct, 0);
            fq.enqueue(packet, &Line::default(), Time::ZERO, &mut drops);
        }
        assert_eq!((drops.for_room, drops.packets[0].packet.flow), (1, 2));
    }
}
