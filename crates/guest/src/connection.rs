//! The two ends of one connection, each a thread that blocks in the kernel as long as it can: a
//! reader that had to be woken for every segment would cost more than the segment.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fairway_guest::plan::{Flow, Subflow};
use fairway_guest::record::GivenUp;
use nix::errno::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use crate::Error;
use crate::setup::Namespaces;
use crate::sys;
use crate::threads::Stacks;

/// Threads of one connection.
pub const THREADS: usize = 2;
/// What is sent, as much as one write has.
pub static DATA: [u8; 64 << 10] = [0; 64 << 10];
/// What parts flows that start together, so that they do so in their order, as in the simulator: the
/// kernel would wake their threads in another one.
const APART_NS: u64 = 1;
/// Most bytes that a reader waits for in one call.
const READ_BYTES: u64 = 1 << 30;

/// A connection as the sampler sees it.
pub struct Connection {
    ends: Arc<Ends>,
    /// Of a subflow, its source, and when it was first seen; the first has the sockets of all.
    subflow: Option<(Subflow, OnceLock<Established>)>,
    /// Whether it has sockets of its own.
    is_first: bool,
}

struct Ends {
    flow: Flow,
    /// The beginning of the run, as the monotonic clock has it.
    begin_ns: u64,
    /// How many flows before it start at the same time.
    rank: u64,
    source: Socket,
    sink: OnceLock<Socket>,
    established: OnceLock<Established>,
    completed_ns: OnceLock<u64>,
    given_up: OnceLock<GivenUp>,
    error: OnceLock<String>,
}

/// The end of a handshake, as the source has seen it.
#[derive(Clone, Copy)]
pub struct Established {
    pub at_ns: u64,
    /// SYNs that were sent again, each after a timeout: the kernel's counters of a connection have
    /// them among its segments.
    pub retransmissions: u64,
}

impl Connection {
    /// Makes both ends; the sink listens at once, the source connects at its time, after `rank` others
    /// that start then.
    pub fn start(
        flow: &Flow,
        rank: u64,
        namespaces: &Namespaces,
        stacks: &mut Stacks,
        begin_ns: u64,
    ) -> Result<Self, Error> {
        let failed = |error| Error::new(format!("making the sockets of flow {}", flow.id), error);
        namespaces.enter(flow.sink)?;
        let listener = listen(flow).map_err(failed)?;
        namespaces.enter(flow.source)?;
        let ends = Arc::new(Ends {
            source: prepare_source(flow).map_err(failed)?,
            flow: flow.clone(),
            begin_ns,
            rank,
            sink: OnceLock::new(),
            established: OnceLock::new(),
            completed_ns: OnceLock::new(),
            given_up: OnceLock::new(),
            error: OnceLock::new(),
        });
        let (of_sink, of_source) = (Arc::clone(&ends), Arc::clone(&ends));
        let failed = |error| Error::new(format!("starting the threads of flow {}", flow.id), error);
        stacks.start(move || of_sink.note("sink", of_sink.receive(&listener))).map_err(failed)?;
        stacks.start(move || of_source.note("source", of_source.send())).map_err(failed)?;
        let subflow = flow.subflow.map(|subflow| (subflow, OnceLock::new()));
        Ok(Connection { ends, subflow, is_first: true })
    }

    /// Another subflow of this connection.
    pub fn further(&self, subflow: Subflow) -> Self {
        let ends = Arc::clone(&self.ends);
        Connection { ends, subflow: Some((subflow, OnceLock::new())), is_first: false }
    }

    /// Fills `buffer` with the source's `struct tcp_info`; how many bytes it has, or none if there is
    /// no such subflow yet or any more.
    pub fn source_info(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let found = self.info(self.ends.source.as_fd(), buffer)?;
        if let (Some(_), Some((_, seen)), false) = (found, &self.subflow, self.is_first) {
            let at_ns = self.ends.elapsed_ns()?;
            let _ = seen.get_or_init(|| Established { at_ns, retransmissions: 0 });
        }
        Ok(found)
    }

    /// Likewise of the sink.
    pub fn sink_info(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.ends.sink.get().map_or(Ok(None), |sink| self.info(sink.as_fd(), buffer))
    }

    fn info(&self, socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match &self.subflow {
            Some((subflow, _)) => fairway_socket::subflow_info(socket, subflow.source, buffer),
            None => fairway_socket::tcp_info(socket, buffer).map(Some),
        }
    }

    /// The end of the handshake, once it was; of a further subflow, when it was first seen.
    pub fn established(&self) -> Option<Established> {
        let of_further = || self.subflow.as_ref().and_then(|(_, seen)| seen.get());
        let found = if self.is_first { self.ends.established.get() } else { of_further() };
        found.copied()
    }

    /// When the sink had the last byte of the transfer, from the beginning of the run.
    pub fn completed_ns(&self) -> Option<u64> {
        self.ends.completed_ns.get().copied()
    }

    /// How the kernel gave the connection up, if it did.
    pub fn given_up(&self) -> Option<GivenUp> {
        self.ends.given_up.get().cloned()
    }

    /// What went wrong in working the connection, if anything did.
    pub fn error(&self) -> Option<String> {
        self.ends.error.get().cloned()
    }
}

impl Ends {
    fn note(&self, end: &str, result: io::Result<()>) {
        let Err(error) = result else { return };
        let _ = match network_fault(&error) {
            Some(errno) => self
                .given_up
                .set(GivenUp {
                    at_ns: self.elapsed_ns().unwrap_or(0),
                    end: end.to_owned(),
                    errno: format!("{errno:?}"),
                })
                .map_err(drop),
            None => self.error.set(format!("{end}: {error}")).map_err(drop),
        };
    }

    fn receive(&self, listener: &Socket) -> io::Result<()> {
        let (sink, _) = listener.accept()?;
        let sink = self.sink.get_or_init(|| sink);
        let mut received = 0;
        loop {
            let wanted =
                self.flow.bytes.map_or(READ_BYTES, |bytes| READ_BYTES.min(bytes - received));
            let got = fairway_socket::discard(sink.as_fd(), wanted as usize)? as u64;
            received += got;
            if self.flow.bytes == Some(received) {
                let _ = self.completed_ns.set(self.elapsed_ns()?);
                return Ok(());
            }
            if got < wanted {
                return Ok(());
            }
        }
    }

    fn send(&self) -> io::Result<()> {
        sys::sleep_until(self.begin_ns + self.flow.start_ns + self.rank * APART_NS);
        let to = SocketAddrV4::new(self.flow.address, self.flow.port);
        self.source.connect(&to.into())?;
        let established = Established {
            at_ns: self.elapsed_ns()?,
            retransmissions: fairway_socket::total_retransmissions(self.source.as_fd())?,
        };
        let _ = self.established.set(established);
        match self.flow.rate_bps {
            None => self.send_at_once(),
            Some(rate_bps) => self.send_at_rate(rate_bps),
        }?;
        self.source.shutdown(std::net::Shutdown::Write)
    }

    /// Writes as fast as the kernel takes it, to the end of the transfer or to its stop.
    fn send_at_once(&self) -> io::Result<()> {
        let mut left = self.flow.bytes.unwrap_or(u64::MAX);
        while left > 0 {
            if let Some(stop_ns) = self.flow.stop_ns {
                let left_ns = self.nanoseconds_to(stop_ns)?;
                if left_ns < 1000 {
                    return Ok(()); // a timeout below a microsecond would mean none
                }
                self.source.set_write_timeout(Some(Duration::from_nanos(left_ns)))?;
            }
            let piece = left.min(DATA.len() as u64) as usize;
            match self.source.send(&DATA[..piece]) {
                Ok(written) => left -= written as u64,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes a segment, waits as long as it takes at the application's rate, and so on.
    fn send_at_rate(&self, rate_bps: u64) -> io::Result<()> {
        let mut left = self.flow.bytes.unwrap_or(u64::MAX);
        let mut due_ns = sys::now_ns()?;
        while left > 0 {
            let piece = left.min(u64::from(self.flow.mss)).min(DATA.len() as u64);
            self.source.send(&DATA[..piece as usize])?;
            left -= piece;
            due_ns += (piece * 8 * 1_000_000_000).div_ceil(rate_bps.max(1));
            sys::sleep_until(due_ns);
            if self.is_stopped()? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn is_stopped(&self) -> io::Result<bool> {
        match self.flow.stop_ns {
            Some(stop_ns) => Ok(self.nanoseconds_to(stop_ns)? == 0),
            None => Ok(false),
        }
    }

    /// From the beginning of the run to now.
    fn elapsed_ns(&self) -> io::Result<u64> {
        Ok(sys::now_ns()?.saturating_sub(self.begin_ns))
    }

    /// From now to a moment of the run; zero if it is past.
    fn nanoseconds_to(&self, at_ns: u64) -> io::Result<u64> {
        Ok((self.begin_ns + at_ns).saturating_sub(sys::now_ns()?))
    }
}

/// What the kernel says of a connection that the network has failed, or the other end: such an
/// error is a result, any other one is the guest's own fault.
pub fn network_fault(error: &io::Error) -> Option<Errno> {
    let errno = Errno::from_raw(error.raw_os_error()?);
    matches!(
        errno,
        // No answer, after as many tries as the kernel's settings allow (tcp(7)).
        Errno::ETIMEDOUT
            // A router's word (ip(7)).
            | Errno::EHOSTUNREACH
            | Errno::ENETUNREACH
            // The other end's word, and what an end is told that tries once more.
            | Errno::ECONNREFUSED
            | Errno::ECONNRESET
            | Errno::ECONNABORTED
            | Errno::EPIPE
            | Errno::ENOTCONN
    )
    .then_some(errno)
}

fn listen(flow: &Flow) -> io::Result<Socket> {
    let socket = tcp_socket(flow)?;
    bind_and_listen(&socket, flow.port)?;
    Ok(socket)
}

/// Waits for one connection at a port.
pub fn bind_and_listen(socket: &Socket, port: u16) -> io::Result<()> {
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port).into())?;
    socket.listen(1)
}

fn prepare_source(flow: &Flow) -> io::Result<Socket> {
    let socket = tcp_socket(flow)?;
    set_algorithm(&socket, &flow.cc)?;
    Ok(socket)
}

/// Sets `TCP_CONGESTION`; sockets that a listener accepts have its own.
pub fn set_algorithm(socket: &Socket, cc: &str) -> io::Result<()> {
    socket
        .set_tcp_congestion(cc.as_bytes())
        .map_err(|error| io::Error::new(error.kind(), format!("TCP_CONGESTION \"{cc}\": {error}")))
}

/// A socket with a flow's options.
pub fn tcp_socket(flow: &Flow) -> io::Result<Socket> {
    let protocol = match flow.subflow {
        Some(_) => Protocol::from(fairway_socket::MPTCP),
        None => Protocol::TCP,
    };
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(protocol))?;
    for option in &flow.options {
        fairway_socket::set_option(socket.as_fd(), option.level, option.option, option.value)
            .map_err(|error| {
                io::Error::new(error.kind(), format!("{} = {}: {error}", option.name, option.value))
            })?;
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_network_does_is_no_fault_of_the_guest() {
        let fault = |errno: i32| network_fault(&io::Error::from_raw_os_error(errno));
        assert_eq!(fault(libc::ETIMEDOUT), Some(Errno::ETIMEDOUT));
        assert_eq!(fault(libc::ECONNRESET), Some(Errno::ECONNRESET));
        assert_eq!(fault(libc::EHOSTUNREACH), Some(Errno::EHOSTUNREACH));
        for own in [libc::ENOMEM, libc::ENOBUFS, libc::EINVAL, libc::EADDRNOTAVAIL, libc::EBADF] {
            assert_eq!(fault(own), None);
        }
        assert_eq!(network_fault(&io::Error::other("no call of the kernel's")), None);
    }
}
