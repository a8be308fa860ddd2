//! Distributions of sizes and times: what an experiment may draw from, and how it is written.

use fairway_units::random::Stream;
use fairway_units::{Bytes, Duration};
use serde_json::Value;

use super::keys::{
    Absent::{Explained, Required},
    Key, Kind, Section, keys,
};
use super::reader::{Name, Readable, Table, show};

/// Largest shape: beyond it a Pareto distribution is all but constant.
const MAX_SHAPE: f64 = 100.0;
/// Points of an empirical distribution.
const MAX_POINTS: usize = 10_000;
/// Largest size and longest time that may be drawn: 10^15 bytes; 10^15 ns, eleven days.
const MAX_VALUE: f64 = 1e15;

/// Web search: flow sizes of a production cluster, M. Alizadeh et al., "Data Center TCP (DCTCP)"
/// (SIGCOMM 2010), figure 4, as `conf/DCTCP_CDF.txt` of HKUST-SING/TrafficGenerator reads it off.
pub(super) const WEB_SEARCH: &[(f64, f64)] = &[
    (0.0, 0.0),
    (10e3, 0.15),
    (20e3, 0.2),
    (30e3, 0.3),
    (50e3, 0.4),
    (80e3, 0.53),
    (200e3, 0.6),
    (1e6, 0.7),
    (2e6, 0.8),
    (5e6, 0.9),
    (10e6, 0.97),
    (30e6, 1.0),
];

/// Data mining: flow sizes of a cluster, A. Greenberg et al., "VL2" (SIGCOMM 2009), figure 2, as
/// `conf/VL2_CDF.txt` of HKUST-SING/TrafficGenerator reads it off.
pub(super) const DATA_MINING: &[(f64, f64)] = &[
    (0.0, 0.0),
    (180.0, 0.1),
    (216.0, 0.2),
    (560.0, 0.3),
    (900.0, 0.4),
    (1100.0, 0.5),
    (1870.0, 0.6),
    (3160.0, 0.7),
    (10e3, 0.8),
    (400e3, 0.9),
    (3.16e6, 0.95),
    (100e6, 0.98),
    (1e9, 1.0),
];

/// What numbers are drawn from: sizes in bytes, times in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant(f64),
    /// Exponential.
    Exponential {
        /// Its mean.
        mean: f64,
    },
    /// Pareto.
    Pareto {
        /// Its mean.
        mean: f64,
        /// Its shape, above 1.
        shape: f64,
    },
    /// Pareto between two bounds.
    BoundedPareto {
        /// Nothing is less.
        least: f64,
        /// Nothing is more.
        most: f64,
        /// Its shape.
        shape: f64,
    },
    /// Log-normal.
    LogNormal {
        /// Its mean.
        mean: f64,
        /// Its standard deviation.
        deviation: f64,
    },
    /// Values, each with the probability that none larger is drawn; straight lines between them.
    Empirical(Vec<(f64, f64)>),
}

impl Distribution {
    /// The next number.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        let drawn = match self {
            Distribution::Constant(value) => *value,
            Distribution::Exponential { mean } => mean * stream.exponential(),
            Distribution::Pareto { mean, shape } => stream.pareto(*mean, *shape),
            Distribution::BoundedPareto { least, most, shape } => {
                // By inversion of F(x) = (1 − (L/x)^a) / (1 − (L/H)^a).
                let reach = 1.0 - libm::pow(least / most, *shape);
                least * libm::pow(1.0 - stream.unit() * reach, -1.0 / shape)
            }
            Distribution::LogNormal { mean, deviation } => stream.log_normal(*mean, *deviation),
            Distribution::Empirical(points) => interpolate(points, stream.unit()),
        };
        drawn.min(MAX_VALUE)
    }

    /// A number of bytes, at least one.
    pub fn draw_bytes(&self, stream: &mut Stream) -> u64 {
        (libm::round(self.draw(stream)) as u64).max(1)
    }

    /// A time.
    pub fn draw_time(&self, stream: &mut Stream) -> Duration {
        Duration::from_nanos(self.draw(stream) as u64)
    }

    /// What its numbers are on average.
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Constant(mean)
            | Distribution::Exponential { mean }
            | Distribution::Pareto { mean, .. }
            | Distribution::LogNormal { mean, .. } => *mean,
            Distribution::BoundedPareto { least, most, shape } => {
                let scale = libm::pow(*least, *shape) / (1.0 - libm::pow(least / most, *shape));
                let grown = |x: f64| libm::pow(x, 1.0 - shape);
                if (shape - 1.0).abs() < 1e-9 {
                    scale * libm::log(most / least)
                } else {
                    scale * shape / (shape - 1.0) * (grown(*least) - grown(*most))
                }
            }
            Distribution::Empirical(points) => {
                let [first, ..] = points[..] else { return 0.0 };
                let pairs = points.windows(2);
                let part =
                    |pair: &[(f64, f64)]| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0;
                first.0 * first.1 + pairs.map(part).sum::<f64>()
            }
        }
    }
}

/// The value whose probability not to be exceeded is `p`.
fn interpolate(points: &[(f64, f64)], p: f64) -> f64 {
    let at = points.partition_point(|(_, upto)| *upto < p);
    match (at.checked_sub(1).and_then(|before| points.get(before)), points.get(at)) {
        (Some((low, from)), Some((high, upto))) => low + (high - low) * (p - from) / (upto - from),
        (_, Some((value, _))) | (Some((value, _)), None) => *value,
        (None, None) => 0.0,
    }
}

const NAMES: [&str; 4] = ["exponential", "pareto", "log-normal", "empirical"];

static DISTRIBUTION: &[Key] = keys! {
    "distribution": Kind::Choice { thing: "distribution", names: || NAMES.to_vec() },
        Required, r#""exponential""# =>
        "Exponential, by its mean; Pareto, by its mean and shape, or between least and most; log-normal, by its mean and deviation; empirical, by its cdf.";
};

static SHAPE: &[Key] = keys! {
    "shape": Kind::Number { min: 0.0, max: MAX_SHAPE }, Explained, "1.2" =>
        "Of \"pareto\": P(X > x) falls as x to the power of -shape. Above 1 where the mean is written.";
};

/// Sizes that are not all the same.
pub(super) static SIZES: Section = Section::plain(
    "a distribution of sizes",
    &[
        DISTRIBUTION,
        keys! {
            "mean": Kind::Size, Explained, r#""30 kB""# => "Mean of the sizes.";
        },
        SHAPE,
        keys! {
            "least": Kind::Size, Explained, r#""1 kB""# => "Of \"pareto\": no size is less.";
            "most": Kind::Size, Explained, r#""1 MB""# => "Of \"pareto\": no size is more.";
            "deviation": Kind::Size, Explained, r#""60 kB""# => "Of \"log-normal\": standard deviation.";
            "cdf": Kind::Cdf, Explained, r#""web-search""# =>
                "Of \"empirical\": \"web-search\" (Alizadeh et al. 2010, figure 4), \"data-mining\" (Greenberg et al. 2009, figure 2), or lines of a size in bytes and the probability that none is larger, ascending, the last 1; straight lines are drawn between them.";
        },
    ],
);

/// Times that are not all the same.
pub(super) static TIMES: Section = Section::plain(
    "a distribution of times",
    &[
        DISTRIBUTION,
        keys! {
            "mean": Kind::Duration, Explained, r#""2 s""# => "Mean of the times.";
        },
        SHAPE,
        keys! {
            "least": Kind::Duration, Explained, r#""10 ms""# => "Of \"pareto\": no time is less.";
            "most": Kind::Duration, Explained, r#""10 s""# => "Of \"pareto\": no time is more.";
            "deviation": Kind::Duration, Explained, r#""1 s""# => "Of \"log-normal\": standard deviation.";
            "cdf": Kind::Cdf, Explained, r#""0.1 0.5\n2 1""# =>
                "Of \"empirical\": lines of a time in seconds and the probability that none is longer, ascending, the last 1; straight lines are drawn between them.";
        },
    ],
);

/// Sizes or times, as numbers that may be drawn.
pub(super) trait Scale: Readable {
    /// One in the unit of a line of a distribution, a byte or a second.
    const UNIT: f64;
    /// The number that stands for it.
    fn number(self) -> f64;
    /// A distribution of that name.
    fn named(_: &str) -> Option<&'static [(f64, f64)]> {
        None
    }
}

impl Scale for Bytes {
    const UNIT: f64 = 1.0;
    fn number(self) -> f64 {
        self.get() as f64
    }
    fn named(name: &str) -> Option<&'static [(f64, f64)]> {
        match name {
            "web-search" => Some(WEB_SEARCH),
            "data-mining" => Some(DATA_MINING),
            _ => None,
        }
    }
}

impl Scale for Duration {
    const UNIT: f64 = 1e9;
    fn number(self) -> f64 {
        self.as_nanos() as f64
    }
}

/// Reads what is written at a key: one value, or a table of a distribution.
pub(super) fn read<T: Scale>(table: &Table, name: &str) -> Option<Distribution> {
    let value = table.raw(name)?;
    if !value.is_object() {
        let constant = table.read_single::<T>(name)?.number();
        if constant > MAX_VALUE {
            return table.wrong(name, format!("{} is too large; lower it", show(value)));
        }
        return Some(Distribution::Constant(constant));
    }
    let table = table.table(name)?;
    table.refuse_unknown_keys();
    let Name(kind) = table.require("distribution")?;
    let known: &[&str] = match kind {
        "exponential" => &["mean"],
        "pareto" => &["mean", "shape", "least", "most"],
        "log-normal" => &["mean", "deviation"],
        _ => &["cdf"],
    };
    for name in ["mean", "shape", "least", "most", "deviation", "cdf"] {
        if table.has(name) && !known.contains(&name) {
            let known = known.join(", ");
            return table.wrong(
                name,
                format!("does not belong to \"{kind}\", which has {known}; remove it"),
            );
        }
    }
    match kind {
        "exponential" => Some(Distribution::Exponential { mean: positive::<T>(&table, "mean")? }),
        "pareto" => read_pareto::<T>(&table),
        "log-normal" => {
            let (mean, deviation) =
                (positive::<T>(&table, "mean"), positive::<T>(&table, "deviation"));
            Some(Distribution::LogNormal { mean: mean?, deviation: deviation? })
        }
        _ => read_cdf::<T>(&table).map(Distribution::Empirical),
    }
}

fn read_pareto<T: Scale>(table: &Table) -> Option<Distribution> {
    let shape: f64 = table.require("shape")?;
    if table.has("mean") {
        if let Some(bound) = ["least", "most"].into_iter().find(|bound| table.has(bound)) {
            return table.wrong(bound, "conflicts with mean, which determines it; set only one");
        }
        if shape <= 1.0 {
            let message = format!(
                "has no mean with {shape}; write one above 1, or least and most instead of mean"
            );
            return table.wrong("shape", message);
        }
        return Some(Distribution::Pareto { mean: positive::<T>(table, "mean")?, shape });
    }
    let (least, most) = (positive::<T>(table, "least"), positive::<T>(table, "most"));
    let (least, most) = (least?, most?);
    if most <= least || shape <= 0.0 {
        return table.wrong("most", "expected more than least, and shape above 0; raise it");
    }
    Some(Distribution::BoundedPareto { least, most, shape })
}

/// A value above zero that has to be written.
fn positive<T: Scale>(table: &Table, name: &str) -> Option<f64> {
    let value = table.require::<T>(name)?.number();
    if value <= 0.0 || value > MAX_VALUE {
        let found = table.raw(name).map(show).unwrap_or_default();
        return table.wrong(
            name,
            format!("expected more than zero and at most {MAX_VALUE:e}, got {found}"),
        );
    }
    Some(value)
}

/// A distribution function by its name or its lines.
fn read_cdf<T: Scale>(table: &Table) -> Option<Vec<(f64, f64)>> {
    if !table.has("cdf") {
        table.refuse_missing("cdf");
    }
    let text = table.raw("cdf")?;
    let points = match text {
        Value::String(text) => match T::named(text) {
            Some(points) => Ok(points.to_vec()),
            None => parse_lines(text, T::UNIT),
        },
        other => Err(format!("expected text, got {}", show(other))),
    };
    match points {
        Ok(points) => Some(points),
        Err(message) => table.wrong("cdf", format!("{message}; write lines such as \"10000 0.5\"")),
    }
}

/// Lines of a value and a probability; empty ones and those that begin with # count for nothing.
fn parse_lines(text: &str, unit: f64) -> Result<Vec<(f64, f64)>, String> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = |message: &str| format!("line {}: {message}", number + 1);
        let numbers: Vec<f64> = line.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let [value, probability] = numbers[..] else {
            return Err(at("expected a value and a probability"));
        };
        let value = value * unit;
        let is_bounded = (0.0..=MAX_VALUE).contains(&value) && (0.0..=1.0).contains(&probability);
        let ascends =
            points.last().is_none_or(|(v, p)| value >= *v && (probability > *p || value == *v));
        if !is_bounded || !ascends {
            return Err(at("expected more than in the line before, and a probability up to 1"));
        }
        match points.last_mut() {
            // A step: the value has the probability of both.
            Some(last) if last.0 == value && last.1 == 0.0 && probability > 0.0 => {
                last.1 = probability;
            }
            _ => points.push((value, probability)),
        }
    }
    if points.len() > MAX_POINTS {
        return Err(format!("{} lines, more than {MAX_POINTS}", points.len()));
    }
    match points.last() {
        Some((_, 1.0)) => Ok(points),
        Some((_, last)) => Err(format!("the last probability is {last}, not 1")),
        None => Err("no line has a value and a probability".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean of many numbers, and the error of it that is exceeded once in fifteen thousand times:
    /// four standard deviations over the root of their number.
    fn holds(distribution: &Distribution, mean: f64, deviation: f64) {
        let mut stream = Stream::new(3, "distribution");
        let n = 200_000;
        let found = (0..n).map(|_| distribution.draw(&mut stream)).sum::<f64>() / f64::from(n);
        let error = 4.0 * deviation / f64::from(n).sqrt();
        assert!((found - mean).abs() < error, "{distribution:?}: {found}, not {mean} ± {error}");
        assert!((distribution.mean() - mean).abs() < 1e-9 * mean, "{distribution:?}");
    }

    #[test]
    fn means_by_hand() {
        holds(&Distribution::Constant(5.0), 5.0, 1e-9);
        holds(&Distribution::Exponential { mean: 30e3 }, 30e3, 30e3);
        // Shape 3: variance mean²·(a − 1)²/a² · a/((a − 1)²(a − 2)) = mean²/(a(a − 2)) = mean²/3.
        holds(&Distribution::Pareto { mean: 10.0, shape: 3.0 }, 10.0, 10.0 / 3f64.sqrt());
        holds(&Distribution::LogNormal { mean: 10.0, deviation: 20.0 }, 10.0, 20.0);
        // Between 1 and 4 with shape 2: 1/(1 − 1/16) · 2 · (1 − 1/4) = 1.6; E[x²] = 16/15 · 2 ln 4.
        let variance = 32.0 / 15.0 * libm::log(4.0) - 1.6 * 1.6;
        let bounded = Distribution::BoundedPareto { least: 1.0, most: 4.0, shape: 2.0 };
        holds(&bounded, 1.6, variance.sqrt());
        // Shape 1: 1/(1 − 1/4) · ln 4.
        let bounded = Distribution::BoundedPareto { least: 1.0, most: 4.0, shape: 1.0 };
        holds(&bounded, 4.0 / 3.0 * libm::log(4.0), 1.0);
        // Half of the time between 0 and 10, half of it between 10 and 30: 5/2 + 20/2.
        let empirical = Distribution::Empirical(vec![(0.0, 0.0), (10.0, 0.5), (30.0, 1.0)]);
        holds(&empirical, 12.5, 10.0);
        // 3 with probability 0.4, else between 3 and 5.
        let empirical = Distribution::Empirical(vec![(3.0, 0.4), (5.0, 1.0)]);
        holds(&empirical, 3.6, 1.0);
    }

    #[test]
    fn tails_by_hand() {
        let mut stream = Stream::new(4, "tails");
        let n = 100_000;
        let share = |distribution: &Distribution, above: f64, stream: &mut Stream| {
            (0..n).filter(|_| distribution.draw(stream) > above).count() as f64 / f64::from(n)
        };
        // Each within four standard deviations, 4·√(p(1 − p)/n).
        let mut holds = |distribution: Distribution, above: f64, p: f64| {
            let found = share(&distribution, above, &mut stream);
            let error = 4.0 * (p * (1.0 - p) / f64::from(n)).sqrt();
            assert!((found - p).abs() < error, "{distribution:?}: {found}, not {p} ± {error}");
        };
        holds(Distribution::Exponential { mean: 2.0 }, 4.0, libm::exp(-2.0));
        // Mean 3 and shape 1.5: least 1; (1/8)^1.5.
        holds(Distribution::Pareto { mean: 3.0, shape: 1.5 }, 8.0, libm::pow(8.0, -1.5));
        holds(Distribution::Empirical(WEB_SEARCH.to_vec()), 80e3, 0.47);
        holds(Distribution::Empirical(WEB_SEARCH.to_vec()), 1.5e6, 0.25);
        holds(Distribution::Empirical(DATA_MINING.to_vec()), 100e6, 0.02);
        let bounded = Distribution::BoundedPareto { least: 1.0, most: 4.0, shape: 2.0 };
        // (1/4 − 1/16) / (1 − 1/16).
        holds(bounded, 2.0, 0.2);
    }

    #[test]
    fn lines_in_the_usual_format() {
        assert_eq!(parse_lines("# size p\n0 0\n100 0.5\n\n300 1\n", 1.0).unwrap().len(), 3);
        // A step at the first value.
        assert_eq!(parse_lines("6 0\n6 0.15\n13 1", 1.0).unwrap(), [(6.0, 0.15), (13.0, 1.0)]);
        for (text, message) in [
            ("", "no line has"),
            ("100 0.5", "the last probability is 0.5, not 1"),
            ("100 0.5\n50 1", "line 2: expected more"),
            ("100\n", "line 1: expected a value"),
            ("100 1.5", "line 1: expected more"),
        ] {
            let error = parse_lines(text, 1.0).unwrap_err();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }
}
