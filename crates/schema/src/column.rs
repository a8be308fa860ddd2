//! How a result column is declared: once, with its name, type, unit and meaning.
//!
//! [`record!`] declares an object of the summary and [`series!`] a table over time. The doc comment of a
//! field is its meaning in the reference, and the end of its name is its unit, where it has one.

use serde::Serialize;

/// A column of a table, or a key of the summary.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Column {
    /// Its name in JSON and in tables.
    pub name: &'static str,
    /// Type of its values.
    pub kind: Kind,
    /// Whether a value may be missing: null in JSON and in tables.
    pub nullable: bool,
    /// Whether the column is absent where it does not apply.
    pub optional: bool,
    /// Unit of its values; empty for text, and for numbers without one.
    pub unit: &'static str,
    /// What it says.
    pub meaning: &'static str,
    /// Paper or RFC that defines it; empty where its meaning says all.
    pub source: &'static str,
    /// Difference between two backends that is of no account, where it is compared.
    pub tolerance: Option<Tolerance>,
    /// Columns of its values, if they are objects.
    pub columns: &'static [Column],
}

/// A type of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Words.
    Text,
    /// A count.
    Count,
    /// A whole number that may be negative.
    Integer,
    /// A real number.
    Number,
    /// True or false.
    Flag,
    /// An object with columns of its own.
    Record,
    /// A list of such objects.
    Records,
    /// Numbers by names that no schema knows.
    Figures,
}

/// The largest difference of no account.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tolerance {
    /// As a share of the reference's mean.
    pub relative: f64,
    /// At least this much, in the unit of the column: a share of next to nothing is nothing.
    pub floor: f64,
}

impl Column {
    pub(crate) const fn new<T: Value>(name: &'static str, meaning: &'static str) -> Column {
        let unit = match T::KIND {
            Kind::Count | Kind::Integer | Kind::Number => unit_of(name),
            _ => "",
        };
        Column {
            name,
            kind: T::KIND,
            nullable: T::NULLABLE,
            optional: false,
            unit,
            meaning: meaning.trim_ascii(),
            source: "",
            tolerance: None,
            columns: T::COLUMNS,
        }
    }

    pub(crate) const fn unit(self, unit: &'static str) -> Column {
        Column { unit, ..self }
    }

    pub(crate) const fn nullable(self) -> Column {
        Column { nullable: true, ..self }
    }

    pub(crate) const fn optional(self) -> Column {
        Column { optional: true, ..self }
    }

    pub(crate) const fn count(self) -> Column {
        Column { kind: Kind::Count, ..self }
    }

    pub(crate) const fn source(self, source: &'static str) -> Column {
        Column { source, ..self }
    }

    pub(crate) const fn tolerance(self, relative: f64, floor: f64) -> Column {
        Column { tolerance: Some(Tolerance { relative, floor }), ..self }
    }
}

/// A type that a column may have.
pub(crate) trait Value {
    const KIND: Kind;
    const NULLABLE: bool = false;
    const COLUMNS: &'static [Column] = &[];
}

macro_rules! kinds {
    ($($type:ty: $kind:ident),+ $(,)?) => {
        $(impl Value for $type {
            const KIND: Kind = Kind::$kind;
        })+
    };
}

// In time series, a number of 8 or 32 bits is the index of a name.
kinds! {
    String: Text, &'static str: Text, u32: Text, u8: Text, i8: Text,
    u64: Count, i64: Integer, f64: Number, bool: Flag,
    Vec<(&'static str, Option<f64>)>: Figures,
}

impl<T: Value> Value for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
    const COLUMNS: &'static [Column] = T::COLUMNS;
}

/// An object of the summary.
pub(crate) trait Record {
    const COLUMNS: &'static [Column];
}

impl<T: Record> Value for Vec<T> {
    const KIND: Kind = Kind::Records;
    const COLUMNS: &'static [Column] = T::COLUMNS;
}

/// Units by the end of a name; the first that fits counts.
pub const UNITS: [(&str, &str); 9] = [
    ("_bps", "bit/s"),
    ("_kbps", "kbit/s"),
    ("_per_s", "1/s"),
    ("_s", "s"),
    ("_ms", "ms"),
    ("_bytes", "bytes"),
    ("_packets", "packets"),
    ("_segments", "segments"),
    ("_percent", "%"),
];

/// The unit of a name.
const fn unit_of(name: &str) -> &'static str {
    let mut i = 0;
    while i < UNITS.len() {
        if ends_with(name.as_bytes(), UNITS[i].0.as_bytes()) {
            return UNITS[i].1;
        }
        i += 1;
    }
    ""
}

const fn ends_with(name: &[u8], end: &[u8]) -> bool {
    if name.len() < end.len() {
        return false;
    }
    let (_, last) = name.split_at(name.len() - end.len());
    let mut i = 0;
    while i < end.len() && last[i] == end[i] {
        i += 1;
    }
    i == end.len()
}

/// Whether two names are the same, while compiling.
pub(crate) const fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && ends_with(one.as_bytes(), other.as_bytes())
}

/// Declares an object of the summary. After a field stands what its type, its name and its meaning do
/// not say, in brackets; fields after a semicolon are no columns.
macro_rules! record {
    (
        $(#[doc = $about:literal])+
        $(#[derive($($derived:ident),+)])?
        pub struct $name:ident {
            $(
                $(#[doc = $meaning:literal])+
                $(#[serde($($serde:tt)*)])?
                $field:ident: $type:ty $([$($detail:ident($($value:expr),*)),+])?,
            )+
            $(; $(#[$attribute:meta])+ $more:ident: $more_type:ty)?
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, serde::Serialize)]
        $(#[derive($($derived),+)])?
        pub struct $name {
            $(
                $(#[doc = $meaning])+
                $(#[serde($($serde)*)])?
                pub $field: $type,
            )+
            $($(#[$attribute])+ pub $more: $more_type,)?
        }

        impl $crate::column::Record for $name {
            const COLUMNS: &'static [$crate::Column] = &[$(
                $crate::Column::new::<$type>(stringify!($field), concat!($($meaning),+))
                    $($(.$detail($($value),*))+)?,
            )+];
        }

        impl $crate::column::Value for $name {
            const KIND: $crate::Kind = $crate::Kind::Record;
            const COLUMNS: &'static [$crate::Column] =
                <$name as $crate::column::Record>::COLUMNS;
        }
    };
}
pub(crate) use record;

/// Values of a column of a time series.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Real numbers; NaN where there is none.
    Real(Vec<f64>),
    /// Counts.
    Count(Vec<u64>),
    /// Whole numbers; -1 where there is none, unless they may be negative.
    Integer(Vec<i64>),
    /// Indices of names.
    Name(Vec<u32>),
    /// Indices of names in a fixed list.
    Choice(Vec<u8>),
    /// The same; -1 where there is none.
    MaybeChoice(Vec<i8>),
    /// True or false.
    Flag(Vec<bool>),
}

macro_rules! values {
    ($($type:ty: $variant:ident),+) => {
        $(impl From<Vec<$type>> for Values {
            fn from(values: Vec<$type>) -> Self {
                Values::$variant(values)
            }
        })+
    };
}

values! {
    f64: Real, u64: Count, i64: Integer, u32: Name, u8: Choice, i8: MaybeChoice, bool: Flag
}

/// Declares a table over time: a vector for each column, of which the first is never empty in a
/// table with rows. A field after a semicolon is no column.
macro_rules! series {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident {
            $(
                $(#[doc = $meaning:literal])+
                $field:ident: $type:ty $([$($detail:ident($($value:expr),*)),+])?,
            )+
            $(; $(#[$attribute:meta])+ $more:ident: $more_type:ty)?
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[doc = $meaning])+ pub $field: Vec<$type>,)+
            $($(#[$attribute])+ pub $more: $more_type,)?
        }

        impl $name {
            /// Its columns.
            pub const COLUMNS: &'static [$crate::Column] = &[$(
                $crate::Column::new::<$type>(stringify!($field), concat!($($meaning),+))
                    $($(.$detail($($value),*))+)?,
            )+];

            /// The columns that have values, by their names.
            pub fn into_columns(self) -> impl Iterator<Item = (&'static str, $crate::Values)> {
                let has_rows = !self.t_s.is_empty();
                let is_filled = [$(!self.$field.is_empty()),+];
                let values = [$($crate::Values::from(self.$field)),+];
                let columns = Self::COLUMNS.iter().zip(is_filled).zip(values);
                columns.filter_map(move |((column, is_filled), values)| {
                    let is_left_out = !is_filled && (has_rows || column.optional);
                    (!is_left_out).then_some((column.name, values))
                })
            }
        }
    };
}
pub(crate) use series;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Series;

    #[test]
    fn a_column_says_what_its_declaration_says() {
        let of = |name: &str| Series::COLUMNS.iter().find(|column| column.name == name).unwrap();
        let inflated = of("inflated_cwnd_segments");
        assert_eq!((inflated.kind, inflated.unit), (Kind::Number, "segments"));
        assert!(inflated.optional && inflated.nullable && !of("t_s").nullable);
        assert_eq!((of("flow").kind, of("flow").unit), (Kind::Text, ""));
        assert!(of("srtt_s").meaning.starts_with("Smoothed round-trip time;"));
        for (name, unit) in [("a_per_s", "1/s"), ("a_ms", "ms"), ("a_bps", "bit/s"), ("drops", "")]
        {
            assert_eq!(unit_of(name), unit, "{name}");
        }
    }

    #[test]
    fn a_table_has_the_columns_with_values() {
        let mut series = Series::default();
        series.push_goodput(1.0, 0, 5e6);
        let names: Vec<_> = series.into_columns().map(|(name, _)| name).collect();
        let all = Series::COLUMNS.iter().map(|column| column.name);
        let expected: Vec<_> = all.filter(|name| *name != "inflated_cwnd_segments").collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn no_table_has_a_name_twice_and_no_column_lacks_a_meaning() {
        fn check(columns: &[Column]) {
            for (index, column) in columns.iter().enumerate() {
                assert!(!column.meaning.is_empty(), "{}", column.name);
                assert!(columns[..index].iter().all(|one| one.name != column.name));
                check(column.columns);
            }
        }
        crate::tables().iter().for_each(|(_, columns)| check(columns));
    }
}
