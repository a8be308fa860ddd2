//! The words that two ends exchange, and how they stand in a stream.
