//! Incomplete files, in a directory of their own.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use nix::errno::Errno;

use super::destination::{Destination, in_words};
use super::disk::{Access, Directory, File, Kind};
use super::journal::Journal;
use super::name::{Name, PARTIAL_DIRECTORY};
use super::no_room;
use super::settling::errno;
use crate::{Error, rt, trust};

/// How the content of an incomplete file is named.
const DATA: &str = ".data";
/// How its journal is.
const BLOCKS: &str = ".blocks";
/// Bytes of the BLAKE3 that an incomplete file is named by.
const ID_BYTES: usize = 16;

/// What an incomplete file is called: the same for the same name and size, so that a later transfer
/// finds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id(String);

impl Id {
    pub fn of(name: &Name, bytes: Option<u64>) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("fairway 2026 name of a partial file");
        // No file is as large, so a stream never has the name of a file.
        hasher.update(&bytes.unwrap_or(u64::MAX).to_le_bytes()).update(name.as_bytes());
        let mut id = [0; ID_BYTES];
        hasher.finalize_xof().fill(&mut id);
        Id(data_encoding::HEXLOWER.encode(&id))
    }

    pub fn data(&self) -> String {
        format!("{}{DATA}", self.0)
    }

    pub fn blocks(&self) -> String {
        format!("{}{BLOCKS}", self.0)
    }
}

/// An incomplete file, locked against other processes.
#[derive(Debug)]
pub struct Partial {
    data: File,
    journal: Option<Journal>,
}

impl Partial {
    /// Opens an incomplete file, making it if there is none and `make` is set; none if there is none.
    pub fn open(
        place: &Destination,
        id: &Id,
        name: &Name,
        journalled: bool,
        make: bool,
    ) -> Result<Option<Self>, Error> {
        let what = || format!("opening the partial file of {}", place.shown(name));
        let failed = |error: Errno| match error {
            Errno::ENOSPC => Error::failed(what(), no_room(place.path(), 1)),
            other => Error::failed(what(), in_words(other)),
        };
        let unusable = |error: io::Error| failed(errno(error));
        loop {
            let directory = place.partial_directory()?;
            let access = if make { Access::Make } else { Access::Write };
            let data = match directory.file(id.data().as_bytes(), access) {
                Err(Errno::ENOENT) if !make => return Ok(None),
                // A transfer that has ended meanwhile has tidied the directory away.
                Err(Errno::ENOENT) => continue,
                opened => opened.map_err(failed)?,
            };
            check(&data, &id.data()).map_err(|why| Error::failed(what(), why))?;
            let data = match data.lock() {
                Ok(data) => data,
                Err(Errno::EWOULDBLOCK) => {
                    let shown = place.shown(name);
                    let said = format!("{shown} is being received by another process already");
                    return Err(Error::Refused(said));
                }
                Err(error) => return Err(failed(error)),
            };
            // It may have its final name already, from a process that was killed between giving that
            // (where no rename is safe) and taking this away: what stands there is not written to.
            if data.about().map_err(failed)?.has_more_names {
                remove(&directory, id);
                continue;
            }
            // Whoever had the lock before may have finished the file and taken its name away.
            if !is_at(&data, &directory, &id.data()) {
                continue;
            }
            let journal = if journalled {
                let journal =
                    directory.file(id.blocks().as_bytes(), Access::Make).map_err(failed)?;
                check(&journal, &id.blocks()).map_err(|why| Error::failed(what(), why))?;
                if data.about().is_ok_and(|about| about.bytes == 0) {
                    // Of a file that was finished when the process was killed.
                    journal.set_len(0).map_err(failed)?;
                }
                Some(Journal::open(journal).map_err(unusable)?)
            } else {
                None
            };
            return Ok(Some(Partial { data, journal }));
        }
    }

    pub fn data(&self) -> &File {
        &self.data
    }

    pub fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }
}

pub fn remove(directory: &Directory, id: &Id) {
    let _ = directory.remove(id.data().as_bytes());
    remove_journal(directory, id);
}

pub fn remove_journal(directory: &Directory, id: &Id) {
    let _ = directory.remove(id.blocks().as_bytes());
}

/// Removes incomplete files that nobody has written for so long, and nothing else; how many.
pub fn sweep(place: &Destination, older_than: Duration) -> Result<usize, Error> {
    let directory = place.partial_directory()?;
    let failed = |error: Errno| {
        Error::failed(format!("looking for old partial files in {}", place.path().display()), error)
    };
    let names = directory.names().map_err(failed)?;
    let ours = names.iter().filter_map(|name| id(str::from_utf8(name).ok()?));
    let ours: BTreeSet<Id> = ours.collect();
    let mut removed = 0;
    for id in ours {
        // The content tells whether somebody is at it; a journal is alone if a process was killed
        // between the two.
        let (data, blocks) = (id.data(), id.blocks());
        let there = directory.look(data.as_bytes()).is_ok();
        let telling = if there { &data } else { &blocks };
        if is_old(&directory, telling, older_than) {
            removed += 1;
            remove(&directory, &id);
        }
    }
    Ok(removed)
}

/// The incomplete file that a name is of, if it is one that [`Id`] makes.
fn id(name: &str) -> Option<Id> {
    let id = name.strip_suffix(DATA).or_else(|| name.strip_suffix(BLOCKS))?;
    let hex = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (id.len() == 2 * ID_BYTES && id.bytes().all(hex)).then(|| Id(id.into()))
}

/// Whether a file was not written for so long, and nobody has it locked.
fn is_old(directory: &Directory, name: &str, older_than: Duration) -> bool {
    let Ok(file) = directory.file(name.as_bytes(), Access::Write) else { return false };
    let Ok(about) = file.about() else { return false };
    // When it was modified may already be what the sender says.
    if about.kind != Kind::File || rt::wall_clock().saturating_sub(about.changed) < older_than {
        return false;
    }
    file.lock().is_ok_and(|locked| is_at(&locked, directory, name))
}

/// Whether an incomplete file or its journal can be relied on.
fn check(file: &File, name: &str) -> Result<(), String> {
    let about = file.about().map_err(|error| error.desc())?;
    let flaw = match about.kind {
        // Its permissions may be those that it is sent with; nobody else may enter its directory.
        Kind::File => trust::is_foreign(about.owner),
        _ => Some("it is not a regular file".into()),
    };
    flaw.map_or(Ok(()), |flaw| Err(format!("{PARTIAL_DIRECTORY}/{name}: {flaw}; remove it")))
}

/// Whether a name still is the one of an open file.
fn is_at(file: &File, directory: &Directory, name: &str) -> bool {
    let same =
        || Ok::<_, Errno>(directory.look(name.as_bytes())?.identity == file.about()?.identity);
    same().unwrap_or(false)
}
