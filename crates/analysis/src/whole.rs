//! A whole capture, from its first packet to its last.

use std::path::Path;

use fairway_capture::read::{Capture, Counts, Interface, ReadError};
use fairway_schema::Control;
use fairway_units::Time;
use serde::Serialize;

use crate::threads::{self, Taken};
use crate::{Options, Report};

/// Why there is no analysis.
#[derive(Debug, thiserror::Error)]
pub enum AnalyseError {
    /// Nothing of the capture can be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It was asked to stop.
    #[error("stopped")]
    Cancelled,
}

/// A capture, and what was found in it.
#[derive(Clone, Debug, Serialize)]
pub struct Whole {
    /// The capture itself.
    pub capture: CaptureReport,
    /// Its contents.
    #[serde(flatten)]
    pub report: Report,
}

/// A capture by itself.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureReport {
    /// Its name.
    pub name: String,
    /// Counts of what was read.
    #[serde(flatten)]
    pub counts: Counts,
    /// Time of the first packet in seconds, as the capture counts them; none without packets.
    pub started_s: Option<f64>,
    /// The same in nanoseconds.
    pub started_ns: Option<u64>,
    /// From the first packet to the last.
    pub duration_s: Option<f64>,
    /// Rows of single packets that found no room.
    pub rows_left_out: u64,
    /// Interfaces.
    pub interfaces: Vec<Interface>,
}

/// Analyses a file, or standard input if it is `-`; `name` is what it is called.
///
/// # Errors
/// If nothing of it can be read, or if `control` was cancelled.
pub fn analyse(
    path: &Path,
    name: &str,
    options: Options,
    control: &Control,
) -> Result<Whole, AnalyseError> {
    let mut capture = Capture::open(path)?;
    let look = |capture: &Capture, packets| {
        let progress = capture.progress();
        // Nobody knows how long a pipe is.
        control.report(progress.bytes, progress.of_bytes.unwrap_or(0), packets);
        control.is_cancelled()
    };
    let (mut report, taken) =
        threads::analyse(&mut capture, &options, look).ok_or(AnalyseError::Cancelled)?;
    report.damaged = capture.damaged().to_vec();
    Ok(Whole { capture: describe(&capture, name, &taken, &report), report })
}

fn describe(capture: &Capture, name: &str, taken: &Taken, report: &Report) -> CaptureReport {
    let directions = report.connections.iter().flat_map(|connection| &connection.directions);
    let followed = directions.filter_map(|direction| direction.detail.as_ref());
    CaptureReport {
        name: name.to_owned(),
        counts: capture.counts(),
        started_s: taken.first_at.map(Time::as_secs_f64),
        started_ns: taken.first_at.map(Time::as_nanos),
        duration_s: taken.first_at.map(|first| taken.last_at.since(first).as_secs_f64()),
        rows_left_out: followed.map(|detail| detail.left_out).sum(),
        interfaces: capture.interfaces().to_vec(),
    }
}
