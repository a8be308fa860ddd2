//! The hosts of a network by name, and which of them reach each other.

use super::places::Places;
use super::{Experiment, Router, Shape, wlan};

/// What the hosts on the left and on the right of a row are called.
pub type Sides = [Vec<String>; 2];

/// Of a dumbbell or a chain, as the places of its flows are known.
pub(super) fn sides(places: &Places) -> Sides {
    match places {
        Places::Sides(sides) => [0, 1].map(|side| {
            let name = |(index, name): (usize, &Option<String>)| {
                name.clone().unwrap_or_else(|| unnamed(side, index))
            };
            sides[side].iter().enumerate().map(name).collect()
        }),
        Places::Nodes(..) | Places::Cell(_) => Sides::default(),
    }
}

/// What captures call a host that no flow names.
pub(super) fn unnamed(side: usize, index: usize) -> String {
    format!("{}{index}", ["s", "d"][side])
}

impl Experiment {
    /// The names of all hosts, in a graph of all nodes; that of the first flow's source comes first.
    pub fn hosts(&self) -> Vec<String> {
        match &self.topology.shape {
            Shape::Dumbbell { .. } | Shape::Chain { .. } => self.sides.concat(),
            Shape::Graph(graph) => {
                let mut nodes = graph.nodes.clone();
                if let Some(flow) = self.flows.first() {
                    nodes[..=flow.hosts[0]].rotate_right(1);
                }
                nodes
            }
            Shape::Wlan(wlan) => {
                let stations = 0..wlan.cell.stations.len();
                let names = stations.map(|station| format!("{}{station}", wlan::STATION));
                [wlan::SERVER.to_owned()].into_iter().chain(names).collect()
            }
        }
    }

    /// The hosts that a host reaches; none if there is no such host.
    pub fn peers(&self, host: &str) -> Vec<String> {
        match &self.topology.shape {
            Shape::Dumbbell { .. } | Shape::Chain { .. } => {
                let [left, right] = &self.sides;
                let has = |side: &[String]| side.iter().any(|name| name == host);
                match (has(left), has(right)) {
                    (true, _) => right.clone(),
                    (_, true) => left.clone(),
                    _ => Vec::new(),
                }
            }
            Shape::Graph(graph) => {
                let Some(own) = graph.nodes.iter().position(|node| node == host) else {
                    return Vec::new();
                };
                let mut router = Router::new(graph);
                let mut is_reached =
                    |other: &usize| *other != own && !router.routes(own, *other).is_empty();
                let reached = (0..graph.nodes.len()).filter(|other| is_reached(other));
                reached.map(|other| graph.nodes[other].clone()).collect()
            }
            Shape::Wlan(_) => {
                let hosts = self.hosts();
                let is_there = hosts.iter().any(|other| other == host);
                hosts.into_iter().filter(|other| is_there && other != host).collect()
            }
        }
    }
}
