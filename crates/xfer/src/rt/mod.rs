//! What a transfer needs of the system beside disk and network: here, the clock.
//!
//! Tests replace it by a simulated one.

#[cfg(test)]
pub mod simulated;

use std::time::{Duration, SystemTime};

/// The time since 1970, as the clock of this host says; it may be wrong, and may jump.
pub fn wall_clock() -> Duration {
    #[cfg(test)]
    if let Some(now) = simulated::wall_clock() {
        return now;
    }
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}
