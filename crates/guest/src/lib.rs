//! An experiment inside a Linux kernel: the plan that the guest is given, and the records that it
//! writes. The program of this crate is the agent that carries the plan out as process 1.

pub mod plan;
pub mod record;
