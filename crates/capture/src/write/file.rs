//! Captures on disk: whole or not there.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use fairway_units::Time;

use super::{Format, Interface, Record, Writer};

/// A capture that is written under a temporary name beside its place and renamed when it is
/// whole; if it is given up, nothing is left.
#[derive(Debug)]
pub struct CaptureFile {
    writer: Option<Writer<BufWriter<File>>>,
    temporary: PathBuf,
    path: PathBuf,
}

impl CaptureFile {
    /// Begins a capture.
    ///
    /// # Errors
    /// Errors of the file system, with the path, and of [`Writer::new`].
    pub fn create(
        path: &Path,
        format: Format,
        application: &str,
        interfaces: &[Interface],
    ) -> io::Result<Self> {
        let name = path.file_name().ok_or_else(|| {
            let message = format!("cannot write {}: it has no file name", path.display());
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })?;
        let hidden = format!(".{}-partial-{}", name.to_string_lossy(), std::process::id());
        let temporary = path.with_file_name(hidden);
        let file = File::create(&temporary).map_err(|error| named(path, &error))?;
        let writer = Writer::new(BufWriter::new(file), format, application, interfaces);
        let path = path.to_owned();
        match writer {
            Ok(writer) => Ok(CaptureFile { writer: Some(writer), temporary, path }),
            Err(error) => {
                let _ = fs::remove_file(&temporary);
                Err(named(&path, &error))
            }
        }
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// Errors of the file system, with the path, and of [`Writer::write`].
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        self.with(|writer| writer.write(record))
    }

    /// Adds an interface as [`Writer::add_ip`] does.
    ///
    /// # Errors
    /// Errors of the file system, with the path, and of [`Writer::add_ip`].
    pub fn add_ip(&mut self, interface: &Interface) -> io::Result<u32> {
        self.with(|writer| writer.add_ip(interface))
    }

    /// Says what was missed as [`Writer::missed`] does.
    ///
    /// # Errors
    /// Errors of the file system, with the path, and of [`Writer::missed`].
    pub fn missed(
        &mut self,
        interface: u32,
        at: Time,
        packets: u64,
        comment: &str,
    ) -> io::Result<()> {
        self.with(|writer| writer.missed(interface, at, packets, comment))
    }

    fn with<T: Default>(
        &mut self,
        act: impl FnOnce(&mut Writer<BufWriter<File>>) -> io::Result<T>,
    ) -> io::Result<T> {
        let Some(writer) = &mut self.writer else { return Ok(T::default()) };
        act(writer).map_err(|error| named(&self.path, &error))
    }

    /// Ends the capture: it appears under its name.
    ///
    /// # Errors
    /// Errors of the file system, with the path.
    pub fn finish(mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let finished = writer.finish().and_then(|_| fs::rename(&self.temporary, &self.path));
        if finished.is_err() {
            let _ = fs::remove_file(&self.temporary);
        }
        finished.map_err(|error| named(&self.path, &error))
    }
}

impl Drop for CaptureFile {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            // Nobody is left to tell if this fails.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// Names of files for these places, all different: what no file's name should have becomes a dash.
pub fn file_names<'a>(places: impl Iterator<Item = &'a str>, extension: &str) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '#' | '+');
    let name = |place: &str| {
        let stem: String = place.chars().map(|c| if plain(c) { c } else { '-' }).collect();
        // No hidden files.
        let stem = stem.replacen('.', "-", usize::from(stem.starts_with('.')));
        let mut name = format!("{stem}.{extension}");
        let mut count = 2;
        while !taken.insert(name.to_lowercase()) {
            name = format!("{stem}~{count}.{extension}");
            count += 1;
        }
        name
    };
    places.map(name).collect()
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface() -> Interface {
        let name = "a".to_owned();
        Interface { name, description: "an end".to_owned(), speed: None, snap_bytes: 128 }
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_capture_appears_when_it_is_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.pcapng");
        let create = || CaptureFile::create(&path, Format::Pcapng, "Fairway", &[interface()]);
        let mut file = create().unwrap();
        let (at, captured) = (Time::ZERO, &b"abc"[..]);
        let record =
            Record { at, interface: 0, direction: None, frame_bytes: 3, captured, comment: "" };
        file.write(&record).unwrap();
        assert!(!path.exists());
        let message = file.write(&Record { interface: 1, ..record }).unwrap_err().to_string();
        assert!(message.ends_with("a.pcapng: no interface 1 of 1"), "{message}");
        file.finish().unwrap();
        assert_eq!(names(directory.path()), ["a.pcapng"]);
        drop(create().unwrap());
        assert_eq!(names(directory.path()), ["a.pcapng"]);
    }

    #[test]
    fn interfaces_may_come_later() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.pcapng");
        let mut file = CaptureFile::create(&path, Format::Pcapng, "Fairway", &[]).unwrap();
        assert_eq!(file.add_ip(&interface()).unwrap(), 0);
        assert_eq!(file.add_ip(&interface()).unwrap(), 1);
        file.missed(1, Time::ZERO, 7, "").unwrap();
        file.finish().unwrap();
        let mut read = crate::read::Capture::open(&path).unwrap();
        assert!(read.next().is_none() && read.damaged().is_empty());
        let found: Vec<_> =
            read.interfaces().iter().map(|one| (one.link_type, one.missed_packets)).collect();
        // LINKTYPE_RAW is 101.
        assert_eq!(found, [(101, None), (101, Some(7))]);
        let path = directory.path().join("a.pcap");
        let mut classic = CaptureFile::create(&path, Format::Pcap, "", &[interface()]).unwrap();
        let message = classic.add_ip(&interface()).unwrap_err().to_string();
        assert!(message.ends_with("a pcap file has no room for an interface more"), "{message}");
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("none/a.pcap");
        let message =
            CaptureFile::create(&path, Format::Pcap, "", &[interface()]).unwrap_err().to_string();
        assert!(message.starts_with("cannot write ") && message.contains("none/a.pcap: "));
        let path = directory.path().join("a.pcap");
        let two = [interface(), interface()];
        let message = CaptureFile::create(&path, Format::Pcap, "", &two).unwrap_err().to_string();
        assert!(message.ends_with("a pcap file has 1 interface, not 2"), "{message}");
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn names_of_files_are_plain_and_different() {
        let places = ["s0", "access/s0@left", "a/b", "a-b", "A-B", "../x", ".hidden", "straße"];
        let names = file_names(places.into_iter(), "pcap");
        let expected = [
            "s0.pcap",
            "access-s0@left.pcap",
            "a-b.pcap",
            "a-b~2.pcap",
            "A-B~3.pcap",
            "-.-x.pcap",
            "-hidden.pcap",
            "straße.pcap",
        ];
        assert_eq!(names, expected);
    }
}
