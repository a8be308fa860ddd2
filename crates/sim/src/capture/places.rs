//! Where packets of a network can be captured, and which of these places an experiment asks for.

use std::collections::BTreeMap;

use fairway_capture::write::Interface;
use fairway_net::wlan::NodeId;
use fairway_units::Rate;

use super::addresses::{Ends, address};
use crate::network::Network;
use fairway_spec::{
    AT, CaptureSettings, Experiment, ExperimentError, ExperimentErrors, Node, PlaceKind, Shape,
};

/// What a frame's headers need at most, rounded up: what captures of headers alone say they keep.
const HEADERS_SNAP: u32 = 128;
/// Files of one run: so many can be open at once nearly everywhere.
const MAX_FILES: usize = 256;
/// The medium of a WLAN, as if it were a link.
const AIR: &str = "wlan";

/// All places of a network.
pub(super) struct CapturePoints {
    all: Vec<CapturePoint>,
    of_host: BTreeMap<String, usize>,
    of_end: BTreeMap<(String, String), usize>,
}

struct CapturePoint {
    kind: PlaceKind,
    interface: Interface,
}

impl CapturePoints {
    /// The hosts in the order of the connections, and the ends of links in that of the links.
    pub(super) fn of(experiment: &Experiment, ends: &[Ends], network: &Network) -> Self {
        let snap = experiment.capture.snap;
        let snap_bytes = snap.map_or(HEADERS_SNAP, |snap| snap.get() as u32);
        let mut places =
            CapturePoints { all: Vec::new(), of_host: BTreeMap::new(), of_end: BTreeMap::new() };
        for host in ends.iter().flat_map(|ends| ends.hosts) {
            let name = name(experiment, host);
            if !places.of_host.contains_key(&name) {
                let description = format!("host {name}, {}", address(host));
                places.of_host.insert(name.clone(), places.all.len());
                let interface = Interface { name, description, speed: None, snap_bytes };
                places.all.push(CapturePoint { kind: PlaceKind::Host, interface });
            }
        }
        let inside = |(_, ends, _): (&str, [Node; 2], Rate)| ends == [Node::Inside; 2];
        let directions = network.directions().map(inside).zip(links(experiment, network));
        for (_, (link, from, to, rate)) in directions.filter(|(inside, _)| !inside) {
            for (node, rate) in [(from, Some(rate)), (to, None)] {
                places.add_end(
                    &link,
                    &node,
                    rate.filter(|rate| *rate < Rate::UNLIMITED),
                    snap_bytes,
                );
            }
        }
        places
    }

    /// Adds the end of a link, if it is new, and the rate at which packets leave there.
    fn add_end(&mut self, link: &str, node: &str, rate: Option<Rate>, snap_bytes: u32) {
        let count = self.all.len();
        let key = (link.to_owned(), node.to_owned());
        let place = *self.of_end.entry(key).or_insert(count);
        if place == count {
            let interface = Interface {
                name: format!("{link}{AT}{node}"),
                description: format!("link {link}, at its end {node}"),
                speed: None,
                snap_bytes,
            };
            self.all.push(CapturePoint { kind: PlaceKind::LinkEnd, interface });
        }
        let speed = &mut self.all[place].interface.speed;
        *speed = rate.or(*speed);
    }

    /// The place of a host.
    pub(super) fn host(&self, experiment: &Experiment, host: Node) -> Option<usize> {
        self.of_host.get(&name(experiment, host)).copied()
    }

    /// The places where packets enter and leave each link direction. What a node of a cell sends
    /// goes to the access point, and what the access point sends to a station: [`Self::station`].
    pub(super) fn of_links(
        &self,
        experiment: &Experiment,
        network: &Network,
    ) -> Vec<[Option<usize>; 2]> {
        let of_end = |end: &(String, String)| self.of_end.get(end).copied();
        let end = |link: &str, node: String| of_end(&(link.to_owned(), node));
        let directions = links(experiment, network);
        directions.map(|(link, from, to, _)| [end(&link, from), end(&link, to)]).collect()
    }

    /// The access point of a cell, if there is one, as a link direction.
    pub(super) fn access_point(&self, network: &Network) -> Option<u32> {
        let ends = [Node::Air(NodeId::AccessPoint); 2];
        let place = network.directions().position(|(_, these, _)| these == ends);
        place.map(|place| place as u32)
    }

    /// The place of a station on the medium.
    pub(super) fn on_air(&self, experiment: &Experiment, node: Node) -> Option<usize> {
        self.of_end.get(&(AIR.to_owned(), name(experiment, node))).copied()
    }

    /// Whether each is asked for.
    pub(super) fn wanted(&self, settings: &CaptureSettings) -> Vec<bool> {
        self.all.iter().map(|p| settings.at.have(p.kind, &p.interface.name)).collect()
    }

    pub(super) fn interface(&self, place: usize) -> &Interface {
        &self.all[place].interface
    }
}

/// Each link direction: the link's name, the names of the nodes at which it begins and ends, and its
/// rate.
fn links<'a>(
    experiment: &'a Experiment,
    network: &'a Network,
) -> impl Iterator<Item = (String, String, String, Rate)> + 'a {
    network.directions().map(|(link, [from, to], rate)| {
        let link = if matches!(from, Node::Air(_)) && from == to { AIR } else { link };
        // Those of a cell all meet at the access point.
        let to = match to {
            Node::Air(NodeId::Station(_)) if from == to => Node::Air(NodeId::AccessPoint),
            to => to,
        };
        (link.to_owned(), name(experiment, from), name(experiment, to), rate)
    })
}

fn name(experiment: &Experiment, node: Node) -> String {
    match (&experiment.topology.shape, node) {
        (Shape::Graph(graph), Node::Named(node)) => graph.nodes[node as usize].clone(),
        (_, node) => node.to_string(),
    }
}

/// Checks that the simulator can capture at the places that an experiment names.
///
/// # Errors
/// The key, what was found and what to write instead.
pub fn check_captures(experiment: &Experiment) -> Result<(), ExperimentErrors> {
    let settings = &experiment.capture;
    if !settings.is_on() {
        return Ok(());
    }
    let places = CapturePoints::of(
        experiment,
        &super::addresses::ends(experiment),
        &Network::new(experiment),
    );
    let refuse = |path: &str, message| {
        let error = ExperimentError { path: path.to_owned(), message };
        Err(ExperimentErrors { source: None, errors: vec![error] })
    };
    let names = places.all.iter().map(|place| (place.kind, place.interface.name.as_str()));
    if let Err(message) = settings.at.check(names) {
        return refuse("capture.at", message);
    }
    let count = places.wanted(settings).into_iter().filter(|wanted| *wanted).count();
    if count > MAX_FILES && !settings.is_one_file {
        let message = format!(
            "{count} places would be {count} files, and at most {MAX_FILES} are written; write \
             files = \"one\", or name fewer places in capture.at"
        );
        return refuse("capture.files", message);
    }
    Ok(())
}
