//! Summaries as columns.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// No value.
    Null,
    /// Yes or no.
    Flag(bool),
    /// A whole number from zero.
    Count(u64),
    /// A whole number below zero.
    Integer(i64),
    /// Any other number.
    Number(f64),
    /// Text.
    Text(Box<str>),
}

/// Rows of which each has some of the columns; columns in the order in which they are first met.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<(String, Vec<Cell>)>,
    rows: usize,
    /// Columns that the first row has.
    first: usize,
    /// What tables in the row that has not ended have; their columns come after its own.
    inner: Vec<(String, Cell)>,
}

impl Table {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many of the columns the first row has.
    pub fn first(&self) -> usize {
        self.first
    }

    /// Each column, with a value for each row.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &[Cell])> {
        self.columns.iter().map(|(name, cells)| (name.as_str(), cells.as_slice()))
    }

    /// Adds the rows of another below.
    pub(crate) fn append(&mut self, other: Table) {
        if self.rows == 0 {
            *self = other;
            return;
        }
        for (name, cells) in other.columns {
            let place = self.column(&name, 0);
            let column = &mut self.columns[place].1;
            column.resize(self.rows, Cell::Null);
            column.extend(cells);
        }
        self.rows += other.rows;
        self.fill();
    }

    /// Ends a row.
    fn end_row(&mut self) {
        for (name, cell) in std::mem::take(&mut self.inner) {
            let place = self.column(&name, usize::MAX);
            self.set(place, cell);
        }
        self.rows += 1;
        if self.rows == 1 {
            self.first = self.columns.len();
        }
        self.fill();
    }

    /// Gives every column a value in every row.
    fn fill(&mut self) {
        for (_, cells) in &mut self.columns {
            cells.resize(self.rows, Cell::Null);
        }
    }

    /// The place of a column, which is `likely` in rows that are alike; a new one if there is none.
    fn column(&mut self, name: &str, likely: usize) -> usize {
        let is_it = |(own, _): &(String, _)| own == name;
        if self.columns.get(likely).is_some_and(is_it) {
            return likely;
        }
        self.columns.iter().position(is_it).unwrap_or_else(|| {
            self.columns.push((name.to_owned(), vec![Cell::Null; self.rows]));
            self.columns.len() - 1
        })
    }

    /// Sets a value of the row that has not ended; of two of one name the last counts.
    fn set(&mut self, place: usize, cell: Cell) {
        let cells = &mut self.columns[place].1;
        cells.truncate(self.rows);
        cells.push(cell);
    }
}

/// The name of a field, copied only if it has escapes.
#[derive(Deserialize)]
pub(crate) struct Name<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Reads a list of rows into a table; gives how many there are.
pub(crate) struct Rows<'a>(pub(crate) &'a mut Table);

impl<'de> DeserializeSeed<'de> for Rows<'_> {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_> {
    type Value = u32;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of tables")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<u32, A::Error> {
        let mut count = 0;
        while list.next_element_seed(Row(self.0))?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}

/// Reads one row into a table.
pub(crate) struct Row<'a>(pub(crate) &'a mut Table);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(Fields { table: self.0, inside: "" })?;
        self.0.end_row();
        Ok(())
    }
}

/// Reads the fields of a row, or of a table `inside` it, whose name stands before theirs then.
struct Fields<'a> {
    table: &'a mut Table,
    inside: &'a str,
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut likely = 0;
        while let Some(Name(name)) = map.next_key()? {
            let field = Field { table: self.table, inside: self.inside, name: &name, likely };
            likely = map.next_value_seed(field)? + 1;
        }
        Ok(())
    }
}

/// Reads one field; gives the place of its column.
struct Field<'a> {
    table: &'a mut Table,
    inside: &'a str,
    name: &'a str,
    likely: usize,
}

impl Field<'_> {
    fn set<E: Error>(self, cell: Cell) -> Result<usize, E> {
        if !self.inside.is_empty() {
            self.table.inner.push((format!("{}.{}", self.inside, self.name), cell));
            return Ok(self.likely);
        }
        let place = self.table.column(self.name, self.likely);
        self.table.set(place, cell);
        Ok(place)
    }
}

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = usize;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<usize, E> {
        self.set(Cell::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<usize, E> {
        self.set(Cell::Flag(flag))
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<usize, E> {
        self.set(Cell::Count(count))
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<usize, E> {
        self.set(Cell::Integer(integer))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<usize, E> {
        self.set(Cell::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
        self.set(Cell::Text(text.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<usize, A::Error> {
        Fields { table: self.table, inside: self.name }.visit_map(map)?;
        Ok(self.likely)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<usize, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(self.likely)
    }
}
