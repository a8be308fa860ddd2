//! Queues inside queues, and the bands of strict priority; and their keys.

use fairway_net::{QdiscConfig, StrictPriorityConfig};

use super::keys::INNER_QUEUE;
use super::limits::{Sizing, read_limit};
use super::{drop_tail, read};
use crate::keys::{Absent, Key, Kind, keys};
use crate::reader::{Bands, LimitText, Table};

/// One band for each precedence.
const MAX_BANDS: u64 = 8;

/// The keys that only these have.
pub(super) static KEYS: &[Key] = keys! {
    "queue": Kind::Table(&INNER_QUEUE), Absent::Explained, r#"{"kind": "codel"}"# =>
        "TBF, policer: the queue for what waits for tokens, or has passed; its keys are those of a queue, which cannot contain another. PRIO: the queue of every band. Without it, drop-tail with this limit.";
    "bands": Kind::Count { min: 1, max: MAX_BANDS }, Absent::Explained, "3" =>
        "PRIO: bands, of which the first is served first; as many as there are tables of `band`, or 8, one for each precedence, unless written.";
    "priomap": Kind::Bands { count: 8, max: MAX_BANDS - 1 },
        Absent::Explained, "[1, 2, 2, 2, 1, 2, 0, 0]" =>
        "PRIO: the band, counted from 0, of each precedence from 0 to 7 that a flow may have. Unless written, higher ones go first, spread evenly over the bands; [1, 2, 2, 2, 1, 2, 0, 0] is Linux's map for its 3 bands.";
    "band": Kind::List(&INNER_QUEUE),
        Absent::Explained, r#"[{"kind": "droptail", "limit": "50 packets"}, {"kind": "codel"}]"# =>
        "PRIO: the queue of each band where they differ, in the order in which they are served.";
};

/// Kinds that may be inside another queue.
pub(super) fn inner_names() -> Vec<&'static str> {
    super::names().into_iter().filter(|name| *name != "prio").collect()
}

/// The queue inside, if one is written; nothing if it is wrong.
pub(super) fn read_inner(table: &Table, sizing: &Sizing) -> Option<Option<QdiscConfig>> {
    if !table.knows("queue") || !table.has("queue") {
        return Some(None);
    }
    if table.has("limit") {
        let message = "the inner queue has its own limit; set it there";
        table.refuse("limit", message);
    }
    read(&table.table("queue")?, sizing).map(Some)
}

pub(super) fn read_priority(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    // That of Linux, a queue of the device's length.
    let sizing = &Sizing { default: LimitText::Packets(1000), ..*sizing };
    let inside = read_inner(table, sizing)?;
    let written = table.tables("band");
    if table.has("band") {
        for (name, message) in [
            ("queue", "gives all bands one kind of queue and conflicts with `band`; set only one"),
            ("limit", "each band has its own limit; set it there"),
        ] {
            if table.has(name) {
                table.refuse(name, message);
            }
        }
    }
    let tables = written.len();
    let bands: u64 = table.read("bands").unwrap_or(match tables {
        0 => MAX_BANDS,
        tables => tables as u64,
    });
    if table.has("band") && bands != tables as u64 || bands > MAX_BANDS {
        let message =
            format!("has {tables} tables for {bands} bands; write one for each, at most 8");
        return table.wrong("band", message);
    }
    let queues: Vec<Option<QdiscConfig>> = if table.has("band") {
        written.iter().map(|band| read(band, sizing)).collect()
    } else {
        let alike = match inside {
            Some(inside) => inside,
            None => drop_tail(read_limit(table, sizing)?),
        };
        vec![Some(alike); bands as usize]
    };
    Some(QdiscConfig::StrictPriority(StrictPriorityConfig {
        bands: queues.into_iter().collect::<Option<_>>()?,
        band_of_precedence: read_priomap(table, bands)?,
    }))
}

/// The bands of the precedences. Those that are not written keep the order of the classes (RFC 2474
/// section 4.2.2.2), as Linux's map of its own does not.
fn read_priomap(table: &Table, bands: u64) -> Option<[u8; 8]> {
    let mut map = [0, 1, 2, 3, 4, 5, 6, 7].map(|precedence| ((7 - precedence) * bands / 8) as u8);
    if !table.has("priomap") {
        return Some(map);
    }
    let Bands(written) = table.read("priomap")?;
    if let Some(band) = written.iter().find(|band| **band >= bands) {
        let message =
            format!("there is no band {band} among {bands} bands counted from 0; lower it");
        return table.wrong("priomap", message);
    }
    for (to, from) in map.iter_mut().zip(written) {
        *to = from as u8;
    }
    Some(map)
}
