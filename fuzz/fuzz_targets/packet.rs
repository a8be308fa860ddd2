//! One frame: a byte says of which link type, two how much longer it was on the wire.
#![no_main]

use fairway_capture::Packet;

const LINK_TYPES: [u16; 12] = [1, 0, 108, 101, 228, 229, 9, 204, 104, 51, 113, 276];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [link, more_high, more_low, frame @ ..] = bytes else { return };
    let link_type = LINK_TYPES[usize::from(*link) % LINK_TYPES.len()];
    let more = u32::from(u16::from_be_bytes([*more_high, *more_low]));
    if let Some(packet) = Packet::of_frame(link_type, frame, frame.len() as u32 + more) {
        fairway_fuzz::check(&packet);
    }
});
