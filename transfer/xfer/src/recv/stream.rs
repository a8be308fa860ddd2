//! The thread of a data connection: reads blocks and writes them to disk.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::session::{BlockAction, Ended, Session};
use crate::Error;
use crate::measure::Payload;
use crate::socket::UNKNOWN_CC;
use crate::store::{Layout, Stopped, Sum, scratch};
use crate::wire::Channel;
use crate::wire::messages::{DataHead, lane_of};

pub fn run(session: &Session, number: u32, mut channel: Channel) {
    let Ok(socket) = channel.socket().try_clone() else { return };
    let Some(mut connected) = session.connect(number, socket) else { return };
    connected.failure = receive(session, number, connected.epoch, &mut channel).err();
}

fn receive(session: &Session, number: u32, epoch: u64, channel: &mut Channel) -> Result<(), Error> {
    channel.set_patience(session.settings.timeout)?;
    let read = Arc::new(AtomicU64::new(0));
    let transfer = match session.place {
        0 => "transfer".to_string(),
        place => format!("transfer-{}", place + 1),
    };
    let id = format!("{transfer}/{}", lane_of(number));
    let payload = Payload::Read(Arc::clone(&read));
    let watched = session.meter.add(&id, UNKNOWN_CC, channel.socket(), payload);
    let watched = watched.map_err(|error| Error::failed("watching a connection", error))?;
    let mut buffer = scratch();
    loop {
        match channel.read_frame()? {
            Some(DataHead::Block { file, block, bytes, holes }) => {
                let Some(layout) = Layout::new(u64::from(bytes), holes) else {
                    let why = format!("the holes of block {block} are not within it");
                    return Err(refuse(session, Error::Refused(why)));
                };
                let mut payload = PayloadReader { channel, read: &read, failure: None };
                let by = (number, epoch);
                if !take(session, by, (file, block), &layout, &mut payload, &mut buffer)? {
                    return Ok(());
                }
            }
            Some(DataHead::Idle) => {}
            Some(DataHead::End) => {
                // The meter looks at the connection before the other side can end it.
                drop(watched);
                channel.finish()?;
                // Who closes before the sender's last word has come resets the connection (RFC 2525,
                // section 2.17), and the sender would make another.
                let _ = channel.read_frame::<DataHead>();
                return Ok(());
            }
            None => {
                let why = "the connection was closed before its end";
                return Err(Error::failed("receiving", why));
            }
        }
    }
}

/// The content of a block, and after it its sum.
pub(super) trait Carrier: Read {
    fn failed(&mut self, error: io::Error) -> Error;

    fn sum(&mut self) -> Result<Sum, Error>;
}

/// Takes a block `(file, block)` from a connection `(number, epoch)`; false if that is not one of the
/// session's any longer.
pub(super) fn take(
    session: &Session,
    (number, epoch): (u32, u64),
    (file, block): (u32, u32),
    layout: &Layout,
    from: &mut impl Carrier,
    buffer: &mut [u8],
) -> Result<bool, Error> {
    let incoming = match session.claim(file, block, number, epoch) {
        None => return Ok(false),
        Some(BlockAction::Skip) => {
            skip(from, layout.data_bytes(), buffer)?;
            from.sum()?;
            // The sender has not heard of it.
            session.arrived(file, block, 0);
            return Ok(true);
        }
        Some(BlockAction::Write(incoming)) => incoming,
    };
    let mut writing = incoming.write(u64::from(block)).map_err(|error| refuse(session, error))?;
    let ours = match writing.receive_sparse(from, layout, buffer) {
        Ok(sum) => sum,
        Err(Stopped::Store(error)) => return Err(refuse(session, error)),
        Err(Stopped::Connection(error)) => return Err(from.failed(error)),
    };
    if ours != from.sum()? {
        drop(writing);
        session.damaged(file, block);
        return Ok(true);
    }
    writing.done(&ours).map_err(|error| refuse(session, error))?;
    session.arrived(file, block, layout.bytes());
    Ok(true)
}

fn refuse(session: &Session, error: Error) -> Error {
    session.end(Ended::Refused(error.clone()));
    error
}

fn skip(from: &mut impl Carrier, bytes: u64, buffer: &mut [u8]) -> Result<(), Error> {
    let mut left = bytes;
    while left > 0 {
        let piece = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        from.read_exact(&mut buffer[..piece]).map_err(|error| from.failed(error))?;
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

impl Carrier for PayloadReader<'_> {
    fn failed(&mut self, error: io::Error) -> Error {
        self.failure.take().unwrap_or_else(|| Error::failed("receiving", error))
    }

    fn sum(&mut self) -> Result<Sum, Error> {
        let why = "the connection was closed amid a block";
        self.channel.read_frame()?.ok_or_else(|| Error::failed("receiving", why))
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
