//! Queues that schedule, shape or police; and their keys.

use fairway_net::{
    DropHeadConfig, DropTailConfig, DrrConfig, Limit, PeakRate, PolicerConfig, QdiscConfig,
    SfqConfig, ShaperQueue, StrictPriorityConfig, TokenBucketConfig,
};
use fairway_units::{Bytes, Duration, Rate};

use super::super::Queue;
use super::super::keys::{Absent, Key, Kind, key};
use super::super::reader::{LimitText, Table};
use super::{Sizing, discipline, read_limit, read_packets, size};

/// Largest quantum that Linux's SFQ takes, in bytes (`net/sched/sch_sfq.c`, `sfq_change`).
const MAX_QUANTUM: u64 = 1 << 20;
/// Smallest (there too).
const MIN_QUANTUM: u64 = 256;

/// Packets that may wait in a band of strict priority: the queue length of an Ethernet device, which
/// Linux's `prio` gives to each.
const BAND_LIMIT_PACKETS: u64 = 1000;

/// The keys that only these have.
pub(in super::super) static KEYS: &[Key] = &[
    key(
        "depth",
        Kind::Count { min: 1, max: 127 },
        Absent::Explained,
        "127",
        "SFQ: packets of one of its queues that may wait; 127 unless written, as in Linux.",
    ),
    key(
        "flows",
        Kind::Count { min: 1, max: 65_408 },
        Absent::Explained,
        "128",
        "SFQ: queues that may have packets at the same time; 128 unless written, as in Linux.",
    ),
    key(
        "divisor",
        Kind::Count { min: 1, max: 65_536 },
        Absent::Explained,
        "1024",
        "SFQ: values of the hash by which flows are told apart, a power of two; 1024 unless written, as in Linux.",
    ),
    key(
        "quantum",
        Kind::Size,
        Absent::Explained,
        r#""1514 bytes""#,
        "SFQ, DRR: bytes, frame overhead included, that a flow may send in a round; 1514 unless written, as in Linux on Ethernet.",
    ),
    key(
        "perturb",
        Kind::Duration,
        Absent::Explained,
        r#""10 s""#,
        "SFQ: time after which its hash changes; without it, never, as in Linux.",
    ),
    key(
        "head_drop",
        Kind::Switch,
        Absent::Explained,
        "false",
        "SFQ: whether the oldest packet of the longest queue is dropped rather than the newest; false unless written, as in Linux.",
    ),
    key(
        "rate",
        Kind::Rate,
        Absent::Explained,
        r#""5 Mbit/s""#,
        "Token bucket, policer: the rate in the long run; it has to be written.",
    ),
    key(
        "burst",
        Kind::Size,
        Absent::Explained,
        r#""15 kB""#,
        "Token bucket, policer: bytes, frame overhead included, that may pass at once after a rest; it has to be written.",
    ),
    key(
        "peak_rate",
        Kind::Rate,
        Absent::Explained,
        r#""8 Mbit/s""#,
        "Token bucket, policer: the rate within a burst; without it, that of the link.",
    ),
    key(
        "mtu",
        Kind::Size,
        Absent::Explained,
        r#""1514 bytes""#,
        "Token bucket, policer: bytes that may pass at once at peak_rate; one full packet, frame overhead included, unless written.",
    ),
];

pub(super) fn read_drop_head(table: &Table, sizing: &Sizing) -> Option<Queue> {
    discipline(QdiscConfig::DropHead(DropHeadConfig { limit: read_limit(table, sizing)? }))
}

pub(super) fn read_sfq(table: &Table, _: &Sizing) -> Option<Queue> {
    let linux = SfqConfig::default();
    let count = |name, default| table.read::<u64>(name).map_or(default, saturated);
    let divisor = count("divisor", linux.divisor);
    if !divisor.is_power_of_two() {
        let message = format!("expected a power of two, got {divisor}; write 1024");
        table.refuse("divisor", message);
        return None;
    }
    discipline(QdiscConfig::Sfq(SfqConfig {
        limit_packets: saturated(read_packets(table, u64::from(linux.limit_packets))?),
        depth_packets: count("depth", linux.depth_packets),
        flows: count("flows", linux.flows),
        divisor,
        quantum: quantum(table, linux.quantum)?,
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
        table.refuse("perturb", "expected at least 1 ms; write \"10 s\"");
        return None;
    }
    Some(perturb)
}

fn quantum(table: &Table, default: Bytes) -> Option<Bytes> {
    let quantum = table.read("quantum").unwrap_or(default);
    if !(MIN_QUANTUM..=MAX_QUANTUM).contains(&quantum.get()) {
        let message = format!(
            "expected {MIN_QUANTUM} to {MAX_QUANTUM} bytes, got {}; write \"1514 bytes\"",
            quantum.get()
        );
        table.refuse("quantum", message);
        return None;
    }
    Some(quantum)
}

pub(super) fn read_drr(table: &Table, _: &Sizing) -> Option<Queue> {
    let linux = DrrConfig::default();
    discipline(QdiscConfig::Drr(DrrConfig {
        quantum: quantum(table, linux.quantum)?,
        flow_limit_packets: read_packets(table, linux.flow_limit_packets)?,
    }))
}

/// A drop-tail queue for each precedence.
pub(super) fn read_strict_priority(table: &Table, _: &Sizing) -> Option<Queue> {
    let band = drop_tail(Limit::Packets(read_packets(table, BAND_LIMIT_PACKETS)?));
    discipline(QdiscConfig::StrictPriority(StrictPriorityConfig::by_class(&band)))
}

/// What a shaper and a policer have in common.
struct Bucket {
    rate: Rate,
    burst: Bytes,
    peak: Option<PeakRate>,
}

fn read_bucket(table: &Table, sizing: &Sizing) -> Option<Bucket> {
    let rate = table.require("rate");
    let burst = table.require::<Bytes>("burst");
    let (rate, burst) = (rate?, holds_a_packet(table, "burst", burst?.get(), sizing)?);
    let peak = match table.read::<Rate>("peak_rate") {
        Some(peak) if peak <= rate => {
            let message = format!("{peak} is not more than rate, {rate}; raise it or remove it");
            table.refuse("peak_rate", message);
            return None;
        }
        None if table.has("peak_rate") => return None,
        None if table.has("mtu") => {
            table.refuse("mtu", "belongs to peak_rate; write that too or remove it");
            return None;
        }
        None => None,
        Some(rate) => {
            let mtu = table.read("mtu").map_or(sizing.path.frame, Bytes::get);
            Some(PeakRate { rate, mtu: holds_a_packet(table, "mtu", mtu, sizing)? })
        }
    };
    Some(Bucket { rate, burst, peak })
}

fn holds_a_packet(table: &Table, name: &str, bytes: u64, sizing: &Sizing) -> Option<Bytes> {
    let frame = sizing.path.frame;
    if bytes < frame {
        let message = format!(
            "{bytes} bytes are less than one packet of {frame} bytes, which would never pass; \
             write \"{frame} bytes\" or more"
        );
        table.refuse(name, message);
        return None;
    }
    Some(Bytes::new(bytes))
}

pub(super) fn read_token_bucket(table: &Table, sizing: &Sizing) -> Option<Queue> {
    let Bucket { rate, burst, peak } = read_bucket(table, sizing)?;
    let limit = table.read("limit");
    if table.has("limit") && limit.is_none() {
        return None;
    }
    let queue = match limit {
        Some(LimitText::Time(latency)) => ShaperQueue::Latency(latency),
        limit => {
            let limit = size(table, "limit", limit, sizing)?;
            ShaperQueue::Discipline(Box::new(drop_tail(limit)))
        }
    };
    discipline(QdiscConfig::TokenBucket(TokenBucketConfig { rate, burst, peak, queue }))
}

pub(super) fn read_policer(table: &Table, sizing: &Sizing) -> Option<Queue> {
    let Bucket { rate, burst, peak } = read_bucket(table, sizing)?;
    let queue = Box::new(drop_tail(read_limit(table, sizing)?));
    discipline(QdiscConfig::Policer(PolicerConfig { rate, burst, peak, queue }))
}

fn drop_tail(limit: Limit) -> QdiscConfig {
    QdiscConfig::DropTail(DropTailConfig { limit })
}
