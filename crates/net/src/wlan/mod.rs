//! A WLAN cell: IEEE 802.11's distributed coordination function (DCF) between an access point and
//! its stations.
//!
//! All stations hear each other, and all traffic passes the access point. A [`Cell`] knows the time
//! of its next event; events are beginnings and ends of frames, never single slots.

mod cell;
mod config;
mod figures;
mod node;
mod packet;
mod reports;
#[cfg(test)]
mod tests;

pub use cell::Cell;
pub use config::{CellConfig, MacConfig, StationConfig};
pub use fairway_phy::{Coding, Phy, Preamble, Slot};
pub use figures::{CellFigures, CellTotals, NodeTotals};
pub use packet::{Addressed, Arrival, NodeId, Outcome};
