//! A place where threads wait for each other, mostly for less time than it takes to wake one.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Looks before a thread sleeps: about 20 microseconds, what sleeping and waking cost.
const LOOKS: u32 = 1_000;

/// Where threads meet, again and again.
pub(super) struct Barrier {
    count: usize,
    waiting: AtomicUsize,
    /// How often all have met.
    turn: AtomicUsize,
    /// Somebody will not come any more.
    is_broken: AtomicBool,
    sleeping: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

impl Barrier {
    /// A barrier for so many threads.
    pub(super) fn new(count: usize) -> Self {
        Barrier {
            count,
            waiting: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
            sleeping: AtomicUsize::new(0),
            bed: Mutex::new(()),
            bell: Condvar::new(),
        }
    }

    /// Waits until all are here. Returns whether they are, or somebody will not come.
    pub(super) fn wait(&self) -> bool {
        let turn = self.turn.load(Ordering::Acquire);
        if self.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.count {
            self.waiting.store(0, Ordering::Relaxed);
            self.turn.fetch_add(1, Ordering::SeqCst);
            self.wake();
            return true;
        }
        for _ in 0..LOOKS {
            if self.is_over(turn) {
                break;
            }
            spin_loop();
        }
        if !self.is_over(turn) {
            self.sleep(turn);
        }
        self.turn.load(Ordering::Acquire) != turn
    }

    fn is_over(&self, turn: usize) -> bool {
        self.turn.load(Ordering::SeqCst) != turn || self.is_broken.load(Ordering::SeqCst)
    }

    /// Whoever wakes counts the sleepers after the turn is over, and a sleeper looks at the turn after
    /// it is counted: one of them sees the other.
    fn sleep(&self, turn: usize) {
        let mut guard = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        while !self.is_over(turn) {
            guard = self.bell.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self) {
        if self.sleeping.load(Ordering::SeqCst) > 0 {
            let _guard = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
            self.bell.notify_all();
        }
    }
}

/// Somebody whom others wait for, unless it is dropped.
pub(super) struct Member<'a> {
    barrier: &'a Barrier,
    /// Whether the others need it no more.
    pub(super) is_done: bool,
}

impl<'a> Member<'a> {
    pub(super) fn of(barrier: &'a Barrier) -> Self {
        Member { barrier, is_done: false }
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.barrier.is_broken.store(true, Ordering::SeqCst);
            self.barrier.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::thread;

    use super::*;

    impl Barrier {
        fn await_sleepers(&self, count: usize) {
            while self.sleeping.load(Ordering::SeqCst) < count {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn nobody_goes_on_before_all_are_there() {
        let (barrier, arrived) = (Barrier::new(4), AtomicU64::new(0));
        thread::scope(|scope| {
            for slow in 0..4 {
                let (barrier, arrived) = (&barrier, &arrived);
                scope.spawn(move || {
                    for turn in 1..=50 {
                        if slow == turn % 8 {
                            barrier.await_sleepers(3);
                        }
                        arrived.fetch_add(1, Ordering::SeqCst);
                        assert!(barrier.wait());
                        assert!(arrived.load(Ordering::SeqCst) >= 4 * turn);
                        assert!(barrier.wait());
                        assert!(arrived.load(Ordering::SeqCst) < 4 * (turn + 1));
                    }
                });
            }
        });
    }

    #[test]
    fn nobody_waits_for_who_is_gone() {
        let barrier = Barrier::new(3);
        thread::scope(|scope| {
            let waiting = [0, 1].map(|_| scope.spawn(|| barrier.wait()));
            barrier.await_sleepers(2);
            drop(Member::of(&barrier));
            assert_eq!(waiting.map(|thread| thread.join().unwrap()), [false; 2]);
        });
    }
}
