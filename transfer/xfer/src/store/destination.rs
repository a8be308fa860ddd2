//! The directory received into: nothing below it is reached through a link.
//!
//! Every component is opened by itself, and not through a link, so neither a link that is there already
//! nor one that someone puts there meanwhile leads outside.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;

use super::disk::{About, Access, Directory, File};
use super::name::{Name, PARTIAL_DIRECTORY};
use crate::rt::Mutex;
use crate::{Error, trust};

/// A directory to receive into.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    directory: Arc<Directory>,
    /// Whether to sync the whole file system has never failed: a failure is told once, and does not
    /// say of which file.
    is_sound: Mutex<bool>,
    /// The directory of the last file: the next one is likely to be there too.
    last: Mutex<Option<(Vec<u8>, Arc<Directory>)>>,
}

impl Destination {
    /// Opens a directory, making it if there is none; here a link is followed, for the user named it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let shown = path.display();
        let refused = |why: String| Error::Input(format!("receiving into {shown}: {why}"));
        std::fs::create_dir_all(path).map_err(|error| {
            let is_other = error.kind() == std::io::ErrorKind::AlreadyExists;
            refused(if is_other { "it is not a directory".into() } else { error.to_string() })
        })?;
        let directory = Directory::open(path).map_err(|error| refused(error.desc().into()))?;
        Ok(Destination::of(path, directory))
    }

    pub fn of(path: &Path, directory: Directory) -> Self {
        let directory = Arc::new(directory);
        Destination {
            path: path.to_owned(),
            directory,
            is_sound: Mutex::new(true),
            last: Mutex::new(None),
        }
    }

    pub fn shown(&self, name: &Name) -> String {
        format!("{}/{name}", self.path.display())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file or directory at a name; none if there is none.
    pub fn look(&self, name: &Name) -> Result<Option<About>, Error> {
        let failed = |error: Errno| self.failed("looking at", name, error);
        let (parent, last) = name.split();
        match self.directory(parent, false).and_then(|parent| parent.look(last)) {
            Err(Errno::ENOENT) => Ok(None),
            found => found.map(Some).map_err(failed),
        }
    }

    pub fn read(&self, name: &Name) -> Result<File, Error> {
        let failed = |error: Errno| self.failed("reading", name, error);
        let (parent, last) = name.split();
        let parent = self.directory(parent, false).map_err(failed)?;
        parent.file(last, Access::Read).map_err(failed)
    }

    /// Makes a directory and those that it is in; whether it was not there before.
    pub fn make_directory(&self, name: &Name) -> Result<bool, Error> {
        let failed = |error: Errno| self.failed("making the directory", name, error);
        let (parent, last) = name.split();
        let made = match self.within(parent, |parent| parent.make(last, 0o777)) {
            Ok(()) => true,
            Err(Errno::EEXIST) => false,
            Err(error) => return Err(failed(error)),
        };
        self.within(parent, |parent| parent.step(last)).map_err(failed)?;
        Ok(made)
    }

    /// Gives a file of `from` its name here, in one step; `data` is that file, opened.
    pub fn rename(
        &self,
        from: &Directory,
        partial: &str,
        data: &File,
        name: &Name,
        overwrite: bool,
    ) -> Result<(), Error> {
        let failed = |error: Errno| self.failed("naming", name, error);
        let (parent, last) = name.split();
        let partial = partial.as_bytes();
        let rename = |parent: &Directory| from.rename(partial, parent, last, overwrite);
        let renamed = match self.within(parent, rename) {
            // A file system that cannot promise it (NFS): a second name is refused by all of them.
            Err(Errno::EINVAL) if !overwrite => self.within(parent, |parent| {
                from.link(partial, parent, last)?;
                from.remove(partial)
            }),
            renamed => renamed,
        };
        renamed.map_err(failed)?;
        // A directory of the name may be one that others write to.
        let named =
            self.within(parent, |parent| Ok(parent.look(last)?.identity == data.about()?.identity));
        if named != Ok(true) {
            let what = format!("naming {}", self.shown(name));
            let why = "another user has put something else there; receive into a directory that only \
                       you may write to";
            return Err(Error::failed(what, why));
        }
        Ok(())
    }

    /// Where incomplete files are: a directory of this user, to which nobody else may write, so that
    /// no name in it comes to mean another file.
    pub fn partial_directory(&self) -> Result<Directory, Error> {
        let partial = PARTIAL_DIRECTORY.as_bytes();
        let failed = |error: Errno| {
            let what = format!("opening {}/{PARTIAL_DIRECTORY}", self.path.display());
            Error::failed(what, in_words(error))
        };
        loop {
            match self.directory.step(partial) {
                Err(Errno::ENOENT) => {}
                opened => {
                    let opened = opened.map_err(failed)?;
                    let about = opened.about().map_err(failed)?;
                    return match trust::flaw(about.owner, about.mode) {
                        None => Ok(opened),
                        Some(flaw) => Err(self.untrusted(&flaw)),
                    };
                }
            }
            // Until it is there: another transfer that ends tidies it away while it is empty.
            match self.directory.make(partial, 0o700) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    fn untrusted(&self, flaw: &str) -> Error {
        let partial = format!("{}/{PARTIAL_DIRECTORY}", self.path.display());
        Error::Input(format!(
            "{partial} is where files are until they are complete, and {flaw}: what is received could \
             be replaced; remove it, or receive into a directory that only you may write to"
        ))
    }

    /// Removes the directory of incomplete files if there are none.
    pub fn tidy(&self) {
        // Not empty is usual, and another process may have done it.
        let _ = self.directory.remove_directory(PARTIAL_DIRECTORY.as_bytes());
    }

    /// Puts everything on disk that its file system holds; false if that is not certain, and each file
    /// has to be synced by itself.
    pub fn sync_everything(&self) -> bool {
        // One after the other: who comes second might not be told of a failure.
        let mut is_sound = self.is_sound.lock();
        *is_sound = *is_sound && self.directory.sync_file_system().is_ok();
        *is_sound
    }

    pub fn free_bytes(&self) -> Result<u64, Errno> {
        self.directory.free_bytes()
    }

    /// A directory by its name below this one, its components joined by `/`.
    pub fn directory(&self, name: &[u8], make: bool) -> Result<Arc<Directory>, Errno> {
        let mut last = self.last.lock();
        if let Some((_, directory)) = last.as_ref().filter(|(at, _)| at == name) {
            return Ok(Arc::clone(directory));
        }
        let mut at = Arc::clone(&self.directory);
        for component in name.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            let next = match at.step(component) {
                Err(Errno::ENOENT) if make => match at.make(component, 0o777) {
                    Ok(()) | Err(Errno::EEXIST) => at.step(component)?,
                    Err(error) => return Err(error),
                },
                next => next?,
            };
            at = Arc::new(next);
        }
        let directory = at;
        *last = Some((name.to_vec(), Arc::clone(&directory)));
        Ok(directory)
    }

    /// Does something in a directory, which is made if it is not there.
    fn within<T>(
        &self,
        name: &[u8],
        act: impl Fn(&Directory) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match act(&*self.directory(name, true)?) {
            // The one of the last file may have been removed by somebody meanwhile.
            Err(Errno::ENOENT) => {
                *self.last.lock() = None;
                act(&*self.directory(name, true)?)
            }
            done => done,
        }
    }

    fn failed(&self, what: &str, name: &Name, error: Errno) -> Error {
        Error::failed(format!("{what} {}", self.shown(name)), in_words(error))
    }
}

pub fn in_words(error: Errno) -> String {
    match error {
        Errno::ELOOP => "a link is there, and links are not followed".into(),
        Errno::ENOTDIR => "a part of the name is not a directory (links are not followed)".into(),
        Errno::EEXIST => "there is one of that name already; --overwrite replaces it".into(),
        Errno::EISDIR => "a directory is there".into(),
        Errno::ENAMETOOLONG => "the name is too long for this file system".into(),
        other => other.desc().into(),
    }
}
