//! Traffic between two hosts: a generator writes it, a collector takes it, both measure.

pub mod engine;
pub mod gaps;
pub mod header;
mod options;
pub mod pattern;
mod plan;

pub use gaps::Gaps;
pub use options::{CollectOptions, FlowOptions, GenerateOptions, Timing, Ways};
pub use plan::{Direction, Flow, Group, Plan, Sockets, Transport};

/// Where a collector listens if nothing else is said: next to the receiver of files.
pub const DEFAULT_PORT: u16 = 5312;
