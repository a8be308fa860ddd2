//! The simulator: an experiment goes in, a run comes out.
//!
//! Deterministic: integer nanoseconds, events in an order of their own, one random stream a
//! component. The same experiment and seed give the same bytes on every machine.

mod application;
mod capture;
mod connection;
mod datagrams;
mod direction;
mod event;
mod flow_monitor;
mod loss_book;
mod network;
mod parcel;
mod reader;
mod remarks;
mod rows;
mod run;
mod sampler;
mod summary;
mod traced;
mod ways;

pub use capture::check_captures;
pub use fairway_schema::Control;
pub use run::{Run, RunError, run, run_captured};
