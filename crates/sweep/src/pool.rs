//! Threads that compute the points of a sweep.

use std::any::Any;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fairway_schema::Control;
use serde_json::Value;

use crate::{Answer, Failure, answer};

/// So many finished runs are handed over at once, if they come soon enough.
const BATCH: usize = 256;

/// The place of a point, and what is kept of its run or what went wrong.
pub type Finished = (usize, Result<Answer, Failure>);

/// What a panicking thread has said.
type Panic = Box<dyn Any + Send>;

/// Threads, each of which takes the next point until there is none.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    points: Mutex<std::iter::Enumerate<std::vec::IntoIter<Arc<Value>>>>,
    results: Mutex<Results>,
    has_more: Condvar,
    stopped: AtomicBool,
    /// The run that each thread is at.
    running: Vec<Mutex<Option<Arc<Control>>>>,
}

struct Results {
    finished: Vec<Finished>,
    /// Points whose results have not been handed over.
    left: usize,
    panic: Option<Panic>,
}

impl Pool {
    /// Begins with all points, in their order.
    pub fn start(points: Vec<Arc<Value>>, threads: NonZeroUsize) -> Pool {
        let threads = threads.get().min(points.len());
        let left = points.len();
        let shared = Arc::new(Shared {
            points: Mutex::new(points.into_iter().enumerate()),
            results: Mutex::new(Results { finished: Vec::new(), left, panic: None }),
            has_more: Condvar::new(),
            stopped: AtomicBool::new(false),
            running: (0..threads).map(|_| Mutex::default()).collect(),
        });
        let spawn = |thread| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.work(thread))
        };
        let threads = Mutex::new((0..threads).map(spawn).collect());
        Pool { shared, threads }
    }

    /// What has finished since it was last asked: waits so long for a batch, or for the last ones.
    ///
    /// # Panics
    /// If a run has.
    pub fn finished(&self, timeout: Duration) -> Vec<Finished> {
        let results = locked(&self.shared.results);
        let waits = |results: &mut Results| {
            results.panic.is_none() && results.finished.len() < results.left.min(BATCH)
        };
        let (mut results, _) = self
            .shared
            .has_more
            .wait_timeout_while(results, timeout, waits)
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(panic) = results.panic.take() {
            drop(results);
            std::panic::resume_unwind(panic);
        }
        results.left -= results.finished.len();
        std::mem::take(&mut results.finished)
    }

    /// Runs done of those that are under way, as a number of runs.
    pub fn fraction(&self) -> f64 {
        let of = |running: &Mutex<Option<Arc<Control>>>| {
            locked(running).as_ref().map_or(0.0, |control| control.fraction())
        };
        self.shared.running.iter().map(of).sum()
    }

    /// Stops the runs that are under way, and begins no other.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        for running in &self.shared.running {
            if let Some(control) = locked(running).as_ref() {
                control.cancel();
            }
        }
    }

    /// Waits for the threads.
    pub fn join(&self) {
        for thread in locked(&self.threads).drain(..) {
            // Its panic has been caught.
            let _ = thread.join();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}

impl Shared {
    fn work(&self, thread: usize) {
        while let Some((place, document)) = self.next() {
            let control = Arc::new(Control::default());
            if !self.begin(thread, &control) {
                return;
            }
            // What a panic leaves behind is of this run alone.
            let result = catch_unwind(AssertUnwindSafe(|| answer(&document, &control)));
            *locked(&self.running[thread]) = None;
            let mut results = locked(&self.results);
            match result {
                Ok(result) => results.finished.push((place, result)),
                Err(panic) => results.panic = Some(panic),
            }
            if results.panic.is_some() || results.finished.len() >= results.left.min(BATCH) {
                self.has_more.notify_all();
            }
        }
    }

    fn next(&self) -> Option<(usize, Arc<Value>)> {
        locked(&self.points).next()
    }

    /// Whether the thread may begin: [`Pool::stop`] sets `stopped` before it looks at the runs.
    fn begin(&self, thread: usize, control: &Arc<Control>) -> bool {
        let mut running = locked(&self.running[thread]);
        if self.stopped.load(Ordering::SeqCst) {
            return false;
        }
        *running = Some(Arc::clone(control));
        true
    }
}

/// No lock is held while anything that may panic runs.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
