//! Fluid models: a document in, curves as arrays out.

use fairway_model::Answer;
use fairway_model::fluid::{
    Class, Curves, Equations, FixedPoint, Fluid, Means, Queue, RedQueue, Rule,
};
use numpy::IntoPyArray;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FluidText {
    capacity_pps: f64,
    queue: QueueText,
    classes: Vec<ClassText>,
    equations: EquationsText,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum EquationsText {
    Published,
    Refined,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassText {
    flows: f64,
    rtt_s: f64,
    cc: String,
    start_s: f64,
    first_window: f64,
    window_limit: Option<f64>,
    packets_per_ack: f64,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum QueueText {
    Red {
        min_packets: f64,
        max_packets: f64,
        max_probability: f64,
        weight: f64,
        gentle: bool,
        marks: bool,
        limit_packets: Option<f64>,
    },
    Droptail {
        limit_packets: f64,
    },
    Unlimited,
}

fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn read(text: &str) -> PyResult<Fluid> {
    let text: FluidText = serde_json::from_str(text).map_err(invalid)?;
    let classes: PyResult<Vec<Class>> = text.classes.into_iter().map(class_of).collect();
    Ok(Fluid {
        capacity_pps: text.capacity_pps,
        queue: queue_of(&text.queue),
        classes: classes?,
        equations: match text.equations {
            EquationsText::Published => Equations::Published,
            EquationsText::Refined => Equations::Refined,
        },
    })
}

fn class_of(text: ClassText) -> PyResult<Class> {
    Ok(Class {
        flows: text.flows,
        rtt_s: text.rtt_s,
        rule: Rule::named(&text.cc).map_err(invalid)?,
        start_s: text.start_s,
        first_window: text.first_window,
        window_limit: text.window_limit,
        packets_per_ack: text.packets_per_ack,
    })
}

fn queue_of(text: &QueueText) -> Queue {
    match *text {
        QueueText::Red {
            min_packets,
            max_packets,
            max_probability,
            weight,
            gentle,
            marks,
            limit_packets,
        } => Queue::Red(RedQueue {
            min_packets,
            max_packets,
            max_probability,
            weight,
            gentle,
            marks,
            limit_packets,
        }),
        QueueText::Droptail { limit_packets } => Queue::DropTail { limit_packets },
        QueueText::Unlimited => Queue::Unlimited,
    }
}

/// Windows, queue and loss over time: arrays by name, of each class in lists; `means`, from `since_s` on, and
/// `outside`, why it may not be believed or None, besides.
#[pyfunction]
pub(super) fn fluid_run<'py>(
    py: Python<'py>,
    document: &str,
    duration_s: f64,
    points: usize,
    since_s: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let fluid = read(document)?;
    let Answer { value: curves, outside } =
        py.detach(|| fluid.run(duration_s, points)).map_err(invalid)?;
    let means = means_text(&curves.means_since(since_s))?;
    let columns = crate::no_arrays(py)?;
    columns.set_item("means", means)?;
    columns.set_item("outside", outside)?;
    set_curves(&columns, curves)?;
    Ok(columns)
}

fn set_curves(columns: &Bound<'_, PyDict>, curves: Curves) -> PyResult<()> {
    let py = columns.py();
    let arrays = |lists: Vec<Vec<f64>>| -> Vec<_> {
        lists.into_iter().map(|list| list.into_pyarray(py)).collect()
    };
    columns.set_item("time_s", curves.time_s.into_pyarray(py))?;
    columns.set_item("queue_packets", curves.queue_packets.into_pyarray(py))?;
    columns.set_item("average_packets", curves.average_packets.into_pyarray(py))?;
    columns.set_item("dropped", curves.dropped.into_pyarray(py))?;
    columns.set_item("signalled", curves.signalled.into_pyarray(py))?;
    columns.set_item("windows", arrays(curves.windows))?;
    columns.set_item("goodputs_pps", arrays(curves.goodputs_pps))?;
    columns.set_item("steps", curves.steps)
}

fn means_text(means: &Means) -> PyResult<String> {
    text(&json!({
        "queue_packets": means.queue_packets,
        "queue_range": [means.queue_range.0, means.queue_range.1],
        "average_packets": means.average_packets,
        "dropped": means.dropped,
        "signalled": means.signalled,
        "windows": means.windows,
        "goodputs_pps": means.goodputs_pps,
    }))
}

/// The state that does not move, as JSON: `value`, null if there is none, and `outside`.
#[pyfunction]
pub(super) fn fluid_fixed_point(py: Python<'_>, document: &str) -> PyResult<String> {
    let fluid = read(document)?;
    let Answer { value, outside } = py.detach(|| fluid.fixed_point()).map_err(invalid)?;
    let point = |point: FixedPoint| {
        json!({
            "queue_packets": point.queue_packets,
            "dropped": point.dropped,
            "signalled": point.signalled,
            "windows": point.windows,
            "rtts_s": point.rtts_s,
            "goodputs_pps": point.goodputs_pps,
        })
    };
    text(&json!({"value": value.map(point), "outside": outside}))
}

fn text(value: &serde_json::Value) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// Names of the congestion controls that have a fluid model.
#[pyfunction]
pub(super) fn fluid_rules() -> Vec<&'static str> {
    Rule::names().collect()
}
