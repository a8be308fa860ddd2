//! One stream of a test: its socket and its counters.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fairway_schema::tcp_info::FIELDS;

use super::Transport;
use crate::measure::{DatagramCounts, Datagrams, tcp_info};
use crate::rt::{Mutex, MutexGuard, Socket};
use crate::socket::congestion_control;
use crate::{Control, Error, Held};

/// One stream. It goes one way, over a socket of its own.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: u32,
    pub(super) sends: bool,
    pub(super) protocol: Transport,
    pub(super) socket: Socket,
    pub(super) local: SocketAddr,
    pub(super) remote: SocketAddr,
    /// Congestion control of the socket; empty of datagrams.
    pub(super) congestion: String,
    pub(super) bytes: Arc<AtomicU64>,
    totals: Mutex<DatagramTotals>,
    datagrams: Arc<Mutex<DatagramCounts>>,
    _held: Held,
}

/// What is counted of datagrams.
#[derive(Debug, Default)]
struct DatagramTotals {
    /// Of the time that counts, or of the omitted time as long as that lasts.
    datagrams: Datagrams,
    /// Datagrams before that time, and those of them that were lost.
    omitted_packets: u64,
    omitted_lost: u64,
}

/// What is known of a stream at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) bytes: u64,
    /// Datagrams sent, or that should have come by the highest number.
    pub(super) packets: u64,
    pub(super) lost: u64,
    pub(super) omitted_packets: u64,
    pub(super) omitted_lost: u64,
    pub(super) reordered: u64,
    pub(super) jitter_s: f64,
    /// None if it receives, or has datagrams.
    pub(super) tcp: Option<TcpSeen>,
}

/// What the kernel says of a connection that sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TcpSeen {
    pub(super) retransmits: u64,
    pub(super) cwnd_bytes: u64,
    pub(super) window_bytes: u64,
    pub(super) rtt_us: u64,
    pub(super) rttvar_us: u64,
    pub(super) mtu_bytes: u64,
    pub(super) reordering: u64,
    /// Segments sent and not acknowledged, and bytes not sent.
    pub(super) waiting: u64,
}

impl Stream {
    pub(super) fn new(
        id: u32,
        sends: bool,
        protocol: Transport,
        socket: Socket,
        control: &Control,
    ) -> Result<Stream, Error> {
        let failed = |error| Error::failed(format!("opening stream {id}"), error);
        let no_address = || std::io::Error::other("it has no address");
        let local = socket.local_addr().map_err(failed)?.as_socket();
        let remote = socket.peer_addr().map_err(failed)?.as_socket();
        let congestion = match protocol {
            Transport::Tcp => congestion_control(&socket).unwrap_or_else(|| "unknown".into()),
            Transport::Udp => String::new(),
        };
        Ok(Stream {
            id,
            sends,
            protocol,
            local: local.ok_or_else(no_address).map_err(failed)?,
            remote: remote.ok_or_else(no_address).map_err(failed)?,
            congestion,
            bytes: Arc::default(),
            totals: Mutex::default(),
            datagrams: Arc::default(),
            _held: control.hold(&socket).map_err(failed)?,
            socket,
        })
    }

    /// What is counted of its datagrams, for someone who looks on.
    pub(super) fn shared_datagrams(&self) -> Arc<Mutex<DatagramCounts>> {
        Arc::clone(&self.datagrams)
    }

    pub(super) fn sent_datagram(&self, payload_bytes: u64) {
        let mut totals = self.totals();
        self.bytes.fetch_add(payload_bytes, Ordering::Relaxed);
        let counts = &mut totals.datagrams.counts;
        counts.sent_packets += 1;
        counts.payload_bytes += payload_bytes;
        counts.wire_bytes += payload_bytes + self.header_bytes();
        self.show(counts);
    }

    /// A datagram has come; numbers count from 1.
    pub(super) fn received_datagram(&self, number: u64, transit_s: f64, payload_bytes: u64) {
        let mut totals = self.totals();
        // One of the omitted time that is late is not one of the time that counts.
        let Some(number) = number.checked_sub(1 + totals.omitted_packets) else { return };
        self.bytes.fetch_add(payload_bytes, Ordering::Relaxed);
        totals.datagrams.receive(number, transit_s, payload_bytes, self.header_bytes());
        self.show(&totals.datagrams.counts);
    }

    pub(super) fn restart(&self) {
        let mut totals = self.totals();
        let counts = &totals.datagrams.counts;
        let packets = self.packets(counts);
        *totals = DatagramTotals {
            omitted_packets: packets,
            omitted_lost: counts.lost_packets,
            datagrams: Datagrams::default(),
        };
        self.show(&totals.datagrams.counts);
    }

    fn packets(&self, counts: &DatagramCounts) -> u64 {
        match self.sends {
            true => counts.sent_packets,
            false => counts.received_packets + counts.lost_packets,
        }
    }

    fn show(&self, counts: &DatagramCounts) {
        self.datagrams.lock().clone_from(counts);
    }

    fn totals(&self) -> MutexGuard<'_, DatagramTotals> {
        self.totals.lock()
    }

    /// Headers of IP and UDP in front of a datagram (RFC 791, RFC 8200, RFC 768).
    fn header_bytes(&self) -> u64 {
        let mapped =
            matches!(self.remote, SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_some());
        if self.remote.is_ipv4() || mapped { 20 + 8 } else { 40 + 8 }
    }

    pub(super) fn see_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(super) fn see(&self) -> Seen {
        match self.protocol {
            Transport::Tcp => {
                let bytes = self.see_bytes();
                let tcp = if self.sends { tcp_seen(&self.socket) } else { None };
                Seen { bytes, tcp, ..Seen::default() }
            }
            Transport::Udp => {
                // While the totals are locked no datagram is counted, so that bytes and packets agree.
                let totals = self.totals();
                let counts = &totals.datagrams.counts;
                Seen {
                    bytes: self.see_bytes(),
                    packets: self.packets(counts),
                    lost: counts.lost_packets,
                    omitted_packets: totals.omitted_packets,
                    omitted_lost: totals.omitted_lost,
                    reordered: counts.reordered_packets,
                    jitter_s: counts.jitter_s.unwrap_or(0.0),
                    tcp: None,
                }
            }
        }
    }
}

fn tcp_seen(socket: &Socket) -> Option<TcpSeen> {
    let record = Some(tcp_info(socket)).filter(|record| !record.is_empty())?;
    let field = |name: &str| {
        let field = FIELDS.iter().find(|field| field.name == name);
        field.and_then(|field| field.raw(&record)).unwrap_or(0)
    };
    Some(TcpSeen {
        retransmits: field("total_retrans_segments"),
        cwnd_bytes: field("snd_cwnd_segments") * field("snd_mss_bytes"),
        window_bytes: field("snd_wnd_bytes"),
        rtt_us: field("rtt_s"),
        rttvar_us: field("rttvar_s"),
        mtu_bytes: field("pmtu_bytes"),
        reordering: field("reord_seen"),
        waiting: field("unacked_segments") + field("notsent_bytes"),
    })
}
