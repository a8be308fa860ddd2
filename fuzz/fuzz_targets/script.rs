//! A script of an endpoint test: it has a verdict, or a place where it is wrong.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match fairway_script::run(text, "fuzz", None) {
        Ok(verdict) => drop(verdict.to_string()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
