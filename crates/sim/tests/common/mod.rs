//! What the tests of the simulator share.

use fairway_sim::{Control, Run, run};
use fairway_spec::{Experiment, from_document};

/// The experiment of a file's text.
pub fn experiment(text: &str) -> Experiment {
    let document: serde_json::Value = toml::from_str(text).unwrap_or_else(|e| panic!("{e}"));
    from_document(&document).unwrap_or_else(|e| panic!("{e}"))
}

/// The run of a file's text.
pub fn run_text(text: &str) -> Run {
    run(&experiment(text), &Control::default()).unwrap_or_else(|e| panic!("{e}"))
}
