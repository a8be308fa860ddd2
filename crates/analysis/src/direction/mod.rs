//! One direction of a connection: what its sender sends, and what comes back for it.

pub mod counts;
pub(crate) mod observers;
mod outstanding;
pub(crate) mod ranges;
pub(crate) mod round_trips;
mod sequence;

use fairway_capture::packet::flags::{ACK, AE, CWR, ECE, FIN, PSH, RST, SYN};
use fairway_capture::packet::{Fate, MAX_SACK_BLOCKS};
use fairway_capture::{Options, Packet, Tcp};
use fairway_units::{Duration, Time};

use self::counts::{Counts, Windows};
use self::observers::{Observers, Watch};
use self::outstanding::{Earlier, NewlySacked, Outstanding, Segment};
use self::ranges::Seen;
use self::round_trips::{RoundTrips, smooth};
use self::sequence::Sequence;
use crate::event::{Acked, Flow, Observer, Sent, SentKind};

/// The lower two bits of the traffic class of a packet that has met congestion (RFC 3168).
const CONGESTION_EXPERIENCED: u8 = 3;

/// Length of the timestamps option with its padding (RFC 7323 appendix A).
const TIMESTAMPS_BYTES: u32 = 12;

/// A sender's timeout is not taken to be shorter: Linux's shortest (`TCP_RTO_MIN`); RFC 6298 has
/// one second.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(200);

/// Offer of a SYN.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offer {
    pub(crate) options: Options,
    pub(crate) sequence: u32,
    /// Control bits of it, ECN's among them.
    pub(crate) flags: u16,
}

/// One direction of a connection.
#[derive(Default)]
pub(crate) struct Direction {
    pub(crate) counts: Counts,
    pub(crate) windows: Windows,
    pub(crate) trips: RoundTrips,
    pub(crate) flow: Flow,
    /// None before the first data.
    pub(crate) observers: Option<Observers>,
    watch: Watch,
    /// The sender's SYN.
    pub(crate) offer: Option<Offer>,
    /// Where the stream ends, by the sender's FIN.
    pub(crate) end: Option<i64>,
    sequence: Sequence,
    seen: Seen,
    outstanding: Outstanding,
    /// Whether the receiver was heard: acknowledgements may come.
    is_heard: bool,
    has_acked_data: bool,
    /// When the last segment or the last acknowledgement of one went by.
    last_event: Time,
    duplicates_in_row: u32,
    /// Where the stream stood when a timeout was noticed last.
    timeout_at: Option<i64>,
    pub(crate) handshake_rtt: Option<Duration>,
}

impl Offer {
    /// Whether a SYN asks for ECN and the other agrees to it (RFC 3168 section 6.1.1), or to
    /// accurate ECN, where the answer says how the SYN has arrived (RFC 9768 section 3.1.1).
    pub(crate) fn agrees_on_ecn(&self, other: &Offer) -> bool {
        let (syn, answer) = if self.flags & ACK == 0 { (self, other) } else { (other, self) };
        let bits = answer.flags & (AE | CWR | ECE);
        let agrees = match syn.flags & (AE | CWR | ECE) {
            asked if asked == CWR | ECE => bits & (CWR | ECE) == ECE,
            asked if asked == AE | CWR | ECE => bits != 0 && bits != asked,
            _ => false,
        };
        answer.flags & ACK != 0 && agrees
    }
}

impl Direction {
    pub(crate) fn new(watch: Watch) -> Direction {
        Direction { watch, ..Direction::default() }
    }

    /// A packet of the sender of this direction: counts it and follows its data.
    #[inline]
    pub(crate) fn sends(&mut self, packet: &Packet, tcp: &Tcp) {
        self.counts.packet(tcp, packet.at, packet.frame_bytes);
        let is_marked = packet.traffic_class & 3 == CONGESTION_EXPERIENCED;
        self.counts.headers.marked_packets += u64::from(is_marked);
        self.counts.headers.lost_packets += u64::from(packet.fate != Fate::Unknown);
        let has_syn = tcp.has(SYN);
        if has_syn {
            self.synchronise(tcp);
        } else if !tcp.has(RST) {
            self.flow.acked_offset += self.sequence.begin_sent(tcp.seq);
            self.seen.begin(0);
        }
        let has_fin = tcp.has(FIN);
        if tcp.payload_bytes > 0 || has_fin || has_syn {
            self.send(packet, tcp, is_marked);
        } else if !tcp.has(RST) {
            self.send_nothing(packet, tcp);
        }
    }

    fn synchronise(&mut self, tcp: &Tcp) {
        self.flow.acked_offset += self.sequence.begin_sent(tcp.seq.wrapping_add(1));
        self.seen.begin(0);
        if !self.flow.has_syn && !self.has_acked_data {
            // The SYN itself is to be acknowledged.
            self.flow.acked_offset = self.flow.acked_offset.min(-1);
        }
        self.flow.has_syn = true;
        self.offer.get_or_insert(Offer {
            options: tcp.options,
            sequence: tcp.seq,
            flags: tcp.flags,
        });
    }

    /// A segment with data, SYN or FIN.
    fn send(&mut self, packet: &Packet, tcp: &Tcp, is_marked: bool) {
        let (has_syn, has_fin) = (tcp.has(SYN), tcp.has(FIN));
        let start = self.sequence.offset(tcp.seq);
        let data_start = start + i64::from(has_syn);
        let data_end = data_start + i64::from(tcp.payload_bytes);
        let flight_before_bytes = self.outstanding.flight_bytes;
        let highest = self.seen.highest().unwrap_or(data_start);
        let kind_by_place = self.place(data_start, data_end, tcp);
        let is_probe = kind_by_place == Some(SentKind::WindowProbe);

        let is_fin_again = has_fin && self.end == Some(data_end);
        let mut new_bytes = tcp.payload_bytes;
        let mut earlier = Earlier { transmissions: 1, ..Earlier::default() };
        if !is_probe {
            if tcp.payload_bytes > 0 {
                new_bytes = self.seen.add((data_start, data_end)) as u32;
            }
            if has_fin {
                self.end = Some(data_end);
            }
            self.notice_timeout(start, packet.at, highest);
            let end = data_end + i64::from(has_fin);
            earlier = self.put_out(start, end, tcp, packet);
            self.counts.transmitted(&earlier, packet.at);
            self.sequence.advance(end);
        }
        if let (Some((value, _)), false) = (tcp.options.timestamps, is_probe) {
            self.trips.stamp(value, packet.at, self.is_heard);
        }
        if has_syn {
            self.counts.data.retransmitted_syns += u64::from(self.counts.headers.syns > 1);
        }
        self.counts.data.retransmitted_fins += u64::from(is_fin_again);
        self.last_event = packet.at;
        if has_syn && tcp.payload_bytes == 0 {
            self.flow.highest_offset = self.seen.highest().unwrap_or(0);
            return;
        }

        let repeats = new_bytes < tcp.payload_bytes || tcp.payload_bytes == 0 && is_fin_again;
        let kind = kind_by_place.unwrap_or({
            let begun_before = data_start < 0 && !self.flow.has_syn;
            match () {
                () if repeats || begun_before => SentKind::Retransmission,
                () if data_start < highest => SentKind::FillsHole,
                () => SentKind::New,
            }
        });
        self.tell_sent(&Sent {
            number: packet.number,
            at: packet.at,
            offset: data_start,
            bytes: tcp.payload_bytes,
            new_bytes,
            kind,
            previous: earlier.last_at,
            transmissions: earlier.transmissions,
            is_same_packet: earlier.is_same_packet,
            has_fin,
            flight_before_bytes,
            flight_bytes: self.outstanding.flight_bytes,
            pipe_bytes: self.outstanding.pipe_bytes(),
            sacked_above_bytes: self.outstanding.sacked_above(data_start),
            timestamps: tcp.options.timestamps,
            pushes: tcp.has(PSH) || has_fin,
            is_marked,
            has_cwr: tcp.has(CWR),
            fate: packet.fate,
        });
    }

    /// What a segment is by where it stands: a probe of a closed window, or a keep-alive.
    fn place(&self, start: i64, end: i64, tcp: &Tcp) -> Option<SentKind> {
        if tcp.flags & (SYN | FIN | RST) != 0 || !self.is_heard {
            return None;
        }
        let acked = self.flow.acked_offset;
        if tcp.payload_bytes > 0 && self.flow.window_bytes == 0 && end > acked {
            return Some(SentKind::WindowProbe);
        }
        // One byte, the last one again (RFC 9293 section 3.8.4), with nothing outstanding.
        let is_last = start == acked - 1 && end == acked && self.seen.highest() == Some(acked);
        (is_last && self.outstanding.is_empty()).then_some(SentKind::KeepAlive)
    }

    /// A segment without data: an acknowledgement of the other direction; or, one below what was
    /// acknowledged, a question whether the receiver is there, and whether its window is open.
    #[inline]
    fn send_nothing(&mut self, packet: &Packet, tcp: &Tcp) {
        let offset = self.sequence.offset(tcp.seq);
        if offset != self.flow.acked_offset - 1 || !self.is_heard {
            return;
        }
        let kind = match self.flow.window_bytes {
            0 => SentKind::WindowProbe,
            _ => SentKind::KeepAlive,
        };
        let flight_bytes = self.outstanding.flight_bytes;
        self.tell_sent(&Sent {
            number: packet.number,
            at: packet.at,
            offset,
            kind,
            transmissions: 1,
            flight_before_bytes: flight_bytes,
            flight_bytes,
            pipe_bytes: self.outstanding.pipe_bytes(),
            sacked_above_bytes: self.outstanding.sacked_above(offset),
            timestamps: tcp.options.timestamps,
            has_cwr: tcp.has(CWR),
            fate: packet.fate,
            ..Sent::default()
        });
    }

    /// What is not acknowledged of a segment becomes outstanding.
    fn put_out(&mut self, start: i64, end: i64, tcp: &Tcp, packet: &Packet) -> Earlier {
        let acked = if self.is_heard { self.flow.acked_offset } else { start };
        let from = start.max(acked);
        if from >= end {
            return Earlier { transmissions: 1, ..Earlier::default() };
        }
        let segment = Segment {
            start: from,
            end,
            first_at: packet.at,
            last_at: packet.at,
            transmissions: 1,
            ip_id: packet.ip_id,
            has_syn: tcp.has(SYN) && from == start,
            has_fin: tcp.has(FIN),
            is_sacked: false,
            is_lost: false,
        };
        self.outstanding.send(segment, self.is_heard)
    }

    /// What is sent again from the first byte that is not acknowledged, after a silence and without
    /// a word of its receiver, follows a timeout: all that is outstanding counts as lost.
    fn notice_timeout(&mut self, start: i64, at: Time, highest: i64) {
        let acked = self.flow.acked_offset;
        let is_first_again = start <= acked && acked < highest;
        if !is_first_again || self.timeout_at == Some(acked) {
            return;
        }
        let timeout = match (self.flow.srtt, self.flow.rttvar) {
            (Some(srtt), Some(rttvar)) => srtt + rttvar.saturating_mul(4),
            _ => Duration::ZERO,
        };
        if at.since(self.last_event) >= timeout.max(SHORTEST_TIMEOUT) {
            self.timeout_at = Some(acked);
            self.outstanding.mark_all_lost();
        }
    }

    /// A packet of the receiver, which announces a window and acknowledges; says whether it tells
    /// of a segment that has arrived twice.
    #[inline]
    pub(crate) fn hears(&mut self, packet: &Packet, tcp: &Tcp, window_bytes: u64) -> bool {
        let same_window = self.is_heard && self.flow.window_bytes == window_bytes;
        self.is_heard = true;
        if !tcp.has(RST) {
            self.flow.window_bytes = window_bytes;
        }
        tcp.has(ACK) && self.hear_ack(packet, tcp, window_bytes, same_window)
    }

    fn hear_ack(
        &mut self,
        packet: &Packet,
        tcp: &Tcp,
        window_bytes: u64,
        same_window: bool,
    ) -> bool {
        self.sequence.begin_acked(tcp.ack);
        let offset = self.sequence.offset(tcp.ack);
        let before = self.flow.acked_offset;
        let flight_before_bytes = self.outstanding.flight_bytes;
        let is_pure = tcp.payload_bytes == 0 && tcp.flags & (SYN | FIN | RST) == 0;
        let is_duplicate =
            is_pure && offset == before && same_window && !self.outstanding.is_empty();

        let removed = self.outstanding.acknowledge(offset);
        self.counts.renegings += u64::from(removed.reneged);
        let acked_bytes = self.follow_ack(offset);
        self.counts.data.acked_bytes += acked_bytes;
        let rtt = self.trips.acknowledge(&removed, packet.at);
        let echo = tcp.options.timestamps.map(|(_, echo)| echo);
        let timestamp_rtt =
            echo.and_then(|echo| self.trips.echo(echo, packet.at, removed.segments > 0));
        if let Some(sample) = rtt.or(timestamp_rtt) {
            smooth(&mut self.flow, sample);
        }
        if before < 0 && offset == 0 && self.counts.headers.syns == 1 {
            self.handshake_rtt = rtt;
        }
        let sacks = self.hear_sacks(tcp, offset);
        self.count_duplicates(is_duplicate, offset > before);
        self.has_acked_data |= offset > 0;
        if removed.segments > 0 || sacks.newly_sacked.bytes > 0 {
            self.last_event = packet.at;
        }
        // Most directions of most captures carry no data, and nobody looks on.
        let Some(observers) = &mut self.observers else { return sacks.duplicate.is_some() };
        let acked = Acked {
            number: packet.number,
            at: packet.at,
            offset,
            acked_bytes,
            delivered_bytes: removed.delivered_bytes + sacks.newly_sacked.bytes,
            delivered_again_bytes: removed.delivered_again_bytes + sacks.newly_sacked.again_bytes,
            sacked_bytes: self.outstanding.sacked_bytes,
            highest_sacked_offset: self.outstanding.highest_sacked().unwrap_or(offset).max(offset),
            timestamps: tcp.options.timestamps,
            is_duplicate,
            dsack: sacks.duplicate,
            sack: sacks.ranges,
            sack_count: sacks.count,
            rtt,
            timestamp_rtt,
            window_bytes,
            is_pure,
            flight_before_bytes,
            flight_bytes: self.outstanding.flight_bytes,
            pipe_bytes: self.outstanding.pipe_bytes(),
            has_ece: tcp.has(ECE) && !tcp.has(SYN),
        };
        observers.acked(&acked, &self.flow);
        sacks.duplicate.is_some()
    }

    /// Moves to what is acknowledged; returns how many bytes of data are newly acknowledged.
    fn follow_ack(&mut self, offset: i64) -> u64 {
        let before = self.flow.acked_offset;
        if offset <= before {
            return 0;
        }
        self.flow.acked_offset = offset;
        self.sequence.advance(offset);
        // SYN and FIN have numbers and no bytes.
        let before = if self.flow.has_syn { before.max(0) } else { before };
        let end = self.end.unwrap_or(i64::MAX);
        let unseen = offset.min(end) - self.seen.highest().unwrap_or(0).max(before);
        self.counts.data.acked_unseen_bytes += unseen.max(0) as u64;
        (offset.min(end) - before.min(end)).max(0) as u64
    }

    /// Takes the selective acknowledgements.
    #[inline]
    fn hear_sacks(&mut self, tcp: &Tcp, offset: i64) -> Sacks {
        let mut sacks = Sacks::default();
        for &(left, right) in tcp.options.sack_blocks() {
            let range = (self.sequence.offset(left), self.sequence.offset(right));
            sacks.ranges[usize::from(sacks.count)] = range;
            sacks.count += 1;
        }
        if sacks.count > 0 {
            sacks.take_duplicate(offset);
            self.mark_sacked(&mut sacks);
        }
        sacks
    }

    fn mark_sacked(&mut self, sacks: &mut Sacks) {
        let acked = self.flow.acked_offset;
        for &(left, right) in &sacks.ranges[..usize::from(sacks.count)] {
            // What begins at or below the acknowledgement is old, or contradicts it.
            if acked < left && left < right {
                let newly_sacked = self.outstanding.sack((left, right));
                sacks.newly_sacked.bytes += newly_sacked.bytes;
                sacks.newly_sacked.again_bytes += newly_sacked.again_bytes;
            }
        }
        if sacks.newly_sacked.bytes > 0 {
            self.outstanding.mark_lost(self.flow.mss_bytes);
        }
    }

    fn count_duplicates(&mut self, is_duplicate: bool, acknowledges: bool) {
        if is_duplicate {
            self.counts.duplicate_acks += 1;
            self.duplicates_in_row += 1;
            self.counts.triple_duplicate_acks += u64::from(self.duplicates_in_row == 3);
        } else if acknowledges {
            self.duplicates_in_row = 0;
        }
    }

    /// Tells everybody who looks on.
    fn tell_sent(&mut self, sent: &Sent) {
        self.flow.highest_offset = self.seen.highest().unwrap_or(0);
        if !self.flow.has_syn {
            self.flow.mss_bytes = self.flow.mss_bytes.max(sent.bytes);
        }
        self.counts.sent(sent, !self.has_acked_data);
        if sent.bytes > 0 || self.observers.is_some() {
            let watch = &self.watch;
            let observers = self.observers.get_or_insert_with(|| Observers::new(watch));
            observers.sent(sent, &self.flow);
        }
    }

    /// Both ends have told what they can: what segments hold, and what may be used.
    pub(crate) fn agree(&mut self, receiver: &Offer, mine: &Offer) {
        self.flow.has_sack = receiver.options.sack_permitted && mine.options.sack_permitted;
        self.flow.has_timestamps =
            receiver.options.timestamps.is_some() && mine.options.timestamps.is_some();
        // RFC 9293 section 3.7.1 has a default for who does not say.
        let mss = |offer: &Offer| u32::from(offer.options.mss.unwrap_or(536));
        let options = if self.flow.has_timestamps { TIMESTAMPS_BYTES } else { 0 };
        self.flow.mss_bytes = mss(receiver).min(mss(mine)).saturating_sub(options);
    }

    /// Gives back memory that a connection without packets does not need. One that was reset and
    /// goes on nevertheless, `is_finished` not, has its window followed on.
    pub(crate) fn fold(&mut self, is_finished: bool) {
        self.outstanding.fold();
        self.trips.fold();
        self.conclude();
        if let (true, Some(observers)) = (is_finished, &mut self.observers) {
            observers.fold();
        }
    }

    /// Nothing more is going to come.
    pub(crate) fn conclude(&mut self) {
        if let Some(identify) = self.observers.as_mut().and_then(|all| all.identify.as_mut()) {
            identify.finish();
        }
    }

    /// Everything that was sent is acknowledged, the end included.
    pub(crate) fn is_finished(&self) -> bool {
        self.end.is_some_and(|end| self.flow.acked_offset > end)
    }
}

/// Selective acknowledgements of a packet.
#[derive(Clone, Copy, Default)]
struct Sacks {
    ranges: [(i64, i64); MAX_SACK_BLOCKS],
    count: u8,
    /// The part of the stream that has arrived twice.
    duplicate: Option<(i64, i64)>,
    newly_sacked: NewlySacked,
}

impl Sacks {
    /// The first block is a duplicate's if it lies below what is acknowledged, or inside of the
    /// second (RFC 2883 section 4).
    fn take_duplicate(&mut self, acked: i64) {
        let [first, second, ..] = self.ranges;
        let is_below = first.1 <= acked;
        let is_inside = self.count > 1 && second.0 <= first.0 && first.1 <= second.1;
        if first.0 < first.1 && (is_below || is_inside) {
            self.duplicate = Some(first);
            self.ranges.rotate_left(1);
            self.count -= 1;
        }
    }
}
