//! The analytic models: converts arrays and documents, never computes.

use pyo3::prelude::*;

/// Adds what the models offer.
#[expect(clippy::unnecessary_wraps, reason = "each kind of model is added here")]
pub(crate) fn register(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
