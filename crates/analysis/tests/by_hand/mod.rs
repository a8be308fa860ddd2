//! Connections packet by packet; what is expected follows from the packets.

mod connections;
mod losses;
mod properties;
mod windows;
mod wire;
