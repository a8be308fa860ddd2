//! What happened in a run: its time series, its summary, and the books that must balance; and how far
//! it is while it happens.
//!
//! One schema, whichever backend the run came from.

mod completion;
mod control;
mod losses;
mod series;
mod summary;
pub mod tcp_info;
mod verify;

pub use completion::{CompletionSummary, Transfer, completions, ideal_s, quantile};
pub use control::Control;
pub use losses::{Cause, Losses};
pub use series::{QueueSeries, Series};
pub use summary::{
    ApplicationSummary, DatagramSummary, FlowCounts, FlowMonitorSummary, FlowSummary, LinkSummary,
    Metrics, Summary, WlanNodeSummary, WlanSummary, asymmetry, jain_index, unfairness,
};
pub use verify::{Allowance, FlowBalance, LinkBalance, StreamCheck, Violation};
