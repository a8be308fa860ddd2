//! Regions of a network, which may be simulated side by side.
//!
//! What happens in one region reaches another only over a link, and takes at least that link's delay.
//! Regions follow from the experiment alone, not from the number of processors: links between them have
//! delivery queues of their own, and that decides the order of events at the same time.

use fairway_spec::{Experiment, Flow, Node, Shape};
use fairway_units::Duration;

use super::bisection::WeightedGraph;
use super::build::{Builder, Routes};

/// Networks with fewer routers are one region: there is little to be gained, and a packet on a link
/// between regions costs more than another.
const LEAST_ROUTERS: usize = 64;
/// About so many routers make a region.
const ROUTERS_OF_REGION: usize = 8;
/// There are `2^DEPTH` regions at most: more than processors that one run is worth.
const DEEPEST: u32 = 4;
/// What the ends of a path cost beside a packet's crossing of a link: a segment is handled, and
/// another one sent.
const WEIGHT_OF_ENDS: u64 = 3;

/// The region of each link direction's beginning and end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    of_links: Vec<[u32; 2]>,
    count: u32,
}

impl Regions {
    /// One region with so many links.
    pub(super) fn one(links: usize) -> Self {
        Regions { of_links: vec![[0; 2]; links], count: 1 }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// Where a link direction begins.
    pub(super) fn beginning_of(&self, link: u32) -> u32 {
        self.of_links[link as usize][0]
    }

    /// Where a link direction ends.
    pub(crate) fn end_of(&self, link: u32) -> u32 {
        self.of_links[link as usize][1]
    }

    /// Whether a link leads from one region to another.
    pub(super) fn is_cut(&self, link: u32) -> bool {
        let [from, to] = self.of_links[link as usize];
        from != to
    }

    /// As many as `count` regions, each of several neighbouring ones.
    pub(crate) fn merged(&self, count: u32) -> Regions {
        let count = count.clamp(1, self.count);
        let merged = |region: u32| region * count / self.count;
        let of_links = self.of_links.iter().map(|ends| ends.map(merged)).collect();
        Regions { of_links, count }
    }
}

/// What is simulated at one place: a region, of one or several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region<'a> {
    pub(crate) regions: &'a Regions,
    pub(crate) index: u32,
}

impl Region<'_> {
    /// Whether a link begins here: its queue is here, and whoever sends into it.
    pub(crate) fn has_beginning_of(&self, link: u32) -> bool {
        self.regions.of_links[link as usize][0] == self.index
    }

    /// Whether a link ends here.
    pub(crate) fn has_end_of(&self, link: u32) -> bool {
        self.regions.of_links[link as usize][1] == self.index
    }

    /// Whether a link leads from here to another region.
    pub(super) fn is_left_by(&self, link: u32) -> bool {
        self.has_beginning_of(link) && !self.has_end_of(link)
    }
}

impl Builder<'_> {
    /// The regions of the network: routers with their hosts, split where few packets pass.
    pub(super) fn regions(&self, routes: &Routes) -> Regions {
        let links = self.specs.len();
        let Shape::Graph(graph) = &self.experiment.topology.shape else {
            return Regions::one(links);
        };
        let routers = graph.nodes.len();
        if routers < LEAST_ROUTERS {
            return Regions::one(links);
        }
        let depth = (routers / ROUTERS_OF_REGION).ilog2().min(DEEPEST);
        let mut joined = Joined::new(routers);
        let ends: Vec<[u32; 2]> = (0..links).map(|link| self.routers_of(link)).collect();
        for (spec, [from, to]) in self.specs.iter().zip(&ends) {
            if spec.least_delay() == Duration::ZERO || spec.draws.is_some() {
                joined.join(*from, *to);
            }
        }
        together(self.experiment).for_each(|[from, to]| joined.join(from as u32, to as u32));
        let of_router = joined.split(&self.traffic(routes, &ends, routers), depth);
        let region = |router: u32| of_router[router as usize];
        let mut of_links: Vec<[u32; 2]> = ends.iter().map(|ends| ends.map(region)).collect();
        // The way out of a host begins and ends where its first link begins.
        for route in routes.all().filter(|route| self.specs[route[0] as usize].is_inside()) {
            of_links[route[0] as usize] = [of_links[route[1] as usize][0]; 2];
        }
        Regions { of_links, count: 1 << depth }
    }

    /// The routers at the ends of a link; a host belongs to its router.
    fn routers_of(&self, link: usize) -> [u32; 2] {
        let router = |node: Node| match node {
            Node::Named(router) => Some(router),
            _ => None,
        };
        let [from, to] = self.specs[link].ends.map(router);
        let any = from.or(to).unwrap_or(0);
        [from.unwrap_or(any), to.unwrap_or(any)]
    }

    /// How much happens at each router, and how much between them, by the number of paths.
    fn traffic(&self, routes: &Routes, ends: &[[u32; 2]], routers: usize) -> WeightedGraph {
        let mut graph = WeightedGraph::new(routers);
        for route in routes.all() {
            for link in route {
                let [from, to] = ends[*link as usize];
                graph.add_weight(from, 1);
                if from != to {
                    graph.add_edge(from, to, 1);
                }
            }
            let last = ends[route[route.len() - 1] as usize];
            graph.add_weight(last[1], WEIGHT_OF_ENDS);
        }
        graph
    }
}

/// The routers at the ends of flows whose two ends know of each other at once.
fn together(experiment: &Experiment) -> impl Iterator<Item = [usize; 2]> {
    let is_together = |flow: &&Flow| flow.stop.is_some() || flow.sink_opens || flow.both_ways;
    let connections = experiment.flows.iter().filter(is_together).map(|flow| flow.hosts);
    connections.chain(experiment.datagrams.iter().map(|flow| flow.hosts))
}

/// Routers that have to be in one region.
struct Joined {
    /// A router of the same region, itself if it stands for all of them.
    parents: Vec<u32>,
}

impl Joined {
    fn new(routers: usize) -> Self {
        Joined { parents: (0..routers as u32).collect() }
    }

    fn root(&mut self, router: u32) -> u32 {
        let mut at = router;
        while self.parents[at as usize] != at {
            let parent = self.parents[at as usize];
            self.parents[at as usize] = self.parents[parent as usize];
            at = parent;
        }
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// The region of each router.
    fn split(mut self, traffic: &WeightedGraph, depth: u32) -> Vec<u32> {
        let roots: Vec<u32> = (0..self.parents.len() as u32).map(|at| self.root(at)).collect();
        let parts = traffic.merged(&roots).parts(depth);
        roots.iter().map(|root| parts[*root as usize]).collect()
    }
}
