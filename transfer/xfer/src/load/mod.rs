//! Traffic between two hosts: a generator writes it, a collector takes it, both measure.
//!
//! The control channel ([`crate::wire`]) is encrypted; what the flows carry is not, as it says
//! nothing. A session goes so:
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
//! Both ends make the flows and their random gaps from the plan and its seed. A flow of TCP ends with
//! its stream; one of datagrams when all that were sent have come, or none more comes for a second.
//! A collector sends datagrams only to where a Hello with the session's number came from, and only
//! if that is the address of the generator's own control connection.

mod collect;
mod engine;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod gaps;
mod generate;
mod header;
#[cfg(test)]
mod hostile_tests;
mod messages;
mod options;
mod pattern;
mod plan;
mod report;
mod running;
mod seen;
mod session;
mod sockets;
mod talk;
#[cfg(test)]
mod tests;

pub use header::BYTES as SMALLEST_DATAGRAM;
pub use options::{CollectOptions, FlowOptions, GenerateOptions, Timing, Ways};
pub use plan::LARGEST_DATAGRAM;

pub(crate) use collect::collect;
pub(crate) use generate::{Generated, generate};

/// Where a collector listens if nothing else is said: next to the receiver of files.
pub const DEFAULT_PORT: u16 = 5312;
