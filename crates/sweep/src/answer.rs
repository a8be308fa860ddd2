//! From an experiment to the summary that is kept of its run.

use fairway_cc::Catalogue;
use fairway_predict::{Beside, beside};
use fairway_schema::{Control, Summary};
use fairway_sim::{RunError, check_captures, run};
use fairway_spec::{Experiment, ExperimentErrors, from_document_with};
use serde::Serialize;
use serde_json::Value;

use crate::json::compact;

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The simulator cannot answer the experiment.
    #[error(transparent)]
    Experiment(#[from] ExperimentErrors),
    /// The run gave nothing.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The summary could not be written.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// A summary with what stands beside it.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    model: Beside,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

/// A summary as one line of JSON, with what models say of the experiment and `warnings`.
///
/// # Errors
/// It cannot be written.
pub fn summary_text(
    experiment: &Experiment,
    summary: &Summary,
    warnings: &[String],
) -> serde_json::Result<String> {
    compact(&Whole { summary, model: beside(experiment, summary), warnings })
}

/// What is kept of a run: two lines of JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The experiment.
    pub experiment: Vec<u8>,
    /// What was measured.
    pub summary: Vec<u8>,
}

/// Simulates an experiment without a sweep.
///
/// # Errors
/// [`Failure`].
pub fn answer(document: &Value, control: &Control) -> Result<Answer, Failure> {
    let experiment = from_document_with(document, &Catalogue::default())?;
    experiment.check_for_simulator()?;
    check_captures(&experiment)?;
    let found = run(&experiment, control)?;
    let summary = summary_text(&experiment, &found.summary, &found.remarks)?;
    Ok(Answer { experiment: compact(document)?.into_bytes(), summary: summary.into_bytes() })
}
