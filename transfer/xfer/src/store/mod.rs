//! Received files: where they go, and how they stay whole.
//!
//! A file is cut into [`Blocks`], each of which is summed once while it is in the cache ([`tree`]).
//! While it is incomplete it is below `DIR/.fairway-partial/`, with a journal of the blocks that are
//! there ([`Incoming`]); it has its final name when all of it is there, summed, and on disk. So a
//! process that is killed at any moment leaves either no file or the whole one, and what had arrived
//! is found by the next transfer of the same name and size, hashed again, and not sent again.
//!
//! Names come from the network: [`Name`] refuses those that lead elsewhere, and no link below the
//! directory is followed ([`destination`]).
//!
//! ```text
//! Store::open(DIR) -> store.delivery() -> delivery.begin(entry) -> incoming
//!   incoming.held(..)                      what need not be sent
//!   incoming.write(block) -> .receive(socket) -> .done(sum)   from many threads at once
//!   incoming.digest()                      is it what the sender has?
//!   incoming.finish()                      under its final name
//! delivery.settle()                        all on disk, under final names
//! ```

mod destination;
mod disclosure;
pub(crate) mod disk;
mod incoming;
pub(crate) mod journal;
mod layout;
mod name;
mod partial;
mod settling;
mod source;
pub(crate) mod tree;
mod writing;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use incoming::Incoming;
pub use journal::Done;
pub use layout::{Hole, Layout, Span};
pub use name::{Name, PARTIAL_DIRECTORY};
pub use source::{PIECE_BYTES, Source, Stat, scratch};
pub use tree::{BlockHasher, Blocks, FileTree, Sum, TransferDigest};
pub use writing::{Stopped, Writing};

#[cfg(test)]
pub(crate) use crate::tests::simulated::disk::{Disk, Faults};
#[cfg(test)]
pub(crate) use tree::small::{set_smallest_block_bytes, smallest_block_bytes};

use crate::Error;
use crate::rt::{Mutex, MutexGuard};
use destination::Destination;
use disclosure::{TAKEN, may_be_told};
use disk::Kind;
use settling::Settling;

/// How long an incomplete file is kept when nobody goes on with it.
pub const KEEP_DAYS: u32 = 14;
const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// What one transfer may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub bytes: u64,
    pub files: u64,
    pub spare_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        // As many names as take some hundreds of megabytes on disk; a file system wants some room.
        Limits { bytes: u64::MAX, files: 1_000_000, spare_bytes: 64 << 20 }
    }
}

/// How files are received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub limits: Limits,
    pub overwrite: bool,
    pub sync: bool,
    pub keep_days: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options { limits: Limits::default(), overwrite: false, sync: true, keep_days: KEEP_DAYS }
    }
}

/// When a file was modified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Modified {
    /// Seconds since 1970.
    pub seconds: i64,
    pub nanos: u32,
}

/// A file that is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: Name,
    /// Its size; none for a stream whose end is not known.
    pub bytes: Option<u64>,
    /// Its permissions; other bits of a mode are left out.
    pub mode: u32,
    /// When it was modified; none leaves it at the time when it arrived.
    pub modified: Option<Modified>,
    /// Bytes of it that are holes.
    pub hole_bytes: u64,
}

/// A directory that is received into, by any number of transfers at once; clones are the same.
#[derive(Clone, Debug)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    place: Destination,
    options: Options,
    busy: Mutex<BTreeSet<Name>>,
    /// Bytes of files that have begun and are not on disk yet.
    promised: AtomicU64,
}

impl Store {
    /// Opens a directory, making it if there is none, and removes old incomplete files from it.
    pub fn open(directory: &Path, options: Options) -> Result<Self, Error> {
        Store::at(Destination::open(directory)?, options)
    }

    #[cfg(test)]
    pub(crate) fn on(disk: &Disk, options: Options) -> Result<Self, Error> {
        Store::at(Destination::of(Path::new("out"), disk.root()), options)
    }

    fn at(place: Destination, options: Options) -> Result<Self, Error> {
        let keep = Duration::from_secs(u64::from(options.keep_days) * SECONDS_PER_DAY);
        partial::sweep(&place, keep)?;
        let (busy, promised) = (Mutex::default(), AtomicU64::new(0));
        Ok(Store(Arc::new(Inner { place, options, busy, promised })))
    }

    /// Whether a file of that name is being received, so that it cannot be begun.
    pub fn is_busy(&self, name: &Name) -> bool {
        self.0.busy().contains(name)
    }

    pub fn delivery(&self) -> Delivery {
        let Options { sync, overwrite, .. } = self.0.options;
        Delivery(Arc::new(Transfer {
            store: Arc::clone(&self.0),
            settling: Settling::new(sync, overwrite),
            taken: Mutex::default(),
        }))
    }
}

impl Inner {
    fn busy(&self) -> MutexGuard<'_, BTreeSet<Name>> {
        self.busy.lock()
    }

    fn promise(self: &Arc<Self>, name: &Name, bytes: u64) -> Result<Promise, Error> {
        let what = || format!("receiving {}", self.place.shown(name));
        let free = self.place.free_bytes().map_err(|error| Error::failed(what(), error))?;
        let before = self.promised.fetch_add(bytes, Ordering::Relaxed);
        let promise = Promise { store: Arc::clone(self), bytes: AtomicU64::new(bytes) };
        let needed = before.saturating_add(bytes).saturating_add(self.options.limits.spare_bytes);
        if bytes > 0 && needed > free {
            return Err(Error::failed(what(), no_room(self.place.path(), needed - free)));
        }
        Ok(promise)
    }
}

fn no_room(directory: &Path, missing_bytes: u64) -> String {
    let shown = directory.display();
    let missing_mb = missing_bytes.div_ceil(1_000_000);
    format!(
        "the disk of {shown} is full: {missing_mb} MB more are needed; make room and send again, what \
         has arrived is kept"
    )
}

/// Bytes of the disk that are spoken for, until they are written.
#[derive(Debug)]
struct Promise {
    store: Arc<Inner>,
    bytes: AtomicU64,
}

impl Promise {
    /// `bytes` are written; the disk itself counts them from now on.
    fn release(&self, bytes: u64) {
        let less = |left: u64| Some(left.saturating_sub(bytes));
        let before = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        let released = before.unwrap_or(0).min(bytes);
        self.store.promised.fetch_sub(released, Ordering::Relaxed);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.release(u64::MAX);
    }
}

/// A name that nobody else receives meanwhile.
#[derive(Debug)]
pub struct Claim {
    store: Arc<Inner>,
    name: Name,
}

impl Claim {
    fn of(store: &Arc<Inner>, name: &Name) -> Result<Self, Error> {
        if !store.busy().insert(name.clone()) {
            let shown = store.place.shown(name);
            let said = format!("{shown} is being received already, by this or another transfer");
            return Err(Error::Refused(said));
        }
        Ok(Claim { store: Arc::clone(store), name: name.clone() })
    }

    fn name(&self) -> &Name {
        &self.name
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.store.busy().remove(&self.name);
    }
}

/// What one transfer delivers into a store; clones are the same.
#[derive(Clone, Debug)]
pub struct Delivery(Arc<Transfer>);

#[derive(Debug)]
struct Transfer {
    store: Arc<Inner>,
    settling: Settling,
    taken: Mutex<Taken>,
}

/// What was taken of the limits.
#[derive(Debug, Default)]
struct Taken {
    bytes: u64,
    files: u64,
}

impl Delivery {
    /// Begins to receive a file. Nothing is written, and no descriptor held, before its first block.
    pub fn begin(&self, entry: Entry) -> Result<Incoming, Error> {
        let store = &self.0.store;
        self.0.take(&entry.name, entry.bytes.unwrap_or(0))?;
        let claim = Claim::of(store, &entry.name)?;
        let shown = || store.place.shown(&entry.name);
        let there = match store.place.look(&entry.name)? {
            None => false,
            Some(found) if may_be_told(&entry, &found) => true,
            Some(found) if found.kind == Kind::File && store.options.overwrite => false,
            Some(_) => return Err(Error::Refused(format!("{} {TAKEN}", shown()))),
        };
        Incoming::new(Arc::clone(&self.0), claim, entry, there)
    }

    /// Makes a directory; if it was not there, it has this mode and time in the end.
    pub fn directory(&self, name: &Name, mode: u32, modified: Modified) -> Result<(), Error> {
        self.0.take(name, 0)?;
        let is_made = self.0.store.place.make_directory(name)?;
        self.0.settling.directory(name.clone(), is_made.then_some((mode, modified)));
        Ok(())
    }

    /// Puts all that is finished on disk, under its final name; to be called when every
    /// [`Incoming::finish`] has returned, before the transfer is confirmed.
    pub fn settle(&self) -> Result<(), Error> {
        self.0.settling.settle(&self.0.store.place)?;
        self.0.store.place.tidy();
        Ok(())
    }
}

impl Transfer {
    /// Takes a file of so many bytes of what the limits leave.
    fn take(&self, name: &Name, bytes: u64) -> Result<(), Error> {
        let limits = self.store.options.limits;
        let mut taken = self.taken.lock();
        let (files, total) = (taken.files + 1, taken.bytes.saturating_add(bytes));
        let refused = |limit: String| {
            Err(Error::Refused(format!(
                "{}: the receiver takes {limit}",
                self.store.place.shown(name)
            )))
        };
        if files > limits.files {
            return refused(format!("at most {} files of one transfer", limits.files));
        }
        if total > limits.bytes {
            let most = fairway_units::Bytes::new(limits.bytes);
            return refused(format!("at most {most} of one transfer"));
        }
        (taken.files, taken.bytes) = (files, total);
        Ok(())
    }

    fn take_more(&self, name: &Name, bytes: u64) -> Result<(), Error> {
        self.take(name, bytes)?;
        self.taken.lock().files -= 1;
        Ok(())
    }
}

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod sharing_tests;
#[cfg(test)]
mod tests;
