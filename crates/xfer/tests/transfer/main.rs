//! Transfers over loopback: what arrives is what was sent, whatever fails on the way.

mod bench;
mod whole;
