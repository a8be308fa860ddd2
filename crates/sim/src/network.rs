//! From a topology to link directions, and the way of each connection through them.

use fairway_net::{
    Limit as NetLimit, Link, LinkConfig, QueueConfig, RedConfig, Serialiser, Window,
};

use crate::experiment::{Experiment, Limit, Link as LinkSpec, Queue, Shape};
use crate::parcel::Parcel;

/// Size of a packet by which RED's average decays while a link is idle (ns-2 `mean_pktsize_` 500
/// is for mixed traffic; here a typical full packet).
const TYPICAL_PACKET_BYTES: u32 = 1000;

/// All link directions of a network and the ways through them.
pub(crate) struct Network {
    /// Link directions.
    pub(crate) links: Vec<Link<Parcel>>,
    /// Name of each link direction.
    pub(crate) names: Vec<String>,
    /// Link directions that results report; the first is the bottleneck towards the sinks.
    pub(crate) reported: Vec<u32>,
    ways: Vec<u32>,
    hops: usize,
}

impl Network {
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let measure = experiment.measure;
        let mut builder = Builder {
            experiment,
            window: Window { from: measure.from, to: measure.to },
            links: Vec::new(),
            names: Vec::new(),
        };
        let hosts = experiment.flows.iter().map(|f| f.host + 1).max().unwrap_or(0);
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
                let ways = experiment.flows.iter().flat_map(|flow| match &access {
                    None => vec![shared[0], shared[1]],
                    Some(access) => {
                        let [source, sink] = access[flow.host];
                        vec![source[0], shared[0], sink[0], sink[1], shared[1], source[1]]
                    }
                });
                let ways: Vec<u32> = ways.collect();
                builder.finish(ways, if access.is_some() { 3 } else { 1 }, shared.to_vec())
            }
            Shape::Chain { links } => {
                let pairs: Vec<[u32; 2]> =
                    links.iter().map(|link| builder.both_ways(link, &link.id, true)).collect();
                let forward: Vec<u32> = pairs.iter().map(|p| p[0]).collect();
                let reverse: Vec<u32> = pairs.iter().rev().map(|p| p[1]).collect();
                let way = [forward, reverse].concat();
                let ways = way.repeat(experiment.flows.len());
                let slowest = (0..links.len()).min_by_key(|i| links[*i].rate).unwrap_or(0);
                let mut reported = pairs[slowest].to_vec();
                reported.extend(
                    pairs.iter().enumerate().filter(|(i, _)| *i != slowest).flat_map(|(_, p)| p),
                );
                builder.finish(ways, links.len(), reported)
            }
        }
    }

    /// The link direction that a segment of `connection` crosses after `hop` others, if any.
    pub(crate) fn link(&self, connection: u32, forward: bool, hop: u8) -> Option<u32> {
        let hop = usize::from(hop);
        let way = connection as usize * 2 + usize::from(!forward);
        (hop < self.hops).then(|| self.ways[way * self.hops + hop])
    }
}

struct Builder<'a> {
    experiment: &'a Experiment,
    window: Window,
    links: Vec<Link<Parcel>>,
    names: Vec<String>,
}

impl Builder<'_> {
    /// Adds both directions of a link: towards the sinks and back.
    fn both_ways(&mut self, spec: &LinkSpec, name: &str, watched: bool) -> [u32; 2] {
        let forward = self.one_way(spec, name.to_owned(), true, watched);
        [forward, self.one_way(spec, format!("{name}/reverse"), false, watched)]
    }

    fn one_way(&mut self, spec: &LinkSpec, name: String, forward: bool, watched: bool) -> u32 {
        let loss_probability = match spec.loss {
            Some(loss) if (forward && loss.forward) || (!forward && loss.reverse) => {
                loss.probability
            }
            _ => 0.0,
        };
        let config = LinkConfig {
            rate: spec.rate,
            delay: spec.delay,
            frame_overhead: u32::try_from(self.experiment.topology.frame_overhead.get())
                .unwrap_or(u32::MAX),
            queue: queue_config(spec),
            loss_probability,
            watched,
        };
        self.links.push(Link::new(&config, self.window, self.experiment.seed, &name));
        self.names.push(name);
        (self.links.len() - 1) as u32
    }

    fn finish(self, ways: Vec<u32>, hops: usize, reported: Vec<u32>) -> Network {
        Network { links: self.links, names: self.names, reported, ways, hops }
    }
}

fn queue_config(spec: &LinkSpec) -> QueueConfig {
    match &spec.queue {
        Queue::DropTail { limit } => QueueConfig::DropTail { limit: net_limit(*limit) },
        Queue::Red {
            limit,
            min_threshold,
            max_threshold,
            max_probability,
            weight,
            gentle,
            ecn,
        } => QueueConfig::Red {
            limit: net_limit(*limit),
            red: RedConfig {
                min_threshold: *min_threshold,
                max_threshold: *max_threshold,
                max_probability: *max_probability,
                weight: *weight,
                gentle: *gentle,
                ecn: *ecn,
                typical_transmission: Serialiser::new(spec.rate).transmit(TYPICAL_PACKET_BYTES),
            },
        },
    }
}

fn net_limit(limit: Limit) -> NetLimit {
    match limit {
        Limit::Unlimited => NetLimit::Unlimited,
        Limit::Packets(packets) => NetLimit::Packets(packets),
        Limit::Bytes(bytes) => NetLimit::Bytes(bytes),
    }
}
