//! The list of algorithms: their names, sources, variants and parameters.

use fairway_units::random::Stream;

use crate::{CongestionControl, Member, SlowStart};

/// Version of an algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    /// The paper or RFC that defines it.
    Paper,
    /// The module in Linux 6.1 (6.1.192 was read).
    Linux6_1,
    /// The module in Linux 2.6.22.6, which ns-2.35's TCP-Linux carries.
    Linux2_6_22,
    /// The model in ns-3.29.
    Ns3_29,
    /// ns-2's own TCP agents, such as Agent/TCP/Sack1 of ns-2.35, and patches of the time as far as
    /// they can be established.
    Ns2,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Variant; 5] =
        [Variant::Paper, Variant::Linux6_1, Variant::Linux2_6_22, Variant::Ns3_29, Variant::Ns2];

    /// The name written in experiment files.
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Paper => "paper",
            Variant::Linux6_1 => "linux-6.1",
            Variant::Linux2_6_22 => "linux-2.6.22",
            Variant::Ns3_29 => "ns3-3.29",
            Variant::Ns2 => "ns-2",
        }
    }

    /// The variant of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|v| v.name() == name)
    }
}

/// Families of algorithms, as the documentation groups them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Tahoe, Reno and their high-speed successors.
    Classic,
    /// For wireless and other paths on which loss or delay has causes besides congestion.
    Wireless,
    /// Based on delay, with or without loss.
    Delay,
    /// Based on a model of the path, or on rate trials.
    Model,
    /// Based on congestion marks.
    Ecn,
    /// Coupled connections, or one that acts as several.
    Aggregate,
}

impl Family {
    /// The family's name.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Classic => "classic",
            Family::Wireless => "wireless and heterogeneous paths",
            Family::Delay => "delay-based and hybrid",
            Family::Model => "model- and rate-based",
            Family::Ecn => "ECN",
            Family::Aggregate => "aggregates",
        }
    }
}

/// A parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name in experiment files.
    pub name: &'static str,
    /// Meaning, with its unit.
    pub meaning: &'static str,
    /// Default, except for the variants in `except`.
    default: f64,
    except: &'static [(Variant, f64)],
    /// Smallest value allowed.
    pub min: f64,
    /// Largest value allowed.
    pub max: f64,
    /// Whether it must be a whole number; a switch is 0 or 1.
    pub whole: bool,
    /// Variants that have it, if not all.
    only: Option<&'static [Variant]>,
}

impl Param {
    /// A real number from `min` to `max`, in every variant.
    pub const fn new(
        name: &'static str,
        meaning: &'static str,
        default: f64,
        min: f64,
        max: f64,
    ) -> Self {
        Param { name, meaning, default, except: &[], min, max, whole: false, only: None }
    }

    /// A switch, written 1 or 0; `meaning` begins with "whether".
    pub const fn switch(name: &'static str, meaning: &'static str, on: bool) -> Self {
        Param::new(name, meaning, if on { 1.0 } else { 0.0 }, 0.0, 1.0).whole()
    }

    /// Whole numbers only.
    pub const fn whole(self) -> Self {
        Param { whole: true, ..self }
    }

    /// Set other defaults in some variants.
    pub const fn except(self, except: &'static [(Variant, f64)]) -> Self {
        Param { except, ..self }
    }

    /// Restrict to these variants.
    pub const fn only(self, variants: &'static [Variant]) -> Self {
        Param { only: Some(variants), ..self }
    }

    /// Whether a variant has it.
    pub fn is_in(&self, variant: Variant) -> bool {
        self.only.is_none_or(|variants| variants.contains(&variant))
    }

    /// The default in a variant.
    pub const fn default_in(&self, variant: Variant) -> f64 {
        let mut i = 0;
        while i < self.except.len() {
            if self.except[i].0 as u8 == variant as u8 {
                return self.except[i].1;
            }
            i += 1;
        }
        self.default
    }
}

/// A worked example from the source of an algorithm, which its code must reproduce.
#[derive(Clone, Copy)]
pub struct Vector {
    /// Given values, quantity and calculation: "W = 200, a round: 200 · 0.01 = 2".
    pub sum: &'static str,
    /// The value by hand.
    pub expected: f64,
    /// Greatest difference allowed.
    pub tolerance: f64,
    /// The value from the algorithm's code.
    pub computed: fn() -> f64,
}

impl Vector {
    /// An example with a tolerance of 10⁻⁹.
    pub const fn new(sum: &'static str, expected: f64, computed: fn() -> f64) -> Self {
        Vector { sum, expected, tolerance: 1e-9, computed }
    }

    /// The same with another tolerance.
    pub const fn within(self, tolerance: f64) -> Self {
        Vector { tolerance, ..self }
    }

    /// Whether the code gives the expected value.
    pub fn holds(&self) -> bool {
        ((self.computed)() - self.expected).abs() <= self.tolerance
    }
}

/// The entry of one algorithm.
#[derive(Clone, Copy)]
pub struct Algorithm {
    /// Name in experiment files.
    pub name: &'static str,
    /// Name in prose.
    pub title: &'static str,
    /// One sentence: what it does.
    pub summary: &'static str,
    /// Family.
    pub family: Family,
    /// Congestion signals, such as "loss + delay".
    pub signal: &'static str,
    /// Year of publication.
    pub year: u16,
    /// Publication.
    pub source: &'static str,
    /// Variants; the first is the default without a stack preset.
    pub variants: &'static [Variant],
    /// Its parameters.
    pub params: &'static [Param],
    /// Worked examples, at least four.
    pub vectors: &'static [Vector],
    /// Constructor.
    pub build: fn(Variant, &Params, &Init) -> Box<dyn CongestionControl>,
}

/// Algorithm of a flow as given in an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Name of the algorithm.
    pub name: String,
    /// Variant, or none for that of the stack preset.
    pub variant: Option<Variant>,
    /// Parameters that differ from the variant's defaults.
    pub params: Vec<(String, f64)>,
}

/// Initial values of a connection for its algorithm.
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
    /// Seed of the algorithm's random numbers: see [`Init::random`].
    pub seed: u64,
    /// The coupled connections, if the algorithm couples them and this one is not alone.
    pub coupling: Option<Member>,
    /// Whether a congestion mark reduces the window less than a loss (ABE, RFC 8511), if the
    /// algorithm has a factor for it ([`crate::Rule::beta_ecn`]).
    pub abe: bool,
}

impl Init {
    /// A random stream of the algorithm; `what` names it within the connection.
    pub fn random(&self, what: &str) -> Stream {
        Stream::new(self.seed, what)
    }
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
    /// If the algorithm does not list that parameter.
    pub fn get(&self, name: &str) -> f64 {
        match self.values.iter().find(|(n, _)| *n == name) {
            Some((_, value)) => *value,
            None => panic!("parameter {name:?} is not in the algorithm's own list"),
        }
    }

    /// Whether the switch `name` is on.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.get(name) != 0.0
    }

    /// The value of `name` in units of 1/`scale`, rounded to the nearest, as Linux stores
    /// fractions.
    pub(crate) fn scaled(&self, name: &str, scale: u32) -> u64 {
        // Ranges keep every parameter non-negative and small.
        (self.get(name) * f64::from(scale)).round() as u64
    }
}

/// Why an algorithm could not be created.
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
    /// A foreign algorithm cannot be created.
    #[error("{name}: {message}")]
    Foreign {
        /// The algorithm.
        name: String,
        /// Why not.
        message: String,
    },
    /// A parameter that must be a whole number is not.
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

impl Algorithm {
    /// Create the algorithm of `selection`. If that names no variant, `preferred` is used if the
    /// algorithm has it.
    ///
    /// # Errors
    /// [`CcError`] if the variant or a parameter does not exist, or a value is out of range.
    pub fn make(
        &self,
        selection: &Selection,
        preferred: Variant,
        init: &Init,
    ) -> Result<Box<dyn CongestionControl>, CcError> {
        let variant = self.variant(selection, preferred)?;
        let params = check_params(self, variant, &selection.params)?;
        Ok((self.build)(variant, &params, init))
    }

    /// The variant that [`make`](Self::make) uses.
    ///
    /// # Errors
    /// [`CcError::UnknownVariant`] if the selection names one that does not exist.
    pub fn variant(&self, selection: &Selection, preferred: Variant) -> Result<Variant, CcError> {
        match selection.variant {
            Some(variant) if !self.variants.contains(&variant) => Err(CcError::UnknownVariant {
                name: self.name,
                variant: variant.name(),
                known: join(self.variants.iter().map(|v| v.name())),
            }),
            Some(variant) => Ok(variant),
            None if self.variants.contains(&preferred) => Ok(preferred),
            None => Ok(self.variants[0]),
        }
    }

    /// The name of the algorithm's file.
    pub fn file(&self) -> &'static str {
        self.name_and_text().0
    }

    /// The header of the algorithm's file: what it does, its source, and where versions differ.
    pub fn header(&self) -> String {
        let text = self.name_and_text().1;
        let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
        let lines: Vec<_> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        lines.join("\n")
    }

    fn name_and_text(&self) -> (&'static str, &'static str) {
        let index = algorithms().iter().position(|a| a.name == self.name);
        index.map_or(("", ""), |index| crate::algorithms::FILES[index])
    }
}

/// The default of a parameter in a variant of an algorithm.
///
/// # Panics
/// If there is no such parameter; at compile time in a constant.
pub const fn default_of(algorithm: &str, variant: Variant, param: &str) -> f64 {
    let (all, mut i) = (crate::algorithms::ALL, 0);
    while i < all.len() {
        let mut j = if is_same(all[i].name, algorithm) { 0 } else { all[i].params.len() };
        while j < all[i].params.len() {
            if is_same(all[i].params[j].name, param) {
                return all[i].params[j].default_in(variant);
            }
            j += 1;
        }
        i += 1;
    }
    panic!("no such parameter")
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut i = 0;
    while i < one.len() && i < other.len() && one[i] == other[i] {
        i += 1;
    }
    i == one.len() && i == other.len()
}

/// Create the algorithm of `selection`. If that names no variant, `preferred`, that of the stack's
/// preset, is used if the algorithm has it.
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
    algorithm.make(selection, preferred, init)
}

fn check_params(
    algorithm: &Algorithm,
    variant: Variant,
    given: &[(String, f64)],
) -> Result<Params, CcError> {
    let known: Vec<_> = algorithm.params.iter().filter(|p| p.is_in(variant)).collect();
    let mut values: Vec<_> = known.iter().map(|p| (p.name, p.default_in(variant))).collect();
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
        // The negation also refuses NaN.
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
