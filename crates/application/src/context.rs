//! What an application can do to its connections.

use fairway_units::Time;

use crate::Direction;

/// The connections of one application, and its clock: a simulator's, or sockets of a kernel.
pub trait Context {
    /// The time.
    fn now(&self) -> Time;

    /// How many connections it has.
    fn count(&self) -> usize;

    /// Whether a connection was told to stop, or is closed.
    fn is_stopped(&self, connection: usize) -> bool;

    /// Open a connection; nothing happens where it was told to stop.
    fn open(&mut self, connection: usize);

    /// Write data in `direction` to a connection; nothing happens where it was told to stop.
    fn write(&mut self, connection: usize, direction: Direction, bytes: u64);

    /// Close both ends of a connection behind what was written.
    fn close(&mut self, connection: usize);

    /// Be told when a connection has delivered `bytes` of data in `direction` since it began; of
    /// one amount at a time.
    fn await_delivery(&mut self, connection: usize, direction: Direction, bytes: u64);

    /// Be told while less than `bytes` of what was written at the source wait to be sent.
    fn keep_filled(&mut self, connection: usize, bytes: u64);

    /// Whether what was written to a connection and not sent fills its buffer.
    fn is_full(&self, connection: usize) -> bool;

    /// Be told once when the buffer of a connection has room.
    fn await_room(&mut self, connection: usize);

    /// Bytes that a connection has delivered in `direction` since it began.
    fn delivered(&self, connection: usize, direction: Direction) -> u64;

    /// Be told when it is `at`, with a token that says what for.
    fn wake(&mut self, at: Time, token: u32);
}
