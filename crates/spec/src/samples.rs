//! Points of a sweep that are drawn from ranges: at random, or as a Latin hypercube.

use fairway_units::random::Stream;
use fairway_units::{Bytes, Duration, Rate, split_unit};
use serde_json::{Map, Value};

use super::error::{Report, did_you_mean};
use super::reader::{excerpt, path_excerpt, show};

/// How values are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sampling {
    /// Each by itself, so that more of them begin with the same ones.
    Random,
    /// One from each of as many equally likely parts of a range as there are points, in an order of
    /// its own on every path (McKay, Beckman and Conover, Technometrics 21, 1979).
    LatinHypercube,
}

impl Sampling {
    /// The key of `[sweep]` that asks for it.
    pub(super) fn of(key: &str) -> Option<Self> {
        match key {
            "random" => Some(Sampling::Random),
            "latin_hypercube" => Some(Sampling::LatinHypercube),
            _ => None,
        }
    }

    /// `count` numbers in [0, 1).
    fn draw(self, count: u64, stream: &mut Stream) -> Vec<f64> {
        match self {
            Sampling::Random => (0..count).map(|_| stream.unit()).collect(),
            Sampling::LatinHypercube => {
                let mut parts: Vec<u64> = (0..count).collect();
                // Fisher and Yates, as Durstenfeld has it (CACM 7, 1964).
                for last in (1..count).rev() {
                    parts.swap(last as usize, stream.below(last + 1) as usize);
                }
                parts.iter().map(|part| (*part as f64 + stream.unit()) / count as f64).collect()
            }
        }
    }
}

/// A path and its value at each of the points.
pub(super) type Column = (String, Vec<Value>);

/// Reads `[sweep.random]` or `[sweep.latin_hypercube]` and draws its points, `most` at the most. Each path has a stream
/// of its own, so that one more leaves the values of the others as they are.
pub(super) fn read(
    key: &str,
    sampling: Sampling,
    value: &Value,
    seed: u64,
    most: u64,
    report: &Report,
) -> Option<Vec<Column>> {
    let at = format!("sweep.{key}");
    let Value::Object(table) = value else {
        let message = format!("expected a table, got {}; write [{at}]", show(value));
        return report.wrong(at, message);
    };
    let points = points(&at, table, most, report);
    let ranges: Vec<_> = table
        .iter()
        .filter(|(name, _)| *name != "points")
        .map(|(path, range)| {
            let range = Range::read(&format!("{at}.\"{}\"", path_excerpt(path)), range, report);
            range.map(|range| (path, range))
        })
        .collect();
    if ranges.is_empty() {
        let message = "names no path; write \"topology.bottleneck.delay\" = \
                       { low = \"1 ms\", high = \"100 ms\" }";
        return report.wrong(at, message);
    }
    let (points, ranges) = (points?, ranges.into_iter().collect::<Option<Vec<_>>>()?);
    let column = |(path, range): (&String, Range)| {
        let mut stream = Stream::new(seed, &format!("{at}.{path}"));
        let values = sampling.draw(points, &mut stream).into_iter().map(|part| range.at(part));
        (path.clone(), values.collect())
    };
    Some(ranges.into_iter().map(column).collect())
}

fn points(at: &str, table: &Map<String, Value>, most: u64, report: &Report) -> Option<u64> {
    let value = table.get("points");
    let count = value.and_then(Value::as_u64).filter(|count| (1..=most).contains(count));
    if count.is_none() {
        let found = value.map_or_else(|| "nothing".to_owned(), show);
        let message = format!("expected a whole number from 1 to {most}, got {found}");
        report.refuse(format!("{at}.points"), message);
    }
    count
}

/// What values are drawn from.
struct Range {
    ends: Ends,
    logarithmic: bool,
}

/// The ends of a range, both of which may be drawn.
enum Ends {
    /// Whole numbers of the smallest unit, and how they are written.
    Whole(u64, u64, Unit),
    /// Numbers, and the unit behind them, if they have one.
    Real(f64, f64, Option<String>),
}

/// How whole numbers are written.
enum Unit {
    None,
    Duration,
    Rate,
    Bytes,
    Named(String),
}

impl Unit {
    fn write(&self, number: u64) -> Value {
        match self {
            Unit::None => Value::from(number),
            Unit::Duration => Value::String(Duration::from_nanos(number).to_string()),
            Unit::Rate => Value::String(Rate::from_bps(number).to_string()),
            Unit::Bytes => Value::String(Bytes::new(number).to_string()),
            Unit::Named(unit) => Value::String(format!("{number} {unit}")),
        }
    }
}

/// Units of which there are only whole ones, as they may be written too.
const WHOLE: [(&str, &str); 2] = [("packet", "packets"), ("segment", "segments")];

impl Range {
    fn read(at: &str, value: &Value, report: &Report) -> Option<Self> {
        let Value::Object(table) = value else {
            let message = format!(
                "expected a range, got {}; write it like {{ low = \"1 ms\", high = \"100 ms\" }}",
                show(value)
            );
            return report.wrong(at, message);
        };
        let known = ["low", "high", "scale"];
        for name in table.keys().filter(|name| !known.contains(&name.as_str())) {
            let hint = did_you_mean(name, known.into_iter());
            let message = format!("unknown key; a range has low, high, scale{hint}");
            report.refuse(format!("{at}.{}", excerpt(name)), message);
        }
        let logarithmic = match table.get("scale").map(|scale| scale.as_str()) {
            None | Some(Some("linear")) => Some(false),
            Some(Some("log")) => Some(true),
            Some(_) => {
                let found = table.get("scale").map_or_else(String::new, show);
                let message = format!("expected \"linear\" or \"log\", got {found}");
                report.wrong(format!("{at}.scale"), message)
            }
        };
        let (low, high) = (table.get("low"), table.get("high"));
        let ends = low.zip(high).and_then(|(low, high)| Ends::between(low, high));
        let Some(ends) = ends else {
            let shown = |end: Option<&Value>| end.map_or_else(|| "nothing".to_owned(), show);
            let message = format!(
                "expected low and high in one unit, with a value between them, got {} and {}; \
                 write it like {{ low = \"1 ms\", high = \"100 ms\" }}",
                shown(low),
                shown(high)
            );
            return report.wrong(at, message);
        };
        let (first, last) = ends.numbers();
        if first >= last {
            return report
                .wrong(format!("{at}.low"), "is not below high; swap them or write a list");
        }
        if logarithmic? && first <= 0.0 {
            return report
                .wrong(format!("{at}.low"), "must be above zero for scale = \"log\"; raise it");
        }
        Some(Range { ends, logarithmic: logarithmic? })
    }

    /// The value that a part in [0, 1) of the range is below.
    fn at(&self, part: f64) -> Value {
        let between = |low: f64, high: f64| {
            if self.logarithmic {
                libm::exp(libm::log(low) + part * (libm::log(high) - libm::log(low)))
            } else {
                low + part * (high - low)
            }
        };
        match &self.ends {
            // Each whole number has as much room as the next, the last one too.
            Ends::Whole(low, high, unit) => {
                let drawn = between(*low as f64, *high as f64 + 1.0);
                unit.write((libm::floor(drawn) as u64).clamp(*low, *high))
            }
            Ends::Real(low, high, unit) => {
                let drawn = between(*low, *high).clamp(*low, *high);
                match unit {
                    None => Value::from(drawn),
                    Some(unit) => Value::String(format!("{drawn} {unit}")),
                }
            }
        }
    }
}

impl Ends {
    /// Two numbers, or two quantities of one kind.
    fn between(low: &Value, high: &Value) -> Option<Self> {
        if let (Some(low), Some(high)) = (low.as_u64(), high.as_u64()) {
            return Some(Ends::Whole(low, high, Unit::None));
        }
        if let (Some(low), Some(high)) = (low.as_f64(), high.as_f64()) {
            return Some(Ends::Real(low, high, None));
        }
        let (low, high) = (low.as_str()?, high.as_str()?);
        if let (Ok(low), Ok(high)) = (low.parse::<Duration>(), high.parse::<Duration>()) {
            return Some(Ends::Whole(low.as_nanos(), high.as_nanos(), Unit::Duration));
        }
        if let (Ok(low), Ok(high)) = (low.parse::<Rate>(), high.parse::<Rate>()) {
            let bounded = low != Rate::UNLIMITED && high != Rate::UNLIMITED;
            return bounded.then(|| Ends::Whole(low.as_bps(), high.as_bps(), Unit::Rate));
        }
        if let (Ok(low), Ok(high)) = (low.parse::<Bytes>(), high.parse::<Bytes>()) {
            return Some(Ends::Whole(low.get(), high.get(), Unit::Bytes));
        }
        let ((low, unit), (high, other)) = (split_unit(low), split_unit(high));
        let whole = |unit| WHOLE.iter().find(|(one, several)| [*one, *several].contains(&unit));
        if let (Some((_, unit)), Some((_, other))) = (whole(unit), whole(other))
            && unit == other
        {
            let unit = Unit::Named((*unit).to_owned());
            return Some(Ends::Whole(low.parse().ok()?, high.parse().ok()?, unit));
        }
        if unit != other {
            return None;
        }
        Some(Ends::Real(low.parse().ok()?, high.parse().ok()?, Some(unit.to_owned())))
    }

    fn numbers(&self) -> (f64, f64) {
        match self {
            Ends::Whole(low, high, _) => (*low as f64, *high as f64),
            Ends::Real(low, high, _) => (*low, *high),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn drawn(sampling: Sampling, table: Value) -> Vec<Column> {
        let report = Report::default();
        let columns = read("random", sampling, &table, 7, 100, &report);
        report.finish(columns).expect("a correct table")
    }

    #[test]
    fn a_latin_hypercube_has_one_value_in_each_part_of_every_range() {
        let columns = drawn(
            Sampling::LatinHypercube,
            json!({ "points": 50, "a": { "low": 0.0, "high": 100.0 },
                    "b": { "low": 1.0, "high": 1e5, "scale": "log" } }),
        );
        let numbers = |index: usize| columns[index].1.iter().filter_map(Value::as_f64);
        let mut linear: Vec<u64> = numbers(0).map(|x| (x / 2.0) as u64).collect();
        // A fiftieth of five decades is a tenth of one.
        let mut decades: Vec<u64> = numbers(1).map(|x| (libm::log10(x) * 10.0) as u64).collect();
        assert_ne!(linear, decades, "each path has an order of its own");
        linear.sort_unstable();
        decades.sort_unstable();
        let each: Vec<u64> = (0..50).collect();
        assert_eq!(linear, each);
        assert_eq!(decades, each);
    }

    #[test]
    fn more_random_points_and_further_paths_leave_the_first_ones() {
        let few = drawn(Sampling::Random, json!({ "points": 5, "a": { "low": 0, "high": 1000 } }));
        let many = drawn(
            Sampling::Random,
            json!({ "points": 9, "b": { "low": 0, "high": 9 }, "a": { "low": 0, "high": 1000 } }),
        );
        assert_eq!(few[0].1, many[1].1[..5]);
    }

    #[test]
    fn values_are_written_in_the_units_of_their_ends() {
        let ends = |low: Value, high: Value| Ends::between(&low, &high);
        let middle = |low: Value, high: Value| {
            Range { ends: ends(low, high).expect("a range"), logarithmic: false }.at(0.5)
        };
        assert_eq!(middle(json!(1), json!(4)), json!(3)); // 1 + ½ of the four numbers
        assert_eq!(middle(json!(1), json!(4.0)), json!(2.5));
        assert_eq!(middle(json!("500 us"), json!("1.5 ms")), json!("1 ms"));
        assert_eq!(middle(json!("1 Mbit/s"), json!("1 Gbit/s")), json!("500.5 Mbit/s"));
        assert_eq!(middle(json!("1 KiB"), json!("3 KiB")), json!("2 KiB"));
        assert_eq!(middle(json!("10 packets"), json!("20 packets")), json!("15 packets"));
        assert_eq!(middle(json!("1 packet"), json!("9 packets")), json!("5 packets"));
        assert_eq!(middle(json!("0.5 bdp"), json!("2 bdp")), json!("1.25 bdp"));
        // 2^-20 and three times as much: small numbers keep their digits.
        let tiny = middle(json!("0.00000095367431640625 bdp"), json!("0.00000286102294921875 bdp"));
        assert_eq!(tiny, json!("0.0000019073486328125 bdp"));
        for (low, high) in [
            (json!("1 ms"), json!("1 Mbit/s")),
            (json!("1 packets"), json!("1 bdp")),
            (json!("1.5 packets"), json!("2 packets")),
            (json!("1 Mbit/s"), json!("unlimited")),
            (json!("reno"), json!("cubic")),
            (json!(true), json!(false)),
        ] {
            assert!(ends(low.clone(), high.clone()).is_none(), "{low} {high}");
        }
    }

    #[test]
    fn whole_numbers_are_equally_likely_at_both_ends() {
        let columns =
            drawn(Sampling::LatinHypercube, json!({ "points": 30, "a": { "low": 1, "high": 3 } }));
        for number in 1..=3 {
            // Thirty parts, ten to each of the three numbers.
            assert_eq!(columns[0].1.iter().filter(|value| **value == number).count(), 10);
        }
    }
}
