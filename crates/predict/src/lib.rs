//! What analytic models say of an experiment, without running it.
//!
//! [`predict`] turns an experiment into the few numbers that models know (`case`: flows that share a
//! bottleneck, and nothing else), asks the models one after the other (`models`), and gives what the
//! first that covers the case says, with its name, its source and whether it is inside of its range.
//! What no model covers is refused by name.

mod beside;
mod case;
mod describe;
mod flows;
mod models;
mod network;
mod prediction;
mod refusal;
#[cfg(test)]
mod tests;

pub use beside::{Beside, Entry, Figures, beside};
pub use prediction::{Basis, FlowPrediction, LinkPrediction, Prediction};

use fairway_spec::{Experiment, ExperimentErrors, Shape};

/// What models say of an experiment.
///
/// # Errors
/// [`ExperimentErrors`] with everything of it that no model covers.
pub fn predict(experiment: &Experiment) -> Result<Prediction, ExperimentErrors> {
    let case = describe::describe(experiment)?;
    if let Shape::Wlan(wlan) = &experiment.topology.shape {
        let answers = models::cell::answer(experiment, wlan, &case)?;
        return Ok(prediction::assemble(experiment, &case, &answers).without_links());
    }
    let answers = models::answer(&case)?;
    Ok(prediction::assemble(experiment, &case, &answers))
}
