//! What holds for every algorithm, and what each does.

mod conformance;
mod goldens;
mod ns3;
