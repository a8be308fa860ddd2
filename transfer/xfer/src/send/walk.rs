//! The source of a transfer: a file, or a directory and everything below it.

use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::store::{Modified, Name, Stat};
use crate::wire::messages::{Kind, Offered};
use crate::{Control, Error};

/// Things left out that are told one by one; the rest is counted.
const TOLD: u64 = 10;
/// `st_mode` without the type of the file (inode(7)).
const PERMISSIONS: u32 = 0o7777;

/// Something to send.
#[derive(Clone, Debug)]
pub struct Found {
    pub path: PathBuf,
    pub entry: Offered,
    pub stat: Stat,
}

/// How much there is to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub entries: u64,
    pub directories: u64,
    pub bytes: u64,
}

/// Goes through a file or a directory, in the order of names, directories before what is in them.
///
/// It remembers the names of the directories that it is in, and no more.
pub struct Walk {
    control: Control,
    /// What is left at each level, the last name first.
    levels: Vec<Vec<(PathBuf, Vec<u8>)>>,
    root: Option<(PathBuf, Vec<u8>)>,
    left_out: u64,
    silent: bool,
}

impl Walk {
    /// From a path on, which gets the name `name`. What is left out is warned of unless `silent`.
    pub fn new(path: &Path, name: &[u8], control: Control, silent: bool) -> Self {
        let root = Some((path.to_owned(), name.to_vec()));
        Walk { control, levels: Vec::new(), root, left_out: 0, silent }
    }

    /// Counts what there is, and warns of what is left out.
    pub fn count(mut self) -> Result<Count, Error> {
        let (mut count, control) = (Count::default(), self.control.clone());
        for found in self.by_ref() {
            if control.is_cancelled() {
                return Err(Error::Cancelled);
            }
            count.entries += 1;
            match found?.entry.kind {
                Kind::Directory => count.directories += 1,
                Kind::File { bytes } => count.bytes += bytes.unwrap_or(0),
            }
        }
        if self.left_out > TOLD {
            self.control.warn(format!("{} more were left out", self.left_out - TOLD));
        }
        Ok(count)
    }

    fn look(&mut self, path: PathBuf, name: Vec<u8>) -> Result<Option<Found>, Error> {
        let is_root = self.levels.is_empty();
        // The user named the root: there a link is followed.
        let looked = if is_root { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        let metadata = match looked {
            Ok(metadata) => metadata,
            // It was removed since its directory was read.
            Err(error) if !is_root && error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(unreadable(&path, &error)),
        };
        let kind = if metadata.is_dir() {
            Kind::Directory
        } else if metadata.is_file() && metadata.size() == 0 && has_content(&path) {
            // Files of /proc and /sys are made while they are read.
            if is_root {
                let path = path.display();
                return Err(Error::Input(format!(
                    "{path}: its length is not known before it is read; send it as a stream: \
                     fairway send - HOST < {path}"
                )));
            }
            self.leave_out(&path, "a file whose length is not known before it is read");
            return Ok(None);
        } else if metadata.is_file() {
            Kind::File { bytes: Some(metadata.size()) }
        } else if is_root {
            let what = kind_in_words(&metadata);
            let why =
                format!("{}: it is {what}; only files and directories are sent", path.display());
            return Err(Error::Input(why));
        } else {
            self.leave_out(&path, kind_in_words(&metadata));
            return Ok(None);
        };
        Name::new(name.clone())
            .map_err(|error| Error::Input(format!("{}: {error}", path.display())))?;
        if kind == Kind::Directory {
            self.levels.push(children(&path, &name)?);
        } else if is_root {
            self.levels.push(Vec::new());
        }
        let nanos = u32::try_from(metadata.mtime_nsec()).unwrap_or(0);
        let modified = Modified { seconds: metadata.mtime(), nanos };
        // stat(2): in units of 512 bytes. A file that is compressed seems to have holes, too.
        let stored = metadata.blocks().saturating_mul(512);
        let hole_bytes = match kind {
            Kind::File { bytes } => bytes.unwrap_or(0).saturating_sub(stored),
            Kind::Directory => 0,
        };
        let mode = metadata.mode() & PERMISSIONS;
        let entry = Offered { name, kind, mode, modified: Some(modified), hole_bytes };
        Ok(Some(Found { path, entry, stat: Stat::of(&metadata) }))
    }

    fn leave_out(&mut self, path: &Path, what: &str) {
        self.left_out += 1;
        if self.left_out <= TOLD && !self.silent {
            self.control.warn(format!("{} is left out: it is {what}", path.display()));
        }
    }
}

impl Iterator for Walk {
    type Item = Result<Found, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (path, name) = match self.root.take() {
                Some(root) => root,
                None => match self.levels.last_mut()?.pop() {
                    Some(next) => next,
                    None => {
                        self.levels.pop();
                        continue;
                    }
                },
            };
            if let Some(found) = self.look(path, name).transpose() {
                return Some(found);
            }
        }
    }
}

/// What is in a directory, the last name first.
fn children(path: &Path, name: &[u8]) -> Result<Vec<(PathBuf, Vec<u8>)>, Error> {
    let mut all = Vec::new();
    for child in fs::read_dir(path).map_err(|error| unreadable(path, &error))? {
        let child = child.map_err(|error| unreadable(path, &error))?;
        let below = [name, b"/", child.file_name().as_bytes()].concat();
        all.push((child.path(), below));
    }
    all.sort_by(|a, b| b.1.cmp(&a.1));
    Ok(all)
}

/// Whether a file that says that it is empty is not. What cannot be read is told when it is sent.
fn has_content(path: &Path) -> bool {
    File::open(path).is_ok_and(|mut file| file.read(&mut [0]).is_ok_and(|bytes| bytes > 0))
}

fn kind_in_words(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    if kind.is_symlink() {
        "a link"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::Input(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Event;

    #[test]
    fn directories_come_before_what_is_in_them_and_links_are_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir_all(at("b/empty")).unwrap();
        fs::write(at("b/z"), b"12345").unwrap();
        fs::write(at("a"), b"").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", at("b/link")).unwrap();
        nix::unistd::mkfifo(&at("c"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        let control = Control::new();
        let walk = Walk::new(directory.path(), b"top", control.clone(), true);
        let mut names = Vec::new();
        for found in walk {
            names.push(String::from_utf8(found.unwrap().entry.name).unwrap());
        }
        assert_eq!(names, ["top", "top/a", "top/b", "top/b/empty", "top/b/z"]);
        let count = Walk::new(directory.path(), b"top", control.clone(), false).count().unwrap();
        assert_eq!(count, Count { entries: 5, directories: 3, bytes: 5 });
        let events = control.take_events();
        assert_eq!(events.len(), 2);
        let Event::Warning { text } = &events[0] else { panic!("{events:?}") };
        assert!(text.ends_with("b/link is left out: it is a link"), "{text}");
    }

    #[test]
    fn a_file_that_only_says_that_it_is_empty_is_refused() {
        // proc(5): files there have a size of 0 and a content.
        let found = Walk::new(Path::new("/proc/version"), b"x", Control::new(), true).count();
        let Err(Error::Input(said)) = found else { panic!("it was accepted") };
        assert!(said.contains("fairway send - HOST < /proc/version"), "{said}");
    }

    #[test]
    fn a_device_is_refused_and_a_missing_file_is_named() {
        let control = Control::new();
        for (path, why) in [("/dev/null", "a device"), ("/no/such", "No such file")] {
            let found = Walk::new(Path::new(path), b"x", control.clone(), true).count();
            let Err(Error::Input(said)) = found else { panic!("{path} was accepted") };
            assert!(said.contains(path) && said.contains(why), "{said}");
        }
    }
}
