//! Addresses and ports of a simulated network, which has none of its own: one address for each
//! host, and ports that tell any two connections apart.

use std::net::{Ipv4Addr, SocketAddr};

use fairway_net::wlan::NodeId;

use fairway_spec::{Experiment, Node, Shape};

/// Hosts in the last two bytes of an address: 1 to 250 in the last, 0 to 249 before it.
const IN_LAST: u32 = 250;
const IN_LAST_TWO: u32 = IN_LAST * 250;
/// Second bytes: of hosts on the left, on the right, nodes of a graph, the server and the stations
/// of a WLAN. Each is so far from the next that no experiment has enough hosts to reach it.
const LEFT: u8 = 10;
const RIGHT: u8 = 20;
const NAMED: u8 = 30;
const SERVER: u8 = 40;
const STATIONS: u8 = 50;
/// Ports of openers count from here, and those of the other ends of TCP and UDP from there, one
/// further for each round of openers. Programs that show captures take none of them for the port
/// of an application (Wireshark 4.0).
const OPENERS: u16 = 50_000;
const IN_ROUND: u32 = 4_000;
const TCP_LISTENERS: u16 = 42_000;
const UDP_LISTENERS: u16 = 43_000;

/// Source and sink of a connection or of a datagram flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) hosts: [Node; 2],
    pub(super) addresses: [SocketAddr; 2],
}

/// The ends of all connections, and then those of all datagram flows.
pub(super) fn ends(experiment: &Experiment) -> Vec<Ends> {
    let connections = (0u32..).zip(&experiment.flows).map(|(index, flow)| {
        let ports = ports(index, TCP_LISTENERS);
        let ports = if flow.sink_opens { [ports[1], ports[0]] } else { ports };
        (flow.hosts, flow.reversed, ports)
    });
    let datagrams = (0u32..).zip(&experiment.datagrams);
    let datagrams =
        datagrams.map(|(index, flow)| (flow.hosts, flow.reversed, ports(index, UDP_LISTENERS)));
    let ends = |(index, (hosts, reversed, ports)): (u32, (_, bool, [u16; 2]))| {
        let hosts = self::hosts(&experiment.topology.shape, index, hosts, reversed);
        let addresses = [0, 1].map(|i| SocketAddr::from((address(hosts[i]), ports[i])));
        Ends { hosts, addresses }
    };
    (0..).zip(connections.chain(datagrams)).map(ends).collect()
}

/// The ports of what opens and of what listens.
fn ports(index: u32, listeners: u16) -> [u16; 2] {
    [OPENERS + (index % IN_ROUND) as u16, listeners + (index / IN_ROUND) as u16]
}

/// The hosts of a traveller: of the connections, and then the datagram flows, the one with this
/// index.
fn hosts(shape: &Shape, index: u32, hosts: [usize; 2], reversed: bool) -> [Node; 2] {
    match shape {
        Shape::Dumbbell { .. } | Shape::Chain { .. } => {
            let [left, right] = [Node::Source(hosts[0] as u32), Node::Sink(hosts[1] as u32)];
            if reversed { [right, left] } else { [left, right] }
        }
        Shape::Graph(graph) if graph.access.is_some() => [Node::Source(index), Node::Sink(index)],
        Shape::Graph(_) => hosts.map(|node| Node::Named(node as u32)),
        Shape::Wlan(_) => hosts.map(|host| match host {
            0 => Node::Server,
            _ => Node::Air(NodeId::Station(host as u32 - 1)),
        }),
    }
}

/// The address of a host.
pub(super) fn address(host: Node) -> Ipv4Addr {
    let (net, index) = match host {
        Node::Source(host) => (LEFT, host),
        Node::Sink(host) => (RIGHT, host),
        Node::Named(node) => (NAMED, node),
        Node::Server => (SERVER, 0),
        Node::Air(NodeId::Station(station)) => (STATIONS, station),
        // No hosts.
        Node::Left | Node::Right | Node::Inside | Node::Air(NodeId::AccessPoint) => (0, 0),
    };
    let net = net + (index / IN_LAST_TWO) as u8;
    let third = index / IN_LAST % (IN_LAST_TWO / IN_LAST);
    Ipv4Addr::new(10, net, third as u8, (index % IN_LAST + 1) as u8)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use fairway_spec::MAX_CONNECTIONS;

    #[test]
    fn addresses_are_readable() {
        let of = |host| address(host).to_string();
        assert_eq!(of(Node::Source(0)), "10.10.0.1");
        assert_eq!(of(Node::Sink(249)), "10.20.0.250");
        assert_eq!(of(Node::Sink(250)), "10.20.1.1");
        assert_eq!(of(Node::Named(3)), "10.30.0.4");
        assert_eq!(of(Node::Server), "10.40.0.1");
        assert_eq!(of(Node::Air(NodeId::Station(4))), "10.50.0.5");
        assert_eq!(of(Node::Source(62_500)), "10.11.0.1");
    }

    #[test]
    fn as_many_hosts_and_connections_as_there_may_be_are_all_different() {
        let all = 0..MAX_CONNECTIONS as u32;
        let addresses: BTreeSet<_> = all
            .clone()
            .flat_map(|i| [Node::Source(i), Node::Sink(i), Node::Named(i)].map(address))
            .collect();
        assert_eq!(addresses.len() as u64, 3 * MAX_CONNECTIONS);
        let ports: BTreeSet<_> = all.map(|i| ports(i, TCP_LISTENERS)).collect();
        assert_eq!(ports.len() as u64, MAX_CONNECTIONS);
        assert!(ports.last().unwrap()[1] < UDP_LISTENERS);
    }
}
