//! Experiments on a real Linux kernel: `layout` turns an experiment into what the guest is told to
//! do, `collect` turns what it has measured into the records that every backend gives.

mod applications;
mod collect;
mod commands;
mod emulated;
mod figures;
mod layout;
mod programs;
mod samples;
mod transfers;

pub use collect::{Broken, CollectError, Collected, ListedLosses, collect};
pub use commands::Ran;
pub use layout::{Layout, layout};
pub use transfers::{Said, Transfer};
