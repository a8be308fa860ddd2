//! Options of a sender.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::blocks::{BlockQueue, Striping};
use crate::Error;
use crate::auth::{Security, Token};
use crate::socket::Wishes;
use crate::wire::messages::MAX_LANES;

/// A chunk is eight blocks: long enough that taking one costs nothing, short enough that the last
/// connection does not keep the others waiting.
pub const CHUNK_BYTES: u64 = 8 << 20;
/// Where streams come and go, a chunk is one block: a stream ends when it has carried its chunk.
pub const AUTO_CHUNK_BYTES: u64 = 1 << 20;
/// How long the other side may be silent.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// How long a transfer goes on trying while nothing arrives: so long that a peer that is gone is
/// noticed by the other side, and a receiver may be started again.
pub const PATIENCE: Duration = Duration::from_secs(90);
/// The longest time that is waited for anything: one year.
const LONGEST: f64 = 365.0 * 86_400.0;

/// How many connections carry the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Streams {
    /// So many.
    Fixed(u32),
    /// As many as gain something.
    Auto(Auto),
}

/// The word "auto".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    /// As many as gain something.
    Auto,
}

impl Default for Streams {
    /// One: what other tools use if they are not told.
    fn default() -> Self {
        Streams::Fixed(1)
    }
}

options! {
    /// What a sender is asked for.
    SendOptions {
        /// A file, a directory, or "-" for standard input.
        path: PathBuf,
        /// `HOST[:PORT]` of the receiver.
        host: String,
        /// As the receiver has printed it.
        token: String,
        /// How many connections carry the data.
        streams: Streams,
        /// What is wished of their sockets.
        wishes: Wishes,
        /// How much a connection takes at once.
        chunk_bytes: Option<u64>,
        /// How blocks are shared among connections.
        striping: Striping,
        /// Most that all connections send together, in bit/s.
        limit_bps: Option<u64>,
        /// Without encryption.
        plain: bool,
        /// The name that it gets at the receiver; its own if there is none.
        name: Option<String>,
        /// How long the other side may be silent, in seconds.
        timeout_s: Option<f64>,
        /// How long it goes on trying while nothing arrives, in seconds.
        patience_s: Option<f64>,
        /// A file for the headers of its packets.
        capture: Option<PathBuf>,
    }
}

/// The same, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    pub options: SendOptions,
    /// A file or a directory; none for standard input.
    pub path: Option<PathBuf>,
    /// Its name at the receiver.
    pub name: Vec<u8>,
    pub token: Token,
    pub chunk_bytes: u64,
    pub security: Security,
    pub timeout: Duration,
    pub patience: Duration,
    /// The same for all control connections of this transfer, and for no other transfer.
    pub transfer: [u8; 16],
}

impl SendOptions {
    /// Defaults for everything but these three.
    pub fn new(
        path: impl Into<PathBuf>,
        host: impl Into<String>,
        token: impl Into<String>,
    ) -> Self {
        SendOptions {
            path: path.into(),
            host: host.into(),
            token: token.into(),
            ..SendOptions::default()
        }
    }

    /// Checks what was asked for.
    ///
    /// # Errors
    /// [`Error::Input`] in words that say what to do.
    pub fn check(&self) -> Result<Settings, Error> {
        let input = |why: &str| Err(Error::Input(why.into()));
        let is_stream = self.path.as_os_str() == "-";
        match self.streams {
            Streams::Fixed(0) => return input("expected at least 1 stream"),
            Streams::Fixed(count) if count > MAX_LANES => {
                return Err(Error::Input(format!("{count} streams: at most {MAX_LANES}")));
            }
            Streams::Auto(_) if self.striping == Striping::Static => {
                return input("static striping needs a number of streams; give --streams N");
            }
            _ => {}
        }
        if is_stream && self.striping == Striping::Static {
            return input("standard input has no known length to cut; leave out static striping");
        }
        if self.chunk_bytes == Some(0) || self.limit_bps == Some(0) {
            return input("a chunk and a limit must be more than 0");
        }
        let patience = time("patience", self.patience_s, PATIENCE)?;
        let mut transfer = [0; 16];
        getrandom::fill(&mut transfer)
            .map_err(|error| Error::failed("drawing a random number", error))?;
        Ok(Settings {
            path: (!is_stream).then(|| self.path.clone()),
            name: self.top_name(is_stream)?,
            token: self.token.parse()?,
            chunk_bytes: self.chunk_bytes.unwrap_or(match self.streams {
                Streams::Fixed(_) => CHUNK_BYTES,
                Streams::Auto(_) => AUTO_CHUNK_BYTES,
            }),
            security: if self.plain { Security::Plain } else { Security::Encrypted },
            // Nothing is waited for longer than anything may take.
            timeout: time("timeout", self.timeout_s, TIMEOUT)?.min(patience),
            patience,
            transfer,
            options: self.clone(),
        })
    }

    fn top_name(&self, is_stream: bool) -> Result<Vec<u8>, Error> {
        use std::os::unix::ffi::OsStrExt;
        if let Some(name) = &self.name {
            return Ok(name.clone().into_bytes());
        }
        if is_stream {
            return Ok(b"stdin".to_vec());
        }
        let shown = self.path.display();
        let at = match self.path.file_name() {
            Some(name) => return Ok(name.as_bytes().to_vec()),
            // "." and what ends in "..": its name is where it is.
            None => std::fs::canonicalize(&self.path)
                .map_err(|error| Error::Input(format!("{shown}: {error}")))?,
        };
        at.file_name()
            .map(|name| name.as_bytes().to_vec())
            .ok_or_else(|| Error::Input(format!("{shown} has no name; give --name")))
    }
}

impl Settings {
    /// Connections at first.
    pub fn first_streams(&self) -> u32 {
        match self.options.streams {
            Streams::Fixed(count) => count,
            Streams::Auto(_) => 1,
        }
    }

    /// Connections at most.
    pub fn most_streams(&self) -> u32 {
        match self.options.streams {
            Streams::Fixed(count) => count,
            Streams::Auto(_) => MAX_LANES,
        }
    }

    /// A plan of nothing yet.
    pub fn queue(&self) -> BlockQueue {
        BlockQueue::new(self.options.striping, self.chunk_bytes, self.first_streams())
    }
}

/// A time that was asked for, or the usual one.
pub(crate) fn time(what: &str, given_s: Option<f64>, usual: Duration) -> Result<Duration, Error> {
    match given_s {
        None => Ok(usual),
        Some(seconds) if seconds > 0.0 && seconds <= LONGEST => {
            Ok(Duration::from_secs_f64(seconds))
        }
        Some(seconds) => {
            Err(Error::Input(format!("{what}: {seconds} s; give more than 0 and at most a year")))
        }
    }
}
