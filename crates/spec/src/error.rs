//! What is wrong with an experiment: where, what was found, what to write instead.

use std::cell::RefCell;
use std::fmt;

/// One thing that is wrong with an experiment.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ExperimentError {
    /// The key, such as `topology.bottleneck.queue.limit`, or the line and column.
    pub path: String,
    /// What was expected, what was found, and what to write instead.
    pub message: String,
}

impl ExperimentError {
    /// `message` about what stands at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        ExperimentError { path: path.into(), message: message.into() }
    }
}

impl From<ExperimentError> for ExperimentErrors {
    fn from(error: ExperimentError) -> Self {
        ExperimentErrors { source: None, errors: vec![error] }
    }
}

/// Everything that is wrong with an experiment, in the order of its keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExperimentErrors {
    /// The file, if the experiment came from one.
    pub source: Option<String>,
    /// What is wrong; never empty.
    pub errors: Vec<ExperimentError>,
}

impl ExperimentErrors {
    /// The first of these errors and how many more there are, unless there is none.
    ///
    /// # Errors
    /// If there are any.
    pub fn unless_none(mut errors: Vec<ExperimentError>) -> Result<(), Self> {
        if errors.len() > LISTED {
            let further = errors.len() - LISTED;
            errors.truncate(LISTED);
            errors.push(unlisted(further));
        }
        if errors.is_empty() { Ok(()) } else { Err(ExperimentErrors { source: None, errors }) }
    }
}

fn unlisted(count: usize) -> ExperimentError {
    ExperimentError::new("experiment", format!("{count} further errors are not listed"))
}

impl std::error::Error for ExperimentErrors {}

impl fmt::Display for ExperimentErrors {
    /// One line for each error.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            if let Some(source) = &self.source {
                write!(f, "{source}: ")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

/// Errors listed before the rest is only counted: nobody reads more at a time.
const LISTED: usize = 50;

/// Collects what is wrong while an experiment is read, so that one reading shows it all.
#[derive(Default)]
pub(super) struct Report {
    errors: RefCell<Vec<ExperimentError>>,
    unlisted: RefCell<usize>,
}

impl Report {
    /// Notes that the value at `path` is wrong.
    pub(super) fn refuse(&self, path: impl Into<String>, message: impl Into<String>) {
        let mut errors = self.errors.borrow_mut();
        if errors.len() < LISTED {
            errors.push(ExperimentError::new(path, message));
        } else {
            *self.unlisted.borrow_mut() += 1;
        }
    }

    /// Notes that the value at `path` is wrong, in place of a value.
    pub(super) fn wrong<T>(
        &self,
        path: impl Into<String>,
        message: impl Into<String>,
    ) -> Option<T> {
        self.refuse(path, message);
        None
    }

    /// Whether nothing is wrong so far.
    pub(super) fn is_empty(&self) -> bool {
        self.errors.borrow().is_empty()
    }

    /// The value, if nothing was wrong and there is one.
    pub(super) fn finish<T>(self, value: Option<T>) -> Result<T, Vec<ExperimentError>> {
        let mut errors = self.errors.into_inner();
        let further = self.unlisted.into_inner();
        if further > 0 {
            errors.push(unlisted(further));
        }
        match value {
            Some(value) if errors.is_empty() => Ok(value),
            // A missing value has always been reported; this keeps the promise if one was not.
            _ if errors.is_empty() => {
                let message = "not understood; compare it with the examples";
                Err(vec![ExperimentError::new("experiment", message)])
            }
            _ => Err(errors),
        }
    }
}

/// The candidate that `given` may be a misspelling of.
pub(super) fn closest<'a>(
    given: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    // One slip in a short word, one in four letters of a long one.
    let allowed = (given.chars().count() / 4).max(1);
    candidates
        .map(|candidate| (distance(given, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean "…"?`, or nothing.
pub(super) fn did_you_mean<'a>(given: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    closest(given, candidates).map_or(String::new(), |name| format!("; did you mean \"{name}\"?"))
}

/// Slips between two words; two neighbouring letters in the wrong order are one.
fn distance(left: &str, right: &str) -> usize {
    let mut slips = left.chars().zip(right.chars()).enumerate().filter(|(_, (a, b))| a != b);
    match (slips.next(), slips.next(), slips.next()) {
        (Some((i, (a, b))), Some((j, (c, d))), None)
            if left.len() == right.len() && j == i + 1 && (a, b) == (d, c) =>
        {
            1
        }
        _ => edit_distance(left, right),
    }
}

/// Letters longer than this are no misspelling of any key.
const LONGEST_WORD: usize = 64;

/// Levenshtein distance (insertions, deletions, substitutions), ignoring case.
fn edit_distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().take(LONGEST_WORD).collect();
    let right: Vec<char> = right.to_lowercase().chars().take(LONGEST_WORD).collect();
    // One row of the table: the distances of a prefix of `left` to every prefix of `right`.
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances() {
        // kitten, sitten, sittin, sitting.
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("bottlneck", "bottleneck"), 1);
        assert_eq!(edit_distance("MTU", "mtu"), 0);
    }

    #[test]
    fn suggestions_are_close() {
        let keys = ["rate", "delay", "queue"];
        assert_eq!(closest("dealy", keys.into_iter()), Some("delay"));
        assert_eq!(closest("deyla", keys.into_iter()), None);
        assert_eq!(closest("dellay", keys.into_iter()), Some("delay"));
        assert_eq!(closest("bandwidth", keys.into_iter()), None);
    }

    #[test]
    fn a_flood_of_errors_is_counted() {
        let report = Report::default();
        for _ in 0..LISTED + 7 {
            report.refuse("a", "b");
        }
        let errors = report.finish(Some(())).unwrap_err();
        assert_eq!(errors.len(), LISTED + 1);
        assert_eq!(errors[LISTED].message, "7 further errors are not listed");
    }
}
