//! From the text of an experiment file to the experiments it asks for.

use fairway_cc::Catalogue;
use serde_json::{Map, Value};

use super::document::resolve;
use super::error::{ExperimentError, Report};
use super::reader::show;
use super::repetitions::Until;
use super::traces::Traces;
use super::{ExperimentErrors, set, sweep};

/// Largest experiment file in bytes.
const MAX_FILE: usize = 1 << 20;

/// The experiments that a file asks for.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// What a reader is told it is.
    pub title: String,
    /// The paths that the sweep varies, in the order of the file.
    pub axes: Vec<String>,
    /// The experiments: the last axis varies fastest, repetitions faster still.
    pub points: Vec<Point>,
    /// What repeating ends at before all repetitions are run, if at anything.
    pub until: Option<Until>,
}

/// One experiment of a plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// The value of every axis.
    pub axes: Vec<(String, Value)>,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// The experiment, in the same keys as the file: without the sweep, with title and seed.
    pub document: Value,
}

/// Reads an experiment file and validates every experiment it asks for. `source` is the name of
/// the file, for messages and for the title of a file without one.
///
/// # Errors
/// [`ExperimentErrors`]: the line and column of what is not TOML, or everything that is wrong
/// with the sweep, or with the first of its points that is wrong.
pub fn plan(text: &str, source: &str) -> Result<Plan, ExperimentErrors> {
    plan_with(text, source, &[], &Catalogue::default())
}

/// As [`plan`], with values set first, each at its path, where flows may name the algorithms of
/// `catalogue`.
///
/// # Errors
/// The same, or a path leads nowhere.
pub fn plan_with(
    text: &str,
    source: &str,
    changes: &[(String, Value)],
    catalogue: &Catalogue,
) -> Result<Plan, ExperimentErrors> {
    let document = parse(text).map_err(|errors| of_source(source, errors))?;
    if changes.is_empty() {
        return read(document, text.len(), source, catalogue);
    }
    plan_document(Value::Object(document), source, changes, catalogue)
}

/// As [`plan_with`], of the content of a file.
///
/// # Errors
/// The same.
pub fn plan_document(
    mut document: Value,
    source: &str,
    changes: &[(String, Value)],
    catalogue: &Catalogue,
) -> Result<Plan, ExperimentErrors> {
    for (path, value) in changes {
        set::set(&mut document, path, value.clone())?;
    }
    set::in_order_of_toml(&mut document);
    let length = document.to_string().len();
    let Value::Object(document) = document else {
        let message = format!("expected a table, got {}", show(&document));
        return Err(of_source(source, vec![ExperimentError::new("experiment", message)]));
    };
    refuse_length(length).map_err(|errors| of_source(source, errors))?;
    read(document, length, source, catalogue)
}

fn of_source(source: &str, errors: Vec<ExperimentError>) -> ExperimentErrors {
    ExperimentErrors { source: Some(source.to_owned()), errors }
}

/// `length` is that of the file, in bytes.
fn read(
    document: Map<String, Value>,
    length: usize,
    source: &str,
    catalogue: &Catalogue,
) -> Result<Plan, ExperimentErrors> {
    points(document, length, source, catalogue).map_err(|errors| of_source(source, errors))
}

fn points(
    mut document: Map<String, Value>,
    length: usize,
    source: &str,
    catalogue: &Catalogue,
) -> Result<Plan, Vec<ExperimentError>> {
    document.entry("title").or_insert_with(|| Value::String(title_of(source)));
    document.entry("seed").or_insert_with(|| Value::from(1));
    let sweep = document.shift_remove("sweep");
    let title = document.get("title").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut traces = Traces::beside(source);
    let mut document = Value::Object(document);
    let Some(sweep) = sweep else {
        put_traces(&mut traces, &mut document)?;
        resolve(&document, catalogue).map_err(|errors| errors.errors)?;
        let points = vec![Point { axes: Vec::new(), repetition: 0, document }];
        return Ok(Plan { title, axes: Vec::new(), points, until: None });
    };
    let report = Report::default();
    let sweep = sweep::read(&sweep, &document, length, &report);
    let sweep = report.finish(sweep)?;
    // What is wrong without the sweep is no fault of the point that it is first seen at.
    let mut without = document.clone();
    let common = match put_traces(&mut traces, &mut without) {
        Ok(()) => resolve(&without, catalogue).map(|_| ()).map_err(|errors| errors.errors),
        Err(errors) => Err(errors),
    };
    let common = common.err().unwrap_or_default();
    let mut points = Vec::new();
    for (axes, mut document) in sweep.combinations(&document)? {
        put_traces(&mut traces, &mut document)
            .map_err(|errors| at_point(errors, &common, &axes))?;
        resolve(&document, catalogue).map_err(|errors| at_point(errors.errors, &common, &axes))?;
        for repetition in 0..sweep.repetitions.count {
            let mut document = document.clone();
            if let Some(seed) = document.get("seed").and_then(Value::as_u64) {
                document["seed"] = Value::from(sweep::repetition_seed(seed, repetition));
            }
            points.push(Point { axes: axes.clone(), repetition, document });
        }
    }
    Ok(Plan { title, axes: sweep.axes(), points, until: sweep.repetitions.until })
}

/// Puts the traces that a document names into it.
fn put_traces(traces: &mut Traces, document: &mut Value) -> Result<(), Vec<ExperimentError>> {
    let report = Report::default();
    traces.put_into(document, &report);
    report.finish(Some(()))
}

/// The errors of one point of a sweep; those that are not `common` to all say which point it is.
fn at_point(
    mut errors: Vec<ExperimentError>,
    common: &[ExperimentError],
    axes: &[(String, Value)],
) -> Vec<ExperimentError> {
    let point: Vec<_> =
        axes.iter().map(|(path, value)| format!("{path} = {}", show(value))).collect();
    for error in errors.iter_mut().filter(|error| !common.contains(error) && !point.is_empty()) {
        error.message += &format!(" (where the sweep has {})", point.join(", "));
    }
    errors
}

/// The name of the file without its folders and ending.
fn title_of(source: &str) -> String {
    let name = source.rsplit(['/', '\\']).next().unwrap_or(source);
    let stem = name.strip_suffix(".toml").unwrap_or(name);
    let stem: String = stem.chars().filter(|c| !c.is_control()).take(100).collect();
    if stem.trim().is_empty() { "untitled".to_owned() } else { stem }
}

/// Refuses more bytes than a file may have.
fn refuse_length(length: usize) -> Result<(), Vec<ExperimentError>> {
    if length <= MAX_FILE {
        return Ok(());
    }
    let message = format!(
        "the file has {length} bytes, more than an experiment file may have, {MAX_FILE}; \
         give the path of an experiment file, or split it"
    );
    Err(vec![ExperimentError::new("experiment", message)])
}

/// The file as a JSON table.
fn parse(text: &str) -> Result<Map<String, Value>, Vec<ExperimentError>> {
    refuse_length(text.len())?;
    let table: toml::Table = text.parse().map_err(|wrong: toml::de::Error| {
        let offset = wrong.span().map_or(0, |span| span.start);
        let (line, column) = line_and_column(text, offset);
        // The TOML reader speaks of its own types where a whole number has more than 64 bits.
        let message = match wrong.message() {
            said if said.contains("i128") || said.contains("u128") => {
                "the number is too large; TOML has whole numbers up to 9223372036854775807"
                    .to_owned()
            }
            "duplicate key"
                if text[..offset].ends_with("[") && text[offset..].starts_with("flow]") =>
            {
                "duplicate key; write [[flow]] above each of several flows".to_owned()
            }
            said => said.replace('\n', ", "),
        };
        let path = format!("line {line}, column {column}");
        vec![ExperimentError::new(path, format!("not TOML: {message}"))]
    })?;
    let report = Report::default();
    let map = to_json_table(table, "", &report);
    report.finish(Some(map))
}

/// Line and column, both from 1, of the character at a byte offset.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

fn to_json_table(table: toml::Table, path: &str, report: &Report) -> Map<String, Value> {
    let dot = if path.is_empty() { "" } else { "." };
    table
        .into_iter()
        .map(|(name, value)| {
            let value = to_json(value, &format!("{path}{dot}{name}"), report);
            (name, value)
        })
        .collect()
}

fn to_json(value: toml::Value, path: &str, report: &Report) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Boolean(switch) => Value::Bool(switch),
        toml::Value::Table(table) => Value::Object(to_json_table(table, path, report)),
        toml::Value::Array(list) => {
            let convert = |(index, value)| to_json(value, &format!("{path}.{index}"), report);
            Value::Array(list.into_iter().enumerate().map(convert).collect())
        }
        toml::Value::Float(number) => serde_json::Number::from_f64(number).map_or_else(
            || {
                report.refuse(path, format!("expected a finite number, got {number}"));
                Value::Null
            },
            Value::Number,
        ),
        toml::Value::Datetime(date) => {
            report.refuse(path, format!("expected no date, got {date}; write \"10 s\" for a time"));
            Value::Null
        }
    }
}
