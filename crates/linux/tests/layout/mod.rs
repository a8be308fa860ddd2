//! What a kernel is told for an experiment, as text to be read, and what is refused.

mod any;
mod captures;
mod datagrams;
mod disciplines;
mod plans;
mod programs;
mod refusals;
mod text;
mod transfers;

use fairway_linux::{Layout, layout};
use fairway_spec::{Experiment, ExperimentErrors, LinuxNetwork, from_document, plan};
use serde_json::Value;

/// The first experiment of a file's text, on a network of `tc` unless the text names one.
fn experiment(text: &str) -> Experiment {
    let points = plan(text, "test.toml").unwrap_or_else(|errors| panic!("{errors}")).points;
    let document = &points[0].document;
    let found = if text.contains("network =") { from_document(document) } else { on_tc(document) };
    found.unwrap_or_else(|errors| panic!("{errors}"))
}

/// The experiment of a document, on a network of `tc`.
fn on_tc(document: &Value) -> Result<Experiment, ExperimentErrors> {
    let mut experiment = from_document(document)?;
    experiment.linux.network = LinuxNetwork::Tc;
    Ok(experiment)
}

/// What a kernel is told for it.
fn laid_out(text: &str) -> Layout {
    layout(&experiment(text)).unwrap_or_else(|errors| panic!("{errors}"))
}
