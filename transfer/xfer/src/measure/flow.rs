//! One flow: its open connection, and its counts so far.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fairway_schema::tcp_info::series as field;
use socket2::Socket;

use super::{Counts, DatagramCounts, Payload, SHORTEST_INTERVAL};
use crate::StreamProgress;
use crate::rt::Mutex;

/// Room for `struct tcp_info`: 280 bytes in Linux 6.18, and it grows.
const TCP_INFO_BYTES: usize = 512;
/// What a flow is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Watch {
    Tcp { cc: String },
    Datagrams { kind: &'static str },
}

/// One flow: connections of the same name, one after the other.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) id: String,
    pub(super) watch: Watch,
    pub(super) is_sent: bool,
    pub(super) closed: Counts,
    pub(super) datagrams: DatagramCounts,
    before: DatagramCounts,
    pub(super) open: Option<(u64, Open)>,
    pub(super) connections: u64,
    pub(super) opened: Instant,
    pub(super) closed_at: Option<Instant>,
    /// Time and payload of the latest row.
    pub(super) row: (Instant, u64),
    told: Told,
    /// The latest `struct tcp_info`.
    latest: Vec<u8>,
}

/// What is looked at.
#[derive(Debug)]
pub(super) enum Open {
    Tcp(Box<Connection>),
    Datagrams(Arc<Mutex<DatagramCounts>>),
}

/// A connection, and what it had counted before it was watched.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    is_ipv6: bool,
    is_sent: bool,
    payload: Payload,
    before: Counts,
    seen: Counts,
}

impl Open {
    pub(super) fn tcp(socket: Socket, payload: Payload) -> Self {
        let is_ipv6 = socket.local_addr().is_ok_and(|address| {
            address.as_socket_ipv6().is_some_and(|v6| v6.ip().to_ipv4_mapped().is_none())
        });
        let (before, seen) = Default::default();
        let is_sent = payload.is_sent();
        let mut connection = Connection { socket, is_ipv6, is_sent, payload, before, seen };
        let record = tcp_info(&connection.socket);
        connection.before = Counts {
            payload_bytes: connection.payload_bytes(&record),
            ..Counts::of(&record, is_sent, is_ipv6)
        };
        Open::Tcp(Box::new(connection))
    }

    pub(super) fn is_sent(&self) -> bool {
        matches!(self, Open::Tcp(connection) if connection.is_sent)
    }
}

impl Connection {
    /// What was written is payload that was delivered, whatever the kernel holds.
    pub(super) fn deliver_all(&mut self) {
        if let Payload::Written(count) = &self.payload {
            self.payload = Payload::Read(Arc::clone(count));
        }
    }

    fn payload_bytes(&self, record: &[u8]) -> u64 {
        match &self.payload {
            Payload::Read(count) => load(count),
            Payload::Written(count) => {
                // In this order: what was counted is in the socket, or is acknowledged.
                let written = load(count);
                let waiting = fairway_socket::unacknowledged(self.socket.as_fd());
                written.saturating_sub(waiting.unwrap_or(0))
            }
            Payload::Acknowledged => field::BYTES_ACKED.raw(record).unwrap_or(0),
        }
    }

    /// Counts anew; returns what the kernel says, if it does.
    fn look(&mut self) -> Option<Vec<u8>> {
        let record = tcp_info(&self.socket);
        if record.is_empty() {
            return None;
        }
        let counts = Counts {
            payload_bytes: self.payload_bytes(&record),
            ..Counts::of(&record, self.is_sent, self.is_ipv6)
        };
        let news = counts - self.before;
        // What was delivered stays so, whatever is told of a connection that broke.
        let payload_bytes = news.payload_bytes.max(self.seen.payload_bytes);
        self.seen = Counts { payload_bytes, ..news };
        Some(record)
    }
}

impl Flow {
    pub(super) fn new(id: &str, watch: Watch, is_sent: bool, now: Instant) -> Self {
        Flow {
            id: id.to_owned(),
            watch,
            is_sent,
            closed: Counts::default(),
            datagrams: DatagramCounts::default(),
            before: DatagramCounts::default(),
            open: None,
            connections: 0,
            opened: now,
            closed_at: None,
            row: (now, 0),
            told: Told::at(now),
            latest: Vec::new(),
        }
    }

    /// What it has counted by its latest look.
    pub(super) fn counts(&self) -> Counts {
        match &self.open {
            Some((_, Open::Tcp(connection))) => self.closed + connection.seen,
            _ => self.closed,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether its congestion window is known: at the sending end of a connection.
    pub(super) fn has_window(&self) -> bool {
        self.is_sent && matches!(self.watch, Watch::Tcp { .. })
    }

    pub(super) fn latest(&self) -> &[u8] {
        &self.latest
    }

    pub(super) fn progress(&mut self, now: Instant) -> StreamProgress {
        let counts = self.counts();
        let record = self.latest.as_slice();
        let real = |value: f64| (value > 0.0 && self.is_sent).then_some(value);
        StreamProgress {
            id: self.id.clone(),
            srtt_s: real(field::RTT.real(record)),
            cwnd_segments: real(field::CWND.real(record)),
            retransmitted_segments: counts.retransmitted_segments,
            goodput_bps: self.told.rate(now, counts.payload_bytes),
        }
    }

    pub(super) fn restart(&mut self, now: Instant) {
        match &mut self.open {
            Some((_, Open::Tcp(connection))) => {
                connection.before = connection.before + connection.seen;
                connection.seen = Counts::default();
            }
            Some((_, Open::Datagrams(counts))) => self.before = counts.lock().clone(),
            None => {}
        }
        self.closed = Counts::default();
        self.datagrams = self.datagrams.since(&self.before);
        (self.opened, self.row) = (now, (now, 0));
        self.told = Told::at(now);
    }

    pub(super) fn look(&mut self) {
        match &mut self.open {
            Some((_, Open::Tcp(connection))) => {
                if let Some(record) = connection.look() {
                    self.latest = record;
                }
            }
            Some((_, Open::Datagrams(counts))) => {
                self.datagrams = counts.lock().since(&self.before);
                self.closed = Counts {
                    payload_bytes: self.datagrams.payload_bytes,
                    wire_bytes: self.datagrams.wire_bytes,
                    sent_segments: self.datagrams.sent_packets,
                    delivered_segments: self.datagrams.received_packets,
                    ..Counts::default()
                };
            }
            None => {}
        }
    }
}

/// What progress was told last.
#[derive(Debug, Default)]
pub(super) struct Told {
    at: Option<Instant>,
    bytes: u64,
    goodput_bps: f64,
}

impl Told {
    pub(super) fn at(now: Instant) -> Self {
        Told { at: Some(now), ..Told::default() }
    }

    /// The rate since it was asked for last; the old one if that was just now.
    pub(super) fn rate(&mut self, now: Instant, bytes: u64) -> f64 {
        let took = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        if took < SHORTEST_INTERVAL {
            return self.goodput_bps;
        }
        self.goodput_bps = bytes.saturating_sub(self.bytes) as f64 * 8.0 / took.as_secs_f64();
        (self.at, self.bytes) = (Some(now), bytes);
        self.goodput_bps
    }
}

pub(super) fn load(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// What the kernel says of a connection; nothing if it does not.
pub(crate) fn tcp_info(socket: &Socket) -> Vec<u8> {
    let mut record = vec![0; TCP_INFO_BYTES];
    match fairway_socket::tcp_info(socket.as_fd(), &mut record) {
        Ok(length) => {
            record.truncate(length);
            record
        }
        Err(_) => Vec::new(),
    }
}
