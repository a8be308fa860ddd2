//! The locked state of a sender, and the conditions its threads wait for.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::blocks::Block;
use super::limiter::Limiter;
use super::settings::Settings;
use super::state::{End, FollowUp, Lane, Origin, State, Task};
use super::stdin;
use super::stream::{self, Target};
use super::walk::Walk;
use crate::measure::Meter;
use crate::patience::{self, Patience};
use crate::rt::{Condvar, Instant, JoinHandle, Mutex, MutexGuard, Socket, spawn};
use crate::store::Sum;
use crate::wire::messages::{Run, ToSender, connection_number};
use crate::{Control, Error};

/// Refusals of a token accepted before that are tolerated: bytes may have been corrupted in transit.
const FORGIVEN: u32 = 3;
/// Times that a receiver may forget a transfer before more of it has arrived than ever: it may be
/// started again while it is set up, and one that forgets for ever would be sent to for ever.
const MOST_FORGOTTEN: u32 = 3;
/// How long the last words may take: they go into the buffer of a socket, unless nobody reads.
const PARTING: Duration = Duration::from_secs(2);

/// What the threads of a sender share.
pub struct Session {
    pub settings: Settings,
    pub control: Control,
    pub meter: Meter,
    /// The rate of all connections together, if there is one.
    pub limiter: Option<Limiter>,
    /// Payload that has arrived or was there already.
    pub done_bytes: Arc<AtomicU64>,
    /// Payload that went to connections, arrived or not.
    pub written_bytes: AtomicU64,
    state: Mutex<State>,
    /// There is something to carry, or nothing more will be.
    pub work: Condvar,
    messages: Condvar,
    /// A block of standard input has arrived.
    space: Condvar,
    over: Condvar,
    /// What there is to send, gone through from its beginning unless that has begun.
    pub walk: Mutex<Option<Walk>>,
    input: Mutex<Option<OwnedFd>>,
    pub streams: Mutex<Streams>,
}

/// The threads of the streams, and where they connect to.
#[derive(Default)]
pub struct Streams {
    pub target: Option<Target>,
    threads: Vec<JoinHandle<()>>,
}

impl Session {
    pub fn new(settings: Settings, input: Option<OwnedFd>, control: Control, meter: Meter) -> Self {
        let state = State::new(settings.queue(), Patience::new(settings.patience));
        Session {
            limiter: settings.options.limit_bps.map(Limiter::new),
            settings,
            control,
            meter,
            done_bytes: Arc::default(),
            written_bytes: AtomicU64::new(0),
            state: Mutex::new(state),
            work: Condvar::default(),
            messages: Condvar::default(),
            space: Condvar::default(),
            over: Condvar::default(),
            walk: Mutex::new(None),
            input: Mutex::new(input),
            streams: Mutex::default(),
        }
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Starts over with a receiver that does not know the transfer; false if it has forgotten it too
    /// often.
    pub fn restart(&self) -> bool {
        let mut state = self.state();
        let (most, times) = state.forgotten;
        let done = self.done_bytes.load(Ordering::Relaxed);
        let times = if done > most { 0 } else { times + u32::from(state.is_known) };
        if times > MOST_FORGOTTEN {
            return false;
        }
        let anew = State::new(self.settings.queue(), state.patience.anew());
        let before = std::mem::replace(&mut *state, anew);
        state.forgotten = (most.max(done), times);
        state.counts = before.counts;
        (state.counts.files, state.counts.directories, state.counts.bytes) = (0, 0, 0);
        // Standard input cannot be read twice: what is still in the window is sent again.
        (state.window, state.read_blocks) = (before.window, before.read_blocks);
        (state.stream_bytes, state.connections) = (before.stream_bytes, before.connections);
        (state.is_known, state.refusals) = (true, before.refusals);
        self.done_bytes.store(0, Ordering::Relaxed);
        *self.walk.lock() = None;
        true
    }

    /// Ends the control connection, unless it has ended: everybody is woken.
    pub fn end(&self, end: End) {
        self.state().end(end);
        self.wake();
    }

    pub fn wake(&self) {
        for waiting in [&self.work, &self.messages, &self.space, &self.over] {
            waiting.notify_all();
        }
    }

    pub fn is_over(&self) -> bool {
        self.state().ended.is_some()
    }

    /// Whether the receiver has said that everything has arrived.
    pub fn is_confirmed(&self) -> bool {
        matches!(self.state().ended, Some(End::Confirmed))
    }

    /// Waits for its end, or until the receiver has taken longer than it may: the only place that
    /// looks, so that no thread that is kept waiting keeps the sender from it.
    pub fn wait_for_end(&self) -> End {
        let (mut written, mut flowed) = (0, None);
        let mut state = self.state();
        loop {
            if let Some(end) = &state.ended {
                return end.clone();
            }
            let now = Instant::now();
            let mut end = state.patience.end(flowed, self.grace(&state));
            let written_now = self.written_bytes.load(Ordering::Relaxed);
            if end <= now && written_now != written {
                (written, flowed) = (written_now, Some(now));
                end = state.patience.end(flowed, self.grace(&state));
            }
            let left = end.saturating_duration_since(now);
            if !state.patience.is_owed() {
                state = self.over.wait_timeout(state, self.settings.patience);
            } else if !left.is_zero() {
                state = self.over.wait_timeout(state, left);
            } else {
                let lost = self.lost_patience(&state);
                state.end(End::Fatal(lost));
                drop(state);
                self.wake();
                state = self.state();
            }
        }
    }

    /// Time that passes by what this sender asks of itself, and what the receiver's disk may take to
    /// sync.
    fn grace(&self, state: &State) -> Duration {
        let options = &self.settings.options;
        let lanes = state.lanes.len().max(1) as u64;
        let paced = options.wishes.pacing_bps.map(|rate| rate.saturating_mul(lanes));
        let slowest = options.limit_bps.into_iter().chain(paced).min();
        // An acknowledgement comes at the latest when every connection has carried a block.
        let bits = 8 * lanes * state.queue.block_bytes();
        let own = slowest.map_or(0.0, |rate| bits as f64 / rate.max(1) as f64);
        let sync = match state.is_finishing() {
            true => patience::to_sync(self.done_bytes.load(Ordering::Relaxed)),
            false => Duration::ZERO,
        };
        Duration::try_from_secs_f64(own).unwrap_or(Duration::MAX / 4).saturating_add(sync)
    }

    fn lost_patience(&self, state: &State) -> Error {
        let waited = state.patience.time().as_secs_f64();
        match &state.latest_failure {
            Some(failure) if state.lanes.values().all(|lane| lane.open.is_none()) => {
                let why =
                    format!("nothing has arrived for {waited} s; the last failure: {failure}");
                Error::failed("sending", why)
            }
            _ => Error::Refused(format!(
                "the receiver is there, but has acknowledged nothing new for {waited} s; look at its \
                 disk, or give more --patience"
            )),
        }
    }

    /// The last words are sent.
    pub fn part(&self) {
        self.state().is_parted = true;
        self.over.notify_all();
    }

    /// Waits for the last words, no longer than they need where somebody reads; whether they are sent.
    pub fn wait_for_parting(&self) -> bool {
        let parted = |state: &mut State| state.is_parted.then_some(());
        self.over.wait_until(self.state(), Instant::now() + PARTING, parted).1.is_some()
    }

    /// Waits for its end, but no longer than `time`; whether it has ended.
    pub fn wait_for_end_within(&self, time: Duration) -> bool {
        let ended = |state: &mut State| state.ended.is_some().then_some(());
        self.over.wait_until(self.state(), Instant::now() + time, ended).1.is_some()
    }

    /// Treats the first refusals of a token that was accepted before as connection failures: without
    /// TLS, refusals are not protected against corruption.
    pub fn forgive(&self, error: Error) -> Error {
        let mut state = self.state();
        match error {
            Error::Refused(why) if state.is_known && state.refusals < FORGIVEN => {
                state.refusals += 1;
                Error::failed("greeting the receiver", why)
            }
            error => error,
        }
    }

    /// Ends the transfer, and with it the reading of standard input.
    pub fn give_up(&self) {
        self.state().is_given_up = true;
        self.wake();
    }

    /// Does what a message of the receiver asks for; the file of standard input, if it may be read
    /// now.
    pub fn handle(&self, message: ToSender) -> Option<u32> {
        let follow_up = self.state().handle(message);
        self.follow(&follow_up);
        follow_up.stream
    }

    /// What a connection is to do next; it waits for that at most so long.
    pub fn take(&self, lane: u32, connection: u32, wait: Duration) -> Task {
        let taken = |state: &mut State| match state.take(lane, connection) {
            Task::Wait => None,
            task => Some(task),
        };
        let waited = self.work.wait_until(self.state(), Instant::now() + wait, taken);
        waited.1.unwrap_or(Task::Wait)
    }

    pub fn held(&self, block: Block, sum: Sum) {
        let mut follow_up = FollowUp::default();
        let mut state = self.state();
        state.queue.hashed(block, sum);
        state.arrived(block, &mut follow_up);
        state.counts.held_bytes += follow_up.arrived_bytes;
        drop(state);
        self.follow(&follow_up);
    }

    pub fn abandon(&self, file: u32) {
        self.state().abandon(file);
        self.messages.notify_all();
        self.work.notify_all();
    }

    /// A number for the next connection of a lane, that no other has.
    pub fn number_connection(&self, lane: u32) -> u32 {
        let mut state = self.state();
        state.connections = state.connections.wrapping_add(1);
        connection_number(lane, state.connections)
    }

    pub fn connected(&self, lane: u32, connection: u32, socket: Socket) {
        let mut state = self.state();
        if state.ended.is_some() {
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
        state.lanes.entry(lane).or_default().open = Some((connection, socket));
    }

    /// Removes a connection; unless it ended in order, its unacknowledged blocks are queued again.
    pub fn disconnected(&self, lane: u32, connection: u32, is_broken: bool) {
        let mut state = self.state();
        if is_broken && state.ended.is_none() {
            state.counts.replaced_connections += 1;
            state.counts.resent_blocks += state.queue.broken(connection) as u64;
        }
        if let Some(lane) = state.lanes.get_mut(&lane) {
            lane.open = None;
        }
        drop(state);
        self.work.notify_all();
    }

    /// Removes a stream and leaves its blocks to the others; returns how many streams are left.
    pub fn vacate(&self, lane: u32) -> usize {
        let mut state = self.state();
        state.queue.vacate(lane);
        state.lanes.remove(&lane);
        let left = state.lanes.len();
        drop(state);
        self.work.notify_all();
        left
    }

    /// Whether a stream has to end now; the rest of its run then goes to the others.
    pub fn gives_back(&self, lane: u32, rest: Run) -> bool {
        let mut state = self.state();
        let stays = state.lanes.get(&lane).is_some_and(|lane| !lane.is_leaving);
        if stays && state.ended.is_none() {
            return false;
        }
        state.queue.give_back(rest);
        drop(state);
        self.work.notify_all();
        true
    }

    pub fn add_stream(self: &Arc<Self>) -> Result<(), Error> {
        let mut streams = self.streams.lock();
        let Some(target) = streams.target.clone() else { return Ok(()) };
        let lane = {
            let mut state = self.state();
            let free = (0..).find(|lane| !state.lanes.contains_key(lane)).unwrap_or(0);
            state.lanes.insert(free, Lane::default());
            state.queue.occupy(free);
            let lanes = state.lanes.len();
            state.queue.set_lanes(u32::try_from(lanes).unwrap_or(u32::MAX));
            free
        };
        let session = Arc::clone(self);
        let thread = spawn("stream", move || stream::run(&session, lane, &target));
        // Nobody would carry what is set aside for it.
        let thread = thread.inspect_err(|_| {
            self.vacate(lane);
        })?;
        streams.threads.retain(|thread| !thread.is_finished());
        streams.threads.push(thread);
        Ok(())
    }

    pub fn shut_streams(&self) {
        for lane in self.state().lanes.values() {
            if let Some((_, socket)) = &lane.open {
                let _ = socket.shutdown(std::net::Shutdown::Both);
            }
        }
        self.wake();
    }

    pub fn join_streams(&self) {
        let threads = std::mem::take(&mut self.streams.lock().threads);
        for thread in threads {
            let _ = thread.join();
        }
    }

    /// Reads standard input from now on, as a file; what was read before is there.
    pub fn read_input(self: &Arc<Self>, file: u32) {
        let mut state = self.state();
        for _ in 0..state.read_blocks {
            state.grow(file);
        }
        let is_whole = match state.stream_bytes {
            Some(bytes) => state.stream_ended(file, bytes),
            None => false,
        };
        drop(state);
        self.work.notify_all();
        if is_whole {
            // It was empty: no block arrives that would end it.
            self.follow(&FollowUp { whole: vec![file], ..FollowUp::default() });
        }
        let input = self.input.lock().take();
        let Some(input) = input else { return };
        let session = Arc::clone(self);
        // Not joined: it may be waiting for a terminal.
        if let Err(error) = spawn("input", move || stdin::read(&session, file, input)) {
            self.end(End::Fatal(error));
        }
    }

    pub fn fed(&self, file: u32, index: u32, data: Arc<[u8]>) {
        let mut state = self.state();
        state.window.insert(index, data);
        state.read_blocks += 1;
        state.grow(file);
        drop(state);
        self.work.notify_one();
    }

    pub fn drained(&self, file: u32, bytes: u64) {
        let mut state = self.state();
        state.stream_bytes = Some(bytes);
        let is_whole = state.stream_ended(file, bytes);
        drop(state);
        self.follow(&FollowUp {
            whole: if is_whole { vec![file] } else { vec![] },
            ..FollowUp::default()
        });
    }

    pub fn staying(&self) -> u32 {
        let staying = self.state().lanes.values().filter(|lane| !lane.is_leaving).count();
        u32::try_from(staying).unwrap_or(u32::MAX)
    }

    /// Ends that many streams, each after its current run.
    pub fn leave(&self, count: u32) {
        let mut state = self.state();
        let staying = state.lanes.values_mut().filter(|lane| !lane.is_leaving);
        for lane in staying.rev().take(count as usize) {
            lane.is_leaving = true;
        }
        drop(state);
        self.work.notify_all();
    }

    /// A lock on the state for whoever has something to say: waits at most so long until `ready`.
    pub fn wait_for_message<T>(
        &self,
        time: Duration,
        ready: impl FnMut(&mut State) -> Option<T>,
    ) -> Option<T> {
        self.messages.wait_until(self.state(), Instant::now() + time, ready).1
    }

    /// A lock on the state for who reads standard input: waits until `ready`, which also looks for the
    /// end.
    pub fn wait_for_space<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut state = self.state();
        loop {
            if let Some(found) = ready(&mut state) {
                return found;
            }
            state = self.space.wait(state);
        }
    }

    /// Carries out what has to happen outside of the lock, and notifies the waiting threads.
    pub fn follow(&self, follow_up: &FollowUp) {
        self.done_bytes.fetch_add(follow_up.arrived_bytes, Ordering::Relaxed);
        for file in &follow_up.whole {
            self.finish(*file);
        }
        if follow_up.is_new_work {
            self.work.notify_all();
        }
        if follow_up.arrived_bytes > 0 {
            self.space.notify_all();
        }
        let state = self.state();
        let is_over = state.ended.is_some();
        let has_messages =
            !state.outbox.is_empty() || state.entries.is_empty() || !state.is_all_offered;
        let is_done = state.queue.is_done() && state.entries.is_empty();
        drop(state);
        if is_over {
            self.wake();
        }
        if has_messages {
            self.messages.notify_all();
        }
        if is_done {
            self.work.notify_all();
        }
    }

    /// All of a file has arrived: it gets its name if its source is as it was.
    fn finish(&self, file: u32) {
        let origin = self.state().entries.get(&file).map(|sending| Arc::clone(&sending.origin));
        match origin.as_deref() {
            Some(Origin::Disk { path, stat, .. }) if !stat.is_at(path) => self.abandon(file),
            Some(_) => self.state().finish(file),
            None => {}
        }
    }
}

pub fn cancelled(control: &Control, otherwise: Error) -> Error {
    if control.is_cancelled() { Error::Cancelled } else { otherwise }
}
