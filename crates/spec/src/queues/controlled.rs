//! Queues that hold a delay: CoDel, COBALT and PIE, alone or for each flow; and their keys.

use fairway_net::{
    CeThreshold, CobaltConfig, CodelConfig, DelayFrom, FqCodelConfig, FqPieConfig, PieConfig,
    QdiscConfig,
};
use fairway_units::{Bytes, Duration, Rate};

use super::limits::{Sizing, mtu_bytes, read_packets};
use super::{at_least, at_most, read_quantum, read_variant};
use crate::keys::{Absent, Key, Kind, keys};
use crate::reader::Table;

/// Shortest time between two updates of a controller: Linux's timers are no finer.
pub(super) const MIN_UPDATE: Duration = Duration::from_micros(100);
/// Longest delay that a controller aims at, and longest interval.
const MAX_TIME: Duration = Duration::from_secs(60);
/// Least memory that holds a packet, as Linux counts it.
const MIN_MEMORY: u64 = 4096;

/// The keys that only these have, some of them with DualPI2.
pub(super) static KEYS: &[Key] = keys! {
    "ce_threshold_ect1": Kind::Switch, Absent::Default("false"), "true" =>
        "FQ-CoDel: whether ce_threshold is for packets alone that came as ECT(1), as those of L4S senders do (ce_threshold_selector 0x1/0x3 of tc).";
    "memory_limit": Kind::Size, Absent::Default(r#""32 MiB""#), r#""32 MiB""# =>
        "FQ-CoDel: memory that all packets may take, counted as Linux counts it.";
    "drop_batch": Kind::Count { min: 1, max: 65_536 }, Absent::Default("64"), "64" =>
        "FQ-CoDel: most packets that are dropped at once from the longest queue when there is no room.";
    "blue_increment": Kind::Number { min: 0.0, max: 1.0 },
        Absent::Default("0.00390625"), "0.00390625" =>
        "COBALT: by how much BLUE's drop probability rises when the queue is full, at most once in each target; unless written 1/256, as in CAKE.";
    "blue_decrement": Kind::Number { min: 0.0, max: 1.0 },
        Absent::Default("0.000244140625"), "0.000244140625" =>
        "COBALT: by how much it falls when the queue is empty; unless written 1/4096, as in CAKE.";
    "tupdate": Kind::Duration,
        Absent::Of(&[(&["pie", "fq_pie"], r#""15 ms""#), (&["dualpi2"], r#""16 ms""#)]), r#""15 ms""# =>
        "PIE, FQ-PIE, DualPI2: time between two updates of the probability (RFC 8033 section 4.2; DualPI2 as in Linux).";
    "alpha": Kind::Number { min: 0.0, max: 32.0 },
        Absent::Of(&[(&["pie", "fq_pie"], "2"), (&["dualpi2"], "0.16015625")]), "2" =>
        "PIE, FQ-PIE: weight of the difference from the target, in sixteenths per second, a whole number. DualPI2: the same per second; unless written 41/256. All as in Linux.";
    "beta": Kind::Number { min: 0.0, max: 32.0 },
        Absent::Of(&[(&["pie", "fq_pie"], "20"), (&["dualpi2"], "3.19921875")]), "20" =>
        "PIE, FQ-PIE: weight of the delay's growth since the last update, in sixteenths per second, a whole number. DualPI2: the same per second; unless written 819/256. All as in Linux.";
    "ecn_prob": Kind::Count { min: 0, max: 100 }, Absent::Default("10"), "10" =>
        "PIE, FQ-PIE with ecn: drop probability in percent above which packets are dropped although they allow a mark (RFC 8033 section 5.1).";
    "bytemode": Kind::Switch, Absent::Default("false"), "false" =>
        "PIE, FQ-PIE: whether the drop probability of a packet is in proportion to its size.";
    "dq_rate_estimator": Kind::Switch, Absent::Default("false"), "false" =>
        "PIE, FQ-PIE: whether the delay is what waits divided by a measured rate of departure (RFC 8033 section 5.2) rather than how long the last packet waited, as in Linux.";
    "burst_allowance": Kind::Duration, Absent::Default(r#""150 ms""#), r#""150 ms""# =>
        "PIE, FQ-PIE: time of departures without drops after the queue has been calm (RFC 8033 section 4.2: MAX_BURST).";
};

/// A delay to aim at, or a time of that order.
pub(super) fn read_time(table: &Table, name: &str, default: Duration) -> Option<Duration> {
    at_most(table, name, table.read(name).unwrap_or(default), MAX_TIME)
}

pub(super) fn read_tupdate(table: &Table, default: Duration) -> Option<Duration> {
    let tupdate = read_time(table, "tupdate", default)?;
    at_least(table, "tupdate", tupdate, MIN_UPDATE, default)
}

/// The law of CoDel, for the defaults of one queue or of many.
fn read_law(table: &Table, sizing: &Sizing, default: CodelConfig) -> Option<CodelConfig> {
    let only_ect1 = table.read("ce_threshold_ect1").unwrap_or(false);
    if table.has("ce_threshold_ect1") && !table.has("ce_threshold") {
        return table
            .wrong("ce_threshold_ect1", "belongs to ce_threshold; write that too or remove it");
    }
    let interval = read_time(table, "interval", default.interval)?;
    Some(CodelConfig {
        target: read_time(table, "target", default.target)?,
        interval: at_least(table, "interval", interval, MIN_UPDATE, default.interval)?,
        limit_packets: read_packets(table, default.limit_packets, sizing)?,
        ecn: table.read("ecn").unwrap_or(default.ecn),
        ce_threshold: table.read("ce_threshold").map(|delay| CeThreshold { delay, only_ect1 }),
        mtu_bytes: mtu_bytes(sizing),
        exact_root: read_variant(table, ["linux", "rfc"])? == "rfc",
    })
}

pub(super) fn read_codel(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    Some(QdiscConfig::Codel(read_law(table, sizing, CodelConfig::default())?))
}

pub(super) fn read_fq_codel(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    let linux = FqCodelConfig::default();
    let memory = table.read("memory_limit").map_or(linux.memory_limit_bytes, Bytes::get);
    if memory < MIN_MEMORY {
        let message = format!("{memory} bytes hold no packet; try \"32 MiB\"");
        return table.wrong("memory_limit", message);
    }
    let count = |name, default: u32| table.read::<u64>(name).map_or(default, |n| n as u32);
    Some(QdiscConfig::FqCodel(FqCodelConfig {
        flows: count("flows", linux.flows),
        quantum_bytes: read_quantum(table, sizing)?.get() as u32,
        memory_limit_bytes: memory,
        drop_batch_packets: count("drop_batch", linux.drop_batch_packets),
        codel: read_law(table, sizing, linux.codel)?,
    }))
}

pub(super) fn read_cobalt(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    let cake = match sizing.rate {
        Rate::UNLIMITED => CobaltConfig::default(),
        rate => CobaltConfig::for_rate(rate, mtu_bytes(sizing)),
    };
    let target = read_time(table, "target", cake.target)?;
    let interval = read_time(table, "interval", cake.interval.max(target * 2))?;
    Some(QdiscConfig::Cobalt(CobaltConfig {
        target,
        interval: at_least(table, "interval", interval, MIN_UPDATE, cake.interval)?,
        limit_packets: read_packets(table, cake.limit_packets, sizing)?,
        ecn: table.read("ecn").unwrap_or(cake.ecn),
        mtu_time: cake.mtu_time,
        blue_increment: table.read("blue_increment").unwrap_or(cake.blue_increment),
        blue_decrement: table.read("blue_decrement").unwrap_or(cake.blue_decrement),
    }))
}

/// The controller of PIE, for the defaults of one queue or of many.
fn read_controller(table: &Table, sizing: &Sizing, default: PieConfig) -> Option<PieConfig> {
    let estimates = table.read("dq_rate_estimator").unwrap_or(false);
    let percent = table.read::<u64>("ecn_prob");
    let ecn = table.read("ecn").unwrap_or(default.ecn);
    if percent.is_some() && !ecn {
        return table.wrong("ecn_prob", "belongs to ecn = true; write that or remove it");
    }
    Some(PieConfig {
        target: read_time(table, "target", default.target)?,
        update_interval: read_tupdate(table, default.update_interval)?,
        limit_packets: read_packets(table, default.limit_packets, sizing)?,
        alpha_sixteenths: read_sixteenths(table, "alpha", default.alpha_sixteenths)?,
        beta_sixteenths: read_sixteenths(table, "beta", default.beta_sixteenths)?,
        burst_allowance: read_time(table, "burst_allowance", default.burst_allowance)?,
        ecn,
        ecn_up_to_percent: percent.map_or(default.ecn_up_to_percent, |percent| percent as u32),
        byte_mode: table.read("bytemode").unwrap_or(default.byte_mode),
        delay_from: if estimates { DelayFrom::DepartureRate } else { DelayFrom::Timestamps },
        mtu_bytes: mtu_bytes(sizing),
        bounded: read_variant(table, ["linux", "rfc"])? == "rfc",
    })
}

fn read_sixteenths(table: &Table, name: &str, default: u32) -> Option<u32> {
    let Some(weight) = table.read::<f64>(name) else { return Some(default) };
    if weight.fract() != 0.0 {
        let message = format!(
            "expected a whole number of sixteenths per second, got {weight}; try {default}"
        );
        return table.wrong(name, message);
    }
    Some(weight as u32)
}

pub(super) fn read_pie(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    Some(QdiscConfig::Pie(read_controller(table, sizing, PieConfig::default())?))
}

pub(super) fn read_fq_pie(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    let linux = FqPieConfig::default();
    Some(QdiscConfig::FqPie(FqPieConfig {
        flows: table.read::<u64>("flows").map_or(linux.flows, |flows| flows as u32),
        quantum_bytes: read_quantum(table, sizing)?.get() as u32,
        pie: read_controller(table, sizing, linux.pie)?,
    }))
}
