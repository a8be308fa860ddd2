//! One control connection from beginning to end, and the threads that live as long.

use std::net::Shutdown;
use std::sync::Arc;
use std::time::Duration;

use super::auto;
use super::session::{Session, cancelled};
use super::settings::Streams;
use super::state::{End, Origin, Sending, State};
use super::stream::Target;
use super::walk::{Count, Found, Walk};
use crate::Error;
use crate::auth::{Purpose, greet};
use crate::rt::{Instant, JoinHandle, spawn};
use crate::socket::{Wishes, connect};
use crate::store::Blocks;
use crate::wire::messages::{
    Begin, ENTRIES_PER_PAGE, Kind, MOST_OPEN, NAME_BYTES_PER_PAGE, Offered, ToReceiver, ToSender,
};
use crate::wire::{Channel, ControlReceiver, ControlSender};

/// Blocks of offered files, unless one file has more: 40 bytes each while the receiver claims them.
const MOST_OPEN_BLOCKS: u64 = 1 << 20;

/// What the receiver said to begin with.
struct Agreed {
    session: u64,
    streams: u32,
    resumed: bool,
    idle: Duration,
}

/// The receiver's address, and how the control connection to it has ended.
pub fn attempt(
    session: &Arc<Session>,
    addresses: &[std::net::SocketAddr],
    count: Count,
    number: u32,
) -> End {
    let (channel, agreed) = match begin(session, addresses, count) {
        Ok(begun) => begun,
        Err(error) => return end_of(session, error),
    };
    let address = channel.socket().peer_addr().ok().and_then(|address| address.as_socket());
    let Some(address) = address else {
        return End::Broken(Error::failed("connecting", "the receiver has gone"));
    };
    if let Err(end) = go_on(session, number, agreed.resumed) {
        return end;
    }
    let (sender, receiver) = channel.into_control();
    let mut threads = vec![];
    let target = Target { address, session: agreed.session, idle: agreed.idle };
    let started = start(session, &sender, receiver, target, &agreed, &mut threads);
    if let Err(error) = started {
        session.end(End::Fatal(error));
    }
    let end = session.wait_for_end();
    let is_parted = !threads.is_empty() && session.wait_for_parting();
    session.shut_streams();
    // Last words that were sent are still delivered; threads waiting for the receiver are woken.
    let how = if is_parted && end == End::Confirmed { Shutdown::Read } else { Shutdown::Both };
    let _ = sender.socket().shutdown(how);
    for thread in threads {
        let _ = thread.join();
    }
    session.join_streams();
    end
}

fn begin(
    session: &Session,
    addresses: &[std::net::SocketAddr],
    count: Count,
) -> Result<(Channel, Agreed), Error> {
    let settings = &session.settings;
    let wishes = Wishes { from: settings.options.wishes.from, ..Wishes::default() };
    // The greeting and its answer together have the time that anything may take.
    let deadline = Instant::now() + settings.timeout;
    let left = || deadline.saturating_duration_since(Instant::now());
    let socket = connect(addresses, &wishes, settings.timeout, &session.control)?;
    let purpose = Purpose::Control;
    let greeted = greet(socket, &settings.token, settings.security, &purpose, left());
    let mut channel = greeted.map_err(|error| session.forgive(error))?;
    channel.set_patience(settings.timeout)?;
    channel.write_frame(&ToReceiver::Begin(Begin {
        transfer: settings.transfer,
        streams: settings.most_streams(),
        entries: count.entries,
        bytes: count.bytes,
        patience_ms: u32::try_from(settings.timeout.as_millis()).unwrap_or(u32::MAX),
    }))?;
    match channel.read_frame_within(left())? {
        Some(ToSender::Welcome { session, streams, resumed, patience_ms }) => {
            let theirs = Duration::from_millis(u64::from(patience_ms));
            // Tolerates three late keepalives.
            let idle = (settings.timeout.min(theirs) / 4).max(Duration::from_millis(10));
            channel.set_patience(settings.timeout)?;
            Ok((channel, Agreed { session, streams, resumed, idle }))
        }
        Some(ToSender::Refused { why }) => Err(Error::Refused(why)),
        Some(ToSender::Busy { why }) => Err(Error::failed("the receiver is busy", why)),
        Some(_) => Err(Error::failed("talking with the receiver", "it does not welcome")),
        None => Err(Error::failed("talking with the receiver", "it has closed the connection")),
    }
}

/// Goes on where the receiver is, or from the beginning.
pub(super) fn go_on(session: &Session, number: u32, resumed: bool) -> Result<(), End> {
    if resumed {
        session.state().reconnected();
        return Ok(());
    }
    if number > 0 && session.settings.path.is_none() && session.state().gone_blocks > 0 {
        let why = "the receiver was started again, and what it had of standard input cannot be read \
                   twice";
        return Err(End::Fatal(Error::failed("going on with the transfer", why)));
    }
    match session.restart() {
        true => Ok(()),
        false => {
            let why = "the receiver forgets the transfer again and again, and nothing more arrives";
            Err(End::Fatal(Error::failed("going on with the transfer", why)))
        }
    }
}

fn start(
    session: &Arc<Session>,
    sender: &ControlSender,
    receiver: ControlReceiver,
    target: Target,
    agreed: &Agreed,
    threads: &mut Vec<JoinHandle<()>>,
) -> Result<(), Error> {
    let (of, to) = (Arc::clone(session), sender.clone());
    let idle = agreed.idle;
    threads.push(spawn("talk", move || talk(&of, &to, idle))?);
    let of = Arc::clone(session);
    threads.push(spawn("listen", move || listen(&of, receiver))?);
    let wanted = session.settings.first_streams();
    if agreed.streams < wanted {
        let allowed = agreed.streams;
        session.control.note(format!("the receiver allows {allowed} streams of {wanted}"));
    }
    session.streams.lock().target = Some(target);
    for _ in 0..wanted.min(agreed.streams).max(1) {
        session.add_stream()?;
    }
    if matches!(session.settings.options.streams, Streams::Auto(_)) {
        let (of, first, most) = (Arc::clone(session), wanted, agreed.streams.max(1));
        threads.push(spawn("choose", move || auto::run(&of, first, most))?);
    }
    Ok(())
}

fn listen(session: &Arc<Session>, mut receiver: ControlReceiver) {
    loop {
        match receiver.receive::<ToSender>() {
            Ok(Some(message)) => {
                if let ToSender::Lost { connection, why } = &message {
                    session
                        .control
                        .note(format!("connection {connection} broke at the receiver: {why}"));
                }
                if let Some(file) = session.handle(message) {
                    session.read_input(file);
                }
            }
            Ok(None) => {
                let why = "it has closed the connection; it may have been stopped";
                return session.end(End::Broken(Error::failed("talking with the receiver", why)));
            }
            Err(error) => return session.end(end_of(session, error)),
        }
        if session.is_over() {
            return;
        }
    }
}

/// What there is to say: answers, offers, the end, and that the sender is still there.
fn talk(session: &Session, sender: &ControlSender, idle: Duration) {
    if let Err(error) = talk_until_over(session, sender, idle) {
        session.end(end_of(session, error));
    }
    let end = session.wait_for_end();
    let _ = match end {
        End::Confirmed => sender.send(&ToReceiver::Bye).and_then(|()| sender.finish()),
        End::Fatal(error) => {
            let why = error.to_string();
            sender.send(&ToReceiver::GiveUp { why }).and_then(|()| sender.finish())
        }
        End::Broken(_) => Ok(()),
    };
    session.part();
}

/// What the control connection is to say next.
pub(super) enum Next {
    Say(Vec<ToReceiver>),
    /// The next [`page`] of what there is.
    Offer,
    /// Nothing: it has ended.
    Over,
}

/// What there is to say; none while there is nothing.
pub(super) fn next(state: &mut State) -> Option<Next> {
    if state.ended.is_some() {
        return Some(Next::Over);
    }
    if !state.outbox.is_empty() {
        return Some(Next::Say(state.outbox.drain(..).collect()));
    }
    let has_room = state.entries.len() < MOST_OPEN
        && (state.open_blocks < MOST_OPEN_BLOCKS || state.entries.is_empty());
    if !state.is_all_offered && has_room {
        return Some(Next::Offer);
    }
    let end = state.conclusion().map(|end| Next::Say(vec![end]));
    end.or_else(|| state.ended.is_some().then_some(Next::Over))
}

fn talk_until_over(session: &Session, sender: &ControlSender, idle: Duration) -> Result<(), Error> {
    // Sent without the lock, which the thread that receives the answers needs.
    let before = offered_before(&session.state());
    for (first, entries) in before {
        sender.send(&ToReceiver::Offer { first, entries })?;
    }
    loop {
        match session.wait_for_message(idle, next) {
            Some(Next::Over) => {
                session.wake();
                return Ok(());
            }
            Some(Next::Say(messages)) => messages.iter().try_for_each(|it| sender.send(it))?,
            Some(Next::Offer) => page(session)?.iter().try_for_each(|it| sender.send(it))?,
            None => sender.keep_alive()?,
        }
    }
}

/// What was offered before the control connection was replaced, and is not stored.
pub(super) fn offered_before(state: &State) -> Vec<(u32, Vec<Offered>)> {
    let one = |(number, sending): (&u32, &Sending)| (*number, vec![sending.offered.clone()]);
    state.entries.iter().map(one).collect()
}

/// Offers the next page; none if there is no more.
pub(super) fn page(session: &Session) -> Result<Option<ToReceiver>, Error> {
    let mut page = Vec::new();
    let mut bytes = 0;
    let mut first = None;
    while page.len() < ENTRIES_PER_PAGE && bytes < NAME_BYTES_PER_PAGE {
        let found = next_of(session).transpose()?;
        let mut state = session.state();
        let Some((offered, origin)) = found else {
            state.is_all_offered = true;
            state.queue.complete();
            break;
        };
        bytes += offered.name.len();
        page.push(offered.clone());
        let number = state.offer(offered, origin);
        first.get_or_insert(number);
        if state.open_blocks >= MOST_OPEN_BLOCKS {
            break;
        }
    }
    let Some(first) = first else {
        session.work.notify_all();
        return Ok(None);
    };
    Ok(Some(ToReceiver::Offer { first, entries: page }))
}

fn next_of(session: &Session) -> Option<Result<(Offered, Origin), Error>> {
    let settings = &session.settings;
    let Some(path) = &settings.path else {
        let offered = Offered {
            name: settings.name.clone(),
            kind: Kind::File { bytes: None },
            // It has none of its own, and a receiver keeps to what it is told: as files are usually.
            mode: 0o644,
            modified: None,
            hole_bytes: 0,
        };
        return (session.state().next_entry == 0).then_some(Ok((offered, Origin::Stream)));
    };
    let mut walk = session.walk.lock();
    let walk =
        walk.get_or_insert_with(|| Walk::new(path, &settings.name, session.control.clone(), true));
    let found = walk.next()?;
    Some(found.map(|Found { path, entry, stat }| {
        let blocks = Blocks::of(stat.bytes());
        (entry, Origin::Disk { path, stat, blocks })
    }))
}

/// Errors that another connection cannot mend are fatal.
fn end_of(session: &Session, error: Error) -> End {
    match cancelled(&session.control, error) {
        error @ Error::Failed { .. } => End::Broken(error),
        error => End::Fatal(error),
    }
}
