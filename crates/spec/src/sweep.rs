//! Sweeps: paths of keys, the values that they take alone or together, and every combination.

use fairway_units::random::{SPLITMIX64_STEP, splitmix64};
use serde_json::{Map, Value};

use super::error::{ExperimentError, Report, did_you_mean};
use super::keys::{EXPERIMENT, Kind, MAX_POINTS, Section};
use super::reader::{path_excerpt, show};
use super::repetitions::{self, Repetitions};
use super::samples::{self, Sampling};
use super::unknown::hint;

/// Text of all points together, in bytes: what a plan can hold in memory, several times over.
const MAX_TEXT: u64 = 128 << 20;

/// Longest value that is written again in a message.
const LONGEST_EXAMPLE: usize = 60;

/// A sweep, its paths found in the experiment.
pub(super) struct SweepText {
    groups: Vec<Group>,
    pub(super) repetitions: Repetitions,
}

/// Paths that take their values together; most often one path.
struct Group {
    paths: Vec<Path>,
    /// A value for each path, in turn.
    rows: Vec<Vec<Value>>,
}

/// A key that a sweep sets.
struct Path {
    /// As it is written.
    text: String,
    /// Where it stands in the sweep, for messages.
    at: String,
    steps: Vec<Step>,
}

/// A step of a path.
#[derive(Clone, PartialEq, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

impl Step {
    /// As it is written.
    fn text(&self) -> String {
        match self {
            Step::Key(name) => name.clone(),
            Step::Index(index) => index.to_string(),
        }
    }
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
        return report
            .wrong("sweep", format!("expected a table, got {}; write [sweep]", show(sweep)));
    };
    let mut repetitions = repetitions::ONCE;
    let mut groups: Vec<Group> = Vec::new();
    let seed = document.get("seed").and_then(Value::as_u64).unwrap_or(1);
    for (key, value) in sweep {
        if key == "repetitions" {
            repetitions = repetitions::read(value, report);
            continue;
        }
        let group = if let Some(sampling) = Sampling::of(key) {
            // Drawn before all points are counted, and so bounded as they are.
            let most = (MAX_TEXT / length.max(1) as u64).clamp(1, MAX_POINTS);
            samples::read(key, sampling, value, seed, most, report).map(transposed).and_then(
                |(paths, rows)| {
                    Group::found(&format!("sweep.{key}."), paths, rows, document, report)
                },
            )
        } else if key == "list" {
            read_list(value, report).and_then(|(paths, rows)| {
                Group::found("sweep.list.0.", paths, rows, document, report)
            })
        } else {
            let rows = read_axis(key, value, report);
            rows.and_then(|rows| Group::found("sweep.", vec![key.clone()], rows, document, report))
        };
        if let Some(group) = group {
            group.refuse_overlap(&groups, report);
            groups.push(group);
        }
    }
    let combinations = |points: u64, group: &Group| points.saturating_mul(group.rows.len() as u64);
    let points = groups.iter().fold(u64::from(repetitions.count), combinations);
    if points > MAX_POINTS {
        let message = format!("{points} points, more than {MAX_POINTS}; sweep fewer values");
        return report.wrong("sweep", message);
    }
    if points.saturating_mul(length as u64) > MAX_TEXT {
        let message = format!(
            "{points} points of this file of {length} bytes are too many; sweep fewer values"
        );
        return report.wrong("sweep", message);
    }
    Some(SweepText { groups, repetitions })
}

/// The values of one path, each a row of its own.
fn read_axis(path: &str, value: &Value, report: &Report) -> Option<Vec<Vec<Value>>> {
    let message = match value {
        Value::Array(values) if !values.is_empty() => {
            return Some(values.iter().map(|value| vec![value.clone()]).collect());
        }
        Value::Array(_) => {
            "expected at least one value, got an empty list; add one or remove it".to_owned()
        }
        Value::Object(table) => format!(
            "expected a list of values, got a table; write the path in quotes: \"{}\" = [...]",
            innermost(path, table)
        ),
        other => {
            // As JSON and TOML write it, unless it is long.
            let value = Some(other.to_string()).filter(|text| text.len() <= LONGEST_EXAMPLE);
            let example = value.unwrap_or("…".to_owned());
            format!("expected a list of values, got {}; write [{example}]", show(other))
        }
    };
    report.wrong(format!("sweep.\"{}\"", path_excerpt(path)), message)
}

/// Paths, and rows of values for them.
type Table = (Vec<String>, Vec<Vec<Value>>);

/// The combinations of `sweep.list`, which all set the same paths.
fn read_list(value: &Value, report: &Report) -> Option<Table> {
    let entries = value.as_array().filter(|entries| !entries.is_empty());
    let tables: Option<Vec<_>> =
        entries.and_then(|entries| entries.iter().map(Value::as_object).collect());
    let Some(tables) = tables.filter(|tables| !tables[0].is_empty()) else {
        let message = format!(
            "expected a list of tables, each with values for the same paths, got {}; \
             write [[sweep.list]] before each",
            show(value)
        );
        return report.wrong("sweep.list", message);
    };
    let paths: Vec<String> = tables[0].keys().cloned().collect();
    let mut rows = Vec::with_capacity(tables.len());
    for (index, table) in tables.iter().enumerate() {
        let row: Option<Vec<_>> = paths.iter().map(|path| table.get(path).cloned()).collect();
        match row.filter(|_| table.len() == paths.len()) {
            Some(row) => rows.push(row),
            None => {
                let quoted: Vec<_> =
                    paths.iter().map(|path| format!("\"{}\"", path_excerpt(path))).collect();
                let odd = match table.keys().find(|path| !paths.contains(path)) {
                    Some(path) => format!("got one for \"{}\"", path_excerpt(path)),
                    None => format!("got {} of {}", table.len(), paths.len()),
                };
                let message =
                    format!("expected values for {} and no others, {odd}", quoted.join(", "));
                report.refuse(format!("sweep.list.{index}"), message);
            }
        }
    }
    (rows.len() == tables.len()).then_some((paths, rows))
}

/// Columns as rows.
fn transposed(columns: Vec<samples::Column>) -> Table {
    let count = columns.first().map_or(0, |(_, values)| values.len());
    let rows = (0..count)
        .map(|index| columns.iter().map(|(_, values)| values[index].clone()).collect())
        .collect();
    (columns.into_iter().map(|(path, _)| path).collect(), rows)
}

/// The first path through nested tables, as a path without quotes becomes in TOML.
fn innermost(path: &str, table: &Map<String, Value>) -> String {
    match table.iter().next() {
        Some((name, Value::Object(inner))) => innermost(&format!("{path}.{name}"), inner),
        Some((name, _)) => path_excerpt(&format!("{path}.{name}")),
        None => path_excerpt(path),
    }
}

impl Group {
    /// A group whose paths all lead somewhere; `prefix` is where they stand.
    fn found(
        prefix: &str,
        paths: Vec<String>,
        rows: Vec<Vec<Value>>,
        document: &Value,
        report: &Report,
    ) -> Option<Self> {
        let mut group = Group { paths: Vec::with_capacity(paths.len()), rows };
        let count = paths.len();
        for text in paths {
            let at = format!("{prefix}\"{}\"", path_excerpt(&text));
            match find(&text, document) {
                Ok(steps) => {
                    let path = Path { text, at, steps };
                    path.refuse_overlap(group.paths.iter(), report);
                    group.paths.push(path);
                }
                Err(message) => report.refuse(at, message),
            }
        }
        (group.paths.len() == count).then_some(group)
    }

    fn refuse_overlap(&self, others: &[Group], report: &Report) {
        for path in &self.paths {
            path.refuse_overlap(others.iter().flat_map(|other| &other.paths), report);
        }
    }
}

impl Path {
    /// Refuses a path that would overwrite what another sets.
    fn refuse_overlap<'a>(&self, others: impl Iterator<Item = &'a Path>, report: &Report) {
        for other in others {
            let shared = self.steps.len().min(other.steps.len());
            if self.steps[..shared] == other.steps[..shared] {
                let other = path_excerpt(&other.text);
                let message = format!("sets what \"{other}\" sets too; remove one of them");
                report.refuse(&self.at, message);
            }
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
            let here: Vec<_> = steps.iter().map(Step::text).collect();
            let hint = hint(name, section, &here.join("."));
            return Err(format!("{} has no \"{}\"{hint}", section.name, path_excerpt(name)));
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
        Some(rest) => Err(format!("this key is not a table; remove \".{}\"", path_excerpt(rest))),
        None => Ok(steps),
    }
}

/// The index of the entry of a list that a path names by index or id.
fn find_entry(list: &str, entry: &str, tables: Option<&Value>) -> Result<usize, String> {
    let tables = tables.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if !entry.is_empty() && entry.bytes().all(|byte| byte.is_ascii_digit()) {
        return entry.parse().ok().filter(|index| *index < tables.len()).ok_or_else(|| {
            let (entry, count) = (path_excerpt(entry), tables.len());
            format!("there is no {list} {entry}; the file has {count}, counted from 0")
        });
    }
    let ids = || tables.iter().filter_map(|table| table.get("id")?.as_str());
    tables
        .iter()
        .position(|table| table.get("id").and_then(Value::as_str) == Some(entry))
        .ok_or_else(|| {
            let hint = did_you_mean(entry, ids());
            format!("no {list} has id = \"{}\"{hint}", path_excerpt(entry))
        })
}

/// The values of the axes at one point, and the experiment with them.
type Combination = (Vec<(String, Value)>, Value);

impl SweepText {
    /// The paths that vary, in the order of the file.
    pub(super) fn axes(&self) -> Vec<String> {
        self.groups.iter().flat_map(|group| &group.paths).map(|path| path.text.clone()).collect()
    }

    /// Every combination of the groups' rows, the last group varying fastest.
    pub(super) fn combinations(
        &self,
        document: &Value,
    ) -> Result<Vec<Combination>, Vec<ExperimentError>> {
        let mut combinations = vec![(Vec::new(), document.clone())];
        for group in &self.groups {
            let mut longer = Vec::with_capacity(combinations.len() * group.rows.len());
            for (axes, document) in &combinations {
                for row in &group.rows {
                    let mut axes: Vec<(String, Value)> = axes.clone();
                    let mut document = document.clone();
                    for (path, value) in group.paths.iter().zip(row) {
                        path.set(&mut document, value.clone())?;
                        axes.push((path.text.clone(), value.clone()));
                    }
                    longer.push((axes, document));
                }
            }
            combinations = longer;
        }
        Ok(combinations)
    }
}

impl Path {
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
                let message = "the path goes through a value that is not a table; make it one";
                vec![ExperimentError::new(&self.at, message)]
            })?;
        }
        *here = value;
        Ok(())
    }
}
