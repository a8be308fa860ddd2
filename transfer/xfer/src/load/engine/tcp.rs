//! The two ends of a connection that carries a flow.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::rt::Socket;

use super::counts::Counts;
use super::worker::{Scratch, Step};
use crate::load::gaps::{Draws, Gaps};
use crate::load::pattern;

/// What is written or read at once at most: beyond it a call costs nothing against its copying.
pub(super) const PIECE_BYTES: usize = 256 << 10;
/// What is discarded at once at most: nothing is copied, so that the call is all that it costs.
const DISCARD_BYTES: usize = 4 << 20;
/// What a flow may move before the others of its thread have their turn.
const TURN_BYTES: usize = 4 << 20;

/// What ends a flow, and when its messages are due.
#[derive(Debug)]
pub struct Schedule {
    draws: Draws,
    is_paused: bool,
    is_endless: bool,
    due: Instant,
    stop: Option<Instant>,
    left_bytes: Option<u64>,
}

impl Schedule {
    /// Messages from `start` to `stop`, or until `bytes` are written.
    pub fn new(
        gaps: Gaps,
        mut draws: Draws,
        is_paused: bool,
        start: Instant,
        stop: Option<Instant>,
        bytes: Option<u64>,
    ) -> Self {
        // A Poisson process is one from its start on: its first message is not at a known time.
        let first =
            if matches!(gaps, Gaps::Exponential(_)) { draws.draw() } else { Default::default() };
        Schedule {
            draws,
            is_paused,
            is_endless: gaps == Gaps::None,
            due: start + first,
            stop,
            left_bytes: bytes,
        }
    }

    pub fn is_over(&self, now: Instant) -> bool {
        self.left_bytes == Some(0) || self.stops_by(now)
    }

    /// Whether its time is over, whatever is left to be written.
    pub fn stops_by(&self, now: Instant) -> bool {
        self.stop.is_some_and(|stop| now >= stop)
    }

    /// The next message's bytes, if it is due; it is taken for written.
    pub fn take(&mut self, now: Instant, message_bytes: usize) -> Option<usize> {
        if self.due > now || self.left_bytes == Some(0) {
            return None;
        }
        if !self.is_paused && !self.is_endless {
            self.due += self.draws.draw();
        }
        let Some(left) = &mut self.left_bytes else { return Some(message_bytes) };
        let bytes = usize::try_from(*left).map_or(message_bytes, |left| left.min(message_bytes));
        *left -= bytes as u64;
        Some(bytes)
    }

    pub fn finish_message(&mut self, now: Instant) {
        if self.is_paused {
            self.due = now + self.draws.draw();
        }
    }

    /// When something happens without the socket: a message is due, or it is over.
    pub fn next(&self, is_blocked: bool) -> Option<Instant> {
        match (is_blocked, self.stop) {
            (true, stop) => stop,
            (false, Some(stop)) => Some(self.due.min(stop)),
            (false, None) => Some(self.due),
        }
    }
}

/// The end that writes.
#[derive(Debug)]
pub struct TcpSource {
    pub socket: Arc<Socket>,
    pub counts: Arc<Counts>,
    pub schedule: Schedule,
    pub message_bytes: usize,
    /// Of the content, if it is checked.
    pub key: Option<u64>,
    pub left_in_message: usize,
}

impl TcpSource {
    pub(super) fn work(&mut self, scratch: &mut Scratch) -> Step {
        let mut moved = 0;
        loop {
            let now = Instant::now();
            if self.schedule.stops_by(now) {
                return self.finish();
            }
            if self.left_in_message == 0 {
                if self.schedule.is_over(now) {
                    return self.finish();
                }
                match self.schedule.take(now, self.message_bytes) {
                    Some(bytes) => self.left_in_message = bytes,
                    None => return Step::Wait(self.schedule.next(false)),
                }
            }
            if moved >= TURN_BYTES {
                return Step::Again;
            }
            let asked = self.left_in_message.min(PIECE_BYTES);
            match self.write(asked, scratch) {
                Ok(written) => {
                    moved += written;
                    self.left_in_message -= written;
                    self.counts.add_bytes(written as u64);
                    if self.left_in_message == 0 {
                        self.counts.messages.fetch_add(1, Ordering::Relaxed);
                        self.schedule.finish_message(Instant::now());
                    } else if written < asked {
                        return Step::Wait(self.schedule.next(true));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Step::Wait(self.schedule.next(true));
                }
                Err(error) => {
                    self.counts.fail(error);
                    return Step::Done;
                }
            }
        }
    }

    fn write(&self, bytes: usize, scratch: &mut Scratch) -> io::Result<usize> {
        match self.key {
            None => (&*self.socket).write(&scratch.payload()[..bytes]),
            Some(key) => {
                let piece = &mut scratch.bytes()[..bytes];
                pattern::fill(piece, key, self.counts.bytes());
                (&*self.socket).write(piece)
            }
        }
    }

    fn finish(&self) -> Step {
        match self.socket.shutdown(Shutdown::Write) {
            Ok(()) => self.counts.end(),
            Err(error) => self.counts.fail(error),
        }
        Step::Done
    }
}

/// The end that reads.
#[derive(Debug)]
pub struct TcpSink {
    pub socket: Arc<Socket>,
    pub counts: Arc<Counts>,
    /// Of the content, if it is checked.
    pub key: Option<u64>,
}

impl TcpSink {
    pub(super) fn work(&mut self, scratch: &mut Scratch) -> Step {
        let mut moved = 0;
        while moved < TURN_BYTES {
            let (asked, read) = self.read(scratch);
            match read {
                Ok(0) => {
                    self.counts.end();
                    return Step::Done;
                }
                Ok(bytes) => {
                    moved += bytes;
                    self.counts.add_bytes(bytes as u64);
                    // Less than asked for: nothing is left but perhaps the end (epoll(7), question 9).
                    if bytes < asked {
                        return Step::Wait(None);
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Step::Wait(None),
                Err(error) => {
                    self.counts.fail(error);
                    return Step::Done;
                }
            }
        }
        Step::Again
    }

    fn read(&self, scratch: &mut Scratch) -> (usize, io::Result<usize>) {
        let Some(key) = self.key else {
            let read = fairway_socket::discard_ready(self.socket.as_fd(), DISCARD_BYTES);
            return (DISCARD_BYTES, read);
        };
        let room = scratch.bytes();
        let read = (&*self.socket).read(room);
        if let Ok(bytes) = read
            && !pattern::is_intact(&room[..bytes], key, self.counts.bytes())
        {
            self.counts.corrupt.fetch_add(1, Ordering::Relaxed);
        }
        (room.len(), read)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn schedule(gaps: Gaps, is_paused: bool, bytes: Option<u64>) -> (Schedule, Instant) {
        let start = Instant::now();
        let draws = Draws::new(gaps, 1, "a");
        let stop = start + Duration::from_secs(10);
        (Schedule::new(gaps, draws, is_paused, start, Some(stop), bytes), start)
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn messages_are_due_at_their_times_whether_or_not_the_one_before_was_late() {
        let (mut schedule, start) = schedule(Gaps::Fixed(SECOND), false, None);
        assert_eq!(schedule.take(start, 100), Some(100));
        assert_eq!(schedule.take(start, 100), None);
        assert_eq!(schedule.next(false), Some(start + SECOND));
        // Three seconds late: those of 1, 2 and 3 s are due at once.
        let late = start + 3 * SECOND + SECOND / 2;
        let due = (0..5).filter(|_| schedule.take(late, 100).is_some()).count();
        assert_eq!(due, 3);
    }

    #[test]
    fn a_pause_begins_at_the_end_of_the_message() {
        let (mut schedule, start) = schedule(Gaps::Fixed(SECOND), true, None);
        assert_eq!(schedule.take(start, 100), Some(100));
        schedule.finish_message(start + 3 * SECOND);
        assert_eq!(schedule.next(false), Some(start + 4 * SECOND));
    }

    #[test]
    fn the_last_message_has_the_bytes_that_are_left_and_the_time_ends_it_too() {
        let (mut schedule, start) = schedule(Gaps::None, false, Some(250));
        let taken: Vec<_> = (0..4).map(|_| schedule.take(start, 100)).collect();
        assert_eq!(taken, [Some(100), Some(100), Some(50), None]);
        assert!(schedule.is_over(start));
        assert_eq!(schedule.next(true), Some(start + 10 * SECOND));
    }
}
