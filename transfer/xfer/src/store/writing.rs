//! One block being written.

use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use super::incoming::Incoming;
use super::layout::{Layout, Span};
use super::partial::Partial;
use super::settling::errno;
use super::tree::{Blocks, Sum};
use crate::Error;

/// Why a block was not received.
#[derive(Debug)]
pub enum Stopped {
    /// Its connection failed: it may come again by another.
    Connection(io::Error),
    Store(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Stopped::Store(error)
    }
}

/// A block that is being written; when it is dropped without [`Writing::done`], it is missing.
#[derive(Debug)]
pub struct Writing<'a> {
    incoming: &'a Incoming,
    partial: Arc<Partial>,
    blocks: Blocks,
    index: u64,
    bytes: Option<u64>,
}

impl<'a> Writing<'a> {
    pub(super) fn new(
        incoming: &'a Incoming,
        partial: Arc<Partial>,
        blocks: Blocks,
        index: u64,
    ) -> Self {
        Writing { incoming, partial, blocks, index, bytes: None }
    }

    /// Receives the block, `bytes` long, into the file, through a buffer, and sums it on the way.
    pub fn receive(
        &mut self,
        from: &mut impl Read,
        bytes: u64,
        buffer: &mut [u8],
    ) -> Result<Sum, Stopped> {
        self.receive_sparse(from, &Layout::dense(bytes), buffer)
    }

    /// As [`Writing::receive`], of a block with holes, which do not come and take no room.
    pub fn receive_sparse(
        &mut self,
        from: &mut impl Read,
        layout: &Layout,
        buffer: &mut [u8],
    ) -> Result<Sum, Stopped> {
        self.expect(layout.bytes())?;
        let mut hasher = self.blocks.hasher(self.index);
        for Span { at, bytes, is_hole } in layout.spans() {
            if is_hole {
                hasher.zeros(bytes);
                let offset = self.blocks.offset(self.index) + at;
                self.incoming.clear(&self.partial, offset, bytes)?;
                continue;
            }
            let (mut at, end) = (at, at + bytes);
            while at < end {
                let piece = buffer.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
                from.read_exact(&mut buffer[..piece]).map_err(Stopped::Connection)?;
                hasher.update(&buffer[..piece]);
                self.put(at, &buffer[..piece])?;
                at += piece as u64;
            }
        }
        Ok(hasher.sum())
    }

    #[cfg(test)]
    pub fn write(&mut self, data: &[u8]) -> Result<Sum, Error> {
        self.expect(data.len() as u64)?;
        self.put(0, data)?;
        Ok(self.blocks.sum(self.index, data))
    }

    /// The block is whole: its sum is the one that the sender has.
    pub fn done(self, sum: &Sum) -> Result<(), Error> {
        let Some(bytes) = self.bytes else {
            let said = format!("block {} is done, but never came", self.index);
            return Err(Error::Refused(said));
        };
        self.incoming.written(&self.partial, self.index, bytes, sum)
    }

    fn expect(&mut self, bytes: u64) -> Result<(), Error> {
        self.incoming.expect(self.index, bytes)?;
        self.bytes = Some(bytes);
        Ok(())
    }

    fn put(&self, at: u64, data: &[u8]) -> Result<(), Error> {
        let written = self.partial.data().write_all_at(data, self.blocks.offset(self.index) + at);
        written.map_err(|error| self.incoming.unwritable(errno(error), data.len() as u64))
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.incoming.free(self.index);
    }
}
