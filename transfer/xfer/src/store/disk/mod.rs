//! The store's only way to a disk: directories and files by handle, each name a single component.
//!
//! Unit tests put those of [`tests::simulated`](crate::tests) in their place, which are either real or of a
//! disk that fails, fills up and loses power.

pub(crate) mod real;

use std::time::Duration;

use super::Modified;

#[cfg(test)]
pub use crate::tests::simulated::disk::either::{Directory, File};
#[cfg(not(test))]
pub use real::{Directory, File};

/// What is known of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    pub kind: Kind,
    pub bytes: u64,
    pub owner: u32,
    pub mode: u32,
    pub has_more_names: bool,
    pub modified: Modified,
    /// When it was last changed in any way, since 1970.
    pub changed: Duration,
    pub identity: (u64, u64),
}

/// What something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Other,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// The same, and it is made if there is none.
    Make,
}
