//! Watches packets one by one: what left, what arrived and when, and how long queues held it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;

use fairway_guest::plan::Plan;
use fairway_net::Histogram;
use fairway_units::Duration;

use crate::Error;
use crate::capture::Capture;
use crate::packet::Packet;
use crate::setup::{Namespaces, any_socket};
use crate::sys::{Ring, device_index, wall_ns};

/// Packets that were overtaken and may yet arrive: what reordering can hold back.
const MAX_OVERTAKEN: usize = 1024;
/// Packets of a namespace with several queues that may be in them: beyond it the oldest was dropped.
const MAX_INSIDE: usize = 1 << 20;

/// Everything that is watched.
pub struct Watch {
    places: Vec<WatchedNamespace>,
    flows: Flows,
    queues: Vec<QueueWatch>,
    /// What [`Ring`] calls the beginning of the run.
    begin_wall_ns: u64,
    window_ns: [u64; 2],
    capture: Option<Capture>,
}

/// A namespace whose packets are watched.
struct WatchedNamespace {
    namespace: usize,
    ring: Ring,
    is_source: bool,
    is_sink: bool,
    /// Its reported queues, as (index of the queue, index of the device).
    queues: Vec<(usize, i32)>,
    /// Packets that have come in and not yet left by a reported queue.
    inside: VecDeque<(Identity, u64)>,
}

/// What tells a packet from every other in the network at that time.
type Identity = (u32, u32, u16);

struct Flows {
    of_port: Vec<Option<u32>>,
    watches: Vec<FlowWatch>,
}

/// What is known of a flow's data packets.
#[derive(Default)]
pub struct FlowWatch {
    /// On their way: identity and time of departure.
    outstanding: VecDeque<(Identity, u64)>,
    /// Overtaken by later ones, so taken as missing.
    overtaken: VecDeque<(Identity, u64)>,
    pub arrivals: u64,
    pub wire_bytes: u64,
    pub delay_ns: u64,
    pub missing: u64,
}

/// What is known of a queue's packets.
#[derive(Default)]
pub struct QueueWatch {
    /// Whether packets leave at the end of their transmission rather than at its beginning.
    holds_transmission: bool,
    keeps_order: bool,
    rate_bps: Option<u64>,
    overhead_bytes: u32,
    /// Waiting times of the packets that left in the measuring window, added up.
    pub waiting_ns: u64,
    pub sojourns: Histogram,
}

impl Watch {
    pub fn open(plan: &Plan, namespaces: &Namespaces) -> Result<Self, Error> {
        let failed = |error| Error::new("beginning the captures", error);
        let mut capture = plan.capture.as_ref().map(Capture::create).transpose().map_err(failed)?;
        let mut places = Vec::new();
        let watched = if plan.is_emulated { 0 } else { plan.namespaces.len() };
        for index in 0..watched {
            places.extend(WatchedNamespace::open(plan, namespaces, index, capture.as_mut())?);
        }
        // A departure has to be known before the arrival.
        places.sort_by_key(|place| !place.is_source);
        let watches = plan.flows.iter().map(|_| FlowWatch::default()).collect();
        let queues = plan.queues.iter().map(|queue| QueueWatch {
            holds_transmission: queue.holds_transmission,
            keeps_order: queue.keeps_order,
            rate_bps: queue.rate_bps,
            overhead_bytes: queue.overhead_bytes,
            ..QueueWatch::default()
        });
        Ok(Watch {
            places,
            flows: Flows { of_port: plan.flows_by_port(), watches },
            queues: queues.collect(),
            begin_wall_ns: 0,
            window_ns: plan.window_ns,
            capture,
        })
    }

    /// Says when the run begins, as the clock of the packets has it.
    pub fn begin(&mut self, wall_ns: u64) {
        self.begin_wall_ns = wall_ns;
    }

    /// Looks at every packet since the last time; the most that one namespace had.
    pub fn catch_up(&mut self) -> io::Result<usize> {
        // What comes while the rings are looked at is for the next time.
        let until_ns = match &self.capture {
            Some(_) => wall_ns()?.saturating_sub(self.begin_wall_ns),
            None => 0,
        };
        let mut most = 0;
        for place in &mut self.places {
            let seen = place.catch_up(
                &mut self.flows,
                &mut self.queues,
                self.begin_wall_ns,
                self.window_ns,
                self.capture.as_mut(),
            );
            most = most.max(seen);
        }
        if let Some(capture) = &mut self.capture {
            capture.advance(until_ns)?;
        }
        Ok(most)
    }

    pub fn flow(&self, index: usize) -> &FlowWatch {
        &self.flows.watches[index]
    }

    pub fn queue(&self, index: usize) -> &QueueWatch {
        &self.queues[index]
    }

    /// Packets that came faster than they could be looked at.
    pub fn unseen(&self) -> io::Result<u64> {
        self.places.iter().map(|place| place.ring.unseen()).sum()
    }

    pub fn finish(self) -> io::Result<()> {
        self.capture.map_or(Ok(()), Capture::finish)
    }
}

impl WatchedNamespace {
    /// Watches a namespace if anything in it matters.
    fn open(
        plan: &Plan,
        namespaces: &Namespaces,
        index: usize,
        capture: Option<&mut Capture>,
    ) -> Result<Option<Self>, Error> {
        let is_source = plan.flows.iter().any(|flow| flow.source == index);
        let is_sink = plan.flows.iter().any(|flow| flow.sink == index);
        let here = || plan.queues.iter().enumerate().filter(|(_, queue)| queue.namespace == index);
        if !is_source && !is_sink && capture.is_none() && here().next().is_none() {
            return Ok(None);
        }
        namespaces.enter(index)?;
        let failed = |error| Error::new(format!("watching {}", namespaces.name(index)), error);
        let socket = any_socket()?;
        let mut queues = Vec::new();
        for (queue, text) in here() {
            queues.push((queue, device_index(socket.as_fd(), &text.device).map_err(failed)?));
        }
        if let Some(capture) = capture {
            let is_captured = capture.open(plan, index, &socket).map_err(failed)?;
            if !is_captured && !is_source && !is_sink && queues.is_empty() {
                namespaces.leave()?;
                return Ok(None);
            }
        }
        let ring = Ring::open().map_err(failed)?;
        namespaces.leave()?;
        let inside = VecDeque::new();
        Ok(Some(WatchedNamespace { namespace: index, ring, is_source, is_sink, queues, inside }))
    }

    fn catch_up(
        &mut self,
        flows: &mut Flows,
        queues: &mut [QueueWatch],
        begin_wall_ns: u64,
        window_ns: [u64; 2],
        mut capture: Option<&mut Capture>,
    ) -> usize {
        let WatchedNamespace { namespace, ring, is_source, is_sink, queues: own, inside } = self;
        let mut seen = 0;
        ring.drain(|frame| {
            seen += 1;
            let t_ns = frame.wall_ns.saturating_sub(begin_wall_ns);
            if let Some(capture) = &mut capture {
                capture.see(*namespace, frame, t_ns);
            }
            let Some(packet) = Packet::read(frame.bytes) else { return };
            if packet.payload > 0 {
                if *is_source && frame.outgoing {
                    flows.departs(&packet, t_ns);
                }
                if *is_sink && !frame.outgoing {
                    flows.arrives(&packet, t_ns);
                }
            }
            if own.is_empty() {
                return;
            }
            let queue = own.iter().find(|(_, device)| *device == frame.device);
            match (queue, frame.outgoing) {
                (Some((queue, _)), true) => {
                    let order = match (own.len(), queues[*queue].keeps_order) {
                        (1, true) => Order::Whole,
                        (1, false) => Order::OfFlow,
                        _ => Order::None,
                    };
                    // A datagram that did not come in was sent here.
                    let came_ns = take(inside, identity(&packet), order).or(packet.left_ns);
                    if let Some(came_ns) = came_ns
                        && (window_ns[0]..window_ns[1]).contains(&t_ns)
                    {
                        queues[*queue].leaves(&packet, t_ns.saturating_sub(came_ns));
                    }
                }
                (None, false) => {
                    inside.push_back((identity(&packet), t_ns));
                    if inside.len() > MAX_INSIDE {
                        inside.pop_front();
                    }
                }
                _ => {}
            }
        });
        seen
    }
}

/// Which packets leave in the order in which they came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Whole,
    OfFlow,
    /// None need to.
    None,
}

/// Takes a packet out, and those before it that will not come as they keep their order; when it came.
fn take(packets: &mut VecDeque<(Identity, u64)>, identity: Identity, order: Order) -> Option<u64> {
    let mut place = packets.iter().position(|(known, _)| *known == identity)?;
    match order {
        Order::Whole => {
            packets.drain(..place);
            place = 0;
        }
        Order::OfFlow => {
            let ports = identity.0;
            let mut before = 0;
            while before < place {
                if packets[before].0.0 == ports {
                    packets.remove(before);
                    place -= 1;
                } else {
                    before += 1;
                }
            }
        }
        Order::None => {}
    }
    packets.remove(place).map(|(_, t_ns)| t_ns)
}

fn identity(packet: &Packet) -> Identity {
    let ports = u32::from(packet.source_port) << 16 | u32::from(packet.destination_port);
    (ports, packet.sequence, packet.id)
}

impl Flows {
    fn of(&mut self, packet: &Packet) -> Option<&mut FlowWatch> {
        let index = self.of_port[usize::from(packet.destination_port)]?;
        self.watches.get_mut(index as usize)
    }

    fn departs(&mut self, packet: &Packet, t_ns: u64) {
        if let Some(flow) = self.of(packet) {
            flow.outstanding.push_back((identity(packet), t_ns));
        }
    }

    fn arrives(&mut self, packet: &Packet, t_ns: u64) {
        let Some(flow) = self.of(packet) else { return };
        flow.arrivals += 1;
        flow.wire_bytes += u64::from(packet.length);
        if let Some(left_ns) = flow.departure(identity(packet)) {
            flow.delay_ns += t_ns.saturating_sub(left_ns);
        }
    }
}

impl FlowWatch {
    /// When a packet left that now arrives; those that left before it are missing from now on.
    fn departure(&mut self, identity: Identity) -> Option<u64> {
        let Some(place) = self.outstanding.iter().position(|(known, _)| *known == identity) else {
            // It came late, or twice.
            let left_ns = take(&mut self.overtaken, identity, Order::None)?;
            self.missing -= 1;
            return Some(left_ns);
        };
        self.missing += place as u64;
        self.overtaken.extend(self.outstanding.drain(..place));
        let excess = self.overtaken.len().saturating_sub(MAX_OVERTAKEN);
        self.overtaken.drain(..excess);
        self.outstanding.pop_front().map(|(_, left_ns)| left_ns)
    }
}

impl QueueWatch {
    /// A packet leaves that came so long ago.
    fn leaves(&mut self, packet: &Packet, inside_ns: u64) {
        let bits = u64::from(u32::from(packet.length) + self.overhead_bytes) * 8;
        let transmission_ns = match self.rate_bps {
            Some(rate_bps) if self.holds_transmission => bits * 1_000_000_000 / rate_bps.max(1),
            _ => 0,
        };
        let waited_ns = inside_ns.saturating_sub(transmission_ns);
        self.waiting_ns += waited_ns;
        self.sojourns.record(Duration::from_nanos(waited_ns));
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn number(n: u32) -> Identity {
        (0, n, 0)
    }

    #[test]
    fn an_overtaken_packet_is_missing_until_it_arrives() {
        let mut flow = FlowWatch::default();
        for n in 0..5 {
            flow.outstanding.push_back((number(n), 100 + u64::from(n)));
        }
        assert_eq!(flow.departure(number(0)), Some(100));
        assert_eq!(flow.departure(number(3)), Some(103));
        assert_eq!(flow.missing, 2);
        assert_eq!(flow.departure(number(1)), Some(101));
        assert_eq!(flow.missing, 1);
        assert_eq!(flow.departure(number(1)), None, "a duplicate");
        assert_eq!(flow.departure(number(4)), Some(104));
        assert_eq!(flow.missing, 1);
    }

    #[test]
    fn what_was_dropped_is_forgotten_as_far_as_order_says() {
        let three = || VecDeque::from([((1, 0, 0), 10), ((2, 0, 0), 20), ((1, 1, 0), 30)]);
        for (order, left) in [(Order::Whole, 0), (Order::OfFlow, 1), (Order::None, 2)] {
            let mut packets = three();
            assert_eq!(take(&mut packets, (1, 1, 0), order), Some(30));
            assert_eq!(packets.len(), left);
        }
        assert_eq!(take(&mut three(), (3, 0, 0), Order::OfFlow), None);
    }

    proptest! {
        /// Of packets that left, each has arrived, is missing, or may yet come, whatever arrives.
        #[test]
        fn every_packet_is_somewhere(sent in 0..40u32, arrivals in vec(0..50u32, 0..200)) {
            let mut flow = FlowWatch::default();
            flow.outstanding.extend((0..sent).map(|n| (number(n), u64::from(n))));
            let mut arrived = std::collections::BTreeSet::new();
            for n in arrivals {
                let is_new = n < sent && arrived.insert(n);
                let left_ns = flow.departure(number(n));
                prop_assert_eq!(left_ns, is_new.then_some(u64::from(n)));
                let on_their_way = flow.outstanding.len() as u64;
                let known = arrived.len() as u64 + flow.missing + on_their_way;
                prop_assert_eq!(known, u64::from(sent));
            }
        }
    }

    #[test]
    fn what_stood_before_a_packet_in_a_fifo_was_dropped() {
        let mut inside: VecDeque<_> = (0..4).map(|n| (number(n), u64::from(n))).collect();
        assert_eq!(take(&mut inside, number(2), Order::Whole), Some(2));
        assert_eq!(inside, [(number(3), 3)]);
        assert_eq!(take(&mut inside, number(9), Order::Whole), None);
        assert_eq!(inside.len(), 1);
    }

    #[test]
    fn transmission_is_no_waiting() {
        // 1000 bytes at 8 Mbit/s are 1 ms.
        let packet = Packet { length: 986, ..Packet::default() };
        let mut queue = QueueWatch {
            holds_transmission: true,
            rate_bps: Some(8_000_000),
            overhead_bytes: 14,
            ..QueueWatch::default()
        };
        queue.leaves(&packet, 3_500_000);
        assert_eq!(queue.waiting_ns, 2_500_000);
    }
}
