//! Analyses of captures, converted.

use std::path::PathBuf;
use std::sync::Arc;

use fairway_analysis::detail::{Detail, FATES, Row};
use fairway_analysis::series::Series;
use fairway_analysis::whole::{self, AnalyseError};
use fairway_analysis::window::WindowSeries;
use fairway_analysis::{DetailOptions, FitOptions, Options};
use fairway_units::{Duration, Time};
use numpy::IntoPyArray;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;

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
    let control = control.map_or_else(Arc::default, |control| Arc::clone(&control.0));
    let (report, rows) = py.detach(|| {
        let mut found = whole::analyse(&path, &name, options, &control).map_err(failure)?;
        let rows = Rows::taken_out_of(&mut found);
        let report = serde_json::to_string(&found);
        let report = report.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyResult::Ok((report, rows))
    })?;
    Ok(AnalysisData {
        report,
        directions: rows.directions,
        series: rows.intervals.columns(py)?.unbind(),
        packets: rows.packets.columns(py)?.unbind(),
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

/// Intervals and packets of all directions that were followed, one after the other.
#[derive(Default)]
struct Rows {
    /// Connections, and which of their directions.
    directions: Vec<(u64, usize)>,
    intervals: Intervals,
    packets: Packets,
}

impl Rows {
    fn taken_out_of(found: &mut whole::Whole) -> Rows {
        let start = Time::from_nanos(found.capture.started_ns.unwrap_or(0));
        let mut rows = Rows::default();
        for connection in &mut found.report.connections {
            for (index, direction) in connection.directions.iter_mut().enumerate() {
                let series = direction.series.take();
                let (Some(series), Some(detail)) = (series, direction.detail.take()) else {
                    // Windows over time are for diagrams, and more than all the rest together.
                    if let Some(window) = &mut direction.window {
                        window.series = WindowSeries::default();
                    }
                    continue;
                };
                let number = rows.directions.len() as u32;
                rows.directions.push((connection.id, index));
                rows.intervals.add(number, &series, start);
                rows.packets.add(number, *detail, start);
            }
        }
        rows
    }
}

/// Seconds since the capture's first packet; a clock may go back.
fn seconds(at_ns: u64, start: Time) -> f64 {
    let since = i128::from(at_ns) - i128::from(start.as_nanos());
    since as f64 * 1e-9
}

#[derive(Default)]
struct Intervals {
    t_s: Vec<f64>,
    flow: Vec<u32>,
    throughput_bps: Vec<f64>,
    goodput_bps: Vec<f64>,
    retransmitted_segments: Vec<u64>,
    flight_bytes: Vec<i64>,
    receive_window_bytes: Vec<i64>,
    least_rtt_s: Vec<f64>,
    most_rtt_s: Vec<f64>,
    srtt_s: Vec<f64>,
}

impl Intervals {
    fn add(&mut self, number: u32, series: &Series, start: Time) {
        let length_s = series.length().as_secs_f64();
        let bytes = |bytes: Option<u64>| bytes.and_then(|b| i64::try_from(b).ok()).unwrap_or(-1);
        let span_s = |span: Option<Duration>| span.map_or(f64::NAN, Duration::as_secs_f64);
        for (end, interval) in series.iter() {
            self.t_s.push(seconds(end.as_nanos(), start));
            self.flow.push(number);
            self.throughput_bps.push(interval.sent_bytes as f64 * 8.0 / length_s);
            self.goodput_bps.push(interval.delivered_bytes as f64 * 8.0 / length_s);
            self.retransmitted_segments.push(interval.retransmitted_segments);
            self.flight_bytes.push(bytes(interval.most_flight_bytes));
            self.receive_window_bytes.push(bytes(interval.least_window_bytes));
            self.least_rtt_s.push(span_s(interval.least_rtt));
            self.most_rtt_s.push(span_s(interval.most_rtt));
            self.srtt_s.push(span_s(interval.srtt));
        }
    }

    fn columns(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let columns = crate::columns(py)?;
        columns.set_item("t_s", self.t_s.into_pyarray(py))?;
        columns.set_item("flow", self.flow.into_pyarray(py))?;
        columns.set_item("throughput_bps", self.throughput_bps.into_pyarray(py))?;
        columns.set_item("goodput_bps", self.goodput_bps.into_pyarray(py))?;
        columns.set_item("retransmitted_segments", self.retransmitted_segments.into_pyarray(py))?;
        columns.set_item("flight_bytes", self.flight_bytes.into_pyarray(py))?;
        columns.set_item("receive_window_bytes", self.receive_window_bytes.into_pyarray(py))?;
        columns.set_item("least_rtt_s", self.least_rtt_s.into_pyarray(py))?;
        columns.set_item("most_rtt_s", self.most_rtt_s.into_pyarray(py))?;
        columns.set_item("srtt_s", self.srtt_s.into_pyarray(py))?;
        Ok(columns)
    }
}

#[derive(Default)]
struct Packets {
    t_s: Vec<f64>,
    flow: Vec<u32>,
    packet: Vec<u64>,
    what: Vec<u8>,
    from_byte: Vec<i64>,
    to_byte: Vec<i64>,
    window_end_byte: Vec<i64>,
    flight_bytes: Vec<i64>,
    rtt_s: Vec<f64>,
    fate: Vec<i8>,
}

impl Packets {
    fn add(&mut self, number: u32, mut detail: Detail, start: Time) {
        self.t_s.extend(detail.at_ns.iter().map(|at| seconds(*at, start)));
        self.flow.extend(std::iter::repeat_n(number, detail.at_ns.len()));
        self.packet.append(&mut detail.packet);
        self.what.append(&mut detail.what);
        self.from_byte.append(&mut detail.from_byte);
        self.to_byte.append(&mut detail.to_byte);
        self.window_end_byte.append(&mut detail.window_end_byte);
        self.flight_bytes.append(&mut detail.flight_bytes);
        self.rtt_s.append(&mut detail.rtt_s);
        self.fate.append(&mut detail.fate);
    }

    fn columns(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let columns = crate::columns(py)?;
        columns.set_item("t_s", self.t_s.into_pyarray(py))?;
        columns.set_item("flow", self.flow.into_pyarray(py))?;
        columns.set_item("packet", self.packet.into_pyarray(py))?;
        columns.set_item("what", self.what.into_pyarray(py))?;
        columns.set_item("from_byte", self.from_byte.into_pyarray(py))?;
        columns.set_item("to_byte", self.to_byte.into_pyarray(py))?;
        columns.set_item("window_end_byte", self.window_end_byte.into_pyarray(py))?;
        columns.set_item("flight_bytes", self.flight_bytes.into_pyarray(py))?;
        columns.set_item("rtt_s", self.rtt_s.into_pyarray(py))?;
        columns.set_item("fate", self.fate.into_pyarray(py))?;
        Ok(columns)
    }
}
