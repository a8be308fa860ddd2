//! What a kernel is told, and what it has measured.

mod collect;
mod layout;
