//! Tests of the whole crate: corpora of the fuzzers, and transfers between simulated hosts.

mod corpus;
mod crash;
mod liars;
pub(crate) mod simulated;
