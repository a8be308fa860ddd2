//! One transfer: offered files, arrived blocks, connections, and how it ended.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;

use super::receiving::Receiving;
use super::settings::Settings;
use crate::Error;
use crate::measure::Meter;
use crate::patience::Patience;
use crate::rt::{Condvar, Instant, Mutex, MutexGuard, Socket};
use crate::store::{Delivery, Incoming, Store, TransferDigest};
use crate::wire::messages::{Run, ToReceiver, ToSender};

/// What a transfer has brought.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Received {
    pub from: String,
    pub files: u64,
    pub directories: u64,
    pub bytes: u64,
    pub arrived_bytes: u64,
    pub damaged_blocks: u64,
    pub duration_s: f64,
}

/// How a transfer ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    Well,
    Refused(Error),
    GivenUp(String),
}

/// What a thread of a data connection is to do with a block.
pub enum BlockAction {
    Write(Arc<Incoming>),
    /// To throw it away: it is there.
    Skip,
}

/// One transfer.
pub struct Session {
    pub number: u64,
    pub transfer: [u8; 16],
    /// Its place among the sessions: the smallest that was free.
    pub place: usize,
    pub settings: Arc<Settings>,
    pub meter: Meter,
    pub store: Store,
    pub delivery: Delivery,
    /// What has arrived at the receiver, of all transfers.
    pub done_bytes: Arc<AtomicU64>,
    pub(super) began: Instant,
    state: Mutex<State>,
    /// There is something to say, or room to say more.
    pub(super) messages: Condvar,
    pub(super) tasks: Condvar,
    /// A thread has ended, or a block is not written any longer.
    idle: Condvar,
}

/// A data connection of a running thread. Dropping it, also by a panic, removes the connection and
/// releases its blocks.
pub struct Connected<'a> {
    session: &'a Session,
    number: u32,
    /// The control connection that it belongs to.
    pub epoch: u64,
    /// Why it is gone, if that is before its end.
    pub failure: Option<Error>,
}

impl<'a> Connected<'a> {
    fn new(session: &'a Session, number: u32, epoch: u64) -> Self {
        // Reported unless the thread sets another reason.
        let why = "internal error: its thread panicked; please report it";
        let failure = Some(Error::failed("receiving", why));
        Connected { session, number, epoch, failure }
    }
}

impl Drop for Connected<'_> {
    fn drop(&mut self) {
        self.session.disconnect(self.number, self.epoch, self.failure.take());
    }
}

/// What changes of a transfer.
pub struct State {
    pub patience: Patience,
    pub files: BTreeMap<u32, Receiving>,
    pub next_entry: u32,
    pub directories: BTreeSet<u32>,
    pub digest: TransferDigest,
    pub received: Received,
    pub confirmed: bool,
    pub ended: Option<Ended>,
    /// When its last word was said, after which the sender has no more than the time of one to leave.
    pub concluded: Option<Instant>,
    /// Why the control connection is gone, and since when.
    pub gone: Option<Instant>,
    pub connections: BTreeMap<u32, Socket>,
    pub(super) outbox: VecDeque<ToSender>,
    pub(super) arrived: Vec<Run>,
    pub(super) tasks: VecDeque<ToReceiver>,
    writing: BTreeMap<(u32, u32), u32>,
    pub(super) is_busy: bool,
    pub(super) control_socket: Option<Socket>,
    pub(super) epoch: u64,
    threads: usize,
}

impl Session {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        number: u64,
        transfer: [u8; 16],
        place: usize,
        settings: Arc<Settings>,
        meter: Meter,
        store: Store,
        done_bytes: Arc<AtomicU64>,
    ) -> Self {
        let state = State::new(Patience::new(settings.patience));
        Session {
            number,
            transfer,
            place,
            settings,
            meter,
            delivery: store.delivery(),
            store,
            done_bytes,
            began: Instant::now(),
            state: Mutex::new(state),
            messages: Condvar::default(),
            tasks: Condvar::default(),
            idle: Condvar::default(),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Makes `socket` the control connection: shuts down all earlier connections, waits for their
    /// threads, and returns the new epoch.
    pub fn take_over(&self, socket: Socket) -> u64 {
        let mut state = self.state();
        state.epoch += 1;
        let epoch = state.epoch;
        state.shut_down();
        drop(state);
        self.wake();
        let mut state = self.state();
        while state.threads > 0 && state.epoch == epoch {
            state = self.idle.wait(state);
        }
        if state.epoch == epoch {
            state.outbox.clear();
            state.arrived.clear();
            state.tasks.clear();
            state.is_busy = false;
            state.gone = None;
            state.concluded = state.concluded.filter(|_| state.ended.is_some());
            state.control_socket = Some(socket);
        } else {
            let _ = socket.shutdown(Shutdown::Both);
        }
        epoch
    }

    /// Counts a thread of the session; false if the control connection is not the one of `epoch`.
    pub fn enter(&self, epoch: u64) -> bool {
        let mut state = self.state();
        let is_current = state.epoch == epoch && state.ended.is_none();
        state.threads += usize::from(is_current);
        is_current
    }

    pub fn exit(&self) {
        self.state().threads -= 1;
        self.idle.notify_all();
    }

    /// The control connection of an epoch is gone: the data connections go, too.
    pub fn is_gone(&self, epoch: u64) {
        let mut state = self.state();
        if state.epoch == epoch {
            state.gone = Some(Instant::now());
            state.epoch += 1;
            state.shut_down();
        }
        drop(state);
        self.wake();
    }

    /// When it is to be ended, unless something new comes or its sender comes again.
    pub fn end_of_patience(&self) -> Instant {
        let state = self.state();
        let patience = state.patience.end(None, Duration::ZERO);
        match (state.gone, state.concluded) {
            // A sender that comes and goes has no more than one that stays.
            (Some(gone), _) => patience.min(gone + self.settings.linger),
            (None, Some(concluded)) => concluded + self.settings.timeout,
            (None, None) => patience,
        }
    }

    pub fn is_current(&self, epoch: u64) -> bool {
        self.state().epoch == epoch
    }

    pub fn end(&self, ended: Ended) {
        let mut state = self.state();
        if state.ended.is_none() {
            if let Ended::Refused(error) = &ended {
                state.outbox.push_back(ToSender::Refused { why: error.to_string() });
            }
            state.ended = Some(ended);
            state.concluded = Some(Instant::now());
        }
        drop(state);
        self.wake();
    }

    /// Shuts all its connections down and waits until their threads have ended.
    pub fn close(&self) {
        let mut state = self.state();
        state.epoch += 1;
        state.shut_down();
        drop(state);
        self.wake();
        let mut state = self.state();
        while state.threads > 0 {
            state = self.idle.wait(state);
        }
        // Names are free for others, streams that are not complete are removed.
        state.files.clear();
    }

    /// Notes a data connection, if it may be.
    pub fn connect(&self, number: u32, socket: Socket) -> Option<Connected<'_>> {
        let mut state = self.state();
        let has_room = state.connections.len() < self.settings.limits.streams as usize;
        // Another one of the same number could not be shut down, and would not be counted.
        let is_new = !state.connections.contains_key(&number);
        if !has_room || !is_new || state.ended.is_some() || state.control_socket.is_none() {
            return None;
        }
        state.threads += 1;
        state.connections.insert(number, socket);
        Some(Connected::new(self, number, state.epoch))
    }

    fn disconnect(&self, number: u32, epoch: u64, failure: Option<Error>) {
        let mut state = self.state();
        state.connections.remove(&number);
        state.writing.retain(|_, by| *by != number);
        if let (Some(error), true) = (failure, state.epoch == epoch) {
            let why = error.to_string();
            state.outbox.push_back(ToSender::Lost { connection: number, why });
        }
        state.threads -= 1;
        drop(state);
        self.wake();
    }

    /// Decides what to do with a block that arrives. If another connection is already writing it, that
    /// one has stalled, or the sender would not send it again: it is shut down.
    pub fn claim(&self, file: u32, block: u32, connection: u32, epoch: u64) -> Option<BlockAction> {
        let mut state = self.state();
        loop {
            if state.epoch != epoch {
                return None;
            }
            let Some(receiving) = state.files.get(&file) else { return Some(BlockAction::Skip) };
            if receiving.arrived.has(block) {
                return Some(BlockAction::Skip);
            }
            let Some(other) = state.writing.get(&(file, block)) else { break };
            if let Some(socket) = state.connections.get(other) {
                let _ = socket.shutdown(Shutdown::Both);
            }
            state = self.idle.wait(state);
        }
        let incoming = Arc::clone(&state.files[&file].incoming);
        state.writing.insert((file, block), connection);
        Some(BlockAction::Write(incoming))
    }

    pub fn arrived(&self, file: u32, block: u32, bytes: u64) {
        self.done_bytes.fetch_add(bytes, Ordering::Relaxed);
        let mut state = self.state_with_space(|state| state.arrived.len());
        state.writing.remove(&(file, block));
        state.received.arrived_bytes += bytes;
        if let Some(receiving) = state.files.get_mut(&file)
            && receiving.arrived.insert(block)
        {
            state.patience.answered(1);
        }
        let run = Run { file, first: block, count: 1 };
        match state.arrived.last_mut() {
            Some(last)
                if last.file == file && block.checked_sub(last.first) == Some(last.count) =>
            {
                last.count += 1;
            }
            _ => state.arrived.push(run),
        }
        drop(state);
        self.messages.notify_all();
        self.idle.notify_all();
    }

    pub fn damaged(&self, file: u32, block: u32) {
        let mut state = self.state_with_space(|state| state.outbox.len());
        state.writing.remove(&(file, block));
        state.received.damaged_blocks += 1;
        state.outbox.push_back(ToSender::Bad { file, block });
        drop(state);
        self.wake();
    }

    fn wake(&self) {
        for waiting in [&self.messages, &self.tasks, &self.idle] {
            waiting.notify_all();
        }
    }
}

impl State {
    fn new(patience: Patience) -> Self {
        State {
            patience,
            files: BTreeMap::new(),
            next_entry: 0,
            directories: BTreeSet::new(),
            digest: TransferDigest::new(),
            received: Received::default(),
            confirmed: false,
            ended: None,
            concluded: None,
            gone: None,
            connections: BTreeMap::new(),
            outbox: VecDeque::new(),
            arrived: Vec::new(),
            tasks: VecDeque::new(),
            writing: BTreeMap::new(),
            is_busy: false,
            control_socket: None,
            epoch: 0,
            threads: 0,
        }
    }

    /// Notes an entry that was not offered before: it is an answer, and asks for its blocks and its end.
    pub fn offered(&mut self, blocks: u64) {
        self.next_entry += 1;
        self.patience.asked(1);
        self.patience.answered(1);
        self.patience.asked(blocks + 1);
    }

    fn shut_down(&mut self) {
        let sockets = self.connections.values().chain(&self.control_socket);
        for socket in sockets {
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.control_socket = None;
    }
}
