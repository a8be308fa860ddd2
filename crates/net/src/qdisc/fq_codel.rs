//! A queue for each flow, each under CoDel, served by deficit round robin with new flows first.
//!
//! Sources: RFC 8290; Linux 6.12 `net/sched/sch_fq_codel.c`.

use fairway_units::Time;
use fairway_units::random::Stream;

use super::codel::{CodelConfig, Control, ControlParameters, ETHERNET_MTU_BYTES, Source};
use super::fifo::Fifo;
use super::flows::{FlowHash, Rounds};
use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::{Packet, memory_of};

/// Parameters of FQ-CoDel; the defaults are those of Linux (`fq_codel_init`).
#[derive(Clone, Debug, PartialEq)]
pub struct FqCodelConfig {
    /// The law of each queue. Its limit is one of all packets together.
    pub codel: CodelConfig,
    /// Queues that flows are spread over, at most 65,536.
    pub flows: u32,
    /// Bytes that a queue may send before it is the next one's turn, at least 256.
    pub quantum_bytes: u32,
    /// Memory that all packets may take, counted as Linux counts it.
    pub memory_limit_bytes: u64,
    /// Most packets that are dropped at once from the longest queue when there is no room; no more
    /// than half its bytes.
    pub drop_batch_packets: u32,
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        FqCodelConfig {
            codel: CodelConfig { limit_packets: 10 * 1024, ecn: true, ..CodelConfig::default() },
            flows: 1024,
            quantum_bytes: ETHERNET_MTU_BYTES,
            memory_limit_bytes: 32 << 20,
            drop_batch_packets: 64,
        }
    }
}

/// FQ-CoDel.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    limit_packets: u64,
    memory_limit_bytes: u64,
    drop_batch_packets: u32,
    parameters: ControlParameters,
    hash: FlowHash,
    flows: Vec<FlowQueue<P>>,
    rounds: Rounds,
    waiting: Waiting,
    memory_bytes: u64,
}

#[derive(Clone, Debug)]
struct FlowQueue<P> {
    queue: Fifo<P>,
    control: Control,
}

impl<P: Clone> FqCodel<P> {
    /// An empty queue; `stream` says which flows share one.
    pub fn new(config: &FqCodelConfig, mut stream: Stream) -> Self {
        let hash = FlowHash::new(config.flows, &mut stream);
        let flow = FlowQueue { queue: Fifo::default(), control: Control::default() };
        FqCodel {
            limit_packets: config.codel.limit_packets,
            memory_limit_bytes: config.memory_limit_bytes,
            drop_batch_packets: config.drop_batch_packets.max(1),
            parameters: ControlParameters::new(&config.codel),
            flows: vec![flow; hash.queues()],
            rounds: Rounds::new(hash.queues(), config.quantum_bytes),
            hash,
            waiting: Waiting::default(),
            memory_bytes: 0,
        }
    }
}

impl<P> FqCodel<P> {
    /// Drop from the head of the longest queue (`fq_codel_drop`).
    fn drop_from_longest(&mut self, drops: &mut Drops<P>) {
        // Of equals the first, as in Linux.
        let longest = (0..self.flows.len()).rev().max_by_key(|n| self.flows[*n].queue.bytes());
        let Some(flow) = longest.map(|n| &mut self.flows[n]) else { return };
        let enough = flow.queue.bytes() / 2;
        let mut dropped = Waiting::default();
        while let Some(packet) = flow.queue.pop() {
            dropped.packets += 1;
            dropped.bytes += u64::from(packet.bytes);
            self.memory_bytes -= memory_of(packet.bytes);
            drops.no_room(packet);
            if dropped.packets >= u64::from(self.drop_batch_packets) || dropped.bytes >= enough {
                break;
            }
        }
        flow.control.count_drops(dropped.packets as u32);
        self.waiting.packets -= dropped.packets;
        self.waiting.bytes -= dropped.bytes;
    }
}

/// One flow's queue, and the counters of all.
struct FlowSource<'a, P> {
    queue: &'a mut Fifo<P>,
    waiting: &'a mut Waiting,
    memory_bytes: &'a mut u64,
}

impl<P> Source<P> for FlowSource<'_, P> {
    fn take(&mut self) -> Option<Queued<P>> {
        let packet = self.queue.pop()?;
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(packet.bytes);
        *self.memory_bytes -= memory_of(packet.bytes);
        Some(packet)
    }

    // Of all flows, not of this one: as in Linux.
    fn backlog_bytes(&self) -> u64 {
        self.waiting.bytes
    }
}

impl<P: Packet + std::fmt::Debug + Send> Qdisc<P> for FqCodel<P> {
    fn enqueue(&mut self, packet: Queued<P>, _line: &Line, _now: Time, drops: &mut Drops<P>) {
        let flow = self.hash.queue_of(packet.packet.flow());
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(packet.bytes);
        self.memory_bytes += memory_of(packet.bytes);
        self.flows[flow].queue.push(packet);
        self.rounds.joined(flow);
        if self.waiting.packets > self.limit_packets || self.memory_bytes > self.memory_limit_bytes
        {
            self.drop_from_longest(drops);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P> {
        while let Some(turn) = self.rounds.next() {
            let flow = &mut self.flows[turn];
            let mut source = FlowSource {
                queue: &mut flow.queue,
                waiting: &mut self.waiting,
                memory_bytes: &mut self.memory_bytes,
            };
            match flow.control.dequeue(&self.parameters, &mut source, now, drops) {
                Some(packet) => {
                    self.rounds.sent(turn, packet.bytes);
                    return Next::Packet(packet);
                }
                None => self.rounds.was_empty(turn),
            }
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

    fn fq_codel(config: &FqCodelConfig) -> FqCodel<TestPacket> {
        FqCodel::new(config, Stream::new(1, "fq_codel"))
    }

    fn arrive(fq: &mut FqCodel<TestPacket>, flow: u32, bytes: u32) -> Drops<TestPacket> {
        let mut drops = Drops::default();
        let packet = queued(flow, bytes, Ecn::NotEct, 0);
        fq.enqueue(packet, &Line::default(), Time::ZERO, &mut drops);
        drops
    }

    fn serve(fq: &mut FqCodel<TestPacket>) -> Option<TestPacket> {
        match fq.dequeue(Time::ZERO, &mut Drops::default()) {
            Next::Packet(packet) => Some(packet.packet),
            _ => None,
        }
    }

    #[test]
    fn a_sparse_flow_goes_first() {
        let mut fq = fq_codel(&FqCodelConfig::default());
        for _ in 0..100 {
            arrive(&mut fq, 1, 1500);
        }
        // The first two packets use up the quantum of 1514 bytes: 14 left, then −1486.
        for _ in 0..2 {
            assert_eq!(serve(&mut fq).map(|packet| packet.flow), Some(1));
        }
        arrive(&mut fq, 2, 100);
        assert_eq!(serve(&mut fq).map(|packet| packet.flow), Some(2));
        assert_eq!(serve(&mut fq).map(|packet| packet.flow), Some(1));
    }

    #[test]
    fn shares_are_equal_in_bytes() {
        let mut fq = fq_codel(&FqCodelConfig::default());
        for _ in 0..3000 {
            arrive(&mut fq, 1, 1500);
            for _ in 0..2 {
                arrive(&mut fq, 2, 300);
            }
        }
        let mut bytes = [0u64; 3];
        for _ in 0..3000 {
            let Some(packet) = serve(&mut fq) else { panic!("empty too soon") };
            bytes[packet.flow as usize] += u64::from(packet.bytes);
        }
        // Shreedhar and Varghese 1995, lemma 1: the difference of two backlogged queues is less
        // than three times a quantum or the largest packet.
        assert!(bytes[1].abs_diff(bytes[2]) < 3 * 1514, "{bytes:?}");
    }

    #[test]
    fn without_room_the_longest_queue_gives_way_from_its_head() {
        let codel = CodelConfig { limit_packets: 100, ..CodelConfig::default() };
        let mut fq = fq_codel(&FqCodelConfig { codel, ..FqCodelConfig::default() });
        for _ in 0..20 {
            assert!(arrive(&mut fq, 1, 1500).packets.is_empty());
        }
        for _ in 0..80 {
            assert!(arrive(&mut fq, 2, 1000).packets.is_empty());
        }
        // Half of 80,000 bytes is less than 64 packets.
        let drops = arrive(&mut fq, 1, 1500);
        assert_eq!((drops.packets.len(), drops.for_room), (40, 40));
        assert!(drops.packets.iter().all(|dropped| dropped.packet.flow == 2));
        assert_eq!(fq.waiting(), Waiting { packets: 61, bytes: 21 * 1500 + 40 * 1000 });
    }

    #[test]
    fn the_batch_bounds_what_is_dropped_at_once() {
        let codel = CodelConfig { limit_packets: 200, ..CodelConfig::default() };
        let mut fq = fq_codel(&FqCodelConfig { codel, ..FqCodelConfig::default() });
        for _ in 0..200 {
            arrive(&mut fq, 1, 1000);
        }
        assert_eq!(arrive(&mut fq, 2, 1000).packets.len(), 64);
    }

    #[test]
    fn memory_is_limited_as_linux_counts_it() {
        // 1500 bytes take 256 + 2048, 40 bytes 256 + 512.
        assert_eq!((memory_of(1500), memory_of(40)), (2304, 768));
        let config = FqCodelConfig { memory_limit_bytes: 10 * 2304, ..FqCodelConfig::default() };
        let mut fq = fq_codel(&config);
        for _ in 0..10 {
            assert!(arrive(&mut fq, 1, 1500).packets.is_empty());
        }
        // Half of eleven: five and a half, that is six.
        assert_eq!(arrive(&mut fq, 1, 1500).packets.len(), 6);
    }

    #[test]
    fn each_flow_has_its_own_law() {
        // Flow 1 waits for long, flow 2 never does: only flow 1 loses packets.
        let mut fq = fq_codel(&FqCodelConfig::default());
        for _ in 0..2000 {
            arrive(&mut fq, 1, 1500);
        }
        let mut dropped = [0; 3];
        for step in 0..500 {
            let now = (20 + step) * MS;
            let mut drops = Drops::default();
            let fresh = queued(2, 200, Ecn::NotEct, now);
            fq.enqueue(fresh, &Line::default(), Time::from_nanos(now), &mut drops);
            for _ in 0..2 {
                fq.dequeue(Time::from_nanos(now), &mut drops);
            }
            for packet in &drops.packets {
                dropped[packet.packet.flow as usize] += 1;
            }
        }
        assert!(dropped[1] > 5 && dropped[2] == 0, "{dropped:?}");
    }
}
