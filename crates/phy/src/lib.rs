//! IEEE 802.11a, b and g as the access method sees them: rates, how long frames take, and how long
//! is waited between them. The simulator of a cell and the models of one read the same numbers.

mod phy;
mod standard;

pub use phy::{ACK_BYTES, Coding, OVERHEAD_BYTES, Phy, Preamble, RTS_BYTES, Slot};
pub use standard::{PROTECTION_RATE, Standard, cts_to_self};
