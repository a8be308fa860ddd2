//! Network emulation: the simulator's network carries the packets of a real Linux kernel.
//!
//! The kernel, a process of the host, loads this crate as a shared library. It hands over the headers
//! of each packet that a host sends and asks when the network does something next; its own timer and
//! its virtual clock do the rest. No packet crosses a system call, and payload stays in the kernel.

mod abi;
#[cfg(test)]
mod fixture;
mod headers;
pub mod losses;
pub mod message;
mod paths;
mod session;
