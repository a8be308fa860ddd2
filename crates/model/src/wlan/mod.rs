//! TCP through an IEEE 802.11 cell: attempts and collisions of the access method, and who gets how much
//! of it by uploads and downloads with windows.
//!
//! [`Backoff`] has the fixed points of Bianchi and of Kumar et al.; [`literature()`] the chain that
//! assumes an access point with data always; [`Cell`] windows of any size, in both directions.

mod cell;
mod chain;
mod dcf;
mod integral;
mod literature;
mod success;
#[cfg(test)]
mod tests;
mod timing;
mod tokens;

pub use cell::{Cell, Direction, Flow, FlowAnswer, Occupancy, Prediction};
pub use chain::ChainState;
pub use dcf::{Backoff, Contention, Saturation};
pub use integral::Head;
pub use literature::{Literature, literature};
pub use success::Contenders;
pub use timing::{Packets, Setting, Times};
