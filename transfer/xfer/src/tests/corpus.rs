//! The fuzzer's corpus as it is, and with a bit of each byte flipped.

#[path = "../../../../fuzz/corpus.rs"]
mod archive;

fn each(target: &str, run: impl Fn(&[u8])) {
    for mut bytes in archive::files(target) {
        run(&bytes);
        for at in 0..bytes.len().min(256) {
            bytes[at] ^= 1 << (at % 8);
            run(&bytes);
            bytes[at] ^= 1 << (at % 8);
        }
    }
}

#[test]
fn frames_of_the_corpus() {
    each("frame", |bytes| {
        crate::fuzz::frame(bytes);
        crate::fuzz::said(bytes);
    });
}

#[test]
fn greetings_of_the_corpus() {
    each("admission", crate::fuzz::admission);
}

#[test]
fn json_of_the_corpus() {
    each("iperf3", crate::fuzz::iperf3_json);
}

#[test]
fn journals_of_the_corpus() {
    each("journal", crate::fuzz::journal);
}
