//! What a side of a connection could not do.

use std::io;

/// The sides of a connection.
pub const SOURCE: usize = 0;
pub const SINK: usize = 1;

/// An error of one side.
#[derive(Debug)]
pub struct Failure {
    pub side: usize,
    pub error: io::Error,
}

/// What a connection does, or which side cannot.
pub type Done<T = ()> = Result<T, Failure>;

/// Says at which side an error was met.
pub fn at(side: usize) -> impl Fn(io::Error) -> Failure {
    move |error| Failure { side, error }
}

impl Failure {
    /// The side's name, as results have it.
    pub fn end(&self) -> &'static str {
        if self.side == SINK { "sink" } else { "source" }
    }
}
