//! Sockets of a simulated network: streams of bytes that come in pieces, late, changed, in part or
//! not at all.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::time::Duration;

use socket2::{Domain, Protocol, SockAddr, Type};

use super::schedule::{self, Key, Simulation, State, Task};

/// What the network of a run does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Bytes that are on their way in one direction, at most.
    pub capacity: usize,
    /// Reads and writes may take less than they could.
    pub is_short: bool,
    /// A new connection is cut, amid a byte that is drawn up to here; never if it is zero.
    pub cut_within: u64,
    /// A byte of a new connection is changed, likewise.
    pub changed_within: u64,
}

/// How a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Either end is told, after some of what was on its way.
    Reset,
    /// Nothing arrives any longer, and nobody is told.
    Silent,
}

/// How the connections of a process end with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// Its kernel closes them.
    Closed,
    /// Its host is gone, too.
    Silent,
}

#[derive(Debug, Default)]
pub(super) struct Network {
    faults: Faults,
    ends: Vec<End>,
    listeners: BTreeMap<u16, Listener>,
    /// A byte that an end sends, which is to be changed.
    to_change: Option<(usize, u64)>,
    changed: u64,
    cut: u64,
}

#[derive(Debug)]
struct Listener {
    process: u32,
    waiting: VecDeque<usize>,
}

/// One end of a connection.
#[derive(Debug, Default)]
struct End {
    process: u32,
    /// Handles to it that are open.
    handles: usize,
    peer: Option<usize>,
    inbox: VecDeque<u8>,
    /// Nothing more comes.
    is_ended: bool,
    /// Nothing more is read here, or written.
    shut: [bool; 2],
    is_reset: bool,
    /// Nothing gets from here to the peer.
    is_silent: bool,
    /// What comes is not seen before.
    stalled_until: Duration,
    written: u64,
    cut_at: Option<(u64, Cut)>,
    changed_at: Option<u64>,
    timeouts: [Option<Duration>; 2],
}

const READ: usize = 0;
const WRITE: usize = 1;

impl Simulation {
    /// What the network does with connections that are made from now on.
    pub fn set_network(&self, faults: Faults) {
        self.state().network.faults = faults;
    }

    /// Changes one byte that the end of this number sends.
    pub fn change(&self, end: usize, byte: u64) {
        self.state().network.to_change = Some((end, byte));
    }

    /// The network works, but for what is cut.
    pub fn mend_network(&self) {
        let mut state = self.state();
        state.network.faults = Faults { cut_within: 0, changed_within: 0, ..state.network.faults };
        for end in &mut state.network.ends {
            (end.cut_at, end.changed_at) = (None, None);
        }
    }

    /// Connections that were cut, and bytes that were changed, since the beginning.
    pub fn network_faults(&self) -> (u64, u64) {
        let state = self.state();
        (state.network.cut, state.network.changed)
    }

    /// Cuts one connection, or all.
    pub fn cut(&self, how: Cut, is_all: bool) {
        let mut state = self.state();
        let is_open = |end: &End| end.handles > 0 && end.peer.is_some();
        let all = state.network.ends.iter().enumerate().filter(|(_, end)| is_open(end));
        let all: Vec<usize> = all.map(|(number, _)| number).collect();
        if all.is_empty() {
            return;
        }
        let one = all[state.random.below(all.len() as u64) as usize];
        all.iter().filter(|number| is_all || **number == one).for_each(|it| state.cut(*it, how));
    }

    /// Nothing of what comes is seen for so long.
    pub fn stall(&self, time: Duration) {
        let mut state = self.state();
        let until = state.now + time;
        state.network.ends.iter_mut().for_each(|end| end.stalled_until = until);
    }

    /// What becomes of the connections of a process that is killed.
    pub fn disconnect(&self, process: u32, how: Death) {
        let mut state = self.state();
        state.network.listeners.retain(|_, listener| listener.process != process);
        for number in 0..state.network.ends.len() {
            let end = &mut state.network.ends[number];
            if end.process != process || end.handles == 0 {
                continue;
            }
            match how {
                Death::Closed => state.close(number),
                Death::Silent => state.cut(number, Cut::Silent),
            }
            state.network.ends[number].handles = 0;
        }
    }

    /// Listens at a port, for the process of the caller.
    pub fn listen(&self, port: u16) {
        let process = schedule::here().map_or(0, |task| task.process);
        let listener = Listener { process, waiting: VecDeque::new() };
        self.state().network.listeners.insert(port, listener);
    }

    /// Whether anybody listens at a port.
    pub fn listens(&self, port: u16) -> bool {
        self.state().network.listeners.contains_key(&port)
    }

    /// The next connection at a port.
    pub fn accept(&self, port: u16) -> Socket {
        let task = schedule::here().expect("a thread of the simulation accepts");
        task.step();
        loop {
            {
                let mut state = self.state();
                let listener = state.network.listeners.get_mut(&port).expect("it listens");
                if let Some(number) = listener.waiting.pop_front() {
                    return Socket::of(&task, number);
                }
            }
            task.wait(Key::Listener, None);
        }
    }
}

impl State {
    fn end(&mut self, number: usize) -> &mut End {
        &mut self.network.ends[number]
    }

    fn add_end(&mut self, process: u32) -> usize {
        let number = self.network.ends.len();
        let chosen = self.network.to_change.filter(|(end, _)| *end == number);
        let changed_at = chosen.map(|(_, byte)| byte);
        self.network.ends.push(End { process, handles: 1, changed_at, ..End::default() });
        number
    }

    /// A new connection, and what will become of it.
    fn connect(&mut self, number: usize, port: u16) -> io::Result<()> {
        let Some(listener) = self.network.listeners.get(&port) else {
            return Err(ErrorKind::ConnectionRefused.into());
        };
        let process = listener.process;
        let peer = self.add_end(process);
        (self.end(number).peer, self.end(peer).peer) = (Some(peer), Some(number));
        for end in [number, peer] {
            let Faults { cut_within, changed_within, .. } = self.network.faults;
            if cut_within > 0 && self.chance(8) {
                let how = if self.chance(2) { Cut::Reset } else { Cut::Silent };
                self.end(end).cut_at = Some((self.random.below(cut_within), how));
            }
            if changed_within > 0 && self.chance(8) {
                self.end(end).changed_at = Some(self.random.below(changed_within));
            }
        }
        self.network.listeners.get_mut(&port).expect("just found").waiting.push_back(peer);
        self.wake(Key::Listener);
        Ok(())
    }

    fn cut(&mut self, number: usize, how: Cut) {
        let Some(peer) = self.end(number).peer else { return };
        if self.end(number).is_silent || self.end(number).is_reset {
            return;
        }
        self.network.cut += 1;
        for end in [number, peer] {
            match how {
                Cut::Silent => self.end(end).is_silent = true,
                Cut::Reset => {
                    let waiting = self.end(end).inbox.len() as u64;
                    let arrives = self.random.below(waiting + 1) as usize;
                    let end = self.end(end);
                    end.inbox.truncate(arrives);
                    end.is_reset = true;
                }
            }
            self.wake(Key::Socket(end));
        }
    }

    /// The last handle of an end is gone (RFC 9293, section 3.6, and RFC 2525, section 2.17: who
    /// closes without having read everything resets).
    fn close(&mut self, number: usize) {
        let end = self.end(number);
        let has_unread = !end.inbox.is_empty();
        end.shut = [true; 2];
        let (is_silent, peer) = (end.is_silent, end.peer);
        if let (false, Some(peer)) = (is_silent, peer) {
            self.end(peer).is_ended = true;
            self.end(peer).is_reset |= has_unread;
            self.wake(Key::Socket(peer));
        }
    }

    fn shut(&mut self, number: usize, how: Shutdown) -> io::Result<()> {
        let end = self.end(number);
        let Some(peer) = end.peer else { return Err(ErrorKind::NotConnected.into()) };
        end.shut[READ] |= how != Shutdown::Write;
        end.shut[WRITE] |= how != Shutdown::Read;
        let is_silent = end.is_silent;
        if how != Shutdown::Read && !is_silent {
            self.end(peer).is_ended = true;
            self.wake(Key::Socket(peer));
        }
        self.wake(Key::Socket(number));
        Ok(())
    }

    /// How much of what could be read or written is.
    fn some_of(&mut self, most: usize) -> usize {
        match self.network.faults.is_short && most > 1 && self.chance(4) {
            true => 1 + self.random.below(most as u64) as usize,
            false => most,
        }
    }

    /// What there is to read now; none if that has to come.
    fn read(&mut self, number: usize, buffer: &mut [u8]) -> Option<io::Result<usize>> {
        let now = self.now;
        let end = self.end(number);
        if end.shut[READ] || buffer.is_empty() {
            return Some(Ok(0));
        }
        if end.is_silent || end.stalled_until > now {
            return None;
        }
        let most = end.inbox.len().min(buffer.len());
        if most == 0 {
            return match (end.is_reset, end.is_ended) {
                (true, _) => Some(Err(ErrorKind::ConnectionReset.into())),
                (_, true) => Some(Ok(0)),
                _ => None,
            };
        }
        let count = self.some_of(most);
        let end = self.end(number);
        let peer = end.peer;
        for (into, byte) in buffer.iter_mut().zip(end.inbox.drain(..count)) {
            *into = byte;
        }
        peer.into_iter().for_each(|peer| self.wake(Key::Socket(peer)));
        Some(Ok(count))
    }

    /// How much is written now; none if there is no room.
    fn write(&mut self, number: usize, bytes: &[u8]) -> Option<io::Result<usize>> {
        let capacity = self.network.faults.capacity;
        let end = self.end(number);
        if end.shut[WRITE] {
            return Some(Err(ErrorKind::BrokenPipe.into()));
        }
        let Some(peer) = end.peer else { return Some(Err(ErrorKind::NotConnected.into())) };
        if end.is_reset {
            return Some(Err(ErrorKind::ConnectionReset.into()));
        }
        let (is_silent, written) = (end.is_silent, end.written);
        if !is_silent && self.end(peer).handles == 0 {
            self.end(number).is_reset = true;
            return Some(Ok(bytes.len()));
        }
        let room = capacity.saturating_sub(self.end(peer).inbox.len());
        if room == 0 {
            return None;
        }
        let count = self.some_of(room.min(bytes.len()));
        let end = self.end(number);
        end.written += count as u64;
        let is_now = |at: u64| (written..written + count as u64).contains(&at);
        let cut = end.cut_at.filter(|(at, _)| is_now(*at));
        let changed = end.changed_at.filter(|at| is_now(*at));
        let arrives = cut.map_or(count, |(at, _)| (at - written) as usize);
        let mut piece = bytes[..arrives].to_vec();
        if let Some(byte) = changed.and_then(|at| piece.get_mut((at - written) as usize)) {
            *byte ^= 1;
            self.network.changed += 1;
        }
        // What is lost takes up the room, too.
        self.end(peer).inbox.extend(piece);
        if let Some((_, how)) = cut {
            self.cut(number, how);
        }
        self.wake(Key::Socket(peer));
        Some(Ok(count))
    }
}

/// As [`socket2::Socket`]; what a simulated one cannot be asked, another is that is not connected.
#[derive(Debug)]
pub enum Socket {
    Real(socket2::Socket),
    Simulated(Handle),
}

/// One of the handles to an end of a connection.
#[derive(Debug)]
pub struct Handle(Simulation, usize);

impl Socket {
    pub fn new(domain: Domain, kind: Type, protocol: Option<Protocol>) -> io::Result<Self> {
        match schedule::here() {
            Some(task) => {
                let number = task.simulation.state().add_end(task.process);
                Ok(Socket::of(&task, number))
            }
            None => socket2::Socket::new(domain, kind, protocol).map(Socket::from),
        }
    }

    fn of(task: &Task, number: usize) -> Self {
        Socket::Simulated(Handle(task.simulation.clone(), number))
    }

    pub fn connect_timeout(&self, to: &SockAddr, timeout: Duration) -> io::Result<()> {
        let Socket::Simulated(Handle(simulation, number)) = self else {
            return (**self).connect_timeout(to, timeout);
        };
        step();
        let port = to.as_socket().map_or(0, |address| address.port());
        simulation.state().connect(*number, port)
    }

    pub fn accept(&self) -> io::Result<(Self, SockAddr)> {
        (**self).accept().map(|(socket, from)| (Socket::from(socket), from))
    }

    pub fn try_clone(&self) -> io::Result<Self> {
        match self {
            Socket::Real(socket) => socket.try_clone().map(Socket::from),
            Socket::Simulated(Handle(simulation, number)) => {
                simulation.state().end(*number).handles += 1;
                Ok(Socket::Simulated(Handle(simulation.clone(), *number)))
            }
        }
    }

    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Socket::Real(socket) => socket.shutdown(how),
            Socket::Simulated(Handle(simulation, number)) => simulation.state().shut(*number, how),
        }
    }

    pub fn send_with_flags(&self, bytes: &[u8], flags: i32) -> io::Result<usize> {
        match self {
            Socket::Real(socket) => socket.send_with_flags(bytes, flags),
            Socket::Simulated(Handle(simulation, number)) => {
                simulation.wait_for(*number, WRITE, |state| state.write(*number, bytes))
            }
        }
    }

    pub fn send_vectored_with_flags(&self, all: &[IoSlice], flags: i32) -> io::Result<usize> {
        match self {
            Socket::Real(socket) => socket.send_vectored_with_flags(all, flags),
            Socket::Simulated(_) => {
                let all: Vec<u8> = all.iter().flat_map(|piece| piece.iter().copied()).collect();
                self.send_with_flags(&all, flags)
            }
        }
    }

    pub fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        self.set_timeout(READ, time, socket2::Socket::set_read_timeout)
    }

    pub fn set_write_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        self.set_timeout(WRITE, time, socket2::Socket::set_write_timeout)
    }

    fn set_timeout(
        &self,
        of: usize,
        time: Option<Duration>,
        real: impl Fn(&socket2::Socket, Option<Duration>) -> io::Result<()>,
    ) -> io::Result<()> {
        match self {
            Socket::Real(socket) => real(socket, time),
            Socket::Simulated(Handle(simulation, number)) => {
                simulation.state().end(*number).timeouts[of] = time;
                Ok(())
            }
        }
    }

    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        self.timeout(READ, socket2::Socket::read_timeout)
    }

    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        self.timeout(WRITE, socket2::Socket::write_timeout)
    }

    fn timeout(
        &self,
        of: usize,
        real: impl Fn(&socket2::Socket) -> io::Result<Option<Duration>>,
    ) -> io::Result<Option<Duration>> {
        match self {
            Socket::Real(socket) => real(socket),
            Socket::Simulated(Handle(simulation, number)) => {
                Ok(simulation.state().end(*number).timeouts[of])
            }
        }
    }

    pub fn peer_addr(&self) -> io::Result<SockAddr> {
        match self {
            Socket::Real(socket) => socket.peer_addr(),
            Socket::Simulated(Handle(simulation, number)) => {
                let is_connected = simulation.state().end(*number).peer.is_some();
                is_connected.then(here).ok_or_else(|| ErrorKind::NotConnected.into())
            }
        }
    }

    pub fn local_addr(&self) -> io::Result<SockAddr> {
        match self {
            Socket::Real(socket) => socket.local_addr(),
            Socket::Simulated(_) => Ok(here()),
        }
    }
}

/// Both ends are on one host, so that nothing is sent past the simulation by `sendfile`.
fn here() -> SockAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)).into()
}

/// Where a simulated receiver listens.
pub const PORT: u16 = 5311;

fn step() {
    if let Some(task) = schedule::here() {
        task.step();
    }
}

impl Simulation {
    /// Tries again whenever something has come of the other side, until that takes too long.
    fn wait_for(
        &self,
        number: usize,
        what: usize,
        mut attempt: impl FnMut(&mut State) -> Option<io::Result<usize>>,
    ) -> io::Result<usize> {
        let task = schedule::here().expect("a thread of the simulation uses its sockets");
        task.step();
        let begun = self.now();
        loop {
            let until = {
                let mut state = self.state();
                if let Some(result) = attempt(&mut state) {
                    return result;
                }
                let now = state.now;
                let end = state.end(number);
                let deadline = end.timeouts[what].map(|time| begun + time);
                if deadline.is_some_and(|deadline| deadline <= now) {
                    return Err(ErrorKind::WouldBlock.into());
                }
                let seen = Some(end.stalled_until).filter(|until| *until > now);
                deadline.into_iter().chain(seen).min()
            };
            task.wait(Key::Socket(number), until);
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Real(socket) => (&mut &*socket).read(buffer),
            Socket::Simulated(Handle(simulation, number)) => {
                simulation.wait_for(*number, READ, |state| state.read(*number, buffer))
            }
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send_with_flags(bytes, libc::MSG_NOSIGNAL)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let end = state.end(self.1);
        // Those of a process that has died are closed already.
        let was_open = end.handles > 0;
        end.handles = end.handles.saturating_sub(1);
        if was_open && end.handles == 0 {
            state.close(self.1);
        }
    }
}

impl Deref for Socket {
    type Target = socket2::Socket;

    fn deref(&self) -> &socket2::Socket {
        static UNCONNECTED: OnceLock<socket2::Socket> = OnceLock::new();
        match self {
            Socket::Real(socket) => socket,
            Socket::Simulated(_) => UNCONNECTED
                .get_or_init(|| socket2::Socket::new(Domain::IPV4, Type::STREAM, None).unwrap()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl From<socket2::Socket> for Socket {
    fn from(socket: socket2::Socket) -> Self {
        Socket::Real(socket)
    }
}

impl From<Socket> for socket2::Socket {
    fn from(socket: Socket) -> Self {
        match socket {
            Socket::Real(socket) => socket,
            Socket::Simulated(_) => unreachable!("only a real one is another kind of socket, too"),
        }
    }
}

/// Between sockets and those of other kinds, which are real.
macro_rules! as_other {
    ($($other:ty),*) => {$(
        impl From<$other> for Socket {
            fn from(socket: $other) -> Self {
                Socket::Real(socket.into())
            }
        }

        impl From<Socket> for $other {
            fn from(socket: Socket) -> Self {
                socket2::Socket::from(socket).into()
            }
        }
    )*};
}

as_other!(OwnedFd, TcpStream, UdpSocket);
