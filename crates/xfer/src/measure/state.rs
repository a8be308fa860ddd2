//! The flows of a meter, and what is known of them.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fairway_trace::tcp_info::series as field;
use socket2::Socket;

use super::rows::{Row, Rows};
use super::{Counts, Cpu, DatagramCounts, Goal, Payload, SHORTEST_INTERVAL, Subject};
use crate::{Progress, StreamProgress};

/// Room for `struct tcp_info`: 280 bytes in Linux 6.18, and it grows.
const TCP_INFO_BYTES: usize = 512;
/// A last sample that comes sooner after the one before than this share of an interval is no row
/// of its own: its rates would be chance.
const SHORTEST_ROW: f64 = 0.1;

#[derive(Debug)]
pub(super) struct State {
    pub(super) subject: Subject,
    pub(super) flows: Vec<Flow>,
    pub(super) rows: Rows,
    pub(super) goal: Goal,
    pub(super) cpu_before: Cpu,
    /// When the first connection was watched.
    began: Option<Instant>,
    /// When the latest sample of all, or of one that closed, was taken.
    ended: Option<Instant>,
    interval: Duration,
    due: Option<Instant>,
    next_number: u64,
    told: Told,
}

/// What progress was told last.
#[derive(Debug, Default)]
struct Told {
    at: Option<Instant>,
    bytes: u64,
    goodput_bps: f64,
}

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
    /// What those connections counted that are closed.
    closed: Counts,
    pub(super) datagrams: DatagramCounts,
    open: Option<(u64, Open)>,
    pub(super) connections: u64,
    pub(super) opened: Instant,
    pub(super) closed_at: Option<Instant>,
    /// Time and payload of the latest row.
    row: (Instant, u64),
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
        let mut connection = Connection { socket, is_ipv6, payload, before, seen };
        let record = tcp_info(&connection.socket);
        connection.before = Counts {
            payload_bytes: connection.payload_bytes(&record),
            ..Counts::of(&record, connection.payload.is_sent(), is_ipv6)
        };
        Open::Tcp(Box::new(connection))
    }

    fn is_sent(&self) -> bool {
        matches!(self, Open::Tcp(connection) if connection.payload.is_sent())
    }
}

impl Connection {
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
            Payload::Received => field::BYTES_RECEIVED.raw(record).unwrap_or(0),
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
            ..Counts::of(&record, self.payload.is_sent(), self.is_ipv6)
        };
        let news = counts - self.before;
        // What was delivered stays so, whatever is told of a connection that broke.
        let payload_bytes = news.payload_bytes.max(self.seen.payload_bytes);
        self.seen = Counts { payload_bytes, ..news };
        Some(record)
    }
}

impl Flow {
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

    /// Looks at what is open.
    fn look(&mut self) {
        match &mut self.open {
            Some((_, Open::Tcp(connection))) => {
                if let Some(record) = connection.look() {
                    self.latest = record;
                }
            }
            Some((_, Open::Datagrams(counts))) => {
                self.datagrams = counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
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

impl State {
    pub(super) fn new(subject: Subject) -> Self {
        State {
            interval: subject.interval.max(SHORTEST_INTERVAL),
            subject,
            flows: Vec::new(),
            rows: Rows::default(),
            goal: Goal::default(),
            cpu_before: Cpu::now(),
            began: None,
            ended: None,
            due: None,
            next_number: 0,
            told: Told::default(),
        }
    }

    pub(super) fn interval(&self) -> Duration {
        self.interval
    }

    /// When everything began, and what it has taken so far.
    pub(super) fn window(&self) -> (Option<Instant>, Duration) {
        let took = self.began.zip(self.ended).map(|(from, to)| to.saturating_duration_since(from));
        (self.began, took.unwrap_or_default())
    }

    /// Watches something new; returns the flow that it belongs to and its own number.
    pub(super) fn open(
        &mut self,
        id: &str,
        watch: Watch,
        open: Open,
        now: Instant,
    ) -> (usize, u64) {
        if self.began.is_none() {
            self.began = Some(now);
            self.due = Some(now + self.interval);
            self.told.at = Some(now);
        }
        let number = self.next_number;
        self.next_number += 1;
        let flow = match self.flows.iter().position(|flow| flow.id == id) {
            Some(flow) => {
                self.end(flow, now);
                flow
            }
            None => {
                self.flows.push(Flow {
                    id: id.to_owned(),
                    watch: watch.clone(),
                    is_sent: open.is_sent(),
                    closed: Counts::default(),
                    datagrams: DatagramCounts::default(),
                    open: None,
                    connections: 0,
                    opened: now,
                    closed_at: None,
                    row: (now, 0),
                    told: Told { at: Some(now), ..Told::default() },
                    latest: Vec::new(),
                });
                self.flows.len() - 1
            }
        };
        let flow_of = &mut self.flows[flow];
        flow_of.watch = watch;
        flow_of.connections += 1;
        flow_of.closed_at = None;
        flow_of.row.0 = now;
        flow_of.open = Some((number, open));
        (flow, number)
    }

    /// Ends the watch of that number, unless another has taken its place already.
    pub(super) fn close(&mut self, flow: usize, number: u64, now: Instant) {
        if matches!(&self.flows[flow].open, Some((open, _)) if *open == number) {
            self.end(flow, now);
        }
    }

    fn end(&mut self, flow: usize, now: Instant) {
        if !self.flows[flow].is_open() {
            return;
        }
        self.flows[flow].look();
        self.row(flow, now, true);
        let flow = &mut self.flows[flow];
        flow.closed = flow.counts();
        flow.open = None;
        flow.closed_at = Some(now);
        self.ended = Some(now);
    }

    /// Looks at everything that is open, for rows if they are due.
    pub(super) fn sample(&mut self, now: Instant, is_last: bool) {
        for flow in &mut self.flows {
            flow.look();
        }
        if self.began.is_none() || (!is_last && self.due.is_some_and(|due| now < due)) {
            return;
        }
        for flow in 0..self.flows.len() {
            if self.flows[flow].is_open() {
                self.row(flow, now, is_last);
                self.ended = Some(now);
            }
        }
        if self.rows.are_many() {
            self.rows.halve();
            self.interval *= 2;
        }
        let due = self.due.map_or(now, |due| due + self.interval);
        self.due = Some(due.max(now + self.interval / 2));
    }

    /// Everything that was delivered, by the latest look.
    pub(super) fn delivered_bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.counts().payload_bytes).sum()
    }

    fn row(&mut self, flow: usize, now: Instant, is_last: bool) {
        let Some(began) = self.began else { return };
        let shortest = self.interval.mul_f64(SHORTEST_ROW);
        let of = &mut self.flows[flow];
        let payload_bytes = of.counts().payload_bytes;
        let (from, from_bytes) = of.row;
        let news = payload_bytes.saturating_sub(from_bytes);
        let took = now.saturating_duration_since(from);
        let is_first = self.rows.has_none_of(flow as u32);
        if is_last && took < shortest && !(is_first && news > 0) {
            self.rows.lengthen(flow as u32, nanos(now, began), news);
            of.row = (now, payload_bytes);
            return;
        }
        of.row = (now, payload_bytes);
        self.rows.push(Row {
            flow: flow as u32,
            from_ns: nanos(from, began),
            to_ns: nanos(now, began),
            payload_bytes: news,
            record: of.latest.as_slice().into(),
        });
    }

    pub(super) fn progress(&mut self, now: Instant) -> Progress {
        let delivered = self.delivered_bytes();
        let done_bytes = self.goal.done_bytes.as_deref().map_or(delivered, load);
        let streams = self.flows.iter_mut().filter(|flow| flow.is_open()).map(|flow| {
            let bytes = flow.counts().payload_bytes;
            let record = flow.latest.as_slice();
            let real = |value: f64| (value > 0.0).then_some(value);
            StreamProgress {
                id: flow.id.clone(),
                goodput_bps: flow.told.rate(now, bytes),
                srtt_s: real(field::RTT.real(record)).filter(|_| flow.is_sent),
                cwnd_segments: real(field::CWND.real(record)).filter(|_| flow.is_sent),
                retransmitted_segments: flow.counts().retransmitted_segments,
            }
        });
        let streams = streams.collect();
        let elapsed = self.began.map(|began| now.saturating_duration_since(began));
        Progress {
            done_bytes,
            total_bytes: self.goal.total_bytes,
            duration_s: self.goal.duration.map(|duration| duration.as_secs_f64()),
            elapsed_s: elapsed.unwrap_or_default().as_secs_f64(),
            goodput_bps: self.told.rate(now, delivered),
            streams,
        }
    }
}

impl Told {
    /// The rate since it was asked for last; the old one if that was just now.
    fn rate(&mut self, now: Instant, bytes: u64) -> f64 {
        let took = self.at.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        if took < SHORTEST_INTERVAL {
            return self.goodput_bps;
        }
        self.goodput_bps = bytes.saturating_sub(self.bytes) as f64 * 8.0 / took.as_secs_f64();
        (self.at, self.bytes) = (Some(now), bytes);
        self.goodput_bps
    }
}

fn load(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

fn nanos(at: Instant, began: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(began).as_nanos()).unwrap_or(u64::MAX)
}

/// What the kernel says of a connection; nothing if it does not.
fn tcp_info(socket: &Socket) -> Vec<u8> {
    let mut record = vec![0; TCP_INFO_BYTES];
    match fairway_socket::tcp_info(socket.as_fd(), &mut record) {
        Ok(length) => {
            record.truncate(length);
            record
        }
        Err(_) => Vec::new(),
    }
}
