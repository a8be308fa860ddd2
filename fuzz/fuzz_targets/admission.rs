//! A greeting: who does not know the token is not admitted, and who does is.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairway_xfer::fuzz::admission(bytes));
