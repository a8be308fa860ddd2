//! The files of a fuzzing target's corpus, for tests: `#[path = "…/fuzz/corpus.rs"] mod corpus`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

/// The files in `fuzz/corpus/TARGET.tar.gz`, in the order of their names.
pub fn files(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let archive = File::open(folder.join(format!("{target}.tar.gz"))).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(archive));
    let read = |file: std::io::Result<tar::Entry<_>>| {
        let mut bytes = Vec::new();
        file.unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    let files: Vec<_> = archive.entries().unwrap().map(read).collect();
    assert!(!files.is_empty(), "{target}: the corpus is empty");
    files
}
