//! The points of a sweep as its `summary.json` has them.

use std::num::NonZeroUsize;

use fairway_resources::in_threads;
use serde::ser::Error;
use serde_json::{Map, Number, Value};

use crate::json::{compact, spaced};

/// A point of a sweep with what its run gave.
pub struct Entry<'a> {
    /// What it sets: path in the experiment file and value.
    pub axes: Value,
    /// Which repetition of these values it is.
    pub repetition: u64,
    /// The summary of its run as compact JSON.
    pub summary: &'a [u8],
    /// Metrics that the summary lacks.
    pub metrics: Vec<Option<f64>>,
}

/// JSON of points as `json.dumps` writes it by default, a line for each, in as many pieces as `threads`;
/// `metrics` are named so.
///
/// # Errors
/// A metric is infinite or not a number, which JSON cannot hold.
pub fn entries(
    points: &[Entry<'_>],
    metrics: &[String],
    threads: NonZeroUsize,
) -> serde_json::Result<Vec<Vec<u8>>> {
    let size = points.len().div_ceil(threads.get()).max(1);
    let parts = points.chunks(size).collect();
    in_threads(parts, |part| lines(part, metrics)).into_iter().collect()
}

fn lines(points: &[Entry<'_>], metrics: &[String]) -> serde_json::Result<Vec<u8>> {
    let size: usize = points.iter().map(|point| point.summary.len()).sum();
    let mut text = Vec::with_capacity(size + size / 4);
    for point in points {
        let axes = compact(&point.axes)?;
        let named = compact(&named(metrics, &point.metrics)?)?;
        text.extend_from_slice(b"\n    {\"axes\": ");
        spaced(axes.as_bytes(), &mut text);
        text.extend_from_slice(b", \"repetition\": ");
        text.extend_from_slice(point.repetition.to_string().as_bytes());
        text.extend_from_slice(b", \"summary\": ");
        spaced(point.summary, &mut text);
        text.extend_from_slice(b", \"metrics\": ");
        spaced(named.as_bytes(), &mut text);
        text.extend_from_slice(b"},");
    }
    Ok(text)
}

fn named(names: &[String], values: &[Option<f64>]) -> serde_json::Result<Value> {
    let given = |(name, value): (&String, &Option<f64>)| {
        let value = match *value {
            None => Value::Null,
            Some(number) => Number::from_f64(number)
                .map(Value::Number)
                .ok_or_else(|| Error::custom(format!("{name}: {number} is not JSON")))?,
        };
        Ok((name.clone(), value))
    };
    names.iter().zip(values).map(given).collect::<Result<Map<_, _>, _>>().map(Value::Object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn points() -> Vec<Entry<'static>> {
        let point = |repetition, metrics| Entry {
            axes: json!({"a,b": "ü:", "n": 2}),
            repetition,
            summary: br#"{"seed":1,"x":[1.5,null]}"#,
            metrics,
        };
        vec![point(0, vec![Some(1e-7), None]), point(1, vec![Some(2.0), Some(0.5)])]
    }

    #[test]
    fn a_point_is_a_line_whatever_the_threads() {
        // json.dumps(..., ensure_ascii=False) of each.
        let expected = "
    {\"axes\": {\"a,b\": \"ü:\", \"n\": 2}, \"repetition\": 0, \"summary\": \
                        {\"seed\": 1, \"x\": [1.5, null]}, \"metrics\": {\"d_s\": 1e-07, \"r\": null}},
    {\"axes\": {\"a,b\": \"ü:\", \"n\": 2}, \"repetition\": 1, \"summary\": \
                        {\"seed\": 1, \"x\": [1.5, null]}, \"metrics\": {\"d_s\": 2.0, \"r\": 0.5}},";
        let names = ["d_s".to_owned(), "r".to_owned()];
        for threads in [1, 2, 7] {
            let threads = NonZeroUsize::new(threads).expect("positive");
            let written = entries(&points(), &names, threads).expect("numbers").concat();
            assert_eq!(String::from_utf8(written).expect("UTF-8"), expected);
        }
    }

    #[test]
    fn what_json_cannot_hold_is_refused() {
        let mut points = points();
        points[1].metrics[0] = Some(f64::INFINITY);
        let names = ["d_s".to_owned(), "r".to_owned()];
        let refused = entries(&points, &names, NonZeroUsize::MIN).expect_err("infinite");
        assert_eq!(refused.to_string(), "d_s: inf is not JSON");
    }
}
