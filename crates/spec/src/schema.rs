//! The JSON Schema of an experiment file, for editors that complete and check TOML.

use serde_json::{Map, Value, json};

use super::capture::PLACES;
use super::keys::{Absent, EXPERIMENT, Key, Kind, MAX_POINTS, Section, algorithm_names};
use super::linux::{SOCKET_OPTIONS, SocketOption};
use super::program::{AUTO, MAX_PATHS, MAX_WORDS};
use super::reader::LINUX;

/// A number as [`fairway_units::Decimal`] reads it, after optional spaces.
const NUMBER: &str = r"\d+(\.\d+)?";

/// JSON Schema (draft 2020-12) of an experiment file, with the meaning, default and an example
/// of every key. It accepts every valid file; [`plan`](super::plan) checks more.
pub fn schema() -> Value {
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("Fairway experiment"));
    schema.extend(of_section(&EXPERIMENT));
    Value::Object(schema)
}

fn of_section(section: &Section) -> Map<String, Value> {
    let required: Vec<_> = section
        .keys()
        .filter(|key| matches!(key.absent, Absent::Required))
        .map(|key| key.name)
        .collect();
    let properties: Map<_, _> =
        section.keys().map(|key| (key.name.to_owned(), of_key(section, key))).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// Besides what JSON Schema knows, `x-takes` says in words what may be written, `x-kinds` with which
/// values of `kind`, and `x-defaults` what holds otherwise with each of them.
fn of_key(section: &Section, key: &Key) -> Value {
    let mut schema = Map::new();
    schema.insert("description".to_owned(), json!(key.meaning));
    if let Absent::Default(default) = key.absent {
        schema.insert("default".to_owned(), literal(default));
    }
    if let Absent::Of(defaults) = key.absent {
        let each = |kinds: &'static [&'static str], default: &'static str| {
            kinds.iter().map(move |kind| ((*kind).to_owned(), literal(default)))
        };
        let defaults: Map<_, _> =
            defaults.iter().flat_map(|(kinds, default)| each(kinds, default)).collect();
        schema.insert("x-defaults".to_owned(), Value::Object(defaults));
    }
    schema.insert("examples".to_owned(), json!([literal(key.example)]));
    schema.insert("x-takes".to_owned(), json!(key.kind.takes()));
    let kinds = (section.kinds)(key.name);
    if !kinds.is_empty() {
        schema.insert("x-kinds".to_owned(), json!(kinds));
    }
    schema.extend(of_kind(&key.kind));
    Value::Object(schema)
}

/// A value of the tables, which are checked to be JSON by a test.
fn literal(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn of_kind(kind: &Kind) -> Map<String, Value> {
    let duration = quantity(&["ns", "us", "µs", "μs", "ms", "s", "min", "h"]);
    let size = ["bytes", "byte", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB"];
    let segments = ["segments", "segment"];
    let rates = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"];
    let text = |pattern: String| json!({ "type": "string", "pattern": pattern });
    let schema = match kind {
        Kind::Duration => text(duration),
        Kind::Rate => text(or_unlimited(&quantity(&rates))),
        Kind::RateOrDown => text(format!(r"^\s*down\s*$|{}", or_unlimited(&quantity(&rates)))),
        Kind::Size => text(quantity(&size)),
        Kind::SizeOr(name) => text(format!(r"^\s*{name}\s*$|{}", quantity(&size))),
        Kind::SizeOrSegments => text(quantity(&[&size[..], &segments[..]].concat())),
        Kind::Segments => text(quantity(&segments)),
        Kind::SegmentsOrUnlimited => text(or_unlimited(&quantity(&segments))),
        Kind::Packets => text(quantity(&["packets", "packet"])),
        Kind::Limit => {
            let time = ["ns", "us", "µs", "μs", "ms", "s", "min", "h"];
            let units = [&["packets", "packet", "bdp"][..], &size[..], &time[..]].concat();
            text(or_unlimited(&quantity(&units)))
        }
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::AckDelay => {
            let pattern = format!("^{LINUX}$|{duration}");
            json!({ "type": ["boolean", "string"], "pattern": pattern })
        }
        Kind::SwitchOr(name) => json!({ "enum": [true, false, name] }),
        Kind::Number { min, max } => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Count { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::CountOrAuto { min, max } => {
            let count = json!({ "type": "integer", "minimum": min, "maximum": max });
            json!({ "anyOf": [count, { "const": AUTO }] })
        }
        Kind::Text => json!({ "type": "string", "minLength": 1 }),
        Kind::Algorithm => {
            let own = json!({ "enum": algorithm_names() });
            let others = r"^(python:.+\.[^.]+|linux:[!-9;-~]{1,15})$";
            json!({ "anyOf": [own, text(others.to_owned())] })
        }
        Kind::Choice { names, .. } => json!({ "enum": names() }),
        Kind::Counts => {
            json!({ "type": "array", "items": { "type": "integer", "minimum": 1 }, "minItems": 1 })
        }
        Kind::Times => {
            let time = json!({ "type": "string", "pattern": duration });
            json!({ "type": "array", "items": time, "minItems": 1 })
        }
        Kind::Window => {
            let end = json!({ "type": "string", "pattern": duration });
            let window = json!({ "type": "array", "items": end, "minItems": 2, "maxItems": 2 });
            json!({ "anyOf": [window, { "const": AUTO }] })
        }
        Kind::Numbers => {
            json!({ "type": "object", "additionalProperties": { "type": "number" } })
        }
        Kind::Settings => json!({
            "type": "object",
            "additionalProperties": { "type": ["integer", "string"] },
        }),
        Kind::SocketOptions => {
            let option = |option: &SocketOption| {
                let range = json!({
                    "type": "integer",
                    "minimum": option.min,
                    "maximum": option.max,
                });
                (option.name.to_owned(), range)
            };
            let options: Map<_, _> = SOCKET_OPTIONS.iter().map(option).collect();
            json!({ "type": "object", "properties": options, "additionalProperties": false })
        }
        Kind::Distribution(section) => {
            let table = Value::Object(of_section(section));
            json!({ "anyOf": [Value::Object(of_kind(section.single())), table] })
        }
        Kind::Cdf => json!({ "type": "string", "minLength": 1 }),
        Kind::Rates => {
            let rate = Value::Object(of_kind(&Kind::Rate));
            json!({ "type": "array", "items": rate, "minItems": 1 })
        }
        Kind::Table(section) => Value::Object(of_section(section)),
        Kind::List(section) => {
            json!({ "type": "array", "items": of_section(section), "minItems": 1 })
        }
        Kind::DurationOrPackets => {
            let units = ["packets", "packet", "ns", "us", "µs", "μs", "ms", "s", "min", "h"];
            text(quantity(&units))
        }
        Kind::Bands { count, max } => {
            let number = json!({ "type": "integer", "minimum": 0, "maximum": max });
            json!({ "type": "array", "items": number, "minItems": count, "maxItems": count })
        }
        Kind::Program { names } => json!({ "anyOf": [{ "enum": names() }, command()] }),
        Kind::Command => command(),
        Kind::Paths => {
            let path = json!({ "type": "string", "minLength": 1 });
            json!({ "type": "array", "items": path, "minItems": 1, "maxItems": MAX_PATHS })
        }
        Kind::Places => {
            let name = json!({ "type": "string", "minLength": 1 });
            let names = json!({ "type": "array", "items": name, "minItems": 1 });
            json!({ "anyOf": [{ "enum": PLACES }, names] })
        }
        Kind::Sweep => json!({
            "type": "object",
            "properties": {
                "repetitions": { "anyOf": [
                    { "type": "integer", "minimum": 1, "maximum": MAX_POINTS },
                    until(),
                ] },
                "list": {
                    "type": "array",
                    "items": { "type": "object", "minProperties": 1 },
                    "minItems": 1,
                },
                "random": drawn(),
                "latin_hypercube": drawn(),
            },
            "additionalProperties": { "type": "array", "minItems": 1 },
        }),
    };
    match schema {
        Value::Object(schema) => schema,
        other => unreachable!("a schema is a table, not {other}"),
    }
}

/// What repeating ends at, as `repetitions::read` has it.
fn until() -> Value {
    let name = json!({ "type": "string", "minLength": 1 });
    json!({
        "type": "object",
        "required": ["until"],
        "properties": {
            "until": { "type": "string", "pattern": r"^\s*±?\s*[0-9.]+\s*%\s*$" },
            "at_most": { "type": "integer", "minimum": 10, "maximum": MAX_POINTS },
            "metric": { "anyOf": [name, { "type": "array", "items": name, "minItems": 1 }] },
        },
        "additionalProperties": false,
    })
}

/// Points that are drawn from ranges, as `samples::read` has them.
fn drawn() -> Value {
    let end = json!({ "type": ["number", "string"] });
    json!({
        "type": "object",
        "required": ["points"],
        "minProperties": 2,
        "properties": { "points": { "type": "integer", "minimum": 1, "maximum": MAX_POINTS } },
        "additionalProperties": {
            "type": "object",
            "required": ["low", "high"],
            "properties": { "low": end, "high": end, "scale": { "enum": ["linear", "log"] } },
            "additionalProperties": false,
        },
    })
}

/// A pattern for a number with one of these units.
fn quantity(units: &[&str]) -> String {
    format!(r"^\s*{NUMBER}\s*({})\s*$", units.join("|"))
}

fn or_unlimited(pattern: &str) -> String {
    format!(r"^\s*unlimited\s*$|{pattern}")
}

/// The words of a command.
fn command() -> Value {
    let word = json!({ "type": "string" });
    json!({ "type": "array", "items": word, "minItems": 1, "maxItems": MAX_WORDS })
}
