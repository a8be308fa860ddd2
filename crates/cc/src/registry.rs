//! The one list of algorithms: their names, sources, variants and parameters.

use crate::{CongestionControl, SlowStart};

/// Whose version of an algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// The paper or RFC that defines it.
    Paper,
    /// The module in Linux 6.1 (6.1.192 was read).
    Linux6_1,
    /// The module in Linux 2.6.22.6, which ns-2.35's TCP-Linux carries.
    Linux2_6_22,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Variant; 3] = [Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22];

    /// The name written in experiment files.
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Paper => "paper",
            Variant::Linux6_1 => "linux-6.1",
            Variant::Linux2_6_22 => "linux-2.6.22",
        }
    }

    /// The variant of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|v| v.name() == name)
    }
}

/// Families of algorithms, as the documentation groups them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Reno and its high-speed successors.
    Classic,
}

impl Family {
    /// The family's name.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Classic => "classic",
        }
    }
}

/// What an algorithm takes as a sign of congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalKind {
    /// Packet loss (and congestion marks treated as loss).
    Loss,
    /// Packet loss, and the time since the last one.
    LossAndTime,
    /// Packet loss, the time since the last one, and the spread of round-trip times.
    LossTimeAndDelay,
}

impl SignalKind {
    /// The signal's name.
    pub const fn name(self) -> &'static str {
        match self {
            SignalKind::Loss => "loss",
            SignalKind::LossAndTime => "loss + time",
            SignalKind::LossTimeAndDelay => "loss + time + delay",
        }
    }
}

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name in experiment files.
    pub name: &'static str,
    /// What it means, with its unit.
    pub meaning: &'static str,
    /// Default for each of [`Variant::ALL`]; 0 where the variant does not have the parameter.
    pub default: [f64; 3],
    /// Smallest value allowed.
    pub min: f64,
    /// Largest value allowed.
    pub max: f64,
    /// Whether it must be a whole number; a switch is 0 or 1.
    pub whole: bool,
    /// The variants that have it.
    pub variants: &'static [Variant],
}

/// The entry of one algorithm.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// Name in experiment files.
    pub name: &'static str,
    /// The name people write in prose.
    pub title: &'static str,
    /// One sentence: what it does.
    pub summary: &'static str,
    /// Family.
    pub family: Family,
    /// Congestion signal.
    pub signal: SignalKind,
    /// Year of publication.
    pub year: u16,
    /// Where it was published.
    pub source: &'static str,
    /// The variants it exists in; the first is the default without a stack preset.
    pub variants: &'static [Variant],
    /// Its parameters.
    pub params: &'static [Param],
    /// Builds one.
    pub build: fn(Variant, &Params, &Init) -> Box<dyn CongestionControl>,
}

/// What an experiment says about a flow's algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Name of the algorithm.
    pub name: String,
    /// Variant, or none for the stack preset's choice.
    pub variant: Option<Variant>,
    /// Parameters that differ from the variant's defaults.
    pub params: Vec<(String, f64)>,
}

/// What a connection tells its algorithm at the start.
#[derive(Clone, Debug)]
pub struct Init {
    /// Sender maximum segment size in bytes.
    pub mss: u32,
    /// Initial window in bytes.
    pub initial_window: u64,
    /// Initial slow-start threshold in bytes; none for infinite.
    pub initial_ssthresh: Option<u64>,
    /// Slow start; none for the variant's own.
    pub slow_start: Option<SlowStart>,
}

/// Checked parameter values of one algorithm in one variant.
#[derive(Clone, Debug)]
pub struct Params {
    values: Vec<(&'static str, f64)>,
}

impl Params {
    /// The value of parameter `name`.
    ///
    /// # Panics
    /// If the algorithm does not list that parameter: an error in its file, found by its first test.
    pub fn get(&self, name: &str) -> f64 {
        match self.values.iter().find(|(n, _)| *n == name) {
            Some((_, value)) => *value,
            None => panic!("parameter {name:?} is not in the algorithm's own list"),
        }
    }

    /// The value of switch `name`: whether it is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.get(name) != 0.0
    }

    /// The value of `name` as the whole number of 1/`scale` nearest to it, which is how Linux
    /// keeps fractions.
    pub(crate) fn scaled(&self, name: &str, scale: u32) -> u64 {
        // Ranges keep every parameter non-negative and small.
        (self.get(name) * f64::from(scale)).round() as u64
    }
}

/// Why an algorithm could not be made.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum CcError {
    /// No such algorithm.
    #[error("no congestion control named {name:?}; there is {known}")]
    UnknownName {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The algorithm does not exist in that variant.
    #[error("{name} has no variant {variant:?}; it has {known}")]
    UnknownVariant {
        /// The algorithm.
        name: &'static str,
        /// The variant asked for.
        variant: &'static str,
        /// The variants that exist.
        known: String,
    },
    /// No such parameter in that variant.
    #[error("{name} ({variant}) has no parameter {param:?}; it has {known}")]
    UnknownParam {
        /// The algorithm.
        name: &'static str,
        /// The variant.
        variant: &'static str,
        /// The parameter asked for.
        param: String,
        /// The parameters that exist.
        known: String,
    },
    /// A parameter outside its range.
    #[error("{name}.{param}: {value} is outside {min} to {max}")]
    OutOfRange {
        /// The algorithm.
        name: &'static str,
        /// The parameter.
        param: &'static str,
        /// The value given.
        value: f64,
        /// Smallest value allowed.
        min: f64,
        /// Largest value allowed.
        max: f64,
    },
    /// A parameter that has to be a whole number is not.
    #[error("{name}.{param}: {value} is not a whole number")]
    NotWhole {
        /// The algorithm.
        name: &'static str,
        /// The parameter.
        param: &'static str,
        /// The value given.
        value: f64,
    },
}

/// Every algorithm, in the order of the documentation.
pub fn algorithms() -> &'static [Algorithm] {
    crate::algorithms::ALL
}

/// Makes the algorithm that `selection` names; `preferred` is the variant of the stack's preset,
/// taken where the selection names none and the algorithm has it.
///
/// # Errors
/// [`CcError`] if the name, the variant or a parameter does not exist, or a value is out of range.
pub fn create(
    selection: &Selection,
    preferred: Variant,
    init: &Init,
) -> Result<Box<dyn CongestionControl>, CcError> {
    let algorithm = algorithms().iter().find(|a| a.name == selection.name).ok_or_else(|| {
        CcError::UnknownName {
            name: selection.name.clone(),
            known: join(algorithms().iter().map(|a| a.name)),
        }
    })?;
    let variant = match selection.variant {
        Some(variant) if !algorithm.variants.contains(&variant) => {
            return Err(CcError::UnknownVariant {
                name: algorithm.name,
                variant: variant.name(),
                known: join(algorithm.variants.iter().map(|v| v.name())),
            });
        }
        Some(variant) => variant,
        None if algorithm.variants.contains(&preferred) => preferred,
        None => algorithm.variants[0],
    };
    let params = check_params(algorithm, variant, &selection.params)?;
    Ok((algorithm.build)(variant, &params, init))
}

fn check_params(
    algorithm: &Algorithm,
    variant: Variant,
    given: &[(String, f64)],
) -> Result<Params, CcError> {
    let column = Variant::ALL.iter().position(|v| *v == variant).unwrap_or(0);
    let known: Vec<_> = algorithm.params.iter().filter(|p| p.variants.contains(&variant)).collect();
    let mut values: Vec<_> = known.iter().map(|p| (p.name, p.default[column])).collect();
    for (name, value) in given {
        let Some(index) = known.iter().position(|p| p.name == name) else {
            return Err(CcError::UnknownParam {
                name: algorithm.name,
                variant: variant.name(),
                param: name.clone(),
                known: join(known.iter().map(|p| p.name)),
            });
        };
        let param = known[index];
        // Written so that a value that is not a number is refused too.
        if !(*value >= param.min && *value <= param.max) {
            return Err(CcError::OutOfRange {
                name: algorithm.name,
                param: param.name,
                value: *value,
                min: param.min,
                max: param.max,
            });
        }
        if param.whole && value.fract() != 0.0 {
            return Err(CcError::NotWhole {
                name: algorithm.name,
                param: param.name,
                value: *value,
            });
        }
        values[index].1 = *value;
    }
    Ok(Params { values })
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
