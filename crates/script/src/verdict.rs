//! What came of a script, to read and to process.

use std::fmt;

use serde::Serialize;

/// Lines of the trace that are shown with a failure: enough to see what led to it.
const SHOWN: usize = 16;

/// What came of a script.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// The script's name: its file.
    pub name: String,
    /// Whether everything was as expected.
    pub passed: bool,
    /// What was not.
    pub failure: Option<Failure>,
    /// What the script asks for that has no effect here.
    pub warnings: Vec<String>,
    /// What its code printed.
    pub printed: Vec<String>,
    /// Events that happened as expected.
    pub events: usize,
    /// Seconds that the script took, by its own clock.
    pub time_s: f64,
    /// Everything that happened.
    pub trace: Vec<TraceLine>,
}

/// Something that happened.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct TraceLine {
    /// Seconds from the start.
    pub t_s: f64,
    /// What: `<` for a segment that arrived, `>` for one that was sent, or a call.
    pub text: String,
    /// The line of the script that made or expected it.
    pub line: Option<u32>,
}

/// Where a script and the endpoint part.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Failure {
    /// Line of the event.
    pub line: u32,
    /// Where it begins in its line.
    pub column: u32,
    /// The event as written.
    pub event: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// When it was expected.
    pub expected: Option<String>,
    /// What there was instead, and when.
    pub found: Option<String>,
    /// Each part that differs, with both values.
    pub differences: Vec<String>,
}

impl fmt::Display for TraceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{:>5}", line)?,
            None => f.write_str("    -")?,
        }
        write!(f, "  {:>11.6}  {}", self.t_s, self.text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        let when = |when: &Option<String>| {
            when.as_ref().map_or_else(String::new, |when| format!("  ({when})"))
        };
        writeln!(f, "  expected  {}{}", self.event, when(&self.expected))?;
        if let Some(found) = &self.found {
            writeln!(f, "  found     {found}")?;
        }
        for difference in &self.differences {
            writeln!(f, "            {difference}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(failure) = &self.failure else {
            return writeln!(f, "{}: passed, {} events", self.name, self.events);
        };
        write!(f, "{}:{failure}", self.name)?;
        writeln!(f, "  until then, by line of the script and time in seconds:")?;
        let skipped = self.trace.len().saturating_sub(SHOWN);
        if skipped > 0 {
            writeln!(f, "    … {skipped} before these")?;
        }
        for line in &self.trace[skipped..] {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}
