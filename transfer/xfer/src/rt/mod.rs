//! Clocks, locks, threads and sockets of a transfer: those of the standard library and of `socket2`.
//!
//! Unit tests put simulated ones in their place (`tests/simulated`); in a thread that no simulation
//! has started, these are the real ones.

mod lock;

pub use lock::{Condvar, Mutex, MutexGuard};
pub use system::{Instant, JoinHandle, Socket};

#[cfg(test)]
use crate::tests::simulated as system;

#[cfg(not(test))]
mod system {
    pub use socket2::Socket;
    pub use std::sync::{Condvar, Mutex, MutexGuard};
    pub use std::thread::{Builder, JoinHandle};
    pub use std::time::Instant;
}

use std::time::{Duration, SystemTime};

use crate::Error;

/// Stack of the threads: they call nothing deep.
const STACK_BYTES: usize = 512 << 10;

pub fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    system::Builder::new()
        .name(name.into())
        .stack_size(STACK_BYTES)
        .spawn(run)
        .map_err(|error| Error::failed("starting a thread", error))
}

/// The time since 1970, as the clock of this host says; it may be wrong, and may jump.
pub fn wall_clock() -> Duration {
    #[cfg(test)]
    if let Some(now) = system::wall_clock() {
        return now;
    }
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
