//! Complete files that await their final name, and directories that were made.
//!
//! A file must be on disk before it has its name. For many small files that is done for a batch at
//! once, because a file system commits its journal each time that it is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use nix::errno::Errno;

use super::destination::{Destination, in_words};
use super::name::Name;
use super::partial::{Id, Partial};
use super::{Claim, Modified};
use crate::Error;
use crate::rt::{Mutex, MutexGuard};

/// Small files that are synced together, as a commit takes milliseconds. Each has a descriptor, of which
/// a process has 1024 unless it asks for more.
const MOST_WAITING: usize = 256;
/// Fewer are synced one by one, because to sync a file system may write what others have in memory.
const FEW: usize = 8;

/// A file that is complete, under its partial name.
#[derive(Debug)]
pub struct Complete {
    pub id: Id,
    pub partial: Arc<Partial>,
    /// Its final one, that nobody else may take.
    pub claim: Claim,
}

/// What one transfer has to settle.
#[derive(Debug)]
pub struct Settling {
    sync: bool,
    overwrite: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Complete>,
    touched: BTreeSet<Vec<u8>>,
    /// Files that were there already, up to one more than [`FEW`].
    there: Vec<Name>,
    /// Directories that were made, with what they are to be in the end.
    made: BTreeMap<Name, (u32, Modified)>,
}

impl Settling {
    pub fn new(sync: bool, overwrite: bool) -> Self {
        Settling { sync, overwrite, state: Mutex::default() }
    }

    /// Whether files are to be on disk before they have their names.
    pub fn syncs(&self) -> bool {
        self.sync
    }

    /// A directory is there. If it was made, its mode and time are set at the end, when nothing is put
    /// into it any more; if not, whoever made it may have been killed before its name was on disk.
    pub fn directory(&self, name: Name, made: Option<(u32, Modified)>) {
        let mut state = self.state();
        state.touched.insert(name.split().0.to_vec());
        if let Some(made) = made {
            state.made.insert(name, made);
        }
    }

    /// A file was there already; whoever put it there may have been killed before it was on disk.
    pub fn there(&self, name: &Name) {
        let mut state = self.state();
        state.touched.insert(name.split().0.to_vec());
        if state.there.len() <= FEW {
            state.there.push(name.clone());
        }
    }

    /// Names a complete file, or has it wait for others if it is not on disk yet.
    pub fn complete(
        &self,
        place: &Destination,
        file: Complete,
        on_disk: bool,
    ) -> Result<(), Error> {
        if on_disk || !self.sync {
            return self.name(place, vec![file]);
        }
        let mut state = self.state();
        state.waiting.push(file);
        if state.waiting.len() < MOST_WAITING {
            return Ok(());
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.sync_and_name(place, waiting)
    }

    pub fn settle(&self, place: &Destination) -> Result<(), Error> {
        let waiting = std::mem::take(&mut self.state().waiting);
        self.sync_and_name(place, waiting)?;
        let State { touched, there, made, .. } = std::mem::take(&mut *self.state());
        let in_directory = |name: &Name, error: Errno| {
            Error::failed(format!("settling the directory {}", place.shown(name)), in_words(error))
        };
        // The innermost first: what is set in a directory changes the time of the outer one.
        for (name, (mode, modified)) in made.iter().rev() {
            let set = || {
                let (parent, last) = name.split();
                let directory = place.directory(parent, false)?.step(last)?;
                directory.dress(plain(*mode), Some(*modified))
            };
            set().map_err(|error| in_directory(name, error))?;
        }
        if !self.sync || touched.is_empty() {
            return Ok(());
        }
        let is_many = there.len() > FEW || touched.len() > FEW;
        if is_many && place.sync_everything() {
            return Ok(());
        }
        for name in &there {
            let synced = place.read(name)?.sync();
            let what = || format!("syncing {}", place.shown(name));
            synced.map_err(|error| Error::failed(what(), error.desc()))?;
        }
        self.sync_directories(place, &touched)
    }

    fn sync_directories(
        &self,
        place: &Destination,
        touched: &BTreeSet<Vec<u8>>,
    ) -> Result<(), Error> {
        let synced = || {
            for name in touched {
                // Each up to the outermost: those between may be new, too.
                let mut name = &name[..];
                loop {
                    place.directory(name, false)?.sync()?;
                    let Some(slash) = name.iter().rposition(|byte| *byte == b'/') else { break };
                    name = &name[..slash];
                }
            }
            place.directory(b"", false)?.sync()
        };
        synced().map_err(|error| {
            Error::failed(
                format!("syncing directories in {}", place.path().display()),
                error.desc(),
            )
        })
    }

    fn sync_and_name(&self, place: &Destination, waiting: Vec<Complete>) -> Result<(), Error> {
        let is_synced = waiting.len() > FEW && place.sync_everything();
        let (mut on_disk, mut all) = (Vec::new(), Ok(()));
        for file in waiting {
            match if is_synced { Ok(()) } else { file.partial.data().sync() } {
                Ok(()) => on_disk.push(file),
                Err(error) => {
                    let shown = place.shown(file.claim.name());
                    all = all.and(Err(Error::failed(format!("syncing {shown}"), error.desc())));
                }
            }
        }
        self.name(place, on_disk).and(all)
    }

    fn name(&self, place: &Destination, files: Vec<Complete>) -> Result<(), Error> {
        let partial = place.partial_directory()?;
        let mut all = Ok(());
        for file in files {
            let (name, data) = (file.claim.name(), file.partial.data());
            match place.rename(&partial, &file.id.data(), data, name, self.overwrite) {
                Ok(()) => drop(self.state().touched.insert(name.split().0.to_vec())),
                // One that cannot be named does not keep the others from it.
                Err(error) => all = all.and(Err(error)),
            }
        }
        all
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// What a file or directory is permitted in the end: what it is sent with, without set-user-ID and the
/// like.
pub fn plain(mode: u32) -> u32 {
    mode & 0o777
}

pub fn errno(error: std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
}
