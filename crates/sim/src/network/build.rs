//! From a topology to link directions, and the way of each connection through them.

use fairway_net::{
    Limit as NetLimit, Link, LinkConfig, QueueConfig, RedConfig, Serialiser, Window,
};
use fairway_units::Duration;

use super::exits::{exits, express_links};
use super::{Device, Network};
use crate::experiment::{Experiment, Limit, Link as LinkSpec, Queue, Shape};
use crate::rows::Rows;
use crate::ways::Ways;

/// Size of a packet by which RED's average decays while a link is idle: a full one, where ns-2
/// (`mean_pktsize_` 500) thinks of mixed traffic.
const TYPICAL_PACKET_BYTES: u32 = 1000;

impl Network {
    /// The network of an experiment, idle.
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let measure = experiment.measure;
        let mut builder = Builder {
            experiment,
            window: Window { from: measure.from, to: measure.to },
            specs: Vec::new(),
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
                    None => [vec![shared[0]], vec![shared[1]]],
                    Some(access) => {
                        let [source, sink] = access[flow.host];
                        let forward = vec![source[0], shared[0], sink[0]];
                        [forward, vec![sink[1], shared[1], source[1]]]
                    }
                });
                builder.finish(&ways.collect::<Vec<_>>(), shared.to_vec())
            }
            Shape::Chain { links } => {
                let pairs: Vec<[u32; 2]> =
                    links.iter().map(|link| builder.both_ways(link, &link.id, true)).collect();
                let forward: Vec<u32> = pairs.iter().map(|p| p[0]).collect();
                let reverse: Vec<u32> = pairs.iter().rev().map(|p| p[1]).collect();
                let ways = vec![[forward, reverse]; experiment.flows.len()].concat();
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

struct Builder<'a> {
    experiment: &'a Experiment,
    window: Window,
    /// Configuration and name of each link direction.
    specs: Vec<(LinkConfig, String)>,
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
        self.specs.push((config, name));
        (self.specs.len() - 1) as u32
    }

    fn finish(self, ways: &[Vec<u32>], reported: Vec<u32>) -> Network {
        let mut express = express_links(ways, self.specs.len());
        // A link that is watched has to see packets when they arrive, not before.
        for pair in ways.iter().flat_map(|way| way.windows(2)) {
            express[pair[0] as usize] &= !self.specs[pair[1] as usize].0.watched;
        }
        let delays: Vec<Duration> = self.specs.iter().map(|(config, _)| config.delay).collect();
        let (exits, shared_rows) = exits(ways, &express, &delays);
        let seed = self.experiment.seed;
        let links =
            self.specs.iter().map(|(config, name)| Link::new(config, self.window, seed, name));
        let devices = links.zip(exits).map(|(link, exit)| Device::Link(link, exit)).collect();
        let names: Vec<String> = self.specs.into_iter().map(|(_, name)| name).collect();
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
                ..RedConfig::default()
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
