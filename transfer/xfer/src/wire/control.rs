//! The two halves of a control connection, on which both sides send at any time.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::channel::{Reader, Shared, Writer};
use crate::Error;
use crate::rt::{Mutex, Socket};

/// Sends messages, from any thread; clones are the same end.
#[derive(Clone)]
pub struct ControlSender {
    shared: Arc<Shared>,
    writing: Arc<Mutex<Writing>>,
}

struct Writing {
    writer: Writer,
    encrypted: Vec<u8>,
    /// Half a message may be out: nothing can follow.
    failed: Option<Error>,
}

/// Receives messages, in one thread.
pub struct ControlReceiver {
    shared: Arc<Shared>,
    reader: Reader,
}

impl ControlSender {
    pub(super) fn new(shared: Arc<Shared>, writer: Writer) -> Self {
        let writing = Writing { writer, encrypted: Vec::new(), failed: None };
        ControlSender { shared, writing: Arc::new(Mutex::new(writing)) }
    }

    pub fn peer(&self) -> &str {
        self.shared.link.peer()
    }

    pub fn socket(&self) -> &Socket {
        self.shared.link.socket()
    }

    pub fn send(&self, message: &impl Serialize) -> Result<(), Error> {
        self.write(|writer| writer.sealer.seal(message, &mut writer.queued))
    }

    /// Sends a sign of life, which [`ControlReceiver::receive`] does not return.
    pub fn keep_alive(&self) -> Result<(), Error> {
        self.write(|writer| writer.sealer.seal_nothing(&mut writer.queued))
    }

    pub fn finish(&self) -> Result<(), Error> {
        if let Some(tls) = &self.shared.tls {
            tls.lock().close();
        }
        self.write(|_| Ok(()))?;
        self.shared.link.finish()
    }

    fn write(
        &self,
        fill: impl FnOnce(&mut Writer) -> Result<(), super::frame::FrameError>,
    ) -> Result<(), Error> {
        // Held while it is sent: messages go out in the order of their sequence numbers.
        let writing = &mut *self.writing.lock();
        if let Some(error) = &writing.failed {
            return Err(error.clone());
        }
        // Too long: none of it is out.
        fill(&mut writing.writer).map_err(|error| self.shared.link.broken("sending", error))?;
        let sent = match &self.shared.tls {
            None => self.shared.link.send(&writing.writer.queued, false),
            Some(tls) => self.encrypt(tls, writing),
        };
        writing.writer.queued.clear();
        writing.encrypted.clear();
        writing.failed = sent.as_ref().err().cloned();
        sent
    }

    fn encrypt(&self, tls: &Mutex<super::tls::Tls>, writing: &mut Writing) -> Result<(), Error> {
        // Not held while it is sent: who receives needs TLS, too, and the other side may send
        // nothing more until something was received.
        let encrypted = tls.lock().encrypt(&writing.writer.queued, &mut writing.encrypted);
        encrypted.map_err(|error| self.shared.link.failed("sending", &error))?;
        self.shared.link.send(&writing.encrypted, false)
    }
}

impl ControlReceiver {
    pub(super) fn new(shared: Arc<Shared>, reader: Reader) -> Self {
        ControlReceiver { shared, reader }
    }

    /// The next message; none if the other side has finished.
    pub fn receive<M: DeserializeOwned>(&mut self) -> Result<Option<M>, Error> {
        self.reader.message(&self.shared)
    }
}
