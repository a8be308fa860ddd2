//! The two ends of a flow of datagrams.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::rt::Socket;
use fairway_socket::Batch;
use nix::time::{ClockId, clock_gettime};

use super::counts::Counts;
use super::tcp::Schedule;
use super::worker::{Scratch, Step};
use crate::load::header::{self, Header, Kind};
use crate::load::pattern;
use crate::measure::Datagrams;
use crate::socket::is_of_the_way;

/// Datagrams that are sent with one call if so many are due.
const BATCH: usize = 32;
/// As many that are made one by one, of up to 64 KiB each.
const VERIFIED_BATCH: usize = 8;
/// Calls before the other flows of the thread have their turn.
const TURNS: usize = 16;

/// The clock that datagrams carry, since some moment that is one for all processes of a host.
pub fn clock() -> Duration {
    read_clock(ClockId::CLOCK_MONOTONIC)
}

fn read_clock(clock: ClockId) -> Duration {
    // Both clocks are there on every Linux (clock_gettime(2)).
    clock_gettime(clock).map_or(Duration::ZERO, Duration::from)
}

/// The end that sends.
#[derive(Debug)]
pub struct UdpSource {
    socket: Arc<Socket>,
    counts: Arc<Counts>,
    schedule: Schedule,
    batch: Batch,
    header: Header,
    message_bytes: usize,
    key: Option<u64>,
    /// Datagrams that are due and were not sent yet.
    pending: usize,
}

impl UdpSource {
    /// Sends datagrams of `message_bytes`; `key` is of their content if that is checked.
    pub fn new(
        socket: Arc<Socket>,
        counts: Arc<Counts>,
        schedule: Schedule,
        (session, flow): (u64, u32),
        message_bytes: usize,
        key: Option<u64>,
    ) -> Self {
        let batch = match key {
            None => Batch::new(BATCH, header::BYTES),
            Some(_) => Batch::new(VERIFIED_BATCH, message_bytes),
        };
        let header = Header { kind: Kind::Data, flow, session, number: 0, sent: Duration::ZERO };
        UdpSource { socket, counts, schedule, batch, header, message_bytes, key, pending: 0 }
    }

    pub(super) fn work(&mut self, scratch: &mut Scratch) -> Step {
        for _ in 0..TURNS {
            let now = Instant::now();
            if self.schedule.is_over(now) && self.pending == 0 || self.schedule.stops_by(now) {
                self.counts.end();
                return Step::Done;
            }
            while self.pending < self.batch.count()
                && self.schedule.take(now, self.message_bytes).is_some()
            {
                self.pending += 1;
                self.schedule.finish_message(now);
            }
            if self.pending == 0 {
                return Step::Wait(self.schedule.next(false));
            }
            match self.send(scratch) {
                Ok(sent) => self.count(sent),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Step::Wait(self.schedule.next(true));
                }
                // What was not sent is lost, as it would be behind a queue.
                Err(error) if is_of_the_way(&error) => self.count(1),
                Err(error) => {
                    self.counts.fail(error);
                    return Step::Done;
                }
            }
        }
        Step::Again
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn count(&mut self, sent: usize) {
        self.pending -= sent;
        self.header.number += sent as u64;
        self.counts.add_bytes((sent * self.message_bytes) as u64);
        self.counts.messages.fetch_add(sent as u64, Ordering::Relaxed);
        self.counts.datagrams.lock().sent_packets += sent as u64;
    }

    fn send(&mut self, scratch: &mut Scratch) -> std::io::Result<usize> {
        let sent = clock();
        for at in 0..self.pending {
            let number = self.header.number + at as u64;
            let bytes = self.batch.bytes_mut(at);
            if let Some((header, content)) = bytes.split_first_chunk_mut::<{ header::BYTES }>() {
                Header { number, sent, ..self.header }.write(header);
                if let Some(key) = self.key {
                    pattern::fill(content, key, position(number, self.message_bytes));
                }
            }
        }
        let tail = match self.key {
            None => &scratch.payload()[..self.message_bytes - header::BYTES],
            Some(_) => &[],
        };
        self.batch.send(self.socket.as_fd(), self.pending, tail)
    }
}

/// Where the content of a datagram is in the pattern of its flow.
fn position(number: u64, message_bytes: usize) -> u64 {
    number.wrapping_mul((message_bytes - header::BYTES) as u64)
}

/// The end that receives.
#[derive(Debug)]
pub struct UdpSink {
    socket: Arc<Socket>,
    counts: Arc<Counts>,
    book: Datagrams,
    session: u64,
    flow: u32,
    key: Option<u64>,
    /// Of UDP and IP (RFC 768; RFC 791 section 3.1, RFC 8200 section 3).
    header_bytes: u64,
    has_one_clock: bool,
}

impl UdpSink {
    /// Receives the datagrams of a flow; delays are measured if both ends have one clock.
    pub fn new(
        socket: Arc<Socket>,
        counts: Arc<Counts>,
        (session, flow): (u64, u32),
        key: Option<u64>,
        has_one_clock: bool,
    ) -> Self {
        let address = socket.peer_addr().ok().and_then(|address| address.as_socket());
        let is_ipv6 = address.is_some_and(|address| address.is_ipv6());
        UdpSink {
            socket,
            counts,
            book: Datagrams::default(),
            session,
            flow,
            key,
            header_bytes: if is_ipv6 { 48 } else { 28 },
            has_one_clock,
        }
    }

    pub(super) fn work(&mut self, scratch: &mut Scratch) -> Step {
        for _ in 0..TURNS {
            let batch = scratch.received(self.key.is_some());
            match batch.receive(self.socket.as_fd()) {
                Ok(received) => {
                    let was_full = received == batch.count();
                    self.take(received, scratch);
                    if !was_full {
                        return Step::Wait(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Step::Wait(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_of_the_way(&error) => {}
                Err(error) => {
                    self.counts.fail(error);
                    return Step::Done;
                }
            }
        }
        Step::Again
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn take(&mut self, received: usize, scratch: &mut Scratch) {
        // The kernel stamps arrivals by the wall clock, and that clock may be set at any time: what
        // it is ahead of the other is looked at now, when they have just arrived.
        let (now, wall) = (clock(), read_clock(ClockId::CLOCK_REALTIME));
        let batch = scratch.received(self.key.is_some());
        let mut delays = self.has_one_clock.then(|| self.counts.delays.lock());
        for number in 0..received {
            let datagram = batch.datagram(number);
            let header = Header::read(datagram.bytes).filter(|header| {
                (header.kind, header.session, header.flow) == (Kind::Data, self.session, self.flow)
            });
            let Some(header) = header else {
                let is_hello = Header::read(datagram.bytes)
                    .is_some_and(|header| header.session == self.session);
                self.counts.foreign.fetch_add(u64::from(!is_hello), Ordering::Relaxed);
                continue;
            };
            let waited = datagram.at.map_or(Duration::ZERO, |at| wall.saturating_sub(at));
            let arrived = now.saturating_sub(waited);
            let transit_s = arrived.as_secs_f64() - header.sent.as_secs_f64();
            let before = self.book.counts.received_packets;
            self.book.receive(header.number, transit_s, datagram.length as u64, self.header_bytes);
            if self.book.counts.received_packets == before {
                continue;
            }
            if let Some(delays) = &mut delays {
                let delay = arrived.saturating_sub(header.sent);
                delays.add(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX));
            }
            if let Some(key) = self.key {
                let content = &datagram.bytes[header::BYTES..];
                let at = position(header.number, datagram.length);
                if !pattern::is_intact(content, key, at) {
                    self.counts.corrupt.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        self.counts.bytes.store(self.book.counts.payload_bytes, Ordering::Relaxed);
        // How many were sent the other end may have said already.
        let mut shared = self.counts.datagrams.lock();
        self.book.sent(shared.sent_packets);
        shared.clone_from(&self.book.counts);
    }
}
