//! Analyses of captures, converted.

use std::path::PathBuf;
use std::sync::Arc;

use fairway_analysis::detail::{FATES, Row};
use fairway_analysis::rows::Rows;
use fairway_analysis::whole::{self, AnalyseError};
use fairway_analysis::{DetailOptions, FitOptions, Options};
use fairway_units::Time;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;

use crate::columns::arrays;
use crate::memory::without_gil;
use crate::{Cancelled, Control};

create_exception!(
    _core,
    CaptureError,
    PyValueError,
    "A capture of which nothing can be read; names it, and says what was found."
);

/// What was found in a capture.
#[pyclass(frozen, module = "fairway._core")]
pub(crate) struct AnalysisData {
    #[pyo3(get)]
    report: String,
    #[pyo3(get)]
    directions: Vec<(u64, usize)>,
    #[pyo3(get)]
    series: Py<PyDict>,
    #[pyo3(get)]
    packets: Py<PyDict>,
}

/// What is wanted, as it comes.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    name: Option<String>,
    merge_interfaces: bool,
    identify: bool,
    fit: Option<u64>,
    overhead_bytes: u32,
    follow: Vec<u64>,
    from_ns: u64,
    until_ns: Option<u64>,
    most_rows: usize,
}

impl Wanted {
    fn options(mut self) -> Options {
        self.follow.sort_unstable();
        let detail = DetailOptions {
            connections: self.follow,
            from: Time::from_nanos(self.from_ns),
            until: Time::from_nanos(self.until_ns.unwrap_or(u64::MAX)),
            most_rows: self.most_rows,
        };
        let detail = Some(detail).filter(|detail| !detail.connections.is_empty());
        let series = detail.is_some();
        let fit = self
            .fit
            .map(|connection| FitOptions { connection, overhead_bytes: self.overhead_bytes });
        let (merge_interfaces, identify) = (self.merge_interfaces, self.identify);
        Options { merge_interfaces, series, detail, identify, fit }
    }
}

/// Analyse a capture; `options` are JSON. Releases the GIL.
#[pyfunction]
#[pyo3(signature = (path, options, control = None))]
pub(crate) fn analyse(
    py: Python<'_>,
    path: PathBuf,
    options: &str,
    control: Option<&Control>,
) -> PyResult<AnalysisData> {
    let wanted: Wanted = serde_json::from_str(options)
        .map_err(|error| PyValueError::new_err(format!("not options: {error}")))?;
    let name = wanted.name.clone().unwrap_or_else(|| path.display().to_string());
    let options = wanted.options();
    let control = control.map_or_else(Arc::default, |control| Arc::clone(&control.shared));
    let (report, rows) = without_gil(py, || {
        let mut found = whole::analyse(&path, &name, options, &control).map_err(failure)?;
        let rows = Rows::taken_out_of(&mut found);
        let report = serde_json::to_string(&found);
        let report = report.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyResult::Ok((report, rows))
    })?;
    Ok(AnalysisData {
        report,
        directions: rows.directions,
        series: arrays(py, rows.intervals.into_columns())?,
        packets: arrays(py, rows.packets.into_columns())?,
    })
}

fn failure(error: AnalyseError) -> PyErr {
    match error {
        AnalyseError::Read(error) => CaptureError::new_err(error.to_string()),
        AnalyseError::Cancelled => Cancelled::new_err(error.to_string()),
    }
}

/// Names of the kinds of rows of single packets, by number.
#[pyfunction]
pub(crate) fn packet_kinds() -> Vec<&'static str> {
    Row::NAMES.to_vec()
}

/// Names of what became of packets, by number.
#[pyfunction]
pub(crate) fn packet_fates() -> Vec<&'static str> {
    FATES.to_vec()
}
