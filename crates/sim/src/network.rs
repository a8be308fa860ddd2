//! From a topology to link directions, and the way of each connection through them.

use fairway_net::{
    Limit as NetLimit, Link, LinkConfig, QueueConfig, RedConfig, Serialiser, Window,
};

use crate::experiment::{Experiment, Limit, Link as LinkSpec, Queue, Shape};
use crate::parcel::Parcel;

/// Size of a packet by which RED's average decays while a link is idle: a full one, where ns-2
/// (`mean_pktsize_` 500) thinks of mixed traffic.
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
            express: false,
        };
        self.specs.push((config, name));
        (self.specs.len() - 1) as u32
    }

    fn finish(mut self, ways: Vec<u32>, hops: usize, reported: Vec<u32>) -> Network {
        let mut express = express_links(&ways, hops, self.specs.len());
        // A link that is watched has to see packets when they arrive, not before.
        for pair in ways.chunks(hops).flat_map(|way| way.windows(2)) {
            express[pair[0] as usize] &= !self.specs[pair[1] as usize].0.watched;
        }
        for ((config, _), express) in self.specs.iter_mut().zip(express) {
            config.express = express;
        }
        let seed = self.experiment.seed;
        let links =
            self.specs.iter().map(|(config, name)| Link::new(config, self.window, seed, name));
        let links = links.collect();
        let names = self.specs.into_iter().map(|(_, name)| name).collect();
        Network { links, names, reported, ways, hops }
    }
}

/// Which links can be express: all their packets go on to links that nothing else feeds, no host
/// and no other link. `ways` holds `hops` links for each direction of each connection.
fn express_links(ways: &[u32], hops: usize, links: usize) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Feeder {
        Nobody,
        Link(u32),
        Several,
    }
    let mut feeders = vec![Feeder::Nobody; links];
    for way in ways.chunks(hops) {
        feeders[way[0] as usize] = Feeder::Several;
        for pair in way.windows(2) {
            let feeder = &mut feeders[pair[1] as usize];
            *feeder = match *feeder {
                Feeder::Nobody => Feeder::Link(pair[0]),
                Feeder::Link(link) if link == pair[0] => Feeder::Link(link),
                Feeder::Link(_) | Feeder::Several => Feeder::Several,
            };
        }
    }
    let mut express = vec![true; links];
    for way in ways.chunks(hops) {
        for pair in way.windows(2) {
            express[pair[0] as usize] &= feeders[pair[1] as usize] == Feeder::Link(pair[0]);
        }
        express[way[hops - 1] as usize] = false;
    }
    express
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumbbell_passes_its_bottleneck_at_once() {
        // Links 0, 1 shared; 2, 3 of source 0; 4, 5 of sink 0; 6, 7 of source 1; 8, 9 of sink 1.
        let ways = [2, 0, 4, 5, 1, 3, 6, 0, 8, 9, 1, 7];
        let expected = [true, true, false, false, false, false, false, false, false, false];
        assert_eq!(express_links(&ways, 3, 10), expected);
    }

    #[test]
    fn a_chain_is_passed_at_once_but_for_its_ends() {
        let ways = [0, 2, 4, 5, 3, 1].repeat(2);
        assert_eq!(express_links(&ways, 3, 6), [true, false, true, true, false, true]);
    }

    #[test]
    fn one_shared_link_is_an_end() {
        assert_eq!(express_links(&[0, 1, 0, 1], 1, 2), [false, false]);
    }
}
