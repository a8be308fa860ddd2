//! The row of links that every packet passes from its source to its sink.

use fairway_spec::{Experiment, Link, Shape, Topology};
use fairway_units::Rate;

use super::qdisc::{self, Disciplines};
use super::refusal::Refusals;

/// Links of a row: each is two routers, and a packet passes 254 at most (`ip_default_ttl`).
const MAX_LINKS: usize = 127;

/// One place in the row.
pub(super) struct Stage<'a> {
    pub(super) link: &'a Link,
    /// Whether every pair of hosts has one of its own here.
    pub(super) per_pair: bool,
}

/// The links from the sources to the sinks.
pub(super) struct Row<'a> {
    pub(super) stages: Vec<Stage<'a>>,
    /// Stages that results report, in the simulator's order: the slowest first.
    pub(super) reported: Vec<usize>,
}

/// What lifts what is refused of shapes.
const REMEDY: &str = "remove `network = \"tc\"`";

impl Row<'_> {
    /// Routers on the way of a packet: two for each link.
    pub(super) fn routers(&self) -> usize {
        2 * self.stages.len()
    }
}

/// Refuses networks that are no rows of links, alike in both directions, between pairs of hosts.
pub(super) fn refuse_shape(experiment: &Experiment, refusals: &mut Refusals) {
    let links: Vec<&Link> = match &experiment.topology.shape {
        Shape::Graph(_) | Shape::Wlan(_) => {
            let message =
                format!("tc makes a dumbbell or a chain; write one of these, or {REMEDY}");
            refusals.refuse("topology.kind", message);
            return;
        }
        Shape::Dumbbell { bottleneck, access } => {
            [bottleneck].into_iter().chain(access.as_ref().map(|access| &access.link)).collect()
        }
        Shape::Chain { links } => links.iter().collect(),
    };
    for (index, link) in links.iter().enumerate().filter(|(_, link)| link.reverse.is_some()) {
        let message = format!("links of tc are alike in both directions; remove it, or {REMEDY}");
        refusals.refuse(format!("{}.reverse", path(&experiment.topology, index, link)), message);
    }
    for (index, flow) in experiment.flows.iter().enumerate() {
        if let Some((key, message)) = refused_ends(flow.hosts, flow.reversed) {
            refusals.refuse_flow(index, key, message);
        }
    }
    for flow in &experiment.datagrams {
        if let Some((key, message)) = refused_ends(flow.hosts, flow.reversed) {
            refusals.refuse_datagrams(flow, key, message);
        }
    }
}

/// What is refused of the ends of a flow, if anything is.
fn refused_ends(hosts: [usize; 2], reversed: bool) -> Option<(&'static str, String)> {
    let refused = if reversed {
        ("direction", "flows go from left to right; exchange from and to")
    } else if hosts[0] != hosts[1] {
        ("to", "hosts come in pairs, of which this flow's are two halves; name others")
    } else {
        return None;
    };
    let (key, why) = refused;
    Some((key, format!("on a network of tc, {why}, or {REMEDY}")))
}

/// The row of a topology.
pub(super) fn row<'a>(topology: &'a Topology, refusals: &mut Refusals) -> Row<'a> {
    match &topology.shape {
        Shape::Dumbbell { bottleneck, access } => {
            let own = |side: usize| {
                let access = access.as_ref().filter(|access| access.sides[side])?;
                Some(Stage { link: &access.link, per_pair: true })
            };
            let shared = Stage { link: bottleneck, per_pair: false };
            let stages: Vec<Stage> = own(0).into_iter().chain([shared]).chain(own(1)).collect();
            let reported = stages.iter().position(|stage| !stage.per_pair).into_iter().collect();
            Row { stages, reported }
        }
        // Refused before.
        Shape::Graph(_) | Shape::Wlan(_) => Row { stages: Vec::new(), reported: Vec::new() },
        Shape::Chain { links } => {
            if links.len() > MAX_LINKS {
                let message = format!(
                    "{} links are more than the {MAX_LINKS} that an IP packet can cross between \
                     routers; write fewer, or {REMEDY}",
                    links.len()
                );
                refusals.refuse("topology.link", message);
            }
            let slowest = (0..links.len()).min_by_key(|index| links[*index].rate).unwrap_or(0);
            let others = (0..links.len()).filter(|index| *index != slowest);
            Row {
                stages: links.iter().map(|link| Stage { link, per_pair: false }).collect(),
                reported: [slowest].into_iter().chain(others).collect(),
            }
        }
    }
}

/// The queue disciplines of every stage; of the first, such that packets hold the memory of their sockets,
/// if that matters.
pub(super) fn disciplines(
    row: &Row,
    topology: &Topology,
    mtu: u32,
    holds_sockets: bool,
    refusals: &mut Refusals,
) -> Vec<Disciplines> {
    let overhead = u32::try_from(topology.frame_overhead.get()).unwrap_or(u32::MAX);
    let of_stage = |(index, stage): (usize, &Stage)| {
        let path = path(topology, index, stage.link);
        refuse_rate(stage.link.rate, &path, refusals);
        let holds_sockets = holds_sockets && index == 0;
        qdisc::disciplines(stage.link, overhead, mtu, holds_sockets, &path, refusals)
    };
    row.stages.iter().enumerate().map(of_stage).collect()
}

/// Where the link stands in an experiment file.
fn path(topology: &Topology, index: usize, link: &Link) -> String {
    match topology.shape {
        Shape::Dumbbell { .. } | Shape::Graph(_) | Shape::Wlan(_) => {
            format!("topology.{}", link.id)
        }
        Shape::Chain { .. } if link.id == format!("link#{index}") => {
            format!("topology.link.{index}")
        }
        Shape::Chain { .. } => format!("topology.link.{}", link.id),
    }
}

/// Queue disciplines count bytes a second.
fn refuse_rate(rate: Rate, path: &str, refusals: &mut Refusals) {
    let bps = rate.as_bps();
    if rate != Rate::UNLIMITED && bps < 8 {
        let message = format!("{rate} is less than a byte a second; write \"8 bit/s\" or more");
        refusals.refuse(format!("{path}.rate"), message);
    }
}
