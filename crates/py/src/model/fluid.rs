//! Fluid models: a document in, curves as arrays out.

use fairway_model::Answer;
use fairway_model::fluid::{Curves, Fluid, Rule};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use super::{question, refused};

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
    let fluid: Fluid = question(document)?;
    let Answer { value: curves, outside } =
        py.detach(|| fluid.run(duration_s, points)).map_err(refused)?;
    let means = json!(curves.means_since(since_s)).to_string();
    let columns = crate::columns::no_arrays(py)?;
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

/// The state that does not move, as JSON: `value`, null if there is none, and `outside`.
#[pyfunction]
pub(super) fn fluid_fixed_point(py: Python<'_>, document: &str) -> PyResult<String> {
    let fluid: Fluid = question(document)?;
    let Answer { value, outside } = py.detach(|| fluid.fixed_point()).map_err(refused)?;
    Ok(json!({"value": value, "outside": outside}).to_string())
}

/// Names of the congestion controls that have a fluid model.
#[pyfunction]
pub(super) fn fluid_rules() -> Vec<&'static str> {
    Rule::names().collect()
}
