//! The simulator: an experiment goes in, a run comes out.

pub mod experiment;
