//! Captures as files: every format, what tshark reads in them, damaged ones.

mod corpus;
mod damaged;
mod tshark;
