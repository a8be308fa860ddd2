//! A trace of a link as Mahimahi has it, or as experiments hold it.
#![no_main]

use fairway_net::rate::DeliveryTrace;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for trace in [DeliveryTrace::parse(text), DeliveryTrace::read(text)] {
        match trace {
            Ok(trace) => assert_eq!(DeliveryTrace::read(&trace.written()), Ok(trace)),
            Err(words) => assert!(!words.is_empty()),
        }
    }
});
