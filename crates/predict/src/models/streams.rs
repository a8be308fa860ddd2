//! Flows of TCP that share a bottleneck: which model answers.

use fairway_model::{Algorithm, Path};

use super::datagrams::Offered;
use super::{FlowAnswer, LinkAnswer, controlled, finite, full, keeping, limited, mixed, outside};
use crate::case::{Discipline, Group, QueueLimit, Stream};
use crate::prediction::Basis;
use crate::refusal::Refusal;

/// What a model says of flows of TCP.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub streams: Vec<FlowAnswer>,
    pub link: LinkAnswer,
    /// Share of arriving packets that the queue drops.
    pub dropped: f64,
}

/// What models need of flows that are all alike.
pub(super) struct Alike<'a> {
    /// One of them.
    pub stream: &'a Stream,
    /// How many there are.
    pub count: u32,
    /// Its congestion control, if models know it.
    pub algorithm: Option<Algorithm>,
    /// The path of one, with what datagrams leave of the capacity.
    pub path: Path,
    /// The bottleneck's table in the experiment file.
    pub bottleneck: &'a str,
    /// Its queue.
    pub discipline: Discipline,
    /// Whether the buffer has an end.
    pub is_bounded: bool,
    /// Beginning and end of the measuring window, in seconds.
    pub window_s: [f64; 2],
    /// Why nothing may be believed, whichever model it is.
    pub outside: Option<String>,
}

/// What every flow of a group of alike ones has.
pub(super) struct Each {
    pub basis: Basis,
    /// Packets of one that the bottleneck passes on in a second.
    pub passed_pps: f64,
    pub window_packets: Option<f64>,
    /// Mean time in the queue.
    pub waits_s: Option<f64>,
    /// Share of arriving packets that the queue drops.
    pub dropped: f64,
    pub utilisation: f64,
}

impl Alike<'_> {
    /// The same answer for all of them.
    pub(super) fn found(&self, each: Each) -> Found {
        let Each { basis, passed_pps, window_packets, waits_s, dropped, utilisation } = each;
        let stream = self.stream;
        let flow = FlowAnswer {
            basis: basis.clone(),
            goodput_pps: passed_pps * (1.0 - stream.loss),
            window_packets,
            rtt_s: waits_s.map(|waits| stream.rtt_s + waits),
            one_way_s: waits_s.map(|waits| stream.one_way_s + waits),
            loss: Some(1.0 - (1.0 - dropped) * (1.0 - stream.loss)),
            completion_s: None,
        };
        let link = LinkAnswer {
            basis,
            utilisation,
            backlog_packets: waits_s.map(|waits| waits * self.path.capacity_pps * utilisation),
            sojourn_s: waits_s,
        };
        Found { streams: vec![flow; self.count as usize], link, dropped }
    }

    /// A refusal of the congestion control.
    pub(super) fn unknown(&self, what: &str) -> Refusal {
        Refusal::new(format!("{}cc", self.stream.path), format!("{what} \"{}\"", self.stream.cc))
    }

    /// Streams as a number.
    pub(super) fn n(&self) -> f64 {
        f64::from(self.count)
    }
}

/// What models say of the flows of TCP of a group.
pub(super) fn answer(
    group: &Group,
    window_s: [f64; 2],
    offered: &Offered,
) -> Result<Found, Refusal> {
    let Some(stream) = group.flows.iter().find(|stream| stream.size_packets.is_some()) else {
        return endless(group, window_s, offered);
    };
    let first = &group.flows[0];
    if !group.flows.iter().all(|other| is_alike(other, first)) {
        let what = "no model knows transfers with an end beside flows that differ";
        return Err(Refusal::new(format!("{}bytes", stream.path), what));
    }
    let capacity_pps = path(group, first, offered).capacity_pps;
    let mut found = endless(group, window_s, offered)?;
    finite::answer(group, &mut found, capacity_pps, window_s)?;
    // The link is busy while they are there.
    let length = window_s[1] - window_s[0];
    let busy = found.streams[0].completion_s.map_or(1.0, |took| {
        let until = (first.start_s + took).min(window_s[1]);
        ((until - first.start_s.max(window_s[0])) / length).clamp(0.0, 1.0)
    });
    let n = group.flows.len() as f64;
    found.link.utilisation = (n * found.streams[0].goodput_pps / capacity_pps * busy).min(1.0);
    (found.link.backlog_packets, found.link.sojourn_s) = (None, None);
    found.link.basis = found.streams[0].basis.clone();
    Ok(found)
}

/// The same, as if they had no end.
fn endless(group: &Group, window_s: [f64; 2], offered: &Offered) -> Result<Found, Refusal> {
    let first = &group.flows[0];
    if !group.flows.iter().all(|stream| is_alike(stream, first)) {
        return mixed::answer(group, window_s, offered);
    }
    let alike = alike(group, window_s, offered);
    if let Some(found) = limited::answer(&alike)? {
        return Ok(found);
    }
    let windows = alike.n() * alike.stream.window_packets;
    let queue = group.buffer_packets(first).unwrap_or(f64::INFINITY);
    // Where the receiver stops them first, they keep no queue of their own choice.
    if keeping::keeps(&first.cc) && windows > alike.path.pipe_packets() + queue.min(1.0) {
        return keeping::answer(&alike);
    }
    match alike.discipline {
        Discipline::DropTail => full::answer(&alike),
        Discipline::Red { .. } | Discipline::Target { .. } => controlled::answer(&alike),
        Discipline::Other(name) => {
            let what = format!("no model knows what flows make of {name}");
            Err(Refusal::new(format!("{}.queue.kind", group.bottleneck.path), what))
        }
    }
}

/// The path of one of several flows, with what datagrams leave of the capacity and of the queue.
pub(super) fn path(group: &Group, stream: &Stream, offered: &Offered) -> Path {
    let rest = rest_of_queue(group, stream, offered);
    Path {
        capacity_pps: group.capacity_pps(stream) * (1.0 - offered.share),
        rtt_s: stream.rtt_s,
        buffer_packets: group.buffer_packets(stream).unwrap_or(0.0) * rest,
        window_packets: Some(stream.window_packets),
        stream_pps: stream.application_pps,
        loss: stream.loss,
        // RFC 6298, section 2: the smoothed round-trip time and four times its deviation, which is little
        // where round trips are alike, and no less than the minimum beside it, as Linux has it.
        rto_s: stream.rtt_s + stream.rto_min_s,
    }
}

/// What datagrams leave of the queue: they have their share of its packets as of those that pass, or of its
/// bytes as of the rate.
pub(super) fn rest_of_queue(group: &Group, stream: &Stream, offered: &Offered) -> f64 {
    match group.bottleneck.queue_limit {
        QueueLimit::Packets(_) => {
            let own = group.capacity_pps(stream) * (1.0 - offered.share);
            own / (own + offered.pps)
        }
        QueueLimit::Endless | QueueLimit::Bytes(_) => 1.0 - offered.share,
    }
}

fn alike<'a>(group: &'a Group, window_s: [f64; 2], offered: &Offered) -> Alike<'a> {
    let stream = &group.flows[0];
    let of_flows = group.flows.iter().find_map(|stream| outside::of_window(stream, window_s));
    Alike {
        stream,
        count: u32::try_from(group.flows.len()).unwrap_or(u32::MAX),
        algorithm: Algorithm::named(&stream.cc),
        path: path(group, stream, offered),
        bottleneck: &group.bottleneck.path,
        discipline: group.bottleneck.discipline.scaled(rest_of_queue(group, stream, offered)),
        is_bounded: group.buffer_packets(stream).is_some(),
        window_s,
        outside: of_flows.or_else(|| offered.outside.clone()),
    }
}

/// Whether models cannot tell one flow from another.
fn is_alike(one: &Stream, other: &Stream) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-3 * a.abs().max(b.abs());
    let rate = |stream: &Stream| stream.application_pps.unwrap_or(f64::MAX);
    one.cc == other.cc
        && one.parameters == other.parameters
        && one.is_ecn_capable == other.is_ecn_capable
        && near(one.frame_bytes, other.frame_bytes)
        && near(one.rtt_s, other.rtt_s)
        && near(one.loss, other.loss)
        && near(one.window_packets, other.window_packets)
        && near(rate(one), rate(other))
}

impl Alike<'_> {
    /// A refusal of something of the bottleneck.
    pub(super) fn refused(&self, key: &str, what: &str) -> Refusal {
        Refusal::new(format!("{}{key}", self.bottleneck), what)
    }
}
