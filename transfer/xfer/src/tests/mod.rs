//! Tests of the whole crate: corpora of the fuzzers, and transfers between simulated hosts.

mod changed;
mod corpus;
mod crash;
mod liars;
pub(crate) mod simulated;
