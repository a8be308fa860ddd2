//! How often each combination of a sweep is run: a number, or until an interval is narrow enough.

use serde_json::{Map, Value};

use super::error::{Report, did_you_mean};
use super::keys::MAX_POINTS;
use super::reader::show;

/// Where the key stands.
const AT: &str = "sweep.repetitions";

/// Fewest runs after which it is looked whether they are enough: of fewer, the deviation itself is
/// hardly known (Law and Kelton, Simulation Modeling and Analysis, ask for at least 10).
const FIRST_LOOK: u64 = 10;

/// Runs at which repeating ends, if the file does not say.
const AT_MOST: u32 = 50;

/// What repeating ends at.
#[derive(Clone, PartialEq, Debug)]
pub struct Until {
    /// Half of the 95 % interval as a share of the mean: 0.02 for "±2 %".
    pub share: f64,
    /// Runs at which it ends in any case.
    pub at_most: u32,
    /// The metrics whose intervals are looked at.
    pub metrics: Vec<String>,
}

/// Runs of each combination: how many there may be, and what they end at before, if at anything.
pub(super) struct Repetitions {
    pub(super) count: u32,
    pub(super) until: Option<Until>,
}

/// One run of each.
pub(super) const ONCE: Repetitions = Repetitions { count: 1, until: None };

/// Reads `repetitions`: a whole number, or a table with `until`.
pub(super) fn read(value: &Value, report: &Report) -> Repetitions {
    if let Value::Object(table) = value {
        let until = read_until(table, report);
        return Repetitions { count: until.as_ref().map_or(1, |until| until.at_most), until };
    }
    let count = value.as_u64().filter(|count| (1..=MAX_POINTS).contains(count));
    if count.is_none() {
        let found = show(value);
        let message = format!(
            "expected a whole number from 1 to {MAX_POINTS}, got {found}; or write \
             {{ until = \"±2 %\", at_most = 50 }}"
        );
        report.refuse(AT, message);
    }
    let count = count.and_then(|count| u32::try_from(count).ok()).unwrap_or(1);
    Repetitions { count, until: None }
}

fn read_until(table: &Map<String, Value>, report: &Report) -> Option<Until> {
    let known = ["until", "at_most", "metric"];
    for name in table.keys().filter(|name| !known.contains(&name.as_str())) {
        let hint = did_you_mean(name, known.into_iter());
        report.refuse(
            format!("{AT}.{name}"),
            format!("unknown key; repetitions has until, at_most, metric{hint}"),
        );
    }
    let share = table.get("until").and_then(Value::as_str).and_then(share_of);
    if share.is_none() {
        let found = table.get("until").map_or_else(|| "nothing".to_owned(), show);
        let message = format!(
            "expected half the interval relative to the mean, above 0 % and below 100 %, got \
             {found}; write it like \"±2 %\""
        );
        report.refuse(format!("{AT}.until"), message);
    }
    Some(Until {
        share: share?,
        at_most: at_most(table, report)?,
        metrics: metrics(table, report)?,
    })
}

/// The share that "±2 %" says; the sign need not be there.
fn share_of(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = text.strip_prefix('±').unwrap_or(text).strip_suffix('%')?.trim();
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let share = number.parse::<f64>().ok().filter(|_| plain)? / 100.0;
    (share > 0.0 && share < 1.0).then_some(share)
}

fn at_most(table: &Map<String, Value>, report: &Report) -> Option<u32> {
    let Some(value) = table.get("at_most") else { return Some(AT_MOST) };
    let count = value.as_u64().filter(|count| (FIRST_LOOK..=MAX_POINTS).contains(count));
    if count.is_none() {
        let found = show(value);
        let message =
            format!("expected a whole number from {FIRST_LOOK} to {MAX_POINTS}, got {found}");
        report.refuse(format!("{AT}.at_most"), message);
    }
    count.and_then(|count| u32::try_from(count).ok())
}

fn metrics(table: &Map<String, Value>, report: &Report) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().filter(|name| !name.is_empty()).map(str::to_owned);
    let found = match table.get("metric") {
        None => Some(vec!["goodput_bps".to_owned()]),
        Some(Value::Array(names)) if !names.is_empty() => names.iter().map(text).collect(),
        Some(name) => text(name).map(|name| vec![name]),
    };
    if found.is_none() {
        let value = table.get("metric").map_or_else(String::new, show);
        let message = format!(
            "expected the name of a metric or a list of names, got {value}; try \"goodput_bps\""
        );
        report.refuse(format!("{AT}.metric"), message);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::share_of;

    #[test]
    fn a_share_is_a_percentage_with_or_without_its_sign() {
        assert_eq!(share_of("±2 %"), Some(0.02));
        assert_eq!(share_of(" ± 2.5% "), Some(0.025));
        assert_eq!(share_of("50 %"), Some(0.5));
        for wrong in ["2", "±0 %", "±100 %", "-2 %", "±nan %", "±inf %", "%", "±1e0 %", "± %", ""]
        {
            assert_eq!(share_of(wrong), None, "{wrong}");
        }
    }
}
