//! A data connection, in its own thread: blocks to disk.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::session::{Due, Ended, Session};
use crate::Error;
use crate::measure::Payload;
use crate::socket::congestion_control;
use crate::store::{Stopped, Sum, scratch};
use crate::wire::Channel;
use crate::wire::messages::{DataHead, lane_of};

/// Receives what comes over a connection, until its end.
pub fn run(session: &Session, number: u32, mut channel: Channel) {
    let Ok(socket) = channel.socket().try_clone() else { return };
    let Some(mut connected) = session.connect(number, socket) else { return };
    connected.failure = receive(session, number, connected.epoch, &mut channel).err();
}

fn receive(session: &Session, number: u32, epoch: u64, channel: &mut Channel) -> Result<(), Error> {
    channel.set_patience(session.settings.timeout)?;
    let read = Arc::new(AtomicU64::new(0));
    let cc = congestion_control(channel.socket()).unwrap_or_default();
    let transfer = match session.place {
        0 => "transfer".to_string(),
        place => format!("transfer-{}", place + 1),
    };
    let id = format!("{transfer}/{}", lane_of(number));
    let payload = Payload::Read(Arc::clone(&read));
    let watched = session.meter.add(&id, &cc, channel.socket(), payload);
    let watched = watched.map_err(|error| Error::failed("watching a connection", error))?;
    let mut buffer = scratch();
    loop {
        match channel.read_frame()? {
            Some(DataHead::Block { file, block, bytes }) => {
                let Some(due) = session.claim(file, block, number, epoch) else { return Ok(()) };
                let bytes = u64::from(bytes);
                let mut payload = PayloadReader { channel, read: &read, failure: None };
                match due {
                    Due::Skip => skip(&mut payload, bytes, &mut buffer)?,
                    Due::Write(incoming) => {
                        let mut writing = match incoming.write(u64::from(block)) {
                            Ok(writing) => writing,
                            Err(error) => return refuse(session, error),
                        };
                        let ours = match writing.receive(&mut payload, bytes, &mut buffer) {
                            Ok(sum) => sum,
                            Err(Stopped::Store(error)) => return refuse(session, error),
                            Err(Stopped::Connection(error)) => return Err(payload.failed(error)),
                        };
                        let theirs = sum(channel)?;
                        if ours != theirs {
                            drop(writing);
                            session.damaged(file, block);
                            continue;
                        }
                        if let Err(error) = writing.done(&ours) {
                            return refuse(session, error);
                        }
                        session.arrived(file, block, bytes);
                        continue;
                    }
                }
                sum(channel)?;
                // The sender has not heard of it.
                session.arrived(file, block, 0);
            }
            Some(DataHead::Idle) => {}
            Some(DataHead::End) => {
                // The meter looks at the connection before the other side can end it.
                drop(watched);
                return channel.finish();
            }
            None => {
                let why = "the connection was closed before its end";
                return Err(Error::failed("receiving", why));
            }
        }
    }
}

/// What cannot be kept ends the transfer.
fn refuse(session: &Session, error: Error) -> Result<(), Error> {
    session.end(Ended::Refused(error.clone()));
    Err(error)
}

fn sum(channel: &mut Channel) -> Result<Sum, Error> {
    let why = "the connection was closed amid a block";
    channel.read_frame()?.ok_or_else(|| Error::failed("receiving", why))
}

fn skip(payload: &mut PayloadReader, bytes: u64, buffer: &mut [u8]) -> Result<(), Error> {
    let mut left = bytes;
    while left > 0 {
        let piece = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        if let Err(error) = payload.read_exact(&mut buffer[..piece]) {
            return Err(payload.failed(error));
        }
        left -= piece as u64;
    }
    Ok(())
}

/// The payload of a connection, as the store reads it; keeps what the connection has to say.
struct PayloadReader<'a> {
    channel: &'a mut Channel,
    read: &'a AtomicU64,
    failure: Option<Error>,
}

impl PayloadReader<'_> {
    fn failed(&mut self, error: io::Error) -> Error {
        self.failure.take().unwrap_or_else(|| Error::failed("receiving", error))
    }
}

impl Read for PayloadReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.channel.read_payload(buffer) {
            Ok(()) => {
                self.read.fetch_add(buffer.len() as u64, Ordering::Relaxed);
                Ok(buffer.len())
            }
            Err(error) => {
                self.failure = Some(error);
                Err(io::ErrorKind::ConnectionAborted.into())
            }
        }
    }
}
