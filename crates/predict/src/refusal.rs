//! What of an experiment no model covers.

pub(crate) use fairway_spec::{ExperimentError as Refusal, ExperimentErrors as Refusals};

/// Refusals listed before the rest is left out: nobody reads more at a time.
const LISTED: usize = 20;

/// Refuses all that was found, each once, if there is anything.
pub(crate) fn refuse(found: Vec<Refusal>) -> Result<(), Refusals> {
    let mut errors: Vec<Refusal> = Vec::new();
    for refusal in found {
        if errors.len() < LISTED && !errors.contains(&refusal) {
            errors.push(refusal);
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Refusals { source: None, errors }) }
}
