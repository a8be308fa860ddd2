//! Frames and messages of an authenticated connection.
//!
//! A [`Channel`] is a connection whose ends have authenticated ([`auth`](crate::auth)). It carries
//! frames, within TLS or in the clear, and payload where a frame announces it:
//!
//! ```text
//! frame    length      u32, little-endian, at most 256 KiB
//!          proof       8 bytes: BLAKE3, keyed with the direction's key, over the frame's number with
//!                      its highest bit set and the length
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
//! Without TLS, the end of a stream proves nothing: completeness is confirmed by messages. A frame with
//! an empty message is a keepalive.
//!
//! A length is believed after its proof, then bounded, and a message is decoded after its tag: no byte
//! changed on the way makes a reader wait for bytes that nobody sent. No read or write waits longer
//! than the channel's patience for the next byte.

mod channel;
mod control;
pub(crate) mod frame;
mod inbox;
mod link;
pub mod messages;
mod tls;

pub use channel::Channel;
pub use control::{ControlReceiver, ControlSender};
pub use frame::MAX_MESSAGE_BYTES;
pub use link::PATIENCE;

pub(crate) use channel::Parts;
pub(crate) use frame::{FrameError, HEADER_BYTES, Keys, Opener, Sealer, decode};
pub(crate) use inbox::Inbox;
pub(crate) use link::Link;
pub(crate) use tls::{Received, Tls, tls_failure};

#[cfg(test)]
mod tests;
