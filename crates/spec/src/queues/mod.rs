//! The queue of a link: its discipline, and its size in packets or bytes.

mod controlled;
mod dualpi2;
mod keys;
mod limits;
mod nested;
mod red;
mod scheduling;
mod shaping;

use fairway_net::{DropTailConfig, Limit, QdiscConfig};
use fairway_units::{Bytes, Duration, Rate};

use super::kinds::{self, KindOf};
use super::reader::{LimitText, Table};
use limits::{Sizing, mtu_bytes, read_limit, size};

pub(super) use keys::QUEUE;
pub(super) use limits::DEFAULT_LIMIT;
pub use limits::Path;

type ReadQueue = fn(&Table, &Sizing) -> Option<QdiscConfig>;

/// All disciplines, in the order of the documentation.
static DISCIPLINES: &[KindOf<ReadQueue>] = &[
    KindOf { name: "droptail", keys: "", read: read_drop_tail },
    KindOf { name: "drophead", keys: "", read: scheduling::read_drop_head },
    KindOf {
        name: "red",
        keys: "min_threshold max_threshold max_probability weight gentle ecn ecn_beyond_max average \
               mean_packet by_size adaptive target allowed_burst variant",
        read: red::read_red,
    },
    KindOf {
        name: "routeros-red",
        keys: "min_threshold max_threshold allowed_burst mean_packet",
        read: red::read_routeros_red,
    },
    KindOf {
        name: "codel",
        keys: "target interval ecn ce_threshold variant",
        read: controlled::read_codel,
    },
    KindOf {
        name: "fq_codel",
        keys: "target interval ecn ce_threshold ce_threshold_ect1 variant flows quantum memory_limit \
               drop_batch",
        read: controlled::read_fq_codel,
    },
    KindOf {
        name: "cobalt",
        keys: "target interval ecn blue_increment blue_decrement",
        read: controlled::read_cobalt,
    },
    KindOf {
        name: "pie",
        keys: "target tupdate alpha beta ecn ecn_prob bytemode dq_rate_estimator burst_allowance \
               variant",
        read: controlled::read_pie,
    },
    KindOf {
        name: "fq_pie",
        keys: "target tupdate alpha beta ecn ecn_prob bytemode dq_rate_estimator burst_allowance \
               variant flows quantum",
        read: controlled::read_fq_pie,
    },
    KindOf {
        name: "dualpi2",
        keys: "target tupdate alpha beta coupling_factor step_thresh ramp min_qlen_step \
               classic_protection time_shift any_ect drop_enqueue drop_on_overload",
        read: dualpi2::read_dualpi2,
    },
    KindOf {
        name: "sfq",
        keys: "depth flows divisor quantum perturb head_drop",
        read: scheduling::read_sfq,
    },
    KindOf { name: "drr", keys: "quantum", read: scheduling::read_drr },
    KindOf {
        name: "tbf",
        keys: "rate burst peak_rate mtu queue",
        read: shaping::read_token_bucket,
    },
    KindOf { name: "policer", keys: "rate burst peak_rate mtu queue", read: shaping::read_policer },
    KindOf { name: "prio", keys: "bands priomap queue band", read: nested::read_priority },
];

/// The names of all disciplines.
pub(super) fn names() -> Vec<&'static str> {
    kinds::names(DISCIPLINES)
}

/// The disciplines that have this key of their own.
pub(super) fn kinds_with(key: &str) -> Vec<&'static str> {
    kinds::with_key(DISCIPLINES, key)
}

/// The queue of the link that `link` describes. `default` is the limit that drop-tail and RED have if
/// none is written.
pub(super) fn read_of_link(
    link: &Table,
    default: LimitText,
    rate: Rate,
    path: &Path,
) -> Option<QdiscConfig> {
    read_at(link, "queue", default, rate, path)
}

/// The queue at the key `name` of `table`, as [`read_of_link`].
pub(super) fn read_at(
    table: &Table,
    name: &str,
    default: LimitText,
    rate: Rate,
    path: &Path,
) -> Option<QdiscConfig> {
    let sizing = Sizing { default, rate, path };
    if !table.has(name) {
        return Some(drop_tail(size(table, name, None, &sizing)?));
    }
    read(&table.table(name)?, &sizing)
}

fn read(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    let kind = table.name_or("kind", "droptail")?;
    table.refuse_unknown_keys();
    let discipline = DISCIPLINES.iter().find(|discipline| discipline.name == kind)?;
    let mut foreign = kinds::foreign(DISCIPLINES, discipline, table);
    foreign.retain(|(key, _)| table.knows(key));
    foreign.sort_unstable();
    for (key, owners) in foreign {
        table.refuse(key, format!("belongs to kind = {owners}; write that or remove it"));
    }
    (discipline.read)(table, sizing)
}

fn read_drop_tail(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    Some(drop_tail(read_limit(table, sizing)?))
}

pub(super) const fn drop_tail(limit: Limit) -> QdiscConfig {
    QdiscConfig::DropTail(DropTailConfig { limit })
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
fn read_variant(table: &Table, own: [&'static str; 2]) -> Option<&'static str> {
    let variant = table.name_or("variant", own[0])?;
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
