//! From a topology to link directions, and the path of each connection through them.

use std::collections::BTreeMap;

use fairway_net::impairment::SharedDraws;
use fairway_net::wlan::NodeId;
use fairway_net::{
    Link, LinkConfig, Port, PortConfig, Propagation, RateConfig, Schedule, Serialiser, Timing,
    Window, WireConfig,
};
use fairway_units::random::Stream;
use fairway_units::{Duration, Rate};

use super::exits::{Exit, exits, express_links};
use super::lookahead::NetworkView;
use super::node::Node;
use super::{Device, Network};
use crate::delivery_queues::DeliveryQueues;
use crate::event::AHEAD;
use crate::packet_handle::PacketHandle;
use crate::path_table::PathTable;
use fairway_spec::{
    Access, Experiment, Extras, Graph, GraphLink, Link as LinkSpec, Multipath, Router, Shape, Step,
};

/// What the name of a link has behind it where packets go towards the sources.
pub(super) const REVERSE: &str = "/reverse";

impl Network {
    /// The network of an experiment, idle.
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let measure = experiment.measure;
        let builder = Builder {
            experiment,
            window: Window { from: measure.from, to: measure.to },
            specs: Vec::new(),
        };
        match &experiment.topology.shape {
            Shape::Dumbbell { bottleneck, access } => builder.dumbbell(bottleneck, access.as_ref()),
            Shape::Chain { links } => builder.chain(links),
            Shape::Graph(graph) => builder.graph(graph),
            Shape::Wlan(wlan) => builder.wlan(wlan),
        }
    }
}

pub(super) struct Builder<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) window: Window,
    specs: Vec<Spec<'a>>,
}

/// One direction of a link, or a node of a cell.
struct Spec<'a> {
    what: What<'a>,
    name: String,
    /// Where it begins and ends.
    ends: [Node; 2],
    /// Towards the sinks.
    forward: bool,
    loss_probability: f64,
    watched: bool,
    /// Whether a sender waits for packets to leave it.
    is_awaited: bool,
    /// What both directions of a link draw their losses from, if those are replayed.
    draws: Option<SharedDraws>,
}

#[derive(Clone, Copy)]
enum What<'a> {
    Link(&'a LinkSpec),
    /// The way out of a host, which takes no time.
    Host,
    Node(NodeId),
}

impl Spec<'_> {
    /// Whether it is a port or a node: whether more than its arrivals decides when a packet leaves.
    fn is_port(&self) -> bool {
        match self.what {
            What::Link(link) => {
                link.queue.on_arrival().is_none() || link.extras.is_some() || self.is_awaited
            }
            What::Host => false,
            What::Node(_) => true,
        }
    }

    /// Propagation delay.
    fn delay(&self) -> Duration {
        match self.what {
            What::Link(link) => link.delay,
            What::Host | What::Node(_) => Duration::ZERO,
        }
    }

    /// Packets take no less than this.
    fn least_delay(&self) -> Duration {
        match self.what {
            What::Link(link) if link.extras.is_none() => link.delay,
            What::Link(_) | What::Host | What::Node(_) => Duration::ZERO,
        }
    }

    /// Rate, of what has one.
    fn rate(&self) -> Rate {
        match self.what {
            What::Link(link) => link.rate,
            What::Host | What::Node(_) => Rate::UNLIMITED,
        }
    }

    fn device(&self, framing: Framing, exit: Exit, window: Window, seed: u64) -> Device {
        let Spec { what, name, loss_probability, watched, .. } = self;
        let link = match what {
            What::Link(link) => link,
            What::Host => return Device::Link(Link::plain(), exit),
            What::Node(node) => return Device::Node(*node),
        };
        let (loss_probability, watched) = (*loss_probability, *watched);
        let queue = match link.queue.on_arrival() {
            Some(queue) if !self.is_port() => queue,
            _ => return Device::Port(Box::new(self.port(link, framing, window, seed))),
        };
        let config = LinkConfig {
            rate: link.rate,
            delay: link.delay,
            frame_overhead: framing.overhead,
            queue,
            loss_probability,
            watched,
            timing: framing.timing,
        };
        Device::Link(Link::new(&config, window, seed, name), exit)
    }

    fn port(
        &self,
        link: &LinkSpec,
        framing: Framing,
        window: Window,
        seed: u64,
    ) -> Port<PacketHandle> {
        let Spec { name, forward, loss_probability, watched, .. } = self;
        let constant = || Schedule::constant(link.rate, link.delay);
        let (wire, rate, schedule) = match link.extras.as_deref() {
            None => {
                let wire = WireConfig::losing(*loss_probability);
                (wire, RateConfig::Constant(link.rate), constant())
            }
            Some(Extras { wires, rate, schedule }) => {
                (wires[usize::from(!forward)].clone(), rate.clone(), schedule.clone())
            }
        };
        let config = PortConfig {
            propagation: Propagation::new(&schedule),
            frame_overhead: framing.overhead,
            wire,
            watched: *watched,
        };
        let rate = match rate {
            RateConfig::Constant(rate) => Box::new(Serialiser::timed(rate, framing.timing)),
            varying => varying.model(seed, name),
        };
        let qdisc = link.queue.build(Stream::new(seed, &format!("{name}/queue")));
        let mut port = Port::new(qdisc, rate, config, window, seed, name);
        self.draws.iter().for_each(|draws| port.share(draws));
        port
    }
}

/// What all links have in common.
#[derive(Clone, Copy)]
struct Framing {
    /// Bytes added to every packet.
    overhead: u32,
    timing: Timing,
}

/// A connection, whose packets go there and back, or a datagram flow, whose packets go there.
#[derive(Clone, Copy)]
pub(super) struct Traveller {
    pub(super) hosts: [usize; 2],
    reversed: bool,
    pub(super) returns: bool,
}

/// All connections, and then all datagram flows: the order of the paths.
pub(super) fn travellers(experiment: &Experiment) -> Vec<Traveller> {
    let connections = experiment.flows.iter().map(|flow| Traveller {
        hosts: flow.hosts,
        reversed: flow.reversed,
        returns: true,
    });
    let datagrams = experiment.datagrams.iter().map(|flow| Traveller {
        hosts: flow.hosts,
        reversed: flow.reversed,
        returns: false,
    });
    connections.chain(datagrams).collect()
}

/// The routes of every way, and what results say of each traveller's.
#[derive(Default)]
pub(super) struct Routes {
    /// All routes, path by path.
    routes: Vec<Vec<u32>>,
    /// How many belong to each path.
    counts: Vec<u32>,
    /// For each traveller, the route to its sink, where it had a choice.
    chosen: Vec<Option<String>>,
}

impl Routes {
    /// Adds a traveller between left and right, given the links to the right and those to the left.
    pub(super) fn add(&mut self, traveller: Traveller, right: Vec<u32>, left: Vec<u32>) {
        let paths = if traveller.reversed { [left, right] } else { [right, left] };
        let count = if traveller.returns { 2 } else { 1 };
        self.routes.extend(paths.into_iter().take(count));
        self.counts.extend(std::iter::repeat_n(1, count));
        self.chosen.push(None);
    }

    /// The routes of each path.
    fn paths(&self) -> impl Iterator<Item = &[Vec<u32>]> {
        let mut rest = &self.routes[..];
        self.counts.iter().map(move |count| {
            let (path, behind) = rest.split_at(*count as usize);
            rest = behind;
            path
        })
    }
}

impl<'a> Builder<'a> {
    fn dumbbell(mut self, bottleneck: &'a LinkSpec, access: Option<&'a Access>) -> Network {
        let sides = [Node::Left, Node::Right];
        let shared = self.both_ways(bottleneck, &bottleneck.id, sides, true);
        let travellers = travellers(self.experiment);
        // Links of the hosts on the left and on the right.
        let mut hosts = [Vec::new(), Vec::new()];
        if let Some(Access { link, sides }) = access {
            let last = |side: usize| travellers.iter().map(|one| one.hosts[side]).max();
            let counts = [0, 1].map(|side| last(side).map_or(0, |last| last + 1));
            for host in 0..counts[0].max(counts[1]) {
                let (source, sink) = (Node::Source(host as u32), Node::Sink(host as u32));
                for (side, ends) in [[source, Node::Left], [Node::Right, sink]].iter().enumerate() {
                    if sides[side] && host < counts[side] {
                        let name = format!("{}/{}", link.id, [source, sink][side]);
                        hosts[side].push(self.both_ways(link, &name, *ends, false));
                    }
                }
            }
        }
        let mut routes = Routes::default();
        for traveller in travellers {
            let own = |side: usize| hosts[side].get(traveller.hosts[side]);
            let links = own(0).into_iter().chain([&shared]).chain(own(1));
            let right = links.clone().map(|link| link[0]).collect();
            let left = links.rev().map(|link| link[1]).collect();
            routes.add(traveller, right, left);
        }
        self.finish(routes, shared.to_vec())
    }

    fn chain(mut self, links: &'a [LinkSpec]) -> Network {
        let sides = [Node::Left, Node::Right];
        let pairs: Vec<[u32; 2]> =
            links.iter().map(|link| self.both_ways(link, &link.id, sides, true)).collect();
        let right: Vec<u32> = pairs.iter().map(|p| p[0]).collect();
        let left: Vec<u32> = pairs.iter().rev().map(|p| p[1]).collect();
        let mut routes = Routes::default();
        for traveller in travellers(self.experiment) {
            routes.add(traveller, right.clone(), left.clone());
        }
        let slowest = (0..links.len()).min_by_key(|i| links[*i].rate).unwrap_or(0);
        let mut reported = pairs[slowest].to_vec();
        reported
            .extend(pairs.iter().enumerate().filter(|(i, _)| *i != slowest).flat_map(|(_, p)| p));
        self.finish(routes, reported)
    }

    fn graph(mut self, graph: &'a Graph) -> Network {
        let add = |l: &'a GraphLink| {
            let ends = [l.from, l.to].map(|node| Node::Named(node as u32));
            self.both_ways(&l.link, &l.link.id, ends, true)
        };
        let pairs: Vec<[u32; 2]> = graph.links.iter().map(add).collect();
        let routes = self.routes(graph, &pairs);
        let mut used = vec![false; self.specs.len()];
        for link in routes.routes.iter().flatten() {
            used[*link as usize] = true;
        }
        // The slowest link that any data cross comes first.
        let connections = 2 * self.experiment.flows.len();
        let is_data = |path: &usize| *path >= connections || path.is_multiple_of(2);
        let of_data = routes.paths().enumerate().filter(|(path, _)| is_data(path));
        let of_data = of_data.flat_map(|(_, routes)| routes.iter().flatten());
        let rate = |link: &u32| match self.specs[*link as usize].what {
            What::Link(link) => link.rate,
            What::Host | What::Node(_) => Rate::UNLIMITED,
        };
        let slowest = of_data.min_by_key(|link| (rate(link), **link)).copied();
        let others = pairs.iter().flatten().copied();
        let others = others.filter(|link| used[*link as usize] && Some(*link) != slowest);
        let reported = slowest.into_iter().chain(others).collect();
        self.finish(routes, reported)
    }

    /// The paths of all travellers through a graph.
    fn routes(&mut self, graph: &'a Graph, pairs: &[[u32; 2]]) -> Routes {
        let mut router = Router::new(graph);
        let mut turns: BTreeMap<[usize; 2], usize> = BTreeMap::new();
        let mut routes = Routes::default();
        for (index, traveller) in travellers(self.experiment).into_iter().enumerate() {
            let turn = turns.entry(traveller.hosts).or_default();
            let mut stream = Stream::new(self.experiment.seed, &format!("flow/{index}/route"));
            let [from, to] = traveller.hosts.map(|node| Node::Named(node as u32));
            let (source, sink) = (Node::Source(index as u32), Node::Sink(index as u32));
            let access = graph.access.as_ref().map(|link| {
                [(source, [source, from]), (sink, [to, sink])].map(|(host, ends)| {
                    self.both_ways(link, &format!("{}/{host}", link.id), ends, false)
                })
            });
            for forward in [true, false].into_iter().take(if traveller.returns { 2 } else { 1 }) {
                let [from, to] = traveller.hosts;
                let (from, to) = if forward { (from, to) } else { (to, from) };
                let all = router.routes(from, to);
                let picked = match graph.multipath {
                    Multipath::Hash => vec![stream.below(all.len() as u64) as usize],
                    Multipath::InTurn => vec![*turn % all.len()],
                    Multipath::Packet => (0..all.len()).collect(),
                };
                if forward {
                    routes.chosen.push((all.len() > 1).then(|| name(graph, &all, &picked)));
                }
                for route in &picked {
                    let links = all[*route].iter();
                    let mut links: Vec<u32> =
                        links.map(|step| pairs[step.link][usize::from(!step.forward)]).collect();
                    if let Some([source, sink]) = access {
                        let (first, last) =
                            if forward { (source[0], sink[0]) } else { (sink[1], source[1]) };
                        links.insert(0, first);
                        links.push(last);
                    }
                    routes.routes.push(links);
                }
                routes.counts.push(picked.len() as u32);
            }
            *turn += 1;
        }
        routes
    }

    /// Adds both directions of a link: towards the sinks and back.
    pub(super) fn both_ways(
        &mut self,
        spec: &'a LinkSpec,
        name: &str,
        ends: [Node; 2],
        watched: bool,
    ) -> [u32; 2] {
        let seed = self.experiment.seed;
        let draws = spec.replayed_loss().map(|loss| loss.draws(seed));
        let back = [ends[1], ends[0]];
        let directions = [(name.to_owned(), ends, true), (format!("{name}{REVERSE}"), back, false)];
        directions.map(|(name, ends, forward)| {
            self.one_way(spec, name, ends, forward, watched, draws.clone())
        })
    }

    fn one_way(
        &mut self,
        spec: &'a LinkSpec,
        name: String,
        ends: [Node; 2],
        forward: bool,
        watched: bool,
        draws: Option<SharedDraws>,
    ) -> u32 {
        let loss_probability = spec.loss_of(forward).map_or(0.0, |loss| loss.probability);
        let what = What::Link(spec.direction(forward));
        let is_awaited = false;
        self.specs.push(Spec {
            what,
            name,
            ends,
            forward,
            loss_probability,
            watched,
            is_awaited,
            draws,
        });
        (self.specs.len() - 1) as u32
    }

    /// Adds a node of a cell.
    pub(super) fn node(&mut self, node: NodeId, name: String) -> u32 {
        let what = What::Node(node);
        let (forward, loss_probability, watched) = (true, 0.0, true);
        let (ends, is_awaited) = ([Node::Air(node); 2], false);
        self.specs.push(Spec {
            what,
            name,
            ends,
            forward,
            loss_probability,
            watched,
            is_awaited,
            draws: None,
        });
        (self.specs.len() - 1) as u32
    }

    pub(super) fn finish(mut self, mut routes: Routes, reported: Vec<u32>) -> Network {
        self.wait_at_first_links(&routes);
        self.begin_at_hosts(&mut routes);
        let paths = &routes.routes;
        let mut express = express_links(paths, self.specs.len());
        // A link that is watched, or a port, has to see packets when they arrive, not before.
        for pair in paths.iter().flat_map(|path| path.windows(2)) {
            let [this, next] = [pair[0], pair[1]].map(|index| index as usize);
            express[this] &= !self.specs[next].watched && !self.specs[next].is_port();
        }
        for (express, spec) in express.iter_mut().zip(&self.specs) {
            *express &= !spec.is_port();
        }
        let delays: Vec<Duration> = self.specs.iter().map(Spec::delay).collect();
        let (exits, shared_queues) = exits(paths, &express, &delays);
        let lookahead = NetworkView {
            routes: paths,
            counts: &routes.counts,
            paired: 2 * self.experiment.flows.len(),
            exits: &exits,
            parts: &self.parts(),
            least: &self.specs.iter().map(Spec::least_delay).collect::<Vec<_>>(),
            shared_queues,
        }
        .lookahead(AHEAD);
        let overhead = self.experiment.topology.frame_overhead.get();
        let framing = Framing {
            overhead: u32::try_from(overhead).unwrap_or(u32::MAX),
            timing: self.experiment.topology.timing,
        };
        let seed = self.experiment.seed;
        let device = |(spec, exit): (&Spec, Exit)| spec.device(framing, exit, self.window, seed);
        let devices = self.specs.iter().zip(exits).map(device).collect();
        let paths = self.specs.iter().map(|spec| (spec.rate(), spec.delay())).collect();
        let ends = self.specs.iter().map(|spec| spec.ends).collect();
        let names: Vec<String> = self.specs.into_iter().map(|spec| spec.name).collect();
        Network {
            timing: framing.timing,
            devices,
            medium: None,
            delivered: vec![0; names.len()],
            queues: DeliveryQueues::new(shared_queues + names.len()),
            names,
            ends,
            paths,
            reported,
            path_table: PathTable::new(routes.paths()),
            routes: routes.chosen,
            shared_queues: shared_queues as u32,
            lookahead,
            link_events: Vec::new(),
        }
    }
}

impl Builder<'_> {
    /// What each link is a part of: itself, but for the nodes of a cell, which share a medium.
    fn parts(&self) -> Vec<u32> {
        let is_node = |spec: &Spec| matches!(spec.what, What::Node(_));
        let medium = self.specs.iter().position(is_node).unwrap_or(0);
        let parts = self.specs.iter().enumerate();
        parts.map(|(link, spec)| if is_node(spec) { medium } else { link } as u32).collect()
    }

    /// A link whose packets take room in their senders' buffers has to say when they leave.
    fn wait_at_first_links(&mut self, routes: &Routes) {
        let of_datagrams = routes.paths().skip(2 * self.experiment.flows.len());
        for (flow, routes) in self.experiment.datagrams.iter().zip(of_datagrams) {
            for route in routes.iter().filter(|_| flow.send_buffer.is_some()) {
                self.specs[route[0] as usize].is_awaited = true;
            }
        }
    }

    /// A host that takes its time to send offers packets for later, and a port takes only those that
    /// are there: between them is a link on which they are until then.
    fn begin_at_hosts(&mut self, routes: &mut Routes) {
        let flows = &self.experiment.flows;
        if flows.iter().all(|flow| flow.stack.sending.send_jitter == Duration::ZERO) {
            return;
        }
        let mut in_front: BTreeMap<u32, u32> = BTreeMap::new();
        for route in &mut routes.routes {
            let first = route[0];
            if self.specs[first as usize].is_port() {
                let host = *in_front.entry(first).or_insert_with(|| {
                    self.specs.push(Spec {
                        what: What::Host,
                        name: format!("{}/host", self.specs[first as usize].name),
                        ends: [Node::Inside; 2],
                        forward: true,
                        loss_probability: 0.0,
                        watched: false,
                        is_awaited: false,
                        draws: None,
                    });
                    (self.specs.len() - 1) as u32
                });
                route.insert(0, host);
            }
        }
    }
}

/// The links of a route that not all have, or of how many routes one is taken after the other.
fn name(graph: &Graph, all: &[Vec<Step>], picked: &[usize]) -> String {
    match picked {
        [one] => {
            // What all have in common tells nothing.
            let own = |step: &&Step| !all.iter().all(|route| route.contains(step));
            let links = all[*one].iter().filter(own);
            let links = links.map(|step| graph.links[step.link].link.id.as_str());
            links.collect::<Vec<_>>().join(" > ")
        }
        _ => format!("{} routes in turn", picked.len()),
    }
}
