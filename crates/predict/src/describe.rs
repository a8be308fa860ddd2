//! From an experiment to what models need of it.

use fairway_net::impairment::{Chance, LossConfig, Unit};
use fairway_net::{DelayFrom, Limit, QdiscConfig, RateConfig, RedConfig, WireConfig};
use fairway_spec::{Experiment, LinkDirection, Shape, Wlan};

use crate::case::{Bottleneck, Case, Discipline, Group, Load, QueueLimit, Stream};
use crate::flows;
use crate::network::{Network, Route};
use crate::refusal::{Refusal, Refusals, refuse};

/// What models need of an experiment.
pub(crate) fn describe(experiment: &Experiment) -> Result<Case, Refusals> {
    let mut refused = flows::refusals(experiment);
    let network = match Network::of(experiment) {
        Ok(network) => network,
        Err(refusal) => {
            refused.push(refusal);
            return Err(refuse(refused).err().unwrap_or_default());
        }
    };
    refused.extend((0..network.all.len()).filter_map(|link| refused_link(&network, link)));
    refuse(refused)?;
    let (streams, loads) = flows::read(experiment, &network);
    let groups = match &experiment.topology.shape {
        Shape::Wlan(wlan) => vec![cell(wlan, streams, loads)],
        _ => group(&network, streams, loads)?,
    };
    let measure = &experiment.measure;
    let window_s = [measure.from.as_secs_f64(), measure.to.as_secs_f64()];
    Ok(Case { window_s, groups })
}

/// A WLAN cell: all share the medium. The access point's queue stands for the bottleneck's.
fn cell(wlan: &Wlan, flows: Vec<Stream>, datagrams: Vec<Load>) -> Group {
    let (discipline, queue_limit) = discipline(&wlan.access_point_queue);
    let (id, path) = ("ap".to_owned(), "topology".to_owned());
    let bottleneck = Bottleneck { id, path, rate_bps: f64::MAX, discipline, queue_limit };
    Group { bottleneck, flows, datagrams }
}

/// What a link does that no model knows.
fn refused_link(network: &Network, index: usize) -> Option<Refusal> {
    let (direction, path) = (&network.all[index], network.path(index));
    let extras = direction.link.direction(direction.forward).extras.as_deref()?;
    let changes = !matches!(extras.rate, RateConfig::Constant(_));
    if changes || !extras.schedule.changes.is_empty() {
        return Some(Refusal::new(path, "no model knows a link whose rate or delay changes"));
    }
    let wire = wire_of(direction)?;
    let key = match wire {
        WireConfig { loss: Some(LossConfig::Ns3(_)), .. } => {
            return Some(Refusal::new(
                format!("{path}.loss.replay"),
                "models know the probability of a loss and replay no random numbers; remove it",
            ));
        }
        WireConfig { loss: Some(loss), .. } if !matches!(loss, LossConfig::Bernoulli(_)) => {
            return Some(Refusal::new(
                format!("{path}.loss"),
                "models know losses of packets each by itself alone",
            ));
        }
        WireConfig { jitter: Some(_), .. } => "jitter",
        WireConfig { reordering: Some(_), .. } => "reordering",
        WireConfig { duplication, .. } if *duplication > 0.0 => "duplication",
        // The losses left, and corruption, are probabilities that models know.
        WireConfig { loss: _, corruption: _, duplication: _, reordering: None, jitter: None } => {
            return None;
        }
    };
    Some(Refusal::new(format!("{path}.{key}"), format!("no model knows {key}")))
}

/// What the wire of a link direction does, where it does more than to lose packets each by itself.
fn wire_of<'a>(direction: &LinkDirection<'a>) -> Option<&'a WireConfig> {
    let extras = direction.link.direction(direction.forward).extras.as_deref()?;
    Some(&extras.wires[usize::from(!direction.forward)])
}

/// Probability that a link direction loses a packet of so many bytes on the link.
pub(crate) fn loss_of(direction: &LinkDirection, bytes: f64) -> f64 {
    let Some(wire) = wire_of(direction) else {
        return direction.link.loss_of(direction.forward).map_or(0.0, |loss| loss.probability);
    };
    let of = |chance: &Chance| {
        let units = match chance.unit {
            Unit::Packet => 1.0,
            Unit::Byte => bytes,
            Unit::Bit => 8.0 * bytes,
        };
        1.0 - libm::pow(1.0 - chance.probability, units)
    };
    let lost = match &wire.loss {
        Some(LossConfig::Bernoulli(chance)) => of(chance),
        _ => 0.0,
    };
    // What is damaged the receiver throws away.
    let damaged = wire.corruption.as_ref().map_or(0.0, of);
    1.0 - (1.0 - lost) * (1.0 - damaged)
}

/// What a flow may want of a link at the most, in bit/s.
fn demand_bps(stream: &Stream) -> f64 {
    let by_window = stream.window_packets / stream.rtt_s;
    let pps = stream.application_pps.map_or(by_window, |pps| pps.min(by_window));
    8.0 * stream.frame_bytes * pps
}

/// Flows by the link that limits them; no other link may limit any of them.
fn group(
    network: &Network,
    streams: Vec<Stream>,
    loads: Vec<Load>,
) -> Result<Vec<Group>, Refusals> {
    let rate = |direction: usize| {
        let direction = &network.all[direction];
        direction.link.direction(direction.forward).rate.as_bps() as f64
    };
    let mut crossing = vec![0.0; network.all.len()];
    for direction in network.routes.iter().flat_map(|route| &route.there) {
        crossing[*direction] += 1.0;
    }
    // Of equal ones the first.
    let limiting = |route: &Route| {
        let share = |direction: &usize| rate(*direction) / crossing[*direction];
        route.there.iter().copied().min_by(|a, b| share(a).total_cmp(&share(b))).unwrap_or(0)
    };
    let chosen: Vec<usize> = network.routes.iter().map(limiting).collect();
    let mut wanted = vec![0.0; network.all.len()];
    for stream in &streams {
        wanted[chosen[stream.place]] += demand_bps(stream);
    }
    for load in &loads {
        wanted[chosen[streams.len() + load.place]] += load.wire_bps();
    }
    refuse_several_bottlenecks(network, &chosen, &wanted, &rate)?;
    refuse_full_returns(network, &chosen, &streams, &wanted, &rate)?;
    let mut limits = chosen.clone();
    limits.sort_unstable();
    limits.dedup();
    let mut groups: Vec<Group> = Vec::with_capacity(limits.len());
    for direction in &limits {
        let bottleneck = bottleneck(network, *direction);
        groups.push(Group { bottleneck, flows: Vec::new(), datagrams: Vec::new() });
    }
    let place = |of: usize| limits.binary_search(&chosen[of]).unwrap_or(0);
    let connections = streams.len();
    for stream in streams {
        groups[place(stream.place)].flows.push(stream);
    }
    for load in loads {
        groups[place(connections + load.place)].datagrams.push(load);
    }
    Ok(groups)
}

/// Refuses a link that would limit flows besides the one that each has already.
fn refuse_several_bottlenecks(
    network: &Network,
    chosen: &[usize],
    wanted: &[f64],
    rate: &impl Fn(usize) -> f64,
) -> Result<(), Refusals> {
    let mut others: Vec<Vec<usize>> = vec![Vec::new(); network.all.len()];
    for (route, own) in network.routes.iter().zip(chosen) {
        for direction in route.there.iter().filter(|direction| *direction != own) {
            if !others[*direction].contains(own) {
                others[*direction].push(*own);
            }
        }
    }
    let mut refused = Vec::new();
    for (direction, others) in others.iter().enumerate() {
        // Nobody wants anything of a direction that is nobody's bottleneck.
        let own = wanted[direction].min(rate(direction));
        let load: f64 = others.iter().map(|other| wanted[*other].min(rate(*other))).sum();
        if !others.is_empty() && own + load > rate(direction) * (1.0 + 1e-9) {
            let what =
                "flows may be limited here and elsewhere too, and models know one bottleneck";
            refused.push(Refusal::new(network.path(direction), what));
        }
    }
    refuse(refused)
}

/// Refuses links on which acknowledgements would wait.
fn refuse_full_returns(
    network: &Network,
    chosen: &[usize],
    streams: &[Stream],
    wanted: &[f64],
    rate: &impl Fn(usize) -> f64,
) -> Result<(), Refusals> {
    let mut acknowledged = vec![0.0; network.all.len()];
    for (own, wanted) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted > 0.0) {
        // One acknowledgement for each packet at the most.
        let of_group = || streams.iter().filter(|stream| chosen[stream.place] == own);
        let sum: f64 = of_group().map(demand_bps).sum();
        let scale = if sum > 0.0 { wanted.min(rate(own)).min(sum) / sum } else { 0.0 };
        for stream in of_group() {
            let pps = scale * demand_bps(stream) / 8.0 / stream.frame_bytes;
            let bps = 8.0 * pps * (stream.frame_bytes - stream.payload_bytes);
            for direction in &network.routes[stream.place].back {
                acknowledged[*direction] += bps;
            }
        }
    }
    let mut refused = Vec::new();
    for (direction, acknowledged) in acknowledged.iter().enumerate().filter(|(_, bps)| **bps > 0.0)
    {
        let path = network.path(direction);
        if wanted[direction] > 0.0 {
            let what = "data of some flows and acknowledgements of others share this link, which no \
                        model knows";
            refused.push(Refusal::new(path, what));
        } else if *acknowledged > rate(direction) {
            let what = "acknowledgements may fill the direction back, which no model knows";
            refused.push(Refusal::new(path, what));
        }
    }
    refuse(refused)
}

fn bottleneck(network: &Network, index: usize) -> Bottleneck {
    let (direction, path) = (&network.all[index], network.path(index));
    let link = direction.link.direction(direction.forward);
    let (discipline, queue_limit) = discipline(&link.queue);
    let path = match direction.link.reverse {
        Some(_) if !direction.forward => format!("{path}.reverse"),
        _ => path,
    };
    Bottleneck {
        id: direction.id.clone(),
        path,
        rate_bps: link.rate.as_bps() as f64,
        discipline,
        queue_limit,
    }
}

pub(crate) fn queue_limit(limit: Limit) -> QueueLimit {
    match limit {
        Limit::Unlimited => QueueLimit::Endless,
        Limit::Packets(packets) => QueueLimit::Packets(packets as f64),
        Limit::Bytes(bytes) => QueueLimit::Bytes(bytes as f64),
    }
}

fn red_of(red: &RedConfig) -> Discipline {
    if red.adaptive.is_some() {
        return Discipline::Other("RED that adapts itself");
    }
    Discipline::Red {
        min_packets: red.min_threshold,
        max_packets: red.max_threshold,
        max_probability: red.max_probability,
        gentle: red.gentle,
        marks: red.ecn,
    }
}

fn discipline(config: &QdiscConfig) -> (Discipline, QueueLimit) {
    let codel = ("CoDel", "RFC 8289, section 4.2");
    let pie = ("PIE", "RFC 8033, section 4.2");
    let target = |(name, source), target_s: f64, is_fair, marks| Discipline::Target {
        name,
        source,
        target_s,
        is_fair,
        marks,
    };
    let packets = |limit: u64| QueueLimit::Packets(limit as f64);
    match config {
        QdiscConfig::DropTail(config) => (Discipline::DropTail, queue_limit(config.limit)),
        QdiscConfig::Red(config) => (red_of(&config.red), queue_limit(config.limit)),
        QdiscConfig::Codel(config) if config.ce_threshold.is_none() => (
            target(codel, config.target.as_secs_f64(), false, config.ecn),
            packets(config.limit_packets),
        ),
        QdiscConfig::FqCodel(config) if config.codel.ce_threshold.is_none() => (
            target(codel, config.codel.target.as_secs_f64(), true, config.codel.ecn),
            packets(config.codel.limit_packets),
        ),
        QdiscConfig::Pie(config) if config.delay_from == DelayFrom::Timestamps => (
            target(pie, config.target.as_secs_f64(), false, config.ecn),
            packets(config.limit_packets),
        ),
        QdiscConfig::FqPie(config) => (
            target(pie, config.pie.target.as_secs_f64(), true, config.pie.ecn),
            packets(config.pie.limit_packets),
        ),
        QdiscConfig::Codel(_) | QdiscConfig::FqCodel(_) => other("CoDel with ce_threshold"),
        QdiscConfig::Pie(_) => other("PIE that estimates the rate"),
        QdiscConfig::DropHead(_) => other("a queue that drops its head"),
        QdiscConfig::Sfq(_) | QdiscConfig::Drr(_) => other("a queue for each flow"),
        QdiscConfig::StrictPriority(_) => other("bands of strict priority"),
        QdiscConfig::TokenBucket(_) => other("a token bucket"),
        QdiscConfig::Policer(_) => other("a policer"),
        QdiscConfig::Cobalt(_) => other("COBALT"),
        QdiscConfig::DualPi2(_) => other("DualPI2"),
    }
}

fn other(name: &'static str) -> (Discipline, QueueLimit) {
    (Discipline::Other(name), QueueLimit::Endless)
}
