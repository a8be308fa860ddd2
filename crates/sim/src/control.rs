//! How another thread watches a run and stops it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fairway_units::Time;

/// Shared between a run and whoever watches it. It never changes what the run computes.
#[derive(Debug, Default)]
pub struct Control {
    cancelled: AtomicBool,
    now_nanos: AtomicU64,
    end_nanos: AtomicU64,
    packets: AtomicU64,
}

impl Control {
    /// Ask the run to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Share of the simulated time that has passed, 0 to 1.
    pub fn fraction(&self) -> f64 {
        let end = self.end_nanos.load(Ordering::Relaxed);
        if end == 0 { 0.0 } else { self.now_nanos.load(Ordering::Relaxed) as f64 / end as f64 }
    }

    /// Data packets delivered so far.
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    pub(crate) fn report(&self, now: Time, end: Time, packets: u64) {
        self.now_nanos.store(now.min(end).as_nanos(), Ordering::Relaxed);
        self.end_nanos.store(end.as_nanos().max(1), Ordering::Relaxed);
        self.packets.store(packets, Ordering::Relaxed);
    }
}
