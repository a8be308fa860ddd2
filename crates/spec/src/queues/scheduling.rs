//! Queues that schedule; and their keys.

use fairway_net::{DropHeadConfig, DrrConfig, QdiscConfig, SfqConfig};
use fairway_units::Duration;

use super::limits::{Sizing, read_limit, read_packets};
use super::read_quantum;
use crate::keys::{Absent, Key, Kind, keys};
use crate::reader::Table;

/// Most queues of Linux's SFQ (`net/sched/sch_sfq.c`, SFQ_MAX_FLOWS).
const MAX_SFQ_FLOWS: u32 = 65_408;

/// The keys that only these have.
pub(super) static KEYS: &[Key] = keys! {
    "depth": Kind::Count { min: 1, max: 127 }, Absent::Default("127"), "127" =>
        "SFQ: packets of one of its queues that may wait; by default as in Linux.";
    "divisor": Kind::Count { min: 1, max: 65_536 }, Absent::Default("1024"), "1024" =>
        "SFQ: values of the hash by which flows are told apart, a power of two; by default as in Linux.";
    "perturb": Kind::Duration, Absent::Explained, r#""10 s""# =>
        "SFQ: time after which its hash changes; without it, never, as in Linux.";
    "head_drop": Kind::Switch, Absent::Default("false"), "false" =>
        "SFQ: whether the oldest packet of the longest queue is dropped rather than the newest; by default as in Linux.";
};

pub(super) fn read_drop_head(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    Some(QdiscConfig::DropHead(DropHeadConfig { limit: read_limit(table, sizing)? }))
}

pub(super) fn read_sfq(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    let linux = SfqConfig::default();
    let count = |name, default| table.read::<u64>(name).map_or(default, saturated);
    let divisor = count("divisor", linux.divisor);
    if !divisor.is_power_of_two() {
        let message = format!("expected a power of two, got {divisor}; try 1024");
        return table.wrong("divisor", message);
    }
    let flows = count("flows", linux.flows);
    if flows > MAX_SFQ_FLOWS {
        let message = format!("expected at most {MAX_SFQ_FLOWS} for SFQ, got {flows}; try 128");
        return table.wrong("flows", message);
    }
    Some(QdiscConfig::Sfq(SfqConfig {
        limit_packets: saturated(read_packets(table, u64::from(linux.limit_packets), sizing)?),
        depth_packets: count("depth", linux.depth_packets),
        flows,
        divisor,
        quantum: read_quantum(table, sizing)?,
        perturb: read_perturb(table)?,
        head_drop: table.read("head_drop").unwrap_or(linux.head_drop),
    }))
}

fn saturated(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn read_perturb(table: &Table) -> Option<Option<Duration>> {
    let perturb = table.read::<Duration>("perturb");
    if perturb.is_some_and(|period| period.as_millis() == 0) {
        return table.wrong("perturb", "expected at least 1 ms; try \"10 s\"");
    }
    Some(perturb)
}

pub(super) fn read_drr(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    let linux = DrrConfig::default();
    Some(QdiscConfig::Drr(DrrConfig {
        quantum: read_quantum(table, sizing)?,
        flow_limit_packets: read_packets(table, linux.flow_limit_packets, sizing)?,
    }))
}
