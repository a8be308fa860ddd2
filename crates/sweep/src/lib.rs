//! Many runs at once, and the summary that is kept of each.
//!
//! A [`Pool`] computes the points of a sweep on all cores. What it gives of each run is its summary as
//! one line of JSON, which [`Summaries`] makes columns of.

mod answer;
mod json;
mod overview;
mod pool;
mod summaries;
mod table;

pub use answer::{Answer, Failure, answer, summary_text};
pub use json::{canonical, compact, indented, outline};
pub use overview::{Entry, entries};
pub use pool::{Finished, Pool};
pub use summaries::Summaries;
pub use table::{Cell, Table};
