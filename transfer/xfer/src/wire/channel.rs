//! A connection whose two ends have authenticated each other.

use std::io::{self, IoSlice, Write};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::control::{ControlReceiver, ControlSender};
use super::frame::{FrameError, HEADER_BYTES, MAX_MESSAGE_BYTES, Opener, Sealer, decode};
use super::inbox::Inbox;
use super::link::{Link, PATIENCE};
use super::tls::{Received, Tls, tls_failure};
use crate::Error;
use crate::rt::{Instant, Mutex, Socket};

/// What is read at once while messages come; what of it is payload is copied once more.
const READ_AHEAD_BYTES: usize = 4 << 10;
/// What is read at once while encrypted payload comes, doubled from the first to the second as
/// reads fill it: few calls for who receives much, little memory for who does not.
const CIPHERTEXT_BYTES: [usize; 2] = [16 << 10, 256 << 10];

/// One connection of a session: messages, and payload beside them.
///
/// Messages are protected by tags, payload by TLS or, without it, not at all: its hash belongs into
/// a message. For one thread at a time; [`Channel::into_control`] makes two ends of it.
pub struct Channel {
    shared: Arc<Shared>,
    reader: Reader,
    writer: Writer,
}

/// What a channel is made of: the result of a handshake.
pub(crate) struct Parts {
    pub(crate) link: Link,
    pub(crate) tls: Option<Tls>,
    pub(crate) sealer: Sealer,
    pub(crate) opener: Opener,
    /// Came with the last of the handshake.
    pub(crate) plaintext: Inbox,
    pub(crate) ciphertext: Inbox,
}

pub(super) struct Shared {
    pub(super) link: Link,
    pub(super) tls: Option<Mutex<Tls>>,
}

pub(super) struct Reader {
    opener: Opener,
    plaintext: Inbox,
    ciphertext: Inbox,
    /// When what is read has to be there, if that is bounded.
    deadline: Option<Instant>,
}

pub(super) struct Writer {
    pub(super) sealer: Sealer,
    pub(super) queued: Vec<u8>,
}

impl Channel {
    pub(crate) fn new(parts: Parts) -> Result<Self, Error> {
        parts.link.set_patience(PATIENCE)?;
        Ok(Channel {
            shared: Arc::new(Shared { link: parts.link, tls: parts.tls.map(Mutex::new) }),
            reader: Reader {
                opener: parts.opener,
                plaintext: parts.plaintext,
                ciphertext: parts.ciphertext,
                deadline: None,
            },
            writer: Writer { sealer: parts.sealer, queued: Vec::new() },
        })
    }

    pub fn peer(&self) -> &str {
        self.shared.link.peer()
    }

    /// The socket, to be measured. What is written to it or read from it past the channel is lost
    /// to the channel: see [`Channel::plain_socket`].
    pub fn socket(&self) -> &Socket {
        self.shared.link.socket()
    }

    /// Whether TLS protects it.
    pub fn is_encrypted(&self) -> bool {
        self.shared.tls.is_some()
    }

    /// How long the other side may say nothing, or take nothing.
    pub fn set_patience(&self, patience: Duration) -> Result<(), Error> {
        self.shared.link.set_patience(patience)
    }

    pub fn write_frame(&mut self, message: &impl Serialize) -> Result<(), Error> {
        self.queue_frame(message)?;
        self.flush()
    }

    /// Puts a message into the queue, which the next write or [`Channel::flush`] empties.
    pub fn queue_frame(&mut self, message: &impl Serialize) -> Result<(), Error> {
        let sealed = self.writer.sealer.seal(message, &mut self.writer.queued);
        sealed.map_err(|error| self.shared.link.broken("sending", error))
    }

    pub fn write_payload(&mut self, payload: &[u8]) -> Result<(), Error> {
        let queued = std::mem::take(&mut self.writer.queued);
        let written = match &self.shared.tls {
            None => self.shared.link.send_both(&queued, payload),
            Some(tls) => {
                let link = &self.shared.link;
                let tls = &mut tls.lock();
                // The same thread would read: nobody waits for the lock meanwhile.
                encrypt_to(link, tls, &queued).and_then(|()| encrypt_to(link, tls, payload))
            }
        };
        self.writer.queued = emptied(queued);
        written
    }

    pub fn flush(&mut self) -> Result<(), Error> {
        self.write_payload(&[])
    }

    /// The socket of a connection without TLS, for `sendfile` and its like: what was queued has
    /// been sent, and payload written to it follows at once.
    pub fn plain_socket(&mut self) -> Result<Option<&Socket>, Error> {
        if self.is_encrypted() {
            return Ok(None);
        }
        let queued = std::mem::take(&mut self.writer.queued);
        let sent = self.shared.link.send(&queued, true);
        self.writer.queued = emptied(queued);
        sent.map(|()| Some(self.shared.link.socket()))
    }

    /// What a call on the socket has failed with, in words.
    pub fn failed(&self, doing: &str, error: &io::Error) -> Error {
        self.shared.link.failed(doing, error)
    }

    /// The next message; none if the other side has finished.
    pub fn read_frame<M: DeserializeOwned>(&mut self) -> Result<Option<M>, Error> {
        self.reader.message(&self.shared)
    }

    /// As [`Channel::read_frame`], of a message that has to come within `time`, however slowly its bytes
    /// come and however many signs of life come before it. The channel's patience is to be set anew.
    pub fn read_frame_within<M: DeserializeOwned>(
        &mut self,
        time: Duration,
    ) -> Result<Option<M>, Error> {
        let deadline = Instant::now() + time;
        self.reader.deadline = Some(deadline);
        let read = self.reader.message(&self.shared);
        self.reader.deadline = None;
        read.map_err(|error| match error {
            Error::Failed { .. } if Instant::now() >= deadline => {
                let why = format!("no whole message has come in {} s", time.as_secs_f64().ceil());
                self.shared.link.broken("receiving", why)
            }
            error => error,
        })
    }

    /// Fills `buffer` with payload.
    pub fn read_payload(&mut self, buffer: &mut [u8]) -> Result<(), Error> {
        self.reader.exactly(&self.shared, buffer)
    }

    /// Tells the other side that nothing more will be sent; it can be read from as before.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.flush()?;
        if let Some(tls) = &self.shared.tls {
            tls.lock().close();
            encrypt_to(&self.shared.link, &mut tls.lock(), &[])?;
        }
        self.shared.link.finish()
    }

    #[cfg(test)]
    pub(super) fn refresh_keys(&self) {
        if let Some(tls) = &self.shared.tls {
            tls.lock().refresh();
        }
    }

    /// Two ends: one that any thread may send by, one by which one thread receives.
    pub fn into_control(self) -> (ControlSender, ControlReceiver) {
        let Channel { shared, reader, writer } = self;
        (ControlSender::new(shared.clone(), writer), ControlReceiver::new(shared, reader))
    }
}

impl Reader {
    /// The next message that is more than a sign of life.
    pub(super) fn message<M: DeserializeOwned>(
        &mut self,
        shared: &Shared,
    ) -> Result<Option<M>, Error> {
        let wrong = |error: FrameError| shared.link.broken("receiving", error);
        loop {
            if !self.gather(shared, HEADER_BYTES)? {
                return Ok(None);
            }
            let mut header = [0; HEADER_BYTES];
            self.plaintext.take(&mut header);
            let rest = self.opener.rest(&header, MAX_MESSAGE_BYTES).map_err(wrong)?;
            if !self.gather(shared, rest)? {
                return Err(ended(shared));
            }
            let payload = self.opener.verify(&self.plaintext.data()[..rest]).map_err(wrong)?;
            let message = (!payload.is_empty()).then(|| decode(payload)).transpose();
            self.plaintext.consume(rest);
            if let Some(message) = message.map_err(wrong)? {
                return Ok(Some(message));
            }
        }
    }

    /// Waits until so many bytes are there; false if the stream has ended before the first.
    fn gather(&mut self, shared: &Shared, count: usize) -> Result<bool, Error> {
        while self.plaintext.len() < count {
            let missing = count - self.plaintext.len();
            let room = self.plaintext.reserve(missing.max(READ_AHEAD_BYTES));
            let received = receive(shared, self.deadline, &mut self.ciphertext, room)?;
            if received == 0 {
                return if self.plaintext.len() == 0 { Ok(false) } else { Err(ended(shared)) };
            }
            self.plaintext.filled(received);
        }
        Ok(true)
    }

    fn exactly(&mut self, shared: &Shared, buffer: &mut [u8]) -> Result<(), Error> {
        let mut filled = self.plaintext.take(buffer);
        while filled < buffer.len() {
            match receive(shared, None, &mut self.ciphertext, &mut buffer[filled..])? {
                0 => return Err(ended(shared)),
                count => filled += count,
            }
        }
        Ok(())
    }
}

/// Plaintext; zero bytes at the end of the stream.
fn receive(
    shared: &Shared,
    deadline: Option<Instant>,
    ciphertext: &mut Inbox,
    into: &mut [u8],
) -> Result<usize, Error> {
    let in_time = || deadline.map_or(Ok(()), |deadline| shared.link.wait_until(deadline));
    let Some(tls) = &shared.tls else {
        in_time()?;
        return shared.link.receive(into);
    };
    loop {
        let received = tls.lock().receive(ciphertext, into);
        match received.map_err(|error| shared.link.broken("receiving", tls_failure(&error)))? {
            Received::Plaintext(count) => return Ok(count),
            Received::Closed => return Ok(0),
            Received::Nothing => {}
        }
        let capacity = ciphertext.capacity().clamp(CIPHERTEXT_BYTES[0], CIPHERTEXT_BYTES[1]);
        in_time()?;
        let count = shared.link.receive(ciphertext.reserve(capacity))?;
        ciphertext.filled(count);
        if count == 0 {
            return Err(ended(shared));
        }
        if count == capacity && capacity < CIPHERTEXT_BYTES[1] {
            ciphertext.reserve(2 * capacity);
        }
    }
}

/// A TLS connection that ends without close_notify was cut, and so was one amid a message.
fn ended(shared: &Shared) -> Error {
    shared.link.broken("receiving", "the connection ended before all data had arrived")
}

fn encrypt_to(link: &Link, tls: &mut Tls, plaintext: &[u8]) -> Result<(), Error> {
    struct Socket<'a>(&'a Link, Option<Error>);

    impl Write for Socket<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.write_vectored(&[IoSlice::new(bytes)])
        }

        fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
            let sent = self.0.send_pieces(pieces);
            sent.map_err(|error| {
                self.1 = Some(error);
                io::ErrorKind::Other.into()
            })
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut socket = Socket(link, None);
    let encrypted = tls.encrypt(plaintext, &mut socket);
    encrypted.map_err(|error| socket.1.unwrap_or_else(|| link.failed("sending", &error)))
}

/// Keeps the memory of a queue, but not that of a long one.
fn emptied(mut queue: Vec<u8>) -> Vec<u8> {
    queue.clear();
    queue.shrink_to(MAX_MESSAGE_BYTES);
    queue
}
