//! Captures of packets: files read and written, and the headers in them.
//!
//! `read` turns any capture into [`Packet`]s, one by one, in memory that does not grow with the
//! file; `write` makes captures that the standard tools accept. What packets mean together is the
//! matter of `fairway-analysis`.

pub mod packet;
pub mod read;
pub mod write;

pub use packet::{Options, Packet, Tcp, Transport, Udp};
