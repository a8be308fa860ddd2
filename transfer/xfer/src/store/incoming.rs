//! One file being received.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use nix::errno::Errno;

use super::disclosure::{TAKEN, may_be_told};
use super::journal::Done;
use super::partial::{self, Id, Partial};
use super::settling::{Complete, errno, plain};
use super::source::{scratch, sum_block};
use super::tree::{Blocks, FileTree, Sum, ZEROS};
use super::writing::Writing;
use super::{Claim, Entry, Promise, Transfer, no_room};
use crate::Error;
use crate::rt::{Condvar, Mutex, MutexGuard};

/// A file while it is received. Its blocks may be written from many threads at once. When it is
/// dropped before it is finished, what has arrived stays for a later transfer.
#[derive(Debug)]
pub struct Incoming {
    transfer: Arc<Transfer>,
    entry: Entry,
    id: Id,
    promise: Promise,
    state: Mutex<State>,
    /// A block that was being written is not any longer.
    freed: Condvar,
}

#[derive(Debug)]
struct State {
    blocks: Blocks,
    /// None when the file is finished.
    claim: Option<Claim>,
    /// A file of the same name and size is there already.
    there: bool,
    sums_there: FileTree,
    partial: Option<Arc<Partial>>,
    done: Done,
    /// The sum of the first block, the digest if there is no other.
    first: Option<Sum>,
    /// The block of a stream that was shorter than the others, which must be the last.
    short: Option<(u64, u64)>,
    writing: BTreeSet<u64>,
}

impl Incoming {
    pub(super) fn new(
        transfer: Arc<Transfer>,
        claim: Claim,
        entry: Entry,
        there: bool,
    ) -> Result<Self, Error> {
        let blocks = entry.bytes.map_or_else(Blocks::of_stream, Blocks::of);
        let id = Id::of(&entry.name, entry.bytes);
        // What is there already needs no room, what will be written does.
        let whole = entry.bytes.unwrap_or(0);
        let needed = if there { 0 } else { whole.saturating_sub(entry.hole_bytes) };
        let promise = transfer.store.promise(&entry.name, needed)?;
        let state = State {
            blocks,
            claim: Some(claim),
            there,
            sums_there: FileTree::new(),
            partial: None,
            done: Done::default(),
            first: None,
            short: None,
            writing: BTreeSet::new(),
        };
        Ok(Incoming {
            transfer,
            entry,
            id,
            promise,
            state: Mutex::new(state),
            freed: Condvar::default(),
        })
    }

    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    pub fn blocks(&self) -> Blocks {
        self.state().blocks
    }

    /// Finds what is there already, from a transfer that was interrupted or as a complete file, reads
    /// it and tells the sum of each whole block. They count as done. May be asked again while no block
    /// is being written.
    pub fn held(&self, mut each: impl FnMut(u64, Sum) -> Result<(), Error>) -> Result<(), Error> {
        let blocks = self.blocks();
        let Some(count) = blocks.count() else { return Ok(()) };
        if self.state().there {
            return self.held_whole(blocks, count, each);
        }
        let open = self.state().partial.clone();
        let partial = match open {
            Some(partial) => partial,
            None => match self.open(count, false)? {
                Some(partial) => Arc::new(partial),
                None => return Ok(()),
            },
        };
        // What the kernel could not write it counts as written and shows to whoever reads; it says so
        // once, to the transfer that failed then.
        partial.data().forget_cached();
        let mut buffer = scratch();
        let mut tell = |index: u64, noted: Option<Sum>| {
            let found = match sum_block(partial.data(), blocks, index, &mut buffer) {
                Ok(found) if noted.is_none_or(|noted| noted == found) => found,
                _ => return Ok(()),
            };
            let mut state = self.state();
            if !state.done.has(index) {
                self.promise.release(blocks.bytes(index));
                state.done.set(index, true);
            }
            if index == 0 {
                state.first = Some(found);
            }
            drop(state);
            each(index, found)
        };
        match partial.journal() {
            Some(journal) => journal
                .read(count, |index, noted| tell(index, Some(noted)).map_err(Told::Stopped))
                .map_err(|error| match error {
                    Told::Stopped(error) => error,
                    Told::Io(error) => self.failed("reading the journal of", error),
                })?,
            None if count == 1 => tell(0, None)?,
            None => {}
        }
        // What is held must stay as it is, under the lock; nothing is not worth a descriptor.
        let mut state = self.state();
        if state.done.count() > 0 {
            state.partial = Some(partial);
        }
        Ok(())
    }

    fn held_whole(
        &self,
        blocks: Blocks,
        count: u64,
        mut each: impl FnMut(u64, Sum) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (file, mut buffer) = (self.transfer.store.place.read(&self.entry.name)?, scratch());
        // Another file may have got the name since it was looked at.
        let about = file.about().map_err(|error| self.failed("reading", error.desc()))?;
        if !may_be_told(&self.entry, &about) {
            return Err(Error::Refused(format!("{} {TAKEN}", self.shown())));
        }
        for index in 0..count {
            let sum = sum_block(&file, blocks, index, &mut buffer);
            let sum = sum.map_err(|error| self.failed("reading", error))?;
            let mut state = self.state();
            state.sums_there.insert(index, sum);
            state.done.set(index, true);
            drop(state);
            each(index, sum)?;
        }
        Ok(())
    }

    /// Begins to write a block; waits if another thread writes the same one.
    pub fn write(&self, index: u64) -> Result<Writing<'_>, Error> {
        let mut state = self.state();
        if !state.blocks.has(index) {
            let count = state.blocks.count().unwrap_or(0);
            let said = format!("{} has {count} blocks; there is no block {index}", self.shown());
            return Err(Error::Refused(said));
        }
        while state.writing.contains(&index) {
            state = self.freed.wait(state);
        }
        let partial = self.partial(&mut state)?;
        // From here on its bytes may be any; the journal is not believed without reading them.
        state.done.set(index, false);
        state.writing.insert(index);
        let blocks = state.blocks;
        drop(state);
        Ok(Writing::new(self, partial, blocks, index))
    }

    pub fn end(&self, bytes: u64) -> Result<(), Error> {
        let mut state = self.state();
        let ended = state.blocks.ended(bytes);
        let last = ended.count().and_then(|count| count.checked_sub(1));
        let short = last.map(|last| (last, ended.bytes(last)));
        let fits = state.blocks.file_bytes().is_none()
            && last.is_none_or(|last| ended.has(last) && state.blocks.has(last))
            && state.short.is_none_or(|told| Some(told) == short);
        if !fits {
            let said = format!("the end of {} at {bytes} does not fit its blocks", self.shown());
            return Err(Error::Refused(said));
        }
        state.blocks = ended;
        if ended.count() == Some(1) && state.done.has(0) {
            let partial = self.partial(&mut state)?;
            let sum = sum_block(partial.data(), ended, 0, &mut scratch());
            state.first = Some(sum.map_err(|error| self.failed("reading", error))?);
        }
        Ok(())
    }

    /// The digest of what has come, if that is all.
    pub fn digest(&self) -> Result<Sum, Error> {
        self.digest_of(&mut self.state())
    }

    /// All has come: checks that, and gives the file its name, or has it ready for
    /// [`Delivery::settle`](super::Delivery::settle); returns its digest.
    pub fn finish(&self) -> Result<Sum, Error> {
        let mut state = self.state();
        let digest = self.digest_of(&mut state)?;
        let Some(claim) = state.claim.take() else {
            return Err(self.failed("finishing", "it is finished already"));
        };
        if state.there {
            self.transfer.settling.there(&self.entry.name);
            return Ok(digest);
        }
        let partial = self.partial(&mut state)?;
        state.partial = None;
        let blocks = state.blocks;
        drop(state);
        let is_small = blocks.count().is_none_or(|count| count <= 1);
        self.complete(&partial, blocks.file_bytes().unwrap_or(0), claim, is_small)?;
        Ok(digest)
    }

    fn digest_of(&self, state: &mut State) -> Result<Sum, Error> {
        let count = state.blocks.count().unwrap_or(u64::MAX);
        if state.done.count() != count || !state.writing.is_empty() {
            let missing = count.saturating_sub(state.done.count());
            return Err(self.failed("finishing", format!("{missing} of its blocks are missing")));
        }
        let digest = if state.there {
            state.sums_there.digest(count)
        } else {
            match (self.partial(state)?.journal(), count) {
                (_, 0) => FileTree::new().digest(0),
                (_, 1) => state.first,
                (Some(journal), _) => {
                    journal.digest(count).map_err(|error| self.failed("finishing", error))?
                }
                (None, _) => None,
            }
        };
        digest.ok_or_else(|| self.failed("finishing", "not all of its blocks are noted"))
    }

    fn complete(
        &self,
        partial: &Arc<Partial>,
        bytes: u64,
        claim: Claim,
        small: bool,
    ) -> Result<(), Error> {
        let (data, place) = (partial.data(), &self.transfer.store.place);
        let dressed = || {
            if data.about()?.bytes != bytes {
                data.set_len(bytes)?;
            }
            data.dress(plain(self.entry.mode), self.entry.modified)?;
            let is_due = self.transfer.settling.syncs() && !small;
            if is_due { data.sync() } else { Ok(()) }
        };
        dressed().map_err(|error| self.unwritable(error, 0))?;
        let file = Complete { id: self.id.clone(), partial: Arc::clone(partial), claim };
        self.transfer.settling.complete(place, file, !small)?;
        if partial.journal().is_some() {
            partial::remove_journal(&place.partial_directory()?, &self.id);
        }
        Ok(())
    }

    /// The partial file; the first time it is made.
    fn partial(&self, state: &mut State) -> Result<Arc<Partial>, Error> {
        if let Some(partial) = &state.partial {
            return Ok(Arc::clone(partial));
        }
        if state.claim.is_none() {
            return Err(self.failed("writing", "it is finished already"));
        }
        if state.there && !self.transfer.store.options.overwrite {
            return Err(Error::Refused(format!("{} {TAKEN}", self.shown())));
        }
        let count = state.blocks.count();
        let Some(partial) = self.open(count.unwrap_or(u64::MAX), true)? else {
            return Err(self.failed("writing", "its partial file is gone"));
        };
        if let (Some(bytes), Some(_)) = (self.entry.bytes, partial.journal()) {
            let data = partial.data();
            let allocated = match self.entry.hole_bytes {
                0 => data.allocate(bytes),
                _ => data.set_len(bytes).map(|()| false),
            };
            if allocated.map_err(|error| self.unwritable(error, bytes))? {
                self.promise.release(u64::MAX);
            }
        }
        if state.there {
            self.copy_held(state, &partial)?;
            state.there = false;
        }
        let partial = Arc::new(partial);
        state.partial = Some(Arc::clone(&partial));
        Ok(partial)
    }

    /// Takes over the blocks of a file that is to be replaced, where the sender has the same.
    fn copy_held(&self, state: &mut State, partial: &Partial) -> Result<(), Error> {
        let (file, mut buffer) = (self.transfer.store.place.read(&self.entry.name)?, scratch());
        for index in 0..state.blocks.count().unwrap_or(0) {
            if !state.done.has(index) {
                continue;
            }
            let (blocks, mut hasher) = (state.blocks, state.blocks.hasher(index));
            let (mut at, end) = (blocks.offset(index), blocks.offset(index) + blocks.bytes(index));
            while at < end {
                let piece = &mut buffer[..];
                let bytes = piece.len().min(usize::try_from(end - at).unwrap_or(usize::MAX));
                let piece = &mut piece[..bytes];
                file.read_exact_at(piece, at).map_err(|error| self.failed("reading", error))?;
                hasher.update(piece);
                if piece.iter().all(|byte| *byte == 0) {
                    self.clear(partial, at, bytes as u64)?;
                } else {
                    let written = partial.data().write_all_at(piece, at);
                    written.map_err(|error| self.unwritable(errno(error), end - at))?;
                }
                at += bytes as u64;
            }
            self.note(partial, state, index, &hasher.sum())?;
        }
        Ok(())
    }

    /// Has a part of the file read as zeros, and take no room where that can be.
    pub(super) fn clear(&self, partial: &Partial, offset: u64, bytes: u64) -> Result<(), Error> {
        match partial.data().punch(offset, bytes) {
            // EINVAL: NFS and some FUSE file systems.
            Err(Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINVAL) => {}
            done => return done.map_err(|error| self.unwritable(error, bytes)),
        }
        let mut at = 0;
        while at < bytes {
            let piece = ZEROS.len().min(usize::try_from(bytes - at).unwrap_or(usize::MAX));
            let written = partial.data().write_all_at(&ZEROS[..piece], offset + at);
            written.map_err(|error| self.unwritable(errno(error), bytes - at))?;
            at += piece as u64;
        }
        Ok(())
    }

    pub(super) fn expect(&self, index: u64, bytes: u64) -> Result<(), Error> {
        let state = self.state();
        let most = state.blocks.bytes(index);
        let stream = state.blocks.file_bytes().is_none();
        if bytes != most && !(stream && bytes > 0 && bytes < most) {
            let shown = self.shown();
            let said = format!("block {index} of {shown} has {most} bytes, not {bytes}");
            return Err(Error::Refused(said));
        }
        if stream {
            if bytes < most && state.short.is_some_and(|(told, _)| told != index) {
                let said = format!("the stream {} has two last blocks", self.shown());
                return Err(Error::Refused(said));
            }
            self.transfer.take_more(&self.entry.name, bytes)?;
        }
        Ok(())
    }

    pub(super) fn written(
        &self,
        partial: &Partial,
        index: u64,
        bytes: u64,
        sum: &Sum,
    ) -> Result<(), Error> {
        self.promise.release(bytes);
        let mut state = self.state();
        if bytes < state.blocks.bytes(index) {
            state.short = Some((index, bytes));
        }
        self.note(partial, &mut state, index, sum)
    }

    pub(super) fn free(&self, index: u64) {
        self.state().writing.remove(&index);
        self.freed.notify_all();
    }

    fn note(
        &self,
        partial: &Partial,
        state: &mut State,
        index: u64,
        sum: &Sum,
    ) -> Result<(), Error> {
        if let Some(journal) = partial.journal() {
            let noted = journal.note(index, sum);
            noted.map_err(|error| self.unwritable(errno(error), 0))?;
        }
        if index == 0 {
            state.first = Some(*sum);
        }
        state.done.set(index, true);
        Ok(())
    }

    fn open(&self, count: u64, make: bool) -> Result<Option<Partial>, Error> {
        Partial::open(&self.transfer.store.place, &self.id, &self.entry.name, count > 1, make)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn shown(&self) -> String {
        self.transfer.store.place.shown(&self.entry.name)
    }

    fn failed(&self, what: &str, why: impl std::fmt::Display) -> Error {
        Error::failed(format!("{what} {}", self.shown()), why)
    }

    /// What is said when a write fails that has so many bytes yet to come.
    pub(super) fn unwritable(&self, error: Errno, bytes: u64) -> Error {
        let place = &self.transfer.store.place;
        let why = match error {
            Errno::ENOSPC => {
                no_room(place.path(), bytes.saturating_sub(place.free_bytes().unwrap_or(0)))
            }
            Errno::EDQUOT => {
                "the disk quota of this user is used up; make room and send again".into()
            }
            Errno::EFBIG => {
                "the file is larger than this file system or this process may write".into()
            }
            other => other.desc().to_string(),
        };
        self.failed("writing", why)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        // A stream is not taken up again.
        let begun = state.claim.is_some() && state.partial.take().is_some();
        if self.entry.bytes.is_none()
            && begun
            && let Ok(directory) = self.transfer.store.place.partial_directory()
        {
            partial::remove(&directory, &self.id);
        }
    }
}

/// Why a journal was not read to its end.
enum Told {
    Io(io::Error),
    Stopped(Error),
}

impl From<io::Error> for Told {
    fn from(error: io::Error) -> Self {
        Told::Io(error)
    }
}
