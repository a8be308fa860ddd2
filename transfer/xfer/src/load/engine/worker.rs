//! A worker thread: its flows, and when each has to be looked at again.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::time::Instant;

use fairway_socket::Batch;
use fairway_units::random::Stream;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::tcp::{PIECE_BYTES, TcpSink, TcpSource};
use super::udp::{UdpSink, UdpSource};
use crate::load::header;
use crate::load::plan::LARGEST_DATAGRAM;

/// Events that are fetched with one call.
const EVENTS: usize = 256;
/// Datagrams that are received with one call, if their content is not looked at and if it is.
const RECEIVED: usize = 64;
const RECEIVED_WHOLE: usize = 16;
/// What the timer and the order to stop are known by; flows are known by their place.
const TIMER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

/// One end of a flow.
#[derive(Debug)]
pub enum Lane {
    TcpSource(TcpSource),
    TcpSink(TcpSink),
    UdpSource(UdpSource),
    UdpSink(Box<UdpSink>),
}

/// What becomes of a flow after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It has more to do, as soon as others had their turn.
    Again,
    Wait(Option<Instant>),
    Done,
}

/// What all flows of a thread use in turn.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    bytes: Vec<u8>,
    received: Option<Batch>,
    received_whole: Option<Batch>,
}

impl Scratch {
    pub fn bytes(&mut self) -> &mut [u8] {
        self.bytes.resize(PIECE_BYTES, 0);
        &mut self.bytes
    }

    /// Content that nobody checks: it looks random, so that nothing on the way compresses it.
    pub fn payload(&self) -> &'static [u8] {
        static PAYLOAD: OnceLock<Vec<u8>> = OnceLock::new();
        PAYLOAD.get_or_init(|| {
            let mut stream = Stream::new(0, "load/payload");
            (0..PIECE_BYTES / 8).flat_map(|_| stream.bits64().to_le_bytes()).collect()
        })
    }

    pub fn received(&mut self, is_whole: bool) -> &mut Batch {
        match is_whole {
            false => self.received.get_or_insert_with(|| Batch::new(RECEIVED, header::BYTES)),
            true => self
                .received_whole
                .get_or_insert_with(|| Batch::new(RECEIVED_WHOLE, LARGEST_DATAGRAM as usize)),
        }
    }
}

impl Lane {
    fn work(&mut self, scratch: &mut Scratch) -> Step {
        match self {
            Lane::TcpSource(source) => source.work(scratch),
            Lane::TcpSink(sink) => sink.work(scratch),
            Lane::UdpSource(source) => source.work(scratch),
            Lane::UdpSink(sink) => sink.work(scratch),
        }
    }

    fn socket(&self) -> BorrowedFd<'_> {
        match self {
            Lane::TcpSource(source) => source.socket.as_fd(),
            Lane::TcpSink(sink) => sink.socket.as_fd(),
            Lane::UdpSource(source) => source.socket(),
            Lane::UdpSink(sink) => sink.socket(),
        }
    }

    fn is_source(&self) -> bool {
        matches!(self, Lane::TcpSource(_) | Lane::UdpSource(_))
    }
}

/// A thread's flows.
pub(super) struct Worker {
    lanes: Vec<Slot>,
    open: usize,
    ready: VecDeque<usize>,
    later: BinaryHeap<Reverse<(Instant, usize)>>,
    epoll: Epoll,
    timer: TimerFd,
    set_to: Option<Instant>,
    is_busy: bool,
}

struct Slot {
    lane: Lane,
    is_open: bool,
    is_ready: bool,
    /// The other end has finished: what is left to be read ends with that, and no event follows.
    is_closing: bool,
    /// Its entry in `later` that counts.
    at: Option<Instant>,
}

impl Worker {
    /// A thread's flows, which start at once; whoever shuts the other end of `stop` down ends it.
    pub fn new(lanes: Vec<Lane>, stop: &UnixStream, is_busy: bool) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(
            ClockId::CLOCK_MONOTONIC,
            TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC,
        )?;
        let watch = |flags, number| EpollEvent::new(flags | EpollFlags::EPOLLET, number);
        epoll.add(&timer, watch(EpollFlags::EPOLLIN, TIMER))?;
        epoll.add(stop, watch(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP, STOP))?;
        for (place, lane) in lanes.iter().enumerate() {
            let flags = match lane.is_source() {
                true => EpollFlags::EPOLLOUT,
                false => EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP,
            };
            epoll.add(lane.socket(), watch(flags, place as u64))?;
        }
        let open = lanes.len();
        Ok(Worker {
            lanes: lanes
                .into_iter()
                .map(|lane| Slot {
                    lane,
                    is_open: true,
                    is_ready: true,
                    is_closing: false,
                    at: None,
                })
                .collect(),
            open,
            ready: (0..open).collect(),
            later: BinaryHeap::new(),
            epoll,
            timer,
            set_to: None,
            is_busy,
        })
    }

    /// Works until all flows are done or it is told to stop.
    pub fn run(mut self) -> io::Result<()> {
        let mut scratch = Scratch::default();
        let mut events = [EpollEvent::empty(); EVENTS];
        while self.open > 0 {
            self.take_due();
            for _ in 0..self.ready.len() {
                let Some(place) = self.ready.pop_front() else { break };
                self.give_turn(place, &mut scratch)?;
            }
            if self.open == 0 || self.wait(&mut events)? {
                break;
            }
        }
        Ok(())
    }

    fn give_turn(&mut self, number: usize, scratch: &mut Scratch) -> io::Result<()> {
        let place = &mut self.lanes[number];
        place.is_ready = false;
        let step = match place.lane.work(scratch) {
            Step::Wait(_) if place.is_closing => Step::Again,
            step => step,
        };
        match step {
            Step::Again => {
                place.is_ready = true;
                self.ready.push_back(number);
            }
            Step::Wait(at) => {
                if place.at != at {
                    place.at = at;
                    self.later.extend(at.map(|at| Reverse((at, number))));
                }
            }
            Step::Done => {
                place.is_open = false;
                self.open -= 1;
                self.epoll.delete(place.lane.socket())?;
            }
        }
        Ok(())
    }

    /// Waits for a socket or for the earliest time; returns whether it was told to stop.
    fn wait(&mut self, events: &mut [EpollEvent]) -> io::Result<bool> {
        let timeout = match self.ready.is_empty() && !self.is_busy {
            true => {
                self.set_timer()?;
                EpollTimeout::NONE
            }
            false => EpollTimeout::ZERO,
        };
        let count = match self.epoll.wait(events, timeout) {
            Ok(count) => count,
            Err(nix::errno::Errno::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for event in &events[..count] {
            match event.data() {
                STOP => return Ok(true),
                TIMER => self.set_to = None,
                number => {
                    let ends = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR;
                    self.wake(number as usize, event.events().intersects(ends));
                }
            }
        }
        Ok(false)
    }

    fn set_timer(&mut self) -> io::Result<()> {
        let Some(Reverse((at, _))) = self.later.peek() else { return Ok(()) };
        if self.set_to != Some(*at) {
            // Zero would turn it off.
            let left = at.saturating_duration_since(Instant::now());
            let left = TimeSpec::from_duration(left.max(std::time::Duration::from_nanos(1)));
            self.timer.set(Expiration::OneShot(left), TimerSetTimeFlags::empty())?;
            self.set_to = Some(*at);
        }
        Ok(())
    }

    fn take_due(&mut self) {
        let now = Instant::now();
        while let Some(Reverse((at, number))) = self.later.peek().copied() {
            let is_outdated = self.lanes[number].at != Some(at);
            if at > now && !is_outdated {
                break;
            }
            self.later.pop();
            if !is_outdated {
                self.lanes[number].at = None;
                self.wake(number, false);
            }
        }
    }

    fn wake(&mut self, number: usize, is_closing: bool) {
        let Some(place) = self.lanes.get_mut(number) else { return };
        place.is_closing |= is_closing && matches!(place.lane, Lane::TcpSink(_));
        if place.is_open && !place.is_ready {
            place.is_ready = true;
            self.ready.push_back(number);
        }
    }
}
