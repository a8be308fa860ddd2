//! For each key, a small valid experiment that has it: tests run them, and the reference asks every
//! backend about them.

use serde_json::{Value, json};

use super::keys::{EXPERIMENT, Key, Kind, Section};
use super::{queues, topology, wires, workload};

/// A small valid experiment in which the key at `path` has the value of its example, in a table of
/// `kind` or, without one, of the first kind that has it. Lists in the path have no index:
/// "topology.link.queue.limit" is of the first link. None if there is no such key.
pub fn specimen(path: &str, kind: Option<&str>) -> Option<Value> {
    let names: Vec<&str> = path.split('.').collect();
    let (name, above) = names.split_last()?;
    let mut section = &EXPERIMENT;
    for name in above {
        section = below(section, name)?;
    }
    let key = section.key(name)?;
    let mut document = without(above, key, kind);
    let example = match (key.name, kind) {
        // The other form of the key.
        ("program", Some("program")) => json!(["true"]),
        _ => serde_json::from_str(key.example).ok()?,
    };
    table(&mut document, above)[key.name] = example;
    Some(document)
}

/// The tables that stand at a key.
fn below(section: &Section, name: &str) -> Option<&'static Section> {
    match section.key(name)?.kind {
        Kind::Table(inner) | Kind::List(inner) | Kind::Distribution(inner) => Some(inner),
        _ => None,
    }
}

/// A valid experiment, if the key is not one that has to be written, in which the table at `path`
/// has all that the key needs besides.
pub(super) fn without(path: &[&str], key: &Key, kind: Option<&str>) -> Value {
    let mut document = document(&[path, &[key.name]].concat());
    prepare(table(&mut document, path), path, key, kind);
    document
}

/// The table at a path, the first of a list.
pub(super) fn table<'a>(document: &'a mut Value, path: &[&str]) -> &'a mut Value {
    path.iter().fold(document, |here, name| match &mut here[*name] {
        Value::Array(list) => &mut list[0],
        table => table,
    })
}

/// A valid experiment with every table of `path`.
pub(super) fn document(path: &[&str]) -> Value {
    let mut flow = json!({ "cc": "reno" });
    if let ["flow", key, ..] = path {
        let exponential = |mean: &str| json!({ "distribution": "exponential", "mean": mean });
        match *key {
            "size" => {
                flow = of_kind("arrivals");
                flow["size"] = exponential("30 kB");
            }
            "request" => {
                flow = of_kind("request");
                flow["request"] = exponential("300 bytes");
            }
            "think" => {
                flow = of_kind("telnet");
                flow["think"] = exponential("1 s");
            }
            "burst" | "pause" => {
                flow = of_kind("bursts");
                flow[*key] = exponential("1 s");
            }
            _ => {}
        }
    }
    let topology = network(path, &mut flow);
    json!({
        "duration": "100 s",
        "stack": {},
        "topology": topology,
        "flow": [flow],
        "measure": {},
        "capture": {},
        "linux": {},
    })
}

/// A network with every table of `path`, over which the flow goes.
fn network(path: &[&str], flow: &mut Value) -> Value {
    let mut link = link(path);
    let kind = match path {
        ["flow", "matrix"] => return json!({ "kind": "star", "access": link, "hosts": 3 }),
        ["topology", key, ..] => topology::kinds_with(key).first().copied(),
        _ => None,
    };
    let mut ends = |from: &str, to: &str| {
        (flow["from"], flow["to"]) = (json!(from), json!(to));
    };
    match kind {
        Some("chain") if matches!(path.last(), Some(&"from" | &"to" | &"metric")) => {
            ends("a", "b");
            (link["from"], link["to"]) = (json!("a"), json!("b"));
            let mut back = json!({ "rate": "10 Mbit/s", "delay": "10 ms", "id": "x" });
            (back["from"], back["to"]) = (json!("b"), json!("a"));
            json!({ "kind": "graph", "link": [link, back] })
        }
        Some(kind @ ("chain" | "parallel")) => json!({ "kind": kind, "link": [link] }),
        Some("star") => {
            ends("h0", "h1");
            json!({ "kind": "star", "access": link, "hosts": 3 })
        }
        Some("lte") => {
            ends("server", "ue0");
            json!({ "kind": "lte", "core": link, "backhaul": link, "radio": link })
        }
        Some("fat-tree") => {
            ends("h0", "h1");
            json!({ "kind": "fat-tree", "access": link, "arity": 4, "fabric": link })
        }
        Some("wlan") => {
            ends("server", "sta0");
            // With the headers of its frames, a packet is less than that of other kinds.
            flow["mss"] = json!("1000 bytes");
            let of_g = matches!(path.get(1), Some(&"slot" | &"protection"));
            let standard = if of_g { "802.11g" } else { "802.11b" };
            let mut wlan =
                json!({ "kind": "wlan", "standard": standard, "stations": 2, "server": link });
            match path.get(1) {
                Some(key @ (&"queue" | &"ap_queue")) => wlan[*key] = queue(path),
                Some(&"station") => wlan["station"] = json!([{ "id": "sta0" }]),
                _ => {}
            }
            wlan
        }
        _ if path.get(1) == Some(&"access") => {
            json!({ "kind": "dumbbell", "bottleneck": link, "access": link })
        }
        _ => json!({ "kind": "dumbbell", "bottleneck": link }),
    }
}

/// A link with every table of `path`, also of those in the other direction. It loses packets, so that
/// little is to be simulated.
fn link(path: &[&str]) -> Value {
    let loss = json!({ "probability": 0.1 });
    let mut link = json!({ "rate": "10 Mbit/s", "delay": "25 ms", "loss": loss });
    let mut reverse = json!({});
    for name in path.iter().skip(2) {
        let table = match *name {
            "queue" => queue(path),
            "loss" | "corruption" | "duplication" => json!({ "probability": 0.1 }),
            "reordering" => json!({ "probability": 0.1, "delay": "1 ms" }),
            "jitter" => json!({ "mean": "2 ms", "deviation": "1 ms" }),
            "change" => json!([{ "at": "1 s", "rate": "1 Mbit/s", "delay": "1 ms" }]),
            "on_off" => json!({ "on": "1 s", "off": "1 s" }),
            "state" => {
                let next = json!({ "only": 1 });
                json!([{ "id": "only", "rate": "1 Mbit/s", "holding": "1 s", "next": next }])
            }
            _ => continue,
        };
        reverse[*name] = table.clone();
        link[*name] = table;
    }
    if path.contains(&"reverse") {
        link["reverse"] = reverse;
    }
    link
}

/// A queue, with one inside if there is one in `path`.
fn queue(path: &[&str]) -> Value {
    let inside =
        |name: &str| path.windows(2).any(|pair| pair[0].ends_with("queue") && pair[1] == name);
    if inside("queue") {
        json!({ "kind": "tbf", "rate": "4 Mbit/s", "burst": "20 kB", "queue": {} })
    } else if inside("band") {
        json!({ "kind": "prio", "band": [{}] })
    } else {
        json!({})
    }
}

/// Writes what the key needs besides, or instead.
fn prepare(table: &mut Value, path: &[&str], key: &Key, kind: Option<&str>) {
    match (path, path.last()) {
        (["flow"], _) => prepare_flow(table, key, kind),
        (["flow", ..], _) => prepare_distribution(table, path, key),
        (["topology"], _) if key.name == "link" => *table = json!({ "kind": "chain" }),
        (_, Some(last)) if last.ends_with("queue") || *last == "band" => {
            prepare_queue(table, key, kind);
        }
        (_, Some(&"loss")) => prepare_loss(table, key, kind),
        _ => match key.name {
            "max_ssthresh" => table["slow_start"] = json!("limited"),
            "trace" => {
                table.as_object_mut().map(|link| link.remove("rate"));
            }
            "change_period" => table["change"] = json!([{ "at": "1 s", "rate": "1 Mbit/s" }]),
            "gap" => table["kind"] = json!("early"),
            _ => {}
        },
    }
}

/// A flow of this kind.
fn of_kind(kind: &str) -> Value {
    match kind {
        "arrivals" => json!({ "cc": "reno", "kind": kind, "size": "20 kB", "flow_rate": 10 }),
        "ftp" | "request" | "web" => json!({ "cc": "reno", "kind": kind, "size": "20 kB" }),
        "incast" => json!({ "cc": "reno", "kind": kind, "size": "20 kB", "servers": 2 }),
        "bursts" => json!({ "cc": "reno", "kind": kind, "app_rate": "1 Mbit/s" }),
        "video" => json!({ "cc": "reno", "kind": kind, "ladder": ["1 Mbit/s"] }),
        "vbr" => {
            json!({ "kind": kind, "rate": "1 Mbit/s", "rate_deviation": "500 kbit/s" })
        }
        "cbr" | "poisson" | "onoff" => json!({ "kind": kind, "rate": "1 Mbit/s" }),
        "program" => json!({ "kind": kind }),
        _ => json!({ "cc": "reno", "kind": kind }),
    }
}

fn prepare_flow(table: &mut Value, key: &Key, kind: Option<&str>) {
    let first = match key.name {
        "rate_deviation" | "rate_period" => Some("vbr"),
        "on_time" | "off_time" | "periods" | "pareto_shape" => Some("onoff"),
        // The switch of TCP's, which flows of datagrams have too.
        "send_buffer" => None,
        name => workload::kinds_with(name).first().copied(),
    };
    if let Some(kind) = kind.or(first) {
        *table = of_kind(kind);
    }
    match key.name {
        "max_ssthresh" => table["slow_start"] = json!("limited"),
        "pareto_shape" => table["periods"] = json!("pareto"),
        "chunk" | "mptcp" | "striping" => table["connections"] = json!(2),
        "program" if kind.is_none_or(|kind| kind == "bulk") => table["connections"] = json!(2),
        "stagger" => table["count"] = json!(2),
        "read_size" => table["read_interval"] = json!("10 ms"),
        "from" => table["to"] = json!("d0"),
        "to" => table["from"] = json!("s0"),
        "buffer" => table["start_up"] = json!("4 s"),
        "offered_load" => {
            table.as_object_mut().map(|flow| flow.remove("flow_rate"));
        }
        _ => {}
    }
}

fn prepare_distribution(table: &mut Value, path: &[&str], key: &Key) {
    match key.name {
        "shape" => table["distribution"] = json!("pareto"),
        "least" | "most" => {
            let other = if key.name == "least" { "most" } else { "least" };
            let is_size = matches!(path, [_, "size" | "request"]);
            let example = match (key.name, is_size) {
                ("least", true) => "10 MB",
                ("least", false) => "1 h",
                (_, true) => "1 kB",
                (_, false) => "1 ms",
            };
            *table = json!({ "distribution": "pareto", "shape": 1.2 });
            table[other] = json!(example);
        }
        "deviation" => table["distribution"] = json!("log-normal"),
        "cdf" => *table = json!({ "distribution": "empirical" }),
        _ => {}
    }
}

fn prepare_queue(table: &mut Value, key: &Key, kind: Option<&str>) {
    let Some(kind) = kind.or(queues::kinds_with(key.name).first().copied()) else { return };
    table["kind"] = json!(kind);
    if matches!(kind, "tbf" | "policer") {
        table["rate"] = json!("4 Mbit/s");
        table["burst"] = json!("20 kB");
    }
    match key.name {
        "mtu" => table["peak_rate"] = json!("9 Mbit/s"),
        "target" if kind == "red" => table["adaptive"] = json!(true),
        "ecn_prob" => table["ecn"] = json!(true),
        "ce_threshold_ect1" => table["ce_threshold"] = json!("1 ms"),
        _ => {}
    }
}

fn prepare_loss(table: &mut Value, key: &Key, kind: Option<&str>) {
    let first = match key.name {
        "kind" => Some("gilbert-elliott"),
        name => wires::kinds_with(name).first().copied(),
    };
    let Some(kind) = kind.or(first) else { return };
    *table = match kind {
        "bernoulli" => json!({ "probability": 0.1 }),
        "gilbert-elliott" => json!({ "p": 0.1, "r": 0.5 }),
        "four-state" => json!({ "p13": 0.1, "p31": 0.5 }),
        "bursty" => json!({ "loss": 0.05, "burst": 20 }),
        "list" => json!({ "packets": [7] }),
        "periodic" => json!({ "every": 10 }),
        _ if key.name == "at" => json!({ "length": 2 }),
        _ => json!({ "length": 2, "probability": 0.01 }),
    };
    table["kind"] = json!(kind);
    if matches!(key.name, "seed" | "run" | "stream") {
        table["replay"] = json!("ns3");
    }
}
