//! Quantities as people write them, read for Python by the same reader as in experiments.

use fairway_units::{Bytes, Decimal, Duration as Time, QuantityError, Rate, split_unit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A quantity as people write it: a "rate" in bit/s, a "size" in bytes or a "duration" in ns.
#[pyfunction]
pub(crate) fn quantity(text: &str, kind: &str) -> PyResult<u64> {
    let number = match kind {
        "rate" => text.parse::<Rate>().map(Rate::as_bps),
        "size" => text.parse::<Bytes>().map(Bytes::get),
        "duration" => text.parse::<Time>().map(Time::as_nanos),
        _ => return Err(PyValueError::new_err(format!("{kind}: no such kind of quantity"))),
    };
    number.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A ratio as people write it, "0.01" or "1 %"; None if the text is none.
#[pyfunction]
pub(crate) fn ratio(text: &str) -> Option<f64> {
    let text = text.trim();
    let (number, is_percent) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), true),
        None => (text, false),
    };
    let is_number = number.starts_with(|first: char| first.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || b".eE-".contains(&byte));
    let value: f64 = number.parse().ok().filter(|_| is_number)?;
    // The point is moved in the text, so that the value is the double nearest to what is written.
    let moved = || format!("{number}e-2").parse().unwrap_or(value / 100.0);
    Some(if is_percent { moved() } else { value })
}

/// Reads a quantity of one kind, in its smallest unit.
type Reader = fn(&str) -> Result<u64, QuantityError>;

/// Counts that experiments have, each with its only unit and that unit for one of them.
const COUNTS: [(&str, &str); 3] = [("packets", "packet"), ("segments", "segment"), ("bdp", "bdp")];

/// A quantity of any kind as a number: its value, what that counts, the unit that it is written
/// with, and how much of what is counted that unit is; None if the text is no quantity.
#[pyfunction]
pub(crate) fn measured(text: &str) -> Option<(f64, &'static str, String, f64)> {
    let (number, unit) = split_unit(text);
    Decimal::parse(number)?;
    if let Some((count, _)) = COUNTS.iter().find(|(many, one)| unit == *many || unit == *one) {
        return Some((number.parse().ok()?, count, (*count).to_owned(), 1.0));
    }
    let kinds: [(&str, f64, Reader); 3] = [
        ("s", 1e9, |text| text.parse::<Time>().map(Time::as_nanos)),
        ("bit/s", 1.0, |text| text.parse::<Rate>().map(Rate::as_bps)),
        ("bytes", 1.0, |text| text.parse::<Bytes>().map(Bytes::get)),
    ];
    kinds.into_iter().find_map(|(base, parts, read)| {
        let value = |text: &str| read(text).ok().map(|whole| whole as f64 / parts);
        Some((value(text)?, base, unit.to_owned(), value(&format!("1 {unit}"))?))
    })
}
