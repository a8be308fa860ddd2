//! From a topology to link directions, and the way of each connection through them.

use std::collections::BTreeMap;

use fairway_net::{
    Limit as NetLimit, Link, LinkConfig, Offer, QueueConfig, RedConfig, Serialiser, Window,
};
use fairway_trace::{LinkBooks, Violation};
use fairway_units::{Duration, Time};

use crate::experiment::{Experiment, Limit, Link as LinkSpec, Queue, Shape};
use crate::parcel::Parcel;
use crate::rows::Rows;

/// Size of a packet by which RED's average decays while a link is idle: a full one, where ns-2
/// (`mean_pktsize_` 500) thinks of mixed traffic.
const TYPICAL_PACKET_BYTES: u32 = 1000;

/// All link directions of a network and the ways through them.
pub(crate) struct Network {
    /// Link directions, and where the packets of each go.
    links: Vec<(Link, Exit)>,
    /// Packets that each link direction has handed on to the next.
    handed_on: Vec<u64>,
    /// Packets that have come to the end of each way.
    ended: Vec<u64>,
    rows: Rows,
    /// Name of each link direction.
    pub(crate) names: Vec<String>,
    /// Link directions that results report; the first is the bottleneck towards the sinks.
    pub(crate) reported: Vec<u32>,
    /// The links of each way: connection by connection, first towards its sink.
    ways: Vec<u32>,
    /// Links of a way.
    hops: usize,
    /// Rows that links share: those come first, and behind them each link's own.
    shared_rows: u32,
}

/// Where packets go that a link has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Exit {
    /// All to links that nothing else feeds: this link is *express*. A packet can be offered
    /// there at once, for the time at which it will arrive.
    Express,
    /// Into the link's own row.
    Row,
    /// Into this row, shared with links that are alike, if it arrives after what is there; else
    /// into the link's own row.
    Shared(u32),
}

/// What became of a packet that was offered to a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Passage {
    /// It is on its way; a row has a new next event, then.
    Begins(Time, u32),
    /// It is on its way behind others.
    Behind,
    /// A queue dropped it.
    Dropped,
    /// It will be lost on the wire.
    Lost,
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

    /// The link direction with this index.
    pub(crate) fn link(&self, index: u32) -> &Link {
        &self.links[index as usize].0
    }

    /// Look at each link direction that results report, in their order.
    pub(crate) fn reported_links(&mut self, mut look: impl FnMut(usize, &mut Link)) {
        for (i, index) in self.reported.iter().enumerate() {
            look(i, &mut self.links[*index as usize].0);
        }
    }

    /// The link direction that one end of a connection sends into.
    pub(crate) fn first_link(&self, connection: u32, forward: bool) -> u32 {
        self.ways[(connection as usize * 2 + usize::from(!forward)) * self.hops]
    }

    /// Offer a packet to a link, and to the next one if it is through at once.
    pub(crate) fn offer(&mut self, mut index: u32, mut parcel: Parcel, mut at: Time) -> Passage {
        loop {
            let (link, exit) = &mut self.links[index as usize];
            match link.offer(&mut parcel, at) {
                Offer::Arrives(arrives) => at = arrives,
                Offer::Dropped => return Passage::Dropped,
                Offer::Lost => return Passage::Lost,
            }
            let own_row = self.shared_rows + index;
            let row = match *exit {
                Exit::Express => {
                    index = self.pass(&mut parcel);
                    continue;
                }
                Exit::Row => own_row,
                Exit::Shared(row) => {
                    // A packet in the link's own row goes before any that follows it.
                    let in_order = self.rows.is_empty(own_row) && self.rows.is_in_order(row, at);
                    if in_order { row } else { own_row }
                }
            };
            let begins = self.rows.join(row, at, parcel);
            return if begins { Passage::Begins(at, row) } else { Passage::Behind };
        }
    }

    /// Take the packet whose arrival is due from a row, and say when the row's next one arrives.
    pub(crate) fn take(&mut self, row: u32) -> Option<(Parcel, Option<Time>)> {
        self.rows.take(row)
    }

    /// Whether the link that a packet has crossed is the last of its way.
    pub(crate) fn is_at_end(&self, parcel: &Parcel) -> bool {
        parcel.hop() + 1 == self.hops
    }

    /// A packet has come to the end of its way.
    pub(crate) fn end(&mut self, parcel: &Parcel) {
        self.ended[parcel.way as usize] += 1;
    }

    /// A packet has crossed a link that is not the last of its way. Returns the next.
    pub(crate) fn pass(&mut self, parcel: &mut Parcel) -> u32 {
        let at = parcel.way as usize * self.hops + parcel.hop();
        let pair = &self.ways[at..at + 2];
        self.handed_on[pair[0] as usize] += 1;
        parcel.cross();
        pair[1]
    }

    /// The packet `places` behind the first of a row.
    pub(crate) fn ahead(&self, row: u32, places: usize) -> Option<Parcel> {
        self.rows.ahead(row, places)
    }

    /// All packets on their way, but for those inside express links.
    pub(crate) fn parcels(&self) -> impl Iterator<Item = &Parcel> {
        self.rows.parcels()
    }

    /// Every packet offered to a link was delivered, dropped or lost, or is inside.
    pub(crate) fn check_books(&self, now: Time) -> Result<(), Violation> {
        let mut inside = vec![0; self.links.len()];
        for parcel in self.rows.parcels() {
            let at = parcel.way as usize * self.hops + parcel.hop();
            inside[self.ways[at] as usize] += 1;
        }
        let mut delivered = self.handed_on.clone();
        for (way, ended) in self.ways.chunks(self.hops).zip(&self.ended) {
            delivered[way[self.hops - 1] as usize] += ended;
        }
        for (i, (link, _)) in self.links.iter().enumerate() {
            let totals = link.totals();
            LinkBooks {
                offered: totals.offered,
                delivered: delivered[i],
                dropped: totals.dropped,
                lost: totals.lost,
                inside: inside[i],
            }
            .balance(&self.names[i], now)?;
        }
        Ok(())
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

    fn finish(self, ways: Vec<u32>, hops: usize, reported: Vec<u32>) -> Network {
        let mut express = express_links(&ways, hops, self.specs.len());
        // A link that is watched has to see packets when they arrive, not before.
        for pair in ways.chunks(hops).flat_map(|way| way.windows(2)) {
            express[pair[0] as usize] &= !self.specs[pair[1] as usize].0.watched;
        }
        let delays: Vec<Duration> = self.specs.iter().map(|(config, _)| config.delay).collect();
        let (exits, shared_rows) = exits(&ways, hops, &express, &delays);
        let seed = self.experiment.seed;
        let links =
            self.specs.iter().map(|(config, name)| Link::new(config, self.window, seed, name));
        let links: Vec<_> = links.zip(exits).collect();
        let names: Vec<String> = self.specs.into_iter().map(|(_, name)| name).collect();
        Network {
            links,
            handed_on: vec![0; names.len()],
            ended: vec![0; ways.len() / hops],
            rows: Rows::new(shared_rows + names.len()),
            names,
            reported,
            ways,
            hops,
            shared_rows: shared_rows as u32,
        }
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

/// Where the packets of each link go, and how many rows are shared: by links in which packets mostly
/// arrive in the order in which they entered any of them, which are links of equal delay that lead to
/// the same link, or are fed by the same express link.
fn exits(ways: &[u32], hops: usize, express: &[bool], delays: &[Duration]) -> (Vec<Exit>, usize) {
    let mut feeders = vec![None; express.len()];
    let mut followers = vec![None; express.len()];
    for pair in ways.chunks(hops).flat_map(|way| way.windows(2)) {
        followers[pair[0] as usize] = Some(pair[1]);
        if express[pair[0] as usize] {
            feeders[pair[1] as usize] = Some(pair[0]);
        }
    }
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for link in (0..express.len()).filter(|link| !express[*link]) {
        alike.entry((feeders[link], followers[link], delays[link])).or_default().push(link);
    }
    let mut exits = vec![Exit::Express; express.len()];
    let mut rows = 0;
    for links in alike.values() {
        let exit = if links.len() == 1 { Exit::Row } else { Exit::Shared(rows as u32) };
        rows += usize::from(links.len() > 1);
        for link in links {
            exits[*link] = exit;
        }
    }
    (exits, rows)
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
    fn links_that_are_alike_share_a_row() {
        let ways = [2, 0, 4, 5, 1, 3, 6, 0, 8, 9, 1, 7];
        let mut delays = [Duration::from_millis(1); 10];
        let through = [true, true, false, false, false, false, false, false, false, false];
        let (x, shared) = (Exit::Express, Exit::Shared);
        // Sources towards the bottleneck 0, sinks towards it 1, behind it to sinks 2 and back to
        // sources 3.
        let expected = [0, 3, 2, 1, 0, 3, 2, 1].map(shared);
        let (exits_found, rows) = exits(&ways, 3, &through, &delays);
        assert_eq!((&exits_found[..2], &exits_found[2..], rows), (&[x, x][..], &expected[..], 4));
        // A host further away keeps its packets to itself.
        delays[2] = Duration::from_millis(2);
        let (exits_found, rows) = exits(&ways, 3, &through, &delays);
        assert_eq!((exits_found[2], exits_found[6], rows), (Exit::Row, Exit::Row, 3));
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
