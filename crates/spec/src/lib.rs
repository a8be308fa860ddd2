//! The experiment language: the file that a user writes, and the validated form that backends run.
//!
//! [`plan`] turns the text of a file into one document for every point of its sweep;
//! [`from_document`] turns a document into an [`Experiment`]. `keys` is the one list of what may
//! be written, with `switches` for those of the stack and `wire_keys` for what links do besides;
//! `reader` reads by it; `stack`, `topology`,
//! `traffic`, `datagrams`, `capture`, `linux` and `document` give it meaning.

mod capture;
mod catalogue;
mod datagrams;
mod distribution;
mod document;
mod error;
mod extras;
mod forms;
mod graph;
mod hosts;
mod keys;
mod kinds;
mod links;
mod linux;
mod matrix;
mod network;
mod node;
mod places;
mod plan;
mod program;
mod queues;
mod reader;
mod repetitions;
mod resolved;
mod routes;
mod samples;
mod schema;
mod set;
mod specimen;
mod stack;
mod sweep;
mod switch;
mod switches;
#[cfg(test)]
mod tests;
mod topology;
mod traces;
mod traffic;
mod unknown;
mod wire_keys;
mod wires;
mod wlan;
mod workload;

pub use capture::{AT, CaptureSettings, PlaceKind, Places};
pub use catalogue::{algorithms, presets};
pub use datagrams::{DatagramFlow, departures_of};
pub use distribution::Distribution;
pub use document::{from_document, from_document_with, resolve};
pub use error::{ExperimentError, ExperimentErrors};
pub use fairway_net::Limit;
pub use fairway_net::datagrams::{Pattern, Periods, UDP_HEADERS};
pub use keys::MAX_CONNECTIONS;
pub use linux::{LinuxNetwork, LinuxSettings, SOCKET_OPTIONS, SocketOption};
pub use network::{LinkDirection, Network, REVERSE, Routes};
pub use node::Node;
pub use plan::{Plan, Point, plan, plan_document, plan_with};
pub use program::{Commands, KeptPath, Program};
pub use queues::Path;
pub use repetitions::Until;
pub use resolved::Resolved;
pub use routes::{Router, Step};
pub use schema::schema;
pub use specimen::specimen;
pub use stack::{HEADERS, TIMESTAMP_OPTION};
pub use switch::switches;

use std::ops::Range;

use fairway_cc::{Catalogue, Selection};
use fairway_net::impairment::Ns3Loss;
use fairway_net::wlan::CellConfig;
use fairway_net::{QdiscConfig, RateConfig, Schedule, Timing, WireConfig};
use fairway_tcp::Stack;
use fairway_units::{Bytes, Duration, Rate, Time};

/// One experiment, validated: no field can contradict another.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// What a reader is told it is.
    pub title: String,
    /// Simulated time of the run.
    pub duration: Duration,
    /// Seed of every random stream.
    pub seed: u64,
    /// The network.
    pub topology: Topology,
    /// Names of the hosts on the left and on the right; empty but in a dumbbell and a chain.
    pub sides: hosts::Sides,
    /// The traffic of TCP, one entry per connection, ids unique.
    pub flows: Vec<Flow>,
    /// The traffic of UDP.
    pub datagrams: Vec<DatagramFlow>,
    /// Applications with several of these connections, or more to do than to write and close.
    pub applications: Vec<Application>,
    /// What is measured.
    pub measure: Measure,
    /// Which packets are captured.
    pub capture: CaptureSettings,
    /// What a real Linux kernel is told besides.
    pub linux: LinuxSettings,
    /// The algorithms that the flows name.
    pub catalogue: Catalogue,
}

/// The network between senders and receivers.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology {
    /// Its shape.
    pub shape: Shape,
    /// What bandwidth-delay products are of.
    pub path: Path,
    /// Bytes added to every packet on every link (for Ethernet: 14, or 38 with preamble and gap).
    pub frame_overhead: Bytes,
    /// How transmissions are timed.
    pub timing: Timing,
}

/// Shapes of networks.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Pairs of hosts on either side of one shared link:
    /// source – access – router – bottleneck – router – access – sink.
    Dumbbell {
        /// The shared link.
        bottleneck: Link,
        /// Hosts' own links, or none: hosts sit at the routers.
        access: Option<Access>,
    },
    /// One row of links from the sources to the sinks, shared by all flows.
    Chain {
        /// The links in order.
        links: Vec<Link>,
    },
    /// Nodes and the links between them.
    Graph(Box<Graph>),
    /// An access point, stations around it and a server behind it.
    Wlan(Box<Wlan>),
}

impl Shape {
    /// Every link that is written.
    pub fn links(&self) -> Vec<&Link> {
        match self {
            Shape::Dumbbell { bottleneck, access } => std::iter::once(bottleneck)
                .chain(access.iter().map(|access| &access.link))
                .collect(),
            Shape::Chain { links } => links.iter().collect(),
            Shape::Graph(graph) => {
                graph.links.iter().map(|link| &link.link).chain(&graph.access).collect()
            }
            Shape::Wlan(wlan) => vec![&wlan.server],
        }
    }
}

/// A WLAN cell, and the wire to its server. As hosts, the server is 0, and the stations follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Wlan {
    /// The medium, the access point and the stations.
    pub cell: CellConfig,
    /// The interface queue of the access point.
    pub access_point_queue: QdiscConfig,
    /// That of each station.
    pub station_queue: QdiscConfig,
    /// From the server to the access point.
    pub server: Link,
}

/// Links of a dumbbell's hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Each host's own link.
    pub link: Link,
    /// Whether hosts on the left, and hosts on the right, have one; the others sit at their router.
    pub sides: [bool; 2],
}

/// A network of nodes and links.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Names of the nodes, all different.
    pub nodes: Vec<String>,
    /// The links, their ids different.
    pub links: Vec<GraphLink>,
    /// A link of its own for each end of each connection, or none: hosts are nodes.
    pub access: Option<Link>,
    /// Who goes which way where several are equally short.
    pub multipath: Multipath,
    /// Where flows begin and end that name no hosts, if they may.
    pub ends: Option<[usize; 2]>,
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphLink {
    /// The node at its beginning, as it is written.
    pub from: usize,
    /// The node at its end.
    pub to: usize,
    /// What it adds to the length of a route.
    pub metric: u32,
    /// The link.
    pub link: Link,
}

/// The choice among routes that are equally short.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Multipath {
    /// Each direction of each connection keeps to one, drawn at random: as routers choose by a
    /// hash of addresses and ports (RFC 2992).
    Hash,
    /// The connections between two nodes take one after the other.
    InTurn,
    /// Packets take one after the other.
    Packet,
}

impl Multipath {
    /// Every choice by its name.
    pub const ALL: [(&'static str, Multipath); 3] =
        [("hash", Multipath::Hash), ("in-turn", Multipath::InTurn), ("packet", Multipath::Packet)];

    /// The choice of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, choice)| *choice)
    }
}

/// A link, with equal properties in both directions unless `reverse` or a loss says otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name in results.
    pub id: String,
    /// Serialisation rate.
    pub rate: Rate,
    /// One-way propagation delay.
    pub delay: Duration,
    /// The queue in front of it, one in each direction. Limits in time or in bandwidth-delay products
    /// have been turned into bytes.
    pub queue: Box<QdiscConfig>,
    /// Random loss on it, if nothing else happens there.
    pub loss: Option<Loss>,
    /// What else does, losses included.
    pub extras: Option<Box<Extras>>,
    /// The other direction, if it is different; its own loss is one on its way.
    pub reverse: Option<Box<Link>>,
}

/// What a link does that has more than a constant rate, a constant delay and losses of packets each
/// by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Extras {
    /// What its wire does to packets: towards the sinks, and back.
    pub wires: [WireConfig; 2],
    /// Its rate over time.
    pub rate: RateConfig,
    /// Its delay over time.
    pub schedule: Schedule,
}

impl Link {
    /// What packets meet in this direction, towards the sinks or back.
    pub fn direction(&self, forward: bool) -> &Link {
        match &self.reverse {
            Some(reverse) if !forward => reverse,
            _ => self,
        }
    }

    /// The loss that is replayed on it from ns-3, in either direction, if one is.
    pub fn replayed_loss(&self) -> Option<&Ns3Loss> {
        [true, false].into_iter().find_map(|forward| {
            let extras = self.direction(forward).extras.as_deref()?;
            extras.wires[usize::from(!forward)].replayed_loss()
        })
    }

    /// The loss in this direction, if there is any.
    pub fn loss_of(&self, forward: bool) -> Option<Loss> {
        match &self.reverse {
            Some(reverse) if !forward && reverse.loss.is_some() => reverse.loss,
            _ => self.loss.filter(|loss| if forward { loss.forward } else { loss.reverse }),
        }
    }
}

/// Independent random loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Probability that a packet is lost.
    pub probability: f64,
    /// Whether packets from sources to sinks are lost.
    pub forward: bool,
    /// Whether packets from sinks to sources are lost.
    pub reverse: bool,
}

/// One TCP connection.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name in results.
    pub id: String,
    /// The application it belongs to: connections of one application know each other.
    pub application: Option<String>,
    /// Its congestion control.
    pub cc: Selection,
    /// The stack at both of its ends.
    pub stack: Stack,
    /// When it opens its connection.
    pub start: Time,
    /// When its application stops writing, if before the end of the run.
    pub stop: Option<Time>,
    /// Its hosts. In a dumbbell, indices of a host on the left and of one on the right, which have
    /// an access link each; in a graph, of the nodes at its source and at its sink.
    pub hosts: [usize; 2],
    /// Whether its source is on the right, and its sink on the left.
    pub reversed: bool,
    /// What its application writes.
    pub source: Source,
    /// Whether the application at the sink writes the same, on the same connection.
    pub both_ways: bool,
    /// Precedence of its packets, both ways, 0 to 7.
    pub precedence: u8,
    /// Whether the sink opens the connection, as a client that asks for data does.
    pub sink_opens: bool,
    /// Which `[[flow]]` of the file it is from.
    pub origin: u32,
    /// Whether it has time series: flows that come in great numbers have none.
    pub is_sampled: bool,
    /// How the receiving application reads, if not everything at once.
    pub reading: Option<Reading>,
    /// Socket options by name, for a real Linux kernel.
    pub linux_socket: Vec<(String, i32)>,
}

impl Flow {
    /// The path of one of its keys, by its id or else its index; copies have their flow's.
    pub fn path(&self, key: &str) -> String {
        path_of_flow(
            &self.id,
            |kind| self.cc.name.ends_with(kind) || kind == program::COMMANDS,
            key,
        )
    }
}

/// The path of a key of the `[[flow]]` that results name `id`. One without an id is named after its
/// kind, "#" and its index.
pub(crate) fn path_of_flow(id: &str, is_kind: impl Fn(&str) -> bool, key: &str) -> String {
    let id = id.split('/').next().unwrap_or(id);
    let index = id.rsplit_once('#').filter(|(kind, _)| is_kind(kind)).map(|(_, index)| index);
    format!("flow.{}.{key}", index.unwrap_or(id))
}

/// How a receiving application reads that does not take everything at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A segment's worth at a time.
    AtRate(Rate),
    /// Calls that block until data is there and take up to `size` of it, with a pause after each.
    Pausing {
        /// Buffer of the application; none if it holds all that can arrive.
        size: Option<Bytes>,
        /// From a call's return to the next call.
        interval: Duration,
    },
}

impl Reading {
    /// The key that asks for it.
    pub fn key(&self) -> &'static str {
        match self {
            Reading::AtRate(_) => "read_rate",
            Reading::Pausing { .. } => "read_interval",
        }
    }
}

/// What an application writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Source {
    /// Always has more data.
    Bulk,
    /// That many bytes, then closes.
    File {
        /// Size of the transfer.
        bytes: Bytes,
    },
    /// At most this rate: application-limited.
    Limited {
        /// Rate at which the application writes.
        rate: Rate,
        /// Size of the transfer, or endless.
        bytes: Option<Bytes>,
    },
    /// What the driver of its application says, which opens the connection too.
    Driven,
}

/// An application with connections of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Application {
    /// Its name in results.
    pub id: String,
    /// Its connections: their places in [`Experiment::flows`].
    pub connections: Range<usize>,
    /// When it begins.
    pub start: Time,
    /// What it does.
    pub workload: Workload,
}

/// What an application does.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Deals its data to its connections, and puts it in order behind them.
    Striped(Striping),
    /// Its connections come of themselves, each with one transfer.
    Arrivals,
    /// Files one after the other, each on a connection of its own.
    Files(Exchanges),
    /// Small writes with gaps between them.
    Writes(Exchanges),
    /// A client that asks, and thinks behind each answer.
    Requests(Exchanges),
    /// A client that loads pages of objects.
    Web(Exchanges),
    /// A client that asks many servers at once, and again when all have answered.
    Incast(Exchanges),
    /// Writes at a rate for a while, then not at all for a while.
    Bursts(OnOff),
    /// A client that plays a film.
    Video(Film),
    /// Programs of this machine do what they do.
    Program(Commands),
}

impl Workload {
    /// Whether each of its connections has a transfer of its own.
    pub fn has_transfers(&self) -> bool {
        matches!(self, Workload::Arrivals | Workload::Files(_))
    }

    /// Whether a client at the sink asks for the data that goes towards it.
    pub fn is_asked_for(&self) -> bool {
        use Workload::{Incast, Requests, Video, Web};
        matches!(self, Requests(_) | Web(_) | Incast(_) | Video(_))
    }

    /// Its kind in results.
    pub fn name(&self) -> &'static str {
        match self {
            Workload::Striped(_) => "striped",
            Workload::Arrivals => "arrivals",
            Workload::Files(_) => "ftp",
            Workload::Writes(_) => "telnet",
            Workload::Requests(_) => "request",
            Workload::Web(_) => "web",
            Workload::Incast(_) => "incast",
            Workload::Bursts(_) => "bursts",
            Workload::Video(_) => "video",
            Workload::Program(_) => program::COMMANDS,
        }
    }
}

/// What is asked for and sent, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchanges {
    /// Bytes of a request.
    pub request: Distribution,
    /// Bytes of what is sent each time: a file, a write, an answer, an object.
    pub size: Distribution,
    /// Nanoseconds until the next.
    pub think: Distribution,
    /// Objects of a page.
    pub objects: u64,
    /// How many there are; endless without.
    pub transfers: Option<u64>,
}

impl Exchanges {
    /// Whether so many are all.
    pub fn is_over(&self, done: u64) -> bool {
        self.transfers.is_some_and(|transfers| done >= transfers)
    }
}

/// Periods of writing and of silence.
#[derive(Clone, Debug, PartialEq)]
pub struct OnOff {
    /// Rate of writing.
    pub rate: Rate,
    /// Bytes of each write.
    pub piece: u64,
    /// Nanoseconds of a period with writes.
    pub burst: Distribution,
    /// Nanoseconds of one without.
    pub pause: Distribution,
}

/// A film in segments.
#[derive(Clone, Debug, PartialEq)]
pub struct Film {
    /// Length of each segment.
    pub segment: Duration,
    /// Rates in which it is to be had, ascending.
    pub ladder: Vec<Rate>,
    /// Most that the client holds.
    pub buffer: Duration,
    /// With less than this, the lowest rate.
    pub reservoir: Duration,
    /// How much more there has to be for the highest rate.
    pub cushion: Duration,
    /// With this much the film begins, and goes on behind a stall.
    pub start_up: Duration,
    /// Bytes of a request.
    pub request: Distribution,
    /// Segments of the film; endless without.
    pub transfers: Option<u64>,
}

/// How data is dealt to several connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Striping {
    /// Bytes dealt at a time.
    pub chunk: Bytes,
    /// Who gets the next.
    pub dealing: Dealing,
    /// Size of the transfer, if it has an end.
    pub bytes: Option<Bytes>,
    /// The program that makes the transfer on a real kernel, if not a mere application.
    pub program: Option<Program>,
    /// Whether a kernel's connections are subflows of one MPTCP connection.
    pub mptcp: bool,
}

/// Which connection gets the next chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dealing {
    /// The next one, round and round: everything is dealt beforehand.
    Static,
    /// One that has sent nearly all it had.
    Dynamic,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// Start of the measuring window.
    pub from: Time,
    /// End of the measuring window.
    pub to: Time,
    /// Period of the time series.
    pub sample: Duration,
    /// Whether every loss is kept by itself.
    pub losses: bool,
}
