//! Pairs made by hand, with worked numbers.

mod clocks;
mod losses;
mod network;
mod strange;
