//! What happens in one direction of a connection, as the capture's point of view saw it: data goes
//! out, and acknowledgements for it come back.
//!
//! Positions are stream offsets: 0 is the first byte of data, or the first byte that was seen if
//! the capture has no SYN; retransmissions of what was sent before the capture began lie below 0.

use fairway_capture::packet::{Fate, MAX_SACK_BLOCKS};
use fairway_units::{Duration, Time};

/// A segment with data, or a FIN, goes by in the direction.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Sent {
    /// Number of the packet in the capture.
    pub number: u64,
    /// When.
    pub at: Time,
    /// Offset of its first byte.
    pub offset: i64,
    /// Bytes of payload.
    pub bytes: u32,
    /// Of these, bytes not seen before.
    pub new_bytes: u32,
    /// Its kind, from its place in the sequence space.
    pub kind: SentKind,
    /// When the same bytes were seen last, if it holds bytes that were seen before and are not
    /// acknowledged.
    pub previous: Option<Time>,
    /// How often the first of its bytes were sent, this time included: 1 for new ones.
    pub transmissions: u16,
    /// Whether it is the same IP packet as before once more: a network has duplicated it.
    pub is_same_packet: bool,
    /// Whether it ends the stream (FIN).
    pub has_fin: bool,
    /// Bytes in flight before it: seen, and neither acknowledged nor selectively acknowledged.
    pub flight_before_bytes: u64,
    /// Bytes in flight with it.
    pub flight_bytes: u64,
    /// The same when what has to be lost is taken away (RFC 6675 `pipe`).
    pub pipe_bytes: u64,
    /// Bytes above it that are selectively acknowledged: the evidence that it was lost.
    pub sacked_above_bytes: u64,
    /// Timestamp value and echo reply, if it has them (RFC 7323): the newest acknowledgement that
    /// its sender had seen is one that carried the echo as its value.
    pub timestamps: Option<(u32, u32)>,
    /// Whether PSH or the end of the stream says that the application has no more just now.
    pub pushes: bool,
    /// Whether the packet has met congestion (RFC 3168 CE).
    pub is_marked: bool,
    /// Whether its sender says that it has reduced its window (RFC 3168 CWR).
    pub has_cwr: bool,
    /// Its fate, if the capture says so.
    pub fate: Fate,
}

/// Kinds of segments with data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SentKind {
    /// It holds bytes beyond all that were seen.
    #[default]
    New,
    /// It holds bytes that were seen before.
    Retransmission,
    /// It fills a hole that was never seen filled: a network in front of the capture has reordered
    /// it, or it is the retransmission of a segment that was lost in front of the capture.
    FillsHole,
    /// A probe of a window that is closed.
    WindowProbe,
    /// A keep-alive: what was acknowledged last, again (RFC 9293 section 3.8.4).
    KeepAlive,
}

/// An acknowledgement for the direction goes by the other way.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Acked {
    /// Number of the packet in the capture.
    pub number: u64,
    /// When.
    pub at: Time,
    /// Offset that it acknowledges up to.
    pub offset: i64,
    /// Bytes that it acknowledges cumulatively and that were not before.
    pub acked_bytes: u64,
    /// Of those, bytes that were not selectively acknowledged before, and bytes that it
    /// selectively acknowledges for the first time: what is newly known to be delivered.
    pub delivered_bytes: u64,
    /// Of what has been delivered, bytes that were seen more than once.
    pub delivered_again_bytes: u64,
    /// Bytes above `offset` that are selectively acknowledged after it.
    pub sacked_bytes: u64,
    /// End of the highest selective acknowledgement so far, exclusive; `offset` if none is higher.
    pub highest_sacked_offset: i64,
    /// Timestamp value and echo reply, if it has them (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// Whether it repeats the last one: no data, same window, nothing acknowledged, data in flight
    /// (RFC 5681 section 2).
    pub is_duplicate: bool,
    /// A segment that arrived twice, from a duplicate's SACK (RFC 2883): from and to.
    pub dsack: Option<(i64, i64)>,
    /// Selective acknowledgements that it carries, a duplicate's left out: from and to. See
    /// [`Acked::sack_blocks`].
    pub sack: [(i64, i64); MAX_SACK_BLOCKS],
    /// How many of them are used.
    pub sack_count: u8,
    /// Round trip of the newest segment that it acknowledges, by sequence numbers and by Karn's
    /// rule (RFC 6298 section 3): none if that was retransmitted.
    pub rtt: Option<Duration>,
    /// Round trip by the timestamp that it echoes, where the segment that carried it was seen.
    pub timestamp_rtt: Option<Duration>,
    /// The receive window that it announces, scaled, in bytes.
    pub window_bytes: u64,
    /// Whether it comes without data of its own.
    pub is_pure: bool,
    /// Bytes in flight before it.
    pub flight_before_bytes: u64,
    /// Bytes in flight after it.
    pub flight_bytes: u64,
    /// RFC 6675 `pipe` after it.
    pub pipe_bytes: u64,
    /// Whether it echoes congestion (RFC 3168 ECE).
    pub has_ece: bool,
}

impl Acked {
    /// The selective acknowledgements, in the order of the header.
    pub fn sack_blocks(&self) -> &[(i64, i64)] {
        &self.sack[..usize::from(self.sack_count).min(MAX_SACK_BLOCKS)]
    }
}

/// State of a direction at an event.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Flow {
    /// Largest payload of a segment as its sender cuts them: the receiver's MSS option less the
    /// options of every segment, or the largest payload that was seen if there is no SYN.
    pub mss_bytes: u32,
    /// Highest offset that was seen, exclusive.
    pub highest_offset: i64,
    /// Everything below was acknowledged.
    pub acked_offset: i64,
    /// The receive window that was announced last, scaled.
    pub window_bytes: u64,
    /// Smallest round trip so far.
    pub min_rtt: Option<Duration>,
    /// Smoothed round trip (RFC 6298 section 2).
    pub srtt: Option<Duration>,
    /// Its mean deviation.
    pub rttvar: Option<Duration>,
    /// Round trip between the capture and the sender of the data, and between the capture and its
    /// receiver, by the handshake: what lies between SYN and SYN/ACK belongs to the server, and
    /// what lies between that and the first ACK to the client.
    pub sender_rtt: Option<Duration>,
    /// The receiver's.
    pub receiver_rtt: Option<Duration>,
    /// Whether the first segment was seen: if not, the capture begins in the middle.
    pub has_syn: bool,
    /// Whether the connection has negotiated selective acknowledgements.
    pub has_sack: bool,
    /// Whether it has negotiated timestamps.
    pub has_timestamps: bool,
}

/// Looks on while a direction is followed.
pub trait Observer {
    /// A segment with data went by; `flow` as it is after it.
    fn sent(&mut self, sent: &Sent, flow: &Flow);
    /// An acknowledgement came back; `flow` as it is after it.
    fn acked(&mut self, acked: &Acked, flow: &Flow);
}
