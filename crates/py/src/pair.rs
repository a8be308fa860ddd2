//! Pairs of captures, converted.

use std::path::PathBuf;

use fairway_analysis::pair::{PairError, analyse};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::Cancelled;
use crate::capture::CaptureError;

/// Compare two captures of the same transfers; the result as JSON. Releases the GIL, and takes it
/// now and then to see whether a signal has come.
#[pyfunction]
pub(crate) fn compare_captures(py: Python<'_>, paths: [PathBuf; 2]) -> PyResult<String> {
    let names = [0, 1].map(|index: usize| paths[index].display().to_string());
    let mut signal = None;
    let report = py.detach(|| {
        let mut progress = |_| {
            signal = Python::attach(|py| py.check_signals()).err();
            signal.is_none()
        };
        analyse([&paths[0], &paths[1]], [&names[0], &names[1]], &mut progress)
    });
    if let Some(signal) = signal {
        return Err(signal);
    }
    let report = report.map_err(|error| match error {
        PairError::Cancelled => Cancelled::new_err(error.to_string()),
        _ => CaptureError::new_err(error.to_string()),
    })?;
    serde_json::to_string(&report).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
