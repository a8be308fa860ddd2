//! Every script in `tests/scripts` passes, but those that `known-failures.txt` names: these fail.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/scripts")
}

/// Paths below `directory()`, in order.
fn scripts() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![directory()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "pkt") {
                let below = path.strip_prefix(directory()).expect("below");
                found.push(below.to_str().expect("a name").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Reasons by path.
fn known_failures() -> BTreeMap<String, String> {
    let text = fs::read_to_string(directory().join("known-failures.txt")).expect("the list");
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(": ").expect("path: reason"))
        .map(|(path, reason)| (path.to_owned(), reason.to_owned()))
        .collect()
}

#[test]
fn scripts_pass_or_are_known_to_fail() {
    let known = known_failures();
    let scripts = scripts();
    assert!(scripts.len() > 30, "{scripts:?}");
    for path in known.keys() {
        assert!(scripts.contains(path), "known-failures.txt: there is no {path}");
    }
    let mut wrong = Vec::new();
    for path in scripts {
        let text = fs::read_to_string(directory().join(&path)).expect("a script");
        let verdict = match fairway_script::run(&text, &path, None) {
            Ok(verdict) => verdict,
            Err(error) => {
                wrong.push(error.to_string());
                continue;
            }
        };
        match known.get(&path) {
            None if !verdict.passed => wrong.push(verdict.to_string()),
            Some(_) if verdict.passed => wrong.push(format!(
                "{path} passes: remove its line from tests/scripts/known-failures.txt"
            )),
            Some(reason) => println!("{path} fails, as known: {reason}"),
            None => assert_eq!(verdict.warnings, [] as [&str; 0], "{path}"),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
