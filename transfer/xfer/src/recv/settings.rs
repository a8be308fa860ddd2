//! Options of a receiver.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::sys::stat::{Mode, umask as umask_of};

use crate::Error;
use crate::auth::Security;
use crate::send::time;
use crate::socket::Wishes;
use crate::store;

/// Where a receiver listens unless it is told otherwise.
pub const DEFAULT_PORT: u16 = 5311;
/// How long a transfer may bring nothing new. Its sender may compare a large file, or wait for its
/// standard input; meanwhile it holds a place of `--max-transfers`.
const PATIENCE: Duration = Duration::from_secs(86_400);
/// How long a session whose control connection is gone is kept for its sender to come again.
const LINGER: Duration = Duration::from_secs(90);

options! {
    /// What a receiver is asked for.
    ReceiveOptions {
        /// The directory that it writes into, and nowhere else.
        out: PathBuf,
        /// `ADDRESS[:PORT]` to listen at; all addresses if there is none.
        bind: Option<String>,
        /// Ends when one transfer is complete.
        once: bool,
        /// Without encryption.
        plain: bool,
        /// A file that keeps the token, so that it is the same after a restart.
        keep_token: Option<PathBuf>,
        /// Replaces files of the same name that differ.
        overwrite: bool,
        /// Has everything on disk before it is confirmed.
        sync: bool = true,
        /// What is wished of the sockets.
        wishes: Wishes,
        /// What it takes.
        limits: Limits,
        /// How long the other side may be silent, in seconds.
        timeout_s: Option<f64>,
        /// How long a transfer may bring no block, file or offer that is new, in seconds.
        patience_s: Option<f64>,
        /// How long a sender that is gone may take to come again, in seconds.
        linger_s: Option<f64>,
        /// A file for the headers of the packets of all transfers.
        capture: Option<PathBuf>,
    }
}

options! {
    /// What a receiver takes.
    Limits {
        /// Transfers at once.
        sessions: usize = 64,
        /// Data connections of one transfer; each has a thread and a buffer.
        streams: u32 = 256,
        /// Content of one transfer, in bytes.
        bytes: Option<u64>,
        /// Files and directories of one transfer.
        files: u64 = store::Limits::default().files,
        /// Bytes that stay free on the disk.
        spare_bytes: u64 = store::Limits::default().spare_bytes,
    }
}

impl Limits {
    /// Control connections at once: each transfer's, one that takes its place, and a few that are
    /// told that there is no room.
    pub fn control_connections(&self) -> usize {
        self.sessions.saturating_mul(2).saturating_add(8)
    }
}

/// The same, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Ends when one transfer is complete.
    pub once: bool,
    /// Whether it is encrypted.
    pub security: Security,
    /// What it takes.
    pub limits: Limits,
    /// How long the other side may be silent.
    pub timeout: Duration,
    /// How long a transfer may bring nothing new.
    pub patience: Duration,
    /// How long a sender that is gone may take to come again.
    pub linger: Duration,
    /// Permissions that no file gets, whatever its sender says: the `umask` of this process.
    pub umask: u32,
}

/// The `umask` of this process.
fn umask() -> u32 {
    static READING: Mutex<()> = Mutex::new(());
    // It can only be read by setting it, and two at once would read what the other has set.
    let _reading = READING.lock().unwrap_or_else(PoisonError::into_inner);
    let mask = umask_of(Mode::from_bits_truncate(0o077));
    umask_of(mask);
    mask.bits()
}

impl ReceiveOptions {
    /// Defaults for everything but the directory.
    pub fn new(out: impl Into<PathBuf>) -> Self {
        ReceiveOptions { out: out.into(), ..ReceiveOptions::default() }
    }

    /// Checks what was asked for.
    ///
    /// # Errors
    /// [`Error::Input`] in words that say what to do.
    pub fn check(&self) -> Result<Settings, Error> {
        if self.limits.sessions == 0 || self.limits.streams == 0 || self.limits.files == 0 {
            return Err(Error::Input("limits must be at least 1".into()));
        }
        let patience = time("patience", self.patience_s, PATIENCE)?;
        Ok(Settings {
            once: self.once,
            security: if self.plain { Security::Plain } else { Security::Encrypted },
            limits: self.limits.clone(),
            timeout: time("timeout", self.timeout_s, crate::send::TIMEOUT)?.min(patience),
            patience,
            linger: time("linger", self.linger_s, LINGER)?,
            umask: umask(),
        })
    }

    /// How files are received.
    pub fn store(&self) -> store::Options {
        store::Options {
            limits: store::Limits {
                bytes: self.limits.bytes.unwrap_or(u64::MAX),
                files: self.limits.files,
                spare_bytes: self.limits.spare_bytes,
            },
            overwrite: self.overwrite,
            sync: self.sync,
            ..store::Options::default()
        }
    }
}
