//! A cell against models of it, and against exchanges worked out by hand.

mod exchange;
mod saturation;
mod share;

use std::collections::VecDeque;

use fairway_units::Time;

use super::*;
use crate::{Drops, Ecn, Line, Next, Packet, Qdisc, Queued, Waiting, Window};

/// A packet of so many bytes, with a number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sized {
    bytes: u32,
    number: u64,
}

impl Packet for Sized {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark_congestion(&mut self) {}
}

/// First in, first out, up to a number of packets.
#[derive(Debug)]
struct Fifo {
    limit: usize,
    packets: VecDeque<Queued<Addressed<Sized>>>,
}

impl Qdisc<Addressed<Sized>> for Fifo {
    fn enqueue(
        &mut self,
        packet: Queued<Addressed<Sized>>,
        _: &Line,
        _: Time,
        drops: &mut Drops<Addressed<Sized>>,
    ) {
        if self.packets.len() < self.limit {
            self.packets.push_back(packet);
        } else {
            drops.no_room(packet);
        }
    }
    fn dequeue(&mut self, _: Time, _: &mut Drops<Addressed<Sized>>) -> Next<Addressed<Sized>> {
        self.packets.pop_front().map_or(Next::Empty, Next::Packet)
    }
    fn waiting(&self) -> Waiting {
        let bytes = self.packets.iter().map(|packet| u64::from(packet.bytes)).sum();
        Waiting { packets: self.packets.len() as u64, bytes }
    }
}

fn cell(config: &CellConfig) -> Cell<Sized> {
    cell_with(config, 1000, 1)
}

fn cell_with(config: &CellConfig, limit: usize, seed: u64) -> Cell<Sized> {
    let always = Window { from: Time::ZERO, to: Time::NEVER };
    Cell::new(config, always, |_| Box::new(Fifo { limit, packets: VecDeque::new() }), seed, "wlan")
}

fn micros(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}
