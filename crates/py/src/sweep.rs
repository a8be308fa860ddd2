//! The points of a sweep, computed on all cores, and their summaries as columns.

use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use fairway_resources::Shortage;
use fairway_sweep::{Cell, Entry, Failure, Table};
use numpy::{IntoPyArray, PyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use serde_json::Value;

use crate::columns::no_arrays;
use crate::experiment::{Document, PlainData, experiment_error};
use crate::memory::refused;
use crate::{SimulationError, run_error};

/// Threads that simulate experiments one after the other.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct Pool {
    pool: fairway_sweep::Pool,
    shortage: Shortage,
}

#[pymethods]
impl Pool {
    #[new]
    fn new(experiments: Vec<Document>, threads: NonZeroUsize) -> PyResult<Self> {
        let shortage = Shortage::watch();
        let pool = fairway_sweep::Pool::start(values(experiments), threads).map_err(no_thread)?;
        Ok(Pool { pool, shortage })
    }

    /// Begin with further experiments, whose places come after those of the others.
    fn add(&self, experiments: Vec<Document>) -> PyResult<()> {
        self.pool.add(values(experiments)).map_err(no_thread)
    }

    /// What has finished since it was last asked: the place of each run, and its experiment and summary
    /// as JSON, or its error.
    fn finished<'py>(
        &self,
        py: Python<'py>,
        timeout_s: f64,
    ) -> PyResult<Vec<(usize, Bound<'py, PyAny>)>> {
        let timeout = Duration::try_from_secs_f64(timeout_s)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let found = py.detach(|| self.pool.finished(timeout));
        let given = |(place, result): fairway_sweep::Finished| match result {
            Ok(answer) => {
                let lines = [answer.experiment, answer.summary].map(|line| PyBytes::new(py, &line));
                Ok((place, PyTuple::new(py, lines)?.into_any()))
            }
            Err(failure) => Ok((place, self.failed(failure).into_bound_py_any(py)?)),
        };
        found.into_iter().map(given).collect()
    }

    /// Runs done of those that are under way, as a number of runs.
    fn fraction(&self) -> f64 {
        self.pool.fraction()
    }

    /// Stop all runs, and wait until they have.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| {
            self.pool.stop();
            self.pool.join();
        });
    }
}

impl Pool {
    fn failed(&self, failure: Failure) -> PyErr {
        match failure {
            Failure::Experiment(errors) => experiment_error(errors),
            Failure::Run(_) | Failure::Json(_) if self.shortage.was_met() => refused(),
            Failure::Run(error) => run_error(error),
            Failure::Json(error) => SimulationError::new_err(error.to_string()),
        }
    }
}

/// Threads are refused with `EAGAIN`, for want of memory or of a limit of theirs (pthread_create(3)).
fn no_thread(error: io::Error) -> PyErr {
    PyMemoryError::new_err(format!("the system refused a thread: {error}"))
}

fn values(experiments: Vec<Document>) -> Vec<Arc<Value>> {
    experiments.into_iter().map(Document::into_value).collect()
}

/// Columns of many summaries.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct Summaries(fairway_sweep::Summaries);

#[pymethods]
impl Summaries {
    #[new]
    fn new(py: Python<'_>, summaries: Vec<Bound<'_, PyBytes>>) -> PyResult<Self> {
        let lines: Vec<&[u8]> = summaries.iter().map(|summary| summary.as_bytes()).collect();
        py.detach(|| fairway_sweep::Summaries::read(&lines, cores()))
            .map(Summaries)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The seed of each.
    #[getter]
    fn seeds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        no_arrays(py)?;
        Ok(self.0.seeds.clone().into_pyarray(py))
    }

    /// The metrics of each, without those that the first lacks.
    #[getter]
    fn metrics(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        columns(py, &self.0.metrics, self.0.metrics.first())
    }

    /// Rows of `flows` or `links` of all, and how many each has.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        part: &str,
    ) -> PyResult<(Py<PyDict>, Bound<'py, PyArray1<u32>>)> {
        let (table, counts) = match part {
            "flows" => (&self.0.flows, &self.0.flow_counts),
            "links" => (&self.0.links, &self.0.link_counts),
            _ => return Err(PyValueError::new_err(format!("{part}: expected flows or links"))),
        };
        Ok((columns(py, table, usize::MAX)?, counts.clone().into_pyarray(py)))
    }

    /// The warnings of those that have any.
    #[getter]
    fn warnings(&self) -> Vec<Vec<String>> {
        self.0.warnings.clone()
    }
}

/// The first columns of a table: arrays of numbers, in which NaN is no value, or else lists.
fn columns(py: Python<'_>, table: &Table, first: usize) -> PyResult<Py<PyDict>> {
    let found = no_arrays(py)?;
    for (name, cells) in table.columns().take(first) {
        found.set_item(name, column(py, cells)?)?;
    }
    Ok(found.unbind())
}

fn column<'py>(py: Python<'py>, cells: &[Cell]) -> PyResult<Bound<'py, PyAny>> {
    if let Some(numbers) = numbers(cells) {
        return Ok(numbers.into_pyarray(py).into_any());
    }
    if let Some(counts) = counts(cells) {
        return Ok(counts.into_pyarray(py).into_any());
    }
    let mut texts: BTreeMap<&str, Bound<'py, PyString>> = BTreeMap::new();
    let mut given = |cell| match cell {
        &Cell::Null => Ok(py.None().into_bound(py)),
        &Cell::Flag(flag) => flag.into_bound_py_any(py),
        &Cell::Count(count) => count.into_bound_py_any(py),
        &Cell::Integer(integer) => integer.into_bound_py_any(py),
        &Cell::Number(number) => number.into_bound_py_any(py),
        Cell::Text(text) => {
            Ok(texts.entry(text).or_insert_with(|| PyString::new(py, text)).clone().into_any())
        }
    };
    cells.iter().map(&mut given).collect::<PyResult<Vec<_>>>()?.into_bound_py_any(py)
}

/// Numbers of which some have a fraction, or nothing at all.
fn numbers(cells: &[Cell]) -> Option<Vec<f64>> {
    let is_whole = |cell: &Cell| matches!(cell, Cell::Null | Cell::Count(_) | Cell::Integer(_));
    let is_null = |cell: &Cell| matches!(cell, Cell::Null);
    if cells.iter().all(is_whole) && !cells.iter().all(is_null) {
        return None;
    }
    let of = |cell: &Cell| match *cell {
        Cell::Null => Some(f64::NAN),
        Cell::Number(number) => Some(number),
        Cell::Count(count) => Some(count as f64),
        Cell::Integer(integer) => Some(integer as f64),
        Cell::Flag(_) | Cell::Text(_) => None,
    };
    cells.iter().map(of).collect()
}

fn counts(cells: &[Cell]) -> Option<Vec<u64>> {
    let of = |cell: &Cell| match cell {
        Cell::Count(count) => Some(*count),
        _ => None,
    };
    cells.iter().map(of).collect()
}

/// Points of a sweep as lines of its `summary.json` in pieces, with metrics by their names.
#[pyfunction]
pub(crate) fn entries<'py>(
    py: Python<'py>,
    axes: Vec<PlainData>,
    repetitions: Vec<u64>,
    summaries: Vec<Bound<'py, PyBytes>>,
    metrics: Vec<(String, Vec<Option<f64>>)>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let place = |place: usize| metrics.iter().map(|(_, values)| values[place]).collect();
    let points: Vec<_> = axes
        .into_iter()
        .zip(repetitions)
        .zip(&summaries)
        .enumerate()
        .map(|(number, ((axes, repetition), summary))| Entry {
            axes: axes.0,
            repetition,
            summary: summary.as_bytes(),
            metrics: place(number),
        })
        .collect();
    let names: Vec<_> = metrics.into_iter().map(|(name, _)| name).collect();
    py.detach(|| fairway_sweep::entries(&points, &names, cores()))
        .map(|pieces| pieces.iter().map(|piece| PyBytes::new(py, piece)).collect())
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Compact JSON as `json.dumps` writes it with `indent=2`.
#[pyfunction]
pub(crate) fn indented(compact: &str) -> PyResult<String> {
    String::from_utf8(fairway_sweep::indented(compact.as_bytes()))
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// JSON with a single 1 for all digits of a number, of its fraction or of its exponent.
#[pyfunction]
pub(crate) fn outline<'py>(py: Python<'py>, json: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &fairway_sweep::outline(json))
}
