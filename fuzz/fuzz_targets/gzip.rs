//! Packed bytes: as they are behind gzip's magic, and packed rightly in two members.
#![no_main]

use std::io::{Cursor, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

/// First bytes of gzip (RFC 1952, section 2.3.1), zstd (RFC 8878, section 3.1.1), bzip2, xz and LZ4.
const PACKED: [&[u8]; 5] = [
    &[0x1f, 0x8b],
    &[0x28, 0xb5, 0x2f, 0xfd],
    b"BZh",
    &[0xfd, b'7', b'z', b'X', b'Z'],
    &[0x04, 0x22, 0x4d, 0x18],
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut bad = vec![0x1f, 0x8b];
    bad.extend(bytes);
    fairway_fuzz::read(Box::new(Cursor::new(bad)));

    // What is packed already would be packed twice, and is unpacked or refused once.
    if PACKED.iter().any(|magic| bytes.starts_with(magic)) {
        return;
    }
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let members = Cursor::new(packed(first)).chain(Cursor::new(packed(second)));
    let unpacked = fairway_fuzz::read(Box::new(members));
    assert_eq!(unpacked, fairway_fuzz::read(Box::new(Cursor::new(bytes.to_vec()))));
});

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}
