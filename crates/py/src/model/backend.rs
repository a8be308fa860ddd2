//! Models as a backend, and beside measurements.

use std::sync::Arc;

use fairway_cc::Catalogue;
use fairway_linux::layout;
use fairway_predict::predict;
use fairway_spec::{Experiment, ExperimentErrors};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::experiment::{Document, experiment_error};
use crate::with_algorithms;

/// What models say of an experiment, as JSON; refuses what none covers.
#[pyfunction]
#[pyo3(signature = (experiment, algorithms = None))]
pub(crate) fn model_answer(
    py: Python<'_>,
    experiment: Document,
    algorithms: Option<Py<PyAny>>,
) -> PyResult<String> {
    with_algorithms(py, algorithms, &Arc::default(), |catalogue| answer(experiment, catalogue))
}

fn answer(experiment: Document, catalogue: &Catalogue) -> PyResult<String> {
    let experiment = experiment.read(catalogue)?;
    match predict(&experiment) {
        Ok(found) => Ok(text(json!(found))),
        Err(refusals) => Err(experiment_error(with_others(&experiment, refusals))),
    }
}

/// The refusals as errors, each with the backends that do answer.
fn with_others(experiment: &Experiment, mut refusals: ExperimentErrors) -> ExperimentErrors {
    let linux = layout(experiment).is_ok();
    let remedy = match (experiment.check_for_simulator().is_ok(), linux) {
        (true, true) => "; --backend sim and --backend linux answer it",
        (true, false) => "; --backend sim answers it",
        (false, true) => "; --backend linux answers it",
        (false, false) => "",
    };
    for refusal in &mut refusals.errors {
        refusal.message += remedy;
    }
    refusals
}

fn text(value: Value) -> String {
    value.to_string()
}
