//! The sessions of a receiver, and the threads of their connections.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use serde::Serialize;

use super::session::{Ended, Received, Session};
use super::settings::Settings;
use super::{control, stream};
use crate::auth::{Purpose, Security};
use crate::measure::{Goal, Meter, Subject};
use crate::rt::{Condvar, Instant, JoinHandle, Mutex, MutexGuard, spawn};
use crate::store::Store;
use crate::wire::Channel;
use crate::wire::messages::{Begin, ToSender};
use crate::{Control, Error, Sessions, words};

/// Transfers that are remembered for the outcome.
const REMEMBERED: usize = 1000;

/// What measures transfers.
pub enum Meters {
    /// One for all of them.
    All(Meter),
    /// One for each, and where its record goes.
    Each(Subject, Sessions),
}

/// Starts a thread for every connection, and knows which sessions there are.
pub struct Manager {
    pub settings: Arc<Settings>,
    pub control: Control,
    meters: Meters,
    store: Store,
    done_bytes: Arc<AtomicU64>,
    /// Shared by the threads of control connections: its count is theirs, and one.
    talking: Arc<()>,
    table: Mutex<Table>,
    changed: Condvar,
}

#[derive(Default)]
struct Table {
    sessions: BTreeMap<u64, Arc<Session>>,
    next: u64,
    announced_bytes: u64,
    threads: Vec<JoinHandle<()>>,
    received: Vec<Received>,
    is_over: bool,
}

impl Manager {
    pub fn new(settings: Settings, control: Control, meters: Meters, store: Store) -> Self {
        Manager {
            settings: Arc::new(settings),
            control,
            meters,
            store,
            done_bytes: Arc::default(),
            talking: Arc::default(),
            table: Mutex::default(),
            changed: Condvar::default(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }

    pub fn admit(self: &Arc<Self>, channel: Channel, purpose: Purpose) {
        let manager = Arc::clone(self);
        let from = channel.peer().to_owned();
        let started = match purpose {
            Purpose::Control => {
                let talking = Arc::clone(&self.talking);
                if Arc::strong_count(&talking) > self.settings.limits.control_connections() {
                    let said = "there are too many control connections; this one is closed";
                    return self.control.note(format!("{from}: {said}"));
                }
                spawn("control", move || {
                    let _talking = talking;
                    control::run(&manager, channel);
                })
            }
            Purpose::Data { session, stream } => {
                let found = self.table().sessions.get(&session).map(Arc::clone);
                let Some(session) = found else { return };
                spawn("data", move || stream::run(&session, stream, channel))
            }
            Purpose::Load | Purpose::LoadData { .. } => {
                let said = "it wants to generate traffic; this receives files. Run `fairway collect` for that";
                return self.control.note(format!("{from}: {said}"));
            }
        };
        match started {
            Ok(thread) => {
                let mut table = self.table();
                table.threads.retain(|thread| !thread.is_finished());
                table.threads.push(thread);
            }
            Err(error) => self.control.warn(words::of_peer(&from, &error)),
        }
    }

    /// The session that a sender begins or goes on with, and whether it goes on.
    pub fn session(&self, begin: &Begin, from: &str) -> Result<(Arc<Session>, bool), ToSender> {
        let known = {
            let table = self.table();
            let same = |session: &&Arc<Session>| session.transfer == begin.transfer;
            table.sessions.values().find(same).map(Arc::clone)
        };
        if let Some(session) = known {
            if session.state().ended.is_none() {
                self.control.note(format!("{from} goes on with its transfer"));
                return Ok((session, true));
            }
            self.remove(&session);
        }
        let most = if self.settings.once { 1 } else { self.settings.limits.sessions };
        if self.table().sessions.len() >= most {
            self.forget_gone(|_| true);
        }
        let mut table = self.table();
        if table.is_over || table.sessions.len() >= most {
            let why = format!("it takes {most} transfers at a time");
            return Err(ToSender::Busy { why });
        }
        let number = table.next;
        table.next += 1;
        let taken: Vec<usize> = table.sessions.values().map(|session| session.place).collect();
        let (meter, place) = match &self.meters {
            Meters::All(meter) => {
                (meter.clone(), (0..).find(|place| !taken.contains(place)).unwrap_or(0))
            }
            Meters::Each(subject, _) => {
                let meter = Meter::start(subject.clone(), &self.control);
                (meter.map_err(|error| ToSender::Busy { why: error.to_string() })?, 0)
            }
        };
        let session = Arc::new(Session::new(
            number,
            begin.transfer,
            place,
            Arc::clone(&self.settings),
            meter,
            self.store.clone(),
            Arc::clone(&self.done_bytes),
        ));
        session.state().received.from = from.to_owned();
        table.sessions.insert(number, Arc::clone(&session));
        self.aim(&session, &mut table, begin.bytes);
        drop(table);
        // The monitor has one more to watch.
        self.changed.notify_all();
        let what = match begin.entries {
            1 => "1 file".to_owned(),
            entries => format!("{entries} files and directories"),
        };
        let bytes = words::size(begin.bytes);
        self.control.note(format!("{from} sends {what}, {bytes}"));
        Ok((session, false))
    }

    fn aim(&self, session: &Session, table: &mut Table, bytes: u64) {
        table.announced_bytes = table.announced_bytes.saturating_add(bytes);
        let (total_bytes, done_bytes) = match &self.meters {
            Meters::All(_) => (table.announced_bytes, Some(Arc::clone(&self.done_bytes))),
            Meters::Each(..) => (bytes, None),
        };
        let total_bytes = (total_bytes > 0).then_some(total_bytes);
        session.meter.aim(Goal { total_bytes, done_bytes, ..Goal::default() });
    }

    pub fn left(&self, session: &Arc<Session>) {
        if session.state().ended.is_some() {
            self.remove(session);
        }
        // Notifies the monitor under the lock, or it could miss this between its look and its wait.
        let _table = self.table();
        self.changed.notify_all();
    }

    /// Ends sessions whose sender is gone, for one that is there.
    pub fn free_names(&self, wants: &Arc<Session>) {
        self.forget_gone(|session| session.number != wants.number);
    }

    /// The monitor: knows which sessions are gone and have not come again in time, and which have
    /// brought nothing new for too long.
    pub fn monitor(&self) {
        let mut table = self.table();
        while !table.is_over {
            let now = Instant::now();
            let next = table.sessions.values().map(|session| session.end_of_patience()).min();
            table = match next.map(|end| end.saturating_duration_since(now)) {
                Some(Duration::ZERO) => {
                    let due = |session: &&Arc<Session>| session.end_of_patience() <= now;
                    let due: Vec<_> = table.sessions.values().filter(due).map(Arc::clone).collect();
                    drop(table);
                    due.iter().for_each(|session| self.lose_patience(session));
                    self.table()
                }
                // A session that ends does not tell, nor does one that becomes more patient.
                Some(wait) => self.changed.wait_timeout(table, wait.min(self.settings.timeout)),
                None => self.changed.wait(table),
            };
        }
    }

    fn lose_patience(&self, session: &Arc<Session>) {
        let is_there = {
            let state = session.state();
            state.gone.is_none() && state.concluded.is_none()
        };
        if is_there {
            let waited = self.settings.patience.as_secs_f64();
            let why = format!(
                "the sender is there, but has brought nothing new for {waited} s; send again, or have \
                 recv give more --patience"
            );
            // It is told, and has as long as anybody to leave.
            return session.end(Ended::Refused(Error::failed("receiving", why)));
        }
        self.remove(session);
    }

    pub fn is_open(&self) -> bool {
        !self.table().is_over
    }

    #[cfg(test)]
    pub(super) fn sessions(&self) -> usize {
        self.table().sessions.len()
    }

    /// Ends everything; what was received.
    pub fn close(&self) -> Vec<Received> {
        let sessions: Vec<_> = {
            let mut table = self.table();
            table.is_over = true;
            table.sessions.values().map(Arc::clone).collect()
        };
        self.changed.notify_all();
        for session in &sessions {
            self.remove(session);
        }
        let threads = std::mem::take(&mut self.table().threads);
        for thread in threads {
            let _ = thread.join();
        }
        std::mem::take(&mut self.table().received)
    }

    fn forget_gone(&self, which: impl Fn(&Arc<Session>) -> bool) {
        let gone: Vec<_> = {
            let table = self.table();
            let is_gone = |session: &&Arc<Session>| session.state().gone.is_some();
            table.sessions.values().filter(is_gone).map(Arc::clone).collect()
        };
        for session in gone.iter().filter(|session| which(session)) {
            self.remove(session);
        }
    }

    fn remove(&self, session: &Arc<Session>) {
        if self.table().sessions.remove(&session.number).is_none() {
            return;
        }
        session.close();
        let (ended, confirmed, received) = {
            let state = session.state();
            (state.ended.clone(), state.confirmed, state.received.clone())
        };
        if let Meters::Each(_, sessions) = &self.meters {
            let failure = failure(ended.as_ref(), confirmed);
            sessions.ended(
                &About::of(&received, &session.settings),
                session.meter.finish(),
                failure.as_ref(),
            );
        }
        let from = &received.from;
        let mut is_complete = confirmed;
        match ended {
            _ if confirmed => self.control.note(format!(
                "{from}: {}, {}: complete",
                words::files_and_directories(received.files, received.directories),
                words::size(received.bytes)
            )),
            Some(Ended::Refused(Error::Cancelled)) => {}
            Some(Ended::Refused(error)) => self.control.warn(words::of_peer(from, &error)),
            Some(Ended::GivenUp(why)) => {
                self.control.warn(format!("{from} has given up: {why}"));
            }
            Some(Ended::Well) => is_complete = false,
            None => self.control.warn(format!(
                "{from} is gone before its end; what has arrived is kept, and is not sent again"
            )),
        }
        let mut table = self.table();
        if is_complete {
            if table.received.len() == REMEMBERED {
                table.received.remove(0);
            }
            table.received.push(received);
            table.is_over |= self.settings.once;
        }
        drop(table);
        self.changed.notify_all();
    }
}

/// What a record says of a transfer.
#[derive(Serialize)]
struct About<'a> {
    peer: &'a str,
    security: &'static str,
    #[serde(flatten)]
    received: &'a Received,
}

impl<'a> About<'a> {
    fn of(received: &'a Received, settings: &Settings) -> Self {
        let security = match settings.security {
            Security::Encrypted | Security::PlainLoad => "TLS 1.3",
            Security::Plain => "plain",
        };
        About { peer: &received.from, security, received }
    }
}

/// Why a transfer did not end well, if it did not.
fn failure(ended: Option<&Ended>, is_confirmed: bool) -> Option<Error> {
    match ended {
        _ if is_confirmed => None,
        Some(Ended::Well) => None,
        Some(Ended::Refused(error)) => Some(error.clone()),
        Some(Ended::GivenUp(why)) => Some(Error::failed("the sender has given up", why)),
        None => Some(Error::failed("receiving", "the sender is gone before its end")),
    }
}
