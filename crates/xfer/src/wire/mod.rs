//! The words that two ends exchange, and how they stand in a stream.

mod channel;
mod control;
mod frame;
mod inbox;
mod link;
mod tls;

pub use channel::Channel;
pub use control::{ControlReceiver, ControlSender};
pub use frame::MAX_MESSAGE_BYTES;
pub use link::PATIENCE;

pub(crate) use channel::Parts;
pub(crate) use frame::{FrameError, Keys, LENGTH_BYTES, Opener, Sealer, decode};
pub(crate) use inbox::Inbox;
pub(crate) use link::Link;
pub(crate) use tls::{Received, Tls};

#[cfg(test)]
mod tests;
