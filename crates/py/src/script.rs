//! Scripts, converted.

use fairway_script::run;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

create_exception!(
    _core,
    ScriptError,
    PyValueError,
    "A script that cannot be run; names file, line, column and what to do."
);

/// Run a script against the endpoint; its verdict as JSON, with `text` for readers. Releases the GIL.
#[pyfunction]
#[pyo3(signature = (text, name, preset = None))]
pub(crate) fn run_script(
    py: Python<'_>,
    text: &str,
    name: &str,
    preset: Option<&str>,
) -> PyResult<String> {
    py.detach(|| {
        let verdict =
            run(text, name, preset).map_err(|error| ScriptError::new_err(error.to_string()))?;
        let mut document = json!(verdict);
        document["text"] = json!(verdict.to_string());
        Ok(document.to_string())
    })
}
