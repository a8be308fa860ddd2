//! The two ends of a connection whose application decides as it goes.

use std::io;
use std::net::{Shutdown, SocketAddrV4};
use std::os::fd::AsFd;

use fairway_application::{Direction, Reader};
use fairway_guest::plan::{Flow as FlowPlan, LISTENING_SOURCE};
use fairway_guest::record::{GivenUp, MAX_TCP_INFO};
use fairway_spec::{Flow, Source};
use fairway_units::Time;
use nix::sys::epoll::EpollFlags;
use socket2::Socket;

use super::collectors::{Collected, Collectors, LEAST_BYTES};
use super::failure::{Done, Failure, SINK, SOURCE, at};
use super::poll::Poll;
use crate::connection::{DATA, bind_and_listen, network_fault, set_algorithm, tcp_socket};
use crate::setup::Namespaces;

#[cfg(test)]
mod tests;

/// What its sockets are called among all: four names a connection.
const LISTENER: u64 = 2;
const NAMES: u64 = 4;
/// An application that is always ahead of its connection: more than any run can carry.
const ENDLESS: u64 = 1 << 62;
/// Most bytes that are received in one call.
const READ_BYTES: usize = 1 << 30;
/// What epoll_wait(2) tells whether it is asked for or not.
const FAILED: EpollFlags = EpollFlags::EPOLLERR.union(EpollFlags::EPOLLHUP);
/// Of `TCP_NOTSENT_LOWAT`, for the kernel's own limit.
const USUAL_LIMIT: i32 = 0;

/// A connection.
pub struct Pair {
    /// Its place in the plan.
    pub flow: usize,
    /// The application that drives or follows it.
    pub application: Option<usize>,
    pub app: Source,
    number: u64,
    sides: [Side; 2],
    listener: Option<Socket>,
    both_ways: bool,
    sink_opens: bool,
    mss: u32,
    /// Bytes that fill the buffers of both ends.
    enough: u64,
    reader: Option<Reader>,
    /// Its driver is told while less than this waits to be sent.
    filled: u64,
    stopped: bool,
    transfer: Option<[u64; 2]>,
    /// Of an application that writes at a rate: when its next piece is due, and whether it waits for room.
    due: Time,
    is_waiting: bool,
    pub opened: Option<Time>,
    pub established: Option<Time>,
    pub completed: Option<Time>,
    pub given_up: Option<GivenUp>,
    pub error: Option<String>,
}

/// One end: what it has written, and what it has received.
#[derive(Default)]
struct Side {
    socket: Option<Socket>,
    /// What it is looked at for; nothing before it is.
    interest: Option<EpollFlags>,
    written: u64,
    /// Of it, what the kernel has not taken yet.
    pending: u64,
    /// Whether it takes no more behind that, and whether the kernel knows.
    is_closing: bool,
    is_shut: bool,
    delivered: u64,
    awaited: u64,
    /// Whether nothing more will come.
    at_end: bool,
    /// Whether its application leaves for later what has come.
    pauses: bool,
    /// Whether a thread receives what comes.
    is_collected: bool,
    /// Whether its socket is looked at no more.
    is_forgotten: bool,
    /// SYNs that were sent again.
    handshake: u64,
    /// What the kernel has said of it last.
    info: Vec<u8>,
}

/// What its application is to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairEvent {
    /// As much as it waits for was delivered.
    Delivered(Direction),
    /// There is room for more.
    Room,
    /// A slow reader reads at a time.
    Read(Time),
}

impl Pair {
    pub fn new(number: usize, index: usize, flow: &Flow) -> Self {
        let side = || Side { awaited: u64::MAX, ..Side::default() };
        let buffers = &flow.stack.buffers;
        Pair {
            flow: index,
            application: None,
            app: flow.source,
            number: number as u64,
            sides: [side(), side()],
            listener: None,
            both_ways: flow.both_ways,
            sink_opens: flow.sink_opens,
            mss: flow.stack.options.mss,
            enough: buffers.send_buffer.min(buffers.receive_buffer),
            reader: flow.reading.map(Reader::new),
            filled: 0,
            stopped: false,
            transfer: None,
            due: Time::ZERO,
            is_waiting: false,
            opened: None,
            established: None,
            completed: None,
            given_up: None,
            error: None,
        }
    }

    /// Which connection and which of its sockets a name is of.
    pub fn named(name: u64) -> (usize, u64) {
        ((name / NAMES) as usize, name % NAMES)
    }

    fn name(&self, socket: u64) -> u64 {
        self.number * NAMES + socket
    }

    /// Makes both ends; one listens and the other connects.
    pub fn open(
        &mut self,
        plan: &FlowPlan,
        namespaces: &Namespaces,
        poll: &Poll,
        now: Time,
    ) -> Result<(), crate::Error> {
        let failed = |error| crate::Error::new(format!("opening flow {}", plan.id), error);
        let (listening, connecting) = match self.sink_opens {
            true => (SOURCE, SINK),
            false => (SINK, SOURCE),
        };
        let port = |side| if side == SOURCE { plan.port + LISTENING_SOURCE } else { plan.port };
        let namespace = |side| if side == SOURCE { plan.source } else { plan.sink };
        let sends = |side| side == SOURCE || self.both_ways;
        let make = |side| -> io::Result<Socket> {
            let socket = tcp_socket(plan)?;
            if sends(side) {
                set_algorithm(&socket, &plan.cc)?;
            }
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        namespaces.enter(namespace(listening))?;
        let listener = make(listening).map_err(failed)?;
        bind_and_listen(&listener, port(listening)).map_err(failed)?;
        poll.add(listener.as_fd(), self.name(LISTENER), EpollFlags::EPOLLIN).map_err(failed)?;
        namespaces.enter(namespace(connecting))?;
        let socket = make(connecting).map_err(failed)?;
        let address = match listening {
            SOURCE => plan.source_address,
            _ => plan.address,
        };
        if connecting == SINK {
            let own = SocketAddrV4::new(plan.address, plan.port);
            socket.bind(&own.into()).map_err(failed)?;
        }
        match socket.connect(&SocketAddrV4::new(address, port(listening)).into()) {
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            result => result.map_err(failed)?,
        }
        let interest = EpollFlags::EPOLLOUT;
        poll.add(socket.as_fd(), self.name(connecting as u64), interest).map_err(failed)?;
        let side = &mut self.sides[connecting];
        (side.socket, side.interest) = (Some(socket), Some(interest));
        self.listener = Some(listener);
        self.opened = Some(now);
        Ok(())
    }

    /// Its application has what it writes by itself. Returns when it writes again, if it does.
    pub fn begin(&mut self, now: Time, poll: &Poll) -> Done<Option<Time>> {
        match self.app {
            Source::Bulk => self.each_writes(ENDLESS, poll)?,
            Source::File { bytes } => {
                self.each_writes(bytes.get(), poll)?;
                self.each_closes(now, poll)?;
            }
            Source::Limited { .. } => {
                self.due = now;
                return self.write_at_rate(now, poll);
            }
            Source::Driven => {}
        }
        Ok(None)
    }

    /// One of its sockets has something.
    pub fn handle(
        &mut self,
        socket: u64,
        flags: EpollFlags,
        now: Time,
        poll: &Poll,
        events: &mut Vec<PairEvent>,
        collectors: &mut Collectors,
    ) -> Done {
        if socket == LISTENER {
            return self.accept(poll, collectors);
        }
        let side = socket as usize;
        if self.sides[side].socket.is_none() {
            return Ok(());
        }
        if self.established.is_none() && side == if self.sink_opens { SINK } else { SOURCE } {
            self.connected(side, now, poll)?;
        } else if flags.intersects(FAILED) {
            if let Some(socket) = &self.sides[side].socket
                && let Some(error) = socket.take_error().map_err(at(side))?
            {
                return Err(at(side)(error));
            }
            if !flags.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT) {
                return self.forget(side, poll);
            }
        }
        if flags.contains(EpollFlags::EPOLLIN) {
            self.readable(side, now, poll, events)?;
        }
        if flags.contains(EpollFlags::EPOLLOUT) {
            self.push(side, poll)?;
            if side == SOURCE && self.has_room() {
                events.push(PairEvent::Room);
            }
        }
        Ok(())
    }

    fn accept(&mut self, poll: &Poll, collectors: &mut Collectors) -> Done {
        let Some(listener) = self.listener.take() else { return Ok(()) };
        let side = if self.sink_opens { SOURCE } else { SINK };
        let (socket, _) = listener.accept().map_err(at(side))?;
        let is_collected = match self.collected_bytes() {
            Some(bytes) => {
                collectors.collect(self.number as usize, &socket, bytes).map_err(at(side))?
            }
            None => false,
        };
        let mut interest = EpollFlags::empty();
        if !is_collected {
            socket.set_nonblocking(true).map_err(at(side))?;
            interest = EpollFlags::EPOLLIN;
        }
        self.sides[side].handshake =
            fairway_socket::total_retransmissions(socket.as_fd()).map_err(at(side))?;
        poll.add(socket.as_fd(), self.name(side as u64), interest).map_err(at(side))?;
        self.sides[side].is_collected = is_collected;
        self.sides[side].interest = Some(interest);
        self.sides[side].socket = Some(socket);
        if self.filled > 0 {
            self.limit_unsent()?;
        }
        self.push(side, poll)
    }

    /// Bytes of a transfer that nobody follows while it comes.
    fn collected_bytes(&self) -> Option<u64> {
        let Source::File { bytes } = self.app else { return None };
        let is_plain = self.application.is_none() && !self.both_ways && self.reader.is_none();
        Some(bytes.get()).filter(|bytes| is_plain && *bytes >= LEAST_BYTES)
    }

    /// A thread has received it.
    pub fn collected(&mut self, found: Collected, now: Time, poll: &Poll) -> Done {
        self.sides[SINK].is_collected = false;
        self.sides[SINK].delivered += found.result.map_err(at(SINK))?;
        self.note_completion(now);
        self.look(SINK, poll)
    }

    fn connected(&mut self, side: usize, now: Time, poll: &Poll) -> Done {
        let Some(socket) = &self.sides[side].socket else { return Ok(()) };
        if let Some(error) = socket.take_error().map_err(at(side))? {
            return Err(at(side)(error));
        }
        self.sides[side].handshake =
            fairway_socket::total_retransmissions(socket.as_fd()).map_err(at(side))?;
        self.established = Some(now);
        if self.filled > 0 {
            self.limit_unsent()?;
        }
        self.push(side, poll)
    }

    fn readable(
        &mut self,
        side: usize,
        now: Time,
        poll: &Poll,
        events: &mut Vec<PairEvent>,
    ) -> Done {
        if side == SINK && self.reader.is_some() && self.read_later(now, events)? {
            return self.look(side, poll);
        }
        self.receive(side, READ_BYTES, now, poll, events)
    }

    /// Whether a slow reader reads later what has come.
    fn read_later(&mut self, now: Time, events: &mut Vec<PairEvent>) -> Done<bool> {
        let side = &mut self.sides[SINK];
        let (Some(reader), Some(socket)) = (&mut self.reader, &side.socket) else {
            return Ok(false);
        };
        let unread = fairway_socket::unread(socket.as_fd()).map_err(at(SINK))?;
        let at = reader.schedule(unread, self.mss, now);
        events.extend(at.map(PairEvent::Read));
        side.pauses = unread > 0;
        Ok(side.pauses)
    }

    /// A slow reader reads.
    pub fn read(&mut self, now: Time, poll: &Poll, events: &mut Vec<PairEvent>) -> Done {
        let Some(reader) = &mut self.reader else { return Ok(()) };
        let bytes = reader.read(self.mss, now).min(READ_BYTES as u64) as usize;
        self.receive(SINK, bytes, now, poll, events)?;
        self.read_later(now, events)?;
        self.look(SINK, poll)
    }

    fn receive(
        &mut self,
        side: usize,
        bytes: usize,
        now: Time,
        poll: &Poll,
        events: &mut Vec<PairEvent>,
    ) -> Done {
        let end = &mut self.sides[side];
        let Some(socket) = &end.socket else { return Ok(()) };
        let got = match fairway_socket::discard_ready(socket.as_fd(), bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            got => got.map_err(at(side))? as u64,
        };
        end.delivered += got;
        if got == 0 {
            end.at_end = true;
            if side == SINK && !self.both_ways {
                self.sides[SINK].is_closing = true;
                self.push(SINK, poll)?;
            }
            self.look(side, poll)?;
            return self.finish();
        }
        if end.delivered >= end.awaited {
            end.awaited = u64::MAX;
            let direction = if side == SINK { Direction::Forward } else { Direction::Reverse };
            events.push(PairEvent::Delivered(direction));
        }
        self.note_completion(now);
        Ok(())
    }

    /// Both ends have everything, and have said so: the kernel is done with it.
    fn finish(&mut self) -> Done {
        if self.sides.iter().all(|side| side.at_end && side.is_shut) {
            self.let_go()?;
        }
        Ok(())
    }

    /// Keeps what the kernel says of both ends, and closes them.
    pub fn let_go(&mut self) -> Done {
        self.listener = None;
        for (number, side) in self.sides.iter_mut().enumerate() {
            let Some(socket) = side.socket.take() else { continue };
            side.info = vec![0; MAX_TCP_INFO];
            let length =
                fairway_socket::tcp_info(socket.as_fd(), &mut side.info).map_err(at(number))?;
            side.info.truncate(length);
            side.info.shrink_to_fit();
        }
        Ok(())
    }

    /// Gives the kernel what it takes of what was written.
    fn push(&mut self, side: usize, poll: &Poll) -> Done {
        let is_connected = self.is_connected(side);
        let end = &mut self.sides[side];
        let Some(socket) = end.socket.as_ref().filter(|_| is_connected) else { return Ok(()) };
        while end.pending > 0 {
            let piece = end.pending.min(DATA.len() as u64) as usize;
            match socket.send(&DATA[..piece]) {
                Ok(written) => end.pending -= written as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(at(side)(error)),
            }
        }
        if end.pending == 0 && end.is_closing && !end.is_shut {
            end.is_shut = true;
            socket.shutdown(Shutdown::Write).map_err(at(side))?;
        }
        self.look(side, poll)
    }

    fn is_connected(&self, side: usize) -> bool {
        let connects = side == if self.sink_opens { SINK } else { SOURCE };
        self.sides[side].socket.is_some() && (!connects || self.established.is_some())
    }

    /// Looks for what concerns it now.
    fn look(&mut self, side: usize, poll: &Poll) -> Done {
        let wants_room = self.wants_room(side);
        let name = self.name(side as u64);
        let end = &mut self.sides[side];
        if end.at_end && end.is_shut {
            return self.forget(side, poll);
        }
        let Some(socket) = end.socket.as_ref().filter(|_| !end.is_forgotten) else {
            return Ok(());
        };
        let mut interest = EpollFlags::empty();
        interest.set(EpollFlags::EPOLLIN, !end.at_end && !end.pauses && !end.is_collected);
        interest.set(EpollFlags::EPOLLOUT, end.pending > 0 || wants_room);
        if end.interest.replace(interest) != Some(interest) {
            poll.modify(socket.as_fd(), name, interest).map_err(at(side))?;
        }
        Ok(())
    }

    /// Nothing is to be expected of a side any more: of a socket that is shut both ways, epoll_wait(2)
    /// would say so again and again.
    fn forget(&mut self, side: usize, poll: &Poll) -> Done {
        let end = &mut self.sides[side];
        match &end.socket {
            Some(socket) if !std::mem::replace(&mut end.is_forgotten, true) => {
                poll.remove(socket.as_fd()).map_err(at(side))
            }
            _ => Ok(()),
        }
    }

    fn wants_room(&self, side: usize) -> bool {
        side == SOURCE && self.filled > 0 && !self.stopped && self.is_connected(SOURCE)
    }

    fn has_room(&self) -> bool {
        self.wants_room(SOURCE) && self.sides[SOURCE].pending == 0
    }

    fn is_over(&self) -> bool {
        self.given_up.is_some() || self.error.is_some()
    }

    pub fn write(&mut self, direction: Direction, bytes: u64, poll: &Poll) -> Done {
        let side = if direction == Direction::Forward { SOURCE } else { SINK };
        if self.is_over() {
            return Ok(());
        }
        self.sides[side].written += bytes;
        self.sides[side].pending += bytes;
        self.push(side, poll)
    }

    fn each_writes(&mut self, bytes: u64, poll: &Poll) -> Done {
        self.write(Direction::Forward, bytes, poll)?;
        if self.both_ways { self.write(Direction::Reverse, bytes, poll) } else { Ok(()) }
    }

    /// What was written by now is the whole transfer.
    fn each_closes(&mut self, now: Time, poll: &Poll) -> Done {
        self.transfer = Some([0, 1].map(|side| self.sides[side].written));
        self.note_completion(now);
        for side in 0..1 + usize::from(self.both_ways) {
            self.sides[side].is_closing = true;
            self.push(side, poll)?;
        }
        Ok(())
    }

    pub fn close(&mut self, now: Time, poll: &Poll) -> Done {
        if std::mem::replace(&mut self.stopped, true) {
            return Ok(());
        }
        self.each_closes(now, poll)
    }

    /// The application stops writing: what the kernel has taken by now is the whole transfer.
    pub fn stop(&mut self, now: Time, poll: &Poll) -> Done {
        self.stopped = true;
        if self.opened.is_none() {
            return Ok(());
        }
        for side in &mut self.sides {
            side.written -= std::mem::take(&mut side.pending);
        }
        self.each_closes(now, poll)
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped
    }

    fn note_completion(&mut self, now: Time) {
        let Some([forward, back]) = self.transfer else { return };
        let has = |side: usize, bytes| self.sides[side].delivered >= bytes;
        if self.completed.is_none() && has(SINK, forward) && (!self.both_ways || has(SOURCE, back))
        {
            self.completed = Some(now);
        }
    }

    /// What an application that writes at a rate has to write by now. Returns when it writes again, unless
    /// it waits for room.
    pub fn write_at_rate(&mut self, now: Time, poll: &Poll) -> Done<Option<Time>> {
        let Source::Limited { rate, bytes } = self.app else { return Ok(None) };
        if self.stopped || self.is_over() {
            return Ok(None);
        }
        while self.due <= now {
            self.is_waiting = self.is_full();
            if self.is_waiting {
                return Ok(None);
            }
            let written = self.sides[SOURCE].written;
            let left = bytes.map_or(u64::MAX, |bytes| bytes.get().saturating_sub(written));
            let piece = u64::from(self.mss).min(left);
            if piece > 0 {
                self.each_writes(piece, poll)?;
            }
            if left == piece {
                self.each_closes(now, poll)?;
                return Ok(None);
            }
            self.due = self.due + rate.time_for(piece);
        }
        Ok(Some(self.due))
    }

    /// Whether an application that writes at a rate waits for room, and there is some.
    pub fn is_ready_to_write(&self) -> bool {
        self.is_waiting && !self.stopped && !self.is_full()
    }

    /// Whether the kernel takes no more of any end that sends.
    pub fn is_full(&self) -> bool {
        let is_full = |side: usize| match self.is_connected(side) {
            true => self.sides[side].pending > 0,
            false => self.sides[side].pending >= self.enough,
        };
        is_full(SOURCE) && (!self.both_ways || is_full(SINK))
    }

    pub fn await_delivery(&mut self, direction: Direction, bytes: u64) {
        self.sides[end_of(direction)].awaited = bytes;
    }

    pub fn delivered(&self, direction: Direction) -> u64 {
        self.sides[end_of(direction)].delivered
    }

    /// Bytes that a side has received.
    pub fn delivered_to(&self, side: usize) -> io::Result<u64> {
        let side = &self.sides[side];
        match &side.socket {
            Some(socket) if side.is_collected => crate::run::received_bytes(socket.as_fd()),
            _ => Ok(side.delivered),
        }
    }

    pub fn enough(&self) -> u64 {
        self.enough
    }

    /// The application wants to know when less than `bytes` wait to be sent. The kernel calls a socket
    /// writable from half of its limit on.
    pub fn keep_filled(&mut self, bytes: u64, poll: &Poll) -> Done {
        if self.filled == bytes {
            return Ok(());
        }
        self.filled = bytes;
        self.limit_unsent()?;
        self.look(SOURCE, poll)
    }

    fn limit_unsent(&self) -> Done {
        let Some(socket) = &self.sides[SOURCE].socket else { return Ok(()) };
        let limit = match self.filled {
            0 => USUAL_LIMIT,
            bytes => i32::try_from(bytes.saturating_mul(2)).unwrap_or(i32::MAX),
        };
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT);
        fairway_socket::set_option(socket.as_fd(), level, option, limit).map_err(at(SOURCE))
    }

    /// The bytes of its transfer, once they are known.
    pub fn transfer_bytes(&self) -> Option<u64> {
        self.transfer.map(|[forward, _]| forward)
    }

    /// SYNs that a side has sent again.
    pub fn handshake(&self, side: usize) -> u64 {
        self.sides[side].handshake
    }

    /// What the kernel says of a side, or has said last; nothing if it was not there.
    pub fn info(&self, side: usize, buffer: &mut [u8]) -> io::Result<usize> {
        let side = &self.sides[side];
        match &side.socket {
            Some(socket) => fairway_socket::tcp_info(socket.as_fd(), buffer),
            None => {
                buffer[..side.info.len()].copy_from_slice(&side.info);
                Ok(side.info.len())
            }
        }
    }

    /// It cannot go on: by the network's fault, which is a result, or by another. What was first is kept.
    pub fn give_up(&mut self, failure: &Failure, now: Time) {
        if !self.is_over() {
            match network_fault(&failure.error) {
                Some(errno) => {
                    self.given_up = Some(GivenUp {
                        at_ns: now.as_nanos(),
                        end: failure.end().to_owned(),
                        errno: format!("{errno:?}"),
                    });
                }
                None => self.fail(failure),
            }
        }
        if let Err(failure) = self.let_go() {
            self.fail(&failure);
        }
    }

    /// Notes a fault of the guest's own, if it is the first.
    fn fail(&mut self, failure: &Failure) {
        let (end, error) = (failure.end(), &failure.error);
        self.error.get_or_insert_with(|| format!("{end}: {error}"));
    }
}

/// The side that data in a direction goes to.
fn end_of(direction: Direction) -> usize {
    if direction == Direction::Forward { SINK } else { SOURCE }
}
