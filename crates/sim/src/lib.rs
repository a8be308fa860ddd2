//! The simulator: an experiment goes in, a run comes out.
//!
//! Deterministic: integer nanoseconds, events in an order of their own, one random stream a
//! component. The same experiment and seed give the same bytes on every machine.

mod capture;
mod connection;
mod context;
mod coupling;
mod datagrams;
mod delivery_queues;
mod direction;
mod emulator;
mod event;
mod flow_monitor;
mod loss_log;
mod network;
mod packet_handle;
mod path_table;
mod remarks;
mod ring;
mod run;
mod sampler;
mod summary;
mod traced;

pub use capture::check_captures;
pub use emulator::{Emulated, Emulator, LinkSample, Outcome, PathCounts, Sent};
pub use fairway_schema::Control;
pub use run::{Run, RunError, run, run_captured, run_on};
pub use summary::{FoundTransfer, completions_of_run};
