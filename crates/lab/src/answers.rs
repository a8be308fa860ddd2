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

/// The reply as JSON, or an error message.
pub(crate) type Reply = Result<String, String>;

/// What messages call the text of an experiment, as `fairway.run` does.
const SOURCE: &str = "experiment";

/// Limit on the points of a plan: the page holds all their documents at once.
const MOST_POINTS: usize = 1000;

/// Progress reports of a run, at most.
const STEPS: f64 = 50.0;

/// The points of an experiment file. Each document is text, since a JavaScript number cannot hold every
/// 64-bit seed.
pub(crate) fn plan(text: &str) -> Reply {
    let plan = plan_with(text, SOURCE, &[], &catalogue()).map_err(words)?;
    let count = plan.points.len();
    if count > MOST_POINTS {
        return Err(format!(
            "{SOURCE}: sweep: has {count} points, and a page runs at most {MOST_POINTS}; sweep fewer \
             values, or use `fairway run`"
        ));
    }
    if let Some(first) = plan.points.first() {
        let experiment = from_document_with(&first.document, &catalogue()).map_err(words)?;
        experiment.check_for_simulator().map_err(|error| format!("{SOURCE}: {error}"))?;
    }
    let point = |point: Point| {
        refuse_captures(&point.document).map_err(|error| format!("{SOURCE}: {error}"))?;
        Ok(json!({
            "settings": Map::from_iter(point.axes),
            "repetition": point.repetition,
            "document": point.document.to_string(),
        }))
    };
    let points: Vec<Value> = plan.points.into_iter().map(point).collect::<Result<_, String>>()?;
    Ok(json!({ "title": plan.title, "points": points }).to_string())
}

/// Runs the experiment of a document. The reply gives the addresses of the returned columns.
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

/// A progress callback that calls `tell` at most [`STEPS`] times.
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

/// The version and the algorithms.
pub(crate) fn describe() -> String {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "algorithms": fairway_spec::algorithms(),
    })
    .to_string()
}

/// The reply to invalid input or a failed run.
pub(crate) fn refusal(message: String) -> String {
    json!({ "error": { "kind": "refused", "message": message } }).to_string()
}

/// The reply after a panic.
pub(crate) fn fault(message: &str) -> String {
    let message = format!("internal error; please report it with the experiment: {message}");
    json!({ "error": { "kind": "fault", "message": message } }).to_string()
}

fn words(error: impl std::error::Error) -> String {
    error.to_string()
}

/// Fairway's algorithms; an algorithm in Python is refused by name.
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
