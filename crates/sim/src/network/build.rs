//! From a topology to link directions, and the way of each connection through them.

use fairway_net::{
    Link, LinkConfig, Port, PortConfig, Propagation, QueueConfig, Serialiser, Window, WireConfig,
};
use fairway_random::Stream;
use fairway_units::Duration;

use super::exits::{Exit, exits, express_links};
use super::{Device, Network};
use crate::experiment::{Experiment, Link as LinkSpec, Queue, Shape};
use crate::rows::Rows;
use crate::ways::Ways;

impl Network {
    /// The network of an experiment, idle.
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let measure = experiment.measure;
        let mut builder = Builder {
            experiment,
            window: Window { from: measure.from, to: measure.to },
            specs: Vec::new(),
        };
        let of_connections = experiment.flows.iter().map(|flow| flow.host);
        let of_datagrams = experiment.datagrams.iter().map(|flow| flow.host);
        let hosts = of_connections.chain(of_datagrams).map(|host| host + 1).max().unwrap_or(0);
        match &experiment.topology.shape {
            Shape::Dumbbell { bottleneck, access } => {
                let shared = builder.both_ways(bottleneck, &bottleneck.id, true);
                let access: Option<Vec<[[u32; 2]; 2]>> = access.as_ref().map(|link| {
                    (0..hosts)
                        .map(|host| {
                            let source =
                                builder.both_ways(link, &format!("{}/s{host}", link.id), false);
                            let sink =
                                builder.both_ways(link, &format!("{}/d{host}", link.id), false);
                            [source, sink]
                        })
                        .collect()
                });
                let both_ways = |host: usize| match &access {
                    None => [vec![shared[0]], vec![shared[1]]],
                    Some(access) => {
                        let [source, sink] = access[host];
                        let forward = vec![source[0], shared[0], sink[0]];
                        [forward, vec![sink[1], shared[1], source[1]]]
                    }
                };
                let ways = all_ways(experiment, both_ways);
                builder.finish(&ways, shared.to_vec())
            }
            Shape::Chain { links } => {
                let pairs: Vec<[u32; 2]> =
                    links.iter().map(|link| builder.both_ways(link, &link.id, true)).collect();
                let forward: Vec<u32> = pairs.iter().map(|p| p[0]).collect();
                let reverse: Vec<u32> = pairs.iter().rev().map(|p| p[1]).collect();
                let ways = all_ways(experiment, |_| [forward.clone(), reverse.clone()]);
                let slowest = (0..links.len()).min_by_key(|i| links[*i].rate).unwrap_or(0);
                let mut reported = pairs[slowest].to_vec();
                reported.extend(
                    pairs.iter().enumerate().filter(|(i, _)| *i != slowest).flat_map(|(_, p)| p),
                );
                builder.finish(&ways, reported)
            }
        }
    }
}

/// The ways of every connection, there and back, and then those of the datagram flows; `both_ways`
/// gives those between a pair of hosts.
fn all_ways(experiment: &Experiment, both_ways: impl Fn(usize) -> [Vec<u32>; 2]) -> Vec<Vec<u32>> {
    let mut ways: Vec<_> = experiment.flows.iter().flat_map(|flow| both_ways(flow.host)).collect();
    ways.extend(experiment.datagrams.iter().map(|flow| {
        let [forward, _] = both_ways(flow.host);
        forward
    }));
    ways
}

struct Builder<'a> {
    experiment: &'a Experiment,
    window: Window,
    specs: Vec<Spec<'a>>,
}

/// One direction of a link.
struct Spec<'a> {
    link: &'a LinkSpec,
    name: String,
    loss_probability: f64,
    watched: bool,
}

impl Spec<'_> {
    /// Whether it is a port: whether more than its arrivals decides when a packet leaves.
    fn is_port(&self) -> bool {
        matches!(self.link.queue, Queue::Discipline(_))
    }

    fn device(&self, frame_overhead: u32, exit: Exit, window: Window, seed: u64) -> Device {
        let Spec { link, name, loss_probability, watched } = self;
        let (loss_probability, watched) = (*loss_probability, *watched);
        let queue = match &link.queue {
            Queue::DropTail { limit } => QueueConfig::DropTail { limit: *limit },
            Queue::Red { limit, red } => QueueConfig::Red { limit: *limit, red: (**red).clone() },
            Queue::Discipline(config) => {
                let qdisc = config.build(Stream::new(seed, &format!("{name}/queue")));
                let rate = Box::new(Serialiser::new(link.rate));
                let config = PortConfig {
                    propagation: Propagation::Constant(link.delay),
                    frame_overhead,
                    wire: WireConfig::losing(loss_probability),
                    watched,
                };
                return Device::Port(Box::new(Port::new(qdisc, rate, config, window, seed, name)));
            }
        };
        let config = LinkConfig {
            rate: link.rate,
            delay: link.delay,
            frame_overhead,
            queue,
            loss_probability,
            watched,
        };
        Device::Link(Link::new(&config, window, seed, name), exit)
    }
}

impl<'a> Builder<'a> {
    /// Adds both directions of a link: towards the sinks and back.
    fn both_ways(&mut self, spec: &'a LinkSpec, name: &str, watched: bool) -> [u32; 2] {
        let forward = self.one_way(spec, name.to_owned(), true, watched);
        [forward, self.one_way(spec, format!("{name}/reverse"), false, watched)]
    }

    fn one_way(&mut self, spec: &'a LinkSpec, name: String, forward: bool, watched: bool) -> u32 {
        let loss_probability = match spec.loss {
            Some(loss) if (forward && loss.forward) || (!forward && loss.reverse) => {
                loss.probability
            }
            _ => 0.0,
        };
        self.specs.push(Spec { link: spec, name, loss_probability, watched });
        (self.specs.len() - 1) as u32
    }

    fn finish(self, ways: &[Vec<u32>], reported: Vec<u32>) -> Network {
        let mut express = express_links(ways, self.specs.len());
        // A link that is watched, or a port, has to see packets when they arrive, not before.
        for pair in ways.iter().flat_map(|way| way.windows(2)) {
            let [this, next] = [pair[0], pair[1]].map(|index| index as usize);
            express[this] &= !self.specs[next].watched && !self.specs[next].is_port();
        }
        for (express, spec) in express.iter_mut().zip(&self.specs) {
            *express &= !spec.is_port();
        }
        let delays: Vec<Duration> = self.specs.iter().map(|spec| spec.link.delay).collect();
        let (exits, shared_rows) = exits(ways, &express, &delays);
        let overhead = self.experiment.topology.frame_overhead.get();
        let overhead = u32::try_from(overhead).unwrap_or(u32::MAX);
        let seed = self.experiment.seed;
        let device = |(spec, exit): (&Spec, Exit)| spec.device(overhead, exit, self.window, seed);
        let devices = self.specs.iter().zip(exits).map(device).collect();
        let names: Vec<String> = self.specs.into_iter().map(|spec| spec.name).collect();
        Network {
            devices,
            delivered: vec![0; names.len()],
            rows: Rows::new(shared_rows + names.len()),
            names,
            reported,
            ways: Ways::new(ways),
            shared_rows: shared_rows as u32,
            news: Vec::new(),
        }
    }
}
