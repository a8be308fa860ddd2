//! Counts of a direction.

use fairway_capture::Tcp;
use fairway_capture::packet::flags::{ACK, ECE, FIN, PSH, RST, SYN, URG};
use fairway_units::{Duration, Time};
use serde::Serialize;

use super::outstanding::Earlier;
use crate::event::{Sent, SentKind};
use crate::histogram::Moments;

/// Packets of a sender and its data, in the words of tcptrace. Bytes are bytes of payload unless they
/// say otherwise.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct DataCounts {
    /// All packets.
    pub packets: u64,
    /// Bytes of their frames.
    pub wire_bytes: u64,
    /// Segments with data.
    pub data_segments: u64,
    /// All bytes of data, each as often as it was seen: tcptrace's actual data bytes.
    pub data_bytes: u64,
    /// Bytes of data, each once; those of window probes not at all: tcptrace's unique bytes.
    pub unique_bytes: u64,
    /// Bytes that the receiver has acknowledged.
    pub acked_bytes: u64,
    /// Length of the stream by SYN and FIN.
    pub stream_bytes: Option<u64>,
    /// Bytes of the stream that were not seen.
    pub missed_bytes: Option<u64>,
    /// Bytes that were acknowledged before they were seen, or were never seen.
    pub acked_unseen_bytes: u64,
    /// Segments with data that was seen before.
    pub retransmitted_segments: u64,
    /// Bytes of data that were seen before.
    pub retransmitted_bytes: u64,
    /// SYNs that were seen before.
    pub retransmitted_syns: u64,
    /// FINs that were seen before.
    pub retransmitted_fins: u64,
    /// IP packets that were seen twice: a network has duplicated them.
    pub duplicated_packets: u64,
    /// Segments that fill a hole: reordered or lost before the capture.
    pub out_of_order_segments: u64,
    /// Probes of a closed window that carry data.
    pub window_probes: u64,
    /// Bytes of such probes.
    pub window_probe_bytes: u64,
    /// Keep-alives.
    pub keep_alives: u64,
    /// Most transmissions of one segment after the first.
    pub max_retransmissions: u16,
}

/// Headers of a sender's packets.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct HeaderCounts {
    /// Packets with an acknowledgement.
    pub acks: u64,
    /// Acknowledgements without data, SYN, FIN or RST.
    pub pure_acks: u64,
    /// Acknowledgements with selective ones.
    pub sack_packets: u64,
    /// Acknowledgements that tell of a duplicate (RFC 2883).
    pub dsack_packets: u64,
    /// Most blocks of one of them.
    pub max_sack_blocks: u8,
    /// SYNs.
    pub syns: u64,
    /// FINs.
    pub fins: u64,
    /// RSTs.
    pub resets: u64,
    /// Segments with data and PSH.
    pub pushed_segments: u64,
    /// Segments with data and URG.
    pub urgent_segments: u64,
    /// Packets that have met congestion (RFC 3168 CE).
    pub marked_packets: u64,
    /// Packets that echo congestion (RFC 3168 ECE).
    pub echo_packets: u64,
    /// Packets that were dropped, lost or damaged, as the capture says.
    pub lost_packets: u64,
    /// Packets with a wrong checksum.
    pub wrong_checksums: u64,
}

/// Counts of what the sender of a direction sends: its data, and its acknowledgements of the other
/// direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) data: DataCounts,
    pub(crate) headers: HeaderCounts,
    first_at: Option<Time>,
    last_at: Time,
    pub(crate) longest_idle: Duration,
    pub(crate) segment_bytes: Moments,
    pub(crate) first_data_at: Option<Time>,
    pub(crate) last_data_at: Time,
    pub(crate) retransmission_ns: Moments,
    pub(crate) initial_window_segments: u64,
    pub(crate) initial_window_bytes: u64,
    /// Of the acknowledgements that come back.
    pub(crate) duplicate_acks: u64,
    pub(crate) triple_duplicate_acks: u64,
    pub(crate) renegings: u64,
}

impl Counts {
    /// A packet of the sender.
    #[inline]
    pub(super) fn packet(&mut self, tcp: &Tcp, at: Time, frame_bytes: u32) {
        self.data.packets += 1;
        self.data.wire_bytes += u64::from(frame_bytes);
        if self.first_at.is_none() {
            self.first_at = Some(at);
        } else {
            self.longest_idle = self.longest_idle.max(at.since(self.last_at));
        }
        self.last_at = self.last_at.max(at);
        let has = |flag| u64::from(tcp.has(flag));
        let headers = &mut self.headers;
        headers.acks += has(ACK);
        headers.syns += has(SYN);
        headers.fins += has(FIN);
        headers.resets += has(RST);
        let is_control = tcp.flags & (SYN | FIN | RST) != 0;
        headers.pure_acks += u64::from(tcp.payload_bytes == 0 && tcp.has(ACK) && !is_control);
        headers.echo_packets += u64::from(tcp.has(ECE) && !tcp.has(SYN));
        headers.wrong_checksums += u64::from(tcp.is_checksum_wrong);
        if tcp.options.sack_count > 0 {
            headers.sack_packets += 1;
            headers.max_sack_blocks = headers.max_sack_blocks.max(tcp.options.sack_count);
        }
        if tcp.payload_bytes > 0 {
            self.segment(tcp, at);
        }
    }

    fn segment(&mut self, tcp: &Tcp, at: Time) {
        let bytes = u64::from(tcp.payload_bytes);
        self.segment_bytes.add(bytes);
        self.data.data_segments += 1;
        self.data.data_bytes += bytes;
        self.headers.pushed_segments += u64::from(tcp.has(PSH));
        self.headers.urgent_segments += u64::from(tcp.has(URG));
        self.first_data_at.get_or_insert(at);
        self.last_data_at = self.last_data_at.max(at);
    }

    /// What a segment of the sender was. Every byte of data is new, retransmitted or a probe's.
    #[inline]
    pub(super) fn sent(&mut self, sent: &Sent, nothing_acked: bool) {
        let bytes = u64::from(sent.bytes);
        let data = &mut self.data;
        if sent.kind == SentKind::WindowProbe {
            data.window_probes += u64::from(bytes > 0);
            data.window_probe_bytes += bytes;
            return;
        }
        let new_bytes = u64::from(sent.new_bytes);
        data.unique_bytes += new_bytes;
        data.retransmitted_bytes += bytes - new_bytes;
        data.out_of_order_segments += u64::from(sent.kind == SentKind::FillsHole);
        data.keep_alives += u64::from(sent.kind == SentKind::KeepAlive);
        if new_bytes < bytes {
            data.retransmitted_segments += 1;
        } else if nothing_acked && bytes > 0 {
            self.initial_window_segments += 1;
            self.initial_window_bytes += bytes;
        }
        self.data.duplicated_packets += u64::from(sent.is_same_packet);
    }

    /// A transmission of something that was perhaps sent before, SYN and FIN included.
    #[inline]
    pub(super) fn transmitted(&mut self, earlier: &Earlier, at: Time) {
        if let Some(last_at) = earlier.last_at {
            let again = earlier.transmissions.saturating_sub(1);
            self.data.max_retransmissions = self.data.max_retransmissions.max(again);
            self.retransmission_ns.add(at.since(last_at).as_nanos());
        }
    }
}

/// Receive windows that the sender of a direction announces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Windows {
    pub(crate) bytes: Moments,
    /// The least that was not closed; 0 if there was none.
    pub(crate) min_open_bytes: u64,
    /// Acknowledgements with a closed window.
    pub(crate) zero: u64,
    is_scaled: bool,
}

impl Windows {
    /// An announced window. Those of before the first scaled one do not count when there is one.
    #[inline]
    pub(crate) fn announce(&mut self, bytes: u64, is_scaled: bool, acknowledges: bool) {
        self.zero += u64::from(bytes == 0 && acknowledges);
        if is_scaled && !self.is_scaled && bytes > 0 {
            *self = Windows { zero: self.zero, is_scaled, ..Windows::default() };
        }
        self.bytes.add(bytes);
        if bytes > 0 && (self.min_open_bytes == 0 || bytes < self.min_open_bytes) {
            self.min_open_bytes = bytes;
        }
    }
}
