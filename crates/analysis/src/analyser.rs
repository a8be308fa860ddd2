//! Packets in, connections out.

use fairway_capture::{Packet, Tcp, Transport, Udp};
use fairway_units::Time;

use crate::connection::Connection;
use crate::connection::key::Key;
use crate::datagrams::DatagramFlow;
use crate::detail::RowBudget;
use crate::direction::Direction;
use crate::direction::observers::Watch;
use crate::flows::{Flows, Found};
use crate::identify::Slots;
use crate::report::{Part, Report, report, report_datagrams};
use crate::series::MAX_INTERVALS;

/// Protocol numbers of IP (IANA).
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Options of an analysis.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Take all interfaces of a capture for one point of view. Otherwise a connection that was
    /// seen on two of them is two connections: the same packet seen twice is no retransmission.
    pub merge_interfaces: bool,
    /// Keep how each direction went over time.
    pub series: bool,
    /// Keep single packets of some connections.
    pub detail: Option<DetailOptions>,
    /// Ask which congestion control senders have, which takes longer than all else.
    pub identify: bool,
    /// Fit a path to each direction of one connection, which is then the only one identified.
    pub fit: Option<FitOptions>,
}

/// Which single packets are wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DetailOptions {
    /// Numbers of the connections, from 1, in ascending order.
    pub connections: Vec<u64>,
    /// First time, as the capture counts.
    pub from: Time,
    /// Last time.
    pub until: Time,
    /// Rows of all of them together; what is more is counted only.
    pub most_rows: usize,
}

/// The connection that a path is fitted to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FitOptions {
    /// Number of the connection, from 1.
    pub connection: u64,
    /// Bytes that the bottleneck carries with each IP packet.
    pub overhead_bytes: u32,
}

/// Intervals that all series have together in proportion: the first hundred connections have as
/// many as a diagram shows, and those of a million still a few.
const SERIES_BUDGET: usize = 1 << 18;

/// Intervals of a connection that is one of very many.
const FEWEST_INTERVALS: usize = 8;

impl Options {
    /// The key of a packet, and whether it goes upwards by it.
    #[inline]
    pub(crate) fn key(&self, packet: &Packet) -> (Key, bool) {
        let interface = if self.merge_interfaces { 0 } else { packet.interface };
        let protocol = match packet.transport {
            Transport::Tcp(_) => TCP,
            Transport::Udp(_) => UDP,
            Transport::Other(protocol) => protocol,
        };
        Key::of(packet.source, packet.destination, protocol, interface)
    }

    /// Whether what is kept of a connection depends on those before it.
    pub(crate) fn is_in_order(&self) -> bool {
        self.detail.is_some() || self.identify || self.fit.is_some()
    }

    /// Intervals of the series of the connection of an index, single packets of which are not
    /// wanted.
    pub(crate) fn intervals(index: usize) -> usize {
        (SERIES_BUDGET / (index + 1)).clamp(FEWEST_INTERVALS, MAX_INTERVALS)
    }

    /// What is kept of the connection of an index; `budget` limits the rows for single packets.
    fn watch(&self, index: usize, slots: &Slots, budget: &RowBudget) -> Watch {
        let number = index as u64 + 1;
        let is_wanted = |detail: &&DetailOptions| detail.connections.binary_search(&number).is_ok();
        let detail = self.detail.as_ref().filter(is_wanted);
        let intervals = match detail {
            Some(_) => MAX_INTERVALS,
            None => Options::intervals(index),
        };
        let fit = self.fit.filter(|fit| fit.connection == number);
        Watch {
            intervals: if self.series { intervals } else { 0 },
            detail: detail.map(|detail| (detail.from, detail.until, budget.clone())),
            identify: (self.identify && (fit.is_some() || self.fit.is_none()))
                .then(|| slots.clone()),
            fit,
        }
    }
}

/// Finds the connection of every packet and follows it.
pub struct Analyser {
    options: Options,
    slots: Slots,
    budget: RowBudget,
    tcp: Flows<Connection>,
    udp: Flows<DatagramFlow>,
    packets: u64,
    other_packets: u64,
}

impl Analyser {
    /// An analyser that has seen nothing.
    pub fn new(options: Options) -> Analyser {
        let (tcp, udp) = (Flows::new(), Flows::new());
        let slots = Slots::default();
        let budget = RowBudget::new(options.detail.as_ref().map_or(0, |detail| detail.most_rows));
        Analyser { options, slots, budget, tcp, udp, packets: 0, other_packets: 0 }
    }

    /// Takes the next packet of a capture.
    #[inline]
    pub fn packet(&mut self, packet: &Packet) {
        self.packets += 1;
        let (key, upwards) = self.options.key(packet);
        match &packet.transport {
            Transport::Tcp(tcp) => self.segment(&key, upwards, packet, tcp),
            Transport::Udp(udp) => self.datagram(&key, upwards, packet, udp),
            Transport::Other(_) => self.other_packets += 1,
        }
    }

    #[inline]
    fn segment(&mut self, key: &Key, upwards: bool, packet: &Packet, tcp: &Tcp) {
        let begin = |index, first: &Packet| {
            begin_connection(
                &self.options,
                self.options.watch(index, &self.slots, &self.budget),
                first,
            )
        };
        match self.tcp.find(key, packet) {
            Found::Followed(connection) if !connection.is_succeeded_by(upwards, tcp) => {
                connection.packet(upwards, packet, tcp);
            }
            Found::Second(first)
                if !begin_connection(&self.options, Watch::default(), first)
                    .is_succeeded_by(upwards, tcp) =>
            {
                if let Some(connection) = self.tcp.follow(packet, begin) {
                    connection.packet(upwards, packet, tcp);
                }
            }
            Found::LeftOut => {}
            _ => self.tcp.add(key, packet),
        }
    }

    #[inline]
    fn datagram(&mut self, key: &Key, upwards: bool, packet: &Packet, udp: &Udp) {
        match self.udp.find(key, packet) {
            Found::Followed(flow) => flow.packet(upwards, packet, udp),
            Found::Second(_) => {
                let begin = |_, first: &Packet| begin_datagrams(&self.options, first);
                if let Some(flow) = self.udp.follow(packet, begin) {
                    flow.packet(upwards, packet, udp);
                }
            }
            Found::New => self.udp.add(key, packet),
            Found::LeftOut => {}
        }
    }

    /// TCP connections so far.
    pub fn connections(&self) -> usize {
        self.tcp.len()
    }

    /// The report, with connections in the order of their first packets.
    pub fn finish(self) -> Report {
        Report::together(vec![self.part()], Options::intervals)
    }

    /// The results, to be merged with those of other threads.
    pub(crate) fn part(self) -> Part {
        let (options, slots, budget) = (&self.options, &self.slots, &self.budget);
        let tcp = self.tcp.finish(|index, first| {
            begin_connection(options, options.watch(index, slots, budget), first)
        });
        let udp = self.udp.finish(|_, first| begin_datagrams(options, first));
        Part {
            packets: self.packets,
            other_packets: self.other_packets,
            connections: tcp.reported(|mut connection| {
                connection.directions.iter_mut().for_each(Direction::conclude);
                report(connection)
            }),
            datagram_flows: udp.reported(|flow| report_datagrams(&flow)),
        }
    }
}

/// A connection with its first packet.
fn begin_connection(options: &Options, watch: Watch, first: &Packet) -> Connection {
    let (_, upwards) = options.key(first);
    let mut connection = Connection::new(upwards, first, watch);
    if let Transport::Tcp(tcp) = &first.transport {
        connection.packet(upwards, first, tcp);
    }
    connection
}

/// A flow of datagrams with its first packet.
fn begin_datagrams(options: &Options, first: &Packet) -> DatagramFlow {
    let (_, upwards) = options.key(first);
    let mut flow = DatagramFlow::new(upwards, first);
    if let Transport::Udp(udp) = &first.transport {
        flow.packet(upwards, first, udp);
    }
    flow
}
