//! Endpoint tests as text, in the spirit of packetdrill: what arrives, what has to be sent in
//! answer, and what has to hold, each at its time.
//!
//! A script drives one [`fairway_tcp::Endpoint`] in virtual time; nothing of it is executed by a
//! shell or by Python. `docs/commands/script.md` describes the format.

mod connection;
mod expression;
mod info;
mod ledger;
mod lexer;
mod parser;
mod position;
mod run;
mod script;
mod settings;
mod sysctl;
mod verdict;
mod wire;

pub use position::{Position, Problem, ScriptError};
pub use verdict::{Failure, TraceLine, Verdict};

/// Carries out a script.
///
/// `name` stands before places in messages. `preset` is the stack whose switches hold where the
/// script sets none, instead of the one that it names.
///
/// # Errors
/// [`ScriptError`] if the script cannot be read, or asks for what is not supported: where, and what
/// to do. That an expectation is not met is no error but a [`Verdict`].
pub fn run(text: &str, name: &str, preset: Option<&str>) -> Result<Verdict, ScriptError> {
    let run = || run::run(&parser::parse(text)?, name, preset);
    run().map_err(|problem| ScriptError { name: name.to_owned(), problem })
}
