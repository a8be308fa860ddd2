//! What an application can do to its connections.

use std::ops::Range;

use fairway_units::Time;

use crate::connection::Connection;
use crate::direction::Direction;
use crate::event::{Component, EventQueue};

/// The connections of one application, and its clock.
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) application: u32,
    pub(crate) events: &'a mut EventQueue,
    /// Places of its connections in the run.
    pub(crate) own: Range<usize>,
    pub(crate) connections: &'a mut [Connection],
    /// Connections that may have something to send now.
    pub(crate) touched: &'a mut Vec<u32>,
}

impl Context<'_> {
    fn own(&mut self, connection: usize) -> &mut Connection {
        let place = self.own.start + connection;
        if self.touched.last() != Some(&(place as u32)) {
            self.touched.push(place as u32);
        }
        &mut self.connections[place]
    }

    /// How many connections it has.
    pub(crate) fn count(&self) -> usize {
        self.own.len()
    }

    /// Whether a connection was told to stop, or is closed.
    pub(crate) fn is_stopped(&self, connection: usize) -> bool {
        self.connections[self.own.start + connection].is_stopped()
    }

    /// Open a connection; nothing happens where it was told to stop.
    pub(crate) fn open(&mut self, connection: usize) {
        let now = self.now;
        self.own(connection).open(now);
    }

    /// Write data in `direction` to a connection; nothing happens where it was told to stop.
    pub(crate) fn write(&mut self, connection: usize, direction: Direction, bytes: u64) {
        self.own(connection).write_of_application(direction, bytes);
    }

    /// Close both ends of a connection behind what was written.
    pub(crate) fn close(&mut self, connection: usize) {
        let now = self.now;
        self.own(connection).close_of_application(now);
    }

    /// Be told when a connection has delivered `bytes` of data in `direction` since it began; of
    /// one amount at a time.
    pub(crate) fn await_delivery(&mut self, connection: usize, direction: Direction, bytes: u64) {
        self.connections[self.own.start + connection].await_delivery(direction, bytes);
    }

    /// Be told while less than `bytes` of what was written at the source wait to be sent.
    pub(crate) fn keep_filled(&mut self, connection: usize, bytes: u64) {
        self.connections[self.own.start + connection].keep_filled(bytes);
    }

    /// Whether what was written to a connection and not sent fills its buffer.
    pub(crate) fn is_full(&self, connection: usize) -> bool {
        self.connections[self.own.start + connection].has_enough()
    }

    /// Be told once when the buffer of a connection has room.
    pub(crate) fn await_room(&mut self, connection: usize) {
        let connection = &mut self.connections[self.own.start + connection];
        connection.keep_filled(connection.enough());
    }

    /// Bytes that a connection has delivered in `direction` since it began.
    pub(crate) fn delivered(&self, connection: usize, direction: Direction) -> u64 {
        self.connections[self.own.start + connection].delivered(direction)
    }

    /// Be told when it is `at`, with a token that says what for.
    pub(crate) fn wake(&mut self, at: Time, token: u32) {
        self.events.push(at, Component::Wake(self.application, token));
    }
}
