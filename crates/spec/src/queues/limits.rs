//! Sizes of queues: in packets or bytes, or what follows from the link and the path.

use fairway_net::Limit;
use fairway_units::{Bytes, Duration, Rate};

use crate::reader::{LimitText, Table, packets};

/// The path that bandwidth-delay products are of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Path {
    /// Rate of the slowest link.
    pub slowest: Rate,
    /// Propagation delay of the longest path, there and back.
    pub base_rtt: Duration,
    /// The largest packet on a link, in bytes.
    pub frame: u64,
}

impl Path {
    /// The bandwidth-delay product, unless no link has a rate.
    pub fn bdp(&self) -> Option<Bytes> {
        (self.slowest != Rate::UNLIMITED).then(|| self.slowest.bytes_in(self.base_rtt))
    }
}

/// "1.0 bdp".
pub(crate) const DEFAULT_LIMIT: LimitText = LimitText::Bdp(fairway_units::Decimal::ONE);

/// What the size of one queue depends on.
#[derive(Clone, Copy)]
pub(super) struct Sizing<'a> {
    /// If nothing is written.
    pub(super) default: LimitText,
    /// Rate of the link, or of the shaper in front of it.
    pub(super) rate: Rate,
    pub(super) path: &'a Path,
}

pub(super) fn read_limit(table: &Table, sizing: &Sizing) -> Option<Limit> {
    let limit = table.read("limit");
    if table.has("limit") && limit.is_none() {
        return None;
    }
    size(table, "limit", limit, sizing)
}

/// The limit of a discipline that counts packets: of a time or a bdp, as many of the largest as it has
/// room for.
pub(super) fn read_packets(table: &Table, default: u64, sizing: &Sizing) -> Option<u64> {
    read_packets_of(table, default, sizing.path.frame, sizing)
}

/// The same for packets of so many bytes.
pub(super) fn read_packets_of(
    table: &Table,
    default: u64,
    packet: u64,
    sizing: &Sizing,
) -> Option<u64> {
    if !table.has("limit") {
        return Some(default);
    }
    let written = table.read("limit")?;
    if let LimitText::Bytes(bytes) = written {
        let message = format!(
            "this discipline counts packets of any size; write \"{}\" for as many of {packet} \
             bytes",
            packets((bytes / packet).max(1))
        );
        return table.wrong("limit", message);
    }
    Some(match size(table, "limit", Some(written), sizing)? {
        Limit::Unlimited => u64::MAX,
        Limit::Packets(packets) => packets,
        Limit::Bytes(bytes) => (bytes / packet).max(1),
    })
}

/// Turns a limit into packets or bytes. Reports at the key `name` of `table`.
pub(super) fn size(
    table: &Table,
    name: &str,
    written: Option<LimitText>,
    sizing: &Sizing,
) -> Option<Limit> {
    let Sizing { default, rate, path } = *sizing;
    let no_rate = || {
        let message = "time and bdp need a link with a finite rate; try \"50 packets\"";
        table.wrong(name, message)
    };
    let bytes = match written.unwrap_or(default) {
        LimitText::Unlimited => return Some(Limit::Unlimited),
        LimitText::Packets(0) => {
            return table.wrong(name, "expected at least one packet, got 0; try \"1 packet\"");
        }
        LimitText::Packets(packets) => return Some(Limit::Packets(packets)),
        LimitText::Bytes(bytes) => Some(bytes),
        LimitText::Time(_) if rate == Rate::UNLIMITED => return no_rate(),
        LimitText::Time(time) => Some(rate.bytes_in(time).get()),
        LimitText::Bdp(factor) => match path.bdp() {
            Some(bdp) => factor.times_rounded_down(bdp.get()),
            None => return no_rate(),
        },
    };
    let default = if written.is_none() { " (1.0 bdp, the default)" } else { "" };
    match bytes {
        Some(bytes) if bytes >= path.frame => Some(Limit::Bytes(bytes)),
        Some(bytes) => {
            let message = format!(
                "{bytes} bytes{default} cannot hold one packet of {} bytes; \
                 try limit = \"50 packets\"",
                path.frame
            );
            table.wrong(name, message)
        }
        None => table.wrong(name, "exceeds any memory; try \"unlimited\""),
    }
}

/// The MTU of a device, its header included, as disciplines of Linux count it (`psched_mtu`): that of
/// an Ethernet, or the largest packet if that is larger.
pub(super) fn mtu_bytes(sizing: &Sizing) -> u32 {
    u32::try_from(sizing.path.frame).unwrap_or(u32::MAX).max(ETHERNET_MTU)
}

/// 1500 bytes and a header of 14.
const ETHERNET_MTU: u32 = 1514;
