//! A sans-I/O TCP endpoint: segments and timer expiries go in, segments and a deadline come out.
//!
//! There is one stack; a [`Preset`] is a table of switches that makes it behave like a particular
//! implementation. Sequence numbers are 32 bits on the wire and 64-bit stream offsets inside.

mod ack_compression;
mod ack_policy;
mod burst;
mod controller;
mod delivery_rate;
mod duplicate_report;
mod ecn;
mod endpoint;
mod memory;
mod pacing;
mod preset;
mod quick_ack;
mod rack;
mod ranges;
mod receive_window;
mod receiver;
mod rtt;
mod scoreboard;
#[cfg(test)]
mod scoreboard_tests;
mod segment;
mod sender;
mod sequence;
mod timer;
mod timer_wheel;
mod undo;
mod validation;
mod write_queue;

pub use delivery_rate::DeliveryRate;
pub use ecn::EcnMode;
pub use endpoint::{Config, Endpoint, Role, State, Transmit};
pub use preset::{DelayedAck, LossDetection, Nagle, PRESETS, Preset, Stack};
pub use ranges::Range;
pub use receiver::{Arrival, Receiver};
pub use segment::{
    Flags, IP_HEADER_BYTES, SackBlock, Segment, TCP_HEADER_BYTES, TIMESTAMP_OPTION_BYTES,
};
pub use sender::{Outstanding, Recovery, Sender, SenderCounters};
pub use sequence::SeqNr;
pub use timer_wheel::TimerWheel;
