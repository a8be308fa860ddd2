//! A whole capture, from its first packet to its last.

use std::path::Path;

use fairway_capture::read::{Capture, Counts, ReadError};
use fairway_schema::Control;
use fairway_units::Time;
use serde::Serialize;

use crate::report::Damaged;
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
    pub interfaces: Vec<InterfaceReport>,
}

/// Where packets were captured.
#[derive(Clone, Debug, Serialize)]
pub struct InterfaceReport {
    /// Its name; empty if the capture does not say.
    pub name: String,
    /// Its description in the capture.
    pub description: String,
    /// Number of its link type.
    pub link_type: u16,
    /// Most bytes of a packet that were captured; 0 is no limit.
    pub snap_bytes: u32,
    /// Packets that its host could not keep up with.
    pub missed_packets: Option<u64>,
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
    report.damaged = damaged(&capture);
    Ok(Whole { capture: describe(&capture, name, &taken, &report), report })
}

fn damaged(capture: &Capture) -> Vec<Damaged> {
    let damages = capture.damaged().iter();
    damages
        .map(|damage| Damaged {
            offset_bytes: damage.offset_bytes,
            packet: Some(damage.packet),
            what: damage.what.clone(),
        })
        .collect()
}

fn describe(capture: &Capture, name: &str, taken: &Taken, report: &Report) -> CaptureReport {
    let directions = report.connections.iter().flat_map(|connection| &connection.directions);
    let followed = directions.filter_map(|direction| direction.detail.as_ref());
    let interfaces = capture.interfaces().iter().map(|interface| InterfaceReport {
        name: interface.name.clone(),
        description: interface.description.clone(),
        link_type: interface.link_type,
        snap_bytes: interface.snap_bytes,
        missed_packets: interface.missed_packets,
    });
    CaptureReport {
        name: name.to_owned(),
        counts: capture.counts(),
        started_s: taken.first_at.map(Time::as_secs_f64),
        started_ns: taken.first_at.map(Time::as_nanos),
        duration_s: taken.first_at.map(|first| taken.last_at.since(first).as_secs_f64()),
        rows_left_out: followed.map(|detail| detail.left_out).sum(),
        interfaces: interfaces.collect(),
    }
}
