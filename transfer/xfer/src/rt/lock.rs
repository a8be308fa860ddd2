//! Locks and conditions that ignore poisoning: a thread that panics is reported where it is joined.

use std::sync::PoisonError;
use std::time::Duration;

use super::Instant;
use super::system;

pub type MutexGuard<'a, T> = system::MutexGuard<'a, T>;

#[derive(Debug, Default)]
pub struct Mutex<T>(system::Mutex<T>);

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Mutex(system::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
pub struct Condvar(system::Condvar);

impl Condvar {
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> MutexGuard<'a, T> {
        self.0.wait_timeout(guard, time).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until `ready` gives an answer; none if it has not by `deadline`.
    pub fn wait_until<'a, T, A>(
        &self,
        mut guard: MutexGuard<'a, T>,
        deadline: Instant,
        mut ready: impl FnMut(&mut T) -> Option<A>,
    ) -> (MutexGuard<'a, T>, Option<A>) {
        loop {
            if let Some(answer) = ready(&mut guard) {
                return (guard, Some(answer));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return (guard, None);
            }
            guard = self.wait_timeout(guard, left);
        }
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
