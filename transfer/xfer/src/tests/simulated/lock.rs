//! Locks and conditions. Each call is a step, before which another thread may run.

use std::ops::{Deref, DerefMut};
use std::sync::{self, LockResult, PoisonError, TryLockError};
use std::time::Duration;

use super::schedule::{self, Key, Task};

/// As [`std::sync::Mutex`].
#[derive(Debug, Default)]
pub struct Mutex<T>(sync::Mutex<T>);

/// As [`std::sync::MutexGuard`].
#[derive(Debug)]
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    guard: Option<sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    pub const fn new(of: T) -> Self {
        Mutex(sync::Mutex::new(of))
    }

    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let guard = |guard| MutexGuard { mutex: self, guard: Some(guard) };
        let Some(task) = schedule::here() else {
            return self.0.lock().map(guard).map_err(|it| PoisonError::new(guard(it.into_inner())));
        };
        task.step();
        loop {
            match self.0.try_lock() {
                Ok(free) => return Ok(guard(free)),
                Err(TryLockError::Poisoned(it)) => {
                    return Err(PoisonError::new(guard(it.into_inner())));
                }
                Err(TryLockError::WouldBlock) => task.wait(self.key(), None),
            }
        }
    }

    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.0.get_mut()
    }

    fn key(&self) -> Key {
        Key::of(&self.0)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.guard.as_ref().expect("it is locked")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.guard.as_mut().expect("it is locked")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.guard.take().is_some()
            && let Some(task) = schedule::here()
        {
            task.simulation.wake(self.mutex.key());
        }
    }
}

/// As [`std::sync::Condvar`], but that a wait does not tell whether it was for too long: nobody
/// asks.
#[derive(Debug, Default)]
pub struct Condvar(sync::Condvar);

impl Condvar {
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_for(guard, None)
    }

    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, ())> {
        match self.wait_for(guard, Some(time)) {
            Ok(guard) => Ok((guard, ())),
            Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), ()))),
        }
    }

    pub fn notify_all(&self) {
        match schedule::here() {
            Some(task) => task.simulation.wake(Key::of(&self.0)),
            None => self.0.notify_all(),
        }
    }

    pub fn notify_one(&self) {
        match schedule::here() {
            Some(task) => task.simulation.wake_one(Key::of(&self.0)),
            None => self.0.notify_one(),
        }
    }

    fn wait_for<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        time: Option<Duration>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let mutex = guard.mutex;
        match schedule::here() {
            Some(task) => {
                drop(guard);
                self.sleep(&task, time);
                mutex.lock()
            }
            None => {
                let real = guard.guard.take().expect("it is locked");
                let woken = match time {
                    None => self.0.wait(real),
                    Some(time) => match self.0.wait_timeout(real, time) {
                        Ok((guard, _)) => Ok(guard),
                        Err(poisoned) => Err(PoisonError::new(poisoned.into_inner().0)),
                    },
                };
                let guard = |guard| MutexGuard { mutex, guard: Some(guard) };
                woken.map(guard).map_err(|it| PoisonError::new(guard(it.into_inner())))
            }
        }
    }

    fn sleep(&self, task: &Task, time: Option<Duration>) {
        let until = time.map(|time| task.simulation.now() + time);
        // It may be woken by nobody (pthread_cond_wait(3p), "spurious wakeups").
        let early = task.simulation.spurious_wakeup();
        let until = until.into_iter().chain(early).min();
        task.wait(Key::of(&self.0), until);
    }
}
