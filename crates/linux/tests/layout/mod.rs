//! What a kernel is told for an experiment, as text to be read, and what is refused.

mod any;
mod captures;
mod datagrams;
mod disciplines;
mod plans;
mod refusals;
mod text;
mod transfers;

use fairway_linux::{Layout, layout};
use fairway_spec::{Experiment, from_document, plan};

/// The first experiment of a file's text.
fn experiment(text: &str) -> Experiment {
    let points = plan(text, "test.toml").unwrap_or_else(|errors| panic!("{errors}")).points;
    from_document(&points[0].document).unwrap_or_else(|errors| panic!("{errors}"))
}

/// What a kernel is told for it.
fn laid_out(text: &str) -> Layout {
    layout(&experiment(text)).unwrap_or_else(|errors| panic!("{errors}"))
}
