//! Packed bytes: as they are behind gzip's magic, and packed rightly in two members.
#![no_main]

use std::io::{Cursor, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut bad = vec![0x1f, 0x8b];
    bad.extend(bytes);
    fairway_fuzz::read(Box::new(Cursor::new(bad)));

    // A packed capture would be packed twice, and is unpacked once.
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return;
    }
    // Bytes of another packer are refused, but not inside of gzip.
    let Some(plain) = fairway_fuzz::read(Box::new(Cursor::new(bytes.to_vec()))) else { return };
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let members = Cursor::new(packed(first)).chain(Cursor::new(packed(second)));
    assert_eq!(fairway_fuzz::read(Box::new(members)), Some(plain));
});

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory does not fail");
    encoder.finish().expect("memory does not fail")
}
