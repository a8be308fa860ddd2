//! What goes into a law and what comes out of it, by name, so that tables, arrays and commands need no
//! list of their own.

use crate::error::Error;

/// Values that a parameter may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A probability that is neither zero nor one.
    Probability,
    /// A share that may be zero, and is below one.
    Share,
    /// A finite number above zero.
    Positive,
    /// A finite number of zero or more.
    NotNegative,
    /// A number above zero; infinite if there is no such limit.
    PositiveLimit,
    /// A number of zero or more; infinite if there is no such limit.
    Limit,
    /// One or more; infinite if there is no such limit.
    LimitOfOne,
    /// A finite number of one or more.
    OneOrMore,
    /// A number between two, both included; and the same in words.
    Between(f64, f64, &'static str),
}

impl Kind {
    /// The values allowed, in words.
    pub fn expected(self) -> &'static str {
        match self {
            Kind::Probability => "a number above 0 and below 1",
            Kind::Share => "a number from 0 to below 1",
            Kind::Positive => "a finite number above zero",
            Kind::NotNegative => "a finite number of zero or more",
            Kind::PositiveLimit => "a number above zero, or infinity for no limit",
            Kind::Limit => "a number of zero or more, or infinity for no limit",
            Kind::LimitOfOne => "one or more, or infinity for no limit",
            Kind::OneOrMore => "a finite number of one or more",
            Kind::Between(_, _, words) => words,
        }
    }

    fn accepts(self, value: f64) -> bool {
        match self {
            Kind::Probability => value > 0.0 && value < 1.0,
            Kind::Share => (0.0..1.0).contains(&value),
            Kind::Positive => value > 0.0 && value < f64::INFINITY,
            Kind::NotNegative => (0.0..f64::INFINITY).contains(&value),
            Kind::PositiveLimit => value > 0.0,
            Kind::Limit => value >= 0.0,
            Kind::LimitOfOne => value >= 1.0,
            Kind::OneOrMore => (1.0..f64::INFINITY).contains(&value),
            Kind::Between(low, high, _) => (low..=high).contains(&value),
        }
    }

    pub(super) fn check(self, quantity: &'static str, found: f64) -> Result<(), Error> {
        if self.accepts(found) {
            return Ok(());
        }
        Err(Error { quantity, expected: self.expected(), found })
    }
}

/// One parameter of a law.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name, which ends with its unit.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Values allowed.
    pub kind: Kind,
    /// Default; none if it is required.
    pub default: Option<f64>,
}

/// One result of a law.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    /// Its name, which ends with its unit.
    pub name: &'static str,
    /// What it is.
    pub meaning: &'static str,
}

/// Numbers that a law is asked with.
pub trait Parameters: Copy {
    /// Their declarations, in the order of the fields.
    const PARAMETERS: &'static [Parameter];

    /// Makes them from numbers in the order of the fields.
    fn from_numbers(next: impl FnMut() -> f64) -> Self;

    /// Checks each by itself.
    ///
    /// # Errors
    /// [`Error`] of the first that is refused.
    fn check(&self) -> Result<(), Error>;
}

/// Numbers that a law answers with.
pub trait Quantities: Copy {
    /// Their declarations, in the order of the fields.
    const QUANTITIES: &'static [Quantity];

    /// Hands them over in the order of the fields.
    fn numbers(&self, put: impl FnMut(f64));
}

/// Defines the parameters of a law: a structure whose fields are numbers, each with what it may be, and
/// its default if it has one.
macro_rules! parameters {
    (
        $(#[$about:meta])* $name:ident {
            $( $(#[doc = $meaning:literal])+ $field:ident : $kind:ident
               $(($low:literal, $high:literal))? $(= $default:expr)?, )+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name { $( $(#[doc = $meaning])+ pub $field: f64, )+ }

        impl $crate::laws::Parameters for $name {
            const PARAMETERS: &'static [$crate::laws::Parameter] = &[ $(
                $crate::laws::Parameter {
                    name: stringify!($field),
                    meaning: concat!($($meaning),+).trim_ascii(),
                    kind: $crate::laws::quantity::kind!($kind $(, $low, $high)?),
                    default: $crate::laws::quantity::default!($($default)?),
                },
            )+ ];

            #[inline]
            fn from_numbers(mut next: impl FnMut() -> f64) -> Self {
                Self { $( $field: next(), )+ }
            }

            #[inline]
            fn check(&self) -> Result<(), $crate::Error> {
                $( $crate::laws::quantity::kind!($kind $(, $low, $high)?)
                    .check(stringify!($field), self.$field)?; )+
                Ok(())
            }
        }
    };
}

macro_rules! kind {
    (Between, $low:literal, $high:literal) => {
        $crate::laws::Kind::Between($low, $high, concat!("a number from ", $low, " to ", $high))
    };
    ($kind:ident) => {
        $crate::laws::Kind::$kind
    };
}

macro_rules! default {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// Defines the results of a law: a structure whose fields are numbers.
macro_rules! quantities {
    ( $(#[$about:meta])* $name:ident { $( $(#[doc = $meaning:literal])+ $field:ident, )+ } ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name { $( $(#[doc = $meaning])+ pub $field: f64, )+ }

        impl $crate::laws::Quantities for $name {
            const QUANTITIES: &'static [$crate::laws::Quantity] = &[ $(
                $crate::laws::Quantity {
                    name: stringify!($field),
                    meaning: concat!($($meaning),+).trim_ascii(),
                },
            )+ ];

            #[inline]
            fn numbers(&self, mut put: impl FnMut(f64)) {
                $( put(self.$field); )+
            }
        }
    };
}

pub(super) use {default, kind, parameters, quantities};
