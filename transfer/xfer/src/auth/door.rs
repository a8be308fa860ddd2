//! The door of a receiver: whoever does not prove himself waits outside, and not for long.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Shutdown};
use std::time::Duration;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use super::admission::{Admission, Admitted, MOST_BYTES, Step};
use super::room::{Room, Waiting};
use super::{Identity, Purpose, Security};
use crate::rt::{Instant, Socket};
use crate::socket::Connection;
use crate::wire::{Channel, Link};
use crate::{Control, Error};

/// Connections that may wait in either of the two rooms: twice as many as the most streams that
/// anyone has a use for, and at most 20 MB of memory.
const PLACES: usize = 1024;
/// Files that are never too many for a system, and enough for every place and every session.
const OPEN_FILES: u64 = 16 << 10;
/// Connections accepted before those are heard that have something to say.
const ACCEPTED_AT_ONCE: usize = 64;
/// How often it is looked whether the door may be closed.
const LOOK: Duration = Duration::from_millis(250);
/// Refusals are told no faster, whoever provokes them.
const TELL: Duration = Duration::from_secs(1);
/// The listener among the numbers of connections.
const LISTENER: u64 = u64::MAX;

/// Lets in those who know the token.
///
/// One thread hears all that wait, none of which can hold it up: a greeting is two or three short
/// messages, and what has come of them is taken as it comes. Those that have not said a word wait in
/// one room, those that have in another, so that silence in any number keeps nobody from talking.
pub struct Door<'a> {
    pub identity: &'a Identity,
    pub security: Security,
    /// How long a connection may take to prove itself.
    pub deadline: Duration,
}

impl Door<'_> {
    /// Gives every connection that has proved itself to `admitted`, until `open` is false, which is
    /// asked several times a second, or the transfer is cancelled.
    ///
    /// `admitted` is called in this thread and must not wait for anything.
    pub fn keep(
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

        let places = PLACES.min(usize::try_from(raise_open_files() / 4).unwrap_or(PLACES));
        let mut hall = Hall {
            door: self,
            control,
            epoll,
            silent: Room::new(places),
            talking: Room::new(places),
            next: 0,
            told: None,
        };
        let mut events = [EpollEvent::empty(); 256];
        while open() && !held.is_cancelled() {
            let timeout = u16::try_from(LOOK.as_millis()).unwrap_or(u16::MAX);
            let count = match hall.epoll.wait(&mut events, timeout) {
                Ok(count) => count,
                Err(nix::Error::EINTR) => 0,
                Err(errno) => return Err(failed(errno.into())),
            };
            for event in &events[..count] {
                if event.data() == LISTENER {
                    hall.accept(listener).map_err(failed)?;
                } else if let Some((channel, purpose)) = hall.hear(event.data()) {
                    admitted(channel, purpose);
                }
            }
            let now = Instant::now();
            hall.silent.expire(now);
            hall.talking.expire(now);
        }
        Ok(())
    }
}

struct Hall<'a> {
    door: &'a Door<'a>,
    control: &'a Control,
    epoll: Epoll,
    silent: Room,
    talking: Room,
    next: u64,
    told: Option<Instant>,
}

impl Hall<'_> {
    fn accept(&mut self, listener: &Socket) -> io::Result<()> {
        for _ in 0..ACCEPTED_AT_ONCE {
            match listener.accept() {
                Ok((socket, from)) => {
                    let from = from.as_socket().map_or(Ipv4Addr::UNSPECIFIED.into(), |a| a.ip());
                    // One that cannot be waited for is closed.
                    let _ = self.seat(socket, from);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) if self.control.is_cancelled() => break,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                        // It is not the listener that has failed.
                        self.make_place();
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

    /// Closes one that waits, or waits until something else is closed.
    fn make_place(&mut self) {
        if !self.silent.turn_out() && !self.talking.turn_out() {
            self.control.sleep(LOOK);
        }
    }

    fn seat(&mut self, socket: Socket, from: IpAddr) -> io::Result<()> {
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        let number = self.next;
        self.next += 1;
        self.epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, number))?;
        let until = Instant::now() + self.door.deadline;
        let admission = Admission::new(self.door.identity, self.door.security);
        self.silent.add(number, Waiting { socket, from, until, admission });
        Ok(())
    }

    /// Takes what one has to say; returns it if that proves it.
    fn hear(&mut self, number: u64) -> Option<(Channel, Purpose)> {
        // It may have been turned out since the event.
        let waiting = self.silent.remove(number).or_else(|| self.talking.remove(number));
        let mut waiting = waiting?;
        let mut bytes = [0; MOST_BYTES];
        let count = match (&waiting.socket).read(&mut bytes) {
            Ok(0) => return None,
            Ok(count) => count,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                self.talking.add(number, waiting);
                return None;
            }
            Err(_) => return None,
        };
        let mut answer = Vec::new();
        let step = waiting.admission.take(&bytes[..count], &mut answer);
        // Nothing else was sent to it: an answer that its buffer has no room for is one that it
        // does not want.
        let sent = waiting.socket.send_with_flags(&answer, libc::MSG_NOSIGNAL);
        let sent = sent.is_ok_and(|sent| sent == answer.len());
        match step {
            Step::More if sent => self.talking.add(number, waiting),
            Step::Admitted(admitted) if sent => {
                // It goes to another thread, which may not have it reported here.
                self.epoll.delete(&waiting.socket).ok()?;
                match self.let_in(waiting.socket, *admitted) {
                    Ok(channel) => return Some(channel),
                    Err(error) => self.control.warn(format!("a connection was lost: {error}")),
                }
            }
            Step::Refused(why) => {
                let _ = waiting.socket.shutdown(Shutdown::Write);
                self.tell(waiting.from, why);
            }
            Step::More | Step::Admitted(_) => {}
        }
        None
    }

    fn let_in(&self, socket: Socket, admitted: Admitted) -> Result<(Channel, Purpose), Error> {
        let failed = |error| Error::failed("letting a sender in", error);
        socket.set_nonblocking(false).map_err(failed)?;
        let held = self.control.hold(&socket).map_err(failed)?;
        admitted.over(Link::new(Connection { socket, held })?)
    }

    fn tell(&mut self, from: IpAddr, why: &str) {
        if self.told.is_none_or(|told| told.elapsed() >= TELL) {
            self.told = Some(Instant::now());
            self.control.note(format!("refused a connection from {}: {why}", from.to_canonical()));
        }
    }
}

/// Lets this process have as many open files as it may, within reason; how many that is.
pub fn raise_open_files() -> u64 {
    // What POSIX promises (_POSIX_OPEN_MAX), if the system does not tell.
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 20 };
    let wanted = hard.min(OPEN_FILES);
    if soft >= wanted || setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_err() {
        return soft;
    }
    wanted
}
