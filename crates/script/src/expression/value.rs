//! Values of expressions.

use std::cmp::Ordering;
use std::fmt;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// A real number.
    Real(f64),
    /// `True` or `False`.
    Truth(bool),
    /// Text.
    Text(String),
    /// Several values.
    Tuple(Vec<Value>),
    /// `None`.
    Nothing,
}

impl Value {
    /// Whether it counts as true.
    pub fn is_true(&self) -> bool {
        match self {
            Value::Integer(number) => *number != 0,
            Value::Real(number) => *number != 0.0,
            Value::Truth(truth) => *truth,
            Value::Text(text) => !text.is_empty(),
            Value::Tuple(values) => !values.is_empty(),
            Value::Nothing => false,
        }
    }

    /// It as a whole number, if it is one: truths are 0 and 1.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Integer(number) => Some(*number),
            Value::Truth(truth) => Some(i64::from(*truth)),
            _ => None,
        }
    }

    /// It as a real number, if it is a number.
    pub fn as_real(&self) -> Option<f64> {
        match self {
            Value::Real(number) => Some(*number),
            other => other.as_integer().map(|number| number as f64),
        }
    }

    /// Whether two values are equal: numbers by what they are, not by their kind.
    pub fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Tuple(a), Value::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b))
            }
            _ => match (self.as_real(), other.as_real()) {
                (Some(_), Some(_)) => self.order(other) == Some(Ordering::Equal),
                _ => self == other,
            },
        }
    }

    /// Which of two is larger, if they can be compared.
    pub fn order(&self, other: &Value) -> Option<Ordering> {
        if let (Some(a), Some(b)) = (self.as_integer(), other.as_integer()) {
            return Some(a.cmp(&b));
        }
        if let (Value::Text(a), Value::Text(b)) = (self, other) {
            return Some(a.cmp(b));
        }
        self.as_real()?.partial_cmp(&other.as_real()?)
    }

    /// What kind of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Integer(_) | Value::Real(_) => "a number",
            Value::Truth(_) => "a truth value",
            Value::Text(_) => "text",
            Value::Tuple(_) => "a tuple",
            Value::Nothing => "None",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(number) => write!(f, "{number}"),
            Value::Real(number) => write!(f, "{number:?}"),
            Value::Truth(true) => f.write_str("True"),
            Value::Truth(false) => f.write_str("False"),
            Value::Text(text) => f.write_str(text),
            Value::Tuple(values) => {
                f.write_str("(")?;
                for (i, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
            Value::Nothing => f.write_str("None"),
        }
    }
}
