//! Parallel TCP between real hosts.
//!
//! `send` and `recv` move files over several connections of one session, authorised by a token and
//! encrypted; `load` makes and collects traffic; `iperf3` does so in the words of that program;
//! `auto` chooses how many connections. Each is given a [`Control`], through which it is followed and
//! stopped, and a `measure::Meter`, which watches its sockets and makes the record of the transfer.

pub mod auth;
pub mod auto;
mod capture;
mod control;
#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod crash_tests;
mod error;
pub mod iperf3;
pub mod job;
pub mod load;
pub mod measure;
pub mod recv;
mod rt;
mod secret;
pub mod send;
pub mod socket;
pub mod store;
mod task;
mod trust;
pub mod wire;
mod words;

pub use control::{Control, Event, Held, Progress, StreamProgress};
pub use error::Error;
pub use task::{Session, Sessions, Task};
