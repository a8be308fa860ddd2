//! The control channel of a session: sends at any time, and wakes the session on every event.

use std::net::Shutdown;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::engine::Wake;
use super::messages::Message;
use crate::Error;
use crate::rt::{JoinHandle, spawn};
use crate::wire::{Channel, ControlSender};

/// Received messages that may be queued; a faster peer is slowed down by TCP.
const MOST_WAITING: usize = 8;

/// The control channel and all other events that a session waits for.
pub struct Dialogue {
    sender: ControlSender,
    wakes: Receiver<Wake>,
    waker: Sender<Wake>,
    waiting: Option<Receiver<()>>,
    thread: Option<JoinHandle<()>>,
    patience: Duration,
    quiet_until: Instant,
}

impl Dialogue {
    /// Talks on a channel; the other end may be silent for so long.
    pub fn new(channel: Channel, patience: Duration) -> Result<Self, Error> {
        channel.set_patience(patience)?;
        let (sender, mut receiver) = channel.into_control();
        let (waker, wakes) = mpsc::channel();
        let (places, waiting) = mpsc::sync_channel(MOST_WAITING);
        let tell = waker.clone();
        let listen = move || {
            while places.send(()).is_ok() {
                let wake = match receiver.receive() {
                    Ok(Some(said)) => Wake::Message(said),
                    Ok(None) => Wake::Lost(closed()),
                    Err(error) => Wake::Lost(error),
                };
                let is_over = matches!(wake, Wake::Lost(_));
                if tell.send(wake).is_err() || is_over {
                    return;
                }
            }
        };
        let thread = Some(spawn("load-control", listen)?);
        let quiet_until = Instant::now() + patience / 4;
        let waiting = Some(waiting);
        Ok(Dialogue { sender, wakes, waker, waiting, thread, patience, quiet_until })
    }

    pub fn peer(&self) -> &str {
        self.sender.peer()
    }

    /// By which flows tell that they have ended.
    pub fn waker(&self) -> Sender<Wake> {
        self.waker.clone()
    }

    pub fn send(&mut self, said: &Message) -> Result<(), Error> {
        self.quiet_until = Instant::now() + self.patience / 4;
        self.sender.send(said)
    }

    /// What happens next, but no later than `until`; meanwhile the other end is kept from thinking
    /// that this one is gone.
    pub fn next(&mut self, until: Instant) -> Result<Option<Wake>, Error> {
        loop {
            let now = Instant::now();
            if now >= self.quiet_until {
                self.sender.keep_alive()?;
                self.quiet_until = now + self.patience / 4;
            }
            let wait = until.min(self.quiet_until).saturating_duration_since(now);
            match self.wakes.recv_timeout(wait) {
                Ok(Wake::Lost(error)) => return Err(error),
                Ok(wake) => {
                    if let (Wake::Message(_), Some(waiting)) = (&wake, &self.waiting) {
                        // It has made this place before it was sent.
                        let _ = waiting.try_recv();
                    }
                    return Ok(Some(wake));
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                // Cannot be: this end holds a waker.
                Err(RecvTimeoutError::Disconnected) => return Err(closed()),
            }
        }
    }

    pub fn receive(&mut self) -> Result<Message, Error> {
        let until = Instant::now() + self.patience;
        loop {
            match self.next(until)? {
                Some(Wake::Message(said)) => return Ok(said),
                Some(_) => {}
                None => {
                    let why = format!("it has not answered for {} s", self.patience.as_secs_f64());
                    return Err(Error::failed(format!("waiting for {}", self.peer()), why));
                }
            }
        }
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        let _ = self.sender.socket().shutdown(Shutdown::Both);
        self.waiting = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub fn unexpected(peer: &str) -> Error {
    let why = "it does not keep to the protocol; use the same version of Fairway at both ends";
    Error::failed(format!("talking with {peer}"), why)
}

fn closed() -> Error {
    Error::failed("talking on the control connection", "the other end has closed it")
}
