//! What an application can do to its connections.

use std::ops::Range;

use fairway_application::Context;
use fairway_units::Time;

use crate::connection::Connection;
use crate::direction::Direction;
use crate::event::{Component, EventQueue};

/// The connections of one application, and its clock.
pub(crate) struct OwnConnections<'a> {
    pub(crate) now: Time,
    pub(crate) application: u32,
    pub(crate) events: &'a mut EventQueue,
    /// Places of its connections in the run.
    pub(crate) own: Range<usize>,
    pub(crate) connections: &'a mut [Connection],
    /// Connections that may have something to send now.
    pub(crate) touched: &'a mut Vec<u32>,
}

impl OwnConnections<'_> {
    fn own(&mut self, connection: usize) -> &mut Connection {
        let place = self.own.start + connection;
        if self.touched.last() != Some(&(place as u32)) {
            self.touched.push(place as u32);
        }
        &mut self.connections[place]
    }
}

impl Context for OwnConnections<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn count(&self) -> usize {
        self.own.len()
    }

    fn is_stopped(&self, connection: usize) -> bool {
        self.connections[self.own.start + connection].is_stopped()
    }

    fn open(&mut self, connection: usize) {
        let now = self.now;
        self.own(connection).open(now);
    }

    fn write(&mut self, connection: usize, direction: Direction, bytes: u64) {
        self.own(connection).write_of_application(direction, bytes);
    }

    fn close(&mut self, connection: usize) {
        let now = self.now;
        self.own(connection).close_of_application(now);
    }

    fn await_delivery(&mut self, connection: usize, direction: Direction, bytes: u64) {
        self.connections[self.own.start + connection].await_delivery(direction, bytes);
    }

    fn keep_filled(&mut self, connection: usize, bytes: u64) {
        self.connections[self.own.start + connection].keep_filled(bytes);
    }

    fn is_full(&self, connection: usize) -> bool {
        self.connections[self.own.start + connection].has_enough()
    }

    fn await_room(&mut self, connection: usize) {
        let connection = &mut self.connections[self.own.start + connection];
        connection.keep_filled(connection.enough());
    }

    fn delivered(&self, connection: usize, direction: Direction) -> u64 {
        self.connections[self.own.start + connection].delivered(direction)
    }

    fn wake(&mut self, at: Time, token: u32) {
        self.events.push(at, Component::Wake(self.application, token));
    }
}
