//! The links of a network, each in both directions, and those that each flow crosses.

use std::collections::BTreeMap;

use fairway_net::wlan::NodeId;
use fairway_units::random::Stream;

use crate::{Access, Experiment, Graph, Link, Multipath, Node, Router, Shape, Step};

/// What the name of a link has behind it where packets go towards the sources.
pub const REVERSE: &str = "/reverse";

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct LinkDirection<'a> {
    /// Its name in results.
    pub id: String,
    /// The link as it is written; its losses depend on the direction.
    pub link: &'a Link,
    /// Whether it leads towards the sinks.
    pub forward: bool,
    /// Where it begins and ends.
    pub ends: [Node; 2],
    /// Whether it is a host's own.
    pub is_access: bool,
}

/// The routes of a flow: places in [`Network::directions`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Routes {
    /// To its sink; several if packets take them in turn.
    pub there: Vec<Vec<u32>>,
    /// Back to its source.
    pub back: Vec<Vec<u32>>,
    /// Name of the route to its sink, where there is a choice.
    pub chosen: Option<String>,
}

/// The links of a network and the routes over them.
#[derive(Clone, Debug, Default)]
pub struct Network<'a> {
    /// Both directions of each link, the one towards the sinks first.
    pub directions: Vec<LinkDirection<'a>>,
    /// Of each connection and, behind them, of each datagram flow. In a WLAN, over the wire alone.
    pub routes: Vec<Routes>,
}

/// A flow's hosts, and whether it goes from right to left.
type Ends = ([usize; 2], bool);

impl<'a> Network<'a> {
    /// The network of an experiment.
    pub fn of(experiment: &'a Experiment) -> Self {
        let connections = experiment.flows.iter().map(|flow| (flow.hosts, flow.reversed));
        let datagrams = experiment.datagrams.iter().map(|flow| (flow.hosts, flow.reversed));
        let flows: Vec<Ends> = connections.chain(datagrams).collect();
        let mut network = Network::default();
        match &experiment.topology.shape {
            Shape::Dumbbell { bottleneck, access } => {
                network.dumbbell(bottleneck, access.as_ref(), &flows);
            }
            Shape::Chain { links } => network.chain(links, &flows),
            Shape::Graph(graph) => network.graph(graph, &flows, experiment.seed),
            Shape::Wlan(wlan) => {
                let ends = [Node::Server, Node::Air(NodeId::AccessPoint)];
                let wire = network.add(&wlan.server, wlan.server.id.clone(), ends, false);
                for (hosts, _) in &flows {
                    network.add_routes(hosts[0] != 0, vec![wire[0]], vec![wire[1]]);
                }
            }
        }
        network
    }

    /// Adds both directions of a link: towards the sinks and back.
    fn add(&mut self, link: &'a Link, id: String, ends: [Node; 2], is_access: bool) -> [u32; 2] {
        let first = self.directions.len() as u32;
        let (reverse, back) = (format!("{id}{REVERSE}"), [ends[1], ends[0]]);
        self.directions.extend([
            LinkDirection { id, link, forward: true, ends, is_access },
            LinkDirection { id: reverse, link, forward: false, ends: back, is_access },
        ]);
        [first, first + 1]
    }

    /// Adds the routes of a flow, given the links to the right and those to the left.
    fn add_routes(&mut self, reversed: bool, right: Vec<u32>, left: Vec<u32>) {
        let (there, back) = if reversed { (left, right) } else { (right, left) };
        self.routes.push(Routes { there: vec![there], back: vec![back], chosen: None });
    }

    fn dumbbell(&mut self, bottleneck: &'a Link, access: Option<&'a Access>, flows: &[Ends]) {
        let shared = self.add(bottleneck, bottleneck.id.clone(), [Node::Left, Node::Right], false);
        // Links of the hosts on the left and on the right.
        let mut hosts = [Vec::new(), Vec::new()];
        if let Some(Access { link, sides }) = access {
            let last = |side: usize| flows.iter().map(|(hosts, _)| hosts[side]).max();
            let counts = [0, 1].map(|side| last(side).map_or(0, |last| last + 1));
            for host in 0..counts[0].max(counts[1]) {
                let (source, sink) = (Node::Source(host as u32), Node::Sink(host as u32));
                for (side, ends) in [[source, Node::Left], [Node::Right, sink]].iter().enumerate() {
                    if sides[side] && host < counts[side] {
                        let id = format!("{}/{}", link.id, [source, sink][side]);
                        hosts[side].push(self.add(link, id, *ends, true));
                    }
                }
            }
        }
        for (of_flow, reversed) in flows {
            let own = |side: usize| hosts[side].get(of_flow[side]);
            let links = own(0).into_iter().chain([&shared]).chain(own(1));
            let right = links.clone().map(|link| link[0]).collect();
            let left = links.rev().map(|link| link[1]).collect();
            self.add_routes(*reversed, right, left);
        }
    }

    fn chain(&mut self, links: &'a [Link], flows: &[Ends]) {
        let ends = [Node::Left, Node::Right];
        let pairs: Vec<[u32; 2]> =
            links.iter().map(|link| self.add(link, link.id.clone(), ends, false)).collect();
        let right: Vec<u32> = pairs.iter().map(|pair| pair[0]).collect();
        let left: Vec<u32> = pairs.iter().rev().map(|pair| pair[1]).collect();
        for (_, reversed) in flows {
            self.add_routes(*reversed, right.clone(), left.clone());
        }
    }

    fn graph(&mut self, graph: &'a Graph, flows: &[Ends], seed: u64) {
        for link in &graph.links {
            let ends = [link.from, link.to].map(|node| Node::Named(node as u32));
            self.add(&link.link, link.link.id.clone(), ends, false);
        }
        let mut router = Router::new(graph);
        let mut turns: BTreeMap<[usize; 2], usize> = BTreeMap::new();
        for (index, (hosts, _)) in flows.iter().enumerate() {
            let [from, to] = hosts.map(|node| Node::Named(node as u32));
            let (source, sink) = (Node::Source(index as u32), Node::Sink(index as u32));
            let access = graph.access.as_ref().map(|link| {
                [(source, [source, from]), (sink, [to, sink])]
                    .map(|(host, ends)| self.add(link, format!("{}/{host}", link.id), ends, true))
            });
            let turn = turns.entry(*hosts).or_default();
            let mut stream = Stream::new(seed, &format!("flow/{index}/route"));
            let mut routes = Routes::default();
            for forward in [true, false] {
                let [from, to] = if forward { *hosts } else { [hosts[1], hosts[0]] };
                let all = router.routes(from, to);
                let picked = match graph.multipath {
                    Multipath::Hash => vec![stream.below(all.len() as u64) as usize],
                    Multipath::InTurn => vec![*turn % all.len()],
                    Multipath::Packet => (0..all.len()).collect(),
                };
                let links = picked.iter().map(|route| crossed(&all[*route], access, forward));
                if forward {
                    routes.there = links.collect();
                    routes.chosen = (all.len() > 1).then(|| name(graph, &all, &picked));
                } else {
                    routes.back = links.collect();
                }
            }
            self.routes.push(routes);
            *turn += 1;
        }
    }
}

/// The link directions of a route through a graph, with the hosts' own at both ends.
fn crossed(route: &[Step], access: Option<[[u32; 2]; 2]>, forward: bool) -> Vec<u32> {
    let direction = |step: &Step| 2 * step.link as u32 + u32::from(!step.forward);
    let mut links: Vec<u32> = route.iter().map(direction).collect();
    if let Some([source, sink]) = access {
        let (first, last) = if forward { (source[0], sink[0]) } else { (sink[1], source[1]) };
        links.insert(0, first);
        links.push(last);
    }
    links
}

/// The links of a route that not all have, or of how many routes one is taken after the other.
fn name(graph: &Graph, all: &[Vec<Step>], picked: &[usize]) -> String {
    let [one] = picked else { return format!("{} routes in turn", picked.len()) };
    // What all have in common tells nothing.
    let own = |step: &&Step| !all.iter().all(|route| route.contains(step));
    let links = all[*one].iter().filter(own).map(|step| graph.links[step.link].link.id.as_str());
    links.collect::<Vec<_>>().join(" > ")
}
