//! Sends blocks of a file over a connection.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::sys::sendfile::sendfile64;

use super::blocks::Block;
use super::session::Session;
use super::state::Origin;
use crate::Error;
use crate::store::{Blocks, Layout, Source, Span, Stat, Sum, scratch};
use crate::wire::Channel;
use crate::wire::messages::DataHead;

/// Why a block was not sent.
#[derive(Debug)]
pub enum Trouble {
    Connection(Error),
    /// The source cannot be read, or is not what it was.
    Source(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Connection(error)
    }
}

/// Reads, sums and sends; for one thread.
pub struct BlockSender<'a> {
    written: &'a AtomicU64,
    buffer: Vec<u8>,
    latest: Option<(u32, Source)>,
}

impl<'a> BlockSender<'a> {
    /// What is written to the socket is added to `written`.
    pub fn new(written: &'a AtomicU64) -> Self {
        BlockSender { written, buffer: scratch(), latest: None }
    }

    pub fn block(
        &mut self,
        session: &Session,
        channel: &mut Channel,
        block: Block,
        origin: &Origin,
    ) -> Result<(), Trouble> {
        if session.control.is_cancelled() {
            return Err(Error::Cancelled.into());
        }
        match origin {
            Origin::Disk { path, stat, blocks } => {
                self.open(block.file, path, stat).map_err(Trouble::Source)?;
                self.send_from_disk(session, channel, block, *blocks)?;
                if blocks.count() <= Some(1) {
                    // Many small files must not keep descriptors.
                    self.latest = None;
                }
                Ok(())
            }
            Origin::Stream => self.send_from_stream(session, channel, block),
        }
    }

    fn open(&mut self, file: u32, path: &std::path::Path, stat: &Stat) -> Result<(), Error> {
        if self.latest.as_ref().is_some_and(|(open, _)| *open == file) {
            return Ok(());
        }
        let source = Source::open(path)?;
        if source.stat() != stat {
            let why = "it has changed since it was looked at; send again";
            return Err(Error::failed(format!("reading {}", path.display()), why));
        }
        self.latest = Some((file, source));
        Ok(())
    }

    fn send_from_disk(
        &mut self,
        session: &Session,
        channel: &mut Channel,
        block: Block,
        blocks: Blocks,
    ) -> Result<(), Trouble> {
        let Some((_, source)) = &self.latest else { return Ok(()) };
        let index = u64::from(block.index);
        // Not in the condition: the lock would be held in the body.
        let claimed = session.state().queue.claim(block);
        if let Some(claimed) = claimed {
            let ours = source.sum(index, &mut self.buffer).map_err(Trouble::Source)?;
            if ours == claimed {
                session.held(block, ours);
                return Ok(());
            }
        }
        let layout = source.layout(index).map_err(Trouble::Source)?;
        channel.queue_frame(&head(block, &layout))?;
        let mut hasher = blocks.hasher(index);
        let mut piece_bytes = self.buffer.len();
        if let Some(limiter) = &session.limiter {
            piece_bytes = piece_bytes.min(limiter.piece_bytes());
        }
        let copies = channel.is_encrypted() || is_same_host(channel);
        for Span { at, bytes, is_hole } in layout.spans() {
            if is_hole {
                hasher.zeros(bytes);
                continue;
            }
            let (mut at, end) = (at, at + bytes);
            while at < end {
                let length = usize::try_from(end - at).unwrap_or(usize::MAX).min(piece_bytes);
                let limiter = session.limiter.as_ref();
                if limiter.is_some_and(|limit| limit.wait(length, &session.control)) {
                    return Err(Error::Cancelled.into());
                }
                let piece = &mut self.buffer[..length];
                let offset = blocks.offset(index) + at;
                if copies {
                    source.read(index, at, piece, &mut hasher).map_err(Trouble::Source)?;
                    channel.write_payload(piece)?;
                } else {
                    send_file(channel, source.file(), offset, length)?;
                    // In the cache now, and the kernel sends meanwhile.
                    source.read(index, at, piece, &mut hasher).map_err(Trouble::Source)?;
                }
                self.count(session, length);
                at += length as u64;
            }
        }
        let sum = hasher.sum();
        session.state().queue.hashed(block, sum);
        channel.queue_frame(&sum)?;
        Ok(())
    }

    fn count(&self, session: &Session, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
        session.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    fn send_from_stream(
        &mut self,
        session: &Session,
        channel: &mut Channel,
        block: Block,
    ) -> Result<(), Trouble> {
        let Some(data) = session.state().window.get(&block.index).map(Arc::clone) else {
            return Ok(());
        };
        channel.queue_frame(&head(block, &Layout::dense(data.len() as u64)))?;
        let mut hasher = Blocks::of_stream().hasher(u64::from(block.index));
        let mut piece_bytes = self.buffer.len();
        if let Some(limiter) = &session.limiter {
            piece_bytes = piece_bytes.min(limiter.piece_bytes());
        }
        for piece in data.chunks(piece_bytes) {
            let waited = session.limiter.as_ref();
            if waited.is_some_and(|limit| limit.wait(piece.len(), &session.control)) {
                return Err(Error::Cancelled.into());
            }
            channel.write_payload(piece)?;
            hasher.update(piece);
            self.count(session, piece.len());
        }
        if block.index == 0 {
            session.state().stream_digest = Some(hasher.digest());
        }
        let sum: Sum = hasher.sum();
        session.state().queue.hashed(block, sum);
        channel.queue_frame(&sum)?;
        Ok(())
    }
}

fn head(block: Block, layout: &Layout) -> DataHead {
    let bytes = u32::try_from(layout.bytes()).unwrap_or(u32::MAX);
    let holes = layout.holes().to_vec();
    DataHead::Block { file: block.file, block: block.index, bytes, holes }
}

/// Whether the other end is on this host, where no device takes pages as they are: the receiver would
/// collect them one by one, which costs more than the copy that is spared
/// (`docs/performance.md`).
fn is_same_host(channel: &Channel) -> bool {
    let address = |found: std::io::Result<socket2::SockAddr>| Some(found.ok()?.as_socket()?.ip());
    let (near, far) = (channel.socket().local_addr(), channel.socket().peer_addr());
    address(near).is_some_and(|near| Some(near) == address(far))
}

/// Has the kernel send a part of a file, without it being copied to this process.
fn send_file(
    channel: &mut Channel,
    file: &File,
    offset: u64,
    length: usize,
) -> Result<(), Trouble> {
    let mut at = i64::try_from(offset).unwrap_or(i64::MAX);
    let mut left = length;
    channel.plain_socket()?;
    while left > 0 {
        let sent = match channel.plain_socket()? {
            Some(socket) => sendfile64(socket, file, Some(&mut at), left),
            None => Ok(0),
        };
        match sent {
            Ok(0) => {
                let why = "a file became shorter while it was sent; send it again";
                return Err(Trouble::Source(Error::failed("sending", why)));
            }
            Ok(sent) => left -= sent,
            Err(Errno::EINTR) => {}
            // File systems without it (some FUSE ones).
            Err(Errno::EINVAL | Errno::ENOSYS) => {
                return copy(channel, file, at as u64, left);
            }
            Err(Errno::EIO) => {
                return Err(Trouble::Source(Error::failed("reading a file", Errno::EIO.desc())));
            }
            Err(error) => return Err(channel.failed("sending", &error.into()).into()),
        }
    }
    Ok(())
}

fn copy(channel: &mut Channel, file: &File, mut at: u64, mut left: usize) -> Result<(), Trouble> {
    let mut buffer = scratch();
    while left > 0 {
        let piece = left.min(buffer.len());
        file.read_exact_at(&mut buffer[..piece], at)
            .map_err(|error| Trouble::Source(Error::failed("reading a file", error)))?;
        channel.write_payload(&buffer[..piece])?;
        at += piece as u64;
        left -= piece;
    }
    Ok(())
}
