//! Reads values of JSON objects that other programs wrote.

use serde_json::Value;

/// Largest whole number that a JSON number carries exactly, as most programs read it.
pub(super) const LARGEST: u64 = 1 << 53;

/// An object without the keys that have no value.
pub(super) fn given(mut object: Value) -> Value {
    if let Value::Object(keys) = &mut object {
        keys.retain(|_, value| !value.is_null());
    }
    object
}

/// A number, if there is one.
pub(super) fn number(object: &Value, key: &str) -> Option<f64> {
    object.get(key).and_then(Value::as_f64).filter(|number| number.is_finite())
}

/// A whole number from 0 to [`LARGEST`], if there is one. iperf3 writes -1 for what it does not
/// know, or what becomes of it in another type: both are none.
pub(super) fn whole(object: &Value, key: &str) -> Option<u64> {
    number(object, key).filter(|x| (0.0..=LARGEST as f64).contains(x)).map(|x| x as u64)
}

/// Whether there is a `true`, or a number that is not zero.
pub(super) fn flag(object: &Value, key: &str) -> bool {
    match object.get(key) {
        Some(Value::Bool(flag)) => *flag,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        _ => false,
    }
}

pub(super) fn text(object: &Value, key: &str, most: usize) -> Option<String> {
    let text = object.get(key)?.as_str()?;
    Some(text.chars().filter(|c| !c.is_control()).take(most).collect())
}
