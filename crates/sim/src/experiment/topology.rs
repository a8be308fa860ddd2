//! The network of an experiment: its shape, links, queues and losses.

use fairway_units::{Bytes, Duration, Rate};

use super::reader::{LimitText, Name, Packets, Table};
use super::{Limit, Link, Loss, Queue, Shape, Topology};

/// Links of a chain: every packet passes them all, and counts them in 8 bits.
const MAX_LINKS: usize = 200;
/// Largest frame overhead: as much as the largest packet.
const MAX_OVERHEAD: u64 = 65_535;
/// RED's defaults: S. Floyd, "RED: Discussions of Setting Parameters" (1997).
const RED_MIN_THRESHOLD: f64 = 5.0;
const RED_MAX_OVER_MIN: f64 = 3.0;
const RED_MAX_PROBABILITY: f64 = 0.1;
const RED_WEIGHT: f64 = 0.002;

/// Reads `[topology]`. `packet` is the largest IP packet of any flow, in bytes.
pub(super) fn read(table: &Table, packet: u64) -> Option<Topology> {
    let Name(kind) = table.require("kind")?;
    table.refuse_unknown_keys();
    let overhead: Bytes = table.read("frame_overhead").unwrap_or_default();
    if overhead.get() > MAX_OVERHEAD {
        let message = format!("expected at most {MAX_OVERHEAD} bytes, got {overhead}");
        table.refuse("frame_overhead", message);
        return None;
    }
    let frame = packet + overhead.get();
    let shape = match kind {
        "chain" => read_chain(table, frame)?,
        _ => read_dumbbell(table, frame)?,
    };
    Some(Topology { shape, frame_overhead: overhead })
}

fn read_dumbbell(table: &Table, frame: u64) -> Option<Shape> {
    if table.has("link") {
        table.refuse("link", "belongs to kind = \"chain\"; a dumbbell has bottleneck and access");
    }
    if !table.has("bottleneck") {
        table.refuse(
            "bottleneck",
            "missing; write [topology.bottleneck] with rate = \"10 Mbit/s\" and delay = \"25 ms\"",
        );
    }
    let bottleneck = table.table("bottleneck").map(|t| LinkText::read(t, "bottleneck".to_owned()));
    let access = table.table("access").map(|t| LinkText::read(t, "access".to_owned()));
    let bottleneck = bottleneck??;
    let access = match access {
        Some(access) => Some(access?),
        None => None,
    };
    let access_rate = access.as_ref().map_or(Rate::UNLIMITED, |access| access.rate);
    let access_delay = access.as_ref().map_or(Duration::ZERO, |access| access.delay);
    // A packet passes the access links of both hosts.
    let one_way = bottleneck.delay + access_delay * 2;
    let path = Path { slowest: bottleneck.rate.min(access_rate), base_rtt: one_way * 2, frame };
    let access_is_slowest = access_rate < bottleneck.rate;
    let access = access.map(|access| access.finish(&path, access_is_slowest));
    let bottleneck = bottleneck.finish(&path, !access_is_slowest)?;
    let access = match access {
        Some(access) => Some(access?),
        None => None,
    };
    Some(Shape::Dumbbell { bottleneck, access })
}

fn read_chain(table: &Table, frame: u64) -> Option<Shape> {
    for name in ["bottleneck", "access"].into_iter().filter(|name| table.has(name)) {
        table.refuse(name, "belongs to kind = \"dumbbell\"; a chain has [[topology.link]]");
    }
    let tables = table.tables("link");
    if tables.is_empty() || tables.len() > MAX_LINKS {
        let message = format!("expected 1 to {MAX_LINKS} links, got {}", tables.len());
        table.refuse("link", format!("{message}; write [[topology.link]] for each"));
        return None;
    }
    let mut links: Vec<LinkText> = Vec::new();
    let count = tables.len();
    for (index, link) in tables.into_iter().enumerate() {
        let id = super::traffic::read_id(&link).unwrap_or_else(|| format!("link#{index}"));
        if links.iter().any(|link| link.id == id) {
            link.refuse("id", format!("\"{id}\" names another link too; name each differently"));
        }
        links.extend(LinkText::read(link, id));
    }
    if links.len() < count {
        return None;
    }
    let one_way = links.iter().fold(Duration::ZERO, |sum, link| sum + link.delay);
    let slowest = links.iter().map(|link| link.rate).min()?;
    let path = Path { slowest, base_rtt: one_way * 2, frame };
    let slowest_index = links.iter().position(|link| link.rate == slowest)?;
    let links: Vec<_> = links
        .into_iter()
        .enumerate()
        .map(|(index, link)| link.finish(&path, index == slowest_index))
        .collect();
    Some(Shape::Chain { links: links.into_iter().collect::<Option<_>>()? })
}

/// What the limits of queues depend on besides their own link.
struct Path {
    /// Rate of the slowest link.
    slowest: Rate,
    /// Propagation delay of the longest path, there and back.
    base_rtt: Duration,
    /// The largest packet on a link, in bytes.
    frame: u64,
}

/// A link whose queue has not been sized yet.
struct LinkText<'a> {
    table: Table<'a>,
    id: String,
    rate: Rate,
    delay: Duration,
    loss: Option<Loss>,
}

impl<'a> LinkText<'a> {
    fn read(table: Table<'a>, id: String) -> Option<Self> {
        table.refuse_unknown_keys();
        let rate = table.require("rate");
        let delay = table.require("delay");
        let loss = table.table("loss").map(|loss| read_loss(&loss));
        let loss = match loss {
            Some(loss) => Some(loss?),
            None => None,
        };
        Some(LinkText { id, rate: rate?, delay: delay?, loss, table })
    }

    fn finish(self, path: &Path, slowest: bool) -> Option<Link> {
        let LinkText { table, id, rate, delay, loss } = self;
        let default =
            if slowest && rate != Rate::UNLIMITED { DEFAULT_LIMIT } else { LimitText::Unlimited };
        let queue = match table.table("queue") {
            Some(queue) => read_queue(&queue, default, rate, path)?,
            None if table.has("queue") => return None,
            None => Queue::DropTail { limit: size(&table, "queue", None, default, rate, path)? },
        };
        Some(Link { id, rate, delay, queue, loss })
    }
}

/// "1.0 bdp".
const DEFAULT_LIMIT: LimitText = LimitText::Bdp(fairway_units::Decimal::ONE);

fn read_queue(table: &Table, default: LimitText, rate: Rate, path: &Path) -> Option<Queue> {
    let kind = match table.has("kind") {
        true => table.read::<Name>("kind")?.0,
        false => "droptail",
    };
    table.refuse_unknown_keys();
    let limit = table.read("limit");
    if table.has("limit") && limit.is_none() {
        return None;
    }
    let limit = size(table, "limit", limit, default, rate, path)?;
    if kind == "red" {
        return read_red(table, limit);
    }
    let of_red = ["min_threshold", "max_threshold", "max_probability", "weight", "gentle", "ecn"];
    for name in of_red.into_iter().filter(|name| table.has(name)) {
        table.refuse(name, "belongs to kind = \"red\"; write that or remove it");
    }
    Some(Queue::DropTail { limit })
}

fn read_red(table: &Table, limit: Limit) -> Option<Queue> {
    let min_threshold = table.read("min_threshold").map_or(RED_MIN_THRESHOLD, |Packets(n)| n);
    let default_max = RED_MAX_OVER_MIN * min_threshold;
    let max_threshold = table.read("max_threshold").map_or(default_max, |Packets(n)| n);
    if min_threshold >= max_threshold {
        let message = format!(
            "{max_threshold} packets is not above min_threshold, {min_threshold} packets; \
             write \"{default_max} packets\""
        );
        table.refuse("max_threshold", message);
        return None;
    }
    if let Limit::Packets(packets) = limit
        && packets as f64 <= min_threshold
    {
        let message = format!(
            "{packets} packets is not above min_threshold, {min_threshold} packets, so nothing \
             would be dropped early; raise it or lower min_threshold"
        );
        table.refuse("limit", message);
        return None;
    }
    let weight = table.read("weight").unwrap_or(RED_WEIGHT);
    if weight == 0.0 {
        table.refuse("weight", "expected more than 0, got 0; write 0.002");
        return None;
    }
    Some(Queue::Red {
        limit,
        min_threshold,
        max_threshold,
        max_probability: table.read("max_probability").unwrap_or(RED_MAX_PROBABILITY),
        weight,
        gentle: table.read("gentle").unwrap_or(true),
        ecn: table.read("ecn").unwrap_or(false),
    })
}

/// Turns a limit into packets or bytes. Reports at the key `name` of `table`.
fn size(
    table: &Table,
    name: &str,
    written: Option<LimitText>,
    default: LimitText,
    rate: Rate,
    path: &Path,
) -> Option<Limit> {
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

fn read_loss(table: &Table) -> Option<Loss> {
    if table.has("kind") {
        table.read::<Name>("kind")?;
    }
    table.refuse_unknown_keys();
    if table.has("unit") {
        table.read::<Name>("unit")?;
    }
    let direction = match table.has("direction") {
        true => table.read::<Name>("direction")?.0,
        false => "forward",
    };
    Some(Loss {
        probability: table.require("probability")?,
        forward: direction != "reverse",
        reverse: direction != "forward",
    })
}
