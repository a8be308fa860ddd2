//! What a transfer needs of the system beside its disk: clocks, locks, threads and sockets.
//!
//! They are those of the standard library and of `socket2`. Tests replace them by simulated ones of
//! the same names and methods, which in a thread that no simulation has started are the real ones.

#[cfg(test)]
pub mod simulated;

#[cfg(not(test))]
pub use {
    socket2::Socket,
    std::sync::{Condvar, Mutex, MutexGuard},
    std::thread::JoinHandle,
    std::time::Instant,
};

#[cfg(test)]
pub use simulated::{Condvar, Instant, JoinHandle, Mutex, MutexGuard, Socket};

#[cfg(not(test))]
use std::thread::Builder;
use std::time::{Duration, SystemTime};

#[cfg(test)]
use simulated::Builder;

use crate::Error;

/// Stack of the threads: they call nothing deep.
const STACK_BYTES: usize = 512 << 10;

/// Starts a thread of a transfer.
pub fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    Builder::new()
        .name(name.into())
        .stack_size(STACK_BYTES)
        .spawn(run)
        .map_err(|error| Error::failed("starting a thread", error))
}

/// The time since 1970, as the clock of this host says; it may be wrong, and may jump.
pub fn wall_clock() -> Duration {
    #[cfg(test)]
    if let Some(now) = simulated::wall_clock() {
        return now;
    }
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
