//! From a page's text to its reply.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use fairway_cc::{Catalogue, CcError, CongestionControl, Foreign, Init, Selection};
use fairway_schema::Control;
use fairway_sim::check_captures;
use fairway_spec::{Experiment, ExperimentError, Point, from_document_with, plan_with};
use fairway_sweep::summary_text;
use serde_json::{Map, Value, json};

use crate::columns::Columns;

/// What a page gets: a reply, or why there is none.
pub(crate) type Reply = Result<String, String>;

/// What messages call the text of an experiment, as `fairway.run` does.
const SOURCE: &str = "experiment";

/// Most points that are planned: a page holds all their documents at once.
const MOST_POINTS: usize = 1000;

/// How often a run tells of its progress.
const STEPS: f64 = 50.0;

/// The points of an experiment file, each with its document as text: numbers of JavaScript do not hold
/// every seed.
pub(crate) fn plan(text: &str) -> Reply {
    let plan = plan_with(text, SOURCE, &[], &catalogue()).map_err(words)?;
    let count = plan.points.len();
    if count > MOST_POINTS {
        return Err(format!(
            "{SOURCE}: sweep: has {count} points, and a page runs at most {MOST_POINTS}; sweep fewer \
             values, or use `fairway run`"
        ));
    }
    let is_sweep = !plan.axes.is_empty() || count > 1;
    let point = |point: Point| {
        refuse_captures(&point.document).map_err(|error| format!("{SOURCE}: {error}"))?;
        Ok(json!({
            "label": if is_sweep { label(&point) } else { plan.title.clone() },
            "document": point.document.to_string(),
            "settings": Map::from_iter(point.axes),
        }))
    };
    let points: Vec<Value> = plan.points.into_iter().map(point).collect::<Result<_, String>>()?;
    Ok(json!({ "title": plan.title, "points": points }).to_string())
}

/// A point of a sweep in words: the values of its axes, and which repetition it is.
fn label(point: &Point) -> String {
    let shown = |(path, value): &(String, Value)| match value {
        Value::String(text) => format!("{path} = {text}"),
        other => format!("{path} = {other}"),
    };
    let mut parts: Vec<_> = point.axes.iter().map(shown).collect();
    parts.push(format!("repetition {}", point.repetition));
    parts.join(", ")
}

/// Runs the experiment of a document. The reply says where its columns are, which come beside it.
pub(crate) fn run(document: &str, tell: fn(f64)) -> Result<(String, Vec<Columns>), String> {
    let experiment = read(document)?;
    let control = Control::watched(every_step(tell));
    let found = fairway_sim::run(&experiment, &control).map_err(words)?;
    let summary = summary_text(&experiment, &found.summary, &found.remarks).map_err(words)?;
    let has_losses = found.losses.is_some();
    let mut columns =
        vec![Columns::new(found.series.into_columns()), Columns::new(found.queues.into_columns())];
    columns.extend(found.losses.map(|losses| Columns::new(losses.into_columns())));
    let reply = json!({
        "summary": summary,
        "flow_ids": found.flow_ids,
        "link_ids": found.link_ids,
        "loss_flow_ids": found.loss_flow_ids,
        "loss_link_ids": found.loss_link_ids,
        "series": columns[0].places(),
        "queues": columns[1].places(),
        "losses": has_losses.then(|| columns[2].places()),
    });
    Ok((reply.to_string(), columns))
}

fn read(document: &str) -> Result<Experiment, String> {
    let document: Value =
        serde_json::from_str(document).map_err(|error| format!("not a JSON document: {error}"))?;
    refuse_captures(&document)?;
    let experiment = from_document_with(&document, &catalogue()).map_err(words)?;
    experiment.check_for_simulator().map_err(words)?;
    check_captures(&experiment).map_err(words)?;
    Ok(experiment)
}

fn refuse_captures(document: &Value) -> Result<(), String> {
    if document.pointer("/capture/at").is_none() {
        return Ok(());
    }
    let message = "a page keeps no captures; leave [capture] out, or use `fairway run --out DIR`";
    Err(ExperimentError::new("capture.at", message).to_string())
}

/// What takes progress, of which `tell` hears every step of a run.
fn every_step(tell: fn(f64)) -> impl Fn(f64) + Send + Sync {
    let told = AtomicU32::new(0);
    move |fraction| {
        let step = (fraction * STEPS) as u32;
        if step > told.load(Ordering::Relaxed) {
            told.store(step, Ordering::Relaxed);
            tell(fraction);
        }
    }
}

/// Version, algorithms and presets.
pub(crate) fn describe() -> String {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "algorithms": fairway_spec::algorithms(),
        "presets": fairway_spec::presets(),
    })
    .to_string()
}

/// What was given cannot be used, or a run failed.
pub(crate) fn refusal(message: String) -> String {
    json!({ "error": { "kind": "refused", "message": message } }).to_string()
}

/// The simulator itself went wrong.
pub(crate) fn fault(message: &str) -> String {
    let message = format!("internal error; please report it with the experiment: {message}");
    json!({ "error": { "kind": "fault", "message": message } }).to_string()
}

fn words(error: impl std::error::Error) -> String {
    error.to_string()
}

/// Fairway's algorithms; one in Python is refused by name.
fn catalogue() -> Catalogue {
    Catalogue::with(Arc::new(NoPython))
}

struct NoPython;

impl Foreign for NoPython {
    fn has(&self, name: &str) -> bool {
        name.starts_with("python:")
    }

    fn create(
        &self,
        selection: &Selection,
        _init: &Init,
    ) -> Result<Box<dyn CongestionControl>, CcError> {
        Err(CcError::Foreign {
            name: selection.name.clone(),
            message: "a page runs no Python; choose an algorithm of Fairway, or use \
                      `fairway run --allow-python`"
                .to_owned(),
        })
    }
}
