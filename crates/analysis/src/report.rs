//! Results of an analysis, as they are written.

use std::net::SocketAddr;

use fairway_capture::read::Damage;
use fairway_units::{Duration, NANOS_PER_SEC, Time};
use serde::Serialize;

use crate::connection::Connection;
use crate::datagrams::DatagramFlow;
pub use crate::datagrams::Datagrams;
use crate::detail::Detail;
pub use crate::direction::counts::{DataCounts, HeaderCounts};
use crate::direction::observers::Observers;
use crate::direction::{Direction, Offer};
use crate::fit::Fitted;
use crate::flows::{Flown, MAX_LISTED, Traffic};
use crate::group::GroupReport;
use crate::histogram::{Distribution, Moments};
use crate::identify::{Identification, Identify};
use crate::series::Series;
use crate::window::WindowReport;

/// The contents of a capture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Packets that were analysed: of IP, whatever they carry.
    pub packets: u64,
    /// Packets that are neither TCP nor UDP.
    pub other_packets: u64,
    /// TCP connections in the order of their first packets.
    pub connections: Vec<ConnectionReport>,
    /// Those connections side by side; none unless two of them carry data.
    pub group: Option<GroupReport>,
    /// Flows of UDP datagrams in the order of their first packets.
    pub datagram_flows: Vec<DatagramReport>,
    /// The rest of a capture with more connections than are listed.
    pub left_out: Option<LeftOut>,
    /// Parts of the capture that could not be read, added by its reader.
    pub damaged: Vec<Damage>,
}

/// Contents of a capture that are not listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct LeftOut {
    /// TCP connections that are known and not listed.
    pub connections: u64,
    /// Of these, connections of a single packet.
    pub single_packet: u64,
    /// Flows of datagrams that are known and not listed.
    pub datagram_flows: u64,
    /// Packets of all of these, and of those beyond the number that can be known.
    pub packets: u64,
    /// Bytes of their frames.
    pub wire_bytes: u64,
}

/// How a connection ended in the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Both SYNs and both FINs were seen.
    Complete,
    /// One end has reset it.
    Reset,
    /// Both ends have closed it; how it was opened was not seen.
    Closed,
    /// It goes on after the capture, or was left.
    Open,
}

/// A TCP connection.
#[derive(Clone, Debug, Serialize)]
pub struct ConnectionReport {
    /// Its number in the capture, from 1.
    pub id: u64,
    /// The interface of the capture, from 0.
    pub interface: u32,
    /// Number of its first packet.
    pub first_packet: u64,
    /// Time of its first packet, in seconds as the capture counts them.
    pub first_s: f64,
    /// From its first packet to its last.
    pub duration_s: f64,
    /// How it ended.
    pub state: State,
    /// Who has opened it, where a SYN was seen.
    pub opened_by: Option<SocketAddr>,
    /// Whether both ends use selective acknowledgements; none if a SYN is missing.
    pub uses_sack: Option<bool>,
    /// Whether both ends use timestamps.
    pub uses_timestamps: Option<bool>,
    /// Whether both ends use scaled windows.
    pub uses_window_scale: Option<bool>,
    /// Whether both ends have agreed on ECN (RFC 3168 section 6.1.1).
    pub uses_ecn: Option<bool>,
    /// The direction of its first packet, and the other.
    pub directions: Vec<DirectionReport>,
}

/// One direction of a connection. Bytes are bytes of payload unless they say otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionReport {
    /// Its sender.
    pub from: SocketAddr,
    /// Its receiver.
    pub to: SocketAddr,

    /// Its packets and their data.
    #[serde(flatten)]
    pub data: DataCounts,
    /// From one transmission of a segment to the next.
    pub retransmission_s: Option<Spread>,

    /// Their headers.
    #[serde(flatten)]
    pub headers: HeaderCounts,

    /// Offer of its SYN.
    pub offered: Option<Offered>,
    /// Largest, smallest and mean segment with data.
    pub segment_bytes: Option<Spread>,
    /// Receive windows that its sender has announced; the smallest that was not closed.
    pub advertised_window_bytes: Option<Spread>,
    /// Acknowledgements with a closed window.
    pub zero_windows: u64,
    /// Segments that were sent before the first acknowledgement of data.
    pub initial_window_segments: u64,
    /// Their bytes.
    pub initial_window_bytes: u64,

    /// From the first segment with data to the last.
    pub data_s: f64,
    /// Longest time without a packet of its sender.
    pub longest_idle_s: f64,
    /// Unique bytes over the time of the connection, in bit/s; none for a single packet.
    pub goodput_bps: Option<f64>,
    /// Bytes on the wire over the time of the connection, in bit/s.
    pub throughput_bps: Option<f64>,

    /// Round trip of the handshake: from the SYN to its acknowledgement.
    pub handshake_rtt_s: Option<f64>,
    /// Round trips by sequence numbers and Karn's rule.
    pub rtt_s: Option<Quantiles>,
    /// Round trips by timestamps.
    pub timestamp_rtt_s: Option<Quantiles>,
    /// Round trips of segments as long as the longest.
    pub full_size_rtt_s: Option<Spread>,
    /// Since the last transmission, of segments that were sent more than once.
    pub ambiguous_rtt_s: Option<Spread>,
    /// Acknowledgements that have waited for a retransmission of something else.
    pub post_loss_acks: u64,
    /// Acknowledgements of segments that were sent more than once.
    pub ambiguous_acks: u64,
    /// Segments that were acknowledged together with a later one.
    pub cumulatively_acked_segments: u64,
    /// Acknowledgements that repeat the one before (RFC 5681 section 2).
    pub duplicate_acks: u64,
    /// Three of them in a row.
    pub triple_duplicate_acks: u64,
    /// Times that its receiver has thrown away what it had selectively acknowledged.
    pub sack_renegings: u64,

    /// Which congestion control its sender has; none if that was not asked for, or it sent no data.
    pub congestion_control: Option<Identification>,

    /// How it went over time, if that was wanted and it has carried data.
    #[serde(skip)]
    pub series: Option<Box<Series>>,
    /// Single packets, if those of this connection were wanted.
    #[serde(skip)]
    pub detail: Option<Box<Detail>>,
    /// The window, why segments were sent again, and what limited the direction; none without
    /// data.
    pub window: Option<Box<WindowReport>>,
    /// The path of its data, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Box<Fitted>>,
}

/// Offer of a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Offered {
    /// Its sequence number.
    pub sequence: u32,
    /// Maximum segment size.
    pub mss_bytes: Option<u16>,
    /// Shift of windows.
    pub window_scale: Option<u8>,
    /// Selective acknowledgements.
    pub sack: bool,
    /// Timestamps.
    pub timestamps: bool,
}

/// A few numbers about many.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// How many there are.
    pub count: u64,
    /// The least.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub max: f64,
    /// Standard deviation of a sample; none of a single one.
    pub stdev: Option<f64>,
}

/// More numbers about many; quantiles are good to 0.5 %, and exact for few.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Quantiles {
    /// How many there are.
    pub count: u64,
    /// The least.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The greatest.
    pub max: f64,
    /// Standard deviation of a sample; none of a single one.
    pub stdev: Option<f64>,
    /// Median.
    pub p50: f64,
    /// 90 % are at or below it.
    pub p90: f64,
    /// 95 % are at or below it.
    pub p95: f64,
    /// 99 % are at or below it.
    pub p99: f64,
}

/// Datagrams between two ports.
#[derive(Clone, Debug, Serialize)]
pub struct DatagramReport {
    /// Its number among such flows, from 1.
    pub id: u64,
    /// The interface of the capture, from 0.
    pub interface: u32,
    /// Number of its first packet.
    pub first_packet: u64,
    /// The direction of its first packet, and the other.
    pub directions: Vec<DatagramDirectionReport>,
}

/// Datagrams that go one way.
#[derive(Clone, Debug, Serialize)]
pub struct DatagramDirectionReport {
    /// Their sender.
    pub from: SocketAddr,
    /// Their receiver.
    pub to: SocketAddr,
    /// How many, and how long.
    #[serde(flatten)]
    pub datagrams: Datagrams,
    /// From the first to the last.
    pub duration_s: f64,
    /// Bytes of frames over that time, in bit/s; none for a single packet.
    pub throughput_bps: Option<f64>,
}

/// Results of one thread: connections and flows without their numbers.
pub(crate) struct Part {
    pub(crate) packets: u64,
    pub(crate) other_packets: u64,
    pub(crate) connections: Flown<ConnectionReport>,
    pub(crate) datagram_flows: Flown<DatagramReport>,
}

impl Report {
    /// What several have found together, each of which had all packets of its connections.
    /// `intervals` says how long the series of a connection may be, by its index.
    pub(crate) fn together(parts: Vec<Part>, intervals: impl Fn(usize) -> usize) -> Report {
        let is_one = parts.len() == 1;
        let mut report = Report::default();
        let (mut tcp, mut udp) = (Vec::new(), Vec::new());
        for part in parts {
            report.packets += part.packets;
            report.other_packets += part.other_packets;
            tcp.push(part.connections);
            udp.push(part.datagram_flows);
        }
        let (connections, left_out_tcp) = listed(tcp);
        let (datagram_flows, left_out_udp) = listed(udp);
        report.connections = connections;
        report.datagram_flows = datagram_flows;
        let traffic = left_out_tcp.traffic.and(left_out_udp.traffic);
        let left_out = LeftOut {
            connections: left_out_tcp.flows,
            single_packet: left_out_tcp.singles,
            datagram_flows: left_out_udp.flows,
            packets: traffic.packets,
            wire_bytes: traffic.wire_bytes,
        };
        report.left_out = Some(left_out).filter(|left_out| left_out.packets > 0);
        for connection in &mut report.connections {
            let series = connection.directions.iter_mut().filter_map(|one| one.series.as_mut());
            // One thread knows the index from the beginning, several know their own only.
            let index = connection.id as usize - 1;
            series.filter(|_| !is_one).for_each(|series| series.shorten(intervals(index)));
        }
        report.group = GroupReport::new(&report.connections);
        report
    }
}

/// A report of a connection or of a flow of datagrams.
trait Numbered {
    fn id(&mut self) -> &mut u64;
    fn first_packet(&self) -> u64;
    fn traffic(&self) -> Traffic;
}

impl Numbered for ConnectionReport {
    fn id(&mut self) -> &mut u64 {
        &mut self.id
    }

    fn first_packet(&self) -> u64 {
        self.first_packet
    }

    fn traffic(&self) -> Traffic {
        let sum =
            |of: fn(&DataCounts) -> u64| self.directions.iter().map(|one| of(&one.data)).sum();
        Traffic { packets: sum(|data| data.packets), wire_bytes: sum(|data| data.wire_bytes) }
    }
}

impl Numbered for DatagramReport {
    fn id(&mut self) -> &mut u64 {
        &mut self.id
    }

    fn first_packet(&self) -> u64 {
        self.first_packet
    }

    fn traffic(&self) -> Traffic {
        let sum =
            |of: fn(&Datagrams) -> u64| self.directions.iter().map(|one| of(&one.datagrams)).sum();
        Traffic { packets: sum(|one| one.packets), wire_bytes: sum(|one| one.wire_bytes) }
    }
}

/// Those that are listed, in the order of their first packets, numbered among all that are known;
/// and what is not listed. Where not all can be, those of a single packet are not.
fn listed<R: Numbered>(parts: Vec<Flown<R>>) -> (Vec<R>, Unlisted) {
    let mut unlisted = Unlisted::default();
    let (mut reports, mut firsts) = (Vec::new(), Vec::new());
    for part in parts {
        unlisted.add(part.others.len() as u64, part.singles, part.left_out);
        firsts.extend(part.others);
        reports.extend(part.followed);
    }
    firsts.extend(reports.iter().map(R::first_packet));
    firsts.sort_unstable();
    if firsts.len() > MAX_LISTED {
        reports.retain(|report| {
            let traffic = report.traffic();
            if traffic.packets == 1 {
                unlisted.add(1, 1, traffic);
            }
            traffic.packets > 1
        });
    }
    reports.sort_unstable_by_key(R::first_packet);
    for report in &mut reports {
        let before = firsts.partition_point(|&first| first < report.first_packet());
        *report.id() = before as u64 + 1;
    }
    (reports, unlisted)
}

/// What is known and not listed, and the packets of what is not known.
#[derive(Default)]
struct Unlisted {
    flows: u64,
    singles: u64,
    traffic: Traffic,
}

impl Unlisted {
    fn add(&mut self, flows: u64, singles: u64, traffic: Traffic) {
        self.flows += flows;
        self.singles += singles;
        self.traffic = self.traffic.and(traffic);
    }
}

/// A connection; its number is not known yet.
pub(crate) fn report(connection: Connection) -> ConnectionReport {
    let state = state(&connection);
    let [first, second] = connection.directions;
    let [a, b] = connection.ends;
    let duration = connection.last_at.since(connection.first_at);
    let offers = first.offer.zip(second.offer);
    let both = |has: fn(&Offer) -> bool| offers.map(|(one, other)| has(&one) && has(&other));
    ConnectionReport {
        id: 0,
        interface: connection.interface,
        first_packet: connection.first_number,
        first_s: connection.first_at.as_secs_f64(),
        duration_s: duration.as_secs_f64(),
        state,
        opened_by: connection.opener.map(|end| connection.ends[end]),
        uses_sack: both(|offer| offer.options.sack_permitted),
        uses_timestamps: both(|offer| offer.options.timestamps.is_some()),
        uses_window_scale: both(|offer| offer.options.window_scale.is_some()),
        uses_ecn: offers.map(|(one, other)| one.agrees_on_ecn(&other)),
        directions: vec![
            report_direction(a, b, first, duration),
            report_direction(b, a, second, duration),
        ],
    }
}

fn state(connection: &Connection) -> State {
    let both = |has: fn(&Direction) -> u64| connection.directions.iter().all(|one| has(one) > 0);
    match (both(|one| one.counts.headers.syns), both(|one| one.counts.headers.fins)) {
        _ if connection.is_reset => State::Reset,
        (true, true) => State::Complete,
        (false, true) => State::Closed,
        _ => State::Open,
    }
}

fn report_direction(
    from: SocketAddr,
    to: SocketAddr,
    direction: Direction,
    duration: Duration,
) -> DirectionReport {
    let (series, detail, window, identify, fit) = match direction.observers {
        Some(Observers { series, detail, window, identify, fit }) => {
            (series, detail, Some(window.into_report()), identify, fit)
        }
        None => (None, None, None, None, None),
    };
    let ip_bytes = if from.is_ipv6() { IPV6_BYTES } else { IPV4_BYTES };
    let counts = &direction.counts;
    let trips = &direction.trips;
    let stream_bytes = direction.offer.and(direction.end).map(|end| end.max(0) as u64);
    let data = DataCounts {
        stream_bytes,
        missed_bytes: stream_bytes.map(|bytes| bytes.saturating_sub(counts.data.unique_bytes)),
        ..counts.data
    };
    let data_s = match counts.first_data_at {
        Some(first) => counts.last_data_at.since(first).as_secs_f64(),
        None => 0.0,
    };
    DirectionReport {
        from,
        to,
        data,
        retransmission_s: spread(&counts.retransmission_ns, NANOS_IN_S),
        headers: counts.headers,
        offered: direction.offer.map(|offer| Offered {
            sequence: offer.sequence,
            mss_bytes: offer.options.mss,
            window_scale: offer.options.window_scale,
            sack: offer.options.sack_permitted,
            timestamps: offer.options.timestamps.is_some(),
        }),
        segment_bytes: spread(&counts.segment_bytes, 1.0),
        advertised_window_bytes: spread(&direction.windows.bytes, 1.0)
            .map(|all| Spread { min: direction.windows.min_open_bytes as f64, ..all }),
        zero_windows: direction.windows.zero,
        initial_window_segments: counts.initial_window_segments,
        initial_window_bytes: counts.initial_window_bytes,
        data_s,
        longest_idle_s: counts.longest_idle.as_secs_f64(),
        goodput_bps: rate_bps(data.unique_bytes, duration),
        throughput_bps: rate_bps(data.wire_bytes, duration),
        handshake_rtt_s: direction.handshake_rtt.map(Duration::as_secs_f64),
        rtt_s: quantiles(&trips.by_sequence, 0),
        timestamp_rtt_s: quantiles(&trips.by_timestamp, 0),
        full_size_rtt_s: spread(&trips.full_size, NANOS_IN_S),
        ambiguous_rtt_s: spread(&trips.ambiguous, NANOS_IN_S),
        post_loss_acks: trips.after_loss,
        ambiguous_acks: trips.ambiguous.count,
        cumulatively_acked_segments: trips.cumulative,
        duplicate_acks: counts.duplicate_acks,
        triple_duplicate_acks: counts.triple_duplicate_acks,
        sack_renegings: counts.renegings,
        congestion_control: identify.and_then(Identify::into_found),
        series,
        detail,
        window,
        path: fit.and_then(|fit| fit.path(ip_bytes)).map(Box::new),
    }
}

/// Headers of IP without options (RFC 791, RFC 8200).
const IPV4_BYTES: u32 = 20;
const IPV6_BYTES: u32 = 40;

pub(crate) const NANOS_IN_S: f64 = NANOS_PER_SEC as f64;

fn spread(moments: &Moments, unit: f64) -> Option<Spread> {
    Some(Spread {
        count: moments.count,
        min: moments.min as f64 / unit,
        mean: moments.mean()? / unit,
        max: moments.max as f64 / unit,
        stdev: moments.deviation().map(|deviation| deviation / unit),
    })
}

/// Of nanoseconds over the least that counts, in seconds.
pub(crate) fn quantiles(distribution: &Distribution, least_ns: u64) -> Option<Quantiles> {
    let Distribution { moments, histogram } = distribution;
    let seconds = |nanos: f64| (nanos - least_ns as f64) / NANOS_IN_S;
    let (min, max) = (seconds(moments.min as f64), seconds(moments.max as f64));
    // A bucket's middle may lie beyond the least and the greatest.
    let at = |part| Some(seconds(histogram.quantile(part)?).clamp(min, max));
    Some(Quantiles {
        count: moments.count,
        min,
        mean: seconds(moments.mean()?),
        max,
        stdev: moments.deviation().map(|deviation| deviation / NANOS_IN_S),
        p50: at(0.5)?,
        p90: at(0.9)?,
        p95: at(0.95)?,
        p99: at(0.99)?,
    })
}

fn rate_bps(bytes: u64, span: Duration) -> Option<f64> {
    (span > Duration::ZERO).then(|| bytes as f64 * 8.0 / span.as_secs_f64())
}

/// A flow of datagrams; its number is not known yet.
pub(crate) fn report_datagrams(flow: &DatagramFlow) -> DatagramReport {
    let [a, b] = flow.ends;
    let one_way = |from, to, datagrams: &Datagrams| {
        let first_at = datagrams.first_at.unwrap_or(Time::ZERO);
        let span = datagrams.last_at.since(first_at);
        DatagramDirectionReport {
            from,
            to,
            datagrams: *datagrams,
            duration_s: span.as_secs_f64(),
            throughput_bps: rate_bps(datagrams.wire_bytes, span),
        }
    };
    DatagramReport {
        id: 0,
        interface: flow.interface,
        first_packet: flow.first_number,
        directions: vec![one_way(a, b, &flow.directions[0]), one_way(b, a, &flow.directions[1])],
    }
}
