//! What the simulator does with an experiment.

mod algorithms;
mod arrivals;
mod behaviour;
mod both_ways;
mod captures;
mod common;
mod datagrams;
mod determinism;
mod emulator;
mod foreign;
mod keys;
mod links;
mod lookahead;
mod parallel;
mod queues;
mod scenarios;
mod side_by_side;
mod theory;
mod topologies;
mod wlan;
mod workloads;
