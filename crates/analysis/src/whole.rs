//! A whole capture, from its first packet to its last.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fairway_capture::read::{Capture, Counts, ReadError};
use fairway_units::Time;
use serde::Serialize;

use crate::report::Damaged;
use crate::threads::{self, Taken};
use crate::{Options, Report};

/// How another thread watches an analysis and stops it.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    bytes: AtomicU64,
    of_bytes: AtomicU64,
    packets: AtomicU64,
}

impl Control {
    /// Ask the analysis to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Share of the file that has been read, from 0 to 1; 0 for a pipe, whose length nobody knows.
    pub fn fraction(&self) -> f64 {
        match self.of_bytes.load(Ordering::Relaxed) {
            0 => 0.0,
            all => (self.bytes.load(Ordering::Relaxed) as f64 / all as f64).min(1.0),
        }
    }

    /// Packets so far.
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    fn look(&self, capture: &Capture, packets: u64) -> bool {
        let progress = capture.progress();
        self.bytes.store(progress.bytes, Ordering::Relaxed);
        self.of_bytes.store(progress.of_bytes.unwrap_or(0), Ordering::Relaxed);
        self.packets.store(packets, Ordering::Relaxed);
        self.cancelled.load(Ordering::Relaxed)
    }
}

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
    /// What it holds.
    #[serde(flatten)]
    pub report: Report,
}

/// What a capture is.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureReport {
    /// What it is called.
    pub name: String,
    /// What was read, in numbers.
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
    /// What the capture says about it.
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
    let look = |capture: &Capture, packets| control.look(capture, packets);
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
