//! Namespaces, the veths between them, addresses and routes.
//!
//! One rule for every topology. Each link of the row has a router at either end, joined by a veth
//! with the link's queue in each direction; the link's wire is on the ideal veth behind it, which
//! joins it to the next link or to the hosts. So a dumbbell without access links is
//! `s | r1 => r2 | d`: the queue towards the sink is on r1's device to r2, its wire on r2's to d;
//! the queue back on r2's to r1, its wire on r1's to s.
//!
//! Hosts with the same sysctls share a namespace; each has an address of its own. Where a link is
//! each pair's own, the veths beside it are so too.

use std::net::Ipv4Addr;

use fairway_guest::plan::{Namespace, Queue};
use fairway_units::Rate;

use super::global::Sysctl;
use super::host::Hosts;
use super::qdisc::Disciplines;
use super::row::Row;

/// Addresses of the sources: 10.0.0.0/10.
pub(super) const SOURCES: u32 = 10 << 24;
/// Addresses of the sinks: 10.64.0.0/10.
pub(super) const SINKS: u32 = (10 << 24) | (64 << 16);
/// Bits of these prefixes.
pub(super) const HOST_PREFIX: u32 = 10;
/// Addresses of the ends of veths, two a veth: 10.128.0.0/9.
const VETHS: u32 = (10 << 24) | (128 << 16);
/// Routers that packets cross before the kernel's usual time to live runs out
/// (include/net/ip.h, IPDEFTTL).
const USUAL_TTL: usize = 64;

/// What the guest sets up.
pub(super) struct Network {
    pub(super) namespaces: Vec<Namespace>,
    pub(super) links: Vec<String>,
    pub(super) devices: Vec<(usize, String)>,
    pub(super) queues: Vec<Queue>,
    pub(super) segments: Vec<Segment>,
}

/// The address of a pair's sink.
pub(super) fn sink_address(pair: usize) -> Ipv4Addr {
    host_address(SINKS, pair)
}

/// The address of a pair's source.
pub(super) fn source_address(pair: usize) -> Ipv4Addr {
    host_address(SOURCES, pair)
}

fn host_address(block: u32, pair: usize) -> Ipv4Addr {
    Ipv4Addr::from(block + 1 + pair as u32)
}

/// One end of a veth.
#[derive(Clone)]
pub(super) struct End {
    pub(super) namespace: usize,
    pub(super) device: String,
    address: Ipv4Addr,
    mac: String,
}

/// A veth, its end towards the sources first.
struct Lane {
    ends: [End; 2],
}

/// The veths between two neighbouring columns of namespaces, and which of them each pair uses.
pub(super) struct Segment {
    lanes: Vec<Lane>,
    of_pair: Vec<usize>,
}

impl Segment {
    /// The end of a pair's veth towards the sources (0) or the sinks (1).
    pub(super) fn of_pair(&self, pair: usize, end: usize) -> &End {
        &self.lanes[self.of_pair[pair]].ends[end]
    }

    /// These ends of all veths, or of a pair's.
    pub(super) fn ends(&self, pair: Option<usize>, end: usize) -> impl Iterator<Item = &End> {
        let only = pair.map(|pair| self.of_pair[pair]);
        let lanes = self.lanes.iter().enumerate();
        let lanes = lanes.filter(move |(lane, _)| only.is_none_or(|only| only == *lane));
        lanes.map(move |(_, lane)| &lane.ends[end])
    }
}

/// Builds the network: columns of namespaces (sources, two routers for each link, sinks), and the
/// segments between them: ideal, link, ideal, link, ..., ideal.
pub(super) fn network(
    row: &Row,
    disciplines: &[Disciplines],
    hosts: &Hosts,
    overhead_bytes: u32,
    mtu: u32,
) -> Network {
    let mut namespaces = namespaces(row, hosts);
    let segments = segments(row, hosts, &namespaces);
    let mut links = Vec::new();
    let mut devices = Vec::new();
    for lane in segments.iter().flat_map(|segment| &segment.lanes) {
        links.push(link_line(lane, &namespaces, mtu));
        for [own, peer] in [[0, 1], [1, 0]].map(|ends| ends.map(|end| &lane.ends[end])) {
            devices.push((own.namespace, own.device.clone()));
            namespaces[own.namespace].ip.extend(device_lines(own, peer));
        }
    }
    add_hosts(hosts, &segments, &mut namespaces);
    add_router_routes(row, &segments, &mut namespaces);
    for (stage, disciplines) in disciplines.iter().enumerate() {
        add_disciplines(stage, disciplines, &segments, &mut namespaces);
    }
    let queues = row.reported.iter().flat_map(|stage| {
        [false, true].map(|reverse| {
            queue(*stage, reverse, row, &disciplines[*stage], overhead_bytes, &segments)
        })
    });
    let queues = queues.collect();
    Network { namespaces, links, devices, queues, segments }
}

/// The namespaces: a group of sources each, the routers, a group of sinks each.
fn namespaces(row: &Row, hosts: &Hosts) -> Vec<Namespace> {
    let namespace = |name: String, sysctls: Vec<Sysctl>| Namespace {
        name,
        sysctls,
        ip: vec!["link set dev lo up".to_owned()],
        tc: Vec::new(),
    };
    let ttl = (row.routers() >= USUAL_TTL)
        .then(|| ("net/ipv4/ip_default_ttl".to_owned(), "255".to_owned()));
    let side = |letter: &str| {
        let named = |(index, sysctls): (usize, &Vec<Sysctl>)| {
            let name = match hosts.groups.len() {
                1 => letter.to_owned(),
                _ => format!("{letter}{index}"),
            };
            namespace(name, sysctls.iter().cloned().chain(ttl.clone()).collect())
        };
        hosts.groups.iter().enumerate().map(named).collect::<Vec<_>>()
    };
    let forwards = || vec![("net/ipv4/ip_forward".to_owned(), "1".to_owned())];
    let routers = (1..=row.routers()).map(|number| namespace(format!("r{number}"), forwards()));
    side("s").into_iter().chain(routers).chain(side("d")).collect()
}

/// Index of the namespace of a column, for a pair of a group. The first and the last column are
/// the hosts'.
fn column(index: usize, group: usize, hosts: &Hosts, routers: usize) -> usize {
    let groups = hosts.groups.len();
    match index {
        0 => group,
        _ if index <= routers => groups + index - 1,
        _ => groups + routers + group,
    }
}

/// Index of the namespace of the router in front of the first link.
pub(super) fn first_router(hosts: &Hosts) -> usize {
    hosts.groups.len()
}

fn segments(row: &Row, hosts: &Hosts, namespaces: &[Namespace]) -> Vec<Segment> {
    let routers = row.routers();
    let mut veths = 0;
    let mut segments = Vec::new();
    for left in 0..=routers {
        // Between columns 2i + 1 and 2i + 2 is link i; all others are ideal.
        let beside = |stage: Option<usize>| {
            stage.and_then(|stage| row.stages.get(stage)).is_some_and(|stage| stage.per_pair)
        };
        let per_pair = match left % 2 {
            1 => beside(Some(left / 2)),
            _ => beside((left / 2).checked_sub(1)) || beside(Some(left / 2)),
        };
        let mut segment = Segment { lanes: Vec::new(), of_pair: Vec::new() };
        let mut known: Vec<([usize; 2], Option<usize>)> = Vec::new();
        for (pair, host) in hosts.pairs.iter().enumerate() {
            let ends = [left, left + 1].map(|index| column(index, host.group, hosts, routers));
            let key = (ends, per_pair.then_some(pair));
            // Pairs that share a lane come in no order, but lanes that are not shared are few or new.
            let found = if per_pair { None } else { known.iter().position(|k| *k == key) };
            segment.of_pair.push(found.unwrap_or_else(|| {
                segment.lanes.push(lane(ends, key.1, veths, namespaces));
                veths += 1;
                known.push(key);
                known.len() - 1
            }));
        }
        segments.push(segment);
    }
    segments
}

/// The veth of a number between two namespaces, of one pair or of several.
fn lane(ends: [usize; 2], pair: Option<usize>, number: u32, namespaces: &[Namespace]) -> Lane {
    let suffix = pair.map_or_else(String::new, |pair| format!("-{pair}"));
    let end = |own: usize| {
        let place = 2 * number + own as u32;
        let [_, high, middle, low] = place.to_be_bytes();
        End {
            namespace: ends[own],
            device: format!("{}{suffix}", namespaces[ends[1 - own]].name),
            address: Ipv4Addr::from(VETHS + place),
            // Locally administered.
            mac: format!("02:00:00:{high:02x}:{middle:02x}:{low:02x}"),
        }
    };
    Lane { ends: [end(0), end(1)] }
}

fn link_line(lane: &Lane, namespaces: &[Namespace], mtu: u32) -> String {
    let end = |end: &End| {
        let namespace = &namespaces[end.namespace].name;
        format!("name {} netns {namespace} address {} mtu {mtu}", end.device, end.mac)
    };
    format!("link add {} type veth peer {}", end(&lane.ends[0]), end(&lane.ends[1]))
}

fn device_lines(own: &End, peer: &End) -> [String; 3] {
    let device = &own.device;
    [
        format!("address add {}/31 dev {device}", own.address),
        format!("link set dev {device} up"),
        format!("neighbour add {} lladdr {} dev {device} nud permanent", peer.address, peer.mac),
    ]
}

/// The hosts' own addresses, and the routes from each to the other of its pair.
fn add_hosts(hosts: &Hosts, segments: &[Segment], namespaces: &mut [Namespace]) {
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return };
    for (pair, host) in hosts.pairs.iter().enumerate() {
        let (source, sink) = (host_address(SOURCES, pair), host_address(SINKS, pair));
        let towards_sink = &first.lanes[first.of_pair[pair]].ends;
        let towards_source = &last.lanes[last.of_pair[pair]].ends;
        for (own, peer, from, to, properties) in [
            (&towards_sink[0], &towards_sink[1], source, sink, &host.source_route),
            (&towards_source[1], &towards_source[0], sink, source, &host.sink_route),
        ] {
            namespaces[own.namespace].ip.extend([
                format!("address add {from}/32 dev lo"),
                format!(
                    "route add {to}/32 via {} dev {} src {from}{properties}",
                    peer.address, own.device
                ),
            ]);
        }
    }
}

/// Routes of the routers: one for all hosts of a side, or one for each where their ways part.
fn add_router_routes(row: &Row, segments: &[Segment], namespaces: &mut [Namespace]) {
    for router in 1..=row.routers() {
        for (segment, own, block) in
            [(&segments[router], 0, SINKS), (&segments[router - 1], 1, SOURCES)]
        {
            let mut add = |to: Ipv4Addr, bits: u32, lane: &Lane| {
                let (own, peer) = (&lane.ends[own], &lane.ends[1 - own]);
                namespaces[own.namespace]
                    .ip
                    .push(format!("route add {to}/{bits} via {} dev {}", peer.address, own.device));
            };
            if let [lane] = segment.lanes.as_slice() {
                add(Ipv4Addr::from(block), HOST_PREFIX, lane);
            } else {
                for (pair, lane) in segment.of_pair.iter().enumerate() {
                    add(host_address(block, pair), 32, &segment.lanes[*lane]);
                }
            }
        }
    }
}

/// The ends of a stage's link on which its queues are, towards the sinks or back.
fn queue_ends(stage: usize, reverse: bool, segments: &[Segment]) -> impl Iterator<Item = &End> {
    segments[2 * stage + 1].lanes.iter().map(move |lane| &lane.ends[usize::from(reverse)])
}

/// The ends of the ideal veths behind a stage's link, on which its wires are.
fn wire_ends(stage: usize, reverse: bool, segments: &[Segment]) -> impl Iterator<Item = &End> {
    let behind = if reverse { 2 * stage } else { 2 * stage + 2 };
    segments[behind].lanes.iter().map(move |lane| &lane.ends[usize::from(reverse)])
}

fn add_disciplines(
    stage: usize,
    disciplines: &Disciplines,
    segments: &[Segment],
    namespaces: &mut [Namespace],
) {
    for reverse in [false, true] {
        for end in queue_ends(stage, reverse, segments) {
            namespaces[end.namespace].tc.extend(disciplines.queue_on(&end.device));
        }
        for end in wire_ends(stage, reverse, segments) {
            namespaces[end.namespace].tc.extend(disciplines.wire_on(&end.device, reverse));
        }
    }
}

/// One direction of a link that results report.
fn queue(
    stage: usize,
    reverse: bool,
    row: &Row,
    disciplines: &Disciplines,
    overhead_bytes: u32,
    segments: &[Segment],
) -> Queue {
    let link = row.stages[stage].link;
    // A reported link is shared by all: its segment has one lane.
    let end = queue_ends(stage, reverse, segments).next();
    let (namespace, device) =
        end.map_or_else(Default::default, |end| (end.namespace, end.device.clone()));
    let lossy = link.loss.is_some_and(|loss| if reverse { loss.reverse } else { loss.forward });
    let wires = wire_ends(stage, reverse, segments).filter(|_| lossy);
    Queue {
        id: if reverse { format!("{}/reverse", link.id) } else { link.id.clone() },
        namespace,
        device,
        rate_bps: (link.rate != Rate::UNLIMITED).then(|| link.rate.as_bps()),
        overhead_bytes,
        counted_overhead_bytes: disciplines.counted_overhead_bytes,
        holds_transmission: disciplines.holds_transmission,
        keeps_order: disciplines.keeps_order,
        wires: wires.map(|end| (end.namespace, end.device.clone())).collect(),
    }
}
