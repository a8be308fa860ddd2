//! Columns of results as NumPy arrays.

use std::sync::{Mutex, PoisonError};

use fairway_schema::Values;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

/// Columns that become arrays when they are first read: who reads the summary alone is spared NumPy,
/// 10 MB and 70 ms.
pub(crate) struct Columns {
    values: Mutex<Vec<(&'static str, Values)>>,
    arrays: PyOnceLock<Py<PyDict>>,
}

impl Columns {
    pub(crate) fn new(columns: impl Iterator<Item = (&'static str, Values)>) -> Self {
        Columns { values: Mutex::new(columns.collect()), arrays: PyOnceLock::new() }
    }

    /// The arrays by their names.
    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let made = self.arrays.get_or_try_init(py, || {
            let found = no_arrays(py)?;
            let values =
                std::mem::take(&mut *self.values.lock().unwrap_or_else(PoisonError::into_inner));
            fill(&found, values)?;
            Ok::<_, PyErr>(found.unbind())
        })?;
        Ok(made.clone_ref(py))
    }
}

/// Columns as NumPy arrays by their names.
pub(crate) fn arrays(
    py: Python<'_>,
    columns: impl Iterator<Item = (&'static str, Values)>,
) -> PyResult<Py<PyDict>> {
    let found = no_arrays(py)?;
    fill(&found, columns)?;
    Ok(found.unbind())
}

fn fill(
    arrays: &Bound<'_, PyDict>,
    columns: impl IntoIterator<Item = (&'static str, Values)>,
) -> PyResult<()> {
    let py = arrays.py();
    for (name, values) in columns {
        match values {
            Values::Real(values) => arrays.set_item(name, values.into_pyarray(py)),
            Values::Count(values) => arrays.set_item(name, values.into_pyarray(py)),
            Values::Integer(values) => arrays.set_item(name, values.into_pyarray(py)),
            Values::Name(values) => arrays.set_item(name, values.into_pyarray(py)),
            Values::Choice(values) => arrays.set_item(name, values.into_pyarray(py)),
            Values::MaybeChoice(values) => arrays.set_item(name, values.into_pyarray(py)),
            Values::Flag(values) => arrays.set_item(name, values.into_pyarray(py)),
        }?;
    }
    Ok(())
}

/// An empty mapping for arrays. It imports NumPy: Ctrl-C in that import is an error here, and a panic in
/// `into_pyarray`.
pub(crate) fn no_arrays(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    py.import("numpy")?;
    Ok(PyDict::new(py))
}
