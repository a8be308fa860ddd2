//! Queues: how large, how long, and what their controllers do.

mod buffer;
mod controllers;
mod red_rules;
mod waiting;

pub use buffer::{appenzeller_packets, bdp_packets, single_stream_packets};
pub use controllers::{DualPi2, DualPi2Update, codel_drops_s, pie_probability};
pub use red_rules::{AdaptiveRed, drop_after};
pub use waiting::{Waiting, md1, mm1, mm1k};
