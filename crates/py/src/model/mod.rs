//! The analytic models: converts arrays and documents, never computes.

use std::fmt::Display;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(crate) mod backend;
mod fluid;
mod laws;
mod queues;
mod streams;
mod wlan;

/// Adds what the models offer.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(backend::model_answer, module)?)?;
    laws::register(module)?;
    module.add_function(wrap_pyfunction!(queues::model_queue, module)?)?;
    module.add_function(wrap_pyfunction!(streams::model_streams, module)?)?;
    module.add_function(wrap_pyfunction!(streams::model_algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(fluid::fluid_fixed_point, module)?)?;
    module.add_function(wrap_pyfunction!(fluid::fluid_rules, module)?)?;
    module.add_function(wrap_pyfunction!(fluid::fluid_run, module)?)?;
    module.add_function(wrap_pyfunction!(wlan::model_wlan, module)?)?;
    module.add_function(wrap_pyfunction!(wlan::model_saturation, module)?)?;
    Ok(())
}

/// A question, whose refusals name no line: nobody wrote it by hand.
fn question<T: DeserializeOwned>(document: &str) -> PyResult<T> {
    let document: Value = serde_json::from_str(document).map_err(refused)?;
    serde_json::from_value(document).map_err(refused)
}

fn refused(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
