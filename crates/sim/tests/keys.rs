//! Every key of experiment files can be simulated.

use fairway_sim::{Control, run};
use fairway_spec::{from_document, schema, specimen};
use serde_json::Value;

/// Paths of the keys below an object of the schema; those of a sweep are no part of an experiment.
fn paths(schema: &Value, prefix: &str, found: &mut Vec<String>) {
    for (name, entry) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{prefix}{name}");
        if path == "sweep" {
            continue;
        }
        for part in [entry, &entry["items"], &entry["anyOf"][1]] {
            paths(part, &format!("{path}."), found);
        }
        found.push(path);
    }
}

#[test]
fn the_example_of_every_key_runs() {
    let mut found = Vec::new();
    paths(&schema(), "", &mut found);
    let mut count = 0;
    for path in &found {
        let Some(document) = specimen(path, None) else {
            assert!(path.contains("linux"), "no specimen of {path}");
            continue;
        };
        count += 1;
        // Thousands of runs: a tenth of their time, where no value of the key is later.
        let mut short = document.clone();
        short["duration"] = "10 s".into();
        let experiment = from_document(&short).or_else(|_| from_document(&document));
        let experiment = experiment.unwrap_or_else(|e| panic!("{path}: {e}"));
        run(&experiment, &Control::default()).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    assert!(count > 80, "{count} keys");
}
