//! Which path a packet takes: that of the flow whose hosts, and if possible whose port, it has.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::headers::Headers;
use crate::message::Ends;

/// The paths of all flows.
pub struct Paths {
    flows: Vec<Ends>,
    connections: usize,
    /// The flow of each port of a sink.
    by_port: Vec<Option<u32>>,
    /// The first flow between two hosts, in either direction, for what has no such port.
    by_hosts: BTreeMap<[Ipv4Addr; 2], u32>,
    /// Of the first of a program's connections, how many there are, and the ports of its source in the
    /// order of their first packets.
    groups: BTreeMap<u32, (u32, Vec<u16>)>,
}

impl Paths {
    /// Those of so many connections, and of datagram flows behind them.
    ///
    /// Each group has the first of its connections and their number.
    pub fn new(flows: Vec<Ends>, connections: usize, groups: &[[u32; 2]]) -> Self {
        let mut by_port = vec![None; 1 << 16];
        let mut by_hosts = BTreeMap::new();
        for (index, ends) in (0..).zip(&flows) {
            // Those of programs have none.
            if ends.port != 0 {
                by_port[usize::from(ends.port)].get_or_insert(index);
            }
            if !by_hosts.contains_key(&[ends.sink, ends.source]) {
                by_hosts.entry([ends.source, ends.sink]).or_insert(index);
            }
        }
        let groups = groups.iter().map(|[first, count]| (*first, (*count, Vec::new()))).collect();
        Paths { flows, connections, by_port, by_hosts, groups }
    }

    /// The path of a packet; none if no flow has its hosts.
    pub fn of(&mut self, packet: &Headers) -> Option<u32> {
        let (hosts, [from, to]) = ([packet.source, packet.destination], packet.ports);
        if let Some(flow) = self.towards(hosts, to) {
            let flow = self.in_group(flow, from);
            return Some(self.forward(flow));
        }
        let flow = self.towards([hosts[1], hosts[0]], from)?;
        let flow = self.in_group(flow, to);
        self.back(flow)
    }

    /// The connection that a port of its source stands for, if a program opens several: the nth port that
    /// is seen is the nth connection, and begins again behind the last.
    fn in_group(&mut self, first: u32, port: u16) -> u32 {
        let Some((count, ports)) = self.groups.get_mut(&first) else { return first };
        let place = ports.iter().position(|known| *known == port).unwrap_or_else(|| {
            ports.push(port);
            ports.len() - 1
        });
        first + place as u32 % *count
    }

    /// The device at the end of a path.
    pub fn device_at_end(&self, path: u32) -> u32 {
        let (flow, forward) = match (path as usize).checked_sub(2 * self.connections) {
            Some(datagrams) => (self.connections + datagrams, true),
            None => (path as usize / 2, path.is_multiple_of(2)),
        };
        self.flows[flow].devices[usize::from(forward)]
    }

    /// The flow between two hosts, from its source to its sink.
    fn towards(&self, hosts: [Ipv4Addr; 2], port: u16) -> Option<u32> {
        let is_between = |flow: &u32| {
            let ends = &self.flows[*flow as usize];
            [ends.source, ends.sink] == hosts
        };
        let by_port = self.by_port[usize::from(port)].filter(is_between);
        by_port.or_else(|| self.by_hosts.get(&hosts).copied())
    }

    /// How many flows there are.
    pub fn flows(&self) -> u32 {
        self.flows.len() as u32
    }

    /// How many of them are connections, which have a path back.
    pub fn connections(&self) -> u32 {
        self.connections as u32
    }

    /// The path of a flow to its sink.
    pub fn forward(&self, flow: u32) -> u32 {
        match (flow as usize).checked_sub(self.connections) {
            Some(datagrams) => (2 * self.connections + datagrams) as u32,
            None => 2 * flow,
        }
    }

    /// That to its source, which a datagram flow does not have.
    pub fn back(&self, flow: u32) -> Option<u32> {
        ((flow as usize) < self.connections).then_some(2 * flow + 1)
    }
}

#[cfg(test)]
mod tests {
    use fairway_net::Ecn;

    use super::*;

    const LEFT: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 1);
    const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 2);

    fn path(
        paths: &mut Paths,
        [source, destination]: [Ipv4Addr; 2],
        ports: [u16; 2],
    ) -> Option<u32> {
        let (ip_bytes, has_payload, payload_bytes, ecn) = (40, false, 0, Ecn::NotEct);
        let packet =
            Headers { source, destination, ports, ip_bytes, has_payload, payload_bytes, ecn };
        paths.of(&packet)
    }

    #[test]
    fn packets_between_the_hosts_of_several_programs_are_those_of_the_first() {
        let ends = |source, sink| Ends { source, sink, port: 0, devices: [0, 1] };
        let mut paths =
            Paths::new(vec![ends(LEFT, RIGHT), ends(LEFT, RIGHT), ends(RIGHT, LEFT)], 3, &[]);
        // TCP to a port, its answer, and what has no ports.
        for ports in [[40_000, 80], [80, 40_000], [0, 0]] {
            assert_eq!(path(&mut paths, [LEFT, RIGHT], ports), Some(0));
            assert_eq!(path(&mut paths, [RIGHT, LEFT], ports), Some(1));
        }
        assert_eq!(path(&mut paths, [LEFT, LEFT], [0, 0]), None);
    }
    #[test]
    fn ports_of_a_program_take_its_connections_in_turn() {
        let ends = Ends { source: LEFT, sink: RIGHT, port: 42_000, devices: [0, 1] };
        let mut paths = Paths::new(vec![ends; 2], 2, &[[0, 2]]);
        for (port, expected) in [(50_000, 0), (50_007, 2), (50_003, 0), (50_007, 2)] {
            assert_eq!(path(&mut paths, [LEFT, RIGHT], [port, 42_000]), Some(expected));
            assert_eq!(path(&mut paths, [RIGHT, LEFT], [42_000, port]), Some(expected + 1));
        }
    }
}
