//! The endpoint, alone and against recordings of others.

mod accurate_ecn;
mod algorithms;
mod both_ways;
mod connection;
mod full_tcp;
mod kernel;
mod kernel_receiver;
mod kernel_sender;
mod ns2_sack1;
mod recovery;
mod script;
mod switches;
mod tcp_linux;
mod windows;
