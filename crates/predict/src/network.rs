//! The links that data and acknowledgements cross, in both directions of each.

use std::collections::BTreeMap;

use fairway_spec::{Access, Experiment, Graph, Link, Multipath, Router, Shape};
use fairway_units::random::Stream;

use crate::refusal::Refusal;

/// One direction of a link.
pub(crate) struct LinkDirection<'a> {
    /// Its name in results.
    pub id: String,
    /// Its table in the experiment file.
    pub path: String,
    /// As it is written: its losses depend on the direction.
    pub link: &'a Link,
    /// Whether it leads towards the sinks.
    pub forward: bool,
}

/// The links of a flow: places in [`Network::all`], there and back.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Route {
    pub there: Vec<usize>,
    pub back: Vec<usize>,
}

/// Every direction of every link that is used, and the routes of all flows: connections and, behind
/// them, datagram flows.
pub(crate) struct Network<'a> {
    pub all: Vec<LinkDirection<'a>>,
    pub routes: Vec<Route>,
    /// Of links by what stands for them.
    known: BTreeMap<(usize, bool), usize>,
}

/// A flow's hosts, and whether it goes from right to left.
type Ends = ([usize; 2], bool);

impl<'a> Network<'a> {
    /// Finds the links of all flows.
    pub fn of(experiment: &'a Experiment) -> Result<Self, Refusal> {
        let connections = experiment.flows.iter().map(|flow| (flow.hosts, flow.reversed));
        let datagrams = experiment.datagrams.iter().map(|flow| (flow.hosts, flow.reversed));
        let ends: Vec<Ends> = connections.chain(datagrams).collect();
        let mut network = Network { all: Vec::new(), routes: Vec::new(), known: BTreeMap::new() };
        match &experiment.topology.shape {
            Shape::Dumbbell { bottleneck, access } => {
                network.dumbbell(bottleneck, access.as_ref(), &ends);
            }
            Shape::Chain { links } => network.chain(links, &ends),
            Shape::Graph(graph) => network.graph(graph, &ends, experiment.seed)?,
            Shape::Wlan(wlan) => network.wire(&wlan.server, &ends),
        }
        Ok(network)
    }

    /// The place of one direction of the link that `key` stands for.
    fn place(
        &mut self,
        key: usize,
        forward: bool,
        link: &'a Link,
        id: impl FnOnce() -> String,
        path: impl FnOnce() -> String,
    ) -> usize {
        if let Some(place) = self.known.get(&(key, forward)) {
            return *place;
        }
        let id = if forward { id() } else { format!("{}/reverse", id()) };
        self.all.push(LinkDirection { id, path: path(), link, forward });
        self.known.insert((key, forward), self.all.len() - 1);
        self.all.len() - 1
    }

    fn dumbbell(&mut self, bottleneck: &'a Link, access: Option<&'a Access>, ends: &[Ends]) {
        for (hosts, reversed) in ends {
            let mut cross = |forward: bool| {
                let mut links = Vec::with_capacity(3);
                let shared = || bottleneck.id.clone();
                let path = || "topology.bottleneck".to_owned();
                links.push(self.place(0, forward, bottleneck, shared, path));
                if let Some(Access { link, sides }) = access {
                    // Links on the left have odd keys, those on the right even ones.
                    for (side, letter) in
                        [(0, 's'), (1, 'd')].into_iter().filter(|(s, _)| sides[*s])
                    {
                        let host = hosts[side];
                        let id = || format!("{}/{letter}{host}", link.id);
                        let path = || "topology.access".to_owned();
                        let place = self.place(2 * host + 1 + side, forward, link, id, path);
                        links.insert(if (side == 0) == forward { 0 } else { links.len() }, place);
                    }
                }
                links
            };
            let (there, back) = (cross(!reversed), cross(*reversed));
            self.routes.push(Route { there, back });
        }
    }

    /// The wire between a server, host 0, and an access point.
    fn wire(&mut self, link: &'a Link, ends: &[Ends]) {
        for (hosts, _) in ends {
            let mut cross = |forward: bool| {
                let path = || "topology.server".to_owned();
                vec![self.place(0, forward, link, || link.id.clone(), path)]
            };
            let (there, back) = (cross(hosts[0] == 0), cross(hosts[0] != 0));
            self.routes.push(Route { there, back });
        }
    }

    fn chain(&mut self, links: &'a [Link], ends: &[Ends]) {
        for (_, reversed) in ends {
            let mut cross = |forward: bool| {
                let mut direction = Vec::with_capacity(links.len());
                for (key, link) in links.iter().enumerate() {
                    let path = || format!("topology.link.{}", link.id);
                    direction.push(self.place(key, forward, link, || link.id.clone(), path));
                }
                if !forward {
                    direction.reverse();
                }
                direction
            };
            let (there, back) = (cross(!reversed), cross(*reversed));
            self.routes.push(Route { there, back });
        }
    }

    fn graph(&mut self, graph: &'a Graph, ends: &[Ends], seed: u64) -> Result<(), Refusal> {
        let mut router = Router::new(graph);
        let mut turns: BTreeMap<[usize; 2], usize> = BTreeMap::new();
        for (index, (hosts, _)) in ends.iter().enumerate() {
            let turn = turns.entry(*hosts).or_default();
            // The same stream as the simulator's, so that each flow has the same way.
            let mut stream = Stream::new(seed, &format!("flow/{index}/route"));
            let mut route = Route::default();
            for there in [true, false] {
                let [from, to] = if there { *hosts } else { [hosts[1], hosts[0]] };
                let found = router.routes(from, to);
                let chosen = match (found.len(), graph.multipath) {
                    (0, _) => {
                        return Err(Refusal::new(
                            "topology.link",
                            "a flow has no direction to its sink",
                        ));
                    }
                    (1, _) => {
                        let _ = stream.below(1);
                        0
                    }
                    (_, Multipath::Packet) => {
                        let what = "packets that take several routes in turn are known to no model";
                        return Err(Refusal::new("topology.multipath", what));
                    }
                    (some, Multipath::Hash) => stream.below(some as u64) as usize,
                    (some, Multipath::InTurn) => *turn % some,
                };
                let mut links = Vec::with_capacity(found[chosen].len() + 2);
                for step in &found[chosen] {
                    let link = &graph.links[step.link].link;
                    let path = || format!("topology.link.{}", link.id);
                    let id = || link.id.clone();
                    links.push(self.place(step.link, step.forward, link, id, path));
                }
                if let Some(link) = &graph.access {
                    // Each end of each connection has a link of its own.
                    for (side, letter) in [(0, 's'), (1, 'd')] {
                        let key = graph.links.len() + 2 * index + side;
                        let id = || format!("{}/{letter}{index}", link.id);
                        let path = || "topology.access".to_owned();
                        let place = self.place(key, there, link, id, path);
                        links.insert(if (side == 0) == there { 0 } else { links.len() }, place);
                    }
                }
                if there {
                    route.there = links;
                } else {
                    route.back = links;
                }
            }
            self.routes.push(route);
            *turn += 1;
        }
        Ok(())
    }
}
