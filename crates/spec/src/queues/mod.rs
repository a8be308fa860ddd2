//! The queue of a link: its discipline, and its size in packets or bytes.

mod controlled;
mod dualpi2;
mod keys;
mod limits;
mod nested;
mod red;
mod scheduling;
mod shaping;

use fairway_net::QdiscConfig;
use fairway_units::{Bytes, Duration, Rate};

use super::Queue;
use super::reader::{LimitText, Name, Table};
use limits::{Sizing, mtu_bytes, read_limit, size};

pub(super) use keys::QUEUE;
pub(super) use limits::DEFAULT_LIMIT;
pub use limits::Path;

/// A queue discipline as it is written.
struct Discipline {
    name: &'static str,
    /// Keys that it has besides `kind` and `limit`.
    keys: &'static [&'static str],
    read: fn(&Table, &Sizing) -> Option<Queue>,
}

/// All of them, in the order of the documentation.
static DISCIPLINES: &[Discipline] = &[
    Discipline { name: "droptail", keys: &[], read: read_drop_tail },
    Discipline { name: "drophead", keys: &[], read: scheduling::read_drop_head },
    Discipline { name: "red", keys: red::NAMES, read: red::read_red },
    Discipline { name: "routeros-red", keys: red::ROUTEROS_NAMES, read: red::read_routeros_red },
    Discipline { name: "codel", keys: controlled::CODEL, read: controlled::read_codel },
    Discipline { name: "fq_codel", keys: controlled::FQ_CODEL, read: controlled::read_fq_codel },
    Discipline { name: "cobalt", keys: controlled::COBALT, read: controlled::read_cobalt },
    Discipline { name: "pie", keys: controlled::PIE, read: controlled::read_pie },
    Discipline { name: "fq_pie", keys: controlled::FQ_PIE, read: controlled::read_fq_pie },
    Discipline { name: "dualpi2", keys: dualpi2::NAMES, read: dualpi2::read_dualpi2 },
    Discipline {
        name: "sfq",
        keys: &["depth", "flows", "divisor", "quantum", "perturb", "head_drop"],
        read: scheduling::read_sfq,
    },
    Discipline { name: "drr", keys: &["quantum"], read: scheduling::read_drr },
    Discipline {
        name: "tbf",
        keys: &["rate", "burst", "peak_rate", "mtu", "queue"],
        read: shaping::read_token_bucket,
    },
    Discipline {
        name: "policer",
        keys: &["rate", "burst", "peak_rate", "mtu", "queue"],
        read: shaping::read_policer,
    },
    Discipline {
        name: "prio",
        keys: &["bands", "priomap", "queue", "band"],
        read: nested::read_priority,
    },
];

/// The names of all disciplines.
pub(super) fn names() -> Vec<&'static str> {
    DISCIPLINES.iter().map(|discipline| discipline.name).collect()
}

/// The disciplines that have this key of their own.
pub(super) fn kinds_with(key: &str) -> Vec<&'static str> {
    DISCIPLINES.iter().filter(|one| one.keys.contains(&key)).map(|one| one.name).collect()
}

/// The queue of the link that `link` describes. `default` is the limit that drop-tail and RED have if
/// none is written.
pub(super) fn read_of_link(
    link: &Table,
    default: LimitText,
    rate: Rate,
    path: &Path,
) -> Option<Queue> {
    read_at(link, "queue", default, rate, path)
}

/// The queue at the key `name` of `table`, as [`read_of_link`].
pub(super) fn read_at(
    table: &Table,
    name: &str,
    default: LimitText,
    rate: Rate,
    path: &Path,
) -> Option<Queue> {
    let sizing = Sizing { default, rate, path };
    if !table.has(name) {
        return Some(Queue::DropTail { limit: size(table, name, None, &sizing)? });
    }
    read(&table.table(name)?, &sizing)
}

fn read(table: &Table, sizing: &Sizing) -> Option<Queue> {
    let kind = match table.has("kind") {
        true => table.read::<Name>("kind")?.0,
        false => "droptail",
    };
    table.refuse_unknown_keys();
    let discipline = DISCIPLINES.iter().find(|discipline| discipline.name == kind)?;
    refuse_keys_of_others(table, discipline);
    (discipline.read)(table, sizing)
}

/// Refuses keys that only other disciplines have.
fn refuse_keys_of_others(table: &Table, discipline: &Discipline) {
    let all = DISCIPLINES.iter().flat_map(|other| other.keys);
    let mut foreign: Vec<_> = all
        .filter(|key| table.has(key) && table.knows(key) && !discipline.keys.contains(key))
        .collect();
    foreign.sort_unstable();
    foreign.dedup();
    for key in foreign {
        let owners: Vec<_> = DISCIPLINES
            .iter()
            .filter(|other| other.keys.contains(key))
            .map(|other| format!("\"{}\"", other.name))
            .collect();
        let message = format!("belongs to kind = {}; write that or remove it", owners.join(" or "));
        table.refuse(key, message);
    }
}

fn read_drop_tail(table: &Table, sizing: &Sizing) -> Option<Queue> {
    Some(Queue::DropTail { limit: read_limit(table, sizing)? })
}

fn discipline(config: QdiscConfig) -> Option<Queue> {
    Some(Queue::Discipline(Box::new(config)))
}

/// Largest quantum that Linux's disciplines take, in bytes (`net/sched/sch_fq_codel.c`,
/// `fq_codel_change`, which is not the only one).
const MAX_QUANTUM: u64 = 1 << 20;
/// Smallest (there too).
const MIN_QUANTUM: u64 = 256;

/// Bytes that a flow may send in a round.
fn read_quantum(table: &Table, sizing: &Sizing) -> Option<Bytes> {
    let default = Bytes::new(u64::from(mtu_bytes(sizing)));
    let quantum = table.read("quantum").unwrap_or(default);
    if !(MIN_QUANTUM..=MAX_QUANTUM).contains(&quantum.get()) {
        let message = format!(
            "expected {MIN_QUANTUM} to {MAX_QUANTUM} bytes, got {}; try \"1514 bytes\"",
            quantum.get()
        );
        return table.wrong("quantum", message);
    }
    Some(quantum)
}

/// Whose version it is: one of these, the first unless written.
fn read_variant(table: &Table, own: &[&'static str]) -> Option<&'static str> {
    if !table.has("variant") {
        return own.first().copied();
    }
    let Name(variant) = table.read("variant")?;
    if !own.contains(&variant) {
        let message =
            format!("\"{variant}\" is not one of this discipline, which has {}", own.join(" and "));
        return table.wrong("variant", message);
    }
    Some(variant)
}

/// A time within a bound.
fn at_most(table: &Table, name: &str, time: Duration, longest: Duration) -> Option<Duration> {
    if time > longest {
        return table.wrong(name, format!("expected at most {longest}, got {time}; write less"));
    }
    Some(time)
}

/// A time within a bound; `example` is what may be written instead.
fn at_least(
    table: &Table,
    name: &str,
    time: Duration,
    shortest: Duration,
    example: Duration,
) -> Option<Duration> {
    if time < shortest {
        let message = format!("expected at least {shortest}, got {time}; try \"{example}\"");
        return table.wrong(name, message);
    }
    Some(time)
}
