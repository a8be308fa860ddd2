//! The places of a capture, which are those of the simulator, and the devices that see them.
//!
//! What enters a link is what comes into the router in front of it, before the link's queue; what
//! comes out of it is what comes into the next router or host, behind its wire. So a place has the
//! packets that it has in a simulated network.

use fairway_capture::write::Format;
use fairway_guest::plan::{Capture, CapturePlace, Tap};
use fairway_spec::{AT, Experiment, PlaceKind};
use fairway_units::Rate;

use super::host::Hosts;
use super::network::{End, Segment, sink_address, source_address};
use super::refusal::Refusals;
use super::row::Row;

/// Files of one run, as in a simulated network: so many can be open at once.
const MAX_FILES: usize = 256;

/// What is captured of an experiment.
pub(super) fn capture(
    experiment: &Experiment,
    row: &Row,
    hosts: &Hosts,
    segments: &[Segment],
    refusals: &mut Refusals,
) -> Option<Capture> {
    let settings = &experiment.capture;
    if !settings.is_on() {
        return None;
    }
    let mut places = all_hosts(hosts, segments);
    for stage in 0..row.stages.len() {
        places.extend(link_ends(stage, row, hosts, segments));
    }
    let names = places.iter().map(|(kind, place)| (*kind, place.name.as_str()));
    if let Err(message) = settings.at.check(names) {
        refusals.refuse("capture.at", message);
    }
    places.retain(|(kind, place)| settings.at.have(*kind, &place.name));
    if places.len() > MAX_FILES && !settings.is_one_file {
        let message = format!(
            "{0} places would be {0} files, and at most {MAX_FILES} are written; write files = \
             \"one\", or name fewer places in capture.at",
            places.len()
        );
        refusals.refuse("capture.files", message);
    }
    Some(Capture {
        places: places.into_iter().map(|(_, place)| place).collect(),
        is_one_file: settings.is_one_file,
        is_pcap: settings.format == Format::Pcap,
        snap_bytes: settings.snap.map(|snap| snap.get() as u32),
    })
}

/// Every host: what its device sends and receives for its address.
fn all_hosts(hosts: &Hosts, segments: &[Segment]) -> Vec<(PlaceKind, CapturePlace)> {
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else { return Vec::new() };
    let pairs = (0..hosts.pairs.len()).flat_map(|pair| {
        let ends = [first.of_pair(pair, 0), last.of_pair(pair, 1)];
        let addresses = [source_address(pair), sink_address(pair)];
        [("s", 0), ("d", 1)].map(|(letter, side)| {
            let name = format!("{letter}{pair}");
            let host = Some(addresses[side]);
            let tap = |is_out| Tap { host, ..tap(ends[side], is_out, is_out) };
            let description = format!("host {name}, {}", addresses[side]);
            let taps = vec![tap(true), tap(false)];
            (PlaceKind::Host, CapturePlace { name, description, speed_bps: None, taps })
        })
    });
    pairs.collect()
}

/// Both ends of a link, or of each pair's own.
fn link_ends(
    stage: usize,
    row: &Row,
    hosts: &Hosts,
    segments: &[Segment],
) -> Vec<(PlaceKind, CapturePlace)> {
    let link = row.stages[stage].link;
    // The ideal veths in front of the link and behind it.
    let beside = [&segments[2 * stage], &segments[2 * stage + 2]];
    let mut places = Vec::new();
    let mut add = |name: &str, nodes: [&str; 2], pair: Option<usize>| {
        for (side, node) in nodes.into_iter().enumerate() {
            // Of such a veth, the link's own router has the end that looks away from it.
            let entering = beside[side].ends(pair, 1 - side).map(|end| tap(end, false, true));
            let leaving = beside[side].ends(pair, side).map(|end| tap(end, false, false));
            places.push((
                PlaceKind::LinkEnd,
                CapturePlace {
                    name: format!("{name}{AT}{node}"),
                    description: format!("link {name}, at its end {node}"),
                    speed_bps: (link.rate < Rate::UNLIMITED).then(|| link.rate.as_bps()),
                    taps: entering.chain(leaving).collect(),
                },
            ));
        }
    };
    if !row.stages[stage].per_pair {
        add(&link.id, ["left", "right"], None);
        return places;
    }
    for pair in 0..hosts.pairs.len() {
        let (letter, is_first) = if stage == 0 { ("s", true) } else { ("d", false) };
        let host = format!("{letter}{pair}");
        let nodes = if is_first { [host.as_str(), "left"] } else { ["right", host.as_str()] };
        add(&format!("{}/{host}", link.id), nodes, Some(pair));
    }
    places
}

fn tap(end: &End, is_outgoing: bool, is_outbound: bool) -> Tap {
    Tap {
        namespace: end.namespace,
        device: end.device.clone(),
        is_outgoing,
        is_outbound,
        host: None,
    }
}
