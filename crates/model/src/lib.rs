//! Analytic models: an answer without a simulation.
