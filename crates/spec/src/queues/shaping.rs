//! Shapers and policers; and their keys.

use fairway_net::{PeakRate, PolicerConfig, QdiscConfig, ShaperQueue, TokenBucketConfig};
use fairway_units::{Bytes, Rate};

use super::drop_tail;
use super::limits::{Sizing, read_limit, size};
use super::nested::read_inner;
use crate::keys::{Absent, Key, Kind, keys};
use crate::reader::{LimitText, Table};

/// The keys that only these have, but for `queue`.
pub(super) static KEYS: &[Key] = keys! {
    "rate": Kind::Rate, Absent::Explained, r#""5 Mbit/s""# =>
        "TBF, policer: the rate in the long run; required.";
    "burst": Kind::Size, Absent::Explained, r#""15 kB""# =>
        "TBF, policer: bytes, frame overhead included, that may pass at once after a rest; required.";
    "peak_rate": Kind::Rate, Absent::Explained, r#""8 Mbit/s""# =>
        "TBF, policer: the rate within a burst; without it, that of the link.";
    "mtu": Kind::Size, Absent::Explained, r#""1514 bytes""# =>
        "TBF, policer: bytes that may pass at once at peak_rate; one full packet, frame overhead included, unless written.";
};

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
            return table.wrong("peak_rate", message);
        }
        None if table.has("peak_rate") => return None,
        None if table.has("mtu") => {
            return table.wrong("mtu", "belongs to peak_rate; write that too or remove it");
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
            "{bytes} bytes are less than one packet of {frame} bytes, so none would pass; \
             try \"{frame} bytes\" or more"
        );
        return table.wrong(name, message);
    }
    Some(Bytes::new(bytes))
}

pub(super) fn read_token_bucket(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    let Bucket { rate, burst, peak } = read_bucket(table, sizing)?;
    let shaped = Sizing { rate: rate.min(sizing.rate), ..*sizing };
    if let Some(inside) = read_inner(table, &shaped)? {
        let queue = ShaperQueue::Discipline(Box::new(inside));
        return Some(QdiscConfig::TokenBucket(TokenBucketConfig { rate, burst, peak, queue }));
    }
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
    Some(QdiscConfig::TokenBucket(TokenBucketConfig { rate, burst, peak, queue }))
}

pub(super) fn read_policer(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    let Bucket { rate, burst, peak } = read_bucket(table, sizing)?;
    let queue = match read_inner(table, sizing)? {
        Some(inside) => inside,
        None => drop_tail(read_limit(table, sizing)?),
    };
    let queue = Box::new(queue);
    Some(QdiscConfig::Policer(PolicerConfig { rate, burst, peak, queue }))
}
