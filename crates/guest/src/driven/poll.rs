//! Waiting for sockets and for a time at once.

use std::io;
use std::os::fd::BorrowedFd;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

/// Sockets that are looked at in one call.
const BATCH: usize = 256;
/// What the timer is called among the sockets.
const TIMER: u64 = u64::MAX;

/// What is waited for. The time is a timer's: that of epoll_wait(2) may be late by a thousandth
/// (fs/select.c, `select_estimate_accuracy`).
pub struct Poll {
    epoll: Epoll,
    timer: TimerFd,
    armed_ns: u64,
    events: Vec<EpollEvent>,
}

impl Poll {
    pub fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER))?;
        Ok(Poll { epoll, timer, armed_ns: 0, events: vec![EpollEvent::empty(); BATCH] })
    }

    /// Begins to look at a socket, under a name.
    pub fn add(&self, socket: BorrowedFd, name: u64, flags: EpollFlags) -> io::Result<()> {
        Ok(self.epoll.add(socket, EpollEvent::new(flags, name))?)
    }

    /// Looks at a socket for something else.
    pub fn modify(&self, socket: BorrowedFd, name: u64, flags: EpollFlags) -> io::Result<()> {
        Ok(self.epoll.modify(socket, &mut EpollEvent::new(flags, name))?)
    }

    /// Looks at a socket no more.
    pub fn remove(&self, socket: BorrowedFd) -> io::Result<()> {
        Ok(self.epoll.delete(socket)?)
    }

    /// Waits until a moment of [`crate::sys::now_ns`] or until a socket has something. Adds the names
    /// of such sockets, and what they have.
    pub fn wait(&mut self, until_ns: u64, found: &mut Vec<(u64, EpollFlags)>) -> io::Result<()> {
        if self.armed_ns != until_ns {
            self.armed_ns = until_ns;
            let seconds = libc::time_t::try_from(until_ns / 1_000_000_000);
            let seconds = seconds.unwrap_or(libc::time_t::MAX);
            let at = TimeSpec::new(seconds, (until_ns % 1_000_000_000) as libc::c_long);
            self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        }
        let count = match self.epoll.wait(&mut self.events, EpollTimeout::NONE) {
            Err(nix::errno::Errno::EINTR) => 0,
            count => count?,
        };
        let sockets = self.events[..count].iter().filter(|event| event.data() != TIMER);
        found.extend(sockets.map(|event| (event.data(), event.events())));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::sys::now_ns;

    #[test]
    fn a_time_or_a_socket_ends_the_wait() {
        let mut poll = Poll::new().unwrap();
        let (mut near, far) = UnixStream::pair().unwrap();
        poll.add(far.as_fd(), 7, EpollFlags::EPOLLIN).unwrap();
        let mut found = Vec::new();
        let until = now_ns().unwrap() + 1_000_000;
        poll.wait(until, &mut found).unwrap();
        assert!(now_ns().unwrap() >= until && found.is_empty());
        near.write_all(&[1]).unwrap();
        // The timer that has expired does not count for a later time.
        poll.wait(now_ns().unwrap() + 3_600_000_000_000, &mut found).unwrap();
        assert_eq!(found, [(7, EpollFlags::EPOLLIN)]);
        poll.modify(far.as_fd(), 7, EpollFlags::empty()).unwrap();
        found.clear();
        poll.wait(now_ns().unwrap() + 1_000, &mut found).unwrap();
        assert!(found.is_empty());
    }
}
