//! The control connection of a transfer: answers offers, finishes files, confirms the whole.

use std::sync::Arc;
use std::time::Duration;

use super::manager::Manager;
use super::receiving::Receiving;
use super::session::{Ended, Session};
use crate::Error;
use crate::rt::spawn;
use crate::store::{Entry, Incoming, Name, Sum};
use crate::wire::messages::{
    Begin, ENTRIES_PER_PAGE, Kind, MOST_OPEN, Offered, SUMS_PER_PAGE, ToReceiver, ToSender,
};
use crate::wire::{Channel, ControlReceiver, ControlSender};
use crate::words;

/// Content of one page of claims, so that a slow disk has news well within a sender's patience: 16 s at
/// the 16 MiB/s that a memory card reads.
const CLAIMED_BYTES: u64 = 256 << 20;

/// Manages one control connection, from its first message to its end.
pub fn run(manager: &Arc<Manager>, channel: Channel) {
    let from = channel.peer().to_owned();
    if let Err(error) = manage(manager, channel) {
        manager.control.note(words::of_peer(&from, &error));
    }
}

fn manage(manager: &Arc<Manager>, mut channel: Channel) -> Result<(), Error> {
    let timeout = manager.settings.timeout;
    let Some(ToReceiver::Begin(begin)) = channel.read_frame_within(timeout)? else {
        return Err(Error::failed("beginning a transfer", "it did not begin with one"));
    };
    channel.set_patience(timeout)?;
    let (session, resumed) = match manager.session(&begin, channel.peer()) {
        Ok(found) => found,
        Err(busy) => {
            channel.write_frame(&busy)?;
            return channel.finish();
        }
    };
    let socket = channel.socket().try_clone();
    let socket = socket.map_err(|error| Error::failed("preparing a connection", error))?;
    let epoch = session.take_over(socket);
    if !session.enter(epoch) {
        // Its last task may have ended it meanwhile; nobody else would remove it.
        manager.left(&session);
        return Err(Error::failed("beginning a transfer", "another connection has taken over"));
    }
    let guard = ControlGuard(Control { manager: Arc::clone(manager), session, epoch });
    guard.0.talk(&begin, channel, resumed)
}

/// One control connection of a session; it is the current one as long as the session has its epoch.
#[derive(Clone)]
struct Control {
    manager: Arc<Manager>,
    session: Arc<Session>,
    epoch: u64,
}

/// A control connection of a running thread; dropped, also by a panic, it leaves the session.
struct ControlGuard(Control);

impl Drop for ControlGuard {
    fn drop(&mut self) {
        let Control { manager, session, epoch } = &self.0;
        session.exit();
        session.is_gone(*epoch);
        manager.left(session);
    }
}

impl Control {
    fn talk(&self, begin: &Begin, mut channel: Channel, resumed: bool) -> Result<(), Error> {
        let session = &self.session;
        let timeout = session.settings.timeout;
        channel.write_frame(&ToSender::Welcome {
            session: session.number,
            streams: begin.streams.min(session.settings.limits.streams),
            resumed,
            patience_ms: u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX),
        })?;
        let theirs = Duration::from_millis(u64::from(begin.patience_ms));
        let idle = (timeout.min(theirs) / 4).max(Duration::from_millis(10));
        let (sender, receiver) = channel.into_control();
        let this = self.clone();
        let reporter = spawn("report", move || this.report(&sender, idle))?;
        let this = self.clone();
        let collector = spawn("collect", move || this.collect());
        let listened = match &collector {
            Ok(_) => self.listen(receiver),
            Err(error) => Err(error.clone()),
        };
        // While the connection lives, queued messages go out first.
        if listened.is_err() || session.state().ended.is_none() {
            session.is_gone(self.epoch);
        }
        let _ = reporter.join();
        session.is_gone(self.epoch);
        if let Ok(collector) = collector {
            let _ = collector.join();
        }
        listened
    }

    /// Sends queued messages, and keepalives while there are none.
    fn report(&self, sender: &ControlSender, idle: Duration) {
        while let Some(messages) = self.session.next_messages(self.epoch, idle) {
            let sent = match messages.is_empty() {
                true => sender.keep_alive(),
                false => messages.iter().try_for_each(|message| sender.send(message)),
            };
            if sent.is_err() {
                return self.session.is_gone(self.epoch);
            }
        }
        // Ended: the sender reads the last message and closes.
        let _ = sender.finish();
    }

    fn listen(&self, mut receiver: ControlReceiver) -> Result<(), Error> {
        while self.session.is_current(self.epoch) {
            let Some(message) = receiver.receive()? else {
                return Err(Error::failed("receiving", "the sender has closed the connection"));
            };
            if !self.handle(message)? {
                break;
            }
            // After a refusal the sender ends the connection.
        }
        Ok(())
    }

    /// Does what a message asks for; false if it is the last one.
    fn handle(&self, message: ToReceiver) -> Result<bool, Error> {
        let session = &self.session;
        match message {
            ToReceiver::Begin(_) => {
                return Err(Error::failed("receiving", "the sender has begun twice"));
            }
            ToReceiver::Offer { first, entries } => {
                for (number, offered) in (first..=u32::MAX).zip(entries) {
                    match self.offer(number, offered) {
                        Ok(true) => {}
                        Ok(false) => break,
                        Err(error) => {
                            session.end(Ended::Refused(error));
                            break;
                        }
                    }
                }
            }
            ToReceiver::Length { file, bytes } => {
                let incoming = session.state().files.get(&file).map(|it| Arc::clone(&it.incoming));
                let ended = incoming.filter(|it| it.blocks().file_bytes().is_none());
                if let Some(Err(error)) = ended.map(|incoming| incoming.end(bytes)) {
                    session.end(Ended::Refused(error));
                }
            }
            ToReceiver::Abandon { file } => {
                session.state().files.remove(&file);
            }
            task @ (ToReceiver::Finish { .. } | ToReceiver::End { .. }) => {
                session.ask(task, self.epoch)
            }
            ToReceiver::Bye => {
                session.end(Ended::Well);
                return Ok(false);
            }
            ToReceiver::GiveUp { why } => {
                session.end(Ended::GivenUp(why));
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Queues a message; false if this is not the current control connection any more.
    fn say(&self, message: ToSender) -> bool {
        self.session.say(message, self.epoch)
    }

    /// Answers the offer of a file or a directory; false if no more is answered by this connection.
    fn offer(&self, number: u32, offered: Offered) -> Result<bool, Error> {
        let session = &self.session;
        if session.is_busy() {
            return Ok(false);
        }
        let next = session.state().next_entry;
        if number < next {
            return self.offer_again(number, &offered).map(|()| true);
        }
        if number > next {
            return Err(Error::Refused(format!("entry {number} was offered before entry {next}")));
        }
        if session.state().files.len() >= MOST_OPEN + ENTRIES_PER_PAGE {
            let why = format!("more than {MOST_OPEN} files were offered and are not sent");
            return Err(Error::Refused(why));
        }
        let name = Name::new(offered.name)?;
        let mut blocks = 0;
        let mode = offered.mode & !session.settings.umask;
        match offered.kind {
            Kind::Directory => {
                let modified = offered.modified.unwrap_or_default();
                session.delivery.directory(&name, mode, modified)?;
                let mut state = session.state();
                state.digest.directory(u64::from(number), name.as_bytes());
                state.directories.insert(number);
                state.received.directories += 1;
            }
            Kind::File { bytes } => {
                if session.store.is_busy(&name) {
                    self.manager.free_names(session);
                }
                if session.store.is_busy(&name) {
                    let why = format!("{name} is being received already; trying again later");
                    session.busy(why, self.epoch);
                    return Ok(false);
                }
                let (modified, hole_bytes) = (offered.modified, offered.hole_bytes);
                let entry = Entry { name, bytes, mode, modified, hole_bytes };
                let incoming = session.delivery.begin(entry)?;
                self.claim(number, &incoming)?;
                blocks = incoming.blocks().most();
                session.state().files.insert(number, Receiving::new(incoming));
            }
        }
        session.state().offered(blocks);
        self.say(ToSender::Ready { file: number });
        Ok(true)
    }

    /// Tells the sender which blocks of a file are there.
    fn claim(&self, file: u32, incoming: &Incoming) -> Result<(), Error> {
        let mut sums = Vec::new();
        let most = CLAIMED_BYTES / incoming.blocks().block_bytes();
        let most = usize::try_from(most).unwrap_or(SUMS_PER_PAGE).clamp(1, SUMS_PER_PAGE);
        let gone = || Error::failed("answering", "the connection is gone");
        incoming.held(|index, sum| {
            let Ok(index) = u32::try_from(index) else { return Ok(()) };
            sums.push((index, sum));
            if sums.len() == most {
                let sums = std::mem::take(&mut sums);
                if !self.say(ToSender::Claims { file, sums }) {
                    return Err(gone());
                }
            }
            Ok(())
        })?;
        if !sums.is_empty() && !self.say(ToSender::Claims { file, sums }) {
            return Err(gone());
        }
        Ok(())
    }

    /// After the control connection was replaced: what is known of an entry.
    fn offer_again(&self, number: u32, offered: &Offered) -> Result<(), Error> {
        let state = self.session.state();
        let is_directory = state.directories.contains(&number);
        let known = state.files.get(&number);
        let known = known.map(|it| (Arc::clone(&it.incoming), it.arrived.runs(number)));
        drop(state);
        if is_directory != (offered.kind == Kind::Directory) {
            return Err(Error::Refused(format!("entry {number} was offered as something else")));
        }
        match known {
            Some((incoming, runs)) => {
                if runs.is_empty() {
                    // The sender may not have heard what is held, and would send it all.
                    self.claim(number, &incoming)?;
                }
                self.say(ToSender::Ready { file: number });
                for page in runs.chunks(SUMS_PER_PAGE) {
                    self.say(ToSender::Arrived(page.to_vec()));
                }
            }
            None if is_directory => drop(self.say(ToSender::Ready { file: number })),
            None => drop(self.say(ToSender::Stored { file: number })),
        }
        Ok(())
    }

    /// Finishes files, the role of the monitor thread in the thesis.
    fn collect(&self) {
        while let Some(task) = self.session.task(self.epoch) {
            let done = match task {
                ToReceiver::Finish { file, digest } => self.finish(file, &digest),
                ToReceiver::End { entries, digest } => self.settle(entries, &digest),
                _ => Ok(()),
            };
            if let Err(error) = done {
                self.session.end(Ended::Refused(error));
            }
        }
    }

    fn finish(&self, file: u32, digest: &Sum) -> Result<(), Error> {
        let session = &self.session;
        let incoming = session.state().files.get(&file).map(|it| Arc::clone(&it.incoming));
        if let Some(incoming) = incoming {
            // Before it gets its name: blocks of two versions of a source must not become a file.
            let ours = incoming.digest()?;
            if ours != *digest {
                let name = &incoming.entry().name;
                let why =
                    "its content is not what the sender has; it was changed while it was sent";
                return Err(Error::failed(format!("receiving {name}"), why));
            }
            incoming.finish()?;
            let bytes = incoming.blocks().file_bytes().unwrap_or(0);
            let mut state = session.state();
            let name = incoming.entry().name.as_bytes();
            state.digest.file(u64::from(file), name, bytes, &ours);
            state.received.files += 1;
            state.received.bytes += bytes;
            state.files.remove(&file);
            state.patience.answered(1);
        }
        self.say(ToSender::Stored { file });
        Ok(())
    }

    fn settle(&self, entries: u32, digest: &Sum) -> Result<(), Error> {
        let session = &self.session;
        let ours = {
            let state = session.state();
            let is_all = state.next_entry == entries && state.files.is_empty();
            is_all.then(|| state.digest.digest(u64::from(entries))).flatten()
        };
        match ours {
            Some(ours) if ours == *digest => {
                session.delivery.settle()?;
                session.confirm(ours, self.epoch);
                Ok(())
            }
            _ => {
                let why = "not everything that the sender announced has arrived; send again";
                Err(Error::failed("ending a transfer", why))
            }
        }
    }
}
