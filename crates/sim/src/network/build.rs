//! From a topology to link directions, and the path of each connection through them.

use std::collections::BTreeMap;

use fairway_net::impairment::SharedDraws;
use fairway_net::wlan::NodeId;
use fairway_net::{
    Link, LinkConfig, Port, PortConfig, Propagation, RateConfig, Schedule, Serialiser, Timing,
    Window, WireConfig,
};
use fairway_units::random::Stream;
use fairway_units::{Duration, Rate, Time};

use super::exits::{Exit, exits, express_links};
use super::lookahead::NetworkView;
use super::{Device, Network};
use crate::delivery_queues::DeliveryQueues;
use crate::event::AHEAD;
use crate::packet_handle::PacketHandle;
use crate::path_table::PathTable;
use fairway_spec::{Experiment, Extras, Graph, Link as LinkSpec, LinkDirection, Node, Shape};

impl Network {
    /// The network of an experiment, idle.
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let measure = experiment.measure;
        let links = fairway_spec::Network::of(experiment);
        let builder = Builder {
            experiment,
            window: Window { from: measure.from, to: measure.to },
            specs: specs(&links.directions, experiment.seed),
        };
        let routes = Routes::of(links.routes, experiment.flows.len());
        let reported = match &experiment.topology.shape {
            Shape::Dumbbell { .. } => vec![0, 1],
            Shape::Chain { links } => slowest_first(links),
            Shape::Graph(graph) => builder.used_links(graph, &routes),
            Shape::Wlan(wlan) => return builder.wlan(wlan),
        };
        builder.finish(routes, reported)
    }
}

pub(super) struct Builder<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) window: Window,
    pub(super) specs: Vec<Spec<'a>>,
}

/// One direction of a link, or a node of a cell.
pub(super) struct Spec<'a> {
    what: What<'a>,
    name: String,
    /// Where it begins and ends.
    pub(super) ends: [Node; 2],
    /// Towards the sinks.
    forward: bool,
    loss_probability: f64,
    watched: bool,
    /// Whether a sender waits for packets to leave it.
    is_awaited: bool,
    /// What both directions of a link draw their losses from, if those are replayed.
    pub(super) draws: Option<SharedDraws>,
}

#[derive(Clone, Copy)]
enum What<'a> {
    Link(&'a LinkSpec),
    /// The way out of a host, which takes no time.
    Host,
    Node(NodeId),
}

impl<'a> Spec<'a> {
    /// Nothing is lost on it and nothing reported.
    fn plain(what: What<'a>, name: String, ends: [Node; 2], forward: bool) -> Self {
        Spec {
            what,
            name,
            ends,
            forward,
            loss_probability: 0.0,
            watched: false,
            is_awaited: false,
            draws: None,
        }
    }

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

    /// Whether it is the way out of a host.
    pub(super) fn is_inside(&self) -> bool {
        matches!(self.what, What::Host)
    }

    /// Propagation delay.
    fn delay(&self) -> Duration {
        match self.what {
            What::Link(link) => link.delay,
            What::Host | What::Node(_) => Duration::ZERO,
        }
    }

    /// Packets take no less than this.
    pub(super) fn least_delay(&self) -> Duration {
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

/// The routes of every path, and what results say of each flow's.
#[derive(Default)]
pub(super) struct Routes {
    /// All routes, path by path.
    routes: Vec<Vec<u32>>,
    /// How many belong to each path.
    counts: Vec<u32>,
    /// For each flow, the route to its sink, where it had a choice.
    pub(super) chosen: Vec<Option<String>>,
}

impl Routes {
    /// Those of connections, which also lead back, and of datagram flows behind them.
    fn of(flows: Vec<fairway_spec::Routes>, connections: usize) -> Self {
        let mut all = Routes::default();
        for (index, flow) in flows.into_iter().enumerate() {
            all.add_path(flow.there);
            if index < connections {
                all.add_path(flow.back);
            }
            all.chosen.push(flow.chosen);
        }
        all
    }

    /// Adds a path with its routes.
    pub(super) fn add_path(&mut self, routes: Vec<Vec<u32>>) {
        self.counts.push(routes.len() as u32);
        self.routes.extend(routes);
    }

    /// All routes.
    pub(super) fn all(&self) -> impl Iterator<Item = &[u32]> {
        self.routes.iter().map(Vec::as_slice)
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

/// Both directions of the slowest link of a chain, and then those of the others.
fn slowest_first(links: &[LinkSpec]) -> Vec<u32> {
    let slowest = (0..links.len()).min_by_key(|i| links[*i].rate).unwrap_or(0);
    let others = (0..links.len()).filter(|i| *i != slowest);
    let order = [slowest].into_iter().chain(others);
    order.flat_map(|i| [2 * i as u32, 2 * i as u32 + 1]).collect()
}

/// The link directions as devices are made of them.
fn specs<'a>(directions: &[LinkDirection<'a>], seed: u64) -> Vec<Spec<'a>> {
    let pair = |pair: &[LinkDirection<'a>]| {
        let draws = pair[0].link.replayed_loss().map(|loss| loss.draws(seed));
        [0, 1].map(|way| {
            let LinkDirection { id, link, forward, ends, is_access } = &pair[way];
            Spec {
                loss_probability: link.loss_of(*forward).map_or(0.0, |loss| loss.probability),
                watched: !is_access,
                draws: draws.clone(),
                ..Spec::plain(What::Link(link.direction(*forward)), id.clone(), *ends, *forward)
            }
        })
    };
    directions.chunks(2).flat_map(pair).collect()
}

impl<'a> Builder<'a> {
    /// The links that are used, the slowest that any data cross first.
    fn used_links(&self, graph: &Graph, routes: &Routes) -> Vec<u32> {
        let mut used = vec![false; self.specs.len()];
        for link in routes.routes.iter().flatten() {
            used[*link as usize] = true;
        }
        let connections = 2 * self.experiment.flows.len();
        let is_data = |path: &usize| *path >= connections || path.is_multiple_of(2);
        let of_data = routes.paths().enumerate().filter(|(path, _)| is_data(path));
        let of_data = of_data.flat_map(|(_, routes)| routes.iter().flatten());
        let rate = |link: &u32| self.specs[*link as usize].rate();
        let slowest = of_data.min_by_key(|link| (rate(link), **link)).copied();
        let shared = 0..2 * graph.links.len() as u32;
        let others = shared.filter(|link| used[*link as usize] && Some(*link) != slowest);
        slowest.into_iter().chain(others).collect()
    }

    /// Adds a node of a cell.
    pub(super) fn node(&mut self, node: NodeId, name: String) -> u32 {
        let spec = Spec::plain(What::Node(node), name, [Node::Air(node); 2], true);
        self.specs.push(Spec { watched: true, ..spec });
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
        let regions = self.regions(&routes);
        (0..).zip(&mut express).for_each(|(link, express)| *express &= !regions.is_cut(link));
        let delays: Vec<Duration> = self.specs.iter().map(Spec::delay).collect();
        let (exits, shared_queues) = exits(paths, &express, &delays, &regions);
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
            in_own_rows_until: Time::ZERO,
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
            regions,
            leads_away: Vec::new(),
            departures: Vec::new(),
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
                    let name = format!("{}/host", self.specs[first as usize].name);
                    self.specs.push(Spec::plain(What::Host, name, [Node::Inside; 2], true));
                    (self.specs.len() - 1) as u32
                });
                route.insert(0, host);
            }
        }
    }
}
