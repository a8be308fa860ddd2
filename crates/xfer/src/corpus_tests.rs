//! What the fuzzer has found to run different code, as it is and with a bit of each byte flipped.

use std::fs;
use std::path::Path;

fn each(target: &str, run: impl Fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files = 0;
    for entry in fs::read_dir(&corpus).unwrap() {
        let mut bytes = fs::read(entry.unwrap().path()).unwrap();
        run(&bytes);
        for at in 0..bytes.len().min(256) {
            bytes[at] ^= 1 << (at % 8);
            run(&bytes);
            bytes[at] ^= 1 << (at % 8);
        }
        files += 1;
    }
    assert!(files > 0, "nothing in {}", corpus.display());
}

#[test]
fn frames_of_the_corpus() {
    each("frame", |bytes| {
        crate::wire::fuzz::frame(bytes);
        crate::load::fuzz::said(bytes);
    });
}

#[test]
fn greetings_of_the_corpus() {
    each("admission", crate::auth::fuzz::admission);
}

#[test]
fn json_of_the_corpus() {
    each("iperf3", crate::iperf3::fuzz::json);
}

#[test]
fn journals_of_the_corpus() {
    each("journal", crate::store::fuzz::journal);
}
