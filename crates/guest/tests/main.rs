//! The agent's records and its supervisor.

mod records;
mod supervise;
