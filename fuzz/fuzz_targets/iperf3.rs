//! JSON of iperf3: parameters of a test, and results.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairway_xfer::fuzz::iperf3_json(bytes));
