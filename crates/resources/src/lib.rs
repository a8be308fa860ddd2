//! Memory and threads that the system may refuse: the work that needed them ends in words.
//!
//! Rust ends the process when an allocation fails. [`Reserve`] serves small requests from memory of its
//! own instead, and work that asks [`is_short`] from time to time stops while that lasts.

mod last_words;
mod reserve;
mod shortage;
mod threads;

#[cfg(unix)]
pub use last_words::before_abort;
pub use reserve::{RESERVE_BYTES, Reserve};
pub use shortage::{Shortage, fallible, is_short};
pub use threads::in_threads;
