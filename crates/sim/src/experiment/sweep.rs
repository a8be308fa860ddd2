//! Sweeps: paths of keys, the values that each takes, and every combination of them.

use fairway_random::{SPLITMIX64_STEP, splitmix64};
use serde_json::{Map, Value};

use super::error::{ExperimentError, Report, did_you_mean};
use super::keys::{EXPERIMENT, Kind, MAX_POINTS, Section};
use super::reader::{excerpt, show};
use super::repetitions::{self, Repetitions};

/// Text of all points together, in bytes: what a plan can hold in memory, several times over.
const MAX_TEXT: u64 = 128 << 20;

/// A sweep, its paths found in the experiment.
pub(super) struct SweepText {
    pub(super) axes: Vec<Axis>,
    pub(super) repetitions: Repetitions,
}

/// One axis of a sweep.
pub(super) struct Axis {
    /// As it is written.
    pub(super) path: String,
    steps: Vec<Step>,
    values: Vec<Value>,
}

/// A step of a path.
#[derive(Clone, PartialEq, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// The seed of a repetition: the master seed itself for repetition 0, so that the experiment
/// without a sweep is its first repetition; for repetition r > 0 the top 53 bits of the r-th
/// output of the SplitMix64 generator started with the master seed (Steele, Lea and Flood,
/// "Fast splittable pseudorandom number generators", OOPSLA 2014). It depends on nothing else,
/// so that points which differ in an axis share their random numbers; and 53 bits are what every
/// reader of JSON holds exactly.
pub(super) fn repetition_seed(master: u64, repetition: u32) -> u64 {
    let Some(steps) = repetition.checked_sub(1) else { return master };
    splitmix64(master.wrapping_add(u64::from(steps).wrapping_mul(SPLITMIX64_STEP))) >> 11
}

/// Reads `[sweep]` against the experiment it varies; `length` is the size of the file in bytes.
pub(super) fn read(
    sweep: &Value,
    document: &Value,
    length: usize,
    report: &Report,
) -> Option<SweepText> {
    let Value::Object(sweep) = sweep else {
        report.refuse("sweep", format!("expected a table, got {}; write [sweep]", show(sweep)));
        return None;
    };
    let mut repetitions = repetitions::ONCE;
    let mut axes: Vec<Axis> = Vec::new();
    for (path, value) in sweep {
        if path == "repetitions" {
            repetitions = repetitions::read(value, report);
        } else if let Some(axis) = read_axis(path, value, document, report) {
            refuse_overlap(&axis, &axes, report);
            axes.push(axis);
        }
    }
    let combinations = |points: u64, axis: &Axis| points.saturating_mul(axis.values.len() as u64);
    let points = axes.iter().fold(u64::from(repetitions.count), combinations);
    if points > MAX_POINTS {
        let message = format!("{points} points, more than {MAX_POINTS}; sweep fewer values");
        report.refuse("sweep", message);
        return None;
    }
    if points.saturating_mul(length as u64) > MAX_TEXT {
        let message = format!(
            "{points} points of this file of {length} bytes are too many; sweep fewer values"
        );
        report.refuse("sweep", message);
        return None;
    }
    Some(SweepText { axes, repetitions })
}

fn read_axis(path: &str, value: &Value, document: &Value, report: &Report) -> Option<Axis> {
    let at = format!("sweep.\"{}\"", excerpt(path));
    let values = match value {
        Value::Array(values) if !values.is_empty() => values.clone(),
        Value::Array(_) => {
            report
                .refuse(at, "expected at least one value, got an empty list; add one or remove it");
            return None;
        }
        Value::Object(table) => {
            let quoted = innermost(path, table);
            let message = format!(
                "expected a list of values, got a table; write the path in quotes: \"{quoted}\" = [...]"
            );
            report.refuse(at, message);
            return None;
        }
        other => {
            let found = show(other);
            report.refuse(at, format!("expected a list of values, got {found}; write [{found}]"));
            return None;
        }
    };
    match find(path, document) {
        Ok(steps) => Some(Axis { path: path.to_owned(), steps, values }),
        Err(message) => {
            report.refuse(at, message);
            None
        }
    }
}

/// The first path through nested tables, as a path without quotes becomes in TOML.
fn innermost(path: &str, table: &Map<String, Value>) -> String {
    match table.iter().next() {
        Some((name, Value::Object(inner))) => innermost(&format!("{path}.{name}"), inner),
        Some((name, _)) => excerpt(&format!("{path}.{name}")),
        None => excerpt(path),
    }
}

/// Refuses an axis that would overwrite what another sets.
fn refuse_overlap(axis: &Axis, others: &[Axis], report: &Report) {
    for other in others {
        let shared = axis.steps.len().min(other.steps.len());
        if axis.steps[..shared] == other.steps[..shared] {
            let (path, other) = (excerpt(&axis.path), excerpt(&other.path));
            let message = format!("sets what \"{other}\" sets too; remove one of them");
            report.refuse(format!("sweep.\"{path}\""), message);
        }
    }
}

/// Follows a path through the keys of an experiment and the entries that this one has.
fn find(path: &str, document: &Value) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut section: &Section = &EXPERIMENT;
    let mut here = Some(document);
    let mut names = path.split('.');
    while let Some(name) = names.next() {
        let key = section.key(name).filter(|key| !matches!(key.kind, Kind::Sweep));
        let Some(key) = key else {
            let known = section.keys().map(|key| key.name).filter(|name| *name != "sweep");
            let hint = did_you_mean(name, known);
            return Err(format!("{} has no \"{}\"{hint}", section.name, excerpt(name)));
        };
        steps.push(Step::Key(name.to_owned()));
        here = here.and_then(|here| here.get(name));
        match key.kind {
            Kind::Table(inner) => section = inner,
            // A single value has nothing below it.
            Kind::Distribution(inner) if here.is_some_and(Value::is_object) => section = inner,
            Kind::List(inner) => {
                section = inner;
                let Some(entry) = names.next() else { break };
                let index = find_entry(name, entry, here)?;
                steps.push(Step::Index(index));
                here = here.and_then(|list| list.get(index));
            }
            Kind::Numbers | Kind::SocketOptions => {
                steps.extend(names.next().map(|name| Step::Key(name.to_owned())));
                break;
            }
            // Names of settings have dots of their own.
            Kind::Settings => {
                let rest: Vec<_> = names.by_ref().collect();
                steps.extend((!rest.is_empty()).then(|| Step::Key(rest.join("."))));
                break;
            }
            _ => break,
        }
    }
    match names.next() {
        Some(rest) => Err(format!("nothing is below this key; remove \".{}\"", excerpt(rest))),
        None => Ok(steps),
    }
}

/// The index of the entry of a list that a path names by index or id.
fn find_entry(list: &str, entry: &str, tables: Option<&Value>) -> Result<usize, String> {
    let tables = tables.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if !entry.is_empty() && entry.bytes().all(|byte| byte.is_ascii_digit()) {
        return entry.parse().ok().filter(|index| *index < tables.len()).ok_or_else(|| {
            let (entry, count) = (excerpt(entry), tables.len());
            format!("there is no {list} {entry}; the file has {count}, counted from 0")
        });
    }
    let ids = || tables.iter().filter_map(|table| table.get("id")?.as_str());
    tables
        .iter()
        .position(|table| table.get("id").and_then(Value::as_str) == Some(entry))
        .ok_or_else(|| {
            let hint = did_you_mean(entry, ids());
            format!("no {list} has id = \"{}\"{hint}", excerpt(entry))
        })
}

/// The values of the axes at one point, and the experiment with them.
type Combination = (Vec<(String, Value)>, Value);

impl SweepText {
    /// Every combination of the axes' values, the last axis varying fastest.
    pub(super) fn combinations(
        &self,
        document: &Value,
    ) -> Result<Vec<Combination>, Vec<ExperimentError>> {
        let mut combinations = vec![(Vec::new(), document.clone())];
        for axis in &self.axes {
            let mut longer = Vec::with_capacity(combinations.len() * axis.values.len());
            for (axes, document) in &combinations {
                for value in &axis.values {
                    let mut axes: Vec<(String, Value)> = axes.clone();
                    let mut document = document.clone();
                    axis.set(&mut document, value.clone())?;
                    axes.push((axis.path.clone(), value.clone()));
                    longer.push((axes, document));
                }
            }
            combinations = longer;
        }
        Ok(combinations)
    }
}

impl Axis {
    /// Sets the key that the path leads to, with the tables on the way that are not written.
    fn set(&self, document: &mut Value, value: Value) -> Result<(), Vec<ExperimentError>> {
        let mut here = document;
        for step in &self.steps {
            let next = match step {
                Step::Key(name) => here
                    .as_object_mut()
                    .map(|table| table.entry(name).or_insert_with(|| Value::Object(Map::new()))),
                Step::Index(index) => here.get_mut(*index),
            };
            here = next.ok_or_else(|| {
                vec![ExperimentError {
                    path: format!("sweep.\"{}\"", excerpt(&self.path)),
                    message: "the path leads through a value that is not a table; make it one"
                        .to_owned(),
                }]
            })?;
        }
        *here = value;
        Ok(())
    }
}
