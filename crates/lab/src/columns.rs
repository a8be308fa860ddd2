//! The columns of a run and their addresses in memory.

use std::mem::size_of_val;

use fairway_schema::Values;
use serde_json::{Value, json};

/// The columns of a table, in their order.
#[derive(Debug)]
pub(crate) struct Columns(Vec<(&'static str, Values)>);

impl Columns {
    pub(crate) fn new(columns: impl Iterator<Item = (&'static str, Values)>) -> Self {
        Columns(columns.collect())
    }

    /// Name, type, address and length in bytes of each column; valid until they are dropped.
    pub(crate) fn places(&self) -> Value {
        self.0.iter().map(|(name, values)| place(name, values)).collect()
    }
}

fn place(name: &str, values: &Values) -> Value {
    fn of<T>(name: &str, kind: &str, values: &[T]) -> Value {
        let address = values.as_ptr().addr();
        json!({ "name": name, "type": kind, "address": address, "bytes": size_of_val(values) })
    }
    match values {
        Values::Real(values) => of(name, "f64", values),
        Values::Count(values) => of(name, "u64", values),
        Values::Integer(values) => of(name, "i64", values),
        Values::Name(values) => of(name, "u32", values),
        Values::Choice(values) => of(name, "u8", values),
        Values::MaybeChoice(values) => of(name, "i8", values),
        Values::Flag(values) => of(name, "bool", values),
    }
}
