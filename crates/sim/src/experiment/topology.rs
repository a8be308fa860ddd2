//! The network of an experiment: its shape, links, queues and losses.

use fairway_units::{Bytes, Duration, Rate};

use super::queues::{self, Path};
use super::reader::{LimitText, Name, Table};
use super::{Link, Loss, Shape, Topology};

/// Links of a chain: every packet passes them all, and counts them in 8 bits.
const MAX_LINKS: usize = 200;
/// Largest frame overhead: as much as the largest packet.
const MAX_OVERHEAD: u64 = 65_535;
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
        let default = if slowest && rate != Rate::UNLIMITED {
            queues::DEFAULT_LIMIT
        } else {
            LimitText::Unlimited
        };
        let queue = queues::read_of_link(&table, default, rate, path)?;
        Some(Link { id, rate, delay, queue, loss })
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
