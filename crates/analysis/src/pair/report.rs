//! Results of a pair of captures, as they are written.

use std::net::SocketAddr;

use fairway_units::Time;
use serde::Serialize;

use super::clock::Estimate;
use super::delays::CourseRow;
use super::directions::Connection;
use super::findings::Findings;
use super::identity::{Level, Side};
use crate::report::{NANOS_IN_S, Quantiles};

/// What two captures of the same transfers tell together. Times are those of the first capture's
/// clock, in seconds since its first packet.
#[derive(Clone, Debug, Serialize)]
pub struct PairReport {
    /// Names of both.
    pub captures: [String; 2],
    /// Packets of each that were compared: TCP and UDP.
    pub packets: [u64; 2],
    /// How the clocks run against each other.
    pub clock: ClockReport,
    /// By what packets were recognised.
    pub recognised_by: RecognisedBy,
    /// Whether packets were given up early for want of memory.
    pub is_crowded: bool,
    /// Everything from hosts at the first capture to hosts at the second, and back.
    pub totals: [Total; 2],
    /// Connections, and flows of datagrams, that both captures show.
    pub connections: Vec<PairConnection>,
    /// Connections and flows that only one shows.
    pub only_in: [u64; 2],
}

/// By what packets were recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecognisedBy {
    /// All that the network leaves alone.
    Everything,
    /// The same less IPv4's identification, which was rewritten.
    NotIpId,
    /// Sequence numbers only: timestamps were removed, or cut off.
    SequenceNumbers,
}

/// How the second capture's clock runs against the first's.
#[derive(Clone, Debug, Serialize)]
pub struct ClockReport {
    /// How far it is ahead at its first packet, if the least delays of both directions are equal.
    pub offset_s: f64,
    /// The offset is off by no more: half of the least round trip of the network. None if packets
    /// went in one direction only: then the least delay counts as none.
    pub offset_uncertainty_s: Option<f64>,
    /// How much it gains, in parts per million.
    pub drift_ppm: f64,
    /// The same by the packets of each direction alone.
    pub drift_by_direction_ppm: [Option<f64>; 2],
    /// Least delay there and back.
    pub least_round_trip_s: Option<f64>,
}

/// All packets that go in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Total {
    /// Packets in the capture at their senders.
    pub sent_packets: u64,
    /// Packets that never arrived.
    pub lost_packets: u64,
    /// The loss ratio from the data of both captures.
    pub loss_ratio: LossRatio,
}

/// Loss ratios as made from the data bytes of two traces (Alrshah 2009): SYNs and pure
/// acknowledgements do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LossRatio {
    /// Bytes of data in the sender's capture: S.
    pub sent_bytes: u64,
    /// Bytes of data in the receiver's: R.
    pub received_bytes: u64,
    /// (S - R) / S; none without data.
    pub of_sent: Option<f64>,
    /// (S - R) / R.
    pub of_received: Option<f64>,
    /// Bytes that were sent again, to S.
    pub retransmitted_of_sent: Option<f64>,
    /// Bytes that arrived though they were there already, to S.
    pub duplicates_of_sent: Option<f64>,
}

/// A connection, or a flow of datagrams, in both captures.
#[derive(Clone, Debug, Serialize)]
pub struct PairConnection {
    /// Its number among those of both captures, by first packets, from 1.
    pub id: u64,
    /// `tcp` or `udp`.
    pub protocol: &'static str,
    /// Its ends as the other capture shows them, where addresses were translated.
    pub translated: Option<[SocketAddr; 2]>,
    /// The direction of its first packet, and the other.
    pub directions: Vec<PairDirection>,
}

/// One direction in both captures.
#[derive(Clone, Debug, Serialize)]
pub struct PairDirection {
    /// Its sender.
    pub from: SocketAddr,
    /// Its receiver.
    pub to: SocketAddr,
    /// Which capture is at its sender: 0 or 1.
    pub sender_capture: usize,

    /// Packets in the capture at the sender.
    pub sent_packets: u64,
    /// Packets in the capture at the receiver.
    pub received_packets: u64,
    /// Packets of the sender's capture that are in the receiver's.
    pub arrived_packets: u64,
    /// Packets that never arrived; of a segment that the sender's card has cut, each part counts.
    pub lost_packets: u64,
    /// Lost packets with data.
    pub lost_data_segments: u64,
    /// Bytes of data that never arrived with the packet that carried them.
    pub lost_data_bytes: u64,
    /// Packets that were on their way when a capture began or ended.
    pub undecided_packets: u64,
    /// Packets that have arrived more often than they were sent.
    pub network_duplicates: u64,
    /// Packets that have arrived and that the sender's capture should show, and does not.
    pub unsent_packets: u64,
    /// Lost packets of all that were sent; none where cards have cut or joined segments, so that
    /// packets cannot be counted: see `loss_ratio`.
    pub lost_share: Option<f64>,
    /// The loss ratio from the data of both captures.
    pub loss_ratio: LossRatio,
    /// Whether cards have cut or joined segments between the captures.
    pub is_cut: bool,

    /// Segments with bytes, a SYN or a FIN that were sent before.
    pub retransmitted_segments: u64,
    /// Those that stand for something that was lost.
    pub needed_retransmissions: u64,
    /// Those of which everything had arrived, or did later.
    pub needless_retransmissions: u64,
    /// Lost segments with data that were not sent again.
    pub losses_not_repaired: u64,
    /// Packets that arrive after one that was sent later (RFC 4737).
    pub reordered_packets: u64,
    /// The largest extent of it, in packets.
    pub most_reordering_extent: u64,
    /// The longest that one was late behind it.
    pub most_reordering_late_s: f64,

    /// One-way delays by the first capture's clock.
    pub delay_s: Option<Quantiles>,
    /// The same over the least of them: time in queues.
    pub queueing_delay_s: Option<Quantiles>,
    /// How much delays of packets that arrive one after the other differ.
    pub delay_variation_s: Option<Quantiles>,

    /// Packets that the sender's capture says were thrown away.
    pub annotated_packets: u64,
    /// Of these, found lost.
    pub annotated_and_lost_packets: u64,
    /// Of these, arrived after all.
    pub annotated_and_arrived_packets: u64,

    /// Losses one by one, with what was sent in place of each.
    pub losses: Vec<LossRow>,
    /// Losses that found no room there.
    pub losses_left_out: u64,
    /// How delays and losses went over time.
    pub course: Vec<CourseRow>,
}

/// A packet that never arrived.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LossRow {
    /// Its number in the capture at its sender.
    pub packet: u64,
    /// When it was sent.
    pub t_s: f64,
    /// First byte of the stream in it; 0 is the first byte of data.
    pub from_byte: i64,
    /// Its bytes of data.
    pub data_bytes: u32,
    /// Number of the packet that was sent in its place.
    pub repaired_by: Option<u64>,
    /// How long after it that was sent.
    pub repaired_after_s: Option<f64>,
}

/// Findings about the pair as a whole.
pub(super) struct Frame {
    pub(super) names: [String; 2],
    pub(super) packets: [u64; 2],
    pub(super) start: Time,
    pub(super) level: Level,
    pub(super) estimate: Estimate,
    pub(super) is_crowded: bool,
}

pub(super) fn report(
    frame: Frame,
    connections: &[Connection],
    directions: Vec<Findings>,
) -> PairReport {
    let mut totals = [Total::default(), Total::default()];
    let mut sums = [[0_u64; 4]; 2];
    let mut listed = Vec::new();
    let mut only_in = [0, 0];
    let mut directions = directions.into_iter();
    for connection in connections {
        let directions: Vec<Findings> = directions.by_ref().take(2).collect();
        for side in Side::BOTH {
            only_in[side.index()] += u64::from(!connection.is_known[side.other().index()]);
        }
        if connection.is_known != [true, true] {
            continue;
        }
        for (direction, found) in directions.iter().enumerate() {
            let source = connection.source(direction).index();
            totals[source].sent_packets += found.sent_packets;
            totals[source].lost_packets += found.lost_packets;
            for (sum, value) in sums[source].iter_mut().zip(amounts(found)) {
                *sum += value;
            }
        }
        let id = listed.len() as u64 + 1;
        listed.push(report_connection(id, connection, directions, frame.start));
    }
    for (total, sums) in totals.iter_mut().zip(sums) {
        total.loss_ratio = loss_ratio(sums);
    }
    PairReport {
        captures: frame.names,
        packets: frame.packets,
        clock: report_clock(&frame.estimate),
        recognised_by: match frame.level {
            Level::WithIpId => RecognisedBy::Everything,
            Level::WithTimestamps => RecognisedBy::NotIpId,
            Level::Numbers => RecognisedBy::SequenceNumbers,
        },
        is_crowded: frame.is_crowded,
        totals,
        connections: listed,
        only_in,
    }
}

fn report_clock(estimate: &Estimate) -> ClockReport {
    let least_round_trip_s =
        estimate.is_two_way.then_some(estimate.least_round_trip_ns / NANOS_IN_S);
    ClockReport {
        offset_s: estimate.clock.offset_ns as f64 / NANOS_IN_S,
        offset_uncertainty_s: least_round_trip_s.map(|trip| trip / 2.0),
        // Adding zero makes a negative one positive.
        drift_ppm: estimate.clock.drift * 1e6 + 0.0,
        drift_by_direction_ppm: estimate.drift_by_direction.map(|drift| Some(drift? * 1e6 + 0.0)),
        least_round_trip_s,
    }
}

fn report_connection(
    id: u64,
    connection: &Connection,
    directions: Vec<Findings>,
    start: Time,
) -> PairConnection {
    let [a, b] = connection.ends;
    let ends = [(a, b), (b, a)];
    let directions = directions.into_iter().zip(ends).enumerate();
    PairConnection {
        id,
        protocol: if connection.is_tcp { "tcp" } else { "udp" },
        translated: connection.translated,
        directions: directions
            .map(|(direction, (found, ends))| {
                report_direction(ends, connection.source(direction), found, start)
            })
            .collect(),
    }
}

fn report_direction(
    (from, to): (SocketAddr, SocketAddr),
    source: Side,
    found: Findings,
    start: Time,
) -> PairDirection {
    let is_cut = found.longest_sent_bytes != found.longest_received_bytes
        && found.sent_data_bytes > 0
        && found.received_data_bytes > 0;
    let losses: Vec<LossRow> = found.losses.iter().map(|loss| row(loss, start)).collect();
    let course = found.course.as_ref().map_or_else(Vec::new, |course| course.rows(start));
    PairDirection {
        from,
        to,
        sender_capture: source.index(),
        sent_packets: found.sent_packets,
        received_packets: found.received_packets,
        arrived_packets: found.arrived_packets,
        lost_packets: found.lost_packets,
        lost_data_segments: found.lost_data_segments,
        lost_data_bytes: found.lost_data_bytes,
        undecided_packets: found.undecided_packets,
        network_duplicates: found.copied_packets,
        unsent_packets: found.unsent_packets,
        lost_share: (!is_cut)
            .then(|| ratio(found.lost_packets as f64, found.sent_packets))
            .flatten(),
        loss_ratio: loss_ratio(amounts(&found)),
        is_cut,
        retransmitted_segments: found.again_segments,
        needed_retransmissions: found.needed_again,
        needless_retransmissions: found.needless_again,
        losses_not_repaired: found.lost_and_not_repaired,
        reordered_packets: found.reordering.packets,
        most_reordering_extent: found.reordering.most_extent,
        most_reordering_late_s: found.reordering.most_late_ns as f64 / NANOS_IN_S,
        delay_s: found.delays.in_s(),
        queueing_delay_s: found.delays.queueing_in_s(),
        delay_variation_s: found.delays.variation_in_s(),
        annotated_packets: found.annotated,
        annotated_and_lost_packets: found.annotated_and_lost,
        annotated_and_arrived_packets: found.annotated_and_arrived,
        losses_left_out: found.losses_in_all.saturating_sub(losses.len() as u64),
        losses,
        course,
    }
}

fn row(loss: &super::watch::Loss, start: Time) -> LossRow {
    let since_s = |now_ns: i64| now_ns.saturating_sub(super::nanos(start)) as f64 * 1e-9;
    let after = loss.repair.map(|repair| repair.now_ns.saturating_sub(loss.now_ns));
    LossRow {
        packet: loss.number,
        t_s: since_s(loss.now_ns),
        from_byte: loss.offset,
        data_bytes: loss.payload_bytes,
        repaired_by: loss.repair.map(|repair| repair.number),
        repaired_after_s: after.map(|nanos| nanos as f64 / NANOS_IN_S),
    }
}

/// Bytes sent, received, sent again and received again.
fn amounts(found: &Findings) -> [u64; 4] {
    [
        found.sent_data_bytes,
        found.received_data_bytes,
        found.again_data_bytes,
        found.received_twice_bytes,
    ]
}

fn loss_ratio([sent, received, again, twice]: [u64; 4]) -> LossRatio {
    let missing = sent as f64 - received as f64;
    LossRatio {
        sent_bytes: sent,
        received_bytes: received,
        of_sent: ratio(missing, sent),
        of_received: ratio(missing, received),
        retransmitted_of_sent: ratio(again as f64, sent),
        duplicates_of_sent: ratio(twice as f64, sent),
    }
}

fn ratio(part: f64, of: u64) -> Option<f64> {
    (of > 0).then(|| part / of as f64)
}
