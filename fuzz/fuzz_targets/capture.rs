//! Any bytes: every format is found by its first bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairway_fuzz::read_twice(bytes));
