//! Threads that compute the points of a sweep.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
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

/// The work of a thread.
type Task = Box<dyn FnOnce() + Send>;

/// Threads, each of which takes the next point until there is none.
///
/// More points may come while there are some: to know which are to be computed takes time, in which
/// the first can be.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared {
    points: Mutex<Points>,
    results: Mutex<Results>,
    has_more: Condvar,
    stopped: AtomicBool,
    /// The run that each thread is at.
    running: Vec<Mutex<Option<Arc<Control>>>>,
}

#[derive(Default)]
struct Points {
    left: VecDeque<Arc<Value>>,
    /// How many have been taken.
    taken: usize,
    /// The numbers of threads that have found none left, and have ended.
    ended: Vec<usize>,
}

struct Results {
    finished: Vec<Finished>,
    /// Points whose results have not been handed over.
    left: usize,
    panic: Option<Panic>,
}

impl Pool {
    /// Begins with points, in their order; with fewer threads where the system refuses some.
    ///
    /// # Errors
    /// The system refuses every thread.
    pub fn start(points: Vec<Arc<Value>>, threads: NonZeroUsize) -> io::Result<Pool> {
        let ended = (0..threads.get()).rev().collect();
        let shared = Arc::new(Shared {
            points: Mutex::new(Points { ended, ..Points::default() }),
            results: Mutex::new(Results { finished: Vec::new(), left: 0, panic: None }),
            has_more: Condvar::new(),
            stopped: AtomicBool::new(false),
            running: (0..threads.get()).map(|_| Mutex::default()).collect(),
        });
        let pool = Pool { shared, threads: Mutex::default() };
        pool.add(points)?;
        Ok(pool)
    }

    /// Begins with further points, whose places come after those of the others.
    ///
    /// # Errors
    /// The system refuses every thread, and none is left of earlier points.
    pub fn add(&self, points: Vec<Arc<Value>>) -> io::Result<()> {
        self.add_with(points, |task| thread::Builder::new().spawn(task))
    }

    fn add_with(
        &self,
        points: Vec<Arc<Value>>,
        spawn: impl Fn(Task) -> io::Result<JoinHandle<()>>,
    ) -> io::Result<()> {
        locked(&self.shared.results).left += points.len();
        let idle = {
            let mut queue = locked(&self.shared.points);
            let first = queue.ended.len().saturating_sub(points.len());
            queue.left.extend(points);
            queue.ended.split_off(first)
        };
        for thread in idle.into_iter().rev() {
            let shared = Arc::clone(&self.shared);
            match spawn(Box::new(move || shared.work(thread))) {
                Ok(started) => locked(&self.threads).push(started),
                Err(error) => self.without(thread, error)?,
            }
        }
        Ok(())
    }

    /// A thread was refused with `error`, which counts if no other is at work.
    fn without(&self, thread: usize, error: io::Error) -> io::Result<()> {
        let mut queue = locked(&self.shared.points);
        queue.ended.push(thread);
        let is_alone = queue.ended.len() == self.shared.running.len() && !queue.left.is_empty();
        if is_alone { Err(error) } else { Ok(()) }
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
        while let Some((place, document)) = self.next(thread) {
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

    fn next(&self, thread: usize) -> Option<(usize, Arc<Value>)> {
        let mut points = locked(&self.points);
        let Some(document) = points.left.pop_front() else {
            points.ended.push(thread);
            return None;
        };
        points.taken += 1;
        Some((points.taken - 1, document))
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    /// A pool of `threads` threads, and how it took a point if the system grants `granted` of them.
    fn begun(threads: usize, granted: usize) -> (Pool, io::Result<()>) {
        let threads = NonZeroUsize::new(threads).expect("threads");
        let pool = Pool::start(Vec::new(), threads).expect("no thread is needed");
        let (asked, point) = (AtomicUsize::new(0), Arc::new(Value::Null));
        let result = pool.add_with(vec![point; threads.get()], |task| {
            match asked.fetch_add(1, Ordering::Relaxed) < granted {
                true => thread::Builder::new().spawn(task),
                false => Err(io::ErrorKind::WouldBlock.into()),
            }
        });
        (pool, result)
    }

    #[test]
    fn a_thread_that_is_refused_leaves_its_points_to_others() {
        let (pool, result) = begun(3, 1);
        assert!(result.is_ok());
        let mut found = Vec::new();
        while found.len() < 3 {
            found.extend(pool.finished(LONG));
        }
    }

    #[test]
    fn without_any_thread_it_says_so_and_may_be_asked_again() {
        let (pool, result) = begun(2, 0);
        assert_eq!(result.expect_err("no thread").kind(), io::ErrorKind::WouldBlock);
        pool.add(vec![Arc::new(Value::Null)]).expect("a thread");
        let mut found = Vec::new();
        while found.len() < 3 {
            found.extend(pool.finished(LONG));
        }
    }
}
