//! Whether the system has refused memory, and to whom.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The system has refused memory since the work under way began.
static SHORT: AtomicBool = AtomicBool::new(false);

/// Requests refused since the process began.
static REFUSED: AtomicU64 = AtomicU64::new(0);

/// Pieces of work that are watched now.
static WATCHED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Whether this thread takes a refusal as an answer. It is initialised without an allocation.
    static FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// Whether work should stop: the system has refused memory since it began.
#[inline]
pub fn is_short() -> bool {
    SHORT.load(Ordering::Relaxed)
}

pub(crate) fn note_refusal() {
    REFUSED.fetch_add(1, Ordering::Relaxed);
    SHORT.store(true, Ordering::Relaxed);
}

/// Does `work` that handles a refused allocation itself, as `Vec::try_reserve` does.
pub fn fallible<T>(work: impl FnOnce() -> T) -> T {
    let before = FALLIBLE.replace(true);
    let result = work();
    FALLIBLE.set(before);
    result
}

pub(crate) fn is_fallible() -> bool {
    FALLIBLE.try_with(Cell::get).unwrap_or(false)
}

/// Watches a piece of work for refused memory. A refusal reaches all that is under way at that time.
#[derive(Debug)]
pub struct Shortage {
    refused_before: u64,
}

impl Shortage {
    /// Begins to watch. The first that begins forgets the shortage of earlier work.
    pub fn watch() -> Self {
        if WATCHED.fetch_add(1, Ordering::Relaxed) == 0 {
            SHORT.store(false, Ordering::Relaxed);
        }
        Shortage { refused_before: REFUSED.load(Ordering::Relaxed) }
    }

    /// Whether memory was refused meanwhile.
    pub fn was_met(&self) -> bool {
        REFUSED.load(Ordering::Relaxed) != self.refused_before
    }
}

impl Drop for Shortage {
    fn drop(&mut self) {
        WATCHED.fetch_sub(1, Ordering::Relaxed);
    }
}
