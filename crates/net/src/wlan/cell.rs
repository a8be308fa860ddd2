//! The medium: accesses, collisions and exchanges.
//!
//! A node whose slots are over transmits. Others whose slots end less than a slot later cannot have
//! noticed: that is what the length of a slot means (IEEE 802.11-2016 10.3.7), and all these
//! transmissions are lost. Nodes count from the end of the last busy period, but not all from the
//! same time: after a collision those who transmitted wait for their timeout and DIFS, and the
//! others for EIFS.

use fairway_phy::Phy;
use fairway_units::random::Stream;
use fairway_units::{Duration, Rate, Time};

use super::config::{CellConfig, MacConfig, StationConfig};
use super::figures::{CellTotals, Measured};
use super::node::Node;
use super::packet::{ACCESS_POINT, Addressed, Arrival, NodeId, Outcome};
use crate::{Packet, Qdisc, Queued, Window};

/// Stage of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing.
    Idle,
    /// First frames, data or RTS; several nodes' collide.
    Access,
    /// The answer to an RTS.
    Cts,
    /// The data frame after RTS and CTS.
    Data,
    /// The acknowledgement.
    Ack,
}

/// A node that transmits.
#[derive(Clone, Copy, Debug)]
struct Sender {
    node: usize,
    /// When its frame ends.
    ends: Time,
}

/// From the end of a frame until slots are counted.
#[derive(Clone, Copy, Debug)]
struct Waits {
    sender: Duration,
    receiver: Duration,
    others: Duration,
}

/// A WLAN cell. Every packet offered leaves once: as an arrival, drop or loss.
#[derive(Debug)]
pub struct Cell<P> {
    phy: Phy,
    mac: MacConfig,
    stations: Vec<StationConfig>,
    /// The access point, and then the stations.
    pub(super) nodes: Vec<Node<P>>,
    /// Error processes between each station and the access point.
    errors: Vec<Stream>,
    stage: Stage,
    /// When the stage ends.
    stage_ends: Time,
    /// When the access began.
    began: Time,
    senders: Vec<Sender>,
    /// Time of the next queue event.
    wakes: Time,
    pub(super) totals: CellTotals,
    pub(super) measured: Measured,
}

impl<P: Packet + Copy + std::fmt::Debug> Cell<P> {
    /// An idle cell. `queue` makes the interface queue of each node; `seed` and `name` fix the
    /// random streams.
    pub fn new(
        config: &CellConfig,
        window: Window,
        mut queue: impl FnMut(NodeId) -> Box<dyn Qdisc<Addressed<P>>>,
        seed: u64,
        name: &str,
    ) -> Self {
        let phy = &config.phy;
        let mut nodes = vec![Node::new(
            queue(NodeId::AccessPoint),
            phy,
            window,
            Stream::new(seed, &format!("{name}/ap/backoff")),
        )];
        for i in 0..config.stations.len() {
            let draws = Stream::new(seed, &format!("{name}/sta{i}/backoff"));
            nodes.push(Node::new(queue(NodeId::Station(i as u32)), phy, window, draws));
        }
        let errors = (0..config.stations.len())
            .map(|i| Stream::new(seed, &format!("{name}/sta{i}/errors")))
            .collect();
        Cell {
            phy: phy.clone(),
            mac: config.mac,
            stations: config.stations.clone(),
            nodes,
            errors,
            stage: Stage::Idle,
            stage_ends: Time::NEVER,
            began: Time::ZERO,
            senders: Vec::new(),
            wakes: Time::NEVER,
            totals: CellTotals::default(),
            measured: Measured::new(window),
        }
    }

    /// A packet for the other end: from `from`, which is the access point or `station`.
    pub fn enqueue(
        &mut self,
        from: NodeId,
        station: u32,
        packet: P,
        now: Time,
        out: &mut Outcome<P>,
    ) {
        self.note_edges(now);
        let index = from.index();
        let queued = Queued::new(Addressed { packet, station }, self.mac.overhead_bytes, now);
        self.nodes[index].enqueue(queued, now, &mut out.drops);
        if self.pull(index, now, out) {
            self.contend(index, now);
        }
    }

    /// Time of the next event.
    pub fn next_event(&self) -> Time {
        self.stage_ends.min(self.wakes)
    }

    /// Handle the event at `now`, which is [`Self::next_event`].
    pub fn handle(&mut self, now: Time, out: &mut Outcome<P>) {
        self.note_edges(now);
        if self.wakes <= now {
            self.wake(now, out);
        }
        if self.stage_ends > now {
            return;
        }
        match self.stage {
            Stage::Idle => self.begin_access(now),
            Stage::Access => self.end_access(now, out),
            Stage::Cts => self.end_cts(now, out),
            Stage::Data => self.end_data(now, out),
            Stage::Ack => self.end_ack(now, out),
        }
    }

    /// Ask queues whose wait is over.
    fn wake(&mut self, now: Time, out: &mut Outcome<P>) {
        for index in 0..self.nodes.len() {
            if self.nodes[index].wakes <= now && self.pull(index, now, out) {
                self.contend(index, now);
            }
        }
        self.wakes = self.nodes.iter().map(|node| node.wakes).min().unwrap_or(Time::NEVER);
    }

    /// Take a node's next packet as its current frame.
    fn pull(&mut self, index: usize, now: Time, out: &mut Outcome<P>) -> bool {
        let node = &mut self.nodes[index];
        let pulled = node.pull(now, &mut out.drops);
        self.wakes = self.wakes.min(node.wakes);
        pulled
    }

    /// An idle node has a frame.
    fn contend(&mut self, index: usize, now: Time) {
        let slot = self.phy.slot;
        let node = &mut self.nodes[index];
        match self.stage {
            Stage::Idle => {
                node.contend_idle(now, slot);
                self.stage_ends = self.stage_ends.min(node.access_at(slot));
            }
            // It has not noticed yet.
            Stage::Access if now < self.began + slot && node.is_free(self.began) => {
                self.transmit(index, now);
            }
            _ => node.contend_busy(),
        }
    }

    fn begin_access(&mut self, now: Time) {
        self.stage = Stage::Access;
        self.began = now;
        self.stage_ends = Time::ZERO;
        self.senders.clear();
        let slot = self.phy.slot;
        for index in 0..self.nodes.len() {
            let at = self.nodes[index].access_at(slot);
            if at < now + slot {
                self.transmit(index, at);
            } else {
                self.nodes[index].freeze(now, slot, &self.mac);
            }
        }
    }

    /// A node's first frame of an access begins.
    fn transmit(&mut self, index: usize, at: Time) {
        self.nodes[index].begin();
        let ends = at + self.first_frame_time(index);
        self.senders.push(Sender { node: index, ends });
        self.stage_ends = self.stage_ends.max(ends + self.phy.propagation);
    }

    fn end_access(&mut self, now: Time, out: &mut Outcome<P>) {
        self.totals.accesses += 1;
        if self.senders.len() > 1 {
            return self.end_collision(now, out);
        }
        let sender = self.senders[0].node;
        if !self.uses_rts(sender) {
            return self.end_data(now, out);
        }
        let cts = self.phy.response_time(self.rate(sender));
        if self.is_unreadable(sender, true) {
            let waits = Waits {
                sender: self.phy.response_timeout + self.phy.difs,
                receiver: self.phy.eifs,
                // 10.3.2.4: the allocation of an RTS ends without a CTS.
                others: self.phy.sifs * 2 + cts + self.phy.rx_start_delay + self.phy.slot * 2,
            };
            return self.fail(now, waits, true, out);
        }
        self.stage = Stage::Cts;
        self.stage_ends = now + self.phy.sifs + cts + self.phy.propagation;
    }

    fn end_collision(&mut self, now: Time, out: &mut Outcome<P>) {
        self.totals.collisions += 1;
        self.totals.collided += now.since(self.began);
        for node in &mut self.nodes {
            node.wait(now, self.phy.eifs, self.phy.difs);
        }
        for sender in &self.senders {
            // Transmitting nodes do not hear the others: they wait for the timeout, then as all do (also
            // in ns-2's mac-802_11.cc and ns-3's channel-access-manager.cc).
            let overdue = (sender.ends + self.phy.response_timeout).max(now);
            let node = &mut self.nodes[sender.node];
            node.totals.collisions += 1;
            node.wait(overdue, self.phy.difs, self.phy.difs);
            node.fail(true, &self.mac, &self.phy, out);
        }
        self.become_idle(now, out);
    }

    fn end_cts(&mut self, now: Time, out: &mut Outcome<P>) {
        let sender = self.senders[0].node;
        let data = self.data_time(sender);
        if self.is_unreadable(sender, true) {
            // The others have heard what the CTS announces.
            let ack = self.phy.response_time(self.rate(sender));
            let announced = now + self.phy.sifs * 2 + data + ack;
            let receiver = self.receiver(sender);
            for (index, node) in self.nodes.iter_mut().enumerate() {
                if index != sender && index != receiver {
                    node.reserved_until = announced;
                }
            }
            return self.fail(now, self.waits_after_response(), true, out);
        }
        self.stage = Stage::Data;
        self.stage_ends = now + self.phy.sifs + data + self.phy.propagation;
    }

    fn end_data(&mut self, now: Time, out: &mut Outcome<P>) {
        let sender = self.senders[0].node;
        let ack = self.phy.sifs + self.phy.response_time(self.rate(sender));
        if self.is_unreadable(sender, false) {
            let waits = Waits {
                sender: self.phy.response_timeout + self.phy.difs,
                receiver: self.phy.eifs,
                // The others have heard that an acknowledgement would follow.
                others: ack + self.phy.difs,
            };
            return self.fail(now, waits, !self.uses_rts(sender), out);
        }
        if let Some(Addressed { packet, station }) = self.nodes[sender].receive() {
            out.arrivals.push(Arrival { packet, from: NodeId::of(sender), station });
        }
        self.stage = Stage::Ack;
        self.stage_ends = now + ack + self.phy.propagation;
    }

    fn end_ack(&mut self, now: Time, out: &mut Outcome<P>) {
        let sender = self.senders[0].node;
        if self.is_unreadable(sender, true) {
            let short = !self.uses_rts(sender);
            return self.fail(now, self.waits_after_response(), short, out);
        }
        for node in &mut self.nodes {
            node.wait(now, self.phy.difs, self.phy.difs);
        }
        self.nodes[sender].finish(&self.phy);
        self.become_idle(now, out);
    }

    /// Wait after a response that the sender could not read.
    fn waits_after_response(&self) -> Waits {
        Waits { sender: self.phy.eifs, receiver: self.phy.difs, others: self.phy.difs }
    }

    /// The only sender fails, with a frame that counts as short or as long.
    fn fail(&mut self, now: Time, waits: Waits, short: bool, out: &mut Outcome<P>) {
        let difs = self.phy.difs;
        for node in &mut self.nodes {
            node.wait(now, waits.others, difs);
        }
        let sender = self.senders[0].node;
        let receiver = self.receiver(sender);
        self.nodes[receiver].wait(now, waits.receiver, difs);
        let node = &mut self.nodes[sender];
        node.totals.errors += 1;
        node.wait(now, waits.sender, difs);
        node.fail(short, &self.mac, &self.phy, out);
        self.become_idle(now, out);
    }

    /// An exchange is over: senders whose frames are done take their next packets.
    fn become_idle(&mut self, now: Time, out: &mut Outcome<P>) {
        self.totals.busy += now.since(self.began);
        self.measured.exchange(self.began, now, self.senders.len() > 1);
        for i in 0..self.senders.len() {
            let sender = self.senders[i].node;
            self.pull(sender, now, out);
            self.nodes[sender].end(self.began, now);
        }
        self.stage = Stage::Idle;
        let slot = self.phy.slot;
        let accesses = self.nodes.iter().map(|node| node.access_at(slot));
        self.stage_ends = accesses.min().unwrap_or(Time::NEVER);
    }

    /// Whether noise spoils a frame of the exchange that a node has begun.
    fn is_unreadable(&mut self, sender: usize, control: bool) -> bool {
        let station = self.station(sender);
        let config = &self.stations[station];
        let probability = if control { config.control_error_rate } else { config.frame_error_rate };
        probability > 0.0 && self.errors[station].unit() < probability
    }

    /// The station at one end of the exchange that a node has begun.
    fn station(&self, sender: usize) -> usize {
        match self.nodes[sender].head {
            Some(head) => head.packet.packet.station as usize,
            None => sender.saturating_sub(1),
        }
    }

    fn receiver(&self, sender: usize) -> usize {
        if sender == ACCESS_POINT { self.station(sender) + 1 } else { ACCESS_POINT }
    }

    fn rate(&self, sender: usize) -> Rate {
        self.stations[self.station(sender)].rate
    }

    fn bytes(&self, sender: usize) -> u32 {
        self.nodes[sender].head.map_or(0, |head| head.packet.bytes)
    }

    fn uses_rts(&self, sender: usize) -> bool {
        self.bytes(sender) > self.mac.rts_threshold
    }

    fn data_time(&self, sender: usize) -> Duration {
        self.phy.coding.frame_time(self.bytes(sender), self.rate(sender))
    }

    fn first_frame_time(&self, sender: usize) -> Duration {
        if self.uses_rts(sender) {
            self.phy.rts_time(self.rate(sender))
        } else {
            self.mac.cts_to_self.unwrap_or(Duration::ZERO) + self.data_time(sender)
        }
    }
}
