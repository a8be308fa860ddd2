//! The protocol of iperf3: [`client`] runs a test with a server, [`serve`] is a server.
//!
//! # The protocol
//! A *control connection* over TCP begins with a cookie of 37 bytes, made by the client; every data
//! connection over TCP begins with the same one. After it, the control connection carries states of
//! one byte ([`State`]), mostly from the server:
//!
//! | state | from | then |
//! |---|---|---|
//! | `PARAM_EXCHANGE` | server | the client sends its [`Parameters`] |
//! | `CREATE_STREAMS` | server | the client opens its data connections, those that it sends on first |
//! | `TEST_START`, `TEST_RUNNING` | server | data flows |
//! | `TEST_END` | client | data has flowed |
//! | `EXCHANGE_RESULTS` | server | the client sends its [`Results`], then the server its own |
//! | `DISPLAY_RESULTS` | server | |
//! | `IPERF_DONE` | client | both close |
//!
//! `CLIENT_TERMINATE` and `SERVER_TERMINATE` end a test early; `ACCESS_DENIED` says that the server
//! has another test; `SERVER_ERROR` is followed by iperf3's number of the error and by `errno`, four
//! bytes each. Parameters and results are JSON behind its length in four bytes. All numbers are
//! big-endian.
//!
//! A data "connection" over UDP begins with a datagram of four bytes from the client, which the
//! server answers ([`datagram`]); then every datagram begins with the time at which it was sent and
//! its number.
//!
//! Streams are numbered 1, 3, 4, 5, … in the order in which they were opened: as iperf3 numbers
//! them, and both ends have to agree.
//!
//! Nothing that the other side says is trusted: lengths and values are bounded, states have to come
//! in their order and in time.

mod channel;
mod client;
mod code;
mod complete;
pub mod datagram;
mod date;
mod json;
mod lines;
mod open;
mod options;
mod pace;
pub(crate) mod parameters;
mod recorder;
mod report;
pub(crate) mod results;
mod rows;
mod run;
mod server;
mod server_test;
mod state;
mod stream;
#[cfg(test)]
mod tests;
mod traffic;

pub use client::client;
pub use options::{ClientOptions, ServerOptions};
pub use parameters::Parameters;
pub use server::serve;
pub use state::State;

use crate::load::{Directions, Transport};

/// Port of iperf3, TCP and UDP.
pub const PORT: u16 = 5201;
/// Most parallel streams that iperf3 itself accepts (`MAX_STREAMS`).
pub const MOST_STREAMS_OF_IPERF3: u32 = 128;

/// The number of a stream, from its place in the order of opening.
pub fn stream_id(place: usize) -> u32 {
    let place = u32::try_from(place).unwrap_or(u32::MAX - 2);
    if place == 0 { 1 } else { place + 2 }
}

fn version() -> String {
    concat!("fairway ", env!("CARGO_PKG_VERSION")).to_owned()
}
