//! Segments leave their hosts.

use fairway_schema::Violation;
use fairway_tcp::Transmit;
use fairway_units::{Duration, Time};

use super::{SOURCE, Simulation};
use crate::capture::Tap;
use crate::event::Component;
use crate::packet_handle::PacketHandle;

impl<T: Tap> Simulation<'_, T> {
    /// As [`Self::pump`], where it is not for every packet.
    #[inline(never)]
    pub(super) fn pump_apart<const SIDE: usize>(&mut self, index: u32) -> Result<(), Violation> {
        let place = self.pool.place();
        self.pump::<SIDE>(index, place)
    }

    /// Send what an endpoint has to send, and see to its timer. The first segment takes `place`.
    #[inline(always)]
    pub(super) fn pump<const SIDE: usize>(
        &mut self,
        index: u32,
        mut place: u32,
    ) -> Result<(), Violation> {
        let path = index * 2 + SIDE as u32;
        let entrance = self.network.entrance_of(path);
        loop {
            let segment = self.pool.segment(place);
            let this = &mut self.connections[index as usize];
            let transmit = this.transmit_into::<SIDE>(segment, self.now)?;
            if transmit == Transmit::Nothing {
                self.pool.give_back(place);
                break;
            }
            let handle = PacketHandle::of(segment, place, path, this.precedence);
            let entrance = self.network.in_turn(entrance, path);
            let handle = handle.at(entrance);
            let at = self.departure::<SIDE>(entrance, index);
            if T::IS_ACTIVE {
                self.tap.sets_out(&handle, self.pool.segment(place), at);
            }
            self.offer(handle, at);
            if transmit == Transmit::LastSegment {
                break;
            }
            place = self.pool.place();
        }
        let this = &mut self.connections[index as usize];
        let endpoint = if SIDE == SOURCE { &this.source } else { &this.sink };
        let deadline = endpoint.poll_timeout();
        if deadline < this.timer_at[SIDE] {
            let at = deadline.max(self.now);
            this.timer_at[SIDE] = at;
            self.events.push(at, Component::Timer(path));
        }
        Ok(())
    }

    /// When a segment reaches its first link: order is kept whatever the delay.
    #[inline(always)]
    fn departure<const SIDE: usize>(&mut self, entrance: u32, connection: u32) -> Time {
        if self.departed.is_empty() {
            return self.now;
        }
        self.delayed_departure::<SIDE>(entrance, connection)
    }

    fn delayed_departure<const SIDE: usize>(&mut self, entrance: u32, connection: u32) -> Time {
        let connection = &mut self.connections[connection as usize];
        let sends = SIDE == SOURCE || connection.is_both_ways();
        let delay = match &mut connection.jitter {
            Some(jitter) if sends => jitter.next(),
            _ => Duration::ZERO,
        };
        self.behind_others(entrance, delay)
    }

    /// When a packet that leaves its host after a delay reaches its first link, behind those that
    /// left before.
    pub(super) fn behind_others(&mut self, entrance: u32, delay: Duration) -> Time {
        if self.departed.is_empty() {
            return self.now;
        }
        let last = &mut self.departed[self.network.link_at(entrance) as usize];
        *last = (self.now + delay).max(*last);
        *last
    }
}
