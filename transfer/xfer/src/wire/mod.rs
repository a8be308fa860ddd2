//! The words that two ends exchange, and how they stand in a stream.
//!
//! A [`Channel`] is a connection whose ends have proved themselves ([`auth`](crate::auth)). What
//! goes through it, within TLS or plainly, is frames, and payload where a frame has announced it:
//!
//! ```text
//! frame    length      u32, little-endian, at most 256 KiB
//!          message     that many bytes, in postcard's encoding
//!          tag         16 bytes: BLAKE3, keyed with the direction's key, over the frame's number
//!                      in its direction (u64, little-endian, from 0) and the message
//! payload  raw bytes; how many, a frame before it says, and their hash, one before or behind
//! ```
//!
//! So a frame that was changed, left out, repeated, moved, taken from the other direction or from
//! another connection has a wrong tag, with or without TLS, and what has a right one was written by
//! someone who knows the token. Payload has no tags of its own: within TLS it is protected as well as
//! anything; plainly, it is protected by the hash in a message, and can be sent by `sendfile` and
//! received where it belongs without being touched in between.
//!
//! The end of a stream proves nothing where there is no TLS: whoever must know that all has come
//! says so in a message. A frame with an empty message is a sign of life.
//!
//! Nothing that the other side announces is believed beyond its bound, and a frame's message is not
//! decoded before its tag is right. No read or write waits longer than the channel's patience for a
//! side that says or takes nothing.

mod channel;
mod control;
mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod inbox;
mod link;
pub mod messages;
mod tls;

pub use channel::Channel;
pub use control::{ControlReceiver, ControlSender};
pub use frame::MAX_MESSAGE_BYTES;
pub use link::PATIENCE;

pub(crate) use channel::Parts;
pub(crate) use frame::{FrameError, Keys, LENGTH_BYTES, Opener, Sealer, decode};
pub(crate) use inbox::Inbox;
pub(crate) use link::Link;
pub(crate) use tls::{Received, Tls, tls_failure};

#[cfg(test)]
mod tests;
