//! A journal of an incomplete file, and one that was damaged.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairway_xfer::fuzz::journal(bytes));
