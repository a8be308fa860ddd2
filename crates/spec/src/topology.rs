//! The network of an experiment: its shape, links, queues and losses.

use fairway_net::Timing;
use fairway_units::{Bytes, Duration, Rate};

use super::graph;
use super::kinds::{self, KindOf};
use super::links::LinkText;
use super::queues::Path;
use super::reader::{Name, Table};
use super::{Access, Shape, Topology, wlan};

/// Links of a chain: every packet passes them all, and counts them in 8 bits.
const MAX_LINKS: usize = 200;
/// Largest frame overhead: as much as the largest packet.
const MAX_OVERHEAD: u64 = 65_535;

/// Every kind of topology.
const KINDS: &[KindOf<()>] = &[
    KindOf { name: "dumbbell", keys: "bottleneck access", read: () },
    KindOf { name: "chain", keys: "link", read: () },
    KindOf { name: "parallel", keys: "link access multipath", read: () },
    KindOf { name: "parking-lot", keys: "link access", read: () },
    KindOf { name: "star", keys: "access hosts", read: () },
    KindOf { name: "fat-tree", keys: "access fabric arity multipath", read: () },
    KindOf { name: "lte", keys: "core backhaul radio cells", read: () },
    KindOf { name: "graph", keys: "link access multipath", read: () },
    KindOf { name: "wlan", keys: wlan::KEY_NAMES, read: () },
];

/// The names of all kinds.
pub(super) fn kinds() -> Vec<&'static str> {
    kinds::names(KINDS)
}

/// The kinds that have this key of their own.
pub(super) fn kinds_with(key: &str) -> Vec<&'static str> {
    kinds::with_key(KINDS, key)
}

/// Reads `[topology]`. `packet` is the largest IP packet of any flow, in bytes.
pub(super) fn read(table: &Table, packet: u64) -> Option<Topology> {
    let Name(kind) = table.require("kind")?;
    table.refuse_unknown_keys();
    refuse_keys_of_others(table, kind)?;
    if kind != "dumbbell"
        && let Some(access) = table.table("access").filter(|access| access.has("side"))
    {
        return access.wrong("side", "belongs to kind = \"dumbbell\"; remove it");
    }
    let overhead: Bytes = table.read("frame_overhead").unwrap_or_default();
    if overhead.get() > MAX_OVERHEAD {
        let message = format!("expected at most {MAX_OVERHEAD} bytes, got {overhead}");
        return table.wrong("frame_overhead", message);
    }
    let frame = packet + overhead.get();
    let (shape, path) = match kind {
        "dumbbell" => read_dumbbell(table, frame)?,
        "chain" => read_chain(table, frame)?,
        "wlan" => wlan::read(table, packet, frame)?,
        _ => graph::read(kind, table, frame)?,
    };
    let is_ns3 = table.name_or("timing", "exact")? == "ns3";
    let timing = if is_ns3 { Timing::Ns3 } else { Timing::Exact };
    Some(Topology { shape, path, frame_overhead: overhead, timing })
}

/// Refuses the keys of other kinds.
fn refuse_keys_of_others(table: &Table, kind: &str) -> Option<()> {
    let own = KINDS.iter().find(|known| known.name == kind)?;
    let mut foreign = kinds::foreign(KINDS, own, table);
    foreign.sort_unstable();
    for (key, owners) in &foreign {
        let known = own.keys.replace(' ', ", ");
        table.refuse(key, format!("belongs to kind = {owners}; \"{kind}\" has {known}"));
    }
    foreign.is_empty().then_some(())
}

fn read_dumbbell(table: &Table, frame: u64) -> Option<(Shape, Path)> {
    if !table.has("bottleneck") {
        table.refuse(
            "bottleneck",
            "missing; write [topology.bottleneck] with rate = \"10 Mbit/s\" and delay = \"25 ms\"",
        );
    }
    let bottleneck = table.table("bottleneck").map(|t| LinkText::read(t, "bottleneck".to_owned()));
    let sides = table.table("access").map_or(Some([true; 2]), |access| read_sides(&access));
    let access = table.table("access").map(|t| LinkText::read(t, "access".to_owned()));
    let (bottleneck, sides) = (bottleneck??, sides?);
    let access = match access {
        Some(access) => Some(access?),
        None => None,
    };
    let access_rate = access.as_ref().map_or(Rate::UNLIMITED, LinkText::slowest);
    let access_time = access.as_ref().map_or(Duration::ZERO, LinkText::round_trip);
    let passed = sides.iter().filter(|side| **side).count() as u64;
    let base_rtt = bottleneck.round_trip() + access_time * passed;
    let path = Path { slowest: bottleneck.slowest().min(access_rate), base_rtt, frame };
    let access_is_slowest = access_rate < bottleneck.slowest();
    let access = access.map(|access| access.finish(&path, access_is_slowest));
    let bottleneck = bottleneck.finish(&path, !access_is_slowest)?;
    let access = match access {
        Some(access) => Some(Access { link: access?, sides }),
        None => None,
    };
    Some((Shape::Dumbbell { bottleneck, access }, path))
}

/// Whether hosts on the left, and hosts on the right, have access links.
fn read_sides(access: &Table) -> Option<[bool; 2]> {
    let side = access.name_or("side", "both")?;
    Some([side != "sinks", side != "sources"])
}

fn read_chain(table: &Table, frame: u64) -> Option<(Shape, Path)> {
    let tables = table.tables("link");
    if tables.is_empty() || tables.len() > MAX_LINKS {
        let message = format!("expected 1 to {MAX_LINKS} links, got {}", tables.len());
        return table.wrong("link", format!("{message}; write [[topology.link]] for each"));
    }
    let mut links: Vec<LinkText> = Vec::new();
    let count = tables.len();
    for (index, link) in tables.into_iter().enumerate() {
        graph::refuse_nodes(&link);
        let id = super::traffic::read_id(&link).unwrap_or_else(|| format!("link#{index}"));
        if links.iter().any(|link| link.id == id) {
            link.refuse("id", format!("\"{id}\" names another link too; name each differently"));
        }
        links.extend(LinkText::read(link, id));
    }
    if links.len() < count {
        return None;
    }
    let base_rtt = links.iter().fold(Duration::ZERO, |sum, link| sum + link.round_trip());
    let slowest = links.iter().map(LinkText::slowest).min()?;
    let path = Path { slowest, base_rtt, frame };
    let slowest_index = links.iter().position(|link| link.slowest() == slowest)?;
    let links: Vec<_> = links
        .into_iter()
        .enumerate()
        .map(|(index, link)| link.finish(&path, index == slowest_index))
        .collect();
    Some((Shape::Chain { links: links.into_iter().collect::<Option<_>>()? }, path))
}
