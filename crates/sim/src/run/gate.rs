//! A gate where threads wait for each other, mostly for less time than it takes to wake one.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Looks before a thread sleeps: about 20 microseconds, what sleeping and waking cost.
const LOOKS: u32 = 1_000;

/// A gate that opens again and again.
#[derive(Default)]
pub(super) struct Gate {
    /// How often it has opened.
    turn: AtomicUsize,
    /// It will not open any more.
    is_shut: AtomicBool,
    sleeping: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

impl Gate {
    /// How often it has opened, unless it is shut.
    pub(super) fn turn(&self) -> Option<usize> {
        let turn = self.turn.load(Ordering::SeqCst);
        (!self.is_shut.load(Ordering::SeqCst)).then_some(turn)
    }

    /// Opens it once more.
    pub(super) fn open(&self) {
        self.turn.fetch_add(1, Ordering::SeqCst);
        self.wake();
    }

    /// Waits until it has opened more than `turn` times, or is shut.
    pub(super) fn wait(&self, turn: usize) {
        for _ in 0..LOOKS {
            if self.turn() != Some(turn) {
                return;
            }
            spin_loop();
        }
        // Whoever wakes counts the sleepers after the gate is open, and a sleeper looks at the gate after
        // it is counted: one of them sees the other.
        let mut guard = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        while self.turn() == Some(turn) {
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

/// Somebody whom others wait for at a gate: if it panics, the gate is shut.
pub(super) struct Member<'a> {
    gate: Option<&'a Gate>,
}

impl<'a> Member<'a> {
    pub(super) fn of(gate: &'a Gate) -> Self {
        Member { gate: Some(gate) }
    }

    /// It has done its part.
    pub(super) fn leave(mut self) {
        self.gate = None;
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.gate {
            gate.is_shut.store(true, Ordering::SeqCst);
            gate.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    impl Gate {
        fn await_sleepers(&self, count: usize) {
            while self.sleeping.load(Ordering::SeqCst) < count {
                thread::yield_now();
            }
        }
    }

    #[test]
    fn nobody_passes_before_it_opens() {
        let (gate, passed) = (Gate::default(), AtomicUsize::new(0));
        let is_early = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for turn in 0..50 {
                        gate.wait(turn);
                        is_early.fetch_or(gate.turn() <= Some(turn), Ordering::SeqCst);
                        passed.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            for turn in 0..50 {
                if turn % 8 == 0 {
                    while passed.load(Ordering::SeqCst) < 3 * turn {
                        thread::yield_now();
                    }
                    gate.await_sleepers(3);
                }
                gate.open();
            }
        });
        assert_eq!((passed.into_inner(), is_early.into_inner()), (150, false));
    }

    #[test]
    fn nobody_waits_for_who_is_gone() {
        let gate = Gate::default();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| gate.wait(0));
            }
            gate.await_sleepers(2);
            Member::of(&gate).leave();
            assert_eq!(gate.turn(), Some(0));
            drop(Member::of(&gate));
        });
        assert_eq!(gate.turn(), None);
    }
}
