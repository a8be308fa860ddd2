//! Parallel TCP between real hosts.
//!
//! `send` and `recv` move files over several connections of one session, authorised by a token and
//! encrypted; `load` makes and collects traffic; `iperf3` does so in the words of that program;
//! `auto` chooses how many connections. Each is given a [`Control`], through which it is followed and
//! stopped, and a `measure::Meter`, which watches its sockets and makes the record of the transfer.

#[macro_use]
mod options;

// Public for the tests of this crate alone, as `store` and `wire` are.
#[doc(hidden)]
pub mod auth;
mod auto;
mod capture;
mod control;
mod error;
mod files;
#[cfg(any(test, fuzzing))]
#[path = "tests/fuzz/mod.rs"]
pub mod fuzz;
mod iperf3;
pub mod job;
pub mod load;
pub mod measure;
mod patience;
pub mod recv;
mod rt;
mod secret;
pub mod send;
pub mod socket;
#[doc(hidden)]
pub mod store;
mod task;
#[cfg(test)]
mod tests;
mod trust;
#[doc(hidden)]
pub mod wire;
mod words;

pub use control::{Control, Event, Held, Progress, StreamProgress};
pub use error::Error;
pub use task::{Session, Sessions, Task};
