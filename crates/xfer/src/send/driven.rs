//! A sender without threads and sockets: a test has it take one step after the other.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::plan;
use super::session::Session;
use super::state::{End, Lane, Origin, Task};
use super::talk::{self, Next};
use super::walk::{Count, Walk};
use super::{SendOptions, Streams};
use crate::measure::Meter;
use crate::store::{Source, Sum, scratch};
use crate::wire::messages::{Begin, DataHead, Run, ToReceiver, ToSender};
use crate::{Control, Error};

/// A sender, and what its streams are about to carry.
pub(crate) struct Sender {
    session: Arc<Session>,
    count: Count,
    attempts: u32,
    streams: Vec<Stream>,
}

#[derive(Default)]
struct Stream {
    connection: u32,
    due: Option<(Run, Arc<Origin>)>,
}

/// A block that goes to the receiver.
pub(crate) struct Carried {
    pub(crate) connection: u32,
    pub(crate) head: DataHead,
    pub(crate) content: Vec<u8>,
    pub(crate) sum: Sum,
}

impl Sender {
    pub(crate) fn start(path: &Path, token: &str, streams: u32, meter: &Meter) -> Self {
        let mut options = SendOptions::new(path, "receiver", token);
        options.streams = Streams::Fixed(streams);
        options.chunk_bytes = Some(8192);
        let settings = options.check().unwrap();
        let count = Walk::new(path, &settings.name, Control::new(), true).count().unwrap();
        let session = Session::new(settings, None, Control::new(), meter.clone());
        Sender { session: Arc::new(session), count, attempts: 0, streams: Vec::new() }
    }

    /// What a control connection begins with.
    pub(crate) fn begin(&self) -> Begin {
        let settings = &self.session.settings;
        Begin {
            transfer: settings.transfer,
            streams: settings.most_streams(),
            entries: self.count.entries,
            bytes: self.count.bytes,
            patience_ms: 30_000,
        }
    }

    /// The receiver has welcomed it; what is said first.
    pub(crate) fn go_on(&mut self, resumed: bool) -> Vec<ToReceiver> {
        talk::go_on(&self.session, self.attempts, resumed).unwrap();
        self.attempts += 1;
        let mut state = self.session.state();
        let lanes = self.session.settings.first_streams();
        for lane in 0..lanes {
            state.lanes.insert(lane, Lane::default());
            state.plan.occupy(lane);
        }
        state.plan.set_lanes(lanes);
        let before = talk::offered_before(&state);
        drop(state);
        let numbered = |_| Stream { connection: 0, due: None };
        self.streams = (0..lanes).map(numbered).collect();
        (0..lanes).for_each(|lane| self.connect(lane));
        let offer = |(first, entries)| ToReceiver::Offer { first, entries };
        before.into_iter().map(offer).collect()
    }

    fn connect(&mut self, lane: u32) {
        let connection = self.session.number_connection(lane);
        self.streams[lane as usize] = Stream { connection, due: None };
    }

    /// What it has to say now.
    pub(crate) fn talk(&self) -> Result<Vec<ToReceiver>, Error> {
        match self.session.wait_for_words(Duration::ZERO, talk::next) {
            Some(Next::Say(words)) => Ok(words),
            Some(Next::Offer) => Ok(talk::page(&self.session)?.into_iter().collect()),
            Some(Next::Over) | None => Ok(Vec::new()),
        }
    }

    pub(crate) fn hear(&self, message: ToSender) {
        self.session.hear(message);
    }

    /// The next block of a stream, if it has one that the receiver has not.
    pub(crate) fn carry(&mut self, lane: u32) -> Result<Option<Carried>, Error> {
        let stream = &mut self.streams[lane as usize];
        let connection = stream.connection;
        let (run, origin) = match stream.due.take() {
            Some(due) => due,
            None => match self.session.take(lane, connection, Duration::ZERO) {
                Task::Carry(run, origin) => (run, origin),
                Task::Wait | Task::End | Task::Over => return Ok(None),
            },
        };
        if run.count > 1 {
            let rest = Run { first: run.first + 1, count: run.count - 1, ..run };
            stream.due = Some((rest, Arc::clone(&origin)));
        }
        let Origin::Disk { path, blocks, .. } = &*origin else { return Ok(None) };
        let (block, index) =
            (plan::Block { file: run.file, index: run.first }, u64::from(run.first));
        let (source, mut buffer) = (Source::open(path)?, scratch());
        let sum = source.sum(index, &mut buffer)?;
        if self.session.claim(block) == Some(sum) {
            self.session.held(block, sum);
            return Ok(None);
        }
        let bytes = u32::try_from(blocks.bytes(index)).unwrap();
        let mut content = vec![0; bytes as usize];
        source.read(index, 0, &mut content, &mut blocks.hasher(index))?;
        self.session.hashed(block, sum);
        let head = DataHead::Block { file: block.file, block: block.index, bytes };
        Ok(Some(Carried { connection, head, content, sum }))
    }

    /// A data connection has broken, and is replaced.
    pub(crate) fn broken(&mut self, lane: u32) {
        let connection = self.streams[lane as usize].connection;
        self.session.disconnected(lane, connection, true);
        self.connect(lane);
    }

    /// How the control connection has ended, if it has.
    pub(crate) fn ended(&self) -> Option<End> {
        self.session.state().ended.clone()
    }
}
