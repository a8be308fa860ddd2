//! Packet-delivery traces on their way from files into experiments: a document holds a trace itself,
//! so that it is the same experiment wherever it runs, whatever becomes of the file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use fairway_net::rate::DeliveryTrace;
use serde_json::Value;

use super::error::Report;
use super::reader::excerpt;

/// Largest trace file in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// The key of links that names a trace.
const KEY: &str = "trace";

/// The trace files beside an experiment file.
pub(super) struct Traces {
    directory: PathBuf,
    /// What was read, in one line each.
    read: BTreeMap<String, Result<String, String>>,
}

impl Traces {
    /// Those beside the experiment file `source`.
    pub(super) fn beside(source: &str) -> Self {
        let directory = Path::new(source).parent().unwrap_or(Path::new(""));
        Traces { directory: directory.to_owned(), read: BTreeMap::new() }
    }

    /// Puts the traces into a document in the places of their names. What is wrong with a file is
    /// reported at its key.
    pub(super) fn put_into(&mut self, document: &mut Value, report: &Report) {
        if let Some(topology) = document.get_mut("topology") {
            self.put_below(topology, "topology", report);
        }
    }

    fn put_below(&mut self, value: &mut Value, path: &str, report: &Report) {
        match value {
            Value::Object(map) => {
                for (name, inner) in map {
                    let path = format!("{path}.{name}");
                    match inner {
                        Value::String(text) if name == KEY => match self.of(text) {
                            Ok(trace) => *text = trace,
                            Err(error) => report.refuse(path, error),
                        },
                        inner => self.put_below(inner, &path, report),
                    }
                }
            }
            Value::Array(list) => {
                for (i, inner) in list.iter_mut().enumerate() {
                    let path = match inner.get("id").and_then(Value::as_str) {
                        Some(id) => format!("{path}.{}", excerpt(id)),
                        None => format!("{path}.{i}"),
                    };
                    self.put_below(inner, &path, report);
                }
            }
            _ => {}
        }
    }

    /// The trace of this name in one line; what is one already, as it is.
    fn of(&mut self, name: &str) -> Result<String, String> {
        if DeliveryTrace::is_written(name) {
            return Ok(name.to_owned());
        }
        if let Some(known) = self.read.get(name) {
            return known.clone();
        }
        let found = read(&self.directory.join(name), name);
        self.read.insert(name.to_owned(), found.clone());
        found
    }
}

fn read(path: &Path, name: &str) -> Result<String, String> {
    let name = excerpt(name);
    if cfg!(target_family = "wasm") {
        return Err(format!(
            "a page reads no files, so not the trace \"{name}\"; give the link a rate, or use \
             `fairway run`"
        ));
    }
    let unreadable = |error: std::io::Error| {
        format!(
            "cannot read the trace \"{name}\" at {}: {error}; write the path of a file from where \
             the experiment file is",
            path.display()
        )
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(format!(
            "\"{name}\" is not a file of at most {MAX_BYTES} bytes; write the path of a trace, one \
             time in milliseconds on each line"
        ));
    }
    let text = fs::read_to_string(path).map_err(unreadable)?;
    match DeliveryTrace::parse(&text) {
        Ok(trace) => Ok(trace.written()),
        Err(error) => Err(format!("\"{name}\": {error}")),
    }
}
