//! Traffic between two hosts: a generator proposes it, a collector accepts, and both measure.
//!
//! The control channel ([`crate::wire`]) is encrypted; the flows are not, because their payload is
//! meaningless. A session:
//!
//! ```text
//! generator  Propose { plan, clock }       what each flow sends, when, and which way
//! collector  Accept { session, clock }     or Refuse
//! generator  opens a connection for each flow of TCP (Purpose::LoadData { session, flow }),
//!            sends a Hello datagram for each flow of UDP until
//! collector  Ready                         all are there
//! generator  Begin                         at both ends the clock starts
//! both       payload; Sent and AllSent when all that an end sends is written, Received when all
//!            that comes to it has come
//! collector  Seen, Samples, End            what it has counted and measured
//! generator  End
//! ```
//!
//! Both ends derive flows and random gaps from the plan and its seed. A TCP flow ends with its stream, a
//! datagram flow when all datagrams have arrived or none arrives for a second. A collector sends
//! datagrams only to an address that sent a Hello with the session's number, and only if it is that of
//! the generator's control connection.

mod collect;
mod dialogue;
mod engine;
mod gaps;
mod generate;
mod header;
#[cfg(test)]
mod hostile_tests;
pub(crate) mod messages;
mod options;
mod pattern;
mod plan;
mod report;
mod running;
mod seen;
mod session;
mod sockets;
#[cfg(test)]
mod tests;

pub use header::BYTES as SMALLEST_DATAGRAM;
pub use options::{CollectOptions, Directions, FlowOptions, GenerateOptions, Timing};
pub use plan::{LARGEST_DATAGRAM, Transport};

pub(crate) use collect::collect;
pub(crate) use generate::{Generated, generate};

/// A collector's default port, next to that of a file receiver.
pub const DEFAULT_PORT: u16 = 5312;
