//! Counts of a direction.

use fairway_capture::Tcp;
use fairway_capture::packet::flags::{ACK, ECE, FIN, PSH, RST, SYN, URG};
use fairway_units::{Duration, Time};

use super::outstanding::Earlier;
use crate::event::{Sent, SentKind};
use crate::histogram::Moments;

/// Counts of what the sender of a direction sends: its data, and its acknowledgements of the other
/// direction. The words are those of tcptrace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) packets: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) ip_bytes: u64,
    pub(crate) first_at: Option<Time>,
    pub(crate) last_at: Time,
    pub(crate) longest_idle: Duration,
    pub(crate) acks: u64,
    pub(crate) pure_acks: u64,
    pub(crate) sack_packets: u64,
    pub(crate) dsack_packets: u64,
    pub(crate) most_sack_blocks: u8,
    pub(crate) syns: u64,
    pub(crate) fins: u64,
    pub(crate) resets: u64,
    pub(crate) pushed: u64,
    pub(crate) urgent: u64,
    pub(crate) echoes: u64,
    pub(crate) marked: u64,
    pub(crate) lost: u64,
    pub(crate) wrong_checksums: u64,

    pub(crate) data_segments: u64,
    pub(crate) data_bytes: u64,
    pub(crate) segment_bytes: Moments,
    pub(crate) first_data_at: Option<Time>,
    pub(crate) last_data_at: Time,
    pub(crate) unique_bytes: u64,
    pub(crate) retransmitted_segments: u64,
    pub(crate) retransmitted_bytes: u64,
    pub(crate) retransmitted_syns: u64,
    pub(crate) retransmitted_fins: u64,
    pub(crate) duplicated_packets: u64,
    pub(crate) probes: u64,
    pub(crate) probe_bytes: u64,
    pub(crate) keep_alives: u64,
    pub(crate) out_of_order: u64,
    pub(crate) most_transmissions: u16,
    pub(crate) retransmission_ns: Moments,
    pub(crate) initial_window_segments: u64,
    pub(crate) initial_window_bytes: u64,

    /// Of the acknowledgements that come back.
    pub(crate) duplicate_acks: u64,
    pub(crate) triple_duplicate_acks: u64,
    pub(crate) acked_unseen: u64,
    pub(crate) renegings: u64,
}

impl Counts {
    /// A packet of the sender.
    #[inline]
    pub(super) fn packet(&mut self, tcp: &Tcp, at: Time, frame_bytes: u32, ip_bytes: u32) {
        self.packets += 1;
        self.wire_bytes += u64::from(frame_bytes);
        self.ip_bytes += u64::from(ip_bytes);
        if self.first_at.is_none() {
            self.first_at = Some(at);
        } else {
            self.longest_idle = self.longest_idle.max(at.since(self.last_at));
        }
        self.last_at = self.last_at.max(at);
        let has = |flag| u64::from(tcp.has(flag));
        self.acks += has(ACK);
        self.syns += has(SYN);
        self.fins += has(FIN);
        self.resets += has(RST);
        let is_control = tcp.flags & (SYN | FIN | RST) != 0;
        self.pure_acks += u64::from(tcp.payload_bytes == 0 && tcp.has(ACK) && !is_control);
        self.echoes += u64::from(tcp.has(ECE) && !tcp.has(SYN));
        self.wrong_checksums += u64::from(tcp.is_checksum_wrong);
        if tcp.options.sack_count > 0 {
            self.sack_packets += 1;
            self.most_sack_blocks = self.most_sack_blocks.max(tcp.options.sack_count);
        }
        if tcp.payload_bytes > 0 {
            self.data(tcp, at);
        }
    }

    fn data(&mut self, tcp: &Tcp, at: Time) {
        let bytes = u64::from(tcp.payload_bytes);
        self.segment_bytes.add(bytes);
        self.data_segments += 1;
        self.data_bytes += bytes;
        self.pushed += u64::from(tcp.has(PSH));
        self.urgent += u64::from(tcp.has(URG));
        self.first_data_at.get_or_insert(at);
        self.last_data_at = self.last_data_at.max(at);
    }

    /// What a segment of the sender was. Every byte of data is new, retransmitted or a probe's.
    #[inline]
    pub(super) fn sent(&mut self, sent: &Sent, nothing_acked: bool) {
        let bytes = u64::from(sent.bytes);
        if sent.kind == SentKind::WindowProbe {
            self.probes += u64::from(bytes > 0);
            self.probe_bytes += bytes;
            return;
        }
        let new_bytes = u64::from(sent.new_bytes);
        self.unique_bytes += new_bytes;
        self.retransmitted_bytes += bytes - new_bytes;
        self.out_of_order += u64::from(sent.kind == SentKind::FillsHole);
        self.keep_alives += u64::from(sent.kind == SentKind::KeepAlive);
        if new_bytes < bytes {
            self.retransmitted_segments += 1;
        } else if nothing_acked && bytes > 0 {
            self.initial_window_segments += 1;
            self.initial_window_bytes += bytes;
        }
        if sent.is_same_packet {
            self.duplicated_packets += 1;
        }
    }

    /// A transmission of something that was perhaps sent before, SYN and FIN included.
    #[inline]
    pub(super) fn transmitted(&mut self, earlier: &Earlier, at: Time) {
        if let Some(last_at) = earlier.last_at {
            self.most_transmissions = self.most_transmissions.max(earlier.transmissions);
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
