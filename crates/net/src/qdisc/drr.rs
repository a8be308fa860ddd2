//! Deficit round robin: flows take turns, and each may send as many bytes in its turn.
//!
//! Sources: M. Shreedhar and G. Varghese, "Efficient Fair Queuing using Deficit Round Robin",
//! SIGCOMM 1995; Linux 6.12 `net/sched/sch_drr.c`, whose classes are here one for each flow. A flow
//! that has become empty forgets its deficit in both.

use std::collections::VecDeque;
use std::fmt::Debug;

use fairway_units::{Bytes, Time};

use super::codel::ETHERNET_MTU_BYTES;
use super::fifo::Fifo;
use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::Packet;

/// Parameters of deficit round robin; the defaults are those of Linux for an Ethernet device.
#[derive(Clone, Debug, PartialEq)]
pub struct DrrConfig {
    /// Bytes, framing included, that a flow may send in a round. Not less than the largest packet,
    /// or some rounds send nothing (`psched_mtu` in `drr_change_class`).
    pub quantum: Bytes,
    /// Packets of each flow that may wait; the one in transmission does not count (a `pfifo` of
    /// the device's queue length).
    pub flow_limit_packets: u64,
}

impl Default for DrrConfig {
    fn default() -> Self {
        DrrConfig { quantum: Bytes::new(u64::from(ETHERNET_MTU_BYTES)), flow_limit_packets: 1000 }
    }
}

/// The queue of one flow.
#[derive(Clone, Debug)]
struct FlowQueue<P> {
    fifo: Fifo<P>,
    deficit_bytes: u64,
}

/// Flows that take turns.
#[derive(Clone, Debug)]
pub struct Drr<P> {
    quantum_bytes: u64,
    flow_limit_packets: u64,
    flows: Vec<FlowQueue<P>>,
    /// Those of `flows` that are nobody's.
    free: Vec<usize>,
    /// Which of `flows` is that of each flow with packets, by the number of that.
    places: Vec<(u32, usize)>,
    /// Flows with packets, in the order of their turns.
    turns: VecDeque<(u32, usize)>,
    waiting: Waiting,
}

impl<P> Drr<P> {
    /// Without flows.
    pub fn new(config: &DrrConfig) -> Self {
        Drr {
            quantum_bytes: config.quantum.get().max(1),
            flow_limit_packets: config.flow_limit_packets,
            flows: Vec::new(),
            free: Vec::new(),
            places: Vec::new(),
            turns: VecDeque::new(),
            waiting: Waiting::default(),
        }
    }

    /// Where the packets of a flow wait; if none do, the last in turn.
    fn place_of(&mut self, flow: u32) -> usize {
        match self.places.binary_search_by_key(&flow, |(flow, _)| *flow) {
            Ok(found) => self.places[found].1,
            Err(position) => {
                let place = self.free.pop().unwrap_or_else(|| {
                    self.flows.push(FlowQueue { fifo: Fifo::default(), deficit_bytes: 0 });
                    self.flows.len() - 1
                });
                self.flows[place].deficit_bytes = self.quantum_bytes;
                self.places.insert(position, (flow, place));
                self.turns.push_back((flow, place));
                place
            }
        }
    }

    /// The first in turn has nothing more to send.
    fn end_of_flow(&mut self) {
        let Some((flow, place)) = self.turns.pop_front() else { return };
        self.free.push(place);
        if let Ok(found) = self.places.binary_search_by_key(&flow, |(flow, _)| *flow) {
            self.places.remove(found);
        }
    }
}

impl<P: Packet + Debug + Send> Qdisc<P> for Drr<P> {
    fn enqueue(&mut self, packet: Queued<P>, _line: &Line, _now: Time, drops: &mut Drops<P>) {
        if self.flow_limit_packets == 0 {
            drops.no_room(packet);
            return;
        }
        let place = self.place_of(packet.packet.flow());
        let fifo = &mut self.flows[place].fifo;
        if fifo.len() >= self.flow_limit_packets {
            drops.no_room(packet);
            return;
        }
        self.waiting.packets += 1;
        self.waiting.bytes += u64::from(packet.bytes);
        fifo.push(packet);
    }

    fn dequeue(&mut self, _now: Time, _drops: &mut Drops<P>) -> Next<P> {
        while let Some((_, place)) = self.turns.front() {
            let flow = &mut self.flows[*place];
            let head_bytes = flow.fifo.head().map_or(0, |head| u64::from(head.bytes));
            if head_bytes > flow.deficit_bytes {
                flow.deficit_bytes = flow.deficit_bytes.saturating_add(self.quantum_bytes);
                self.turns.rotate_left(1);
                continue;
            }
            flow.deficit_bytes -= head_bytes;
            let packet = flow.fifo.pop();
            if flow.fifo.is_empty() {
                self.end_of_flow();
            }
            if let Some(packet) = packet {
                self.waiting.packets -= 1;
                self.waiting.bytes -= u64::from(packet.bytes);
                return Next::Packet(packet);
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

    const NOW: Time = Time::ZERO;

    fn arrive(drr: &mut Drr<TestPacket>, flow: u32, sizes: &[u32]) -> usize {
        let mut drops = Drops::default();
        for bytes in sizes {
            let packet = queued(flow, *bytes, Ecn::NotEct, 0);
            drr.enqueue(packet, &Line::default(), NOW, &mut drops);
        }
        drops.packets.len()
    }

    /// Flow and size of the next packets.
    fn leave(drr: &mut Drr<TestPacket>, packets: usize) -> Vec<(u32, u32)> {
        let mut next = || match drr.dequeue(NOW, &mut Drops::default()) {
            Next::Packet(packet) => Some((packet.packet.flow, packet.bytes)),
            _ => None,
        };
        (0..packets).map_while(|_| next()).collect()
    }

    #[test]
    fn rounds_as_in_figures_2_and_3_of_the_paper() {
        let config = DrrConfig { quantum: Bytes::new(500), ..DrrConfig::default() };
        let mut drr = Drr::new(&config);
        arrive(&mut drr, 1, &[200, 750, 20]);
        arrive(&mut drr, 2, &[500, 500]);
        arrive(&mut drr, 3, &[100, 600, 200]);
        arrive(&mut drr, 4, &[50, 700, 180]);
        // Round 1, 500 each: flow 1 sends 200 and keeps 300, which is less than 750; 2 sends 500;
        // 3 sends 100 and keeps 400; 4 sends 50 and keeps 450.
        assert_eq!(leave(&mut drr, 4), [(1, 200), (2, 500), (3, 100), (4, 50)]);
        // Round 2: flow 1 has 800: 750 and 20; 2 has 500; 3 has 900: 600 and 200; 4 has 950: 700
        // and 180.
        assert_eq!(
            leave(&mut drr, 9),
            [(1, 750), (1, 20), (2, 500), (3, 600), (3, 200), (4, 700), (4, 180)]
        );
        assert_eq!(drr.waiting(), Waiting::default());
    }

    #[test]
    fn a_deficit_ends_with_the_backlog() {
        let config = DrrConfig { quantum: Bytes::new(500), ..DrrConfig::default() };
        let mut drr = Drr::new(&config);
        // It would have kept 400.
        arrive(&mut drr, 1, &[100]);
        assert_eq!(leave(&mut drr, 1), [(1, 100)]);
        arrive(&mut drr, 1, &[600]);
        arrive(&mut drr, 2, &[500]);
        // 500 are not enough for 600.
        assert_eq!(leave(&mut drr, 2), [(2, 500), (1, 600)]);
    }

    #[test]
    fn flows_share_bytes_whatever_the_sizes_of_their_packets() {
        let mut drr = Drr::new(&DrrConfig::default());
        arrive(&mut drr, 7, &[1500; 1000]);
        arrive(&mut drr, 900_000_000, &[100; 1000]);
        // In 60 rounds each sends 60 · 1514 bytes, give or take a packet.
        let sent = leave(&mut drr, 960);
        let of = |flow| sent.iter().filter(|s| s.0 == flow).map(|s| s.1).sum::<u32>();
        assert!(of(7).abs_diff(of(900_000_000)) <= 1500 + 1514, "{sent:?}");
    }

    #[test]
    fn each_flow_has_its_own_limit() {
        let config = DrrConfig { flow_limit_packets: 2, ..DrrConfig::default() };
        let mut drr = Drr::new(&config);
        assert_eq!(arrive(&mut drr, 1, &[1000; 5]), 3);
        assert_eq!(arrive(&mut drr, 2, &[1000; 2]), 0);
    }

    #[test]
    fn the_queues_of_past_flows_serve_new_ones() {
        let mut drr = Drr::new(&DrrConfig::default());
        for flow in 0..1000 {
            arrive(&mut drr, flow, &[1000]);
            leave(&mut drr, 1);
        }
        assert_eq!(drr.flows.len(), 1);
    }
}
