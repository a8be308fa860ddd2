//! Results of a run, whichever backend they came from: summary, time series, and the accounting that
//! must balance; and the progress of a run while it lasts.
//!
//! Each column is declared once, in [`record!`](column) or [`series!`](column); [`tables`] lists all.

mod capture;
mod column;
mod completion;
mod control;
mod losses;
mod series;
mod summary;
pub mod tcp_info;
mod verify;

pub use capture::{IntervalSeries, PacketSeries};
pub use column::{Column, Kind, Tolerance, UNITS, Values};
pub use completion::{CompletionSummary, Transfer, completions, ideal_s, quantile};
pub use control::Control;
pub use losses::{Cause, Losses};
pub use series::{QueueSeries, Series};
pub use summary::{
    ApplicationSummary, DatagramSummary, FlowCounts, FlowMonitorSummary, FlowSummary, LinkSummary,
    Metrics, Summary, WlanNodeSummary, WlanSummary, asymmetry, jain_index, unfairness,
};
pub use verify::{Allowance, FlowBalance, LinkBalance, StreamCheck, Violation};

/// The columns of every table by its name. Objects of the summary have theirs in `columns`.
pub fn tables() -> Vec<(&'static str, Vec<Column>)> {
    let of = |columns: &[Column]| columns.to_vec();
    vec![
        ("summary", of(<Summary as column::Record>::COLUMNS)),
        ("datagrams", of(<DatagramSummary as column::Record>::COLUMNS)),
        ("series", of(Series::COLUMNS)),
        ("queues", of(QueueSeries::COLUMNS)),
        ("losses", of(Losses::COLUMNS)),
        ("intervals", of(IntervalSeries::COLUMNS)),
        ("packets", of(PacketSeries::COLUMNS)),
        ("tcp_info", tcp_info::columns()),
    ]
}
