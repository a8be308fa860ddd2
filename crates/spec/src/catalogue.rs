//! The algorithms and presets that an experiment can name, as data.

use fairway_cc::Algorithm;
use fairway_tcp::{PRESETS, Preset};
use serde_json::{Map, Value, json};

use super::switch::switches;

/// Every congestion control, with its parameters and where it is from.
pub fn algorithms() -> Value {
    fairway_cc::algorithms().iter().map(describe).collect()
}

/// Every preset of the TCP stack, with its switches and where their values are from.
pub fn presets() -> Value {
    let describe = |preset: &Preset| {
        let switches = switches(&(preset.stack)());
        let named = switches.as_object().into_iter().flat_map(Map::keys);
        let sources: Map<String, Value> =
            named.map(|name| (name.clone(), json!(preset.source(name)))).collect();
        json!({
            "name": preset.name,
            "summary": preset.summary,
            "switches": switches,
            "sources": sources,
        })
    };
    PRESETS.iter().map(describe).collect()
}

fn describe(algorithm: &Algorithm) -> Value {
    let params: Vec<Value> = algorithm
        .params
        .iter()
        .map(|param| {
            let defaults = algorithm
                .variants
                .iter()
                .filter(|variant| param.is_in(**variant))
                .map(|variant| (variant.name().to_owned(), json!(param.default_in(*variant))));
            json!({
                "name": param.name,
                "meaning": param.meaning,
                "default": Map::from_iter(defaults),
                "min": param.min,
                "max": param.max,
            })
        })
        .collect();
    let vectors: Vec<Value> = algorithm
        .vectors
        .iter()
        .map(|vector| {
            json!({
                "sum": vector.sum,
                "expected": vector.expected,
                "computed": (vector.computed)(),
                "holds": vector.holds(),
            })
        })
        .collect();
    json!({
        "name": algorithm.name,
        "title": algorithm.title,
        "summary": algorithm.summary,
        "family": algorithm.family.name(),
        "signal": algorithm.signal,
        "year": algorithm.year,
        "source": algorithm.source,
        "variants": algorithm.variants.iter().map(|v| v.name()).collect::<Vec<_>>(),
        "params": params,
        "vectors": vectors,
        "header": algorithm.header(),
        "file": algorithm.file(),
    })
}
