//! A receiver without threads and sockets: a test has it take one step after the other.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Socket, Type};

use super::manager::{Manager, Meters};
use super::session::Session;
use super::{ReceiveOptions, stream, talk};
use crate::measure::Meter;
use crate::store::{Store, Sum};
use crate::wire::messages::{Begin, DataHead, ToReceiver, ToSender};
use crate::{Control, Error};

/// A receiver.
pub(crate) struct Receiver(Arc<Manager>);

/// One control connection of it.
pub(crate) struct Talk {
    receiver: Arc<Manager>,
    session: Arc<Session>,
    epoch: u64,
}

/// A block on its way, of which `whole` may be missing the end.
pub(crate) struct Block<'a> {
    /// What announces it.
    pub head: DataHead,
    /// As much of it as arrives.
    pub content: &'a [u8],
    /// Its sum, unless that does not arrive.
    pub sum: Option<Sum>,
}

fn socket() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, None).unwrap()
}

impl Receiver {
    pub(crate) fn start(store: Store, meter: &Meter) -> Self {
        let settings = ReceiveOptions::new("out").check().unwrap();
        let meters = Meters::All(meter.clone());
        Receiver(Arc::new(Manager::new(settings, Control::new(), meters, store)))
    }

    /// A control connection begins.
    pub(crate) fn begin(&self, begin: &Begin) -> Result<(Talk, ToSender), ToSender> {
        let (session, resumed) = self.0.session(begin, "the sender")?;
        let epoch = session.take_over(socket());
        let number = session.number;
        let streams = begin.streams;
        let welcome = ToSender::Welcome { session: number, streams, resumed, patience_ms: 30_000 };
        Ok((Talk { receiver: Arc::clone(&self.0), session, epoch }, welcome))
    }
}

impl Talk {
    /// Hears a message.
    pub(crate) fn hear(&self, message: ToReceiver) -> Result<bool, Error> {
        talk::heed(&self.receiver, &self.session, self.epoch, message)
    }

    /// Does what was asked for; false if that is nothing.
    pub(crate) fn gather(&self) -> bool {
        if self.session.state().tasks.is_empty() {
            return false;
        }
        let task = self.session.task(self.epoch);
        task.map(|task| talk::gather(&self.session, self.epoch, task)).is_some()
    }

    /// What it has to say.
    pub(crate) fn words(&self) -> Vec<ToSender> {
        self.session.words(self.epoch, Duration::ZERO).unwrap_or_default()
    }

    /// A block comes over a data connection.
    pub(crate) fn take(&self, connection: u32, block: &Block) -> Result<bool, Error> {
        let DataHead::Block { file, block: index, bytes } = block.head else { return Ok(true) };
        let Some(mut connected) = self.session.connect(connection, socket()) else {
            return Ok(false);
        };
        let (by, what) = ((connection, connected.epoch), (file, index, u64::from(bytes)));
        let mut from = Arriving { left: block.content, sum: block.sum };
        let taken = stream::take(&self.session, by, what, &mut from, &mut [0; 700]);
        connected.failure = taken.as_ref().err().cloned();
        taken
    }

    /// The control connection is gone.
    pub(crate) fn end(self) {
        self.session.is_gone(self.epoch);
        self.receiver.left(&self.session);
    }
}

struct Arriving<'a> {
    left: &'a [u8],
    sum: Option<Sum>,
}

impl Read for Arriving<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.left.read(buffer)
    }
}

impl stream::Carrier for Arriving<'_> {
    fn failed(&mut self, error: io::Error) -> Error {
        Error::failed("receiving", error)
    }

    fn sum(&mut self) -> Result<Sum, Error> {
        self.sum.ok_or_else(|| Error::failed("receiving", "the connection has ended"))
    }
}
