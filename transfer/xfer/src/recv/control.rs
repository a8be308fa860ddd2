//! The control connection of a transfer: answers offers, finishes files, confirms the whole.

use std::sync::Arc;
use std::time::Duration;

use super::manager::Manager;
use super::receiving::Receiving;
use super::session::{Ended, Session};
use crate::Error;
use crate::rt::spawn;
use crate::store::{Entry, Name};
use crate::wire::messages::{
    Begin, ENTRIES_PER_PAGE, Kind, MOST_OPEN, Offered, SUMS_PER_PAGE, ToReceiver, ToSender,
};
use crate::wire::{Channel, ControlReceiver, ControlSender};
use crate::words;

/// Manages one control connection, from its first message to its end.
pub fn run(manager: &Arc<Manager>, channel: Channel) {
    let from = channel.peer().to_owned();
    if let Err(error) = manage(manager, channel) {
        manager.control.note(words::of_peer(&from, &error));
    }
}

fn manage(manager: &Arc<Manager>, mut channel: Channel) -> Result<(), Error> {
    let timeout = manager.settings.timeout;
    channel.set_patience(timeout)?;
    let Some(ToReceiver::Begin(begin)) = channel.read_frame()? else {
        return Err(Error::failed("beginning a transfer", "it did not begin with one"));
    };
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
    let Some(_talking) = ControlGuard::begin(manager, &session, epoch) else {
        // Its last task may have ended it meanwhile; nobody else would remove it.
        manager.left(&session);
        return Err(Error::failed("beginning a transfer", "another connection has taken over"));
    };
    talk(manager, &session, epoch, &begin, channel, resumed)
}

/// A control connection as long as its thread lives, however that ends.
struct ControlGuard<'a> {
    manager: &'a Manager,
    session: &'a Arc<Session>,
    epoch: u64,
}

impl<'a> ControlGuard<'a> {
    /// None if it is not the session's any longer.
    fn begin(manager: &'a Manager, session: &'a Arc<Session>, epoch: u64) -> Option<Self> {
        // Made only then: it leaves when it is dropped.
        session.enter(epoch).then(|| ControlGuard { manager, session, epoch })
    }
}

impl Drop for ControlGuard<'_> {
    fn drop(&mut self) {
        self.session.exit();
        self.session.is_gone(self.epoch);
        self.manager.left(self.session);
    }
}

fn talk(
    manager: &Arc<Manager>,
    session: &Arc<Session>,
    epoch: u64,
    begin: &Begin,
    mut channel: Channel,
    resumed: bool,
) -> Result<(), Error> {
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
    let of = Arc::clone(session);
    let reporter = spawn("report", move || report(&of, epoch, &sender, idle))?;
    let of = Arc::clone(session);
    let collector = spawn("collect", move || collect(&of, epoch));
    let listened = match &collector {
        Ok(_) => listen(manager, session, epoch, receiver),
        Err(error) => Err(error.clone()),
    };
    // What is still to be said goes out first, if the connection is there.
    if listened.is_err() || session.state().ended.is_none() {
        session.is_gone(epoch);
    }
    let _ = reporter.join();
    session.is_gone(epoch);
    if let Ok(collector) = collector {
        let _ = collector.join();
    }
    listened
}

/// Says what there is to say, and that the receiver is still there.
fn report(session: &Session, epoch: u64, sender: &ControlSender, idle: Duration) {
    while let Some(words) = session.next_messages(epoch, idle) {
        let said = match words.is_empty() {
            true => sender.keep_alive(),
            false => words.iter().try_for_each(|word| sender.send(word)),
        };
        if said.is_err() {
            return session.is_gone(epoch);
        }
    }
    // Ended: the sender reads the last message and closes.
    let _ = sender.finish();
}

fn listen(
    manager: &Arc<Manager>,
    session: &Arc<Session>,
    epoch: u64,
    mut receiver: ControlReceiver,
) -> Result<(), Error> {
    while session.is_current(epoch) {
        let Some(message) = receiver.receive()? else {
            return Err(Error::failed("receiving", "the sender has closed the connection"));
        };
        if !handle(manager, session, epoch, message)? {
            break;
        }
        // After a refusal the sender ends the connection.
    }
    Ok(())
}

/// Does what a message asks for; false if it is the last one.
pub(super) fn handle(
    manager: &Arc<Manager>,
    session: &Arc<Session>,
    epoch: u64,
    message: ToReceiver,
) -> Result<bool, Error> {
    match message {
        ToReceiver::Begin(_) => {
            return Err(Error::failed("receiving", "the sender has begun twice"));
        }
        ToReceiver::Offer { first, entries } => {
            for (number, offered) in (first..=u32::MAX).zip(entries) {
                match offer(manager, session, epoch, number, offered) {
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
        task @ (ToReceiver::Finish { .. } | ToReceiver::End { .. }) => session.ask(task, epoch),
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

/// Answers the offer of a file or a directory; false if no more is answered by this connection.
fn offer(
    manager: &Arc<Manager>,
    session: &Arc<Session>,
    epoch: u64,
    number: u32,
    offered: Offered,
) -> Result<bool, Error> {
    if session.is_busy() {
        return Ok(false);
    }
    let next = session.state().next_entry;
    if number < next {
        return offer_again(session, epoch, number, &offered).map(|()| true);
    }
    if number > next {
        return Err(Error::Refused(format!("entry {number} was offered before entry {next}")));
    }
    if session.state().files.len() >= MOST_OPEN + ENTRIES_PER_PAGE {
        let why = format!("more than {MOST_OPEN} files were offered and are not sent");
        return Err(Error::Refused(why));
    }
    let name = Name::new(offered.name)?;
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
                manager.free_names(session);
            }
            if session.store.is_busy(&name) {
                let why = format!("{name} is being received already; trying again later");
                session.busy(why, epoch);
                return Ok(false);
            }
            let modified = offered.modified;
            let incoming = session.delivery.begin(Entry { name, bytes, mode, modified })?;
            claim(session, epoch, number, &incoming)?;
            session.state().files.insert(number, Receiving::new(incoming));
        }
    }
    session.state().next_entry = number + 1;
    session.say(ToSender::Ready { file: number }, epoch);
    Ok(true)
}

fn claim(
    session: &Session,
    epoch: u64,
    file: u32,
    incoming: &crate::store::Incoming,
) -> Result<(), Error> {
    let mut sums = Vec::new();
    let gone = || Error::failed("answering", "the connection is gone");
    incoming.held(|index, sum| {
        let Ok(index) = u32::try_from(index) else { return Ok(()) };
        sums.push((index, sum));
        if sums.len() == SUMS_PER_PAGE {
            let sums = std::mem::take(&mut sums);
            if !session.say(ToSender::Claims { file, sums }, epoch) {
                return Err(gone());
            }
        }
        Ok(())
    })?;
    if !sums.is_empty() && !session.say(ToSender::Claims { file, sums }, epoch) {
        return Err(gone());
    }
    Ok(())
}

/// After the control connection was replaced: what is known of an entry.
fn offer_again(session: &Session, epoch: u64, number: u32, offered: &Offered) -> Result<(), Error> {
    let state = session.state();
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
                claim(session, epoch, number, &incoming)?;
            }
            session.say(ToSender::Ready { file: number }, epoch);
            for page in runs.chunks(SUMS_PER_PAGE) {
                session.say(ToSender::Arrived(page.to_vec()), epoch);
            }
        }
        None if is_directory => drop(session.say(ToSender::Ready { file: number }, epoch)),
        None => drop(session.say(ToSender::Stored { file: number }, epoch)),
    }
    Ok(())
}

/// Finishes files, the role of the monitor thread in the thesis.
fn collect(session: &Session, epoch: u64) {
    while let Some(task) = session.task(epoch) {
        gather(session, epoch, task);
    }
}

pub(super) fn gather(session: &Session, epoch: u64, task: ToReceiver) {
    let done = match task {
        ToReceiver::Finish { file, digest } => finish(session, epoch, file, &digest),
        ToReceiver::End { entries, digest } => settle(session, epoch, entries, &digest),
        _ => Ok(()),
    };
    if let Err(error) = done {
        session.end(Ended::Refused(error));
    }
}

fn finish(
    session: &Session,
    epoch: u64,
    file: u32,
    digest: &crate::store::Sum,
) -> Result<(), Error> {
    let incoming = session.state().files.get(&file).map(|it| Arc::clone(&it.incoming));
    if let Some(incoming) = incoming {
        // Before it gets its name: blocks of two versions of a source must not become a file.
        let ours = incoming.digest()?;
        if ours != *digest {
            let name = &incoming.entry().name;
            let why = "its content is not what the sender has; it was changed while it was sent";
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
    }
    session.say(ToSender::Stored { file }, epoch);
    Ok(())
}

fn settle(
    session: &Session,
    epoch: u64,
    entries: u32,
    digest: &crate::store::Sum,
) -> Result<(), Error> {
    let ours = {
        let state = session.state();
        let is_all = state.next_entry == entries && state.files.is_empty();
        is_all.then(|| state.digest.digest(u64::from(entries))).flatten()
    };
    match ours {
        Some(ours) if ours == *digest => {
            session.delivery.settle()?;
            session.confirm(ours, epoch);
            Ok(())
        }
        _ => {
            let why = "not everything is here that the sender says it has sent; send it again";
            Err(Error::failed("ending a transfer", why))
        }
    }
}
