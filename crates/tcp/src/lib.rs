//! A sans-I/O TCP endpoint: packets and timer expiries go in, packets and a deadline come out.

mod preset;

pub use preset::{DelayedAck, LossDetection, PRESETS, Preset, Recovery, RtoPolicy, Stack};
