//! What of an experiment no model covers.

use std::fmt;

/// Refusals listed before the rest is only counted: nobody reads more at a time.
const LISTED: usize = 20;

/// One thing that no model covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The key, such as `flow.0.cc`.
    pub path: String,
    /// What of it, in a few words.
    pub what: String,
}

/// Everything that no model covers; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusals(pub Vec<Refusal>);

impl Refusal {
    /// For `what` at `path`.
    pub(crate) fn new(path: impl Into<String>, what: impl Into<String>) -> Self {
        Refusal { path: path.into(), what: what.into() }
    }
}

impl From<Refusal> for Refusals {
    fn from(refusal: Refusal) -> Self {
        Refusals(vec![refusal])
    }
}

impl Refusals {
    /// Those, each once, if there are any.
    pub(crate) fn of(found: Vec<Refusal>) -> Result<(), Self> {
        let mut listed: Vec<Refusal> = Vec::new();
        for refusal in found {
            if listed.len() < LISTED && !listed.contains(&refusal) {
                listed.push(refusal);
            }
        }
        if listed.is_empty() { Ok(()) } else { Err(Refusals(listed)) }
    }
}

impl fmt::Display for Refusals {
    /// One line for each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Refusal { path, what }) in self.0.iter().enumerate() {
            let end = if index > 0 { "\n" } else { "" };
            write!(f, "{end}{path}: {what}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusals {}
