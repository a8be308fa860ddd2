//! Plans as text, and refusals.
