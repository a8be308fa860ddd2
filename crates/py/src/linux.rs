//! The Linux backend, converted.

use std::path::PathBuf;
use std::sync::Arc;

use fairway_cc::Catalogue;
use fairway_linux::{CollectError as Error, ListedLosses, collect, layout};
use fairway_sweep::summary_text;
use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::columns::arrays;
use crate::experiment::{Document, experiment_error};
use crate::memory::without_gil;
use crate::with_algorithms;

create_exception!(
    _core,
    CollectError,
    PyRuntimeError,
    "What a run on a kernel has left cannot be used; names the file or the flow."
);

/// What one run on a kernel has measured.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct LinuxData {
    #[pyo3(get)]
    summary: String,
    #[pyo3(get)]
    series: Py<PyDict>,
    #[pyo3(get)]
    flow_ids: Vec<String>,
    #[pyo3(get)]
    queues: Py<PyDict>,
    #[pyo3(get)]
    link_ids: Vec<String>,
    #[pyo3(get)]
    tcp_info: Py<PyDict>,
    #[pyo3(get)]
    kernel: String,
    #[pyo3(get)]
    watched: bool,
    #[pyo3(get)]
    unseen_packets: u64,
    #[pyo3(get)]
    states_told: bool,
    #[pyo3(get)]
    broken: String,
    #[pyo3(get)]
    transfers: String,
    #[pyo3(get)]
    programs: String,
    #[pyo3(get)]
    ended_s: Option<f64>,
    #[pyo3(get)]
    remarks: Vec<String>,
    #[pyo3(get)]
    losses: Option<(Py<PyDict>, Vec<String>, Vec<String>)>,
}

/// What a Linux kernel's guest is told to run an experiment, as JSON.
#[pyfunction]
#[pyo3(signature = (experiment, algorithms = None))]
pub(crate) fn linux_layout(
    py: Python<'_>,
    experiment: Document,
    algorithms: Option<Py<PyAny>>,
) -> PyResult<String> {
    with_algorithms(py, algorithms, &Arc::default(), |catalogue| {
        let experiment = experiment.read(catalogue)?;
        let found = layout(&experiment).map_err(experiment_error)?;
        let found = json!({
            "plan": found.plan,
            "memory_bytes": found.memory_bytes,
            "boot_arguments": found.boot_arguments,
            "network": found.network,
        });
        Ok(found.to_string())
    })
}

/// The names of the hosts of an experiment, or of those that one of them reaches.
#[pyfunction]
#[pyo3(signature = (experiment, reached_by = None))]
pub(crate) fn hosts(experiment: Document, reached_by: Option<&str>) -> PyResult<Vec<String>> {
    let experiment = experiment.read(&Catalogue::default())?;
    Ok(reached_by.map_or_else(|| experiment.hosts(), |host| experiment.peers(host)))
}

/// Read what a run of an experiment has left in a directory; releases the GIL.
#[pyfunction]
pub(crate) fn linux_collect(
    py: Python<'_>,
    experiment: Document,
    directory: PathBuf,
) -> PyResult<LinuxData> {
    let (found, summary, broken, transfers, programs) = without_gil(py, || {
        let experiment = experiment.read(&Catalogue::default())?;
        let found = collect(&experiment, &directory).map_err(collect_error)?;
        let failed = |error: serde_json::Error| CollectError::new_err(error.to_string());
        let summary = summary_text(&experiment, &found.summary, &[]).map_err(failed)?;
        let broken = serde_json::to_string(&found.broken).map_err(failed)?;
        let transfers = serde_json::to_string(&found.transfers).map_err(failed)?;
        let programs = serde_json::to_string(&found.programs).map_err(failed)?;
        PyResult::Ok((found, summary, broken, transfers, programs))
    })?;
    Ok(LinuxData {
        summary,
        series: arrays(py, found.series.into_columns())?,
        flow_ids: found.flow_ids,
        queues: arrays(py, found.queues.into_columns())?,
        link_ids: found.link_ids,
        tcp_info: arrays(py, found.tcp_info.into_columns())?,
        kernel: found.kernel,
        watched: found.watched,
        unseen_packets: found.unseen_packets,
        states_told: found.states_told,
        broken,
        transfers,
        programs,
        ended_s: found.ended_s,
        remarks: found.remarks,
        losses: found.losses.map(|list| listed(py, list)).transpose()?,
    })
}

/// Columns, names of flows and names of links.
fn listed(py: Python<'_>, list: ListedLosses) -> PyResult<(Py<PyDict>, Vec<String>, Vec<String>)> {
    Ok((arrays(py, list.rows.into_columns())?, list.flow_ids, list.link_ids))
}

fn collect_error(error: Error) -> PyErr {
    CollectError::new_err(error.to_string())
}
