//! Accepts connections; bounds and times out those that have not authenticated.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Shutdown};
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};

use super::admission::{Admission, Admitted, MOST_BYTES, Step};
use super::pending::{Pending, Pool};
use super::{Identity, Purpose, Security};
use crate::files::raise_limit;
use crate::rt::{Instant, Socket};
use crate::socket::Connection;
use crate::wire::{Channel, Link};
use crate::{Control, Error};

/// Pending connections in either of the two pools: twice as many as the most streams that anyone has
/// a use for, and at most 20 MB of memory.
const PLACES: usize = 1024;
/// Open files: never too many for a system, and enough for both pools and every session.
const OPEN_FILES: u64 = 16 << 10;
/// Connections accepted in a row before pending ones are read.
const ACCEPTED_AT_ONCE: usize = 64;
/// Interval between checks whether to stop.
const LOOK: Duration = Duration::from_millis(250);
/// Shortest time between two reports of refusals, so that strangers cannot flood the log.
const REPORT: Duration = Duration::from_secs(1);
/// The listener's number in epoll; connections count from 0.
const LISTENER: u64 = u64::MAX;

/// Accepts connections of peers that know the token.
///
/// One thread reads all pending connections, and none can block it: a greeting is two or three short
/// messages, which are processed as they arrive. Silent connections and those that have sent
/// something are in separate pools, so that any number of silent ones displaces no other.
pub struct Acceptor<'a> {
    pub identity: &'a Identity,
    pub security: Security,
    /// How long a connection may take to prove itself.
    pub deadline: Duration,
}

impl Acceptor<'_> {
    /// Calls `admitted` with every authenticated connection, in this thread, until the transfer is
    /// cancelled or `open`, which is called several times a second, returns false.
    pub fn run(
        &self,
        listener: &Socket,
        control: &Control,
        open: impl Fn() -> bool,
        mut admitted: impl FnMut(Channel, Purpose),
    ) -> Result<(), Error> {
        let failed = |error: io::Error| Error::failed("waiting for connections", error);
        listener.set_nonblocking(true).map_err(failed)?;
        let held = control.hold(listener).map_err(failed)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC);
        let epoll = epoll.map_err(|errno| failed(errno.into()))?;
        let event = EpollEvent::new(EpollFlags::EPOLLIN, LISTENER);
        epoll.add(listener, event).map_err(|errno| failed(errno.into()))?;

        let places = PLACES.min(usize::try_from(raise_limit(OPEN_FILES) / 4).unwrap_or(PLACES));
        let mut accepting = Accepting {
            acceptor: self,
            control,
            epoll,
            silent: Pool::new(places),
            talking: Pool::new(places),
            next: 0,
            reported: None,
        };
        let mut events = [EpollEvent::empty(); 256];
        while open() && !held.is_cancelled() {
            let timeout = u16::try_from(LOOK.as_millis()).unwrap_or(u16::MAX);
            let count = match accepting.epoll.wait(&mut events, timeout) {
                Ok(count) => count,
                Err(nix::Error::EINTR) => 0,
                Err(errno) => return Err(failed(errno.into())),
            };
            for event in &events[..count] {
                if event.data() == LISTENER {
                    accepting.accept(listener).map_err(failed)?;
                } else if let Some((channel, purpose)) = accepting.read(event.data()) {
                    admitted(channel, purpose);
                }
            }
            let now = Instant::now();
            accepting.silent.expire(now);
            accepting.talking.expire(now);
        }
        Ok(())
    }
}

struct Accepting<'a> {
    acceptor: &'a Acceptor<'a>,
    control: &'a Control,
    epoll: Epoll,
    silent: Pool,
    talking: Pool,
    next: u64,
    reported: Option<Instant>,
}

impl Accepting<'_> {
    fn accept(&mut self, listener: &Socket) -> io::Result<()> {
        for _ in 0..ACCEPTED_AT_ONCE {
            match listener.accept() {
                Ok((socket, from)) => {
                    let from = from.as_socket().map_or(Ipv4Addr::UNSPECIFIED.into(), |a| a.ip());
                    // If it cannot be added, it is closed.
                    let _ = self.add_pending(socket, from);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) if self.control.is_cancelled() => break,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                        // The process is out of files or memory; the listener is fine.
                        self.free_place();
                        break;
                    }
                    Some(libc::EBADF | libc::EINVAL | libc::ENOTSOCK | libc::EFAULT) => {
                        return Err(error);
                    }
                    // accept(2): errors of the network come with the connection that has them.
                    _ => {}
                },
            }
        }
        Ok(())
    }

    /// Evicts a pending connection; if there is none, waits for files to be closed.
    fn free_place(&mut self) {
        if !self.silent.evict() && !self.talking.evict() {
            self.control.sleep(LOOK);
        }
    }

    fn add_pending(&mut self, socket: Socket, from: IpAddr) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        let number = self.next;
        self.next += 1;
        self.epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, number))?;
        let until = Instant::now() + self.acceptor.deadline;
        let admission = Admission::new(self.acceptor.identity, self.acceptor.security);
        self.silent.add(number, Pending { socket, from, until, admission });
        Ok(())
    }

    /// Reads from a pending connection; returns it once it has authenticated.
    fn read(&mut self, number: u64) -> Option<(Channel, Purpose)> {
        // It may have been evicted since the event.
        let pending = self.silent.remove(number).or_else(|| self.talking.remove(number));
        let mut pending = pending?;
        let mut bytes = [0; MOST_BYTES];
        let count = match (&pending.socket).read(&mut bytes) {
            Ok(0) => return None,
            Ok(count) => count,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                self.talking.add(number, pending);
                return None;
            }
            Err(_) => return None,
        };
        let mut answer = Vec::new();
        let step = pending.admission.take(&bytes[..count], &mut answer);
        // Nothing else was sent to it, so the answer fits its buffer unless it does not read.
        let sent = pending.socket.send_with_flags(&answer, libc::MSG_NOSIGNAL);
        let sent = sent.is_ok_and(|sent| sent == answer.len());
        match step {
            Step::More if sent => self.talking.add(number, pending),
            Step::Admitted(admitted) if sent => {
                // Another thread owns it from here on.
                self.epoll.delete(&pending.socket).ok()?;
                match self.admit(pending.socket, *admitted) {
                    Ok(channel) => return Some(channel),
                    Err(error) => self.control.warn(format!("a connection was lost: {error}")),
                }
            }
            Step::Refused(why) => {
                let _ = pending.socket.shutdown(Shutdown::Write);
                self.report_refusal(pending.from, why);
            }
            Step::More | Step::Admitted(_) => {}
        }
        None
    }

    fn admit(&self, socket: Socket, admitted: Admitted) -> Result<(Channel, Purpose), Error> {
        let failed = |error| Error::failed("letting a sender in", error);
        socket.set_nonblocking(false).map_err(failed)?;
        let held = self.control.hold(&socket).map_err(failed)?;
        admitted.over(Link::new(Connection { socket, held })?)
    }

    fn report_refusal(&mut self, from: IpAddr, why: &str) {
        if self.reported.is_none_or(|reported| reported.elapsed() >= REPORT) {
            self.reported = Some(Instant::now());
            self.control.note(format!("refused a connection from {}: {why}", from.to_canonical()));
        }
    }
}
