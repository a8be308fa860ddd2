//! The simulator as a WebAssembly module: converts, never computes.
//!
//! A page writes text into [`abi::input`], calls one of the exports, and reads the reply, JSON in UTF-8:
//! an answer, or `{"error": {"kind": …, "message": …}}`. Columns of a run stay in the module's memory
//! until they are released; the reply says where.

mod abi;
mod answers;
mod columns;

#[cfg(test)]
mod tests;
