//! The throughput laws over arrays.

use fairway_model::laws::{Columns, Entry, LAWS, Refused};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(model_laws, module)?)?;
    module.add_function(wrap_pyfunction!(model_law, module)?)
}

/// The throughput laws with equation, range, source, parameters and results, as JSON.
#[pyfunction]
fn model_laws() -> String {
    LAWS.iter().map(describe).collect::<Value>().to_string()
}

fn describe(law: &Entry) -> Value {
    let parameters: Value = law
        .parameters
        .iter()
        .map(|parameter| {
            json!({
                "name": parameter.name,
                "meaning": parameter.meaning,
                "expected": parameter.kind.expected(),
                "is_required": parameter.default.is_none(),
                // JSON has no infinity: null stands for no limit.
                "default": parameter.default.filter(|default| default.is_finite()),
            })
        })
        .collect();
    let results: Value = law
        .results
        .iter()
        .map(|result| json!({ "name": result.name, "meaning": result.meaning }))
        .collect();
    json!({
        "name": law.name,
        "title": law.title,
        "equation": law.equation,
        "range": law.range,
        "source": law.source,
        "parameters": parameters,
        "results": results,
    })
}

/// What a law says: a column for each result, the number of the reason for each point (0 in range), and the
/// reasons, counted from 1.
type Said<'py> = (Vec<Bound<'py, PyArray1<f64>>>, Bound<'py, PyArray1<u8>>, Vec<&'static str>);

/// Evaluate a law at all points of a shape, in C order. Each column has one number, or one for each point.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arrays are taken from Python as they come")]
fn model_law<'py>(
    py: Python<'py>,
    name: &str,
    columns: Vec<PyReadonlyArray1<'py, f64>>,
    shape: Vec<usize>,
) -> PyResult<Said<'py>> {
    let law = Entry::named(name)
        .ok_or_else(|| PyValueError::new_err(format!("{name}: there is no such law")))?;
    let points = shape.iter().product();
    let given = columns.iter().map(|column| column.as_slice()).collect::<Result<Vec<_>, _>>()?;
    if given.len() != law.parameters.len() {
        let expected = law.parameters.len();
        return Err(PyValueError::new_err(format!(
            "{name}: expected {expected} columns, got {}",
            given.len()
        )));
    }
    for (column, parameter) in given.iter().zip(law.parameters) {
        if column.len() != 1 && column.len() != points {
            return Err(PyValueError::new_err(format!(
                "{}: expected one number or {points}, got {}",
                parameter.name,
                column.len()
            )));
        }
    }
    let Columns { values, outside, reasons } = py
        .detach(|| law.evaluate(&given, points))
        .map_err(|refused| refusal(law, &given, &shape, &refused))?;
    let values = values.into_iter().map(|column| column.into_pyarray(py)).collect();
    Ok((values, outside.into_pyarray(py), reasons))
}

/// Names the quantity and, if it is not the same for all points, the first that makes no sense.
fn refusal(law: &Entry, given: &[&[f64]], shape: &[usize], refused: &Refused) -> PyErr {
    let error = &refused.error;
    let is_one = law
        .parameters
        .iter()
        .zip(given)
        .any(|(parameter, column)| parameter.name == error.quantity && column.len() == 1);
    if is_one || shape.is_empty() {
        return PyValueError::new_err(error.to_string());
    }
    let mut rest = refused.index;
    let mut place: Vec<String> = shape
        .iter()
        .rev()
        .map(|length| {
            let index = rest % length;
            rest /= length;
            index.to_string()
        })
        .collect();
    place.reverse();
    PyValueError::new_err(format!(
        "{}[{}]: expected {}, got {}",
        error.quantity,
        place.join(", "),
        error.expected,
        error.found
    ))
}
