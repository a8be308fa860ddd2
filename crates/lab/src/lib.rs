//! The simulator as a WebAssembly module: converts, never computes.
//!
//! The page writes text into [`abi::input`], calls an export, and reads the reply, JSON in UTF-8: an
//! answer, or `{"error": {"kind": …, "message": …}}`. The columns of a run stay in the module's memory
//! until they are released; the reply gives their addresses.

mod abi;
mod answers;
mod columns;

#[cfg(test)]
mod tests;
