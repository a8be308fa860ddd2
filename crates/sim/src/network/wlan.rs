//! The network of a WLAN: the server's wire, and the nodes of the cell.

use fairway_net::wlan::{Cell, NodeId};
use fairway_units::random::Stream;

use super::Network;
use super::build::{Builder, Routes};
use super::cell::Medium;
use fairway_spec::Wlan;

/// Name of the access point in results; a station's is that of its host.
const ACCESS_POINT: &str = "ap";

impl<'a> Builder<'a> {
    /// The server's wire, the access point and the stations, in this order.
    pub(super) fn wlan(mut self, wlan: &'a Wlan) -> Network {
        // The wire is there already, in both directions.
        let server = [0, 1];
        let access_point = self.node(NodeId::AccessPoint, ACCESS_POINT.to_owned());
        let count = wlan.cell.stations.len() as u64;
        let stations: Vec<u32> = (0..count as u32)
            .map(|station| self.node(NodeId::Station(station), format!("sta{station}")))
            .collect();
        let mut used = vec![false; stations.len()];
        let (mut routes, mut receivers) = (Routes::default(), Vec::new());
        let connections = self.experiment.flows.iter().map(|flow| (flow.hosts, true));
        let datagrams = self.experiment.datagrams.iter().map(|flow| (flow.hosts, false));
        for (hosts, returns) in connections.chain(datagrams) {
            let [there, back] = hosts.map(|host| host.checked_sub(1));
            let path = |from: Option<usize>, to: Option<usize>| {
                let first = from.map_or(server[0], |station| stations[station]);
                vec![first, if to.is_some() { access_point } else { server[1] }]
            };
            routes.chosen.push(None);
            let ends = [(there, back), (back, there)];
            for (from, to) in ends.into_iter().take(if returns { 2 } else { 1 }) {
                routes.add_path(vec![path(from, to)]);
                receivers.push(to.map_or(0, |station| station as u32));
                from.into_iter().for_each(|station| used[station] = true);
            }
        }
        // The bottleneck towards most sinks is the access point. Stations that send nothing are not
        // reported.
        let used = stations.iter().zip(used).filter(|(_, used)| *used).map(|(station, _)| *station);
        let reported = [access_point].into_iter().chain(used).chain(server).collect();
        let queue = |node| {
            let (queue, name) = match node {
                NodeId::AccessPoint => (&wlan.access_point_queue, ACCESS_POINT.to_owned()),
                NodeId::Station(station) => (&wlan.station_queue, format!("sta{station}")),
            };
            let stream = Stream::new(self.experiment.seed, &format!("{name}/queue"));
            queue.build(stream)
        };
        let cell = Cell::new(&wlan.cell, self.window, queue, self.experiment.seed, "wlan");
        let medium = Medium::new(cell, access_point, receivers);
        Network { medium: Some(Box::new(medium)), ..self.finish(routes, reported) }
    }
}
