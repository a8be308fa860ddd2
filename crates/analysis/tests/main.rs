//! Connections by hand, estimated windows, and algorithms recognised.

mod by_hand;
mod identify;
mod window;
