//! The handle that follows and cancels a transfer from another thread.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use crate::rt::{Condvar, Instant, Mutex, MutexGuard, Socket};
use serde::Serialize;

/// Events that wait to be fetched; the oldest go first when nobody fetches them.
const MAX_EVENTS: usize = 10_000;

/// What a user may want to be told.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The receiver waits at this address.
    Listening {
        /// Address and port.
        address: String,
    },
    /// What a sender needs to be let in.
    Token {
        /// As it is given to `--token`.
        token: String,
    },
    /// Something worth a line, without a full stop.
    Note {
        /// The line.
        text: String,
    },
    /// Something that has to be known before the result is trusted.
    Warning {
        /// The line.
        text: String,
    },
}

/// How far a transfer is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Progress {
    /// Payload that has arrived.
    pub done_bytes: u64,
    /// Payload that there is, if that is known.
    pub total_bytes: Option<u64>,
    /// How long it should take altogether, if that is known.
    pub duration_s: Option<f64>,
    /// Time since data began to flow.
    pub elapsed_s: f64,
    /// Payload a second over the last interval, in bit/s.
    pub goodput_bps: f64,
    /// Every connection that is open.
    pub streams: Vec<StreamProgress>,
}

impl Progress {
    /// Two parts together.
    fn and(mut self, other: Progress) -> Progress {
        let later = |a: f64, b: f64| a.max(b);
        self.streams.extend(other.streams);
        Progress {
            done_bytes: self.done_bytes.saturating_add(other.done_bytes),
            total_bytes: self.total_bytes.zip(other.total_bytes).map(|(a, b)| a.saturating_add(b)),
            duration_s: self.duration_s.zip(other.duration_s).map(|(a, b)| later(a, b)),
            elapsed_s: later(self.elapsed_s, other.elapsed_s),
            goodput_bps: self.goodput_bps + other.goodput_bps,
            streams: self.streams,
        }
    }
}

/// How one connection is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StreamProgress {
    /// Its name in the record.
    pub id: String,
    /// Payload a second over the last interval, in bit/s.
    pub goodput_bps: f64,
    /// Smoothed round-trip time; none before the first sample.
    pub srtt_s: Option<f64>,
    /// Congestion window in segments.
    pub cwnd_segments: Option<f64>,
    /// Segments retransmitted so far.
    pub retransmitted_segments: u64,
}

/// The handle by which one transfer is followed and stopped; clones are the same handle.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    cancelled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    cancelled: bool,
    events: VecDeque<Event>,
    /// Of every part that is under way.
    progress: BTreeMap<u64, Progress>,
    next_part: u64,
    sockets: BTreeMap<u64, Socket>,
    next_socket: u64,
}

/// A socket that a cancelled transfer shuts down, as long as this lives.
#[derive(Debug)]
pub struct Held {
    control: Control,
    number: u64,
}

impl Control {
    /// A handle to a transfer that has not begun.
    pub fn new() -> Self {
        Control::default()
    }

    /// Ends the transfer as soon as possible: every held socket is shut down, so that no thread
    /// waits for one any longer.
    pub fn cancel(&self) {
        let mut state = self.state();
        state.cancelled = true;
        for socket in state.sockets.values() {
            // A listener and a connection that is gone cannot be shut down, and need not be.
            let _ = socket.shutdown(Shutdown::Both);
        }
        drop(state);
        self.0.cancelled.notify_all();
    }

    /// Whether it was asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.state().cancelled
    }

    /// Sleeps for so long, or until it is asked to end; returns whether it was.
    pub fn sleep(&self, time: Duration) -> bool {
        let cancelled = |state: &mut State| state.cancelled.then_some(());
        let deadline = Instant::now() + time;
        self.0.cancelled.wait_until(self.state(), deadline, cancelled).1.is_some()
    }

    /// Has [`Control::cancel`] shut the socket down, at once if it came before.
    ///
    /// # Errors
    /// If the process has no file descriptor left for the second handle of the socket.
    pub fn hold(&self, socket: &Socket) -> io::Result<Held> {
        let socket = socket.try_clone()?;
        let mut state = self.state();
        if state.cancelled {
            let _ = socket.shutdown(Shutdown::Both);
        }
        let number = state.next_socket;
        state.next_socket += 1;
        state.sockets.insert(number, socket);
        Ok(Held { control: self.clone(), number })
    }

    /// Tells the user something.
    pub fn say(&self, event: Event) {
        let mut state = self.state();
        if state.events.len() == MAX_EVENTS {
            state.events.pop_front();
        }
        state.events.push_back(event);
    }

    /// [`Event::Note`].
    pub fn note(&self, text: impl Into<String>) {
        self.say(Event::Note { text: text.into() });
    }

    /// [`Event::Warning`].
    pub fn warn(&self, text: impl Into<String>) {
        self.say(Event::Warning { text: text.into() });
    }

    /// What was said since the last call.
    pub fn take_events(&self) -> Vec<Event> {
        self.state().events.drain(..).collect()
    }

    /// A number for a part of the transfer that tells its progress by itself, as a session of many.
    pub fn new_part(&self) -> u64 {
        let mut state = self.state();
        state.next_part += 1;
        state.next_part
    }

    /// Notes how far a part is; with none, that it is under way no longer. The last part stays.
    pub fn set_progress_of(&self, part: u64, progress: Option<Progress>) {
        let mut state = self.state();
        match progress {
            Some(progress) => {
                state.progress.insert(part, progress);
            }
            None if state.progress.len() > 1 => {
                state.progress.remove(&part);
            }
            None => {}
        }
    }

    /// How far the transfer is: all its parts together.
    pub fn progress(&self) -> Progress {
        let state = self.state();
        let parts = state.progress.values().cloned();
        parts.reduce(Progress::and).unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}

impl Held {
    /// Whether the transfer was asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.control.is_cancelled()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.control.state().sockets.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn who_waits_for_a_held_socket_is_woken_when_it_is_cancelled() {
        let control = Control::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_far, _) = listener.accept().unwrap();
        let held = control.hold(&Socket::from(near.try_clone().unwrap())).unwrap();
        let waiting = std::thread::spawn(move || near.read(&mut [0]).unwrap_or(0));
        control.cancel();
        assert_eq!(waiting.join().unwrap(), 0);
        assert!(control.is_cancelled() && control.sleep(Duration::from_secs(3600)));
        drop(held);
        assert!(control.state().sockets.is_empty());
    }

    #[test]
    fn the_progress_of_parts_is_told_together() {
        let control = Control::new();
        let [first, second] = [control.new_part(), control.new_part()];
        let of = |done_bytes, total_bytes| {
            Some(Progress { done_bytes, total_bytes, goodput_bps: 2.0, ..Progress::default() })
        };
        control.set_progress_of(first, of(3, Some(10)));
        control.set_progress_of(second, of(4, Some(20)));
        let both = control.progress();
        assert_eq!((both.done_bytes, both.total_bytes, both.goodput_bps), (7, Some(30), 4.0));
        control.set_progress_of(first, None);
        control.set_progress_of(second, None);
        assert_eq!(control.progress().done_bytes, 4, "the last one stays");
    }

    #[test]
    fn events_come_in_their_order_and_are_bounded() {
        let control = Control::new();
        for number in 0..MAX_EVENTS + 2 {
            control.note(number.to_string());
        }
        let events = control.take_events();
        assert_eq!(events.len(), MAX_EVENTS);
        assert_eq!(events[0], Event::Note { text: "2".into() });
        assert!(control.take_events().is_empty());
    }
}
