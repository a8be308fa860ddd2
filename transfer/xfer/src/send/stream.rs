//! One stream: its data connection, and those that replace it.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::block_sender::{BlockSender, Trouble};
use super::blocks::Block;
use super::session::Session;
use super::state::{End, Task};
use crate::Error;
use crate::auth::{Purpose, greet};
use crate::measure::Payload;
use crate::rt::Instant;
use crate::socket::{congestion_control, connect};
use crate::wire::Channel;
use crate::wire::messages::{DataHead, Run};

/// How long a broken connection waits until it is replaced: doubled from the first to the last, so
/// that a receiver that has just gone is not hammered.
const BACK_OFF: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(3)];

/// Where a stream connects to.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: std::net::SocketAddr,
    pub session: u64,
    /// How often something has to be said that the receiver does not give up.
    pub idle: Duration,
}

/// Carries blocks until there are no more, over one connection and those that replace it.
pub fn run(session: &Session, lane: u32, target: &Target) {
    let mut back_off = BACK_OFF[0];
    loop {
        let connection = session.number_connection(lane);
        let began = Instant::now();
        let failure = match live(session, lane, connection, target) {
            Ok(()) => break,
            Err(failure) => failure,
        };
        if session.is_over() {
            return;
        }
        let latest = session.state().patience.latest();
        match failure {
            Error::Input(_) | Error::Cancelled => return session.end(End::Fatal(failure)),
            // The receiver has taken the token before: what refuses it was changed on the way.
            Error::Failed { .. } | Error::Refused(_) => {
                session.control.note(format!("stream {lane} is replaced: {failure}"));
                session.state().latest_failure = Some(failure);
            }
        }
        back_off = if latest > began { BACK_OFF[0] } else { (2 * back_off).min(BACK_OFF[1]) };
        if session.control.sleep(back_off) {
            return session.end(End::Fatal(Error::Cancelled));
        }
    }
    session.vacate(lane);
}

fn live(session: &Session, lane: u32, connection: u32, target: &Target) -> Result<(), Error> {
    let mut channel = open(session, lane, connection, target).inspect_err(|_| {
        session.disconnected(lane, connection, false);
    })?;
    let failed = |error| Error::failed("preparing a data connection", error);
    let cc = congestion_control(channel.socket()).unwrap_or_default();
    let written = Arc::new(AtomicU64::new(0));
    let id = format!("transfer/{lane}");
    let payload = Payload::Written(Arc::clone(&written));
    let watched = session.meter.add(&id, &cc, channel.socket(), payload).map_err(failed)?;
    let carried = carry(session, lane, connection, &mut channel, target.idle, &written);
    // The receiver may confirm everything before this connection is told to end.
    if matches!(carried, Ok(true)) || session.is_confirmed() {
        watched.has_delivered_all();
    } else {
        drop(watched);
    }
    let ended = match carried {
        Ok(true) => leave(&mut channel),
        Ok(false) => Ok(()),
        Err(error) => Err(error),
    };
    session.disconnected(lane, connection, ended.is_err());
    ended
}

fn open(session: &Session, lane: u32, connection: u32, target: &Target) -> Result<Channel, Error> {
    let settings = &session.settings;
    let timeout = settings.timeout;
    let socket = connect(&[target.address], &settings.options.wishes, timeout, &session.control)?;
    let other = socket.socket.try_clone();
    let other = other.map_err(|error| Error::failed("preparing a data connection", error))?;
    // Before the greeting, which may take its time: whoever ends the transfer ends it, too.
    session.connected(lane, connection, other);
    let purpose = Purpose::Data { session: target.session, stream: connection };
    let channel = greet(socket, &settings.token, settings.security, &purpose, timeout)?;
    channel.set_patience(timeout)?;
    Ok(channel)
}

/// Carries blocks; true if the connection is to end as it should, false if all is over.
fn carry(
    session: &Session,
    lane: u32,
    connection: u32,
    channel: &mut Channel,
    idle: Duration,
    written: &AtomicU64,
) -> Result<bool, Error> {
    let mut block_sender = BlockSender::new(written);
    loop {
        let task = match session.take(lane, connection, Duration::ZERO) {
            Task::Wait => {
                // What was queued must not wait for what may not come.
                channel.flush()?;
                session.take(lane, connection, idle)
            }
            task => task,
        };
        match task {
            Task::Carry(run, origin) => {
                for index in run.first..run.first + run.count {
                    let done = index - run.first;
                    let rest = Run { first: index, count: run.count - done, ..run };
                    if done > 0 && session.gives_back(lane, rest) {
                        break;
                    }
                    let block = Block { file: run.file, index };
                    match block_sender.block(session, channel, block, &origin) {
                        Ok(()) => {}
                        Err(Trouble::Connection(error)) => return Err(error),
                        Err(Trouble::Source(error)) => {
                            session.control.warn(error.to_string());
                            session.abandon(run.file);
                            // Half a block may be out, that nothing can follow.
                            return Err(error);
                        }
                    }
                }
            }
            Task::Wait => channel.write_frame(&DataHead::Idle)?,
            Task::End => {
                channel.write_frame(&DataHead::End)?;
                return Ok(true);
            }
            Task::Over => return Ok(false),
        }
    }
}

fn leave(channel: &mut Channel) -> Result<(), Error> {
    channel.finish()?;
    while channel.read_frame::<DataHead>()?.is_some() {}
    Ok(())
}
