//! Progress and cancellation of long work, from another thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared between the work and its observers. It never changes results.
#[derive(Default)]
pub struct Control {
    cancelled: AtomicBool,
    done: AtomicU64,
    all: AtomicU64,
    packets: AtomicU64,
    watcher: Option<Watcher>,
}

/// What is told the share of the work done.
type Watcher = Box<dyn Fn(f64) + Send + Sync>;

impl Control {
    /// One that tells `watcher` the share of the work done whenever the work reports it: where no other
    /// thread can look.
    pub fn watched(watcher: impl Fn(f64) + Send + Sync + 'static) -> Self {
        Control { watcher: Some(Box::new(watcher)), ..Control::default() }
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to stop, or should because the system refuses memory.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || fairway_resources::is_short()
    }

    /// Share of the work done, 0 to 1; 0 while its amount is unknown.
    pub fn fraction(&self) -> f64 {
        match self.all.load(Ordering::Relaxed) {
            0 => 0.0,
            all => (self.done.load(Ordering::Relaxed) as f64 / all as f64).min(1.0),
        }
    }

    /// Packets handled so far.
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    /// Called by the work: `done` of `all` in any unit, where 0 of `all` is unknown; and packets so far.
    pub fn report(&self, done: u64, all: u64, packets: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.all.store(all, Ordering::Relaxed);
        self.packets.store(packets, Ordering::Relaxed);
        if let Some(watcher) = &self.watcher {
            watcher(self.fraction());
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("fraction", &self.fraction()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reported_is_seen() {
        let control = Control::default();
        assert_eq!((control.fraction(), control.packets()), (0.0, 0));
        control.report(30, 120, 7);
        assert_eq!((control.fraction(), control.packets()), (0.25, 7));
        // A file that grows while it is read.
        control.report(130, 120, 9);
        assert_eq!(control.fraction(), 1.0);
        control.report(130, 0, 9);
        assert_eq!(control.fraction(), 0.0);
        assert!(!control.is_cancelled());
        control.cancel();
        assert!(control.is_cancelled());
    }
}
