//! Work in several threads, or in fewer where the system refuses them.

use std::panic::resume_unwind;
use std::thread::{self, ScopedJoinHandle};

/// The results of `work` on each part, in their order: a thread for each, and the caller's own for those
/// that get none.
///
/// # Panics
/// If `work` does.
pub fn in_threads<P: Send, T: Send>(parts: Vec<P>, work: impl Fn(P) -> T + Sync) -> Vec<T> {
    shared(parts, &work, |_| true)
}

/// As [`in_threads`]; `is_granted` says whether the part of that number gets a thread.
fn shared<P: Send, T: Send>(
    parts: Vec<P>,
    work: &(impl Fn(P) -> T + Sync),
    is_granted: impl Fn(usize) -> bool,
) -> Vec<T> {
    // A thread that is refused drops its closure, so that the part waits outside of it.
    let parts: Vec<_> = parts.into_iter().map(|part| std::sync::Mutex::new(Some(part))).collect();
    let take = |place: usize| {
        parts[place].lock().unwrap_or_else(std::sync::PoisonError::into_inner).take()
    };
    let mut results: Vec<Option<T>> = (0..parts.len()).map(|_| None).collect();
    thread::scope(|scope| {
        let mut started: Vec<(usize, ScopedJoinHandle<'_, Option<T>>)> = Vec::new();
        let mut refused = Vec::new();
        // The caller does the last part itself.
        for place in 0..parts.len() {
            let task = move || take(place).map(work);
            let is_last = place + 1 == parts.len();
            let thread = (!is_last && is_granted(place))
                .then(|| thread::Builder::new().spawn_scoped(scope, task).ok());
            match thread.flatten() {
                Some(thread) => started.push((place, thread)),
                None => refused.push(place),
            }
        }
        for place in refused {
            results[place] = take(place).map(work);
        }
        for (place, thread) in started {
            results[place] = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
    results.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_without_a_thread_are_done_all_the_same() {
        let here = thread::current().id();
        for refused_from in 0..5 {
            let work = |part| (part, thread::current().id() == here);
            let found = shared((0..5).collect(), &work, |place| place < refused_from);
            let expected: Vec<_> = (0..5).map(|part| (part, part >= refused_from.min(4))).collect();
            assert_eq!(found, expected);
        }
        assert_eq!(in_threads(Vec::new(), |part: u8| part), []);
    }

    #[test]
    #[should_panic(expected = "of part 1")]
    fn a_panic_is_passed_on() {
        in_threads(vec![0, 1, 2], |part| assert_ne!(part, 1, "of part {part}"));
    }
}
