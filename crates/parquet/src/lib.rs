//! Tables of results as Parquet files: columns to bytes and back.
//!
//! What is written is the plain part of the format that every reader knows: flat optional columns, one
//! data page for a column of a row group, values plain or by a dictionary, pages compressed with gzip,
//! whose checksum tells damage. What is read is that and no more, with memory bounded by the size of
//! the file. Source: Apache Parquet format 2.11 (`parquet.thrift`, `Encodings.md`), and the compact
//! protocol of Apache Thrift (`thrift-compact-protocol.md`).

mod hybrid;
mod read;
mod thrift;
mod write;

use std::borrow::Cow;

pub use read::{ReadError, read, read_within};
pub use write::write;

/// A column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its values, one for each row.
    pub values: Values<'a>,
    /// Which rows have a value; all, if that is not said.
    pub present: Option<Cow<'a, [bool]>>,
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values<'a> {
    /// Real numbers; NaN where there is none.
    Real(Cow<'a, [f64]>),
    /// Whole numbers.
    Integer(Cow<'a, [i64]>),
    /// Counts.
    Count(Cow<'a, [u64]>),
    /// Counts of 32 bits.
    SmallCount(Cow<'a, [u32]>),
    /// True or false.
    Flag(Cow<'a, [bool]>),
    /// Text: the index of each row's name, -1 where there is none, and the names.
    Text(Cow<'a, [i32]>, Vec<Cow<'a, str>>),
}

impl Values<'_> {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        match self {
            Values::Real(values) => values.len(),
            Values::Integer(values) => values.len(),
            Values::Count(values) => values.len(),
            Values::SmallCount(values) => values.len(),
            Values::Flag(values) => values.len(),
            Values::Text(codes, _) => codes.len(),
        }
    }
}

/// First and last bytes of a file.
const MAGIC: &[u8; 4] = b"PAR1";
/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 20;

/// Numbers of `parquet.thrift`.
mod format {
    pub const BOOLEAN: i64 = 0;
    pub const INT32: i64 = 1;
    pub const INT64: i64 = 2;
    pub const DOUBLE: i64 = 5;
    pub const BYTE_ARRAY: i64 = 6;

    pub const OPTIONAL: i64 = 1;

    pub const UTF8: i64 = 0;
    pub const UINT_32: i64 = 13;
    pub const UINT_64: i64 = 14;

    pub const PLAIN: i64 = 0;
    pub const PLAIN_DICTIONARY: i64 = 2;
    pub const RLE: i64 = 3;
    pub const RLE_DICTIONARY: i64 = 8;

    pub const UNCOMPRESSED: i64 = 0;
    pub const GZIP: i64 = 2;

    pub const DATA_PAGE: i64 = 0;
    pub const DICTIONARY_PAGE: i64 = 2;
}

#[cfg(test)]
mod tests;
