//! The tables of keys, the schema made of them, and the reader agree.

use serde_json::{Value, json};

use super::super::datagrams::KEYS;
use crate::{Control, run};

use super::super::keys::{Absent, EXPERIMENT, Key, Kind, Section};
use super::super::{from_document, queues, schema, topology, wires};

/// Calls `visit` with every key that may be written, and where.
fn walk(
    section: &'static Section,
    path: &[&'static str],
    visit: &mut impl FnMut(&[&'static str], &'static Key),
) {
    for key in section.keys() {
        visit(path, key);
        let below = [path, &[key.name]].concat();
        match key.kind {
            Kind::Table(inner) | Kind::List(inner) | Kind::Distribution(inner) => {
                walk(inner, &below, visit);
            }
            _ => {}
        }
    }
}

/// A valid experiment in which the table at `path` exists.
fn document(path: &[&str]) -> Value {
    let loss = json!({ "probability": 0.1 });
    let inside =
        |name: &str| path.windows(2).any(|pair| pair[0].ends_with("queue") && pair[1] == name);
    let mut queue = json!({ "limit": "50 packets" });
    if inside("queue") {
        queue = json!({ "kind": "tbf", "rate": "4 Mbit/s", "burst": "20 kB", "queue": queue });
    } else if inside("band") {
        queue = json!({ "kind": "prio", "band": [queue] });
    }
    let reverse = json!({ "loss": loss, "queue": queue });
    let mut link = json!({
        "rate": "10 Mbit/s", "delay": "25 ms", "loss": loss, "queue": queue, "reverse": reverse,
    });
    for name in path.iter().skip(2) {
        if let Some(table) = of_link(name) {
            link["reverse"][*name] = table.clone();
            link[*name] = table;
        }
    }
    let kind = match path {
        ["topology", key, ..] => topology::one_with(key).unwrap_or("dumbbell"),
        _ => "dumbbell",
    };
    let mut flow = json!({ "cc": "reno" });
    let exponential = |mean: &str| json!({ "distribution": "exponential", "mean": mean });
    match path {
        ["flow", "size", ..] => {
            let size = exponential("30 kB");
            flow = json!({ "cc": "reno", "kind": "arrivals", "flow_rate": 10, "size": size });
        }
        ["flow", "request", ..] => {
            flow = json!({ "cc": "reno", "kind": "request", "size": "30 kB" });
            flow["request"] = exponential("300 bytes");
        }
        ["flow", "think", ..] => {
            flow = json!({ "cc": "reno", "kind": "telnet", "think": exponential("1 s") });
        }
        ["flow", key @ ("burst" | "pause"), ..] => {
            flow = json!({ "cc": "reno", "kind": "bursts", "app_rate": "1 Mbit/s" });
            flow[key] = exponential("1 s");
        }
        _ => {}
    }
    let topology = match kind {
        "chain" if matches!(path.last(), Some(&"from" | &"to" | &"metric")) => {
            (link["from"], link["to"]) = (json!("a"), json!("b"));
            (flow["from"], flow["to"]) = (json!("a"), json!("b"));
            let back =
                json!({ "rate": "10 Mbit/s", "delay": "10 ms", "from": "b", "to": "a", "id": "x" });
            json!({ "kind": "graph", "link": [link, back] })
        }
        "chain" => json!({ "kind": "chain", "link": [link] }),
        "parallel" => json!({ "kind": "parallel", "link": [link] }),
        "star" => {
            (flow["from"], flow["to"]) = (json!("h0"), json!("h1"));
            json!({ "kind": "star", "access": link, "hosts": 3 })
        }
        "lte" => {
            (flow["from"], flow["to"]) = (json!("server"), json!("ue0"));
            json!({ "kind": "lte", "core": link, "backhaul": link, "radio": link })
        }
        "fat-tree" => {
            (flow["from"], flow["to"]) = (json!("h0"), json!("h1"));
            json!({ "kind": "fat-tree", "access": link, "arity": 4, "fabric": link })
        }
        "wlan" => {
            // With the headers of its frames, a packet is less than that of other kinds.
            flow["mss"] = json!("1000 bytes");
            (flow["from"], flow["to"]) = (json!("server"), json!("sta0"));
            let of_g = matches!(path.get(1), Some(&"slot" | &"protection"));
            let mut wlan = json!({
                "kind": "wlan", "standard": if of_g { "802.11g" } else { "802.11b" }, "stations": 2,
                "server": link, "queue": queue, "ap_queue": queue,
            });
            if path.get(1) == Some(&"station") {
                wlan["station"] = json!([{ "id": "sta0" }]);
            }
            wlan
        }
        _ => json!({ "kind": "dumbbell", "bottleneck": link, "access": link }),
    };
    json!({
        "duration": "100 s",
        "stack": {},
        "topology": topology,
        "flow": [flow],
        "measure": {},
        "linux": {},
    })
}

/// A right table at a key of links.
fn of_link(key: &str) -> Option<Value> {
    Some(match key {
        "corruption" | "duplication" => json!({ "probability": 0.1 }),
        "reordering" => json!({ "probability": 0.1, "delay": "1 ms" }),
        "jitter" => json!({ "mean": "2 ms", "deviation": "1 ms" }),
        "change" => json!([{ "at": "1 s", "rate": "1 Mbit/s", "delay": "1 ms" }]),
        "on_off" => json!({ "on": "1 s", "off": "1 s" }),
        "state" => {
            let next = json!({ "only": 1 });
            json!([{ "id": "only", "rate": "1 Mbit/s", "holding": "1 s", "next": next }])
        }
        _ => return None,
    })
}

/// The table at a path, the first of a list.
fn table<'a>(document: &'a mut Value, path: &[&str]) -> &'a mut Value {
    path.iter().fold(document, |here, name| match &mut here[*name] {
        Value::Array(list) => &mut list[0],
        table => table,
    })
}

/// Keys that need another beside them, or another in their place.
fn prepare(table: &mut Value, path: &[&str], key: &Key) {
    if path == ["flow"] && KEYS.iter().any(|of_datagrams| of_datagrams.name == key.name) {
        let kind = match key.name {
            "rate_deviation" | "rate_period" => "vbr",
            "on_time" | "off_time" | "periods" | "pareto_shape" => "onoff",
            _ => "cbr",
        };
        *table = json!({ "kind": kind, "rate": "1 Mbit/s" });
    }
    match key.name {
        "rate_period" => table["rate_deviation"] = json!("500 kbit/s"),
        "pareto_shape" => table["periods"] = json!("pareto"),
        "max_ssthresh" => table["slow_start"] = json!("limited"),
        "request" | "think" if path == ["flow"] => {
            table["kind"] = json!("request");
            table["size"] = json!("20 kB");
        }
        "objects" if path == ["flow"] => {
            table["kind"] = json!("web");
            table["size"] = json!("20 kB");
        }
        "servers" if path == ["flow"] => {
            table["kind"] = json!("incast");
            table["size"] = json!("20 kB");
        }
        "burst" | "pause" if path == ["flow"] => {
            table["kind"] = json!("bursts");
            table["app_rate"] = json!("1 Mbit/s");
        }
        "ladder" | "segment" | "buffer" | "reservoir" | "cushion" | "start_up"
            if path == ["flow"] =>
        {
            table["kind"] = json!("video");
            table["ladder"] = json!(["1 Mbit/s"]);
            if key.name == "buffer" {
                table["start_up"] = json!("4 s");
            }
        }
        "size" | "flow_rate" | "offered_load" | "transfers" => {
            table["kind"] = json!("arrivals");
            table["size"] = json!("20 kB");
            if key.name != "offered_load" {
                table["flow_rate"] = json!(10);
            }
        }
        "shape" if path.len() == 2 && path[0] == "flow" => table["distribution"] = json!("pareto"),
        "least" | "most" if path.len() == 2 && path[0] == "flow" => {
            let other = if key.name == "least" { "most" } else { "least" };
            let is_size = matches!(path[1], "size" | "request");
            let example = match (key.name, is_size) {
                ("least", true) => "10 MB",
                ("least", false) => "1 h",
                (_, true) => "1 kB",
                (_, false) => "1 ms",
            };
            *table = json!({ "distribution": "pareto", "shape": 1.2 });
            table[other] = json!(example);
        }
        "deviation" if path.len() == 2 && path[0] == "flow" => {
            table["distribution"] = json!("log-normal")
        }
        "cdf" if path.len() == 2 && path[0] == "flow" => {
            *table = json!({ "distribution": "empirical" })
        }
        "chunk" | "striping" | "program" => table["connections"] = json!(2),
        "stagger" => table["count"] = json!(2),
        "from" if path == ["flow"] => table["to"] = json!("d0"),
        "to" if path == ["flow"] => table["from"] = json!("s0"),
        name if path.last().is_some_and(|last| last.ends_with("queue") || *last == "band") => {
            if let Some(kind) = queues::one_with(name) {
                table["kind"] = json!(kind);
                if kind == "tbf" {
                    table["rate"] = json!("4 Mbit/s");
                    table["burst"] = json!("20 kB");
                }
                match name {
                    "mtu" => table["peak_rate"] = json!("9 Mbit/s"),
                    "target" => table["adaptive"] = json!(true),
                    "ecn_prob" => table["ecn"] = json!(true),
                    "ce_threshold_ect1" => table["ce_threshold"] = json!("1 ms"),
                    _ => {}
                }
            }
        }
        "trace" => {
            table.as_object_mut().unwrap().remove("rate");
        }
        "change_period" => table["change"] = json!([{ "at": "1 s", "rate": "1 Mbit/s" }]),
        "gap" => table["kind"] = json!("early"),
        name if path.last() == Some(&"loss") => {
            let kind =
                if name == "kind" { Some("gilbert-elliott") } else { wires::loss_with(name) };
            let Some(kind) = kind else { return };
            *table = match kind {
                "bernoulli" => json!({ "probability": 0.1 }),
                "gilbert-elliott" => json!({ "p": 0.1, "r": 0.5 }),
                "four-state" => json!({ "p13": 0.1, "p31": 0.5 }),
                "bursty" => json!({ "loss": 0.05, "burst": 20 }),
                "list" => json!({ "packets": [7] }),
                "periodic" => json!({ "every": 10 }),
                _ if name == "at" => json!({ "length": 2 }),
                _ => json!({ "length": 2, "probability": 0.01 }),
            };
            table["kind"] = json!(kind);
        }
        "link" => {
            table["kind"] = json!("chain");
            table.as_object_mut().unwrap().remove("bottleneck");
            table.as_object_mut().unwrap().remove("access");
        }
        _ => {}
    }
}

#[test]
fn every_example_is_accepted_and_runs() {
    let mut count = 0;
    walk(&EXPERIMENT, &[], &mut |path, key| {
        if matches!(key.kind, Kind::Sweep) {
            return;
        }
        let mut document = document(&[path, &[key.name]].concat());
        let here = table(&mut document, path);
        prepare(here, path, key);
        here[key.name] = serde_json::from_str(key.example)
            .unwrap_or_else(|error| panic!("example of {path:?} {}: {error}", key.name));
        let experiment = from_document(&document)
            .unwrap_or_else(|errors| panic!("example of {path:?} {}: {errors}", key.name));
        run(&experiment, &Control::default())
            .unwrap_or_else(|error| panic!("example of {path:?} {}: {error}", key.name));
        count += 1;
    });
    assert!(count > 80, "{count} examples");
}

#[test]
fn every_default_is_what_holds_without_the_key() {
    let mut count = 0;
    walk(&EXPERIMENT, &[], &mut |path, key| {
        let Absent::Default(default) = key.absent else { return };
        let without = document(path);
        let mut with = without.clone();
        table(&mut with, path)[key.name] = serde_json::from_str(default).unwrap();
        let read = |document| format!("{:?}", from_document(document).unwrap());
        assert_eq!(read(&with), read(&without), "default of {path:?} {}", key.name);
        count += 1;
    });
    assert!(count > 8, "{count} defaults");
}

#[test]
fn every_required_key_is_missed() {
    walk(&EXPERIMENT, &[], &mut |path, key| {
        let Absent::Required = key.absent else { return };
        let mut document = document(path);
        table(&mut document, path).as_object_mut().unwrap().remove(key.name);
        let errors = from_document(&document).unwrap_err().to_string();
        assert!(errors.contains("missing; write"), "{path:?} {}: {errors}", key.name);
    });
}

#[test]
fn the_schema_has_every_key_with_its_meaning() {
    let schema = schema();
    let mut count = 0;
    walk(&EXPERIMENT, &[], &mut |path, key| {
        let section = path.iter().fold(&schema, |here, name| {
            let here = &here["properties"][*name];
            here.get("items").or_else(|| here.get("anyOf")?.get(1)).unwrap_or(here)
        });
        assert_eq!(section["additionalProperties"], false, "{path:?}");
        let entry = &section["properties"][key.name];
        assert_eq!(entry["description"], key.meaning);
        assert!(key.meaning.ends_with('.') && key.meaning.len() > 10, "{}", key.name);
        assert!(!entry["examples"][0].is_null(), "{path:?} {}", key.name);
        count += 1;
    });
    assert!(count > 80, "{count} keys");
}
