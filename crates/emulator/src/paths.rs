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
    /// The first flow between two hosts, for what has no such port.
    by_hosts: BTreeMap<[Ipv4Addr; 2], u32>,
}

impl Paths {
    /// Those of so many connections, and of datagram flows behind them.
    pub fn new(flows: Vec<Ends>, connections: usize) -> Self {
        let mut by_port = vec![None; 1 << 16];
        let mut by_hosts = BTreeMap::new();
        for (index, ends) in (0..).zip(&flows) {
            by_port[usize::from(ends.port)] = Some(index);
            by_hosts.entry([ends.source, ends.sink]).or_insert(index);
        }
        Paths { flows, connections, by_port, by_hosts }
    }

    /// The path of a packet; none if no flow has its hosts.
    pub fn of(&self, packet: &Headers) -> Option<u32> {
        let hosts = [packet.source, packet.destination];
        self.towards(hosts, packet.ports[1])
            .map(|flow| self.forward(flow))
            .or_else(|| self.back(self.towards([hosts[1], hosts[0]], packet.ports[0])?))
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
