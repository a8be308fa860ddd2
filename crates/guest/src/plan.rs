//! What the guest is told to do: everything is decided outside, where errors can still be explained.

use std::net::Ipv4Addr;

use fairway_net::datagrams::{self, Periods};
use fairway_units::{Duration, Rate};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One experiment, as namespaces, devices, lines for `ip` and `tc`, and sockets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Length of the run in virtual nanoseconds, from the moment that everything is set up.
    pub duration_ns: u64,
    /// Period of the samples.
    pub sample_ns: u64,
    /// The measuring window.
    pub window_ns: [u64; 2],
    /// Files of modules that the kernel loads first, each after those that it needs.
    #[serde(default)]
    pub modules: Vec<String>,
    /// The network namespaces: hosts and routers.
    pub namespaces: Vec<Namespace>,
    /// Values for files under `/proc/sys` that belong to no namespace, written before the links
    /// are made: path below `/proc/sys` with slashes, value.
    pub sysctls: Vec<(String, String)>,
    /// Lines for `ip -batch`, run outside of the namespaces: they make the links between them.
    pub links: Vec<String>,
    /// Devices, as (index of namespace, name), whose segmentation offloads are turned off, so that
    /// one packet on a link is one segment.
    pub devices: Vec<(usize, String)>,
    /// The connections.
    pub flows: Vec<Flow>,
    /// The experiment, as a resolved document: what applications do that decide as they go. Null where
    /// no flow [`is driven`](Flow::is_driven).
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub experiment: Value,
    /// Flows of datagrams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datagrams: Vec<Datagrams>,
    /// Transfers by Fairway's own sender and receiver.
    #[serde(default)]
    pub transfers: Vec<Transfer>,
    /// Hosts on which programs run, or that they reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<Host>,
    /// Programs of the host machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Program>,
    /// Files that are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<Keep>,
    /// The date at the beginning, in seconds from the start of 1970, if it is not the kernel's own.
    #[serde(default)]
    pub date_s: Option<u64>,
    /// The link directions that are reported.
    pub queues: Vec<Queue>,
    /// What is captured, if anything is.
    #[serde(default)]
    pub capture: Option<Capture>,
    /// Whether hosts are on Fairway's network, which watches packets, queues and captures itself.
    #[serde(default)]
    pub is_emulated: bool,
}

/// What results have a row of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The connection of this index.
    Connection(usize),
    /// What comes back on the connection of this index.
    Back(usize),
    /// The flow of datagrams of this index.
    Datagrams(usize),
}

impl Plan {
    /// The connection of each port.
    pub fn flows_by_port(&self) -> Vec<Option<u32>> {
        let mut flows = vec![None; 1 << 16];
        for (index, flow) in (0..).zip(&self.flows) {
            flows[usize::from(flow.port)] = Some(index);
        }
        flows
    }

    /// Everything that has a row in results, in the order of the experiment, and then the data that
    /// comes back.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::with_capacity(self.flows.len() + self.datagrams.len());
        let mut datagrams = self.datagrams.iter().enumerate().peekable();
        for index in 0..=self.flows.len() {
            while let Some((flow, _)) = datagrams.next_if(|(_, flow)| flow.behind <= index) {
                rows.push(Row::Datagrams(flow));
            }
            if index < self.flows.len() {
                rows.push(Row::Connection(index));
            }
        }
        let both_ways = (0..self.flows.len()).filter(|index| self.flows[*index].both_ways);
        rows.extend(both_ways.map(Row::Back));
        rows
    }

    /// The rows that have time series.
    pub fn sampled_rows(&self) -> Vec<Row> {
        self.rows().into_iter().filter(|row| self.is_sampled(row)).collect()
    }

    /// Whether a row has time series.
    pub fn is_sampled(&self, row: &Row) -> bool {
        match *row {
            Row::Connection(index) | Row::Back(index) => self.flows[index].is_sampled,
            Row::Datagrams(_) => true,
        }
    }
}

/// Which packets are written to files in `pcap/`, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// Where.
    pub places: Vec<CapturePlace>,
    /// Whether all places share one file.
    pub is_one_file: bool,
    /// Whether files are classic pcap, and not pcapng.
    pub is_pcap: bool,
    /// Most bytes kept of each packet; headers alone without.
    pub snap_bytes: Option<u32>,
}

/// A place where packets are captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturePlace {
    /// Its name in captures.
    pub name: String,
    /// What it is, in words.
    pub description: String,
    /// Rate at which packets leave there, in bit/s, if there is one.
    pub speed_bps: Option<u64>,
    /// What sees its packets.
    pub taps: Vec<Tap>,
}

/// What a device sees of a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tap {
    /// Index of the namespace.
    pub namespace: usize,
    /// The device.
    pub device: String,
    /// Whether it is what leaves the device, rather than what comes in.
    pub is_outgoing: bool,
    /// Whether it goes out at the place, rather than comes in there.
    pub is_outbound: bool,
    /// If it is only what this host sends and receives, its address.
    pub host: Option<Ipv4Addr>,
}

/// A network namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Namespace {
    /// Its name, for `ip netns` and for messages.
    pub name: String,
    /// Values for files under `/proc/sys/net` as this namespace has them: path below `/proc/sys`
    /// with slashes, value.
    pub sysctls: Vec<(String, String)>,
    /// Lines for `ip -batch` inside it: addresses, neighbours, routes.
    pub ip: Vec<String>,
    /// Lines for `tc -batch` inside it: queue disciplines.
    pub tc: Vec<String>,
}

/// What is added to the port of a sink for the port of a source that listens: a port that no flow has.
pub const LISTENING_SOURCE: u16 = 11_000;

/// One TCP connection, from a source that connects to a sink that listens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// Its name in results.
    pub id: String,
    /// Its place in the experiment.
    #[serde(default)]
    pub place: u32,
    /// Whether its application decides as it goes: then one thread works it with all others of its kind.
    #[serde(default)]
    pub is_driven: bool,
    /// Whether the sink sends, too.
    #[serde(default)]
    pub both_ways: bool,
    /// Whether it has time series.
    #[serde(default = "yes")]
    pub is_sampled: bool,
    /// Index of the namespace it sends from.
    pub source: usize,
    /// Index of the namespace it sends to.
    pub sink: usize,
    /// Address of the source.
    #[serde(default = "unspecified")]
    pub source_address: Ipv4Addr,
    /// Address of the sink.
    pub address: Ipv4Addr,
    /// Port of the sink; no two flows have the same, so a packet's port names its flow.
    pub port: u16,
    /// `TCP_CONGESTION` of the source.
    pub cc: String,
    /// When it opens its connection.
    pub start_ns: u64,
    /// When its application stops writing, if before the end.
    pub stop_ns: Option<u64>,
    /// Bytes that its application writes before it closes; endless if none.
    pub bytes: Option<u64>,
    /// Rate at which its application writes, in bit/s; as fast as it can if none.
    pub rate_bps: Option<u64>,
    /// Payload of a full segment in bytes: what one write of a rate-limited application has.
    pub mss: u32,
    /// Integer socket options of both ends, set before the connection opens.
    pub options: Vec<SocketOption>,
    /// Its part of a connection over several paths, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subflow: Option<Subflow>,
}

/// A part of an MPTCP connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subflow {
    /// Index of the connection that has the socket, which is the first subflow.
    pub of: usize,
    /// Address of its source, by which it is known from the others.
    pub source: Ipv4Addr,
}

fn yes() -> bool {
    true
}

fn unspecified() -> Ipv4Addr {
    Ipv4Addr::UNSPECIFIED
}

/// A flow of datagrams, from a socket that sends at its times to one that listens.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Its name in results.
    pub id: String,
    /// How many connections stand before it in results.
    pub behind: usize,
    /// Index of the namespace it sends from.
    pub source: usize,
    /// Index of the namespace it sends to.
    pub sink: usize,
    /// Address of the sink.
    pub address: Ipv4Addr,
    /// Port of the sink; nothing else has it.
    pub port: u16,
    /// When its packets leave.
    pub pattern: Pattern,
    /// Rate of the payload in bit/s; of on–off traffic while it is on.
    pub rate_bps: u64,
    /// Payload of a full packet in bytes: at least [`STAMP_BYTES`].
    pub payload_bytes: u32,
    /// Payload after which it ends, the last packet shorter if need be; endless if none.
    pub bytes: Option<u64>,
    /// When its application starts.
    pub start_ns: u64,
    /// No packet leaves then or later.
    pub stop_ns: Option<u64>,
    /// Seed and name of the random stream that its departures are drawn from.
    pub random: (u64, String),
    /// Memory that its packets may take before its application waits; without, nothing holds it back.
    pub send_buffer: Option<u64>,
}

/// What every full datagram begins with: its number, and when it left, in nanoseconds from the beginning of
/// the run.
pub const STAMP_BYTES: u32 = 16;

/// When datagrams leave: [`fairway_net::datagrams::Pattern`], as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// At a constant rate.
    Constant,
    /// At a rate that is drawn anew.
    Variable {
        /// Standard deviation of the rate in bit/s.
        deviation_bps: u64,
        /// How long a rate holds.
        period_ns: u64,
    },
    /// After exponentially distributed gaps.
    Poisson,
    /// At a constant rate in some periods.
    OnOff {
        /// Mean length of the periods with packets.
        on_ns: u64,
        /// Mean length of those without.
        off_ns: u64,
        /// Shape of the Pareto distribution of both; exponential if none.
        pareto_shape: Option<f64>,
    },
}

impl From<&datagrams::Pattern> for Pattern {
    fn from(pattern: &datagrams::Pattern) -> Self {
        match *pattern {
            datagrams::Pattern::Constant => Pattern::Constant,
            datagrams::Pattern::Variable { deviation, period } => Pattern::Variable {
                deviation_bps: deviation.as_bps(),
                period_ns: period.as_nanos(),
            },
            datagrams::Pattern::Poisson => Pattern::Poisson,
            datagrams::Pattern::OnOff { on, off, periods } => Pattern::OnOff {
                on_ns: on.as_nanos(),
                off_ns: off.as_nanos(),
                pareto_shape: match periods {
                    Periods::Exponential => None,
                    Periods::Pareto { shape } => Some(shape),
                },
            },
        }
    }
}

impl From<&Pattern> for datagrams::Pattern {
    fn from(pattern: &Pattern) -> Self {
        let nanos = Duration::from_nanos;
        match *pattern {
            Pattern::Constant => datagrams::Pattern::Constant,
            Pattern::Variable { deviation_bps, period_ns } => datagrams::Pattern::Variable {
                deviation: Rate::from_bps(deviation_bps),
                period: nanos(period_ns),
            },
            Pattern::Poisson => datagrams::Pattern::Poisson,
            Pattern::OnOff { on_ns, off_ns, pareto_shape } => datagrams::Pattern::OnOff {
                on: nanos(on_ns),
                off: nanos(off_ns),
                periods: match pareto_shape {
                    None => Periods::Exponential,
                    Some(shape) => Periods::Pareto { shape },
                },
            },
        }
    }
}

/// A transfer by Fairway's own sender and receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// Its name in results.
    pub id: String,
    /// Index of the namespace it sends from.
    pub source: usize,
    /// Index of the namespace it sends to.
    pub sink: usize,
    /// Address of the receiver.
    pub address: Ipv4Addr,
    /// Port of the receiver; no flow and no other transfer has it.
    pub port: u16,
    /// `TCP_CONGESTION` of its data connections.
    pub cc: String,
    /// Its data connections; none if the sender is to choose their number.
    pub streams: Option<u32>,
    /// Size of the file.
    pub bytes: u64,
    /// What a connection takes at a time, if not the usual.
    pub chunk_bytes: Option<u64>,
    /// Whether everything is dealt to the connections beforehand.
    pub is_static: bool,
    /// Whether it is encrypted.
    pub is_encrypted: bool,
    /// `TCP_MAXSEG`, if it is set.
    pub mss: Option<u32>,
    /// When the sender begins.
    pub start_ns: u64,
    /// When it is cut off, if before the end.
    pub stop_ns: Option<u64>,
}

/// A host with files of its own: those of the host machine, and what its programs have written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Its name, also for `uname`.
    pub name: String,
    /// Index of its namespace.
    pub namespace: usize,
    /// Its address.
    pub address: Ipv4Addr,
}

/// A program of the host machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Name of its flow.
    pub id: String,
    /// Index of its host.
    pub host: usize,
    /// Its name and its arguments.
    pub command: Vec<String>,
    /// When it starts; before the beginning of the run if not said.
    pub start_ns: Option<u64>,
    /// When it is asked to end (SIGTERM), if before the end of the run.
    pub stop_ns: Option<u64>,
    /// Its whole environment.
    #[serde(default)]
    pub environment: Vec<(String, String)>,
    /// Its working directory.
    #[serde(default)]
    pub directory: Option<String>,
    /// File of the run directory that it reads as its standard input; nothing if not said.
    #[serde(default)]
    pub input: Option<String>,
    /// Most bytes that are kept of each of its output streams; all if not said.
    #[serde(default)]
    pub most_output_bytes: Option<u64>,
    /// Whether the run ends with it.
    #[serde(default)]
    pub is_last: bool,
}

/// A file of a host, or what was written in a directory, that is kept after the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// Index of its host.
    pub host: usize,
    /// Its path, from the host's root.
    pub path: String,
}

/// An integer socket option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketOption {
    /// Its name, for messages: "TCP_NODELAY".
    pub name: String,
    /// `SOL_SOCKET`, `IPPROTO_TCP` or `IPPROTO_IP`.
    pub level: i32,
    /// Its number at that level.
    pub option: i32,
    /// Its value.
    pub value: i32,
}

/// One direction of a link that is reported: a queue in front of a rate, and a wire behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Queue {
    /// Its name in results.
    pub id: String,
    /// Index of the namespace that sends onto the link.
    pub namespace: usize,
    /// The device whose root queue discipline is the queue.
    pub device: String,
    /// Rate of the link in bit/s, if it has one.
    pub rate_bps: Option<u64>,
    /// Bytes that every packet has on the link beyond its IP packet.
    pub overhead_bytes: u32,
    /// Bytes beyond its IP packet that the queue discipline's own counters have for every packet:
    /// 14 for the Ethernet header, or what a size table makes of it.
    pub counted_overhead_bytes: u32,
    /// Whether the packet in transmission is still in the queue: it leaves at the end of its
    /// transmission (netem), or at its beginning (htb).
    pub holds_transmission: bool,
    /// Whether packets leave in the order in which they came; otherwise only those of a flow do.
    pub keeps_order: bool,
    /// Where the random losses of the wire are counted, as (index of namespace, device): dropped by
    /// the root queue discipline there.
    pub wires: Vec<(usize, String)>,
}
