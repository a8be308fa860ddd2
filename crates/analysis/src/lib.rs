//! The meaning of captured packets: connections, losses, windows, and their causes.
//!
//! Packets come one by one from `fairway-capture`. Each finds its connection and its direction,
//! which follows the sequence space and tells observers what was [sent](event::Sent) and what was
//! [acknowledged](event::Acked). Observers hold what is known of a direction: counts, round trips,
//! the window, causes of retransmissions, limits. Memory grows with the number of connections, up to
//! the bounds of `flows`, and with what is in flight, not with the capture.

mod analyser;
mod connection;
mod datagrams;
pub mod detail;
mod direction;
pub mod event;
pub mod fit;
mod flows;
pub mod group;
pub mod histogram;
pub mod identify;
pub mod pair;
pub mod parting;
pub mod report;
pub mod rows;
pub mod series;
mod threads;
pub mod whole;
pub mod window;

pub use analyser::{Analyser, DetailOptions, FitOptions, Options};
pub use report::Report;
