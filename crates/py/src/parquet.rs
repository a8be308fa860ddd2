//! Tables as Parquet files.

use std::borrow::Cow;

use fairway_parquet::{Column, Values, read, write};
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// A column: its name, its values, which rows have one, and of text the names that its values are
/// the places of.
type Given<'py> =
    (String, Bound<'py, PyAny>, Option<Bound<'py, PyArray1<bool>>>, Option<Vec<String>>);

/// What a column's values lie in while they are written.
enum Held<'py> {
    Real(PyReadonlyArray1<'py, f64>),
    Integer(PyReadonlyArray1<'py, i64>),
    Count(PyReadonlyArray1<'py, u64>),
    SmallCount(PyReadonlyArray1<'py, u32>),
    Flag(PyReadonlyArray1<'py, bool>),
    Text(PyReadonlyArray1<'py, i32>),
}

impl<'py> Held<'py> {
    fn of(values: &Bound<'py, PyAny>) -> PyResult<Held<'py>> {
        macro_rules! of {
            ($($kind:ident),+) => {
                $(if let Ok(found) = values.extract() {
                    return Ok(Held::$kind(found));
                })+
            };
        }
        of!(Real, Integer, Count, SmallCount, Flag, Text);
        Err(PyTypeError::new_err("a column that no table has"))
    }

    fn values<'a>(&'a self, names: &'a [String]) -> PyResult<Values<'a>> {
        Ok(match self {
            Held::Real(values) => Values::Real(Cow::Borrowed(values.as_slice()?)),
            Held::Integer(values) => Values::Integer(Cow::Borrowed(values.as_slice()?)),
            Held::Count(values) => Values::Count(Cow::Borrowed(values.as_slice()?)),
            Held::SmallCount(values) => Values::SmallCount(Cow::Borrowed(values.as_slice()?)),
            Held::Flag(values) => Values::Flag(Cow::Borrowed(values.as_slice()?)),
            Held::Text(codes) => {
                let names = names.iter().map(|name| Cow::Borrowed(name.as_str())).collect();
                Values::Text(Cow::Borrowed(codes.as_slice()?), names)
            }
        })
    }
}

/// The bytes of a Parquet file of columns as long as each other; releases the GIL.
#[pyfunction]
pub(crate) fn write_parquet<'py>(
    py: Python<'py>,
    columns: Vec<Given<'py>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let held = columns
        .iter()
        .map(|(_, values, present, _)| {
            Ok((Held::of(values)?, present.as_ref().map(|present| present.readonly())))
        })
        .collect::<PyResult<Vec<_>>>()?;
    let table = columns
        .iter()
        .zip(&held)
        .map(|((name, _, _, names), (values, present))| {
            let values = values.values(names.as_deref().unwrap_or_default())?;
            let present = present.as_ref().map(|present| present.as_slice()).transpose()?;
            Ok(Column { name: Cow::Borrowed(name), values, present: present.map(Cow::Borrowed) })
        })
        .collect::<PyResult<Vec<Column<'_>>>>()?;
    let rows = table.first().map_or(0, |column| column.values.rows());
    let is_even = |column: &Column<'_>| {
        column.values.rows() == rows
            && column.present.as_ref().is_none_or(|present| present.len() == rows)
    };
    if !table.iter().all(is_even) {
        return Err(PyValueError::new_err("columns of different lengths"));
    }
    let file = py.detach(|| write(&table));
    Ok(PyBytes::new(py, &file))
}

/// The columns of such a file, as `write_parquet` takes them.
#[pyfunction]
pub(crate) fn read_parquet<'py>(py: Python<'py>, file: &[u8]) -> PyResult<Vec<Given<'py>>> {
    let columns =
        py.detach(|| read(file)).map_err(|error| PyValueError::new_err(error.to_string()))?;
    // As in `columns`: Ctrl-C in that import is an error here, and a panic in `into_pyarray`.
    py.import("numpy")?;
    let given = columns.into_iter().map(|column| {
        let mut names = None;
        let values = match column.values {
            Values::Real(values) => values.into_owned().into_pyarray(py).into_any(),
            Values::Integer(values) => values.into_owned().into_pyarray(py).into_any(),
            Values::Count(values) => values.into_owned().into_pyarray(py).into_any(),
            Values::SmallCount(values) => values.into_owned().into_pyarray(py).into_any(),
            Values::Flag(values) => values.into_owned().into_pyarray(py).into_any(),
            Values::Text(codes, words) => {
                names = Some(words.into_iter().map(Cow::into_owned).collect());
                codes.into_owned().into_pyarray(py).into_any()
            }
        };
        let present = column.present.map(|present| present.into_owned().into_pyarray(py));
        (column.name.into_owned(), values, present, names)
    });
    Ok(given.collect())
}
