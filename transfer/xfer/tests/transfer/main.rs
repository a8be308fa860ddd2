//! Transfers over loopback: what arrives is what was sent, whatever fails on the way.

mod bench;
mod faults;
mod proxy;
mod there;
mod whole;
