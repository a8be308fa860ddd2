//! Real transfers, converted.

use std::sync::Arc;
use std::time::Duration;

use fairway_hosts::carry;
use fairway_xfer::{Error, Session, Sessions, Task, job};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Serialize;
use serde_json::Value;

use crate::columns::arrays;
use crate::experiment::{Document, experiment_error};
use crate::with_algorithms;

create_exception!(
    _core,
    TransferError,
    PyRuntimeError,
    "A transfer that failed. Its arguments: what happened; and \"cancelled\", \"input\", \"refused\" or \"failed\"."
);

/// A transfer that runs in a thread of its own.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct Transfer(Task);

#[pymethods]
impl Transfer {
    /// Starts a job, given as JSON; without samples, its sessions have figures only.
    #[new]
    #[pyo3(signature = (job, samples = true))]
    fn new(job: &str, samples: bool) -> PyResult<Self> {
        let job: Value = serde_json::from_str(job)
            .map_err(|error| transfer_error(&Error::Input(format!("not a job: {error}"))))?;
        let sessions = if samples { Sessions::default() } else { Sessions::without_samples() };
        let task = Task::start(sessions, move |control, sessions| job::run(job, control, sessions));
        task.map(Transfer).map_err(|error| transfer_error(&error))
    }

    /// What was said since the last call, as JSON.
    fn events(&self, py: Python<'_>) -> PyResult<String> {
        json(&self.with(py, |task| task.control.take_events()))
    }

    /// How far it is, as JSON.
    fn progress(&self, py: Python<'_>) -> PyResult<String> {
        json(&self.with(py, |task| task.control.progress()))
    }

    /// Ask it to stop.
    fn cancel(&self, py: Python<'_>) {
        self.with(py, |task| task.control.cancel());
    }

    /// Wait for its end, but no longer than so many seconds; returns whether it has ended. Releases
    /// the GIL.
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let time = Duration::try_from_secs_f64(seconds)
            .map_err(|error| PyValueError::new_err(format!("seconds: {error}")))?;
        Ok(self.with(py, |task| task.wait(time)))
    }

    /// Its sessions that have ended since the last call.
    fn sessions(&self, py: Python<'_>) -> Vec<TransferData> {
        self.with(py, |task| task.sessions.take()).into_iter().map(TransferData).collect()
    }

    /// Its result as JSON; None before its end. Raises `TransferError` if it failed.
    fn result(&self, py: Python<'_>) -> PyResult<Option<String>> {
        match self.with(py, Task::result) {
            None => Ok(None),
            Some(Ok(result)) => Ok(Some(result.to_string())),
            Some(Err(error)) => Err(transfer_error(&error)),
        }
    }
}

impl Transfer {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&Task) -> T + Send) -> T {
        py.detach(|| work(&self.0))
    }
}

/// What one session of a transfer has measured.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct TransferData(Session);

#[pymethods]
impl TransferData {
    /// What `pack` has made.
    #[staticmethod]
    fn unpack(packed: &[u8]) -> PyResult<Self> {
        postcard::from_bytes(packed)
            .map(TransferData)
            .map_err(|error| PyValueError::new_err(format!("not a packed session: {error}")))
    }

    /// Everything as bytes, for another process of the same program.
    fn pack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let packed = postcard::to_allocvec(&self.0);
        let packed = packed.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &packed))
    }

    /// Its number, from 0.
    #[getter]
    fn number(&self) -> u64 {
        self.0.number
    }

    /// What the job says of it, as JSON.
    #[getter]
    fn about(&self) -> &str {
        &self.0.about
    }

    /// Why it did not end well; None if it did.
    #[getter]
    fn failure(&self) -> Option<&str> {
        self.0.failure.as_deref()
    }

    /// Figures over all of it, as JSON.
    #[getter]
    fn summary(&self) -> &str {
        &self.0.summary
    }

    /// How it was measured, as JSON.
    #[getter]
    fn taken(&self) -> &str {
        &self.0.taken
    }

    /// Names of the flows.
    #[getter]
    fn flow_ids(&self) -> Vec<String> {
        self.0.samples.flow_ids()
    }

    /// Columns of the flow time series; `flow` indexes `flow_ids`.
    fn series(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let series = py.detach(|| self.0.samples.series());
        arrays(py, series.into_columns())
    }

    /// Columns `t_s`, `flow` and the kernel's fields; empty for those its version lacks.
    fn tcp_info(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let tcp_info = py.detach(|| self.0.samples.tcp_info());
        arrays(py, tcp_info.into_columns())
    }
}

/// A generator's job for an experiment, as JSON: its `options`, without the collector's address,
/// and `interval_s` between samples.
#[pyfunction]
#[pyo3(signature = (experiment, algorithms = None))]
pub(crate) fn xfer_layout(
    py: Python<'_>,
    experiment: Document,
    algorithms: Option<Py<PyAny>>,
) -> PyResult<String> {
    with_algorithms(py, algorithms, &Arc::default(), |catalogue| {
        let experiment = experiment.read(catalogue)?;
        let found = carry(&experiment).map_err(experiment_error)?;
        json(&serde_json::json!({"options": found.options, "interval_s": found.interval_s}))
    })
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

fn transfer_error(error: &Error) -> PyErr {
    let kind = match error {
        Error::Cancelled => "cancelled",
        Error::Input(_) => "input",
        Error::Refused(_) => "refused",
        Error::Failed { .. } => "failed",
    };
    TransferError::new_err((error.to_string(), kind))
}
