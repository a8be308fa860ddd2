//! Analytic models: an answer without a simulation.
//!
//! Symbols and units are the same everywhere. Windows, buffers and capacities count packets of one
//! size; times are in seconds. `p` is the probability that a packet is lost, `T` the round-trip time,
//! `C` the capacity in packets a second, `P = C·T` the bandwidth-delay product, `B` the buffer, `W` the
//! limit of a stream's window, `r` the share of its window that a stream keeps when it backs off.

mod algorithm;
mod answer;
pub mod constants;
mod error;
mod fair;
pub mod fluid;
pub mod laws;
mod parallelism;
pub mod published;
pub mod queues;
mod red;
mod sawtooth;
mod search;
mod swing;
pub mod wlan;

pub use algorithm::Algorithm;
pub use answer::Answer;
pub use error::Error;
pub use fair::{Others, fair_streams, others_from, share};
pub use parallelism::{Expected, Limit, Path, Plan, Streams, Threshold};
pub use red::{Red, RedPoint};
pub use sawtooth::{Losers, full_streams, utilisation};
pub use swing::{Growth, Swing, SwingMeans};
