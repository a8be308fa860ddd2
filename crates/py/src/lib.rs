//! Python bindings: converts, never computes.

mod algorithm;
mod capture;
mod columns;
mod experiment;
mod linux;
mod memory;
mod model;
mod pair;
mod parquet;
mod parting;
mod quantity;
mod script;
mod sweep;
mod views;
mod xfer;

use std::path::PathBuf;
use std::sync::Arc;

use algorithm::{AlgorithmError, Algorithms};
use columns::Columns;
use experiment::{Document, ExperimentError, experiment_error};
use fairway_cc::Catalogue;
use fairway_schema::Cause;
use fairway_sim::{RunError, run_captured, run_on};
use fairway_sweep::summary_text;
use memory::without_gil;
use pyo3::exceptions::{PyException, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{create_exception, import_exception};
use serde_json::{Map, json};

// In Python, since they are of two kinds: Fairway's and Python's.
import_exception!(fairway.errors, SimulationError);
create_exception!(_core, Cancelled, PyException, "The run was cancelled through its `Control`.");

/// Progress and cancellation of a simulation or an analysis; safe to use from any thread. A simulation
/// that is given one may use `cores` processors; what it finds is the same on any number.
#[pyclass(frozen, module = "fairway._core")]
struct Control {
    shared: Arc<fairway_sim::Control>,
    cores: usize,
}

#[pymethods]
impl Control {
    #[new]
    #[pyo3(signature = (cores = 1))]
    fn new(cores: usize) -> Self {
        Control { shared: Arc::default(), cores }
    }

    /// Ask it to stop; `run` or `analyse` then raises `Cancelled`.
    fn cancel(&self) {
        self.shared.cancel();
    }

    /// Simulated time passed, as a share of the experiment's duration, or of a capture what has been
    /// read; 0 for a pipe.
    #[getter]
    fn fraction(&self) -> f64 {
        self.shared.fraction()
    }

    /// Packets handled so far.
    #[getter]
    fn packets(&self) -> u64 {
        self.shared.packets()
    }
}

/// What one simulation measured.
#[pyclass(frozen, module = "fairway._core")]
struct RunData {
    #[pyo3(get)]
    summary: String,
    series: Columns,
    #[pyo3(get)]
    flow_ids: Vec<String>,
    queues: Columns,
    #[pyo3(get)]
    link_ids: Vec<String>,
    losses: Option<Columns>,
    #[pyo3(get)]
    loss_flow_ids: Vec<String>,
    #[pyo3(get)]
    loss_link_ids: Vec<String>,
}

#[pymethods]
impl RunData {
    #[getter]
    fn series(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.series.get(py)
    }

    #[getter]
    fn queues(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        self.queues.get(py)
    }

    #[getter]
    fn losses(&self, py: Python<'_>) -> PyResult<Option<Py<PyDict>>> {
        self.losses.as_ref().map(|losses| losses.get(py)).transpose()
    }
}

/// Version of the simulator.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Simulate one experiment; releases the GIL.
#[pyfunction]
#[pyo3(signature = (experiment, control = None, algorithms = None, captures = None))]
fn run(
    py: Python<'_>,
    experiment: Document,
    control: Option<&Control>,
    algorithms: Option<Py<PyAny>>,
    captures: Option<PathBuf>,
) -> PyResult<RunData> {
    let cores = control.map_or(1, |control| control.cores);
    let control = control.map_or_else(Arc::default, |control| Arc::clone(&control.shared));
    let (result, summary) = with_algorithms(py, algorithms, &control, |catalogue| {
        let experiment = experiment.read(catalogue)?;
        experiment.check_for_simulator().map_err(experiment_error)?;
        fairway_sim::check_captures(&experiment).map_err(experiment_error)?;
        let result = match captures {
            Some(directory) => run_captured(&experiment, &control, &directory),
            None => run_on(&experiment, &control, cores),
        };
        let result = result.map_err(run_error)?;
        let summary = summary_text(&experiment, &result.summary, &result.remarks)
            .map_err(|error| SimulationError::new_err(error.to_string()))?;
        Ok((result, summary))
    })?;
    Ok(RunData {
        summary,
        series: Columns::new(result.series.into_columns()),
        flow_ids: result.flow_ids,
        queues: Columns::new(result.queues.into_columns()),
        link_ids: result.link_ids,
        losses: result.losses.map(|losses| Columns::new(losses.into_columns())),
        loss_flow_ids: result.loss_flow_ids,
        loss_link_ids: result.loss_link_ids,
    })
}

/// Refuse an experiment that needs a kernel, or captures where the simulator cannot.
#[pyfunction]
#[pyo3(signature = (experiment, algorithms = None))]
fn check_for_simulator(
    py: Python<'_>,
    experiment: Document,
    algorithms: Option<Py<PyAny>>,
) -> PyResult<()> {
    with_algorithms(py, algorithms, &Arc::default(), |catalogue| {
        let experiment = experiment.read(catalogue)?;
        experiment.check_for_simulator().map_err(experiment_error)?;
        fairway_sim::check_captures(&experiment).map_err(experiment_error)
    })
}

/// Do `work` without the GIL, with Fairway's algorithms and those of a Python mapping. What went
/// wrong in one of these comes before what followed from it.
pub(crate) fn with_algorithms<T: Send>(
    py: Python<'_>,
    algorithms: Option<Py<PyAny>>,
    control: &Arc<fairway_sim::Control>,
    work: impl FnOnce(&Catalogue) -> PyResult<T> + Send,
) -> PyResult<T> {
    let Some(classes) = algorithms else {
        return without_gil(py, || work(&Catalogue::default()));
    };
    let algorithms = Algorithms::new(classes, Arc::clone(control));
    let failure = algorithms.failure();
    let result = without_gil(py, || work(&Catalogue::with(Arc::new(algorithms))));
    match failure.take() {
        Some(error) => Err(error),
        None => result,
    }
}

/// JSON Schema of experiment files.
#[pyfunction]
fn schema() -> String {
    fairway_spec::schema().to_string()
}

/// A small valid experiment, as JSON, that has the key at `path` in a table of `kind`.
#[pyfunction]
#[pyo3(signature = (path, kind = None))]
fn specimen(path: &str, kind: Option<&str>) -> Option<String> {
    fairway_spec::specimen(path, kind).map(|document| document.to_string())
}

/// Every congestion control, as JSON.
#[pyfunction]
fn algorithms() -> String {
    fairway_spec::algorithms().to_string()
}

/// Every stack preset, as JSON.
#[pyfunction]
fn presets() -> String {
    fairway_spec::presets().to_string()
}

pub(crate) fn run_error(error: RunError) -> PyErr {
    match error {
        RunError::Cancelled => Cancelled::new_err(error.to_string()),
        RunError::Violation(_) | RunError::CongestionControl(_) => {
            SimulationError::new_err(error.to_string())
        }
        RunError::Capture(error) => PyOSError::new_err(error.to_string()),
    }
}

/// Columns of every table of results by the table's name, and units by the end of a name, as JSON.
#[pyfunction]
fn result_schema() -> String {
    let tables = fairway_schema::tables().into_iter();
    let tables: Map<_, _> =
        tables.map(|(name, columns)| (name.to_owned(), json!(columns))).collect();
    json!({ "tables": tables, "units": fairway_schema::UNITS }).to_string()
}

/// Names of why packets did not arrive, by number.
#[pyfunction]
fn loss_causes() -> Vec<&'static str> {
    Cause::NAMES.to_vec()
}

/// The compiled simulator: validates experiments and runs them.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("AlgorithmError", py.get_type::<AlgorithmError>())?;
    module.add("ExperimentError", py.get_type::<ExperimentError>())?;
    module.add("SimulationError", py.get_type::<SimulationError>())?;
    module.add("Cancelled", py.get_type::<Cancelled>())?;
    module.add("CaptureError", py.get_type::<capture::CaptureError>())?;
    module.add("CollectError", py.get_type::<linux::CollectError>())?;
    module.add("ScriptError", py.get_type::<script::ScriptError>())?;
    module.add("TransferError", py.get_type::<xfer::TransferError>())?;
    module.add_class::<Control>()?;
    module.add_class::<experiment::Experiment>()?;
    module.add_class::<experiment::Planned>()?;
    module.add_class::<RunData>()?;
    module.add_class::<capture::AnalysisData>()?;
    module.add_class::<linux::LinuxData>()?;
    module.add_class::<sweep::Pool>()?;
    module.add_class::<sweep::Summaries>()?;
    module.add_class::<views::Ack>()?;
    module.add_class::<views::Flow>()?;
    module.add_class::<views::Init>()?;
    module.add_class::<views::Member>()?;
    module.add_class::<views::RateSample>()?;
    module.add_class::<views::Subflow>()?;
    module.add_class::<xfer::Transfer>()?;
    module.add_class::<xfer::TransferData>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(experiment::plan, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(capture::analyse, module)?)?;
    module.add_function(wrap_pyfunction!(pair::compare_captures, module)?)?;
    module.add_function(wrap_pyfunction!(parting::first_difference, module)?)?;
    module.add_function(wrap_pyfunction!(capture::packet_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(capture::packet_fates, module)?)?;
    module.add_function(wrap_pyfunction!(check_for_simulator, module)?)?;
    module.add_function(wrap_pyfunction!(loss_causes, module)?)?;
    module.add_function(wrap_pyfunction!(linux::linux_layout, module)?)?;
    module.add_function(wrap_pyfunction!(linux::hosts, module)?)?;
    module.add_function(wrap_pyfunction!(result_schema, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(specimen, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(presets, module)?)?;
    module.add_function(wrap_pyfunction!(linux::linux_collect, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::quantity, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::measured, module)?)?;
    module.add_function(wrap_pyfunction!(quantity::ratio, module)?)?;
    module.add_function(wrap_pyfunction!(xfer::xfer_layout, module)?)?;
    module.add_function(wrap_pyfunction!(memory::before_abort, module)?)?;
    module.add_function(wrap_pyfunction!(script::run_script, module)?)?;
    module.add_function(wrap_pyfunction!(parquet::write_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(parquet::read_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::indented, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::outline, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::entries, module)?)?;
    model::register(module)
}
