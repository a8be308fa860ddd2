//! A receiver and senders in threads of this process.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairway_units::random::Stream;
use fairway_xfer::measure::{Meter, Record, Subject};
use fairway_xfer::recv::{self, ReceiveOptions};
use fairway_xfer::send::{self, SendOptions};
use fairway_xfer::{Control, Error, Event};

/// Longer than anything here takes on a machine that is busy with other things.
const LONG: Duration = Duration::from_secs(600);

pub const BLOCK: usize = 1 << 20;

/// Directories for one test.
pub struct Workspace(tempfile::TempDir);

impl Workspace {
    pub fn new() -> Self {
        Workspace(tempfile::tempdir().unwrap())
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file of bytes that no other has.
    pub fn file(&self, name: &str, bytes: usize) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, noise(name, bytes)).unwrap();
        path
    }
}

pub fn noise(name: &str, bytes: usize) -> Vec<u8> {
    let mut stream = Stream::new(7, name);
    let mut data = Vec::with_capacity(bytes + 8);
    while data.len() < bytes {
        data.extend_from_slice(&stream.bits64().to_le_bytes());
    }
    data.truncate(bytes);
    data
}

/// Everything below a directory: names, and content of files.
pub fn tree(path: &Path) -> BTreeMap<Vec<u8>, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut left = vec![path.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let entry = entry.unwrap();
            let name = entry.path().strip_prefix(path).unwrap().as_os_str().as_bytes().to_vec();
            if entry.file_type().unwrap().is_dir() {
                left.push(entry.path());
                all.insert(name, None);
            } else {
                all.insert(name, Some(fs::read(entry.path()).unwrap()));
            }
        }
    }
    all
}

/// A receiver in a thread.
pub struct Receiver {
    pub address: String,
    pub token: String,
    pub control: Control,
    thread: Option<JoinHandle<Result<recv::Outcome, Error>>>,
}

impl Receiver {
    pub fn start(options: ReceiveOptions) -> Self {
        let control = Control::new();
        let thread = {
            let control = control.clone();
            std::thread::spawn(move || {
                let meter = Meter::start(Subject::new("test", "transfer", "transfer"), &control)?;
                recv::receive(&options, &control, recv::Meters::All(meter))
            })
        };
        let (mut address, mut token) = (None, None);
        let until = Instant::now() + LONG;
        while address.is_none() || token.is_none() {
            for event in control.take_events() {
                match event {
                    Event::Listening { address: at } => address = Some(at),
                    Event::Token { token: it } => token = Some(it),
                    _ => {}
                }
            }
            if thread.is_finished() {
                panic!("{:?}", thread.join().unwrap());
            }
            assert!(Instant::now() < until, "the receiver does not begin");
            std::thread::sleep(Duration::from_millis(1));
        }
        let (address, token) = (address.unwrap(), token.unwrap());
        Receiver { address, token, control, thread: Some(thread) }
    }

    /// Waits for its end.
    pub fn join(mut self) -> Result<recv::Outcome, Error> {
        wait(self.thread.take().unwrap())
    }

    /// Stops it.
    pub fn stop(self) -> Result<recv::Outcome, Error> {
        self.control.cancel();
        self.join()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.control.cancel();
    }
}

pub fn wait<T>(thread: JoinHandle<T>) -> T {
    let until = Instant::now() + LONG;
    while !thread.is_finished() {
        assert!(Instant::now() < until, "it does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    thread.join().unwrap()
}

/// Waits for what another thread does.
pub fn until(mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !is_so() {
        assert!(Instant::now() < until, "it does not come to that");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Into a directory of the room, on any port of this host.
pub fn receiving(workspace: &Workspace) -> ReceiveOptions {
    ReceiveOptions {
        bind: Some("127.0.0.1:0".into()),
        // Syncing is slow, and is tested where it matters.
        sync: false,
        ..ReceiveOptions::new(workspace.at("out"))
    }
}

/// A sender in a thread.
pub struct Sender {
    pub control: Control,
    thread: JoinHandle<(Result<send::Outcome, Error>, Record)>,
}

impl Sender {
    pub fn start(options: SendOptions, input: Option<std::os::fd::OwnedFd>) -> Self {
        let control = Control::new();
        let of = control.clone();
        let thread = std::thread::spawn(move || {
            let subject = Subject::new("test", "transfer", "transfer");
            let meter = Meter::start(subject, &of).unwrap();
            let sent = send::send_from(&options, input, &of, &meter);
            (sent, meter.finish())
        });
        Sender { control, thread }
    }

    pub fn join(self) -> Result<send::Outcome, Error> {
        let control = self.control.clone();
        let (sent, _) = wait(self.thread);
        if sent.is_err() {
            eprintln!("{:#?}", control.take_events());
        }
        sent
    }
}

pub fn send(options: SendOptions) -> Result<send::Outcome, Error> {
    Sender::start(options, None).join()
}
