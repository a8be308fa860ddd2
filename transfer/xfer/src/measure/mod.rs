//! Measures a transfer: every connection is a flow, sampled at each interval.
//!
//! [`Meter::start`] begins; [`Meter::add`] watches a connection for as long as the returned
//! [`Watched`] lives; [`Meter::finish`] makes the [`Record`], in the schema of every backend.

mod counts;
mod datagrams;
mod flow;
mod observe;
mod record;
mod rows;
mod state;

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use socket2::Socket;

pub(crate) use counts::Counts;
pub(crate) use datagrams::{DatagramCounts, Datagrams};
pub(crate) use flow::tcp_info;
use flow::{Open, Watch};
pub(crate) use observe::{Observation, Observer};
pub use record::Record;
pub(crate) use record::{Cpu, Taken};
pub use rows::Samples;
pub(crate) use rows::{Carried, most_bps};
use state::State;

use crate::{Control, Error, rt};

/// Where an interval that adapts stops to grow for the sake of a chart; what iperf3 reports by.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// Shortest interval, and the first one of those that adapt: below it, the looking shows in what is
/// seen.
pub const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
/// Time per connection from one look to the next: a look takes some 3 µs, so that all of them take
/// a thirtieth of a core at the most.
const LOOK: Duration = Duration::from_micros(100);
/// How often progress is told: often enough for a bar that moves.
const TICK: Duration = Duration::from_millis(500);
/// Stack of the thread that takes the samples: it calls nothing deep.
const STACK_BYTES: usize = 256 << 10;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Title of the record.
    pub title: String,
    /// Name of the application that the connections belong to: "transfer".
    pub name: String,
    /// What it does: "transfer", "generator", "collector", …
    pub kind: &'static str,
    /// Time between samples, doubled whenever there are too many rows. If none is given, it adapts:
    /// it begins at [`SHORTEST_INTERVAL`], and is doubled whenever a flow has so many samples that a
    /// chart has enough with half of them.
    pub interval: Option<Duration>,
    /// Rate of the path in bit/s, if someone knows it: what utilisation is a share of.
    pub path_rate_bps: Option<u64>,
}

impl Subject {
    /// A subject whose interval adapts.
    pub fn new(title: impl Into<String>, name: impl Into<String>, kind: &'static str) -> Self {
        let (title, name) = (title.into(), name.into());
        Subject { title, name, kind, interval: None, path_rate_bps: None }
    }
}

/// What the payload of a connection is counted by, and which end of it this is.
#[derive(Clone, Debug)]
pub enum Payload {
    /// The sending end: payload that was written to the socket. What the kernel still holds of it
    /// is taken off.
    Written(Arc<AtomicU64>),
    /// The sending end of a connection that carries payload and nothing else: the kernel counts.
    Acknowledged,
    /// The receiving end: payload that was read from the socket.
    Read(Arc<AtomicU64>),
}

impl Payload {
    /// Whether this is the end that sends it.
    pub fn is_sent(&self) -> bool {
        matches!(self, Payload::Written(_) | Payload::Acknowledged)
    }
}

/// What a transfer aims at, for its progress.
#[derive(Clone, Debug, Default)]
pub struct Goal {
    /// Payload that there is, if that is known.
    pub total_bytes: Option<u64>,
    /// How long it should take, if that is known.
    pub duration: Option<Duration>,
    /// Payload that is done, if that is not what the connections have delivered.
    pub done_bytes: Option<Arc<AtomicU64>>,
}

/// Watches the connections of one transfer; clones are the same meter.
#[derive(Clone, Debug)]
pub struct Meter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    control: Control,
    /// Its number among what tells `control` of progress.
    part: u64,
    state: Mutex<State>,
    signal: Arc<Signal>,
}

/// Tells the sampling thread to end.
#[derive(Debug, Default)]
struct Signal {
    is_over: rt::Mutex<bool>,
    changed: rt::Condvar,
}

/// Watches a connection as long as it lives; going, it takes the final sample. It holds the socket,
/// so it has to go before the peer can see the end of the stream (or that is `shutdown`).
#[derive(Debug)]
#[must_use = "it watches only as long as it lives"]
pub struct Watched {
    meter: Meter,
    flow: usize,
    number: u64,
}

impl Meter {
    /// A meter, and the thread that takes its samples and tells `control` of the progress.
    ///
    /// # Errors
    /// [`Error::Failed`] if there can be no further thread.
    pub fn start(subject: Subject, control: &Control) -> Result<Self, Error> {
        let signal = Arc::<Signal>::default();
        let state = Mutex::new(State::new(subject));
        let control = control.clone();
        let part = control.new_part();
        let shared = Arc::new(Shared { control, part, state, signal: Arc::clone(&signal) });
        let watched = Arc::downgrade(&shared);
        std::thread::Builder::new()
            .name("meter".into())
            .stack_size(STACK_BYTES)
            .spawn(move || sample_until_over(&watched, &signal))
            .map_err(|error| Error::failed("starting the thread that measures", error))?;
        Ok(Meter(shared))
    }

    /// What the transfer aims at.
    pub fn aim(&self, goal: Goal) {
        self.state().goal = goal;
    }

    /// Watches a connection. One that has the name of an earlier one goes on where that ended, as
    /// the same flow.
    ///
    /// # Errors
    /// If the process has no file descriptor left for the second handle of the socket.
    pub fn add(
        &self,
        id: &str,
        cc: &str,
        socket: &Socket,
        payload: Payload,
    ) -> io::Result<Watched> {
        let open = Open::tcp(socket.try_clone()?, payload);
        Ok(self.watch(id, Watch::Tcp { cc: cc.to_owned() }, open))
    }

    /// Watches a flow of datagrams; `kind` is "cbr", "poisson", ….
    pub fn add_datagrams(
        &self,
        id: &str,
        kind: &'static str,
        counts: Arc<rt::Mutex<DatagramCounts>>,
    ) -> Watched {
        self.watch(id, Watch::Datagrams { kind }, Open::Datagrams(counts))
    }

    /// Someone who wants to know what happens in intervals of their own.
    pub fn observer(&self) -> Observer {
        Observer::new(self.clone())
    }

    /// Payload that all connections have delivered so far.
    pub fn delivered_bytes(&self) -> u64 {
        self.state().delivered_bytes()
    }

    /// Forgets what was measured so far: the measuring window begins now.
    pub fn restart(&self) {
        self.state().restart(Instant::now());
    }

    /// When the first connection was watched; samples count from there.
    pub fn began(&self) -> Option<Instant> {
        self.state().window().0
    }

    /// The record, up to now. Connections that are still open are sampled a last time.
    pub fn finish(&self) -> Record {
        self.0.signal.end();
        let mut state = self.state();
        state.sample(Instant::now(), true);
        let progress = state.progress(Instant::now());
        self.0.control.set_progress_of(self.0.part, Some(progress));
        state.record()
    }

    fn watch(&self, id: &str, watch: Watch, open: Open) -> Watched {
        let (flow, number) = self.state().open(id, watch, open, Instant::now());
        Watched { meter: self.clone(), flow, number }
    }

    /// Time between looks: as short as samples and progress need, and connections allow.
    fn tick_length(&self) -> Duration {
        let state = self.state();
        let looks = LOOK.saturating_mul(u32::try_from(state.flows.len()).unwrap_or(u32::MAX));
        state.interval().min(TICK).max(looks)
    }

    fn tick(&self) {
        let mut state = self.state();
        let now = Instant::now();
        state.sample(now, false);
        let progress = state.progress(now);
        drop(state);
        self.0.control.set_progress_of(self.0.part, Some(progress));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watched {
    /// Ends the watch of a connection that has delivered all that was counted, as the other end has
    /// said: what the kernel still holds is no payload.
    pub fn has_delivered_all(self) {
        self.meter.state().deliver_all(self.flow, self.number);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.meter.state().close(self.flow, self.number, Instant::now());
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.signal.end();
        self.control.set_progress_of(self.part, None);
    }
}

impl Signal {
    fn end(&self) {
        *self.is_over.lock() = true;
        self.changed.notify_all();
    }

    /// Waits for so long; returns whether it is over.
    fn wait(&self, time: Duration) -> bool {
        let over = |is_over: &mut bool| is_over.then_some(());
        self.changed.wait_until(self.is_over.lock(), rt::Instant::now() + time, over).1.is_some()
    }
}

fn sample_until_over(shared: &Weak<Shared>, signal: &Signal) {
    let mut due = Instant::now();
    loop {
        // Not held while it waits: who lets the meter go ends it.
        let Some(tick) = shared.upgrade().map(|shared| Meter(shared).tick_length()) else { return };
        // After a pause of the whole machine it goes on from now.
        due = (due + tick).max(Instant::now());
        if signal.wait(due.saturating_duration_since(Instant::now())) {
            return;
        }
        let Some(shared) = shared.upgrade() else { return };
        Meter(shared).tick();
    }
}

#[cfg(test)]
mod tests;
