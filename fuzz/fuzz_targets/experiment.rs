//! An experiment file: whatever it is, there is a plan whose points are valid, or words.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        fairway_fuzz::plan(text);
    }
});
