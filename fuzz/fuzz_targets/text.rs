//! Text as tcpdump prints it: behind a line that makes sure of the format, anything.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut text =
        b"00:00:00.000000 IP 10.0.0.1.1 > 10.0.0.2.2: Flags [S], seq 9, length 0\n".to_vec();
    text.extend(bytes);
    fairway_fuzz::read_twice(&text);
});
