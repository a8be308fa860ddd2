//! The queue of a link: its discipline, and its size in packets or bytes.

pub(super) mod red;
pub(super) mod scheduling;

use fairway_net::{CeThreshold, CodelConfig, Limit, QdiscConfig};
use fairway_units::{Duration, Rate};

use super::Queue;
use super::reader::{LimitText, Name, Table};

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
    Discipline {
        name: "codel",
        keys: &["target", "interval", "ecn", "ce_threshold"],
        read: read_codel,
    },
    Discipline {
        name: "sfq",
        keys: &["depth", "flows", "divisor", "quantum", "perturb", "head_drop"],
        read: scheduling::read_sfq,
    },
    Discipline { name: "drr", keys: &["quantum"], read: scheduling::read_drr },
    Discipline { name: "strict-priority", keys: &[], read: scheduling::read_strict_priority },
    Discipline {
        name: "token-bucket",
        keys: &["rate", "burst", "peak_rate", "mtu"],
        read: scheduling::read_token_bucket,
    },
    Discipline {
        name: "policer",
        keys: &["rate", "burst", "peak_rate", "mtu"],
        read: scheduling::read_policer,
    },
];

/// The names of all disciplines.
pub(super) fn names() -> Vec<&'static str> {
    DISCIPLINES.iter().map(|discipline| discipline.name).collect()
}

/// The first discipline that has this key of its own.
#[cfg(test)]
pub(super) fn one_with(key: &str) -> Option<&'static str> {
    DISCIPLINES.iter().find(|one| one.keys.contains(&key)).map(|one| one.name)
}

/// What the limits of queues depend on besides their own link.
pub(super) struct Path {
    /// Rate of the slowest link.
    pub(super) slowest: Rate,
    /// Propagation delay of the longest path, there and back.
    pub(super) base_rtt: Duration,
    /// The largest packet on a link, in bytes.
    pub(super) frame: u64,
}

/// "1.0 bdp".
pub(super) const DEFAULT_LIMIT: LimitText = LimitText::Bdp(fairway_units::Decimal::ONE);

/// What the size of one queue depends on.
#[derive(Clone, Copy)]
struct Sizing<'a> {
    /// If nothing is written.
    default: LimitText,
    /// Rate of the link.
    rate: Rate,
    path: &'a Path,
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
    let mut foreign: Vec<_> =
        all.filter(|key| table.has(key) && !discipline.keys.contains(key)).collect();
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

fn read_limit(table: &Table, sizing: &Sizing) -> Option<Limit> {
    let limit = table.read("limit");
    if table.has("limit") && limit.is_none() {
        return None;
    }
    size(table, "limit", limit, sizing)
}

/// The limit of a discipline that counts packets.
fn read_packets(table: &Table, default: u64) -> Option<u64> {
    if !table.has("limit") {
        return Some(default);
    }
    match table.read("limit")? {
        LimitText::Packets(packets) if packets > 0 => Some(packets),
        LimitText::Unlimited => Some(u64::MAX),
        _ => {
            let message = "this discipline counts packets; write \"1000 packets\"";
            table.refuse("limit", message);
            None
        }
    }
}

fn read_codel(table: &Table, _: &Sizing) -> Option<Queue> {
    let linux = CodelConfig::default();
    let ce_threshold = |delay| CeThreshold { delay, only_ect1: false };
    let codel = CodelConfig {
        target: table.read("target").unwrap_or(linux.target),
        interval: table.read("interval").unwrap_or(linux.interval),
        limit_packets: read_packets(table, linux.limit_packets)?,
        ecn: table.read("ecn").unwrap_or(linux.ecn),
        ce_threshold: table.read("ce_threshold").map(ce_threshold),
        ..linux
    };
    discipline(QdiscConfig::Codel(codel))
}

fn discipline(config: QdiscConfig) -> Option<Queue> {
    Some(Queue::Discipline(Box::new(config)))
}

/// Turns a limit into packets or bytes. Reports at the key `name` of `table`.
fn size(table: &Table, name: &str, written: Option<LimitText>, sizing: &Sizing) -> Option<Limit> {
    let Sizing { default, rate, path } = *sizing;
    let no_rate = || {
        let message = "time and bdp need a link with a finite rate; write \"50 packets\"";
        table.refuse(name, message);
        None
    };
    let bytes = match written.unwrap_or(default) {
        LimitText::Unlimited => return Some(Limit::Unlimited),
        LimitText::Packets(0) => {
            table.refuse(name, "expected at least one packet, got 0; write \"1 packets\"");
            return None;
        }
        LimitText::Packets(packets) => return Some(Limit::Packets(packets)),
        LimitText::Bytes(bytes) => Some(bytes),
        LimitText::Time(_) if rate == Rate::UNLIMITED => return no_rate(),
        LimitText::Time(time) => Some(rate.bytes_in(time).get()),
        LimitText::Bdp(_) if path.slowest == Rate::UNLIMITED => return no_rate(),
        LimitText::Bdp(factor) => {
            factor.times_rounded_down(path.slowest.bytes_in(path.base_rtt).get())
        }
    };
    let default = if written.is_none() { " (1.0 bdp, the default)" } else { "" };
    match bytes {
        Some(bytes) if bytes >= path.frame => Some(Limit::Bytes(bytes)),
        Some(bytes) => {
            let message = format!(
                "{bytes} bytes{default} cannot hold one packet of {} bytes; \
                 write limit = \"50 packets\"",
                path.frame
            );
            table.refuse(name, message);
            None
        }
        None => {
            table.refuse(name, "is larger than any memory; write \"unlimited\"");
            None
        }
    }
}
