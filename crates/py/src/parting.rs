//! Two captures of one experiment, held against each other.

use std::path::PathBuf;

use fairway_analysis::parting::{PartingError, compare};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::Cancelled;
use crate::capture::CaptureError;

/// Find the first packet at which two captures part; the result as JSON. Releases the GIL, and takes it
/// now and then to see whether a signal has come.
#[pyfunction]
pub(crate) fn first_difference(
    py: Python<'_>,
    paths: [PathBuf; 2],
    before: usize,
) -> PyResult<String> {
    let mut signal = None;
    let found = py.detach(|| {
        let mut goes_on = || {
            signal = Python::attach(|py| py.check_signals()).err();
            signal.is_none()
        };
        compare([&paths[0], &paths[1]], before, &mut goes_on)
    });
    if let Some(signal) = signal {
        return Err(signal);
    }
    let found = found.map_err(|error| match error {
        PartingError::Cancelled => Cancelled::new_err(error.to_string()),
        PartingError::Read(_) => CaptureError::new_err(error.to_string()),
    })?;
    serde_json::to_string(&found).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
