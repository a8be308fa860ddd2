//! Datagram flows: packets that leave when an application says, whatever becomes of them.
//!
//! They have no connection and no acknowledgements: a [`Schedule`] at one end, a [`Receiver`] at
//! the other, and one event for the next packet. Between them a datagram is a handle as a segment
//! is, and lies where segments lie: its sequence number stands in the place of a stream offset.

use fairway_net::datagrams::{Arrival, Receiver, Schedule, UDP_HEADERS};
use fairway_net::{Packet, Window, memory_of};
use fairway_schema::{DatagramSummary, FlowBalance, FlowCounts, Violation};
use fairway_tcp::{Flags, Segment};
use fairway_units::random::Stream;
use fairway_units::{Duration, Time};

use crate::network::Network;
use crate::packet_handle::{PacketHandle, SegmentPool};
use fairway_spec::{DatagramFlow, Experiment, departures_of};

/// All datagram flows of a run.
pub(crate) struct Datagrams {
    flows: Vec<Ends>,
    /// The path of the first; the others follow.
    first_path: u32,
}

/// Both ends of a datagram flow, and its packet balance.
struct Ends {
    schedule: Schedule,
    receiver: Receiver,
    balance: FlowBalance,
    /// Packets that were dropped or lost.
    missing: u64,
    /// Sequence number of the next packet, which is how many have left.
    sequence: u64,
    /// Payload of a full packet.
    payload_bytes: u32,
    /// Payload that may still leave.
    left_bytes: u64,
    /// How much there was at first, if it has an end.
    transfer_bytes: Option<u64>,
    /// When the first packet leaves.
    first_at: Time,
    start: Time,
    /// No packet leaves then or later.
    stop: Time,
    path: u32,
    entrance: u32,
    precedence: u8,
    send_buffer: Option<SendBuffer>,
    finished: Option<Time>,
    /// The jitter at the end of the measuring window.
    jitter_in_window: Option<Duration>,
}

/// The buffer of a socket: its packets take memory there until they have left their first link.
struct SendBuffer {
    size_bytes: u64,
    taken_bytes: u64,
    /// Whether the application waits for room.
    is_awaited: bool,
}

impl SendBuffer {
    /// A packet is let in while there is any room (Linux net/core/sock.c, `sock_alloc_send_pskb`).
    fn is_full(&self) -> bool {
        self.taken_bytes >= self.size_bytes
    }

    /// An application that waits goes on when more than half of the buffer is free
    /// (include/net/sock.h, `sock_writeable`).
    fn is_writeable(&self) -> bool {
        self.taken_bytes < self.size_bytes / 2
    }
}

impl Datagrams {
    pub(crate) fn new(experiment: &Experiment, network: &Network) -> Self {
        let first_path = 2 * experiment.flows.len() as u32;
        let window = Window { from: experiment.measure.from, to: experiment.measure.to };
        let ends = |(index, flow): (usize, &DatagramFlow)| {
            let path = first_path + index as u32;
            let payload_bytes = flow.packet_bytes - UDP_HEADERS;
            let (schedule, first_at) = Schedule::new(
                &flow.pattern,
                flow.rate,
                payload_bytes,
                flow.jittered_start(experiment.seed, index),
                Stream::new(experiment.seed, &departures_of(index)),
            );
            Ends {
                schedule,
                receiver: Receiver::new(window),
                balance: FlowBalance::default(),
                missing: 0,
                sequence: 0,
                payload_bytes,
                left_bytes: flow.bytes.map_or(u64::MAX, |bytes| bytes.get()),
                transfer_bytes: flow.bytes.map(|bytes| bytes.get()),
                first_at,
                start: flow.start,
                stop: flow.stop.unwrap_or(Time::NEVER),
                path,
                entrance: network.entrance_of(path),
                precedence: flow.precedence,
                send_buffer: flow.send_buffer.map(|size| SendBuffer {
                    size_bytes: size.get(),
                    taken_bytes: 0,
                    is_awaited: false,
                }),
                finished: None,
                jitter_in_window: None,
            }
        };
        Datagrams { flows: experiment.datagrams.iter().enumerate().map(ends).collect(), first_path }
    }

    /// When the first packet of each flow leaves, if it has one.
    pub(crate) fn first_departures(&self) -> impl Iterator<Item = (u32, Time)> {
        let flows = (0..).zip(&self.flows);
        flows.filter(|(_, flow)| flow.first_at < flow.stop).map(|(i, flow)| (i, flow.first_at))
    }

    /// Whether a handle is a datagram.
    #[inline(always)]
    pub(crate) fn is_datagram(&self, handle: &PacketHandle) -> bool {
        handle.path() >= self.first_path
    }

    fn flow(&mut self, handle: &PacketHandle) -> &mut Ends {
        &mut self.flows[(handle.path() - self.first_path) as usize]
    }

    /// Whether the application of a flow has to wait until [`Self::release`] says that it goes on.
    pub(crate) fn must_wait(&mut self, index: u32) -> bool {
        let buffer = self.flows[index as usize].send_buffer.as_mut();
        buffer.is_some_and(|buffer| {
            buffer.is_awaited = buffer.is_full();
            buffer.is_awaited
        })
    }

    /// A packet that took room in its sender's buffer takes it no longer. Returns the flow if its
    /// application waited, and sends now.
    pub(crate) fn release(&mut self, handle: &PacketHandle, now: Time) -> Option<u32> {
        let index = handle.path() - self.first_path;
        let flow = &mut self.flows[index as usize];
        let buffer = flow.send_buffer.as_mut()?;
        buffer.taken_bytes -= memory_of(handle.wire_bytes());
        let goes_on = buffer.is_awaited && buffer.is_writeable();
        buffer.is_awaited &= !goes_on;
        (goes_on && now < flow.stop).then_some(index)
    }

    /// A packet leaves. Returns it, and when the next one leaves.
    pub(crate) fn send(
        &mut self,
        index: u32,
        pool: &mut SegmentPool,
        now: Time,
    ) -> (PacketHandle, Option<Time>) {
        let flow = &mut self.flows[index as usize];
        let payload_bytes = (u64::from(flow.payload_bytes).min(flow.left_bytes)) as u32;
        let place = pool.place();
        let datagram = pool.segment(place);
        datagram.sent_at = now;
        datagram.payload_offset = flow.sequence;
        datagram.payload_bytes = payload_bytes;
        datagram.flags = Flags::default();
        flow.sequence += 1;
        flow.balance.sent += 1;
        if flow.transfer_bytes.is_some() {
            flow.left_bytes -= u64::from(payload_bytes);
        }
        let next = flow.schedule.next(now, payload_bytes);
        let is_last = flow.left_bytes == 0 || next >= flow.stop;
        let wire_bytes = payload_bytes + UDP_HEADERS;
        let mut handle =
            pool.send_datagram(place, flow.path, flow.entrance, wire_bytes, flow.precedence);
        if let Some(buffer) = &mut flow.send_buffer {
            buffer.taken_bytes += memory_of(wire_bytes);
            handle = handle.held();
        }
        (handle, (!is_last).then_some(next))
    }

    /// A packet arrives.
    pub(crate) fn receive(
        &mut self,
        handle: &PacketHandle,
        datagram: &Segment,
        now: Time,
    ) -> Result<(), Violation> {
        let flow = self.flow(handle);
        let sequence = datagram.payload_offset;
        if sequence >= flow.sequence {
            let what = format!("datagram {sequence} arrived, but {} have left", flow.sequence);
            return Err(Violation::new(now, what));
        }
        flow.balance.delivered += 1;
        let arrival = Arrival {
            sequence,
            sent_at: datagram.sent_at,
            payload_bytes: datagram.payload_bytes,
            wire_bytes: datagram.payload_bytes + UDP_HEADERS,
        };
        flow.receiver.receive(arrival, now);
        if flow.transfer_bytes == Some(flow.receiver.payload_bytes) {
            flow.finished.get_or_insert(now);
        }
        Ok(())
    }

    /// A link has doubled a packet.
    pub(crate) fn note_copy(&mut self, handle: &PacketHandle) {
        self.flow(handle).balance.copied += 1;
    }

    /// A packet will not arrive: it is counted for its flow.
    pub(crate) fn miss(&mut self, handle: &PacketHandle) -> &mut FlowBalance {
        let flow = self.flow(handle);
        flow.missing += 1;
        &mut flow.balance
    }

    /// Takes over what has become of the flows in another region, and the flows that are there.
    pub(crate) fn absorb(&mut self, other: Datagrams, is_there: impl Fn(u32) -> bool) {
        for (own, mut elsewhere) in self.flows.iter_mut().zip(other.flows) {
            if is_there(own.path) {
                std::mem::swap(own, &mut elsewhere);
            }
            own.missing += elsewhere.missing;
            own.balance += elsewhere.balance;
        }
    }

    /// The path of a flow.
    pub(crate) fn path(&self, flow: u32) -> u32 {
        self.first_path + flow
    }

    /// The measuring window ends.
    pub(crate) fn end_window(&mut self) {
        for flow in &mut self.flows {
            let nanos = flow.receiver.jitter_nanos;
            let measured = flow.receiver.received > 1;
            flow.jitter_in_window = measured.then(|| Duration::from_nanos(nanos.round() as u64));
        }
    }

    /// Counters of a flow now, from the start of the run.
    pub(crate) fn counts(&self, index: usize) -> FlowCounts {
        let flow = &self.flows[index];
        FlowCounts {
            delivered_bytes: flow.receiver.payload_bytes,
            wire_bytes: flow.receiver.wire_bytes,
            segments: flow.sequence,
            missing: flow.missing,
            arrivals: flow.receiver.received,
            delay_nanos: flow.receiver.delay_nanos,
            reordered: flow.receiver.reordered,
            duplicated: flow.receiver.duplicated,
            ..FlowCounts::default()
        }
    }

    /// Payload that has arrived, each byte once.
    pub(crate) fn delivered_bytes(&self, index: usize) -> u64 {
        self.flows[index].receiver.payload_bytes
    }

    /// Packets that have arrived, of all flows.
    pub(crate) fn arrivals(&self) -> u64 {
        self.flows.iter().map(|flow| flow.receiver.received).sum()
    }

    /// From a flow's start to the arrival of its last byte, if all have arrived.
    pub(crate) fn completion_time(&self, index: usize) -> Option<Duration> {
        let flow = &self.flows[index];
        flow.finished.map(|at| at.since(flow.start))
    }

    /// What the receiver of a flow says of the measuring window.
    pub(crate) fn summary(
        &self,
        index: usize,
        spec: &DatagramFlow,
        counts: &FlowCounts,
    ) -> DatagramSummary {
        let flow = &self.flows[index];
        let delay_s = |q| flow.receiver.delays.quantile(q).map(Duration::as_secs_f64);
        DatagramSummary {
            kind: spec.pattern.name(),
            received_packets: counts.arrivals,
            reordered_packets: counts.reordered,
            duplicated_packets: counts.duplicated,
            loss_ratio: (counts.segments > 0)
                .then(|| counts.missing as f64 / counts.segments as f64),
            jitter_s: flow.jitter_in_window.map(Duration::as_secs_f64),
            p50_one_way_delay_s: delay_s(0.5),
            p95_one_way_delay_s: delay_s(0.95),
            p99_one_way_delay_s: delay_s(0.99),
        }
    }

    /// Every packet sent was delivered, dropped or lost, or is on its way; and what a sender's buffer
    /// holds are those of them that have not left their first link.
    pub(crate) fn check_balance(
        &self,
        specs: &[DatagramFlow],
        on_their_way: &[PacketHandle],
        now: Time,
    ) -> Result<(), Violation> {
        let mut inside = vec![0u64; self.flows.len()];
        let mut held_bytes = vec![0u64; self.flows.len()];
        for handle in on_their_way.iter().filter(|handle| self.is_datagram(handle)) {
            let index = (handle.path() - self.first_path) as usize;
            inside[index] += 1;
            held_bytes[index] += if handle.is_held() { memory_of(handle.wire_bytes()) } else { 0 };
        }
        for (((flow, spec), inside), held) in
            self.flows.iter().zip(specs).zip(inside).zip(held_bytes)
        {
            flow.balance.balance(&spec.id, inside, now)?;
            let taken = flow.send_buffer.as_ref().map_or(0, |buffer| buffer.taken_bytes);
            if taken != held {
                let what =
                    format!("{}: its buffer counts {taken} bytes, packets take {held}", spec.id);
                return Err(Violation::new(now, what));
            }
        }
        Ok(())
    }
}
