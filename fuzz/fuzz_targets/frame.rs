//! Frames and the messages in them, between the ends of a transfer or of generated traffic.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fairway_xfer::fuzz::frame(bytes);
    fairway_xfer::fuzz::said(bytes);
});
