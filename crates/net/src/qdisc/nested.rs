//! A queue discipline inside another one.

use fairway_units::Time;

use super::{Drops, Line, Next, Qdisc, Queued, Waiting};
use crate::Packet;

/// A discipline inside another one. What is behind it is not the line, which may be busy with
/// packets that are not its own: it is idle when it has been asked for a packet and had none, as
/// Linux's RED has it (`net/sched/sch_red.c`, `red_dequeue`).
#[derive(Debug)]
pub(super) struct Nested<P> {
    qdisc: Box<dyn Qdisc<P>>,
    /// A packet taken out before it may leave, which is how Linux looks at the head of a discipline
    /// that decides when it is asked (`include/net/sch_generic.h`, `qdisc_peek_dequeued`).
    head: Option<Queued<P>>,
    idle_since: Option<Time>,
}

impl<P: Packet> Nested<P> {
    pub(super) fn new(qdisc: Box<dyn Qdisc<P>>) -> Self {
        Nested { qdisc, head: None, idle_since: Some(Time::ZERO) }
    }

    pub(super) fn enqueue(&mut self, packet: Queued<P>, now: Time, drops: &mut Drops<P>) {
        let transmitting_bytes = self.head.as_ref().map_or(0, |head| head.bytes);
        let line = Line { transmitting_bytes, idle_since: self.idle_since };
        self.qdisc.enqueue(packet, &line, now, drops);
        if self.idle_since.is_some() {
            // What it has forgotten while idle, it need not forget again.
            self.idle_since = (self.qdisc.waiting().packets == 0).then_some(now);
        }
    }

    /// The bytes of the next packet, which stays; or what to answer instead of a packet.
    pub(super) fn peek(&mut self, now: Time, drops: &mut Drops<P>) -> Result<u32, Next<P>> {
        if self.head.is_none() {
            match self.ask(now, drops) {
                Next::Packet(packet) => self.head = Some(packet),
                none => return Err(none),
            }
        }
        self.head.as_ref().map(|head| head.bytes).ok_or(Next::Empty)
    }

    pub(super) fn dequeue(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P> {
        match self.head.take() {
            Some(packet) => Next::Packet(packet),
            None => self.ask(now, drops),
        }
    }

    fn ask(&mut self, now: Time, drops: &mut Drops<P>) -> Next<P> {
        let next = self.qdisc.dequeue(now, drops);
        if matches!(next, Next::Empty) && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        next
    }

    pub(super) fn waiting(&self) -> Waiting {
        let Waiting { packets, bytes } = self.qdisc.waiting();
        match &self.head {
            None => Waiting { packets, bytes },
            Some(head) => Waiting { packets: packets + 1, bytes: bytes + u64::from(head.bytes) },
        }
    }
}
