//! From what was followed to a path.

use fairway_units::Duration;
use serde::Serialize;

use super::losses::Level;
use super::rate::Source;
use super::{Fit, Traffic};

/// Bytes of a TCP header, and of the timestamps in it (RFC 9293, RFC 7323).
const TCP_BYTES: u32 = 20;
const TIMESTAMP_BYTES: u32 = 12;

/// Bytes of the options of a SYN beside timestamps: MSS 4, SACK permitted and window scale 4.
const SYN_OPTION_BYTES: u32 = 8;

/// Full packets are slower than small ones by this at least for that to tell of a rate: ten times
/// what hosts take for themselves.
const LEAST_LONGER_S: f64 = 0.5e-3;

/// Queues are alike if they differ by no more packets than this: the packet in transmission is
/// somewhere in the middle, and the next may have been behind it.
const ALIKE_PACKETS: f64 = 2.0;

/// Or by this part of the longest, on a path whose round trips are not steady.
const ALIKE_PART: f64 = 0.04;

/// A loss at less than this part of the longest queue was no drop of a full one.
const FULL_PART: f64 = 0.8;

/// Losses at the longest queue speak of its end if the queue was that long this often as they would
/// be if losses came at any length, or if so many packets were lost at once.
const MORE_THAN_BY_CHANCE: f64 = 3.0;
const BURST_LOSSES: u64 = 3;

/// Losses with no more packets than this waiting are no drops of a queue.
const EMPTY_PACKETS: f64 = 1.5;

/// Where the rate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RateSource {
    /// Deliveries while a queue stood.
    StandingQueue,
    /// Trains of packets that had waited for one another.
    PacketTrains,
    /// The most that was delivered: the bottleneck may be faster.
    AtLeast,
}

/// Where the round trip comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RttSource {
    /// Of the handshake, which was the shortest.
    Handshake,
    /// The shortest of data.
    Data,
}

/// Where the length of the queue comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BufferSource {
    /// The queue was this long when it dropped packets.
    Drops,
    /// The longest that was seen, and it dropped nothing: it may have more room.
    AtLeast,
}

/// The path of a transfer.
#[derive(Clone, Debug, Serialize)]
pub struct Fitted {
    /// Rate of the bottleneck in bit/s: IP packets with the overhead that was named.
    pub rate_bps: f64,
    /// Where it comes from.
    pub rate_source: RateSource,
    /// Part of what was delivered in such windows that was delivered at this rate, within 1 %.
    pub rate_share: f64,
    /// Windows that agree on it.
    pub rate_windows: u64,
    /// Round trip without any queue, transmission times taken off.
    pub base_rtt: Trip,
    /// The queue in front of the bottleneck.
    pub buffer: Buffer,
    /// Losses that no full queue explains.
    pub random_loss: RandomLoss,

    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// Bytes of an IP packet with such a segment.
    pub packet_bytes: u32,
    /// Segments with data, those of a full size each where the capture has more in one.
    pub segments: u64,
    /// The largest receive window that was announced.
    pub receive_window_bytes: u64,
    /// Part of the bytes that left with the receive window as good as full.
    pub window_limited_share: f64,
    /// Times in which nothing was in flight and nothing was sent for a round trip.
    pub pauses: u64,
    /// How long they were together, in seconds.
    pub paused_s: f64,
    /// Whether packets were marked or marks echoed (RFC 3168).
    pub has_marks: bool,
    /// Whether the beginning of the connection was seen.
    pub has_handshake: bool,
    /// Round trip between the capture and the sender by the handshake, in seconds.
    pub sender_rtt_s: Option<f64>,
}

/// A round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Trip {
    /// In seconds.
    pub s: f64,
    /// Where it comes from.
    pub source: RttSource,
    /// The shortest round trip of data as it was measured, of full segments if there are any, in
    /// seconds.
    pub least_measured_s: f64,
    /// The longest.
    pub most_measured_s: f64,
}

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Buffer {
    /// Full packets that it holds, the one in transmission included.
    pub packets: u64,
    /// Where that comes from.
    pub source: BufferSource,
    /// The longest that a packet has waited, in seconds.
    pub longest_wait_s: f64,
    /// Times that it was full and dropped packets.
    pub full_episodes: u64,
    /// Packets that it dropped.
    pub drops: u64,
}

/// Losses at any length of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RandomLoss {
    /// Of a packet.
    pub probability: f64,
    /// Packets that were lost.
    pub losses: u64,
    /// In so many episodes.
    pub episodes: u64,
}

/// Sizes of packets as the link counts them.
struct Sizes {
    packet: f64,
    ack: f64,
    /// SYN and SYN/ACK, or SYN/ACK and ACK: both as long as SYNs are.
    handshake: f64,
    /// Link bytes to a byte of payload.
    per_byte: f64,
}

impl Sizes {
    fn new(traffic: &Traffic, mss: u32, header_bytes: u32, overhead: u32) -> Sizes {
        let header = f64::from(header_bytes + overhead);
        let options = f64::from(SYN_OPTION_BYTES);
        Sizes {
            packet: header + f64::from(mss),
            ack: header,
            handshake: 2.0 * (header + options),
            per_byte: 1.0 + header * traffic.segments as f64 / traffic.bytes as f64,
        }
    }
}

pub(super) fn fitted(fit: Fit, ip_bytes: u32) -> Option<Fitted> {
    let (flow, traffic) = (fit.flow, fit.traffic);
    let (plateau, source) = fit.deliveries.rate()?;
    let (least, most) = (fit.trips.shortest()?, fit.trips.most?);
    if traffic.bytes == 0 {
        return None;
    }
    let options = if flow.has_timestamps { TIMESTAMP_BYTES } else { 0 };
    let header_bytes = ip_bytes + TCP_BYTES + options;
    let sizes = Sizes::new(&traffic, flow.mss_bytes, header_bytes, fit.overhead_bytes);
    let delivered_per_s = plateau.bytes_per_s * sizes.per_byte;
    let bytes_per_s = match source {
        Source::Delivery => delivered_per_s.max(by_sizes(&sizes, &fit).unwrap_or(0.0)),
        Source::Queue | Source::Trains => delivered_per_s,
    };

    let syn_s = sizes.handshake / bytes_per_s;
    let data_s = (sizes.packet + sizes.ack) / bytes_per_s;
    let by_data = least.as_secs_f64() - data_s;
    let by_handshake = flow.receiver_rtt.map(|rtt| rtt.as_secs_f64() - syn_s);
    let (to_receiver, rtt_source) = match by_handshake {
        Some(by_handshake) if by_handshake <= by_data => (by_handshake, RttSource::Handshake),
        _ => (by_data, RttSource::Data),
    };
    // Beside the receiver, the handshake crosses the bottleneck on the sender's side.
    let sender_s = match flow.sender_rtt.map_or(0.0, Duration::as_secs_f64) {
        sender_s if sender_s > to_receiver => (sender_s - syn_s).max(0.0),
        sender_s => sender_s,
    };
    let empty_s = to_receiver + data_s;
    let service_s = sizes.packet / bytes_per_s;
    let waits = |rtt: Duration| ((rtt.as_secs_f64() - empty_s) / service_s).max(0.0);
    let (levels, needless) = fit.losses.levels();
    let split = split(&levels, &waits, waits(most));
    let random_losses = split.random_losses.saturating_sub(needless);
    let packets = |wait: f64| (wait - 0.1).ceil().max(0.0) as u64 + 1;
    Some(Fitted {
        rate_bps: bytes_per_s * 8.0,
        rate_source: match source {
            Source::Queue => RateSource::StandingQueue,
            Source::Trains => RateSource::PacketTrains,
            Source::Delivery => RateSource::AtLeast,
        },
        rate_share: plateau.share,
        rate_windows: plateau.windows,
        base_rtt: Trip {
            s: to_receiver.max(0.0) + sender_s,
            source: rtt_source,
            least_measured_s: least.as_secs_f64(),
            most_measured_s: most.as_secs_f64(),
        },
        buffer: Buffer {
            packets: packets(split.full.map_or(waits(most), |full| longest(full, waits(most)))),
            source: match split.full {
                Some(_) => BufferSource::Drops,
                None => BufferSource::AtLeast,
            },
            longest_wait_s: waits(most) * service_s,
            full_episodes: split.full_episodes,
            drops: split.drops,
        },
        random_loss: RandomLoss {
            probability: random_losses as f64 / traffic.segments as f64,
            losses: random_losses,
            episodes: split.random_episodes,
        },
        mss_bytes: flow.mss_bytes,
        packet_bytes: flow.mss_bytes.saturating_add(header_bytes),
        segments: traffic.segments,
        receive_window_bytes: traffic.most_window_bytes,
        window_limited_share: traffic.at_window_bytes as f64 / traffic.bytes as f64,
        pauses: traffic.pauses,
        paused_s: traffic.paused.as_secs_f64(),
        has_marks: traffic.is_marked || traffic.has_echoes,
        has_handshake: flow.has_syn,
        sender_rtt_s: flow.sender_rtt.map(Duration::as_secs_f64),
    })
}

/// Packets in front of the last one that a full queue took. Its own round trip may be hidden by the
/// first sign of the loss behind it; then that of another time when the queue was full tells.
fn longest(full: f64, ordinary: f64) -> f64 {
    if (full..=full + ALIKE_PACKETS).contains(&ordinary) { ordinary } else { full }
}

/// Bytes in a second by how much longer a full packet is on its way than a small one: at least, as
/// the full one may have waited besides.
fn by_sizes(sizes: &Sizes, fit: &Fit) -> Option<f64> {
    let longer = fit.trips.shortest()?.as_secs_f64() - fit.flow.receiver_rtt?.as_secs_f64();
    let more_bytes = sizes.packet + sizes.ack - sizes.handshake;
    (longer >= LEAST_LONGER_S).then(|| more_bytes / longer)
}

/// Losses, told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Split {
    /// Packets that the next one had to wait for when the queue was full.
    full: Option<f64>,
    full_episodes: u64,
    drops: u64,
    random_episodes: u64,
    random_losses: u64,
}

/// Tells drops of a full queue from losses elsewhere: they come at the same length, the longest.
fn split(levels: &[Level], waits: &dyn Fn(Duration) -> f64, longest: f64) -> Split {
    let at = |level: &Level| waits(level.rtt);
    let top = levels.iter().map(at).fold(0.0, f64::max);
    let alike = ALIKE_PACKETS.max(ALIKE_PART * top);
    let near: Vec<&Level> = levels.iter().filter(|level| at(level) >= top - alike).collect();
    let episodes: u64 = levels.iter().map(|level| level.episodes).sum();
    let near_episodes: u64 = near.iter().map(|level| level.episodes).sum();
    let by_chance = episodes as f64 * alike / top.max(alike);
    let is_burst = near.iter().any(|level| level.most_losses >= BURST_LOSSES);
    let is_often = near_episodes >= 2 && near_episodes as f64 >= MORE_THAN_BY_CHANCE * by_chance;
    let is_only = near_episodes == episodes;
    let is_full =
        top > EMPTY_PACKETS && top >= FULL_PART * longest && (is_burst || is_often || is_only);
    let is_drop = |level: &&Level| is_full && at(level) >= FULL_PART * top;
    let (drops, random): (Vec<&Level>, Vec<&Level>) = levels.iter().partition(is_drop);
    Split {
        full: is_full.then_some(top),
        full_episodes: drops.iter().map(|level| level.episodes).sum(),
        drops: drops.iter().map(|level| level.losses).sum(),
        random_episodes: random.iter().map(|level| level.episodes).sum(),
        random_losses: random.iter().map(|level| level.losses).sum(),
    }
}
