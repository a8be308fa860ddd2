//! Segments leave their hosts.

use fairway_schema::Violation;
use fairway_tcp::Transmit;
use fairway_units::{Duration, Time};

use super::Simulation;
use crate::capture::Tap;
use crate::event::Component;
use crate::network::Passage;
use crate::packet_handle::PacketHandle;

impl<T: Tap> Simulation<'_, T> {
    /// As [`Self::pump`], where it is not for every packet.
    #[inline(never)]
    pub(super) fn pump_apart<const SIDE: usize>(&mut self, index: u32) -> Result<(), Violation> {
        let place = self.pool.place();
        self.pump::<SIDE>(index, place, None)
    }

    /// Send what an endpoint has to send, and see to its timer. The first segment takes `place`, where an
    /// `answer` may have been written.
    #[inline(always)]
    pub(super) fn pump<const SIDE: usize>(
        &mut self,
        index: u32,
        mut place: u32,
        mut answer: Option<Transmit>,
    ) -> Result<(), Violation> {
        let path = index * 2 + SIDE as u32;
        let entrance = self.network.entrance_of(path);
        let timer = loop {
            let segment = self.pool.segment(place);
            let this = &mut self.connections[index as usize];
            let is_answer = answer.is_some();
            let transmit = match answer.take() {
                Some(transmit) => transmit,
                None => this.transmit_into::<SIDE>(segment, self.now)?,
            };
            if transmit == Transmit::Nothing {
                self.pool.give_back(place);
                break this.set_timer::<SIDE>(self.now);
            }
            let handle = PacketHandle::of(segment, place, path, this.precedence);
            let delay =
                if self.departed.is_empty() { Duration::ZERO } else { this.delay::<SIDE>() };
            let is_last = transmit == Transmit::LastSegment;
            // An end that has just answered, and sends nothing itself, waits for nothing.
            let waits = is_last && !is_answer;
            let timer = if waits { this.set_timer::<SIDE>(self.now) } else { None };
            let entrance = self.network.in_turn(entrance, path);
            let handle = handle.at(entrance);
            let at = self.behind_others(entrance, delay);
            if T::IS_ACTIVE {
                self.tap.sets_out(&handle, self.pool.segment(place), at);
            }
            self.offer_first(handle, at);
            if is_last {
                break timer;
            }
            place = self.pool.place();
        };
        if let Some(at) = timer {
            self.events.push(at, Component::Timer(path));
        }
        Ok(())
    }

    /// Give a packet to its first link, which is a host's.
    #[inline(always)]
    fn offer_first(&mut self, handle: PacketHandle, at: Time) {
        match self.network.offer_plain(handle, at, at, &mut self.tap) {
            Some(Passage::Begins(due, queue)) => self.events.push_delivery(due, queue),
            Some(_) => {}
            None => self.offer(handle, at),
        }
    }

    /// When a packet that leaves its host after a delay reaches its first link, behind those that
    /// left before.
    #[inline(always)]
    pub(super) fn behind_others(&mut self, entrance: u32, delay: Duration) -> Time {
        if self.departed.is_empty() {
            return self.now;
        }
        let last = &mut self.departed[self.network.link_at(entrance) as usize];
        *last = (self.now + delay).max(*last);
        *last
    }
}
