//! Why a transfer failed.

use std::fmt::Display;

/// What was tried, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It was asked to stop.
    #[error("stopped")]
    Cancelled,
    /// What was given cannot be used: a file, a name, a number. In words that say what to do.
    #[error("{0}")]
    Input(String),
    /// The other side does not let this one in, or is not the one that it should be.
    #[error("{0}")]
    Refused(String),
    /// The network, the disk or the other side failed.
    #[error("{what}: {why}")]
    Failed {
        /// What was tried, and where.
        what: String,
        /// What was found, and what to do.
        why: String,
    },
}

impl Error {
    /// Something tried that failed.
    pub fn failed(what: impl Into<String>, why: impl Display) -> Self {
        Error::Failed { what: what.into(), why: why.to_string() }
    }
}
