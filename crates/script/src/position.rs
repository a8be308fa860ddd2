//! Where something stands in a script, and what is wrong with it there.

use std::fmt;

/// A place in a script, counted from one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Character in the line.
    pub column: u32,
}

impl Position {
    /// The first character of a script.
    pub const START: Position = Position { line: 1, column: 1 };

    /// The place behind `character`, which stands here.
    pub fn after(self, character: char) -> Self {
        if character == '\n' {
            Position { line: self.line + 1, column: 1 }
        } else {
            Position { column: self.column + 1, ..self }
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What cannot be read or is not supported, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Where.
    pub at: Position,
    /// What was found and what to do.
    pub message: String,
}

impl Problem {
    /// A problem at a place.
    pub fn new(at: Position, message: impl Into<String>) -> Self {
        Problem { at, message: message.into() }
    }
}

/// A script that cannot be run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name}:{}: {}", problem.at, problem.message)]
pub struct ScriptError {
    /// The script's name: its file.
    pub name: String,
    /// What is wrong, and where.
    pub problem: Problem,
}

/// Text of outside for a message: short, and without what a terminal would act on.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown: String = text.chars().take(LONGEST).map(without_control).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown.trim().to_owned()
}

/// Text of outside without what a terminal would act on.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(without_control).collect()
}

fn without_control(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}
