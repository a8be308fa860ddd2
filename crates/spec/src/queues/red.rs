//! Random early detection; and its keys beside those of the paper.

use fairway_net::{
    AdaptiveRed, Limit, QdiscConfig, RedConfig, RedMeasure, RedQueueConfig, RedVariant,
    RouterOsRed, Serialiser, automatic_thresholds, automatic_weight, weight_of_burst,
};
use fairway_units::{Bytes, Duration, Rate};

use super::limits::{Sizing, read_limit, read_packets_of};
use super::read_variant;
use crate::keys::{Absent, Key, Kind, keys};
use crate::reader::{Name, Packets, Table};

/// RED's defaults: S. Floyd, "RED: Discussions of Setting Parameters" (1997).
const MIN_THRESHOLD: f64 = 5.0;
const MAX_OVER_MIN: f64 = 3.0;
const MAX_PROBABILITY: f64 = 0.1;
const WEIGHT: f64 = 0.002;
/// Size of a packet by which RED's average decays while a link is idle: a full one, where ns-2
/// (`mean_pktsize_` 500) thinks of mixed traffic.
const MEAN_PACKET: Bytes = Bytes::new(1000);
/// Largest mean packet: that of IP.
const MAX_PACKET_BYTES: u64 = 65_535;
/// Queueing delay that Adaptive RED aims at unless told otherwise (ns-2.35
/// `tcl/lib/ns-default.tcl`, `targetdelay_`).
const TARGET: Duration = Duration::from_millis(5);

/// The keys that only RED has, but for those in the table of all queues.
pub(super) static KEYS: &[Key] = keys! {
    "ecn_beyond_max": Kind::Switch, Absent::Default("false"), "false" =>
        "RED with ecn: whether packets that allow it are marked even where all others are dropped, as Linux does without harddrop.";
    "average": Kind::Choice { thing: "measure of a queue", names: || vec!["packets", "bytes"] },
        Absent::Default(r#""packets""#), r#""bytes""# =>
        "RED: what the average counts; bytes count as packets of mean_packet, as in Linux.";
    "mean_packet": Kind::Size, Absent::Default(r#""1000 bytes""#), r#""1000 bytes""# =>
        "RED: the size that counts as one packet where bytes are averaged, where by_size is written, and while the link is idle (tc-red(8)).";
    "by_size": Kind::Switch, Absent::Default("false"), "false" =>
        "RED: whether a packet's drop probability is in proportion to its size (ns-2: bytes_).";
    "adaptive": Kind::Switch, Absent::Default("false"), "true" =>
        "RED: whether max_probability adapts itself every half second, so that the average stays near the middle between the thresholds (Floyd, Gummadi, Shenker 2001). Thresholds and weight that are not written then follow from the link's rate.";
    "allowed_burst": Kind::Packets,
        Absent::Of(&[(&["routeros-red"], r#""20 packets""#)]), r#""20 packets""# =>
        "RED: packets that an empty queue takes at once without an early drop, from which the weight follows (burst of tc-red(8), red-burst of RouterOS).";
};

pub(super) fn read_red(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    let limit = read_limit(table, sizing)?;
    let mean_packet = read_mean_packet(table)?;
    let adaptive = table.read("adaptive").unwrap_or(false);
    let (default_min, default_weight) = if adaptive {
        automatic(table, sizing.rate, mean_packet)?
    } else {
        (MIN_THRESHOLD, WEIGHT)
    };
    if !adaptive && table.has("target") {
        table.refuse("target", "belongs to adaptive = true here; write that or remove it");
    }
    let min_threshold = table.read("min_threshold").map_or(default_min, |Packets(n)| n);
    let max_threshold = read_max_threshold(table, limit, min_threshold)?;
    let variant = read_variant(table, ["ns2", "linux"])?;
    let average = table.read("average").map_or("packets", |Name(name)| name);
    let red = RedConfig {
        min_threshold,
        max_threshold,
        max_probability: table.read("max_probability").unwrap_or(MAX_PROBABILITY),
        weight: read_weight(table, default_weight, min_threshold)?,
        gentle: table.read("gentle").unwrap_or(true),
        ecn: table.read("ecn").unwrap_or(false),
        ecn_beyond_max: table.read("ecn_beyond_max").unwrap_or(false),
        typical_transmission: Serialiser::new(sizing.rate).transmit(mean_packet.get() as u32),
        measure: if average == "bytes" { RedMeasure::Bytes } else { RedMeasure::Packets },
        by_size: table.read("by_size").unwrap_or(false),
        mean_packet,
        adaptive: adaptive.then(AdaptiveRed::default),
        variant: if variant == "linux" { RedVariant::Linux } else { RedVariant::Ns2 },
    };
    Some(QdiscConfig::Red(RedQueueConfig { limit, red }))
}

fn read_mean_packet(table: &Table) -> Option<Bytes> {
    let mean_packet = table.read("mean_packet").unwrap_or(MEAN_PACKET);
    if mean_packet == Bytes::ZERO || mean_packet.get() > MAX_PACKET_BYTES {
        let message = format!(
            "expected 1 to {MAX_PACKET_BYTES} bytes, got {}; try \"1000 bytes\"",
            mean_packet.get()
        );
        return table.wrong("mean_packet", message);
    }
    Some(mean_packet)
}

/// The lower threshold and the weight that follow from the link.
fn automatic(table: &Table, rate: Rate, mean_packet: Bytes) -> Option<(f64, f64)> {
    if rate == Rate::UNLIMITED {
        return table.wrong("adaptive", "needs a link with a finite rate; write false");
    }
    let target = table.read("target").unwrap_or(TARGET);
    let (min_threshold, _) = automatic_thresholds(rate, target, mean_packet);
    Some((min_threshold, automatic_weight(rate, Duration::ZERO, mean_packet)))
}

fn read_max_threshold(table: &Table, limit: Limit, min_threshold: f64) -> Option<f64> {
    let default_max = MAX_OVER_MIN * min_threshold;
    let max_threshold = table.read("max_threshold").map_or(default_max, |Packets(n)| n);
    if min_threshold >= max_threshold {
        let message = format!(
            "{max_threshold} packets is not above min_threshold, {min_threshold} packets; \
             try \"{default_max} packets\""
        );
        return table.wrong("max_threshold", message);
    }
    if let Limit::Packets(packets) = limit
        && packets as f64 <= min_threshold
    {
        let message = format!(
            "{packets} packets is not above min_threshold, {min_threshold} packets, so nothing \
             would be dropped early; raise it or lower min_threshold"
        );
        return table.wrong("limit", message);
    }
    Some(max_threshold)
}

fn read_weight(table: &Table, default: f64, min_threshold: f64) -> Option<f64> {
    if let Some(Packets(burst)) = table.read("allowed_burst") {
        if table.has("weight") {
            return table.wrong("allowed_burst", "conflicts with weight; set only one");
        }
        return weight_for(table, burst, min_threshold);
    }
    let weight = table.read("weight").unwrap_or(default);
    if weight == 0.0 {
        return table.wrong("weight", "expected more than 0, got 0; try 0.002");
    }
    Some(weight)
}

fn weight_for(table: &Table, burst: f64, min_threshold: f64) -> Option<f64> {
    let weight = weight_of_burst(min_threshold, burst as u32);
    if weight.is_none() {
        let message = format!(
            "no weight lets {burst} packets pass that is not above min_threshold, {min_threshold} \
             packets; try \"{} packets\"",
            min_threshold.ceil() + 1.0
        );
        table.refuse("allowed_burst", message);
    }
    weight
}

/// The RED of a MikroTik router, in its words.
pub(super) fn read_routeros_red(table: &Table, sizing: &Sizing) -> Option<QdiscConfig> {
    let router = RouterOsRed::default();
    let packets = |name, default: u32| table.read(name).map_or(default, |Packets(n)| n as u32);
    let average_packet = read_mean_packet(table)?;
    let limit = u64::from(router.limit_packets);
    let limit = read_packets_of(table, limit, average_packet.get(), sizing)?;
    let router = RouterOsRed {
        limit_packets: u32::try_from(limit).unwrap_or(u32::MAX),
        min_threshold_packets: packets("min_threshold", router.min_threshold_packets),
        max_threshold_packets: packets("max_threshold", router.max_threshold_packets),
        burst_packets: packets("allowed_burst", router.burst_packets),
        average_packet,
    };
    let min_threshold = f64::from(router.min_threshold_packets);
    if router.max_threshold_packets <= router.min_threshold_packets {
        let message = format!(
            "{} packets is not above min_threshold, {min_threshold} packets; try \"{} packets\"",
            router.max_threshold_packets,
            MAX_OVER_MIN * min_threshold.max(1.0)
        );
        return table.wrong("max_threshold", message);
    }
    let Some((limit, red)) = router.to_red(sizing.rate) else {
        weight_for(table, f64::from(router.burst_packets), min_threshold);
        return None;
    };
    Some(QdiscConfig::Red(RedQueueConfig { limit, red }))
}
