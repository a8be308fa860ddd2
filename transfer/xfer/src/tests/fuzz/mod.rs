//! Invariants of everything that parses outside data, for the fuzzer and its corpora.

mod auth;
mod iperf3;
mod load;
mod store;
mod wire;

pub use auth::admission;
pub use iperf3::json as iperf3_json;
pub use load::said;
pub use store::journal;
pub use wire::frame;
