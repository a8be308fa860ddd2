//! The analytic models: converts arrays and documents, never computes.

use pyo3::prelude::*;

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
